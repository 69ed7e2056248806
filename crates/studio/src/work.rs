//! Long answers: computed on threads of their own, line by line, and only as long as somebody waits
//! for them.

use std::ops::ControlFlow;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use http_body::Frame;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::{Semaphore, mpsc};

use super::refusal::Refusal;
use ide3al::solve::{Observer, Options, Progress};

/// Computations at once; more would only slow each other down.
pub(super) const MOST_AT_ONCE: usize = 4;
/// Requests at once, those that wait for their turn included.
const MOST_INSIDE: usize = 64;
/// Bytes of a request.
const MOST_BYTES: usize = 16 << 20;
/// Time to send them.
const PATIENCE: Duration = Duration::from_secs(10);
/// Time of a solve.
const TIME_LIMIT: Duration = Duration::from_secs(20);

/// How the studio solves: as `ide3al solve` does by default, but not for ever.
pub(super) fn options() -> Options {
    Options {
        time_limit: Some(TIME_LIMIT),
        ..Options::default()
    }
}

/// Places for requests and for computations.
pub(super) struct Work {
    inside: AtomicUsize,
    turns: Arc<Semaphore>,
}

impl Default for Work {
    fn default() -> Self {
        Work {
            inside: AtomicUsize::new(0),
            turns: Arc::new(Semaphore::new(MOST_AT_ONCE)),
        }
    }
}

/// A request that is being answered.
pub(super) struct Inside<'a>(&'a AtomicUsize);

impl Drop for Inside<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Set when nobody waits for an answer any more: the computation then ends early.
#[derive(Debug, Clone, Default)]
pub(super) struct CancelFlag(Arc<AtomicBool>);

impl CancelFlag {
    pub(super) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// As the library's loops take it.
    pub(super) fn flag(&self) -> &AtomicBool {
        &self.0
    }

    /// Asks the computation to end.
    pub(super) fn set(&self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Observer for CancelFlag {
    fn on(&mut self, _: &Progress) -> ControlFlow<()> {
        if self.is_set() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// Where a computation writes its lines.
pub(super) struct Lines {
    sender: mpsc::Sender<Bytes>,
    pub(super) cancel: CancelFlag,
}

impl Lines {
    /// One line of JSON.
    pub(super) fn say(&self, line: &impl Serialize) {
        let mut bytes = match serde_json::to_vec(line) {
            Ok(bytes) => bytes,
            Err(error) => Refusal::bad(error.to_string()).line().to_string().into(),
        };
        bytes.push(b'\n');
        if self.sender.blocking_send(bytes.into()).is_err() {
            self.cancel.set();
        }
    }

    /// Waits while somebody waits for the answer; whether anybody still does.
    pub(super) fn pause(&self, time: Duration) -> bool {
        let step = Duration::from_millis(20);
        let mut left = time;
        while !left.is_zero() && !self.cancel.is_set() {
            std::thread::sleep(left.min(step));
            left = left.saturating_sub(step);
        }
        !self.cancel.is_set()
    }
}

/// The lines on their way out. When the peer hangs up this is dropped, and the work is told.
struct Outgoing {
    receiver: mpsc::Receiver<Bytes>,
    cancel: CancelFlag,
}

impl Drop for Outgoing {
    fn drop(&mut self) {
        self.cancel.set();
    }
}

impl HttpBody for Outgoing {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        let next = self.receiver.poll_recv(context);
        next.map(|line| line.map(|bytes| Ok(Frame::data(bytes))))
    }
}

/// Sets its flag when it is dropped, as it is when the peer hangs up before the answer is there.
struct CancelOnDrop(CancelFlag);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.set();
    }
}

impl Work {
    /// A place for a request, if there is one.
    pub(super) fn enter(&self) -> Option<Inside<'_>> {
        let place = Inside(&self.inside);
        (self.inside.fetch_add(1, Ordering::Relaxed) < MOST_INSIDE).then_some(place)
    }

    /// Answers with the lines that `job` says, from a thread of its own when its turn comes. A
    /// refusal is the last line.
    pub(super) async fn answer(
        &self,
        job: impl FnOnce(&Lines) -> Result<(), Refusal> + Send + 'static,
    ) -> Response {
        let Ok(turn) = Arc::clone(&self.turns).acquire_owned().await else {
            return Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "the studio is closing")
                .into_response();
        };
        let (sender, receiver) = mpsc::channel(16);
        let cancel = CancelFlag::default();
        let lines = Lines {
            sender,
            cancel: cancel.clone(),
        };
        tokio::task::spawn_blocking(move || {
            let _turn = turn;
            if let Err(refusal) = job(&lines)
                && !lines.cancel.is_set()
            {
                lines.say(&refusal.line());
            }
        });
        let mut response = Response::new(Body::new(Outgoing { receiver, cancel }));
        response.headers_mut().insert(
            header::CONTENT_TYPE,
            HeaderValue::from_static("application/x-ndjson"),
        );
        response
    }

    /// Gives the bytes that `job` makes, on a thread of its own when its turn comes.
    pub(super) async fn bytes(
        &self,
        job: impl FnOnce(&CancelFlag) -> Result<Vec<u8>, Refusal> + Send + 'static,
    ) -> Result<Vec<u8>, Refusal> {
        let closing = || Refusal::new(StatusCode::SERVICE_UNAVAILABLE, "the studio is closing");
        let turn = Arc::clone(&self.turns)
            .acquire_owned()
            .await
            .map_err(|_| closing())?;
        let cancel = CancelFlag::default();
        let _hung_up = CancelOnDrop(cancel.clone());
        let work = move || {
            let _turn = turn;
            job(&cancel)
        };
        tokio::task::spawn_blocking(work)
            .await
            .map_err(|_| closing())?
    }
}

/// The bytes of a request, neither too many nor too late.
pub(super) async fn bytes(request: Request) -> Result<Bytes, Refusal> {
    let too_large = || {
        Refusal::new(
            StatusCode::PAYLOAD_TOO_LARGE,
            format!(
                "the request is cut short or has more than {} MiB",
                MOST_BYTES >> 20
            ),
        )
    };
    // what says that it is too large need not be heard out
    if request.body().size_hint().lower() > MOST_BYTES as u64 {
        return Err(too_large());
    }
    let reading = axum::body::to_bytes(request.into_body(), MOST_BYTES);
    match tokio::time::timeout(PATIENCE, reading).await {
        Ok(Ok(bytes)) => Ok(bytes),
        Ok(Err(_)) => Err(too_large()),
        Err(_) => Err(Refusal::new(
            StatusCode::REQUEST_TIMEOUT,
            "the request did not arrive in time",
        )),
    }
}

/// A request in JSON.
pub(super) async fn json<T: DeserializeOwned>(request: Request) -> Result<T, Refusal> {
    // a form of another page cannot send this type without being asked first
    let kind = request.headers().get(header::CONTENT_TYPE);
    if kind.is_none_or(|kind| kind != "application/json") {
        return Err(Refusal::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "send application/json",
        ));
    }
    let bytes = bytes(request).await?;
    serde_json::from_slice(&bytes)
        .map_err(|error| Refusal::bad(format!("malformed request: {error}")))
}
