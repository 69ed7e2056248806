//! Frobenius by proximal steps, each solved by semismooth Newton steps on its dual.
//!
//! $$\pi^{k+1} = \arg\min_{\pi \in \Delta_\xi} \; \tfrac12 \mathrm{dist}_F(M(\pi), B_\zeta)^2
//!   + \frac{\mu_k}{2} \|\pi - \pi^k\|^2$$
//!
//! converges ever faster as $\mu_k$ falls (Rockafellar 1976). Its dual has one multiplier per row
//! and column of $U$ and is smooth, so that a handful of Newton steps solve it ([`system`],
//! [`newton`]), at $O(\text{nnz} + S)$ memory and with all rows independent of each other
//! ([`row`]); on long chains they need the help of a sparse factor ([`preconditioner`]). Gradients
//! take a number of steps that grows with the conditioning of the distance, which is about $S$:
//! mass missing in one column costs its square divided by $S$ when spread over the column, but its
//! square when kept in one entry.
//!
//! The multipliers of an unfinished step already prove a bound: see
//! [`frobenius`](crate::formulation::frobenius), which takes any $G$.

mod free_actions;
mod newton;
mod preconditioner;
mod row;
mod system;

use crate::formulation::Problem;
use crate::formulation::support::Support;
use crate::model::Mdp;
use crate::solve::birkhoff::distance::{Evaluation, Evaluator};
use crate::solve::distance::balanced_columns::balanced_policy;
use crate::solve::driver::{Candidate, Driver, Method, Step};
use system::System;

const NAME: &str = "proximal Newton";

/// First $\sigma = \text{distance} / \mu$ and its growth per step, by trial, and its limit: beyond
/// it the rows' problems lose their digits.
const FIRST: f64 = 100.0;
const GROWTH: f64 = 3.0;
const LARGEST: f64 = 1e9;
/// No $\mu$ below this, whatever the distance: the same limit for distances near zero.
const LEAST_WEIGHT: f64 = 1e-10;
/// Rounding in the slopes of a row's problem, which are differences of probabilities: it comes out
/// divided by $\mu$, so that no sum gets nearer to one than that.
const ROUNDING: f64 = 4.0 * f64::EPSILON;
/// Proximal steps: a safeguard, patience ends first.
const MOST_PROXIMAL: usize = 500;
/// Proximal steps without a better gap before each is given more Newton steps, and before giving
/// up.
const SOME_PATIENCE: usize = 3;
const PATIENCE: usize = 12;
/// Newton steps of the projection that a policy's value is read from, as in
/// `solve/distance/frobenius.rs`.
const MOST_PROJECTION: usize = 300;

/// The steps, with what is needed to certify them.
pub(in crate::solve) struct ProximalNewton<'a> {
    system: System<'a>,
    evaluator: Evaluator<'a>,
    xi: f64,
    sigma: f64,
    /// How accurately a step is solved, as a share of what one row contributes to the distance.
    share: f64,
    least_gap: f64,
    waited: usize,
    steps: usize,
}

impl<'a> ProximalNewton<'a> {
    /// From the best policy at hand and its multipliers; from evenly filled columns where that is
    /// `unknown` territory. The start is offered at once.
    pub(in crate::solve) fn new(
        mdp: &'a Mdp,
        problem: &Problem,
        support: &'a Support,
        unknown: bool,
        driver: &mut Driver<'_>,
    ) -> Self {
        let policy = if unknown {
            balanced_policy(mdp, problem.xi, driver).0
        } else {
            driver.best().policy.clone()
        };
        let evaluator = Evaluator::new(mdp, support, problem.zeta);
        let dual = evaluator.projection.clone();
        let mut method = ProximalNewton {
            system: System::new(mdp, support, *problem, policy, dual),
            evaluator,
            xi: problem.xi,
            sigma: FIRST,
            share: 1e-2,
            least_gap: f64::INFINITY,
            waited: 0,
            steps: 0,
        };
        method.system.dual.set_multipliers(&driver.best().dual);
        let first = method.certify(driver);
        method.system.dual.set_multipliers(&first.dual);
        driver.count(1);
        driver.offer(first, NAME);
        method
    }

    /// The policy at hand, judged. The bound comes from the system's own multipliers, which belong
    /// to the proximal step, or from those of the policy's accurate projection, which its objective
    /// comes from.
    fn certify(&mut self, driver: &mut Driver<'_>) -> Candidate {
        let (projection, dual) = (&mut self.evaluator.projection, &self.system.dual);
        projection.alpha.copy_from_slice(&dual.alpha);
        projection.beta.copy_from_slice(&dual.beta);
        let own = self.project(f64::INFINITY, 0, driver);
        let wanted = driver.wanted(driver.best().objective.min(own.objective));
        let tolerance = (1e-4 * wanted).clamp(1e-13, 1e-8);
        let exact = self.project(tolerance, MOST_PROJECTION, driver);
        Candidate {
            policy: self.system.rows.policy.clone(),
            objective: exact.objective,
            bound: exact.bound.max(own.bound),
            dual: self.evaluator.multipliers(),
        }
    }

    fn project(&mut self, tolerance: f64, most: usize, driver: &mut Driver<'_>) -> Evaluation {
        let policy = &self.system.rows.policy;
        self.evaluator
            .project_in_time(policy, (tolerance, most), driver);
        self.evaluator.certify(self.xi)
    }
}

impl Method for ProximalNewton<'_> {
    fn name(&self) -> &'static str {
        NAME
    }

    fn step(&mut self, driver: &mut Driver<'_>) -> Step {
        self.steps += 1;
        if self.waited >= PATIENCE || self.steps > MOST_PROXIMAL {
            return Step::End;
        }
        let scale = driver.best().objective.max(1e-12);
        let n = self.system.dual.alpha.len();
        let weight = (scale / self.sigma).max(LEAST_WEIGHT);
        self.system.rows.problem_data.weight = weight;
        let accuracy = (self.share * scale / (n as f64).sqrt()).max(ROUNDING / weight);
        let settled = self.system.solve_prox_subproblem(accuracy, driver);
        let found = self.certify(driver);
        driver.offer(found, NAME);
        let best = driver.best();
        let gap = (best.objective - best.bound).abs();
        self.waited = if gap < 0.9 * self.least_gap {
            0
        } else {
            self.waited + 1
        };
        if !settled && self.waited > 0 && self.sigma > FIRST {
            // back to where the multipliers were good. It was too far for so small a weight; but
            // where larger ones came to nothing, too, more Newton steps are wanting, as on long
            // chains
            self.system.dual.set_multipliers(&best.dual);
            self.system.rows.policy.clone_from(&best.policy);
            if self.waited < SOME_PATIENCE || !self.system.allow_more() {
                self.sigma *= 0.1;
            }
        } else {
            self.sigma = (GROWTH * self.sigma).min(LARGEST);
            if self.waited > 0 {
                self.share *= 0.1;
            }
        }
        let rows = &mut self.system.rows;
        rows.problem_data.centre.clone_from(&rows.policy);
        self.least_gap = self.least_gap.min(gap);
        Step::Going
    }
}
