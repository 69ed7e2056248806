//! The blocks of the [flow system](super::flow_system), one per state, each a sum of positive
//! parts,
//!
//! $$ \mathrm{diag}(u) - \frac{u u^\top}{\sigma} + \frac{c\, c^\top}{\kappa}, \qquad \sigma = \sum u, \quad \sum c = 1 :$$
//!
//! what actions exchange among each other, and how all move together ($c$ sums to one). Near an
//! optimum the weights differ by more than floating point has digits, and in a sum of the blocks'
//! entries the small ones would be lost, and with them all that can still move. Here nothing of the
//! kind is added up: exchanges are told relative to the action that moves most freely, the
//! *reference*, and $q$ is a sum of positive terms, too.
//!
//! For the Hessian of the entropies' dual $u = d f / \tau$ with the weights $f$ by which the policy
//! moves, $c = p$ and $1 / \kappa = d$. For the interior-point method they are the inverse of
//! $K = \mathrm{diag}(h) + g\, \mathbf 1 \mathbf 1^\top + N \mathrm{diag}(w) N$, which is diagonal
//! once the change $\delta$ of the state's own visits is given, so that minimising
//! $\tfrac12 x^\top K x - v \cdot x$ first over the $x$ that sum to $\delta$ and then over $\delta$
//! gives
//!
//! $$ u = \frac{1}{h + w}, \quad c = \frac{q}{\sigma} u + \xi\, w u, \quad q = 1 - \xi \sum w u, \quad
//!    \kappa = g + \xi^2 \sum h w u + \frac{q^2}{\sigma} .$$

use std::ops::Range;

use crate::model::Mdp;
use ide3al_numerics::parallel::blocks;

pub(in crate::solve) struct Blocks<'a> {
    mdp: &'a Mdp,
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
pub(in crate::solve) struct Parts<'b> {
    pub(in crate::solve) free: &'b [f64],
    pub(in crate::solve) together: &'b [f64],
    pub(in crate::solve) reference: usize,
    /// $1 / \sigma$ and $1 / \kappa$.
    pub(in crate::solve) exchange_weight: f64,
    pub(in crate::solve) together_weight: f64,
}

impl<'a> Blocks<'a> {
    pub(in crate::solve) fn new(mdp: &'a Mdp) -> Self {
        Blocks {
            mdp,
            free: vec![0.0; mdp.n_pairs()],
            together: vec![0.0; mdp.n_pairs()],
            states: vec![Shared::default(); mdp.n_states()],
        }
    }

    /// Sets the blocks of the entropies' Hessian from $f$ and $p$ by pairs and $d$ by states.
    pub(in crate::solve) fn set_soft(&mut self, free: &[f64], p: &[f64], d: &[f64], tau: f64) {
        self.together.copy_from_slice(p);
        for (s, d) in d.iter().enumerate() {
            let (pairs, scale) = (self.mdp.pairs(s), d / tau);
            let (mut sum, mut reference) = (0.0, pairs.start);
            for i in pairs.clone() {
                self.free[i] = scale * free[i];
                sum += self.free[i];
                if free[i] > free[reference] {
                    reference = i;
                }
            }
            self.states[s] = Shared {
                // without a free action nothing is exchanged
                exchange: if sum > 0.0 { 1.0 / sum } else { 0.0 },
                together: *d,
                reference: reference - pairs.start,
            };
        }
    }

    /// Inverts $K$ with $h$ and $w$ by pairs and $g$ by states; false where a block is not
    /// positive.
    pub(in crate::solve) fn invert(&mut self, xi: f64, h: &[f64], g: &[f64], w: &[f64]) -> bool {
        (0..self.mdp.n_states()).all(|s| self.invert_one(self.mdp.pairs(s), s, xi, (h, g[s], w)))
    }

    fn invert_one(
        &mut self,
        pairs: Range<usize>,
        s: usize,
        xi: f64,
        (h, g, w): (&[f64], f64, &[f64]),
    ) -> bool {
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

    pub(in crate::solve) fn of(&self, s: usize) -> Parts<'_> {
        let (pairs, shared) = (self.mdp.pairs(s), self.states[s]);
        Parts {
            free: &self.free[pairs.clone()],
            together: &self.together[pairs],
            reference: shared.reference,
            exchange_weight: shared.exchange,
            together_weight: shared.together,
        }
    }

    /// Multiplies by the blocks, in place.
    pub(in crate::solve) fn divide(&self, x: &mut [f64]) {
        blocks(self.mdp.first_pair(), x, |s, row| {
            let parts = self.of(s);
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
        });
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
            let mut blocks = Blocks::new(&mdp);
            assert!(blocks.invert(xi, &h, &[g], &w));
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
        let mut blocks = Blocks::new(&mdp);
        assert!(!blocks.invert(0.0, &[0.0; 5], &[1.0], &[0.0; 5]));
    }
}
