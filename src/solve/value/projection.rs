//! Distance to the doubly stochastic matrices with entries at most $\zeta$, without storing one.
//!
//! The projection of $M$ on $B_\zeta$ is $U_{st} = \mathrm{clip}(M_{st} + \alpha_s + \beta_t, 0, \zeta)$.
//! Off the sparse support of $M$ (where $M_{st}$ is the row's uniform share $o_s$) that is a
//! function of $a_s + \beta_t$ with $a_s = \alpha_s + o_s$, so row and column sums need only
//! sorted $a$ and $\beta$ and prefix sums: one evaluation costs $O(\text{nnz} + S \log S)$ time
//! and $O(\text{nnz} + S)$ memory.
//!
//! The multipliers maximise the concave, piecewise quadratic dual
//!
//! $$D(\alpha, \beta) = \min_{0 \le U \le \zeta} \tfrac12 \|U - M\|_F^2
//!   - \sum_s \alpha_s \Big(\sum_t U_{st} - 1\Big) - \sum_t \beta_t \Big(\sum_s U_{st} - 1\Big)$$
//!
//! by damped semismooth Newton steps with a search along each: with $N$ the 0/1 matrix of entries strictly between
//! the bounds and $R, C$ its row and column counts, the system
//! $\begin{pmatrix} R & N \\ N^\top & C\end{pmatrix}$ is reduced to columns and solved by
//! conjugate gradients, each product again $O(\text{nnz} + S)$.

mod newton;

use crate::formulation::support::Support;
use crate::linalg::line_search::Bracket;

/// A matrix on a sparse pattern plus a uniform share per row.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The pattern.
    pub support: &'a Support,
    /// Stored mass per slot.
    pub mass: &'a [f64],
    /// Uniform share per row (the entry added everywhere is this divided by $S$).
    pub spread: &'a [f64],
}

/// Multipliers and workspace of the projection; reusing it warm-starts the next one.
#[derive(Debug, Clone)]
pub struct Projection {
    n: usize,
    zeta: f64,
    /// Row multipliers $\alpha$.
    pub alpha: Vec<f64>,
    /// Column multipliers $\beta$.
    pub beta: Vec<f64>,
    /// $a_s = \alpha_s + o_s$ of the last evaluation.
    shifted: Vec<f64>,
    rows: Side,
    columns: Side,
    /// `free(M + a + b) - free(a + b)` per slot: what the slot changes in $N$.
    correction: Vec<i8>,
    row_sums: Vec<f64>,
    column_sums: Vec<f64>,
    work: Work,
}

/// One side of the bipartite structure: its values sorted, and for each element of the
/// *other* side the range of positions here that are strictly between the bounds.
#[derive(Debug, Clone)]
struct Side {
    order: Vec<u32>,
    sorted: Vec<f64>,
    /// Prefix sums of `sorted` and of its squares.
    prefix: Vec<f64>,
    prefix_squared: Vec<f64>,
    /// For element `i` of the other side: positions `low[i]..high[i]` are free.
    low: Vec<u32>,
    high: Vec<u32>,
    /// Number of free entries of each element of the other side, slots included.
    counts: Vec<f64>,
}

#[derive(Debug, Clone)]
struct Work {
    direction_alpha: Vec<f64>,
    direction_beta: Vec<f64>,
    right: Vec<f64>,
    residual: Vec<f64>,
    conjugate: Vec<f64>,
    product: Vec<f64>,
    rows: Vec<f64>,
    prefix: Vec<f64>,
    saved_alpha: Vec<f64>,
    saved_beta: Vec<f64>,
}

impl Side {
    fn new(n: usize) -> Self {
        Side {
            order: (0..n as u32).collect(),
            sorted: vec![0.0; n],
            prefix: vec![0.0; n + 1],
            prefix_squared: vec![0.0; n + 1],
            low: vec![0; n],
            high: vec![0; n],
            counts: vec![0.0; n],
        }
    }

