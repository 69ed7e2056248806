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

mod approach;
mod packing;
mod row;
mod system;

use super::{Limits, Outcome};
use crate::formulation::Problem;
use crate::formulation::frobenius::Evaluator;
use crate::formulation::simplex;
use crate::formulation::support::Support;
use crate::model::{Mdp, Policy};
use system::System;

/// First $\sigma = \text{distance} / \mu$, its growth per step, and its limit: beyond it the
/// rows' problems lose their digits.
const FIRST: f64 = 100.0;
const GROWTH: f64 = 3.0;
/// First $\sigma$ after an [`approach`], which leaves only what a small $\mu$ moves.
const FIRST_NEAR: f64 = 1e6;
const LARGEST: f64 = 1e7;
/// No $\mu$ below this.
const LEAST_WEIGHT: f64 = 1e-10;
/// Proximal steps.
const MOST_PROXIMAL: usize = 500;
/// Proximal steps without a better gap before giving up.
const PATIENCE: usize = 12;

/// Whether every state has few enough actions for its own small problem.
pub(super) fn applies(mdp: &Mdp) -> bool {
    mdp.max_actions() <= system::MOST_ACTIONS
}

/// Solves from a policy and, if given, the multipliers $(\alpha, \beta)$ of its projection.
pub(super) fn solve(
    mdp: &Mdp,
    problem: &Problem,
    limits: &mut Limits<'_>,
    start: &Policy,
    multipliers: Option<&[f64]>,
) -> Outcome {
    let support = Support::new(mdp);
    let n = mdp.n_states();
    let mut policy = start.probabilities().to_vec();
    for s in 0..n {
        simplex::project(&mut policy[mdp.pairs(s)], problem.xi);
    }
    let mut judge = Judge {
        evaluator: Evaluator::new(mdp, &support, problem.zeta),
        descent: vec![0.0; mdp.n_pairs()],
        xi: problem.xi,
        best: Outcome {
            policy: policy.clone(),
            objective: f64::INFINITY,
            bound: 0.0,
            dual: vec![0.0; 2 * n],
            iterations: 0,
        },
    };
    if let Some(given) = multipliers.filter(|m| m.len() == 2 * n) {
        judge.best.dual.copy_from_slice(given);
    }
    let near = multipliers.is_none() && n >= approach::FEWEST;
    if near {
        policy = judge.approach(mdp, policy, limits);
    }
    let mut system = System::new(mdp, &support, *problem, policy);
    let (alpha, beta) = judge.best.dual.split_at(n);
    system.alpha.copy_from_slice(alpha);
    system.beta.copy_from_slice(beta);
    judge.look(&system, limits);
    system
        .alpha
        .copy_from_slice(&judge.evaluator.projection.alpha);
    system
        .beta
        .copy_from_slice(&judge.evaluator.projection.beta);
    system.rough = near;
    let mut sigma = if near { FIRST_NEAR } else { FIRST };
    let mut share = 1e-2;
    let mut last_gap = if near { judge.gap() } else { f64::INFINITY };
    let mut waited = 0;
    for _ in 0..MOST_PROXIMAL {
        if limits.reached(&judge.best) || waited >= PATIENCE {
            break;
        }
        let scale = judge.best.objective.max(1e-12);
        system.weight = (scale / sigma).max(LEAST_WEIGHT);
        // a share of what one row contributes to the distance
        let accuracy = (share * scale / (n as f64).sqrt()).max(1e-14);
        let settled = system.settle(accuracy, &mut judge.best.iterations, limits);
        judge.look(&system, limits);
        let gap = judge.gap();
        waited = if gap < 0.9 * last_gap { 0 } else { waited + 1 };
        if near && !settled && waited > 0 && sigma > 10.0 * FIRST {
            // too far for so small a weight: back to where the multipliers were good
            let (alpha, beta) = judge.best.dual.split_at(n);
            system.alpha.copy_from_slice(alpha);
            system.beta.copy_from_slice(beta);
            system.policy.clone_from(&judge.best.policy);
            sigma *= 0.1;
        } else {
            sigma = (GROWTH * sigma).min(LARGEST);
            if waited > 0 {
                share *= 0.1;
            }
        }
        system.centre.clone_from(&system.policy);
        last_gap = last_gap.min(gap);
    }
    judge.best
}

/// Certifies and keeps the best.
struct Judge<'a> {
    evaluator: Evaluator<'a>,
    descent: Vec<f64>,
    xi: f64,
    best: Outcome,
}

impl Judge<'_> {
    fn gap(&self) -> f64 {
        (self.best.objective - self.best.bound).abs()
    }

    /// The bound comes from the system's own multipliers, which belong to the proximal step;
    /// the objective from an accurate projection of the policy.
    fn look(&mut self, system: &System<'_>, limits: &Limits<'_>) {
        let evaluator = &mut self.evaluator;
        evaluator.projection.alpha.copy_from_slice(&system.alpha);
        evaluator.projection.beta.copy_from_slice(&system.beta);
        evaluator.project(&system.policy, f64::INFINITY, 0);
        evaluator.descent(&mut self.descent);
        let own = evaluator.certify(self.xi, &self.descent);
        self.best.bound = self.best.bound.max(own.bound);
        self.judge(&system.policy, own.objective, limits);
    }

    /// Projects the policy, whose distance is about `about`, accurately and certifies.
    fn judge(&mut self, policy: &[f64], about: f64, limits: &Limits<'_>) {
        let evaluator = &mut self.evaluator;
        let wanted = limits.wanted(self.best.objective.min(about));
        evaluator.project(policy, (1e-4 * wanted).clamp(1e-13, 1e-8), 300);
        evaluator.descent(&mut self.descent);
        let exact = evaluator.certify(self.xi, &self.descent);
        let best = &mut self.best;
        if exact.objective < best.objective {
            best.objective = exact.objective;
            best.policy.clear();
            best.policy.extend_from_slice(policy);
            let (alpha, beta) = best.dual.split_at_mut(evaluator.projection.alpha.len());
            alpha.copy_from_slice(&evaluator.projection.alpha);
            beta.copy_from_slice(&evaluator.projection.beta);
        }
        best.bound = best.bound.max(exact.bound);
    }
}
