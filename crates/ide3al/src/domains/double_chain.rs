//! Double Chain: two arms to climb from a common centre.
//!
//! Source: Mutti and Restelli (2020), section "Experiments".

use super::{check_count, check_share, check_transitions, names};
use crate::error::Result;
use crate::model::Mdp;

/// $S$ states in a line with the centre at $\lfloor (S-1)/2 \rfloor$, an arm on either side (for 20
/// states the centre is 9, and the right arm one longer). The action that points outward climbs,
/// the other falls to the centre; with probability `slip` they swap. At the centre both actions
/// climb, one per arm, and a swap stays there. Starts at the centre.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DoubleChain {
    /// Number of states.
    pub states: usize,
    /// Probability that the other action happens.
    pub slip: f64,
}

impl Default for DoubleChain {
    fn default() -> Self {
        DoubleChain {
            states: 20,
            slip: 0.1,
        }
    }
}

impl DoubleChain {
    /// Checks the parameters.
    pub fn validate(&self) -> Result<()> {
        check_count("states", self.states, 3, u32::MAX as usize - 1)?;
        check_transitions("states", &[self.states, 4])?;
        check_share("slip", self.slip)
    }

    /// Builds the model.
    pub fn build(&self) -> Result<Mdp> {
        self.validate()?;
        let (n, slip) = (self.states, self.slip);
        let centre = (n - 1) / 2;
        Mdp::from_fn(n, 2, |s, action, row| {
            if s == centre {
                let outward = if action == 0 { s - 1 } else { s + 1 };
                row.extend([(outward, 1.0 - slip), (s, slip)]);
                return true;
            }
            let (left, right) = if s < centre {
                (s.saturating_sub(1), centre)
            } else {
                (centre, (s + 1).min(n - 1))
            };
            let (meant, other) = if action == 0 {
                (left, right)
            } else {
                (right, left)
            };
            row.extend([(meant, 1.0 - slip), (other, slip)]);
            true
        })?
        .with_start_state(centre)?
        .with_action_names(names(&["left", "right"]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_the_reference_matrix() {
        let mdp = DoubleChain::default().build().unwrap();
        assert_eq!((mdp.n_states(), mdp.start()[9]), (20, 1.0));
        let dense = mdp.kernel().to_dense();
        let row = |s: usize, a: usize| {
            let entries = dense[2 * s + a].iter().enumerate();
            entries
                .filter(|(_, p)| **p > 0.0)
                .map(|(t, &p)| (t, p))
                .collect::<Vec<_>>()
        };
        assert_eq!(row(9, 0), [(8, 0.9), (9, 0.1)]);
        assert_eq!(row(9, 1), [(9, 0.1), (10, 0.9)]);
        assert_eq!(row(0, 0), [(0, 0.9), (9, 0.1)]);
        assert_eq!(row(4, 0), [(3, 0.9), (9, 0.1)]);
        assert_eq!(row(4, 1), [(3, 0.1), (9, 0.9)]);
        assert_eq!(row(12, 0), [(9, 0.9), (13, 0.1)]);
        assert_eq!(row(12, 1), [(9, 0.1), (13, 0.9)]);
        assert_eq!(row(19, 1), [(9, 0.1), (19, 0.9)]);
    }
}
