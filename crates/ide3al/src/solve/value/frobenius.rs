//! Frobenius: the distance of a policy's chain from $B_\zeta$, and the bound that its own residual
//! proves.

use super::projection::Projection;
use crate::formulation::simplex;
use crate::formulation::support::Support;
use crate::model::Mdp;
use ide3al_numerics::sorted::{Sorted, within};

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
    /// What each row of $M$ has in every column beside the slots.
    share: Vec<f64>,
    /// On the slots $M$ while it is projected, then $G = U - M$.
    residual: Vec<f64>,
    /// Over all entries $\|G\|_F^2$ and a bound of $\min_{U \in B_\zeta} \langle G, U\rangle$.
    squared: f64,
    least_product: f64,
    violation: f64,
}

impl<'a> Evaluator<'a> {
    /// With multipliers zero.
    pub fn new(mdp: &'a Mdp, support: &'a Support, zeta: f64) -> Self {
        Evaluator {
            mdp,
            support,
            projection: Projection::new(support, zeta),
            share: vec![0.0; mdp.n_states()],
            residual: vec![0.0; support.len()],
            squared: 0.0,
            least_product: 0.0,
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
        let (mass, share) = (&mut self.residual, &mut self.share);
        self.support.assemble(self.mdp, policy, mass, share);
        let n = share.len() as f64;
        share.iter_mut().for_each(|x| *x /= n);
        self.violation = self.projection.project(mass, share, limits, go_on);
        self.measure();
        self.squared
    }

    /// Finds $G = U - M$ on the slots, its norm, and the bound
    /// $\min_{U \in B_\zeta} \langle G, U\rangle \ge \sum\alpha + \sum\beta + \zeta \sum_{st} \min(G_{st} - \alpha_s - \beta_t, 0)$.
    /// Each row is summed up as if it had no slot; then its slots are put right.
    fn measure(&mut self) {
        let Projection {
            alpha,
            beta,
            clipped,
            ..
        } = &self.projection;
        let (support, n, zeta) = (self.support, alpha.len(), clipped.zeta);
        let Sorted { values, prefix, .. } = &clipped.columns.sorted;
        let mut squares = vec![0.0; n + 1];
        for (k, b) in values.iter().enumerate() {
            squares[k + 1] = squares[k] + b * b;
        }
        self.squared = 0.0;
        self.least_product = alpha.iter().sum::<f64>() + beta.iter().sum::<f64>();
        for s in 0..n {
            let (own, offset, range) = (alpha[s], self.share[s], clipped.rows.ranges[s]);
            let (shifted, above) = (clipped.shifted[s], (n - range.1 as usize) as f64);
            let mut row = own * own * f64::from(range.1 - range.0)
                + 2.0 * own * within(prefix, range)
                + within(&squares, range)
                + offset * offset * f64::from(range.0)
                + (zeta - offset) * (zeta - offset) * above;
            // without a slot G - alpha - beta is what is cut off: negative above zeta
            let mut excess = above * (shifted - zeta) + within(prefix, (range.1, n as u32));
            for k in support.row(s) {
                let (m, b) = (self.residual[k], beta[support.columns[k] as usize]);
                let plain = (shifted + b).clamp(0.0, zeta) - offset;
                let g = (m + shifted + b).clamp(0.0, zeta) - offset - m;
                self.residual[k] = g;
                row += g * g - plain * plain;
                excess += (own + b - g).max(0.0) - (shifted + b - zeta).max(0.0);
            }
            self.squared += row;
            self.least_product -= zeta * excess;
        }
        // a broken projection must not pass for a perfect one
        self.squared = if self.squared.is_nan() {
            f64::INFINITY
        } else {
            self.squared.max(0.0)
        };
    }

    /// The multipliers $(\alpha, \beta)$ of the last projection.
    pub fn multipliers(&self) -> Vec<f64> {
        [&self.projection.alpha[..], &self.projection.beta].concat()
    }

    /// $\max_{p \in \Delta_\xi} p \cdot (P G^\top)_s$.
    fn most_in(&self, s: usize, xi: f64) -> f64 {
        let (mdp, kernel) = (self.mdp, self.mdp.kernel());
        let total = self.projection.clipped.rows.sums[s] - 1.0;
        let products = mdp.pairs(s).map(|pair| {
            let mut sum = kernel.spread_of(pair) * total / mdp.n_states() as f64;
            for k in kernel.offsets()[pair]..kernel.offsets()[pair + 1] {
                sum += kernel.values()[k] * self.residual[self.support.slots[k] as usize];
            }
            sum
        });
        simplex::support(products, xi)
    }

    /// Objective and bound at the last projected policy.
    pub fn certify(&self, xi: f64) -> Evaluation {
        let norm = self.squared.sqrt();
        let states = 0..self.mdp.n_states();
        let most: f64 = states.map(|s| self.most_in(s, xi)).sum();
        // a tiny distance must not turn rounding into a bound
        let bound = if norm > 1e-12 && norm.is_finite() {
            ((self.least_product - most) / norm).max(0.0)
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
