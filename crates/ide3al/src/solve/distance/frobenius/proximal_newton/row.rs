//! One state's share of the proximal step: a small convex problem in its action probabilities.
//!
//! Given multipliers $\alpha_s$, $\beta$ and a centre $c$, row $s$ solves
//!
//! $$\min_{p \in \Delta_\xi} \; \sum_t \theta(M_t(p), \alpha_s + \beta_t) + \frac{\mu}{2} \|p - c\|^2,
//!   \qquad \theta(m, x) = \min_{0 \le u \le \zeta} \tfrac12 (u - m)^2 - x u .$$
//!
//! $\theta$ is linear in $m$ where $u = m + x$ lies strictly between the bounds and quadratic where
//! it is cut, so the problem is piecewise quadratic: Newton steps over the simplex, each a
//! [quadratic program](super::quadratic) in as many variables as the state has actions, end on the
//! exact minimiser after a few changes of pattern.

use std::ops::Range;

use crate::formulation::Problem;
use crate::formulation::support::Support;
use crate::model::Mdp;
use crate::solve::birkhoff::projection::{Projection, damped};
use ide3al_numerics::simplex_quadratic::SimplexQuadratic;

/// Changes of pattern: a safeguard, as rounding may make two alternate for ever.
const MOST_PATTERNS: usize = 100;
/// Looks along one direction: a safeguard, each leaves at most 0.95 of the step.
const MOST_LOOKS: usize = 40;
/// How far above $\xi$ an action must be to count as free to move when the solved row is
/// differentiated: beyond what rounding leaves of a probability that was put there.
const ABOVE_BOUND: f64 = 1e-13;

/// The proximal problem.
pub(super) struct ProximalProblem<'a> {
    pub(super) mdp: &'a Mdp,
    pub(super) support: &'a Support,
    pub(super) problem: Problem,
    /// $\mu$ and $c$.
    pub(super) weight: f64,
    pub(super) centre: Vec<f64>,
}

/// What the rows share: the problem and the multipliers.
#[derive(Clone, Copy)]
pub(super) struct Shared<'a> {
    pub(super) problem_data: &'a ProximalProblem<'a>,
    pub(super) dual: &'a Projection<'a>,
}

/// The derivative of a solved row: $N$, $l$ and the pivot $h$.
#[derive(Clone, Copy)]
pub(super) struct Derivative<'a> {
    pub(super) inverse: &'a [f64],
    pub(super) policy_response: &'a [f64],
    pub(super) schur_pivot: f64,
}

/// One row after another.
#[derive(Debug, Default)]
pub(super) struct Row {
    /// The state's pairs.
    pairs: Range<usize>,
    /// The actions' rows on the state's slots, action by action.
    dense: Vec<f64>,
    /// What the actions add in every column, slot or not.
    shares: Vec<f64>,
    has_shares: bool,
    /// $\beta$ at the slots.
    beta: Vec<f64>,
    alpha: f64,
    /// What the policy adds in every column.
    pub(super) share: f64,
    /// Positions in the sorted $\beta$ that are free where the row has no slot.
    range: (usize, usize),
    /// How many of them belong to slots.
    plain: f64,
    /// $M$ on the slots, without what is added in every column.
    pub(super) mass: Vec<f64>,
    /// $M - U$ on the slots.
    excess: Vec<f64>,
    /// Whether $U$ is strictly between its bounds on the slots, now and when the quadratic was
    /// made.
    free: Vec<bool>,
    pattern: Vec<bool>,
    gradient: Vec<f64>,
    quadratic: SimplexQuadratic,
    trial: Vec<f64>,
}

impl Row {
    /// Brings in state `s`: $M$, $U$ and the gradient at `p`.
    pub(super) fn load(&mut self, shared: &Shared<'_>, s: usize, p: &[f64]) {
        let (mdp, support) = (shared.problem_data.mdp, shared.problem_data.support);
        let kernel = mdp.kernel();
        let slots = support.row(s);
        self.pairs = mdp.pairs(s);
        let (m, w) = (mdp.n_actions(s), slots.len());
        resize(&mut self.dense, m * w, 0.0);
        for v in [&mut self.mass, &mut self.excess] {
            resize(v, w, 0.0);
        }
        for v in [&mut self.gradient, &mut self.trial] {
            resize(v, m, 0.0);
        }
        for v in [&mut self.free, &mut self.pattern] {
            resize(v, w, false);
        }
        self.quadratic.resize(m);
        let columns = &support.columns[slots.clone()];
        self.beta.clear();
        self.beta
            .extend(columns.iter().map(|t| shared.dual.beta[*t as usize]));
        self.shares.clear();
        for (a, pair) in self.pairs.clone().enumerate() {
            for e in kernel.offsets()[pair]..kernel.offsets()[pair + 1] {
                self.dense[a * w + support.slots[e] as usize - slots.start] = kernel.values()[e];
            }
            self.shares
                .push(kernel.spread_of(pair) / mdp.n_states() as f64);
        }
        self.has_shares = self.shares.iter().any(|x| *x > 0.0);
        self.alpha = shared.dual.alpha[s];
        self.find_range(shared, self.alpha);
        self.evaluate(shared, p);
    }

