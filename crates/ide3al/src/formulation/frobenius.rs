//! Frobenius, the paper's (5): $\min_{\pi \in \Delta_\xi} \mathrm{dist}_F(M(\pi), B_\zeta)$, the
//! distance to the doubly stochastic matrices with entries at most $\zeta$ (its (9)).
//!
//! For any matrix $G$, Cauchy-Schwarz gives $\|U - M\|_F \ge \langle G, U - M\rangle / \|G\|_F$,
//! hence
//!
//! $$\text{optimum} \ge \frac{1}{\|G\|_F} \Big( \min_{U \in B_\zeta} \langle G, U \rangle
//!   - \sum_s \max_{p \in \Delta_\xi} p \cdot (P G^\top)_s \Big).$$
//!
//! With $G = U - M$ at an optimum the two sides meet. The minimum over $U$ is bounded by
//! multipliers $\alpha$, $\beta$ of its row and column sums: it is at least
//! $\sum\alpha + \sum\beta + \sum_{st} \min_{0 \le u \le \zeta} (G_{st} - \alpha_s - \beta_t)\, u$.

use super::simplex;
use crate::model::Mdp;

/// $\frac{1}{\|G\|_F} \big(\sum\alpha + \sum\beta + \zeta \sum \min(G - \alpha - \beta, 0) - \sum_s
/// \max_p p \cdot (PG^\top)_s\big)$ or 0, whichever is larger: a bound for any $G$, $\alpha$ and
/// $\beta$. `g` is stored row by row.
pub fn bound(mdp: &Mdp, (xi, zeta): (f64, f64), g: &[f64], alpha: &[f64], beta: &[f64]) -> f64 {
    let n = mdp.n_states();
    let norm = g.iter().map(|x| x * x).sum::<f64>().sqrt();
    if !(norm > 0.0) {
        return 0.0;
    }
    let mut value = alpha.iter().sum::<f64>() + beta.iter().sum::<f64>();
    for s in 0..n {
        let row = &g[s * n..(s + 1) * n];
        for t in 0..n {
            value += zeta * (row[t] - alpha[s] - beta[t]).min(0.0);
        }
        let total: f64 = row.iter().sum();
        let gains = mdp.pairs(s).map(|pair| {
            let source = mdp.row(pair);
            source.entries().map(|(t, p)| p * row[t]).sum::<f64>()
                + source.spread / n as f64 * total
        });
        value -= simplex::support(gains, xi);
    }
    (value / norm).max(0.0)
}
