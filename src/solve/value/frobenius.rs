//! Frobenius: the distance of a policy's chain from $B_\zeta$, and the bound that its own residual proves.

use super::projection::{Projection, Target};
use crate::formulation::simplex;
use crate::formulation::support::Support;
use crate::model::Mdp;

/// Value of a policy, the bound its own residual proves, and the gradient
/// $\partial \tfrac12\mathrm{dist}^2 / \partial \pi$.
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
    pub projection: Projection,
    mass: Vec<f64>,
    spread: Vec<f64>,
    residual: Vec<f64>,
    squared: f64,
    violation: f64,
}

impl<'a> Evaluator<'a> {
    /// With multipliers zero.
    pub fn new(mdp: &'a Mdp, support: &'a Support, zeta: f64) -> Self {
        let n = mdp.n_states();
        Evaluator {
            mdp,
            support,
            projection: Projection::new(n, support.len(), zeta),
            mass: vec![0.0; support.len()],
            spread: vec![0.0; n],
            residual: vec![0.0; support.len()],
            squared: 0.0,
            violation: f64::INFINITY,
        }
    }

    /// Projects $M(\text{policy})$ and keeps the residual $G = U - M$. Returns
    /// $\|G\|_F^2$. `policy` may lie outside $\Delta_\xi$ (an extrapolated point).
    pub fn project(&mut self, policy: &[f64], tolerance: f64, steps: usize) -> f64 {
        self.support
            .assemble(self.mdp, policy, &mut self.mass, &mut self.spread);
        let target = Target {
            support: self.support,
            mass: &self.mass,
            spread: &self.spread,
        };
        let (violation, _) = self.projection.project(&target, tolerance, steps);
        self.violation = violation;
        self.squared = self.projection.residual(&target, &mut self.residual);
        self.squared
    }

    /// The multipliers $(\alpha, \beta)$ of the last projection.
    pub fn multipliers(&self) -> Vec<f64> {
        [&self.projection.alpha[..], &self.projection.beta].concat()
    }

    /// $-\nabla \tfrac12 \mathrm{dist}^2$: `out_r` $= P_r \cdot G_s$ for each pair.
    pub fn descent(&self, out: &mut [f64]) {
        let kernel = self.mdp.kernel();
        for s in 0..self.mdp.n_states() {
            let rest = (self.projection.row_sums()[s] - 1.0) / self.mdp.n_states() as f64;
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
        let target = Target {
            support: self.support,
            mass: &self.mass,
            spread: &self.spread,
        };
        let norm = self.squared.sqrt();
        let least = self.projection.linear_minimum(&target, &self.residual);
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
