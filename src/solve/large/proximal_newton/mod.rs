//! Frobenius by proximal steps, each solved by semismooth Newton steps on its dual.
//!
//! $$\pi^{k+1} = \arg\min_{\pi \in \Delta_\xi} \; \tfrac12 \mathrm{dist}_F(M(\pi), B_\zeta)^2
//!   + \frac{\mu_k}{2} \|\pi - \pi^k\|^2$$
//!
//! converges ever faster as $\mu_k$ falls (Rockafellar 1976). Its dual has one multiplier
//! per row and column of $U$ and is smooth, so that a handful of Newton steps solve it
//! ([`system`]), at $O(\text{nnz} + S)$ memory and with all rows independent of each other
//! ([`row`]). Gradients take a number of steps that grows with the conditioning of the distance,
//! which is about $S$: mass missing in one column costs its square divided by $S$ when spread
//! over the column, but its square when kept in one entry.
//!
//! The multipliers of an unfinished step already prove a bound: see
//! [`frobenius`](crate::formulation::frobenius), which takes any $G$.

mod packing;
mod row;
mod system;

use crate::formulation::Problem;
use crate::formulation::support::Support;
use crate::model::Mdp;
use crate::solve::driver::{Candidate, Driver, Method, Step};
use crate::solve::large::even_columns::evenly_filled;
use crate::solve::value::frobenius::Evaluator;
use system::System;

/// First $\sigma = \text{distance} / \mu$, its growth per step, and its limit: beyond it the
/// rows' problems lose their digits.
const FIRST: f64 = 100.0;
const GROWTH: f64 = 3.0;
const LARGEST: f64 = 1e7;
/// No $\mu$ below this.
const LEAST_WEIGHT: f64 = 1e-10;
/// Rounding in a row's problem, in the units of its objective: it comes out divided by $\mu$, so that no sum gets nearer to one than that.
const ROUNDING: f64 = 1e3 * f64::EPSILON;
/// Proximal steps.
const MOST_PROXIMAL: usize = 500;
/// Proximal steps without a better gap before giving up.
const PATIENCE: usize = 12;

/// The steps, with what is needed to judge them.
pub(in crate::solve) struct ProximalNewton<'a> {
    judge: Judge<'a>,
    system: System<'a>,
    begun: bool,
    sigma: f64,
    share: f64,
    last_gap: f64,
    waited: usize,
    steps: usize,
}

impl<'a> ProximalNewton<'a> {
    /// From the best policy at hand and its multipliers; from evenly filled columns where that is
    /// `unknown` territory.
    pub(in crate::solve) fn new(
        mdp: &'a Mdp,
        problem: &Problem,
        support: &'a Support,
        unknown: bool,
        driver: &mut Driver<'_>,
    ) -> Self {
        let n = mdp.n_states();
        let policy = if unknown {
            evenly_filled(mdp, problem.xi, driver).0
        } else {
            driver.best().policy.clone()
        };
        let mut system = System::new(mdp, support, *problem, policy);
        if let Some(given) = (driver.best().dual.len() == 2 * n).then(|| &driver.best().dual) {
            system.alpha.copy_from_slice(&given[..n]);
            system.beta.copy_from_slice(&given[n..]);
        }
        ProximalNewton {
            judge: Judge {
                evaluator: Evaluator::new(mdp, support, problem.zeta),
                descent: vec![0.0; mdp.n_pairs()],
                xi: problem.xi,
            },
            system,
            begun: false,
            sigma: FIRST,
            share: 1e-2,
            last_gap: f64::INFINITY,
            waited: 0,
            steps: 0,
        }
    }

    /// Takes the best policy and its multipliers, if it has any, into the system.
    fn go_back(&mut self, driver: &Driver<'_>) {
        let n = self.system.alpha.len();
        if driver.best().dual.len() != 2 * n {
            return;
        }
        let (alpha, beta) = driver.best().dual.split_at(n);
        self.system.alpha.copy_from_slice(alpha);
        self.system.beta.copy_from_slice(beta);
        self.system.policy.clone_from(&driver.best().policy);
    }
}

impl Method for ProximalNewton<'_> {
    fn name(&self) -> &'static str {
        "proximal Newton"
    }

    fn step(&mut self, driver: &mut Driver<'_>) -> Step {
        if !self.begun {
            self.begun = true;
            self.system.centre.clone_from(&self.system.policy);
            let first = self.judge.look(&self.system, driver);
            let n = self.system.alpha.len();
            self.system.alpha.copy_from_slice(&first.dual[..n]);
            self.system.beta.copy_from_slice(&first.dual[n..]);
            return Step::Offer(first);
        }
        self.steps += 1;
        if self.waited >= PATIENCE || self.steps > MOST_PROXIMAL {
            return Step::End;
        }
        let scale = driver.best().objective.max(1e-12);
        let n = self.system.alpha.len() as f64;
        self.system.weight = (scale / self.sigma).max(LEAST_WEIGHT);
        // a share of what one row contributes to the distance
        let accuracy = (self.share * scale / n.sqrt()).max(ROUNDING / self.system.weight);
        let settled = self.system.settle(accuracy, driver);
        let found = self.judge.look(&self.system, driver);
        driver.offer(found, self.name());
        let gap = (driver.best().objective - driver.best().bound).abs();
        self.waited = if gap < 0.9 * self.last_gap {
            0
        } else {
            self.waited + 1
        };
        if !settled && self.waited > 0 && self.sigma > FIRST {
            // too far for so small a weight: back to where the multipliers were good
            self.go_back(driver);
            self.sigma *= 0.1;
        } else {
            self.sigma = (GROWTH * self.sigma).min(LARGEST);
            if self.waited > 0 {
                self.share *= 0.1;
            }
        }
        self.system.centre.clone_from(&self.system.policy);
        self.last_gap = self.last_gap.min(gap);
        Step::Going
    }
}

/// Certifies.
struct Judge<'a> {
    evaluator: Evaluator<'a>,
    descent: Vec<f64>,
    xi: f64,
}

impl Judge<'_> {
    /// The bound comes from the system's own multipliers, which belong to the proximal step;
    /// the objective from an accurate projection of the policy.
    fn look(&mut self, system: &System<'_>, driver: &Driver<'_>) -> Candidate {
        let evaluator = &mut self.evaluator;
        evaluator.projection.alpha.copy_from_slice(&system.alpha);
        evaluator.projection.beta.copy_from_slice(&system.beta);
        evaluator.project(&system.policy, f64::INFINITY, 0);
        evaluator.descent(&mut self.descent);
        let own = evaluator.certify(self.xi, &self.descent);
        let mut found = self.judge(&system.policy, own.objective, driver);
        found.bound = found.bound.max(own.bound);
        found
    }

    /// Projects the policy, whose distance is about `about`, accurately and certifies.
    fn judge(&mut self, policy: &[f64], about: f64, driver: &Driver<'_>) -> Candidate {
        let evaluator = &mut self.evaluator;
        let wanted = driver.wanted(driver.best().objective.min(about));
        evaluator.project(policy, (1e-4 * wanted).clamp(1e-13, 1e-8), 300);
        evaluator.descent(&mut self.descent);
        let exact = evaluator.certify(self.xi, &self.descent);
        Candidate {
            policy: policy.to_vec(),
            objective: exact.objective,
            bound: exact.bound,
            dual: evaluator.multipliers(),
        }
    }
}
