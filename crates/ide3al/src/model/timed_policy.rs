//! A policy that knows the step: one table of probabilities for each of $T$ steps.

use super::{Mdp, Policy};
use crate::error::{Error, Result};

/// $\pi_t(a \mid s)$ for the steps $t = 1, \dots, T$ of an episode.
///
/// The action of the last step leads beyond the episode; it is there so that whoever follows the
/// policy always has one.
#[derive(Debug, Clone, PartialEq)]
pub struct TimedPolicy {
    pairs: usize,
    probabilities: Vec<f64>,
}

impl TimedPolicy {
    /// Checks and takes one probability per step and pair, step by step. Row sums within 1e-9 of
    /// one are renormalised; anything else is an error that names the step and the state.
    pub fn new(mdp: &Mdp, probabilities: Vec<f64>) -> Result<Self> {
        let pairs = mdp.n_pairs();
        if probabilities.is_empty() || !probabilities.len().is_multiple_of(pairs) {
            return Err(Error::Size {
                what: "time-dependent policy".into(),
                expected: format!(
                    "{pairs} state-action pairs as in the model for each of one or more steps"
                ),
                found: format!("{} probabilities", probabilities.len()),
            });
        }
        let mut checked = Vec::with_capacity(probabilities.len());
        for (step, table) in probabilities.chunks_exact(pairs).enumerate() {
            let table = Policy::new(mdp, table.to_vec()).map_err(|e| in_step(e, step))?;
            checked.extend_from_slice(table.probabilities());
        }
        Ok(TimedPolicy {
            pairs,
            probabilities: checked,
        })
    }

    /// The same stationary policy in each of `steps` steps (at least one).
    pub fn repeated(policy: &Policy, steps: usize) -> Self {
        TimedPolicy {
            pairs: policy.probabilities().len(),
            probabilities: policy.probabilities().repeat(steps.max(1)),
        }
    }

    /// Takes tables that a solver made: negative rounding is cut off, rows are rescaled, nothing is
    /// below `xi` but by rounding.
    pub(crate) fn cleaned_within(mdp: &Mdp, xi: f64, mut probabilities: Vec<f64>) -> Self {
        let pairs = mdp.n_pairs();
        debug_assert!(probabilities.len().is_multiple_of(pairs));
        for table in probabilities.chunks_exact_mut(pairs) {
            let clean = Policy::cleaned_within(mdp, xi, table.to_vec());
            table.copy_from_slice(clean.probabilities());
        }
        TimedPolicy {
            pairs,
            probabilities,
        }
    }

    /// Number of steps $T$.
    pub fn steps(&self) -> usize {
        self.probabilities.len() / self.pairs
    }

    /// One probability per pair in step `t`, counted from 0.
    pub fn at(&self, t: usize) -> &[f64] {
        &self.probabilities[t * self.pairs..(t + 1) * self.pairs]
    }

    /// One probability per step and pair, step by step.
    pub fn probabilities(&self) -> &[f64] {
        &self.probabilities
    }

    /// One table per step, one row per state.
    pub fn rows(&self, mdp: &Mdp) -> Vec<Vec<Vec<f64>>> {
        let row = |table: &[f64], s: usize| table[mdp.pairs(s)].to_vec();
        self.probabilities
            .chunks_exact(self.pairs)
            .map(|table| (0..mdp.n_states()).map(|s| row(table, s)).collect())
            .collect()
    }
}

/// An error about one table, with the step it belongs to.
pub(super) fn in_step(error: Error, step: usize) -> Error {
    match error {
        Error::BadPolicy { state, problem } => Error::BadPolicy {
            state,
            problem: format!("in step {}: {problem}", step + 1),
        },
        Error::Size {
            what,
            expected,
            found,
        } => Error::Size {
            what: format!("{what}, step {}", step + 1),
            expected,
            found,
        },
        other => other,
    }
}

/// What a policy file may hold.
#[derive(Debug, Clone, PartialEq)]
pub enum Plan {
    /// The same at every step.
    Stationary(Policy),
    /// One table per step.
    Timed(TimedPolicy),
}
