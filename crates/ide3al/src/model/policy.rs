//! A stationary Markovian policy: one probability per state-action pair.

use super::Mdp;
use crate::error::{Error, Result};

/// $\pi(a \mid s)$, aligned with the pairs of the [`Mdp`] it was made for.
#[derive(Debug, Clone, PartialEq)]
pub struct Policy {
    probabilities: Vec<f64>,
}

impl Policy {
    /// Every action of a state equally likely.
    pub fn uniform(mdp: &Mdp) -> Self {
        let mut probabilities = Vec::with_capacity(mdp.n_pairs());
        for s in 0..mdp.n_states() {
            let n = mdp.n_actions(s);
            probabilities.extend(std::iter::repeat_n(1.0 / n as f64, n));
        }
        Policy { probabilities }
    }

    /// Checks and takes one probability per pair. Row sums within 1e-9 of one are
    /// renormalised; anything else is an error that names the state.
    pub fn new(mdp: &Mdp, mut probabilities: Vec<f64>) -> Result<Self> {
        if probabilities.len() != mdp.n_pairs() {
            return Err(Error::Size {
                what: "policy".into(),
                expected: format!("{} state-action pairs as in the model", mdp.n_pairs()),
                found: probabilities.len().to_string(),
            });
        }
        for state in 0..mdp.n_states() {
            let row = &mut probabilities[mdp.pairs(state)];
            if let Some(bad) = row.iter().find(|p| !p.is_finite() || **p < 0.0) {
                return Err(Error::BadPolicy {
                    state,
                    problem: format!("{bad} is not a probability"),
                });
            }
            if let Err(sum) = super::builder::normalise(row, 1.0) {
                return Err(Error::BadPolicy {
                    state,
                    problem: format!("probabilities sum to {sum}"),
                });
            }
        }
        Ok(Policy { probabilities })
    }

    /// From one row per state, each as long as that state has actions.
    pub fn from_rows(mdp: &Mdp, rows: &[Vec<f64>]) -> Result<Self> {
        if rows.len() != mdp.n_states() {
            return Err(Error::Size {
                what: "policy".into(),
                expected: format!("{} rows, one per state of the model", mdp.n_states()),
                found: rows.len().to_string(),
            });
        }
        for (state, row) in rows.iter().enumerate() {
            if row.len() != mdp.n_actions(state) {
                return Err(Error::BadPolicy {
                    state,
                    problem: format!(
                        "{} probabilities for {} actions",
                        row.len(),
                        mdp.n_actions(state)
                    ),
                });
            }
        }
        Policy::new(mdp, rows.concat())
    }

    /// Takes probabilities that a solver made: negative rounding is cut off and every row
    /// rescaled to sum to one. A row of zeros becomes uniform.
    pub(crate) fn cleaned(mdp: &Mdp, mut probabilities: Vec<f64>) -> Self {
        debug_assert_eq!(probabilities.len(), mdp.n_pairs());
        for s in 0..mdp.n_states() {
            let row = &mut probabilities[mdp.pairs(s)];
            for p in row.iter_mut() {
                *p = if p.is_finite() { p.max(0.0) } else { 0.0 };
            }
            let sum: f64 = row.iter().sum();
            let n = row.len() as f64;
            for p in row.iter_mut() {
                *p = if sum > 0.0 { *p / sum } else { 1.0 / n };
            }
        }
        Policy { probabilities }
    }

    /// [`cleaned`](Self::cleaned), and no entry below `xi` but by rounding: what a solver's last
    /// bits or the rescaling lost there is taken from the row's largest entry.
    pub(crate) fn cleaned_within(mdp: &Mdp, xi: f64, probabilities: Vec<f64>) -> Self {
        let mut policy = Policy::cleaned(mdp, probabilities);
        for s in 0..mdp.n_states() {
            let row = &mut policy.probabilities[mdp.pairs(s)];
            lift(row, xi);
        }
        policy
    }

    /// Takes back probabilities that were once a policy's, bit for bit (a checkpoint): checked
    /// but not rescaled. `None` if they cannot have been one of this shape.
    pub(crate) fn restored(n_pairs: usize, probabilities: Vec<f64>) -> Option<Self> {
        let sound = probabilities.len() == n_pairs
            && probabilities.iter().all(|p| (0.0..=1.0 + 1e-9).contains(p));
        sound.then_some(Policy { probabilities })
    }

    /// Takes rows that were put together from policies' own rows.
    pub(crate) fn of_rows(probabilities: Vec<f64>) -> Self {
        Policy { probabilities }
    }

    /// One probability per pair.
    pub fn probabilities(&self) -> &[f64] {
        &self.probabilities
    }

    /// One row per state.
    pub fn rows(&self, mdp: &Mdp) -> Vec<Vec<f64>> {
        (0..mdp.n_states())
            .map(|s| self.probabilities[mdp.pairs(s)].to_vec())
            .collect()
    }

    /// $\max_{s,a} |\pi(a|s) - \pi'(a|s)|$.
    pub fn distance(&self, other: &Policy) -> f64 {
        self.probabilities
            .iter()
            .zip(&other.probabilities)
            .fold(0.0, |worst, (p, q)| f64::max(worst, (p - q).abs()))
    }
}

/// Moves entries below $\xi$ up to it and takes the difference from the largest. Leaves every other
/// entry as it is, to the last bit.
fn lift(row: &mut [f64], xi: f64) {
    let mut missing = 0.0;
    for x in row.iter_mut() {
        if *x < xi {
            missing += xi - *x;
            *x = xi;
        }
    }
    if missing > 0.0
        && let Some(largest) = row.iter_mut().max_by(|a, b| a.total_cmp(b))
    {
        *largest = (*largest - missing).max(xi);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifting_moves_only_what_is_below() {
        let mut row = [0.3, 0.1 - 1e-12, 0.6 + 1e-12];
        lift(&mut row, 0.1);
        assert_eq!(row[..2], [0.3, 0.1]);
        assert!((row.iter().sum::<f64>() - 1.0).abs() < 1e-15);
        let mut inside = [1e-13, 1.0 - 1e-13];
        lift(&mut inside, 1e-13);
        assert_eq!(inside, [1e-13, 1.0 - 1e-13]);
    }
}
