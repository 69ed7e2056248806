//! Column Sum, the paper's (6): $\min_\pi \sum_t |1 - c_t(\pi)|$ with the column sums
//! $c = \sum_{s,a} \pi(a|s) P(\cdot|s,a)$ of $M(\pi)$.
//!
//! As a saddle point, $\min_\pi \max_{|y| \le 1} \sum_t y_t (1 - c_t(\pi))$, so that any
//! $y \in [-1,1]^S$ proves
//!
//! $$\text{optimum} \ge \sum_t y_t - \sum_s \max_{p \in \Delta_\xi} p \cdot (Py)_s .$$

use super::simplex;
use crate::model::Mdp;

/// $\sum_t |1 - c_t(\pi)|$.
pub fn value(mdp: &Mdp, policy: &[f64]) -> f64 {
    let mut sums = vec![0.0; mdp.n_states()];
    mdp.kernel().transpose_times(policy, &mut sums);
    sums.iter().map(|c| (1.0 - c).abs()).sum()
}

/// The bound that `y` proves; `y` is cut to $[-1, 1]$ first (0 where it is not finite), so every
/// vector is valid.
pub fn bound(mdp: &Mdp, xi: f64, y: &[f64]) -> f64 {
    let finite = |v: &f64| if v.is_finite() { *v } else { 0.0 };
    let y: Vec<f64> = y.iter().map(|v| finite(v).clamp(-1.0, 1.0)).collect();
    let mut q = vec![0.0; mdp.n_pairs()];
    mdp.kernel().times(&y, &mut q);
    bound_from_products(mdp, xi, &y, &q)
}

/// [`bound`] for a `y` within $[-1,1]$ whose product `q` $= Py$ is at hand.
pub fn bound_from_products(mdp: &Mdp, xi: f64, y: &[f64], q: &[f64]) -> f64 {
    // y_s minus the maximum state by state: both are of order one, so that a small total keeps its
    // digits, which it would lose as a difference of two sums
    (0..mdp.n_states())
        .map(|s| y[s] - simplex::support(q[mdp.pairs(s)].iter().copied(), xi))
        .sum()
}
