//! The inverses of the blocks $K_s$ of the [normal equations](super::normal), one per state,
//! written down as a sum of positive parts.
//!
//! $K = \mathrm{diag}(h) + g\, \mathbf 1 \mathbf 1^\top + N \mathrm{diag}(w) N$ is diagonal once
//! the change $\delta$ of the state's own visits is given, so that minimising
//! $\tfrac12 x^\top K x - v \cdot x$ first over the $x$ that sum to $\delta$ and then over $\delta$
//! gives
//!
//! $$K^{-1} = \mathrm{diag}(u) - \frac{u u^\top}{\sigma} + \frac{c\, c^\top}{\kappa}, \qquad u = \frac{1}{h + w}, \quad \sigma = \sum u, \quad
//!   c = \frac{q}{\sigma} u + \xi\, w u, \quad q = 1 - \xi \sum w u, \quad \kappa = g + \xi^2 \sum
//!   h w u + \frac{q^2}{\sigma} :$$
//!
//! what actions exchange among each other, and how all move together ($c$ sums to one). Near an
//! optimum the weights differ by more than floating point has digits, and in a sum of the blocks'
//! entries the small ones would be lost, and with them all that can still move. Here nothing of the
//! kind is added up: exchanges are told relative to the action that moves most freely, the
//! *reference*, and $q$ is a sum of positive terms, too.

use std::ops::Range;

use crate::model::Mdp;

pub(super) struct Blocks<'a> {
    mdp: &'a Mdp,
    xi: f64,
    /// $u$ and $c$ by pairs, $1/\sigma$ and $1/\kappa$ by states, and the reference of each state.
    free: Vec<f64>,
    together: Vec<f64>,
    states: Vec<Shared>,
}

/// What the actions of a state share.
#[derive(Clone, Copy, Default)]
struct Shared {
    exchange: f64,
    together: f64,
    reference: usize,
}

/// The parts of one state's inverse:
/// $\sum_i u_i\, (e_i - e_r) (e_i - e_r)^\top - m m^\top / \sigma + c c^\top / \kappa$ with
/// $m = \sum_i u_i\, (e_i - e_r)$.
pub(super) struct Parts<'b> {
    pub(super) free: &'b [f64],
    pub(super) together: &'b [f64],
    pub(super) reference: usize,
    /// $1 / \sigma$ and $1 / \kappa$.
    pub(super) exchange_weight: f64,
    pub(super) together_weight: f64,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(mdp: &'a Mdp, xi: f64) -> Self {
        Blocks {
            mdp,
            xi,
            free: vec![0.0; mdp.n_pairs()],
            together: vec![0.0; mdp.n_pairs()],
            states: vec![Shared::default(); mdp.n_states()],
        }
    }

    /// Takes $h$ and $w$ by pairs and $g$ by states; false where a block is not positive.
    pub(super) fn factor(&mut self, h: &[f64], g: &[f64], w: &[f64]) -> bool {
        (0..self.mdp.n_states()).all(|s| self.invert(self.mdp.pairs(s), s, h, g[s], w))
    }

    fn invert(&mut self, pairs: Range<usize>, s: usize, h: &[f64], g: f64, w: &[f64]) -> bool {
        let xi = self.xi;
        let free_share = 1.0 - xi * pairs.len() as f64;
        let (mut sum, mut held, mut stiff) = (0.0, free_share, g);
        let mut reference = pairs.start;
        for i in pairs.clone() {
            let u = 1.0 / (h[i] + w[i]);
            if !(u > 0.0 && u.is_finite()) {
                return false;
            }
            self.free[i] = u;
            sum += u;
            held += xi * (h[i] * u);
            stiff += xi * xi * (h[i] * (w[i] * u));
            if u > self.free[reference] {
                reference = i;
            }
        }
        stiff += held * (held / sum);
        for i in pairs.clone() {
            let u = self.free[i];
            self.together[i] = held * (u / sum) + xi * (w[i] * u);
        }
        self.states[s] = Shared {
            exchange: 1.0 / sum,
            together: 1.0 / stiff,
            reference: reference - pairs.start,
        };
        stiff > 0.0 && stiff.is_finite()
    }

    pub(super) fn of(&self, s: usize) -> Parts<'_> {
        let (pairs, shared) = (self.mdp.pairs(s), self.states[s]);
        Parts {
            free: &self.free[pairs.clone()],
            together: &self.together[pairs],
            reference: shared.reference,
            exchange_weight: shared.exchange,
            together_weight: shared.together,
        }
    }

    /// Multiplies by $K^{-1}$, in place.
    pub(super) fn divide(&self, x: &mut [f64]) {
        for s in 0..self.mdp.n_states() {
            let parts = self.of(s);
            let row = &mut x[self.mdp.pairs(s)];
            let at_reference = row[parts.reference];
            let (mut mean, mut all) = (0.0, 0.0);
            for ((x, u), c) in row.iter_mut().zip(parts.free).zip(parts.together) {
                all += c * *x;
                *x -= at_reference;
                mean += u * *x;
            }
            mean *= parts.exchange_weight;
            all *= parts.together_weight;
            for ((x, u), c) in row.iter_mut().zip(parts.free).zip(parts.together) {
                *x = u * (*x - mean) + c * all;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The inverse times the block is one, with weights of all sizes and without.
    #[test]
    fn blocks_times_their_inverses() {
        let n = 5;
        let mdp = Mdp::from_fn(1, n, |_, _, next| {
            next.push((0, 1.0));
            true
        })
        .unwrap();
        let spread = |i: usize, by: f64| 10f64.powf(by * ((i * 37 % 11) as f64 / 5.0 - 1.0));
        for (xi, g, h_size, by) in [
            (0.0, 0.0, 1.0, 0.0),
            (0.1, 0.0, 1.0, 2.0),
            (0.15, 3.0, 0.0, 3.0),
            (0.15, 0.2, 2.0, 3.0),
        ] {
            let h: Vec<f64> = (0..n).map(|i| h_size * spread(i + 3, by)).collect();
            let w: Vec<f64> = (0..n).map(|i| spread(i, by)).collect();
            let mut blocks = Blocks::new(&mdp, xi);
            assert!(blocks.factor(&h, &[g], &w));
            let v: Vec<f64> = (0..n).map(|i| (i as f64 - 1.7).sin()).collect();
            let mut x = v.clone();
            blocks.divide(&mut x);
            let without_floor = |x: &[f64]| -> Vec<f64> {
                let sum: f64 = x.iter().sum();
                x.iter().map(|x| x - xi * sum).collect()
            };
            let mut weighted = without_floor(&x);
            weighted.iter_mut().zip(&w).for_each(|(x, w)| *x *= w);
            let weighted = without_floor(&weighted);
            let sum: f64 = x.iter().sum();
            for i in 0..n {
                let back = h[i] * x[i] + g * sum + weighted[i];
                assert!(
                    (back - v[i]).abs() < 1e-12 * 10f64.powf(2.0 * by),
                    "{xi} {g}: {back}"
                );
            }
        }
        let mut blocks = Blocks::new(&mdp, 0.0);
        assert!(!blocks.factor(&[0.0; 5], &[1.0], &[0.0; 5]));
    }
}