    /// Solves the row from the `p` that it was loaded with, which it replaces by the minimiser.
    pub(super) fn solve(&mut self, shared: &Shared<'_>, p: &mut [f64]) {
        let xi = shared.problem_data.problem.xi;
        if p.len() == 1 {
            return;
        }
        for _ in 0..MOST_PATTERNS {
            self.model(shared.dual.beta.len(), shared.problem_data.weight);
            self.quadratic.minimise(&self.gradient, p, xi);
            let direction = &self.quadratic.direction;
            let slope = dot(&self.gradient, direction);
            let length = direction.iter().fold(0.0, |x, d| f64::max(x, d.abs()));
            if !(slope < 0.0) || length < 1e-15 {
                break;
            }
            let mut trial = std::mem::take(&mut self.trial);
            let mut size = 1.0;
            for _ in 0..MOST_LOOKS {
                for (a, x) in trial.iter_mut().enumerate() {
                    *x = if self.quadratic.fixed[a] && size == 1.0 {
                        xi
                    } else {
                        (p[a] + size * self.quadratic.direction[a]).max(xi)
                    };
                }
                self.evaluate(shared, &trial);
                let there = dot(&self.gradient, &self.quadratic.direction);
                // the slope rises along the line: beyond the minimum, go to where it would vanish
                if there <= -0.1 * slope {
                    break;
                }
                size *= (slope / (slope - there)).clamp(0.05, 0.95);
            }
            p.copy_from_slice(&trial);
            self.trial = trial;
            // the same pattern at the end of a full step: the quadratic was exact
            if size == 1.0 && self.free == self.pattern && !self.has_shares {
                break;
            }
        }
    }

    fn find_range(&mut self, shared: &Shared<'_>, a: f64) {
        let (sorted, zeta) = (
            &shared.dual.clipped.columns.sorted.values,
            shared.problem_data.problem.zeta,
        );
        let low = sorted.partition_point(|b| *b + a <= 0.0);
        let high = sorted.partition_point(|b| *b + a < zeta);
        self.range = (low, high.max(low));
    }

    fn evaluate(&mut self, shared: &Shared<'_>, p: &[f64]) {
        let (w, n, zeta) = (
            self.mass.len(),
            shared.dual.beta.len(),
            shared.problem_data.problem.zeta,
        );
        self.mass.fill(0.0);
        for (a, &x) in p.iter().enumerate() {
            for (m, v) in self.mass.iter_mut().zip(&self.dense[a * w..(a + 1) * w]) {
                *m += x * v;
            }
        }
        let offset = dot(p, &self.shares);
        let a = self.alpha + offset;
        self.share = offset;
        if self.has_shares {
            self.find_range(shared, a);
        }
        let sorted = &shared.dual.clipped.columns.sorted;
        let mut sum = sorted.sum_shifted(a, self.range) + zeta * (n - self.range.1) as f64;
        let mut total = offset * n as f64;
        self.plain = 0.0;
        let is_free = |x: f64| x > 0.0 && x < zeta;
        for k in 0..w {
            let plain = a + self.beta[k];
            let with = self.mass[k] + a + self.beta[k];
            let u = with.clamp(0.0, zeta);
            sum += u - plain.clamp(0.0, zeta);
            total += self.mass[k];
            self.free[k] = is_free(with);
            self.plain += f64::from(u8::from(is_free(plain)));
            // where nothing is cut the difference is known without cancellation
            self.excess[k] = if self.free[k] {
                -(self.alpha + self.beta[k])
            } else {
                self.mass[k] + offset - u
            };
        }
        let centre = &shared.problem_data.centre[self.pairs.clone()];
        for (i, (x, c)) in p.iter().zip(centre).enumerate() {
            self.gradient[i] = dot(&self.dense[i * w..(i + 1) * w], &self.excess)
                + self.shares[i] * (total - sum)
                + shared.problem_data.weight * (x - c);
        }
        // steps keep the sum of the probabilities, so what all slopes have in common only hides how
        // they differ: divided by a small weight its rounding would be all that a step is made of
        let least = self.gradient.iter().copied().fold(f64::INFINITY, f64::min);
        self.gradient.iter_mut().for_each(|g| *g -= least);
    }

    /// Free entries outside the slots.
    fn outside(&self) -> f64 {
        (self.range.1 - self.range.0) as f64 - self.plain
    }

