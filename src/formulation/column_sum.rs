//! Column Sum: $\min_\pi \sum_t |1 - c_t(\pi)|$ with $c = \sum_{s,a} \pi(a|s) P(\cdot|s,a)$.
//!
//! As a saddle point, $\min_\pi \max_{|y| \le 1} \sum_t y_t (1 - c_t(\pi))$, so that any
//! $y \in [-1,1]^S$ proves
//!
//! $$\text{optimum} \ge \sum_t y_t - \sum_s \max_{p \in \Delta_\xi} p \cdot (Py)_s .$$

use super::simplex;
use crate::model::{Mdp, Policy};

/// Column sums $c_t = \sum_s M(\pi)_{st}$.
pub fn column_sums(mdp: &Mdp, policy: &[f64]) -> Vec<f64> {
    let mut sums = vec![0.0; mdp.n_states()];
    mdp.kernel().transpose_times(policy, &mut sums);
    sums
}

/// $\sum_t |1 - c_t(\pi)|$.
pub fn objective(mdp: &Mdp, policy: &Policy) -> f64 {
    value(mdp, policy.probabilities())
}

/// [`objective`] of probabilities that lie in $\Delta_\xi$.
pub fn value(mdp: &Mdp, policy: &[f64]) -> f64 {
    column_sums(mdp, policy)
        .iter()
        .map(|c| (1.0 - c).abs())
        .sum()
}

/// The bound that `y` proves; `y` is cut to $[-1, 1]$ first, so every vector is valid.
pub fn bound(mdp: &Mdp, xi: f64, y: &[f64]) -> f64 {
    let y: Vec<f64> = y
        .iter()
        .map(|v| {
            if v.is_finite() {
                v.clamp(-1.0, 1.0)
            } else {
                0.0
            }
        })
        .collect();
    let mut q = vec![0.0; mdp.n_pairs()];
    mdp.kernel().times(&y, &mut q);
    bound_from_products(mdp, xi, &y, &q)
}

/// [`bound`] for a `y` within $[-1,1]$ whose product `q` $= Py$ is at hand.
pub fn bound_from_products(mdp: &Mdp, xi: f64, y: &[f64], q: &[f64]) -> f64 {
    // state by state, y_s minus its maximum: both sides are of order one, so the digits of
    // a small total survive
    (0..mdp.n_states())
        .map(|s| y[s] - simplex::support(q[mdp.pairs(s)].iter().copied(), xi))
        .sum()
}
