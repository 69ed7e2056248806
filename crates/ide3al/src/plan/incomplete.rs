//! Incomplete LU factors of $I - \gamma P_\pi$ on its own pattern, as a preconditioner.
//!
//! The matrix is an M-matrix, for which the factors exist. Where states are numbered along the ways
//! between them the factors are nearly exact, so that values travel far in one step.
//!
//! Reference: Meijerink and van der Vorst (1977), *Mathematics of Computation* 31, 148-162.

use super::sweep::Sweeper;

const NOWHERE: u32 = u32::MAX;

/// The factors: multipliers below the diagonal, the upper factor from it on.
#[derive(Default)]
pub(super) struct Incomplete {
    offsets: Vec<usize>,
    columns: Vec<u32>,
    values: Vec<f64>,
    /// Place of each row's diagonal entry.
    diagonal: Vec<usize>,
    /// Place of each column in the row at hand.
    place: Vec<u32>,
}

impl Incomplete {
    /// Factors the matrix of the pairs chosen. Uniform shares of rows are left out.
    pub(super) fn factor(&mut self, sweeper: &Sweeper<'_>, choice: &[u32]) {
        let n = choice.len();
        self.offsets.clear();
        self.offsets.push(0);
        self.columns.clear();
        self.values.clear();
        self.diagonal.clear();
        self.place.resize(n, NOWHERE);
        for (s, &pair) in choice.iter().enumerate() {
            let first = self.columns.len();
            let mut own = None;
            if !sweeper.ended[s] {
                let row = sweeper.mdp.row(pair as usize);
                for (t, p) in row.entries().filter(|(t, _)| !sweeper.ended[*t]) {
                    if t >= s && own.is_none() {
                        own = Some(self.columns.len());
                        self.columns.push(s as u32);
                        self.values.push(1.0);
                    }
                    if t == s {
                        let last = self.values.len() - 1;
                        self.values[last] -= sweeper.discount * p;
                    } else {
                        self.columns.push(t as u32);
                        self.values.push(-sweeper.discount * p);
                    }
                }
            }
            let own = own.unwrap_or_else(|| {
                self.columns.push(s as u32);
                self.values.push(1.0);
                self.columns.len() - 1
            });
            self.diagonal.push(own);
            self.eliminate(s, first);
            self.offsets.push(self.columns.len());
        }
    }

    /// Eliminates what stands before the diagonal of row `s`, which begins at `first`.
    fn eliminate(&mut self, s: usize, first: usize) {
        let end = self.columns.len();
        let own = self.diagonal[s];
        if own > first {
            for at in first..end {
                self.place[self.columns[at] as usize] = at as u32;
            }
            for at in first..own {
                let k = self.columns[at] as usize;
                let factor = self.values[at] / self.values[self.diagonal[k]];
                self.values[at] = factor;
                for above in self.diagonal[k] + 1..self.offsets[k + 1] {
                    let place = self.place[self.columns[above] as usize];
                    if place != NOWHERE {
                        self.values[place as usize] -= factor * self.values[above];
                    }
                }
            }
            for at in first..end {
                self.place[self.columns[at] as usize] = NOWHERE;
            }
        }
        // rounding may take all of a pivot where nothing is discounted
        if self.values[own] < f64::EPSILON {
            self.values[own] = f64::EPSILON;
        }
    }

    /// Solves with the factors.
    pub(super) fn solve(&self, right: &[f64], out: &mut [f64]) {
        let n = right.len();
        for s in 0..n {
            let mut sum = right[s];
            for at in self.offsets[s]..self.diagonal[s] {
                sum -= self.values[at] * out[self.columns[at] as usize];
            }
            out[s] = sum;
        }
        for s in (0..n).rev() {
            let mut sum = out[s];
            for at in self.diagonal[s] + 1..self.offsets[s + 1] {
                sum -= self.values[at] * out[self.columns[at] as usize];
            }
            out[s] = sum / self.values[self.diagonal[s]];
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Mdp;

    #[test]
    fn a_matrix_that_does_not_fill_in_is_solved_exactly() {
        // a walk on a line, and an ended state at its end
        let n = 30;
        let mdp = Mdp::from_fn(n, 1, |s, _, row| {
            row.push((s.saturating_sub(1), 0.5));
            row.push(((s + 1).min(n - 1), 0.5));
            true
        });
        let mdp = mdp.unwrap();
        let mut ended = vec![false; n];
        ended[n - 1] = true;
        let reward = vec![0.0; n];
        let sweeper = Sweeper {
            mdp: &mdp,
            reward: &reward,
            discount: 0.99,
            ended: &ended,
            allowed: &[],
        };
        let mut choice: Vec<u32> = (0..n as u32).collect();
        let mut factors = Incomplete::default();
        factors.factor(&sweeper, &choice);
        let right: Vec<f64> = (0..n).map(|s| s as f64 - 3.0).collect();
        let (mut x, mut ahead) = (vec![0.0; n], vec![0.0; n]);
        factors.solve(&right, &mut x);
        let last = x[n - 1];
        x[n - 1] = 0.0;
        sweeper.expect_next(&x, &mut ahead, &mut choice);
        assert_eq!(last, right[n - 1]);
        for s in 0..n - 1 {
            assert!((x[s] - ahead[s] - right[s]).abs() < 1e-10);
        }
    }
}
