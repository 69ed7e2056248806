//! Terminal states for an environment that has none of its own.

use rand_chacha::ChaCha8Rng;

use super::environment::{End, Environment, Step, check_state};
use crate::error::Result;

/// Makes some states of an environment terminal: reaching one ends the episode, and the
/// trajectory restarts from the start distribution.
#[derive(Debug, Clone)]
pub struct Episodic<E> {
    inner: E,
    terminal: Vec<bool>,
}

impl<E: Environment> Episodic<E> {
    /// With the given terminal states.
    pub fn new(inner: E, terminal_states: &[usize]) -> Result<Self> {
        let mut terminal = vec![false; inner.n_states()];
        for &state in terminal_states {
            let state = check_state(state, terminal.len(), "the list of terminal states")?;
            terminal[state] = true;
        }
        Ok(Episodic { inner, terminal })
    }
}

impl<E: Environment> Environment for Episodic<E> {
    fn n_states(&self) -> usize {
        self.inner.n_states()
    }

    fn n_actions(&self, state: usize) -> usize {
        self.inner.n_actions(state)
    }

    fn reset(&mut self, rng: &mut ChaCha8Rng) -> Result<usize> {
        self.inner.reset(rng)
    }

    fn step(&mut self, action: usize, rng: &mut ChaCha8Rng) -> Result<Step> {
        let step = self.inner.step(action, rng)?;
        let terminal = self.terminal.get(step.next).copied().unwrap_or(false);
        Ok(Step {
            next: step.next,
            end: if terminal { End::Terminal } else { step.end },
        })
    }

    fn set_state(&mut self, state: usize) -> Result<()> {
        self.inner.set_state(state)
    }
}
