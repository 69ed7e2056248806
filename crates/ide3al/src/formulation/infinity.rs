//! Infinity, the paper's (4): $\min_{\pi, U} \max_s \sum_t |U_{st} - M_{st}|$ with $U$ doubly
//! stochastic, its entries at most $\zeta$ (the paper's (9)), through the mass $k = \min(U, M)$
//! that $U$ keeps of $M$.
//!
//! $\sum_t |U_{st} - M_{st}| = 2 (1 - \sum_t \min(U_{st}, M_{st}))$, so the problem is
//!
//! $$\min h \quad \text{s.t.}\quad \sum_t k_{st} \ge 1 - h, \quad 0 \le k_{st} \le \min(\zeta, M_{st}(\pi)),
//!   \quad \sum_s k_{st} \le 1, \quad \text{blocks},$$
//!
//! with objective $2h$ and $k$ living on the sparse support of $P$. The
//! [block inequalities](Block) make it exact for every $\zeta$.
//!
//! Its dual: for $\lambda$ in the simplex, $y \ge 0$, $\mu \ge 0$ put
//! $g_{st} = (\lambda_s - y_t - \sum_{c \ni (s,t)} \mu_c)_+$; then for any $0 \le \rho \le g$
//!
//! $$\frac{\text{optimum}}{2} \ge 1 - \sum_t y_t - \sum_c \mu_c b_c
//!   - \sum_s \Big( \zeta \sum_t (g_{st} - \rho_{st}) + \max_{p \in \Delta_\xi} p \cdot
//!     (P\rho^\top)_s \Big).$$

use super::simplex;
use super::support::Support;
use crate::model::Mdp;

/// A block inequality $\sum_{R \times C} k \le$ `right`: the largest mass that any matrix of
/// $B_\zeta$ can have there, so that it is valid for every feasible $k$. By max-flow min-cut some
/// block is violated by every $k$ that cannot be completed.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Whether each row belongs to $R$.
    pub rows: Vec<bool>,
    /// Whether each column belongs to $C$.
    pub columns: Vec<bool>,
    /// $|R| + |C| - S + \zeta (S - |R|)(S - |C|)$.
    pub right: f64,
}

impl Block {
    /// The slots of a support that lie in the block.
    pub fn slots(&self, support: &Support) -> impl Iterator<Item = usize> {
        let rows = (0..self.rows.len()).filter(|s| self.rows[*s]);
        rows.flat_map(|s| support.row(s))
            .filter(|k| self.columns[support.columns[*k] as usize])
    }
}

/// A dual point of the linear program; its slots are those of [`Support::filled`].
#[derive(Debug, Clone, Default)]
pub struct DualPoint {
    /// Row prices $\lambda$; [`bound`] rescales them to sum to one, and all other prices with them.
    pub rows: Vec<f64>,
    /// Column prices $y$.
    pub columns: Vec<f64>,
    /// Prices $\rho$ of $k \le M$ per slot; empty means $\rho = g$.
    pub caps: Vec<f64>,
    /// Block inequalities with their prices $\mu$.
    pub blocks: Vec<(Block, f64)>,
}

/// $M(\pi)$ on the slots, uniform shares included.
pub fn full_mass(mdp: &Mdp, support: &Support, policy: &[f64]) -> Vec<f64> {
    let n = mdp.n_states();
    let (mut mass, mut spread) = (vec![0.0; support.len()], vec![0.0; n]);
    support.assemble(mdp, policy, &mut mass, &mut spread);
    if mdp.kernel().has_spread() {
        for (s, share) in spread.iter().enumerate() {
            for m in &mut mass[support.row(s)] {
                *m += share / n as f64;
            }
        }
    }
    mass
}

/// Makes `kept` (one number per slot) feasible for the policy whose mass per slot is `mass`:
/// cuts it to $[0, \min(\zeta, M)]$ and scales down columns that hold more than one and blocks
/// that hold more than they can.
pub fn repair(support: &Support, blocks: &[Block], zeta: f64, mass: &[f64], kept: &mut [f64]) {
    let mut columns = vec![0.0; support.offsets.len() - 1];
    for (k, kept) in kept.iter_mut().enumerate() {
        *kept = clean(*kept).min(clean(mass[k].min(zeta)));
        columns[support.columns[k] as usize] += *kept;
    }
    for (k, kept) in kept.iter_mut().enumerate() {
        let sum = columns[support.columns[k] as usize];
        if sum > 1.0 {
            *kept /= sum;
        }
    }
    for block in blocks {
        let sum: f64 = block.slots(support).map(|k| kept[k]).sum();
        if sum > block.right {
            let factor = block.right.max(0.0) / sum;
            block.slots(support).for_each(|k| kept[k] *= factor);
        }
    }
}

/// What is negative or not finite counts as zero.
fn clean(x: f64) -> f64 {
    if x.is_finite() { x.max(0.0) } else { 0.0 }
}

/// The bound that a dual point proves, twice the right side of the [module's](self) last formula.
/// Prices that are negative or not finite count as zero, and caps above $g$ as $g$. In every state
/// the better one of the given caps and $\rho = g$ is taken. `support` is [`Support::filled`].
pub fn bound(mdp: &Mdp, support: &Support, xi: f64, zeta: f64, dual: &DualPoint) -> f64 {
    let (n, kernel) = (mdp.n_states(), mdp.kernel());
    let total: f64 = dual.rows.iter().copied().map(clean).sum();
    // without any row price the rows share one evenly, and nothing else has a price
    let scale = if total > 0.0 { 1.0 / total } else { 0.0 };
    let column: Vec<f64> = dual.columns.iter().map(|y| clean(*y) * scale).collect();
    let blocks = dual.blocks.iter();
    let blocks = blocks.map(|(block, price)| (block, clean(*price) * scale));
    let blocks: Vec<(&Block, f64)> = blocks.collect();
    let of_blocks = blocks.iter().map(|(block, price)| price * block.right);
    let mut value = 1.0 - column.iter().sum::<f64>() - of_blocks.sum::<f64>();
    let (mut gain, mut cap) = (Vec::new(), Vec::new());
    for s in 0..n {
        let row = if total > 0.0 {
            clean(dual.rows[s]) / total
        } else {
            1.0 / n as f64
        };
        let slots = support.row(s);
        gain.clear();
        cap.clear();
        for k in slots.clone() {
            let t = support.columns[k] as usize;
            let blocks = blocks.iter().filter(|(b, _)| b.rows[s] && b.columns[t]);
            let g = row - column[t] - blocks.map(|(_, price)| price).sum::<f64>();
            let g = g.max(0.0);
            gain.push(g);
            let price = dual.caps.get(k).map_or(g, |price| clean(*price) * scale);
            cap.push(price.min(g));
        }
        // zeta (sum of g - rho) + max over p of p . (P rho)_s
        let state_term = |prices: &[f64], slack: f64| {
            let best = mdp.pairs(s).map(|pair| {
                let entries = kernel.offsets()[pair]..kernel.offsets()[pair + 1];
                let stored: f64 = entries
                    .map(|k| kernel.values()[k] * prices[support.slots[k] as usize - slots.start])
                    .sum();
                match kernel.spread_of(pair) / n as f64 {
                    // it has a slot in every column
                    share if share > 0.0 => stored + share * prices.iter().sum::<f64>(),
                    _ => stored,
                }
            });
            simplex::support(best, xi) + zeta * slack
        };
        let slack: f64 = gain.iter().zip(&cap).map(|(g, r)| g - r).sum();
        value -= f64::min(state_term(&gain, 0.0), state_term(&cap, slack));
    }
    2.0 * value
}
