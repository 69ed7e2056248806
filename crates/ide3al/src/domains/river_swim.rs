//! River Swim: against the current upstream, freely downstream.
//!
//! Source: Strehl and Littman (2008), "An analysis of model-based interval estimation for
//! Markov decision processes", with the probabilities of Mutti and Restelli (2020).

use super::{check_count, check_transitions, names};
use crate::error::Result;
use crate::model::Mdp;

/// `left` surely moves one state down. `right` moves up with 0.6 from the bottom (else
/// stays); in the middle up with 0.35, stays with 0.6, slips down with 0.05; at the top it
/// stays with 0.6 and slips down with 0.4. Starts in state 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RiverSwim {
    /// Number of states.
    pub states: usize,
}

impl Default for RiverSwim {
    fn default() -> Self {
        RiverSwim { states: 6 }
    }
}

impl RiverSwim {
    /// Checks the parameters.
    pub fn validate(&self) -> Result<()> {
        check_count("states", self.states, 2, u32::MAX as usize - 1)?;
        check_transitions("states", &[self.states, 4])
    }

    /// Builds the model.
    pub fn build(&self) -> Result<Mdp> {
        self.validate()?;
        let n = self.states;
        Mdp::from_fn(n, 2, |s, action, row| {
            if action == 0 {
                row.push((s.saturating_sub(1), 1.0));
            } else if s == 0 {
                row.extend([(0, 0.4), (1, 0.6)]);
            } else if s == n - 1 {
                row.extend([(s - 1, 0.4), (s, 0.6)]);
            } else {
                row.extend([(s - 1, 0.05), (s, 0.6), (s + 1, 0.35)]);
            }
            true
        })?
        .with_start_state(0)?
        .with_action_names(names(&["left", "right"]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_the_reference_matrix() {
        let dense = RiverSwim::default().build().unwrap().kernel().to_dense();
        let expected = [
            [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.4, 0.6, 0.0, 0.0, 0.0, 0.0],
            [1.0, 0.0, 0.0, 0.0, 0.0, 0.0],
            [0.05, 0.6, 0.35, 0.0, 0.0, 0.0],
            [0.0, 1.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.05, 0.6, 0.35, 0.0, 0.0],
            [0.0, 0.0, 1.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.05, 0.6, 0.35, 0.0],
            [0.0, 0.0, 0.0, 1.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.05, 0.6, 0.35],
            [0.0, 0.0, 0.0, 0.0, 1.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.4, 0.6],
        ];
        assert_eq!(dense, expected);
    }
}