    /// Sorts `values`; the order of last time makes that nearly linear.
    fn sort(&mut self, values: &[f64]) {
        self.order
            .sort_by(|&i, &j| values[i as usize].total_cmp(&values[j as usize]));
        for (k, &i) in self.order.iter().enumerate() {
            let v = values[i as usize];
            self.sorted[k] = v;
            self.prefix[k + 1] = self.prefix[k] + v;
            self.prefix_squared[k + 1] = self.prefix_squared[k] + v * v;
        }
    }

    /// Ranges of free positions for the other side's elements, visited in ascending order so
    /// that both pointers only move down.
    fn ranges(&mut self, other_order: &[u32], other: &[f64], zeta: f64) {
        let n = self.sorted.len();
        let (mut low, mut high) = (n, n);
        for &i in other_order {
            let a = other[i as usize];
            while low > 0 && self.sorted[low - 1] + a > 0.0 {
                low -= 1;
            }
            while high > 0 && self.sorted[high - 1] + a >= zeta {
                high -= 1;
            }
            self.low[i as usize] = low as u32;
            self.high[i as usize] = high.max(low) as u32;
        }
    }
}

impl Projection {
    /// Multipliers zero.
    pub fn new(n: usize, slots: usize, zeta: f64) -> Self {
        let zeros = || vec![0.0; n];
        Projection {
            n,
            zeta,
            alpha: zeros(),
            beta: zeros(),
            shifted: zeros(),
            rows: Side::new(n),
            columns: Side::new(n),
            correction: vec![0; slots],
            row_sums: zeros(),
            column_sums: zeros(),
            work: Work {
                direction_alpha: zeros(),
                direction_beta: zeros(),
                right: zeros(),
                residual: zeros(),
                conjugate: zeros(),
                product: zeros(),
                rows: zeros(),
                prefix: vec![0.0; n + 1],
                saved_alpha: zeros(),
                saved_beta: zeros(),
            },
        }
    }

    /// Entry of $U$ at a slot.
    fn entry(&self, mass: f64, row: usize, column: usize) -> f64 {
        (mass + self.shifted[row] + self.beta[column]).clamp(0.0, self.zeta)
    }

    /// Row and column sums of $U$ and the free sets at the current multipliers.
    fn evaluate(&mut self, target: &Target<'_>) {
        let (n, zeta) = (self.n, self.zeta);
        for s in 0..n {
            self.shifted[s] = self.alpha[s] + target.spread[s] / n as f64;
        }
        self.rows.sort(&self.shifted);
        self.columns.sort(&self.beta);
        self.columns.ranges(&self.rows.order, &self.shifted, zeta);
        self.rows.ranges(&self.columns.order, &self.beta, zeta);
        for s in 0..n {
            let (low, high) = (self.columns.low[s] as usize, self.columns.high[s] as usize);
            let count = (high - low) as f64;
            let sum = self.columns.prefix[high] - self.columns.prefix[low];
            self.row_sums[s] = self.shifted[s] * count + sum + zeta * (n - high) as f64;
            self.columns.counts[s] = count;
        }
        for t in 0..n {
            let (low, high) = (self.rows.low[t] as usize, self.rows.high[t] as usize);
            let count = (high - low) as f64;
            let sum = self.rows.prefix[high] - self.rows.prefix[low];
            self.column_sums[t] = self.beta[t] * count + sum + zeta * (n - high) as f64;
            self.rows.counts[t] = count;
        }
        let support = target.support;
        for s in 0..n {
            let a = self.shifted[s];
            let (mut row_change, mut count_change) = (0.0, 0i32);
            for k in support.offsets[s]..support.offsets[s + 1] {
                let t = support.columns[k] as usize;
                let (plain, with) = (a + self.beta[t], target.mass[k] + a + self.beta[t]);
                let (u0, u1) = (plain.clamp(0.0, zeta), with.clamp(0.0, zeta));
                let free = |x: f64| i8::from(x > 0.0 && x < zeta);
                let change = free(with) - free(plain);
                self.correction[k] = change;
                count_change += i32::from(change);
                row_change += u1 - u0;
                self.column_sums[t] += u1 - u0;
                self.rows.counts[t] += f64::from(change);
            }
            self.row_sums[s] += row_change;
            self.columns.counts[s] += f64::from(count_change);
        }
    }

