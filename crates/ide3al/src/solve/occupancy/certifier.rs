//! Occupancies and dual points, turned into certified candidates: the policy's value is that of its
//! exact occupancy, the bound is computed from the dual point alone.

use crate::formulation::occupancy::{Dual, Occupancies};
use crate::formulation::occupancy_spec::Limit;
use crate::formulation::simplex;
use crate::formulation::utility::Conjugate;
use crate::model::{Mdp, Policy};
use crate::solve::driver::Candidate;
use ide3al_numerics::parallel::{dot, largest};

/// Limits may be exceeded by this share of their largest cost: the rounding of exact occupancies of
/// badly mixing chains.
pub(super) const WITHIN: f64 = 1e-10;

/// What a limit's costs are measured by.
pub(super) fn limit_size(limit: &Limit) -> f64 {
    match largest(&limit.cost) {
        size if size > 0.0 => size,
        _ => 1.0,
    }
}

/// A policy and what it visits in the long run, exactly.
pub(super) struct PolicyOccupancy {
    pub(super) policy: Vec<f64>,
    pub(super) omega: Vec<f64>,
    /// Averages of the limits' costs.
    pub(super) spent: Vec<f64>,
}

impl PolicyOccupancy {
    /// Where the policy's chain has several recurrent classes they share the mass as it is when the
    /// process starts from `near`.
    pub(super) fn by_policy(
        part: &Occupancies,
        limits: &[Limit],
        policy: Vec<f64>,
        near: &[f64],
    ) -> Self {
        let omega = part.of_policy(&policy, near);
        PolicyOccupancy {
            policy,
            spent: limits.iter().map(|l| dot(&l.cost, &omega)).collect(),
            omega,
        }
    }

    /// By the policy of an occupancy that meets the flow constraints but nearly.
    pub(super) fn by_occupancy(part: &Occupancies, limits: &[Limit], omega: &[f64]) -> Self {
        let mdp = part.mdp();
        let policy = Policy::cleaned(mdp, omega.to_vec());
        let policy = simplex::feasible(mdp, part.xi(), policy.probabilities().to_vec());
        let states = (0..mdp.n_states()).map(|s| &omega[mdp.pairs(s)]);
        let d: Vec<f64> = states
            .map(|row| row.iter().map(|x| x.max(0.0)).sum())
            .collect();
        PolicyOccupancy::by_policy(part, limits, policy, &d)
    }

    /// Whether it keeps to the limits.
    pub(super) fn is_feasible(&self, limits: &[Limit]) -> bool {
        self.budget_excess(limits).all(|beyond| beyond <= WITHIN)
    }

    /// By how much it exceeds each budget, as a share of the largest cost.
    pub(super) fn budget_excess(&self, limits: &[Limit]) -> impl Iterator<Item = f64> {
        let spent = limits.iter().zip(&self.spent);
        spent.map(|(limit, x)| (x - limit.budget) / limit_size(limit))
    }
}

/// Certifies what methods find for one problem, and remembers what became of the limits.
pub(super) struct Certifier<'a> {
    /// The whole model, where its policy is wanted.
    whole: Option<&'a Mdp>,
    pub(super) part: &'a Occupancies,
    pub(super) utility: &'a dyn Conjugate,
    pub(super) limits: &'a [Limit],
    /// Of the objective as it is reported.
    sign: f64,
    /// What the best policy visits that kept to the limits, and its value; and the limits' prices
    /// when one did last.
    pub(super) best_feasible: Option<PolicyOccupancy>,
    best_value: f64,
    pub(super) prices: Vec<f64>,
}

impl<'a> Certifier<'a> {
    /// Of a utility that is to be maximised on a part of a model, and reported with this sign; with
    /// policies of the `whole` model where these are asked for.
    pub(super) fn new(
        part: &'a Occupancies,
        utility: &'a dyn Conjugate,
        limits: &'a [Limit],
        whole: Option<&'a Mdp>,
        sign: f64,
    ) -> Self {
        Certifier {
            whole,
            part,
            utility,
            limits,
            sign,
            best_feasible: None,
            best_value: f64::NEG_INFINITY,
            prices: vec![0.0; limits.len()],
        }
    }

    /// The value of what a policy visits, and what a dual point proves.
    pub(super) fn certify(&mut self, visited: PolicyOccupancy, dual: Dual) -> Candidate {
        let bound = self
            .part
            .bound(self.utility, self.limits, &dual.r, &dual.v, &dual.prices);
        let policy = match self.whole {
            Some(mdp) => self.part.reduced().whole_policy(mdp, &visited.policy),
            None => visited.policy.clone(),
        };
        // beyond the limits it is no policy of the problem
        let mut objective = f64::NEG_INFINITY;
        if visited.is_feasible(self.limits) {
            objective = self.utility.value(&visited.omega);
            self.prices = dual.prices.iter().map(|y| y * dual.price_scale).collect();
            if self.best_feasible.is_none() || objective > self.best_value {
                (self.best_feasible, self.best_value) = (Some(visited), objective);
            }
        }
        Candidate {
            policy,
            objective: self.sign * objective,
            bound: self.sign * bound,
            dual: dual.v,
        }
    }
}
