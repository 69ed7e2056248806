//! Infinity: $\min_{\pi, U} \max_s \sum_t |U_{st} - M_{st}|$ through the mass that $U$ keeps of $M$.
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
//!   - \sum_s \Big( \zeta \sum_t (g_{st} - \rho_{st}) + \max_{p \in \Delta_\xi} p \cdot (P\rho^\top)_s \Big).$$

use super::simplex;
use super::support::Support;
use crate::model::Mdp;

/// A block inequality $\sum_{R \times C} k \le$ `right`: the largest mass that any matrix of $B_\zeta$ can have there, so
/// that it is valid for every feasible $k$. By max-flow min-cut some block is violated by every $k$ that cannot be completed.
#[derive(Debug, Clone, PartialEq)]
pub struct Block {
    /// Whether each row belongs to $R$.
    pub rows: Vec<bool>,
    /// Whether each column belongs to $C$.
    pub columns: Vec<bool>,
    /// $|R| + |C| - S + \zeta (S - |R|)(S - |C|)$.
    pub right: f64,
}

/// A dual point. Slots are those of the [`Support`] it was made for, and `rest` what states with uniform
/// rows keep outside them is priced exactly.
#[derive(Debug, Clone, Default)]
pub struct DualPoint {
    /// Row prices $\lambda$; rescaled to sum to one.
    pub rows: Vec<f64>,
    /// Column prices $y$.
    pub columns: Vec<f64>,
    /// Prices $\rho$ of $k \le M$ per slot; empty means $\rho = g$.
    pub caps: Vec<f64>,
    /// Block inequalities with their prices.
    pub blocks: Vec<(Block, f64)>,
}

/// $M(\pi)$ on the slots, uniform shares included.
pub fn full_mass(mdp: &Mdp, support: &Support, policy: &[f64], mass: &mut [f64]) {
    let n = mdp.n_states();
    let mut spread = vec![0.0; n];
    support.assemble(mdp, policy, mass, &mut spread);
    if mdp.kernel().has_spread() {
        for (s, share) in spread.iter().enumerate() {
            for m in &mut mass[support.offsets[s]..support.offsets[s + 1]] {
                *m += share / n as f64;
            }
        }
    }
}

/// Makes `kept` (one number per slot) feasible for the policy whose mass per slot is `mass`:
/// cuts it to $[0, \min(\zeta, M)]$ and scales down columns that hold more than one and blocks
/// that hold more than they can.
pub fn repair(support: &Support, blocks: &[Block], zeta: f64, mass: &[f64], kept: &mut [f64]) {
    let n = support.offsets.len() - 1;
    let mut columns = vec![0.0; n];
    for (k, kept) in kept.iter_mut().enumerate() {
        let cap = mass[k].min(zeta).max(0.0);
        *kept = if kept.is_finite() {
            kept.clamp(0.0, cap)
        } else {
            0.0
        };
        columns[support.columns[k] as usize] += *kept;
    }
    for (k, kept) in kept.iter_mut().enumerate() {
        let sum = columns[support.columns[k] as usize];
        if sum > 1.0 {
            *kept /= sum;
        }
    }
    for block in blocks {
        let inside =
            |s: usize, k: usize| block.rows[s] && block.columns[support.columns[k] as usize];
        let mut sum = 0.0;
        for s in 0..n {
            for k in support.offsets[s]..support.offsets[s + 1] {
                if inside(s, k) {
                    sum += kept[k];
                }
            }
        }
        if sum > block.right {
            let factor = block.right.max(0.0) / sum;
            for s in 0..n {
                for k in support.offsets[s]..support.offsets[s + 1] {
                    if inside(s, k) {
                        kept[k] *= factor;
                    }
                }
            }
        }
    }
}