    /// The second derivative at the pattern of the last evaluation: entries that are cut do not
    /// follow $M$.
    fn model(&mut self, n: usize, weight: f64) {
        let (m, w) = (self.gradient.len(), self.mass.len());
        self.pattern.copy_from_slice(&self.free);
        let outside_cut = ((n - w) as f64 - self.outside()).max(0.0);
        for a in 0..m {
            for b in 0..=a {
                let mut sum = outside_cut * self.shares[a] * self.shares[b];
                for k in 0..w {
                    if !self.pattern[k] {
                        sum += (self.dense[a * w + k] + self.shares[a])
                            * (self.dense[b * w + k] + self.shares[b]);
                    }
                }
                self.quadratic.matrix[a * m + b] = sum;
                self.quadratic.matrix[b * m + a] = sum;
            }
            self.quadratic.matrix[a * m + a] += weight;
        }
    }

    /// The derivative of the solved row at `p`, with $F$ the free entries and $N$ the inverse of
    /// the second derivative on the directions free to move: $N$ into `inverse` and $l = N P_F 1$
    /// into `policy_response`. Returns the pivot $h = 1^\top (I_F + P_F^\top N P_F) 1$, damped by
    /// `delta`.
    pub(super) fn differentiate(
        &mut self,
        shared: &Shared<'_>,
        (p, delta): (&[f64], f64),
        inverse: &mut [f64],
        policy_response: &mut [f64],
    ) -> f64 {
        let (m, w) = (p.len(), self.mass.len());
        self.model(shared.dual.beta.len(), shared.problem_data.weight);
        let movable = |a: usize| p[a] > shared.problem_data.problem.xi + ABOVE_BOUND;
        self.quadratic.inverse(movable, inverse);
        // P_F 1 per action
        let mut free = self.outside();
        for (sum, share) in self.trial.iter_mut().zip(&self.shares) {
            *sum = free * share;
        }
        for k in (0..w).filter(|k| self.free[*k]) {
            free += 1.0;
            for a in 0..m {
                self.trial[a] += self.entry(a, k);
            }
        }
        for a in 0..m {
            policy_response[a] = dot(&inverse[a * m..(a + 1) * m], &self.trial);
        }
        damped(free + dot(policy_response, &self.trial), delta)
    }

    /// What an action has on slot `k`.
    fn entry(&self, a: usize, k: usize) -> f64 {
        self.dense[a * self.mass.len() + k] + self.shares[a]
    }

    /// $v = 1_F + P_F^\top l$ on a free slot.
    fn along(&self, row: &Derivative<'_>, k: usize) -> f64 {
        let entries = row.policy_response.iter().enumerate();
        1.0 + entries.map(|(a, l)| self.entry(a, k) * l).sum::<f64>()
    }

    /// $(N P_F)$ of slot `k`, into `trial`.
    fn move_along(&mut self, row: &Derivative<'_>, k: usize) {
        let m = row.policy_response.len();
        for (a, inverse) in row.inverse.chunks_exact(m).enumerate() {
            let entries = inverse.iter().enumerate();
            self.trial[a] = entries.map(|(b, n)| n * self.entry(b, k)).sum();
        }
    }

    /// What the row adds to the columns' system beside $I_F$, $P_F^\top N P_F - v v^\top / h$, for
    /// a free slot `k` and the one that was moved along; `along` is the product of $v$ on both.
    fn coupling(&self, row: &Derivative<'_>, k: usize, along: f64) -> f64 {
        let moved = self.trial.iter().enumerate();
        moved.map(|(a, x)| x * self.entry(a, k)).sum::<f64>() - along / row.schur_pivot
    }

    /// What the diagonal of that falls short of zero where there is no slot; leaves in `on_slots`
    /// what is to be added to this on the slots.
    pub(super) fn shortfall(
        &mut self,
        zeta: f64,
        row: &Derivative<'_>,
        on_slots: &mut [f64],
    ) -> f64 {
        let along = 1.0 + dot(&self.shares, row.policy_response);
        let everywhere = along * along / row.schur_pivot;
        for (k, more) in on_slots.iter_mut().enumerate() {
            let plain = self.alpha + self.share + self.beta[k];
            let counted = if plain > 0.0 && plain < zeta {
                everywhere
            } else {
                0.0
            };
            let own = if self.free[k] {
                self.move_along(row, k);
                self.coupling(row, k, self.along(row, k).powi(2))
            } else {
                0.0
            };
            *more = -counted - own;
        }
        everywhere
    }

    /// The couplings of all slots, as the upper half of a square without its diagonal.
    pub(super) fn couplings(&mut self, row: &Derivative<'_>, square: &mut Vec<f64>) {
        let w = self.mass.len();
        resize(square, w * w, 0.0);
        for k in 0..w {
            self.excess[k] = self.along(row, k);
        }
        for l in 0..w {
            if !self.free[l] {
                continue;
            }
            self.move_along(row, l);
            for k in (0..l).filter(|k| self.free[*k]) {
                let along = self.excess[k] * self.excess[l];
                square[k * w + l] = self.coupling(row, k, along);
            }
        }
    }
}

pub(super) fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// Makes a vector of `n` times the same.
pub(super) fn resize<T: Clone>(v: &mut Vec<T>, n: usize, value: T) {
    v.clear();
    v.resize(n, value);
}