    /// Largest violation of a row or column sum.
    fn violation(&self) -> f64 {
        self.row_sums
            .iter()
            .chain(&self.column_sums)
            .fold(0.0, |worst, sum| f64::max(worst, (sum - 1.0).abs()))
    }

    /// Projects, starting from the multipliers at hand, until no row or column sum is off by
    /// more than `tolerance`. Returns the violation reached and the Newton steps taken.
    pub fn project(&mut self, target: &Target<'_>, tolerance: f64, most: usize) -> (f64, usize) {
        let drift = self.beta.iter().sum::<f64>() / self.n as f64;
        if drift.is_finite() && self.alpha.iter().all(|x| x.is_finite()) {
            self.beta.iter_mut().for_each(|x| *x -= drift);
            self.alpha.iter_mut().for_each(|x| *x += drift);
        } else {
            self.alpha.fill(0.0);
            self.beta.fill(0.0);
        }
        self.rein_in();
        self.evaluate(target);
        let mut violation = self.violation();
        let mut damping = 1e-3f64;
        let mut stuck = 0;
        for step in 0..most {
            if violation <= tolerance {
                return (violation, step);
            }
            let forcing = (0.1 * violation).clamp(1e-9, 0.1);
            self.newton_direction(target.support, damping.min(violation), forcing);
            self.work.saved_alpha.copy_from_slice(&self.alpha);
            self.work.saved_beta.copy_from_slice(&self.beta);
            let size = self.search(target);
            if self.rein_in() {
                self.evaluate(target);
            }
            // too long a step means that the model misses entries about to become free
            if size < 0.3 {
                damping = (10.0 * damping).min(1e8);
            } else if size >= 0.9 {
                damping = (0.2 * damping).max(1e-13);
            }
            let next = self.violation();
            if !next.is_finite() {
                return (next, step + 1);
            }
            stuck = if next < 0.99 * violation {
                0
            } else {
                stuck + 1
            };
            violation = next;
            if stuck > 60 {
                return (violation, step + 1);
            }
        }
        (violation, most)
    }

    /// Cuts multipliers off where they have run away, and says whether any had. At a projection an
    /// entry strictly between its bounds has $|\alpha_s + \beta_t| \le 1$, and a chain of such entries
    /// through all rows and columns adds up to $2S$ at most; but along rows that are cut everywhere
    /// a step meets no curvature, and multipliers of 1e16 leave no digit to their sums.
    fn rein_in(&mut self) -> bool {
        let most = 1e3 + 4.0 * self.n as f64;
        let mut cut = false;
        for x in self.alpha.iter_mut().chain(&mut self.beta) {
            if !(x.abs() <= most) {
                *x = if x.is_nan() {
                    0.0
                } else {
                    x.clamp(-most, most)
                };
                cut = true;
            }
        }
        cut
    }

    /// $\nabla D$ along the Newton direction.
    fn slope(&self) -> f64 {
        (0..self.n)
            .map(|i| {
                (1.0 - self.row_sums[i]) * self.work.direction_alpha[i]
                    + (1.0 - self.column_sums[i]) * self.work.direction_beta[i]
            })
            .sum()
    }

    /// Moves along the direction to where little of its slope is left, and returns how far.
    fn search(&mut self, target: &Target<'_>) -> f64 {
        let slope = self.slope();
        if !(slope > 0.0) {
            return 0.0;
        }
        let mut bracket = Bracket::new(slope);
        let mut size = 1.0;
        for _ in 0..30 {
            for i in 0..self.n {
                self.alpha[i] = self.work.saved_alpha[i] + size * self.work.direction_alpha[i];
                self.beta[i] = self.work.saved_beta[i] + size * self.work.direction_beta[i];
            }
            self.evaluate(target);
            match bracket.next(size, self.slope()) {
                Some(next) => size = next,
                None => break,
            }
        }
        size
    }

