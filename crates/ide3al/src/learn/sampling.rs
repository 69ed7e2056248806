//! Draws of actions from a policy.

use rand_chacha::ChaCha8Rng;

use super::alias::{self, Slot};
use super::estimate::fitted;
use crate::error::{Error, Result};
use crate::model::{Counts, Policy};

/// Draws actions from a policy in constant time: one alias table per state.
#[derive(Debug, Clone, Default)]
pub struct PolicySampler {
    first_pair: Vec<usize>,
    slots: Vec<Slot>,
    builder: alias::Builder,
}

impl PolicySampler {
    /// For states with the given numbers of actions. No policy yet: call
    /// [`set`](Self::set).
    pub fn new(actions_per_state: &[usize]) -> Self {
        let mut first_pair = vec![0];
        let mut pairs = 0;
        for n in actions_per_state {
            pairs += n;
            first_pair.push(pairs);
        }
        PolicySampler {
            first_pair,
            slots: Vec::with_capacity(pairs),
            builder: alias::Builder::default(),
        }
    }

    /// Takes over a policy. Cost $O(\text{pairs})$.
    pub fn set(&mut self, policy: &Policy) -> Result<()> {
        let probabilities = policy.probabilities();
        let pairs = self.first_pair.last().copied().unwrap_or(0);
        if probabilities.len() != pairs {
            return Err(Error::Size {
                what: "policy".into(),
                expected: format!("{pairs} state-action pairs as in the environment"),
                found: probabilities.len().to_string(),
            });
        }
        self.slots.clear();
        for window in self.first_pair.windows(2) {
            let row = probabilities[window[0]..window[1]].iter().copied();
            let row = row.enumerate().map(|(a, p)| (a as u32, p));
            self.builder.append(row, &mut self.slots);
        }
        Ok(())
    }

    /// [`set`](Self::set) for a policy that may have been made before the last states were found:
    /// these are played uniformly.
    pub fn set_grown(&mut self, policy: &Policy, counts: &Counts) -> Result<()> {
        if policy.probabilities().len() == counts.n_pairs() {
            return self.set(policy);
        }
        self.set(&fitted(policy, counts))
    }

    /// Adds a state that nobody knew of, after all others, with every action equally likely.
    pub fn add_state(&mut self, n_actions: usize) {
        let first = self.first_pair.last().copied().unwrap_or(0);
        self.first_pair.push(first + n_actions);
        let row = (0..n_actions as u32).map(|a| (a, 1.0));
        self.builder.append(row, &mut self.slots);
    }

    /// An action in `state`.
    #[inline]
    pub fn draw(&self, state: usize, rng: &mut ChaCha8Rng) -> usize {
        let row = &self.slots[self.first_pair[state]..self.first_pair[state + 1]];
        alias::draw(row, rng) as usize
    }
}
