//! A Python environment as an environment of the library.

use ide3al::Error;
use ide3al::learn::{End, Environment, Step};
use pyo3::prelude::*;
use rand_chacha::ChaCha8Rng;

use crate::agent::{Agent, check_pairs};
use crate::signals::Pending;

/// Calls back into Python: `reset() -> state`, `step(action) -> (state, end)` with `end`
/// 0 (goes on), 1 (terminal) or 2 (truncated).
pub(crate) struct Callbacks<'py, 'a> {
    pub(crate) reset: Bound<'py, PyAny>,
    pub(crate) step: Bound<'py, PyAny>,
    pub(crate) n_states: usize,
    pub(crate) agent: &'a Agent,
    /// Where an exception waits until the library has returned.
    pub(crate) pending: &'a Pending,
}

impl Callbacks<'_, '_> {
    /// A state, if there is memory for all up to it.
    fn fitting(&self, state: usize) -> PyResult<usize> {
        check_pairs(state.saturating_add(1), self.agent.n_actions)?;
        Ok(state)
    }

    fn passed<T>(&self, result: PyResult<T>) -> ide3al::Result<T> {
        result.map_err(|raised| {
            self.pending.put(raised);
            Error::Interrupted
        })
    }
}

impl Environment for Callbacks<'_, '_> {
    fn n_states(&self) -> usize {
        if self.agent.is_open() {
            u32::MAX as usize
        } else {
            self.n_states
        }
    }

    fn n_actions(&self, state: usize) -> usize {
        self.agent.width(state)
    }

    fn reset(&mut self, _: &mut ChaCha8Rng) -> ide3al::Result<usize> {
        let begun = self.reset.call0().and_then(|state| state.extract());
        self.passed(begun.and_then(|state| self.fitting(state)))
    }

    fn step(&mut self, action: usize, _: &mut ChaCha8Rng) -> ide3al::Result<Step> {
        let outcome = self.step.call1((action,)).and_then(|o| o.extract());
        let (next, end): (usize, u8) = self.passed(outcome)?;
        let next = self.passed(self.fitting(next))?;
        Ok(Step {
            next,
            end: match end {
                0 => End::Continues,
                1 => End::Terminal,
                _ => End::Truncated,
            },
        })
    }
}
