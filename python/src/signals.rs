//! Ctrl-C in long calls.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, mpsc};
use std::time::{Duration, Instant};

use ide3al::solve::{Observer, Progress};
use pyo3::prelude::*;

/// How often Python is asked for signals: often enough for a person, seldom enough to cost
/// nothing.
const EVERY: Duration = Duration::from_millis(50);

/// Asks Python for pending signals now and then, and stops the work when one raised.
pub(crate) struct Signals {
    last: Instant,
    raised: Option<PyErr>,
}

impl Signals {
    pub(crate) fn new() -> Self {
        Signals {
            last: Instant::now(),
            raised: None,
        }
    }

    /// Whether the work should stop.
    pub(crate) fn pending(&mut self) -> bool {
        if self.raised.is_none() && self.last.elapsed() >= EVERY {
            self.last = Instant::now();
            self.raised = Python::attach(|py| py.check_signals()).err();
        }
        self.raised.is_some()
    }

    /// The exception that the signal's handler raised, if any.
    pub(crate) fn finish(self) -> PyResult<()> {
        self.raised.map_or(Ok(()), Err)
    }
}

impl Observer for Signals {
    fn on(&mut self, _: &Progress) -> ControlFlow<()> {
        if self.pending() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// An exception that waits for the library to return.
#[derive(Default)]
pub(crate) struct Pending(Mutex<Option<PyErr>>);

impl Pending {
    pub(crate) fn put(&self, error: PyErr) {
        // a poisoned lock holds a plain option: nothing can be half done
        let mut slot = self.0.lock().unwrap_or_else(|e| e.into_inner());
        slot.get_or_insert(error);
    }

    pub(crate) fn take(&self) -> Option<PyErr> {
        self.0.lock().unwrap_or_else(|e| e.into_inner()).take()
    }
}

/// Does `work` on a thread of its own with the GIL released, while this one asks Python for
/// signals and calls `tick` in between. Where a signal's handler or `tick` raised, `stop` is
/// set, the work is waited for, and the exception returned.
pub(crate) fn watched<T: Send>(
    py: Python<'_>,
    stop: &AtomicBool,
    tick: impl Fn() -> PyResult<()>,
    work: impl FnOnce() -> T + Send,
) -> PyResult<T> {
    let (sender, mut receiver) = mpsc::channel();
    std::thread::scope(|scope| {
        scope.spawn(move || sender.send(work()));
        let mut raised = None;
        loop {
            match py.detach(|| wait(&mut receiver)) {
                Ok(Some(done)) => return raised.map_or(Ok(done), Err),
                Ok(None) if raised.is_some() => {}
                Ok(None) => {
                    if let Err(problem) = py.check_signals().and_then(|()| tick()) {
                        stop.store(true, Ordering::Relaxed);
                        raised = Some(problem);
                    }
                }
                // the thread panicked: the scope passes that on
                Err(()) => return Err(crate::errors::error("the work ended unexpectedly")),
            }
        }
    })
}

/// Like [`watched`] for work that cannot be stopped: on a signal it is left alone to end
/// where nobody waits for it.
pub(crate) fn abandonable<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> T + Send + 'static,
) -> PyResult<T> {
    let (sender, mut receiver) = mpsc::channel();
    std::thread::spawn(move || sender.send(work()));
    loop {
        match py.detach(|| wait(&mut receiver)) {
            Ok(Some(done)) => return Ok(done),
            Ok(None) => py.check_signals()?,
            Err(()) => return Err(crate::errors::error("the work ended unexpectedly")),
        }
    }
}

fn wait<T>(receiver: &mut mpsc::Receiver<T>) -> Result<Option<T>, ()> {
    match receiver.recv_timeout(EVERY) {
        Ok(done) => Ok(Some(done)),
        Err(mpsc::RecvTimeoutError::Timeout) => Ok(None),
        Err(mpsc::RecvTimeoutError::Disconnected) => Err(()),
    }
}
