//! A local page on which one draws a world and watches the best exploration of it.
//!
//! [`Studio::start`] serves the page and its answers from this process, on 127.0.0.1 only.
//! Everything that the page needs is in the binary. The page holds no mathematics: what it shows
//! was computed by the library, and a world with its settings gives the figures of
//! `ide3al solve --json`.
//!
//! Other pages and other users of the machine are kept out: the address holds a token of 128 random
//! bits, and requests with another `Host` or `Origin` are refused (`gate`). Sizes, times and
//! numbers of requests are limited (`work`, `listen`). An answer that nobody waits for any more is
//! not computed to its end.

mod answer;
mod assets;
mod curve;
mod files;
mod folder;
mod gate;
mod learning;
mod listen;
mod race;
mod refusal;
mod shelf;
mod work;
mod world;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use tokio::sync::oneshot;

use ide3al::error::{Error, Result};
use ide3al::model::Mdp;
use ide3al_report::escape::escape;
pub use world::World;

/// What the page opens with.
#[derive(Debug, Clone, Default)]
pub struct Opening {
    /// The world shown first; the page has one of its own otherwise.
    pub world: Option<World>,
    /// Models that a world may name, each with its name.
    pub models: Vec<(String, Arc<Mdp>)>,
    /// Port; any free one where it is 0.
    pub port: u16,
}

/// What all requests share.
struct Shared {
    token: String,
    opening: Option<World>,
    shelf: shelf::Shelf,
    work: work::Work,
    sessions: learning::Sessions,
}

/// A running server. Dropping it ends it.
#[derive(Debug)]
pub struct Studio {
    address: SocketAddr,
    token: String,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<std::thread::JoinHandle<()>>,
    /// Holds the file that leads a browser here, once one was asked for.
    folder: Option<folder::PrivateFolder>,
}

impl Studio {
    /// Listens, and serves from a thread of its own.
    pub fn start(opening: Opening) -> Result<Self> {
        let failed = |what: &str, error: std::io::Error| {
            Error::Unsupported(format!(
                "the studio cannot {what}: {error} (parameter 'port' = {})",
                opening.port
            ))
        };
        let token = random_name()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(work::MOST_AT_ONCE + 2)
            .build()
            .map_err(|error| failed("start", error))?;
        let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, opening.port))
            .and_then(|listener| listener.set_nonblocking(true).map(|()| listener))
            .map_err(|error| failed("listen", error))?;
        let address = listener
            .local_addr()
            .map_err(|error| failed("listen", error))?;
        let shared = Arc::new(Shared {
            token: token.clone(),
            opening: opening.world,
            shelf: shelf::Shelf::holding(opening.models),
            work: work::Work::default(),
            sessions: learning::Sessions::default(),
        });
        let (stop, stopped) = oneshot::channel();
        let work = move || {
            runtime.block_on(async move {
                let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
                    return;
                };
                let listener = listen::Limited::new(listener);
                tokio::spawn(axum::serve(listener, routes(shared)).into_future());
                // an error means that the sender is gone, which is the same
                let _ = stopped.await;
            });
            // dropping the tasks drops their answers, which tells the work to end
            runtime.shutdown_background();
        };
        let thread = std::thread::Builder::new()
            .name("studio".into())
            .spawn(work)
            .map_err(|error| Error::Unsupported(format!("the studio cannot start: {error}")))?;
        Ok(Studio {
            address,
            token,
            stop: Some(stop),
            thread: Some(thread),
            folder: None,
        })
    }

    /// Where the page is, token included.
    pub fn url(&self) -> String {
        format!("http://{}/{}/", self.address, self.token)
    }

    /// The same page with a world and settings from a link that someone shared: all that follows
    /// its `#`.
    pub fn url_of(&self, link: &str) -> String {
        let fragment = link.split_once('#').map_or("", |(_, fragment)| fragment);
        format!("{}#{fragment}", self.url())
    }

    /// A file that leads a browser to an address of this studio.
    ///
    /// What a browser is started with can be seen by every user of the machine, the contents of
    /// this file by its owner only. It goes with the studio.
    pub fn redirect(&mut self, url: &str) -> Result<PathBuf> {
        let page = format!(
            "<!doctype html><meta charset=\"utf-8\"><title>ide3al studio</title>\n\
             <meta http-equiv=\"refresh\" content=\"0; url={url}\">\n\
             <a href=\"{url}\">The studio</a>\n",
            url = escape(url)
        );
        if self.folder.is_none() {
            self.folder = Some(folder::PrivateFolder::new()?);
        }
        match &self.folder {
            Some(folder) => folder.write("studio.html", &page),
            None => Err(Error::Unsupported("the studio is closing".into())),
        }
    }

    /// Ends it; work under way is told to stop.
    pub fn stop(&mut self) {
        if let Some(stop) = self.stop.take() {
            let _ = stop.send(());
        }
        if let Some(thread) = self.thread.take() {
            // a panic there has been reported already
            let _ = thread.join();
        }
    }
}

impl Drop for Studio {
    fn drop(&mut self) {
        self.stop();
    }
}

fn routes(shared: Arc<Shared>) -> Router {
    let at = |path: &str| format!("/{}{path}", shared.token);
    Router::new()
        .route(&at("/"), get(assets::index))
        .route(&at("/{file}"), get(assets::file))
        .route(&at("/api/opening"), get(world::opening))
        .route(&at("/api/world"), post(world::describe))
        .route(&at("/api/solve"), post(answer::solve))
        .route(&at("/api/curve"), post(curve::curve))
        .route(&at("/api/race"), post(race::race))
        .route(&at("/api/learn"), post(learning::begin))
        .route(&at("/api/learn/next"), post(learning::next))
        .route(&at("/api/import/{name}"), post(files::import))
        .route(&at("/api/export/{name}"), post(files::export))
        .fallback(gate::nothing_here)
        .with_state(Arc::clone(&shared))
        .layer(axum::middleware::from_fn_with_state(shared, gate::gate))
}

/// 128 random bits from the system, as text.
fn random_name() -> Result<String> {
    use rand::rand_core::TryRng;
    let mut bytes = [0u8; 16];
    rand::rngs::SysRng
        .try_fill_bytes(&mut bytes)
        .map_err(|error| {
            Error::Unsupported(format!("the system gives no random numbers: {error}"))
        })?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}