    /// $G = U - M$ on the slots into `g`; returns $\|G\|_F^2$ over all entries.
    pub fn residual(&self, target: &Target<'_>, g: &mut [f64]) -> f64 {
        let (n, zeta) = (self.n, self.zeta);
        let mut total = 0.0;
        for s in 0..n {
            let offset = target.spread[s] / n as f64;
            // every entry of the row as if no slot were there ...
            let (low, high) = (self.columns.low[s] as usize, self.columns.high[s] as usize);
            let count = (high - low) as f64;
            let sum = self.columns.prefix[high] - self.columns.prefix[low];
            let squares = self.columns.prefix_squared[high] - self.columns.prefix_squared[low];
            let alpha = self.alpha[s];
            let mut row = alpha * alpha * count
                + 2.0 * alpha * sum
                + squares
                + offset * offset * low as f64
                + (zeta - offset) * (zeta - offset) * (n - high) as f64;
            // ... then the slots put right
            for k in target.support.offsets[s]..target.support.offsets[s + 1] {
                let t = target.support.columns[k] as usize;
                let plain = self.entry(0.0, s, t) - offset;
                g[k] = self.entry(target.mass[k], s, t) - offset - target.mass[k];
                row += g[k] * g[k] - plain * plain;
            }
            total += row;
        }
        // a broken projection must not pass for a perfect one
        if total.is_nan() {
            f64::INFINITY
        } else {
            total.max(0.0)
        }
    }

    /// $\min_{U \in B_\zeta} \langle G, U\rangle \ge \sum\alpha + \sum\beta + \zeta \sum_{st}
    /// \min(G_{st} - \alpha_s - \beta_t, 0)$ for the $G$ of [`residual`](Self::residual).
    /// Subtracting the uniform share from $\alpha$ accounts for $G = U - M$ with $M \ne 0$
    /// off the slots.
    pub fn linear_minimum(&self, target: &Target<'_>, g: &[f64]) -> f64 {
        let (n, zeta) = (self.n, self.zeta);
        let mut total: f64 = self.alpha.iter().sum::<f64>() + self.beta.iter().sum::<f64>();
        for s in 0..n {
            // off the slots G - alpha - beta = clip(a + b) - (a + b): negative above zeta
            let high = self.columns.high[s] as usize;
            let above = (n - high) as f64;
            let sum = self.columns.prefix[n] - self.columns.prefix[high];
            let mut excess = above * (self.shifted[s] - zeta) + sum;
            for k in target.support.offsets[s]..target.support.offsets[s + 1] {
                let t = target.support.columns[k] as usize;
                excess -= (self.shifted[s] + self.beta[t] - zeta).max(0.0);
                excess += (self.alpha[s] + self.beta[t] - g[k]).max(0.0);
            }
            total -= zeta * excess;
        }
        total
    }

    /// Row sums of $U$ at the last evaluation.
    pub fn row_sums(&self) -> &[f64] {
        &self.row_sums
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Mdp;
    use crate::solve::value::frobenius::Evaluator;

    #[test]
    fn a_tight_cap_is_met() {
        // a chain, half of it uniform, whose target may hold 0.1115 per entry and needs 0.1
        let successors: [&[usize]; 10] = [
            &[],
            &[4, 6],
            &[0, 1],
            &[4, 8],
            &[0, 3],
            &[4, 9],
            &[5, 6],
            &[3, 9],
            &[1, 9],
            &[],
        ];
        let spread = [1.0, 0.3, 0.0, 0.3, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0];
        let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for (list, spread) in successors.iter().zip(spread) {
            for t in *list {
                indices.push(*t as u32);
                values.push(0.5 * (1.0 - spread));
            }
            offsets.push(indices.len());
        }
        let first: Vec<usize> = (0..=10).collect();
        let mdp =
            Mdp::from_rows_and_spread(10, &first, &[0; 10], &offsets, &indices, &values, &spread)
                .unwrap();
        let support = Support::new(&mdp);
        let mut evaluator = Evaluator::new(&mdp, &support, 0.111_500_006_865_201);
        let squared = evaluator.project(&[1.0; 10], 1e-12, 200);
        let mut descent = [0.0; 10];
        evaluator.descent(&mut descent);
        let found = evaluator.certify(0.0, &descent);
        assert!(found.violation <= 1e-12, "{}", found.violation);
        assert!((squared.sqrt() - 1.558_076_963_09).abs() < 1e-9);
        assert!(found.objective - found.bound < 1e-9);
    }
}
