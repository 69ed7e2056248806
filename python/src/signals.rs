//! Ctrl-C in long calls.

use std::ops::ControlFlow;
use std::sync::Mutex;
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
