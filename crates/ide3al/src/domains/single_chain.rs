//! Single Chain: one arm to climb, with a fall to the bottom.
//!
//! Source: Mutti and Restelli (2020), section "Experiments".

use super::{check_count, check_share, check_transitions, names};
use crate::error::Result;
use crate::model::Mdp;

/// `climb` leads from $s$ to $\min(s+1, S-1)$, `fall` to 0; with probability `slip` the
/// other one happens. Starts in state 0.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SingleChain {
    /// Number of states.
    pub states: usize,
    /// Probability that the other action happens.
    pub slip: f64,
}

impl Default for SingleChain {
    fn default() -> Self {
        SingleChain {
            states: 10,
            slip: 0.1,
        }
    }
}

impl SingleChain {
    /// Checks the parameters.
    pub fn validate(&self) -> Result<()> {
        check_count("states", self.states, 1, u32::MAX as usize - 1)?;
        check_transitions("states", &[self.states, 4])?;
        check_share("slip", self.slip)
    }

    /// Builds the model.
    pub fn build(&self) -> Result<Mdp> {
        self.validate()?;
        let (n, slip) = (self.states, self.slip);
        Mdp::from_fn(n, 2, |s, action, row| {
            let up = (s + 1).min(n - 1);
            let (meant, other) = if action == 0 { (up, 0) } else { (0, up) };
            row.extend([(meant, 1.0 - slip), (other, slip)]);
            true
        })?
        .with_start_state(0)?
        .with_action_names(names(&["climb", "fall"]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_the_reference_matrix() {
        let mdp = SingleChain::default().build().unwrap();
        assert_eq!(mdp.start()[0], 1.0);
        for s in 0..10 {
            let up = (s + 1).min(9);
            let dense = mdp.kernel().to_dense();
            let mut climb = vec![0.0; 10];
            let mut fall = vec![0.0; 10];
            climb[up] += 0.9;
            climb[0] += 0.1;
            fall[0] += 0.9;
            fall[up] += 0.1;
            assert_eq!(dense[2 * s], climb);
            assert_eq!(dense[2 * s + 1], fall);
        }
    }

    #[test]
    fn degenerate_parameters_build_or_are_refused() {
        for (states, slip, good) in [
            (1, 0.0, true),
            (2, 1.0, true),
            (0, 0.1, false),
            (5, f64::NAN, false),
            (5, -0.1, false),
        ] {
            assert_eq!(SingleChain { states, slip }.build().is_ok(), good);
        }
    }
}
