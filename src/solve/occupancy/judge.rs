//! Occupancies and dual points, turned into certified candidates, and the two methods that make them.

use super::flows::Flows;
use super::interior::{Dual, Interior};
use crate::formulation::occupancy::Occupancies;
use crate::formulation::simplex;
use crate::formulation::utility::{Average, Conjugate};
use crate::formulation::visits::Limit;
use crate::model::{Mdp, Policy};
use crate::solve::driver::{Candidate, Driver, Method, Step};

/// Limits may be exceeded by this share of their largest cost: rounding.
pub(super) const WITHIN: f64 = 1e-10;
/// Flows that are met to this share of all are worth the price of a policy's exact occupancy.
const NEARLY: f64 = 1e-4;

/// What a limit's costs are measured by.
pub(super) fn limit_size(limit: &Limit) -> f64 {
    let largest = limit.cost.iter().fold(0.0, |m: f64, c| m.max(c.abs()));
    if largest > 0.0 { largest } else { 1.0 }
}

/// Turns occupancies and dual points into certified candidates.
pub(super) struct Judge<'a> {
    /// The whole model, where its policy is wanted.
    pub(super) whole: Option<&'a Mdp>,
    pub(super) part: &'a Occupancies,
    pub(super) utility: &'a dyn Conjugate,
    pub(super) limits: &'a [Limit],
    /// Of the objective as it is reported.
    pub(super) sign: f64,
    pub(super) prices: Vec<f64>,
    /// Averages of the limits' costs under the last policy that kept to them.
    pub(super) values: Option<Vec<f64>>,
    /// What that policy visits.
    pub(super) omega: Vec<f64>,
}

impl<'a> Judge<'a> {
    /// Of average rewards, whose policies nobody asks for.
    pub(super) fn of_average(
        part: &'a Occupancies,
        reward: &'a Average,
        limits: &'a [Limit],
    ) -> Self {
        Judge {
            whole: None,
            part,
            utility: reward,
            limits,
            sign: 1.0,
            prices: vec![0.0; limits.len()],
            values: None,
            omega: Vec::new(),
        }
    }

    /// A policy of the part with its exact occupancy, by how much it exceeds the limits, and what the dual point proves.
    fn judge(&mut self, policy: &[f64], near: &[f64], mut dual: Dual) -> (Candidate, Vec<f64>) {
        let omega = self.part.of_policy(policy, near);
        let bound = self.part.bound(
            self.utility,
            self.limits,
            &mut dual.r,
            &dual.v,
            &dual.prices,
        );
        let spent: Vec<f64> = self
            .limits
            .iter()
            .map(|l| l.cost.iter().zip(&omega).map(|(c, x)| c * x).sum())
            .collect();
        let over = self.limits.iter().zip(&spent);
        let over: Vec<f64> = over.map(|(l, x)| x - l.budget).collect();
        let kept = over
            .iter()
            .zip(self.limits)
            .all(|(x, l)| *x <= WITHIN * limit_size(l));
        let objective = if kept {
            self.values = Some(spent);
            let prices = dual.prices.iter().map(|y| y * dual.price_scale);
            self.prices = prices.collect();
            let value = self.sign * self.utility.value(&omega);
            self.omega = omega;
            value
        } else {
            // no policy of the problem
            self.sign * f64::NEG_INFINITY
        };
        let candidate = Candidate {
            policy: match self.whole {
                Some(mdp) => self.part.whole_policy(mdp, policy),
                None => policy.to_vec(),
            },
            objective,
            bound: self.sign * bound,
            dual: dual.v,
        };
        (candidate, over)
    }

    /// An occupancy of the reference road.
    pub(super) fn offer_occupancy(&mut self, omega: &[f64], dual: Dual) -> Candidate {
        let mdp = self.part.mdp();
        let policy = Policy::cleaned(mdp, omega.to_vec());
        let policy = simplex::feasible(mdp, self.part.xi(), policy.probabilities().to_vec());
        let d: Vec<f64> = (0..mdp.n_states())
            .map(|s| omega[mdp.pairs(s)].iter().map(|x| x.max(0.0)).sum())
            .collect();
        self.judge(&policy, &d, dual).0
    }
}

/// The interior-point method as a [`Method`].
pub(super) struct Road<'a, 'b> {
    pub(super) interior: Interior<'a>,
    pub(super) judge: &'b mut Judge<'a>,
    pub(super) ended: bool,
}

impl Road<'_, '_> {
    pub(super) fn certified(&mut self) -> Candidate {
        let (policy, near) = self.interior.policy();
        let (candidate, over) = self.judge.judge(&policy, near, self.interior.dual());
        // keep exact occupancies within the limits: aim a little lower from now on
        for (margin, over) in self.interior.margins.iter_mut().zip(over) {
            if over > 0.0 {
                *margin += 2.0 * over;
            }
        }
        candidate
    }
}

impl Method for Road<'_, '_> {
    fn name(&self) -> &'static str {
        "interior-point"
    }

    fn step(&mut self, driver: &mut Driver<'_>) -> Step {
        if self.ended {
            return Step::End;
        }
        let going = self.interior.step(driver);
        if !going {
            self.ended = true;
            return Step::Offer(self.certified());
        }
        let value = self.judge.utility.value(&self.interior.occupancy());
        let wanted = driver.wanted(value);
        if self.interior.estimated_gap() <= wanted && self.interior.violation() <= NEARLY {
            return Step::Offer(self.certified());
        }
        Step::Going
    }
}

/// The primal-dual steps as a [`Method`].
pub(super) struct Walk<'a, 'b> {
    pub(super) flows: Flows<'a>,
    pub(super) judge: &'b mut Judge<'a>,
}

impl Walk<'_, '_> {
    pub(super) fn certified(&mut self) -> Candidate {
        let (policy, near, dual) = self.flows.answer();
        self.judge.judge(&policy, &near, dual).0
    }
}

impl Method for Walk<'_, '_> {
    fn name(&self) -> &'static str {
        "primal-dual"
    }

    fn step(&mut self, _: &mut Driver<'_>) -> Step {
        if self.flows.step() {
            Step::Offer(self.certified())
        } else {
            Step::Going
        }
    }
}
