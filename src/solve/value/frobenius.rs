//! Frobenius: the distance of a policy's chain from $B_\zeta$, and the bound that its own residual proves.

use super::projection::Projection;
use crate::formulation::simplex;
use crate::formulation::support::Support;
use crate::linalg::sorted::within;
use crate::model::Mdp;

/// Value of a policy and the bound its own residual proves.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// $\|U - M\|_F$.
    pub objective: f64,
    /// A proven lower bound of the optimum.
    pub bound: f64,
    /// Largest violation of a row or column sum by $U$.
    pub violation: f64,
}

/// Evaluates policies of one model; holds the workspace and the warm start.
#[derive(Debug, Clone)]
pub struct Evaluator<'a> {
    mdp: &'a Mdp,
    /// Pattern of $M(\pi)$.
    pub support: &'a Support,
    /// Multipliers of the last projection.
    pub projection: Projection<'a>,
    /// $M$ on the slots, and what each row has in every column beside that.
    mass: Vec<f64>,
    share: Vec<f64>,
    /// $G = U - M$ on the slots, and $\|G\|_F^2$ over all entries.
    residual: Vec<f64>,
    squared: f64,
    violation: f64,
}

impl<'a> Evaluator<'a> {
    /// With multipliers zero.
    pub fn new(mdp: &'a Mdp, support: &'a Support, zeta: f64) -> Self {
        Evaluator {
            mdp,
            support,
            projection: Projection::new(support, zeta),
            mass: vec![0.0; support.len()],
            share: vec![0.0; mdp.n_states()],
            residual: vec![0.0; support.len()],
            squared: 0.0,
            violation: f64::INFINITY,
        }
    }

    /// Projects $M(\text{policy})$ and keeps the residual $G = U - M$. Returns
    /// $\|G\|_F^2$. `policy` may lie outside $\Delta_\xi$ (an extrapolated point).
    pub fn project(&mut self, policy: &[f64], tolerance: f64, steps: usize) -> f64 {
        self.project_while(policy, (tolerance, steps), &mut || true)
    }

    /// The same as long as it may `go_on`.
    pub(in crate::solve) fn project_while(
        &mut self,
        policy: &[f64],
        limits: (f64, usize),
        go_on: &mut dyn FnMut() -> bool,
    ) -> f64 {
        let (mass, share) = (&mut self.mass, &mut self.share);
        self.support.assemble(self.mdp, policy, mass, share);
        let n = share.len() as f64;
        share.iter_mut().for_each(|x| *x /= n);
        self.violation = self.projection.project(mass, share, limits, go_on);
        self.squared = self.measure();
        self.squared
    }

    /// $G = U - M$ on the slots into `residual`; returns $\|G\|_F^2$ over all entries.
    fn measure(&mut self) -> f64 {
        let Projection {
            alpha,
            beta,
            clipped,
            ..
        } = &self.projection;
        let (support, n, zeta) = (self.support, alpha.len(), clipped.zeta);
        let sorted = &clipped.columns.sorted;
        let mut squares = vec![0.0; n + 1];
        for (k, b) in sorted.values.iter().enumerate() {
            squares[k + 1] = squares[k] + b * b;
        }
        let mut total = 0.0;
        for s in 0..n {
            let (a, offset, range) = (alpha[s], self.share[s], clipped.rows.ranges[s]);
            // every entry of the row as if no slot were there ...
            let mut row = a * a * f64::from(range.1 - range.0)
                + 2.0 * a * within(&sorted.prefix, range)
                + within(&squares, range)
                + offset * offset * f64::from(range.0)
                + (zeta - offset) * (zeta - offset) * (n - range.1 as usize) as f64;
            // ... then the slots put right
            for k in support.offsets[s]..support.offsets[s + 1] {
                let (m, a) = (self.mass[k], clipped.shifted[s]);
                let b = beta[support.columns[k] as usize];
                let plain = (a + b).clamp(0.0, zeta) - offset;
                let g = (m + a + b).clamp(0.0, zeta) - offset - m;
                self.residual[k] = g;
                row += g * g - plain * plain;
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
    /// \min(G_{st} - \alpha_s - \beta_t, 0)$.
    fn least_product(&self) -> f64 {
        let Projection {
            alpha,
            beta,
            clipped,
            ..
        } = &self.projection;
        let (support, n, zeta) = (self.support, alpha.len(), clipped.zeta);
        let prefix = &clipped.columns.sorted.prefix;
        let mut total: f64 = alpha.iter().sum::<f64>() + beta.iter().sum::<f64>();
        for s in 0..n {
            let a = clipped.shifted[s];
            // off the slots G - alpha - beta = clip(a + b) - (a + b): negative above zeta
            let high = clipped.rows.ranges[s].1 as usize;
            let mut excess = (n - high) as f64 * (a - zeta) + (prefix[n] - prefix[high]);
            for k in support.offsets[s]..support.offsets[s + 1] {
                let b = beta[support.columns[k] as usize];
                excess -= (a + b - zeta).max(0.0);
                excess += (alpha[s] + b - self.residual[k]).max(0.0);
            }
            total -= zeta * excess;
        }
        total
    }

    /// The multipliers $(\alpha, \beta)$ of the last projection.
    pub fn multipliers(&self) -> Vec<f64> {
        [&self.projection.alpha[..], &self.projection.beta].concat()
    }

    /// $-\nabla \tfrac12 \mathrm{dist}^2$: `out_r` $= P_r \cdot G_s$ for each pair.
    pub fn descent(&self, out: &mut [f64]) {
        let kernel = self.mdp.kernel();
        let sums = &self.projection.clipped.rows.sums;
        for s in 0..self.mdp.n_states() {
            let rest = (sums[s] - 1.0) / self.mdp.n_states() as f64;
            for pair in self.mdp.pairs(s) {
                let mut sum = kernel.spread_of(pair) * rest;
                for k in kernel.offsets()[pair]..kernel.offsets()[pair + 1] {
                    sum += kernel.values()[k] * self.residual[self.support.slots[k] as usize];
                }
                out[pair] = sum;
            }
        }
    }

    /// Objective and bound at the last projected policy, whose `descent` is at hand.
    pub fn certify(&self, xi: f64, descent: &[f64]) -> Evaluation {
        let norm = self.squared.sqrt();
        let least = self.least_product();
        let most: f64 = (0..self.mdp.n_states())
            .map(|s| simplex::support(descent[self.mdp.pairs(s)].iter().copied(), xi))
            .sum();
        // a tiny distance must not turn rounding into a bound
        let bound = if norm > 1e-12 && norm.is_finite() {
            ((least - most) / norm).max(0.0)
        } else {
            0.0
        };
        // U misses the sums by the violation: completing it moves that much per row and column
        let missing = 2.0 * (self.mdp.n_states() as f64).sqrt() * self.violation;
        Evaluation {
            objective: norm + missing,
            bound,
            violation: self.violation,
        }
    }
}