/// The bound that a dual point proves; anything infeasible in it is cut off first.
pub fn bound(mdp: &Mdp, support: &Support, xi: f64, zeta: f64, dual: &DualPoint) -> f64 {
    let n = mdp.n_states();
    let clean = |x: f64| if x.is_finite() { x.max(0.0) } else { 0.0 };
    let total: f64 = dual.rows.iter().copied().map(clean).sum();
    let row = |s: usize| {
        if total > 0.0 {
            clean(dual.rows[s]) / total
        } else {
            1.0 / n as f64
        }
    };
    // prices may be rescaled as a whole, so shrink columns and blocks with the rows
    let scale = if total > 0.0 { 1.0 / total } else { 0.0 };
    let column: Vec<f64> = dual.columns.iter().map(|y| clean(*y) * scale).collect();
    let mut value = 1.0 - column.iter().sum::<f64>();
    let blocks: Vec<(&Block, f64)> = dual
        .blocks
        .iter()
        .map(|(block, price)| (block, clean(*price) * scale))
        .collect();
    for (block, price) in &blocks {
        value -= price * block.right;
    }
    let uniform = UniformPart::new(mdp, &column, &blocks);
    let mut gain: Vec<f64> = Vec::new();
    let mut cap: Vec<f64> = Vec::new();
    for s in 0..n {
        let slots = support.offsets[s]..support.offsets[s + 1];
        gain.clear();
        cap.clear();
        for k in slots.clone() {
            let t = support.columns[k] as usize;
            let mut g = row(s) - column[t];
            for (block, price) in &blocks {
                if block.rows[s] && block.columns[t] {
                    g -= price;
                }
            }
            let g = g.max(0.0);
            gain.push(g);
            cap.push(match dual.caps.get(k) {
                Some(price) => (clean(*price) * scale).min(g),
                None => g,
            });
        }
        let elsewhere = uniform.gain(row(s), s, support);
        let kept = |prices: &[f64], slack: f64| {
            let best = mdp.pairs(s).map(|pair| {
                let kernel = mdp.kernel();
                let entries = kernel.offsets()[pair]..kernel.offsets()[pair + 1];
                let share = kernel.spread_of(pair) / n as f64;
                let on_slots: f64 = if share > 0.0 {
                    prices.iter().sum()
                } else {
                    0.0
                };
                entries
                    .map(|k| kernel.values()[k] * prices[support.slots[k] as usize - slots.start])
                    .sum::<f64>()
                    + share * (elsewhere + on_slots)
            });
            simplex::support(best, xi) + zeta * slack
        };
        let slack: f64 = gain.iter().zip(&cap).map(|(g, r)| g - r).sum();
        value -= f64::min(kept(&gain, 0.0), kept(&cap, slack));
    }
    2.0 * value
}

/// $\sum_t (\lambda_s - y_t)_+$ over the columns outside a state's slots, for states with
/// uniform rows; their cells hold at most $1/S \le \zeta$, so no cap applies there.
struct UniformPart<'a> {
    used: bool,
    column: &'a [f64],
    blocks: &'a [(&'a Block, f64)],
    sorted: Vec<f64>,
    prefix: Vec<f64>,
}

impl<'a> UniformPart<'a> {
    fn new(mdp: &Mdp, column: &'a [f64], blocks: &'a [(&'a Block, f64)]) -> Self {
        let used = mdp.kernel().has_spread();
        let mut sorted = if used { column.to_vec() } else { Vec::new() };
        sorted.sort_by(f64::total_cmp);
        let mut prefix = vec![0.0];
        for y in &sorted {
            prefix.push(prefix[prefix.len() - 1] + y);
        }
        UniformPart {
            used,
            column,
            blocks,
            sorted,
            prefix,
        }
    }

    fn gain(&self, row: f64, s: usize, support: &Support) -> f64 {
        if !self.used {
            return 0.0;
        }
        let slots = &support.columns[support.offsets[s]..support.offsets[s + 1]];
        if self.blocks.is_empty() {
            let below = self.sorted.partition_point(|y| *y < row);
            let all = row * below as f64 - self.prefix[below];
            let on_slots: f64 = slots
                .iter()
                .map(|&t| (row - self.column[t as usize]).max(0.0))
                .sum();
            return (all - on_slots).max(0.0);
        }
        let mut slots = slots.iter().peekable();
        let mut total = 0.0;
        for (t, y) in self.column.iter().enumerate() {
            if slots.peek() == Some(&&(t as u32)) {
                slots.next();
                continue;
            }
            let price: f64 = self
                .blocks
                .iter()
                .filter(|(block, _)| block.rows[s] && block.columns[t])
                .map(|(_, price)| price)
                .sum();
            total += (row - y - price).max(0.0);
        }
        total
    }
}
