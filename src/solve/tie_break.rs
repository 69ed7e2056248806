//! One answer where many are optimal: the optimal policy nearest to uniform.
//!
//! Linear programs and the quadratic Frobenius problem have whole faces of optimal policies
//! whose steady states differ a lot. The point of the face with the least $\|\pi -
//! \text{uniform}\|$ is unique. It is found by one routine whichever solver found the optimum, so
//! that the answer does not depend on the solver. Dual has a unique optimum where it matters;
//! State Entropy has a unique $d$, and of the policies that reach it the limit of
//! [`potentials`](super::potentials) is the one with the highest entropy of actions.
//!
//! The cost: Column Sum and Infinity run their primal-dual iteration again, usually once or
//! twice, to more digits; Frobenius solves once more to more digits and then finds the nearest
//! point of a polytope. On models with more
//! than [`LIMIT`] pairs the tie-break is left out, and the solution's notes say so.

use super::{Limits, Outcome, column_sum, conic, gradient, infinity, interior, roads};
use crate::formulation::frobenius::Evaluator;
use crate::formulation::support::Support;
use crate::formulation::{Formulation, Problem, simplex};
use crate::model::{Mdp, Policy};

/// Most state-action pairs for which ties are broken.
pub(super) const LIMIT: usize = 50_000;

/// An objective this close to the optimum counts as optimal.
const ROUNDING: f64 = 1e-8;

/// Replaces an optimal outcome by the optimal one nearest to uniform.
pub(super) fn apply(
    mdp: &Mdp,
    problem: &Problem,
    plain: Outcome,
    limits: &mut Limits<'_>,
) -> (Outcome, Vec<String>) {
    let skipped = |plain: Outcome, why: &str| {
        (
            plain,
            vec![format!(
                "tie-break left out ({why}): other optimal policies may have other steady states"
            )],
        )
    };
    if mdp.n_pairs() > LIMIT {
        return skipped(plain, &format!("more than {LIMIT} state-action pairs"));
    }
    let found = match problem.formulation {
        Formulation::Frobenius => frobenius(mdp, problem, &plain, limits),
        _ => linear(mdp, problem, &plain, limits),
    };
    match found {
        Some(outcome) => (outcome, Vec::new()),
        None if limits.stopped_early() => skipped(plain, "out of time"),
        None => skipped(plain, "no small enough weight was found"),
    }
}

/// Column Sum and Infinity.
///
/// Adding $\frac{w}{2}\|\pi - u\|^2$ to a linear program returns, for every weight $w$ below
/// some threshold, exactly the optimal point nearest to $u$ (Mangasarian and Meyer 1979). The
/// threshold is not known, but whether a weight was small enough is: its answer must itself be
/// optimal for the linear program. So weights fall until it is.
fn linear(
    mdp: &Mdp,
    problem: &Problem,
    plain: &Outcome,
    limits: &mut Limits<'_>,
) -> Option<Outcome> {
    let tolerance =
        (plain.objective - plain.bound).abs() + ROUNDING * (1.0 + plain.objective.abs());
    let uniform = Policy::uniform(mdp);
    let mut iterations = plain.iterations;
    let mut weight = 1.0;
    for _ in 0..8 {
        if limits.expired() {
            return None;
        }
        let solve = match problem.formulation {
            Formulation::ColumnSum => column_sum::solve,
            _ => infinity::solve,
        };
        let mut tried = solve(mdp, problem, limits, &uniform, Some(&plain.dual), weight);
        iterations += tried.iterations;
        if tried.objective <= plain.objective + tolerance {
            // the dual point of the weighted problem proves less than the plain one
            tried.bound = tried.bound.max(plain.bound);
            tried.dual.clone_from(&plain.dual);
            tried.iterations = iterations;
            return Some(tried);
        }
        weight *= 0.1;
    }
    None
}

/// Frobenius: the residual of an accurate optimum fixes the set of all optimal policies.
fn frobenius(
    mdp: &Mdp,
    problem: &Problem,
    plain: &Outcome,
    limits: &mut Limits<'_>,
) -> Option<Outcome> {
    if !interior::applies(mdp, problem) {
        return extrapolated(mdp, problem, plain, limits);
    }
    // whichever road found it, the optimum is refined by one and the same method, because the
    // residual must have more digits than the objective needs
    let found = interior::solve(mdp, problem, 0.0, 1e-18, |_| limits.expired(), |_, _| false);
    let mut policy = found.policy;
    for s in 0..mdp.n_states() {
        simplex::project(&mut policy[mdp.pairs(s)], problem.xi);
    }
    let support = Support::new(mdp);
    let mut evaluator = Evaluator::new(mdp, &support, problem.zeta);
    evaluator.projection.alpha.copy_from_slice(&found.alpha);
    evaluator.projection.beta.copy_from_slice(&found.beta);
    evaluator.project(&policy, 1e-14, 200);
    let target = evaluator.target();
    let seconds = limits.seconds_left();
    let (mut policy, steps) =
        conic::nearest(mdp, problem, &support, &policy, &target, seconds).ok()?;
    for s in 0..mdp.n_states() {
        simplex::project(&mut policy[mdp.pairs(s)], problem.xi);
    }
    let multipliers = (&found.alpha[..], &found.beta[..]);
    let mut tried = roads::frobenius_value(mdp, problem, policy, Some(multipliers));
    tried.bound = tried.bound.max(plain.bound).max(found.bound);
    tried.iterations = plain.iterations + found.iterations + steps;
    let tolerance = (plain.objective - plain.bound).abs() + ROUNDING * (1.0 + plain.objective);
    (tried.objective <= plain.objective + tolerance).then_some(tried)
}

/// Frobenius where the interior is empty or uniform rows are present.
///
/// The minimiser of $f + \frac w2 \|\pi - u\|^2$ is, for small $w$, a linear function of $w$ (the
/// problem is piecewise quadratic), so two weights give its limit at $w = 0$ exactly, and a
/// third one tells whether they were small enough.
fn extrapolated(
    mdp: &Mdp,
    problem: &Problem,
    plain: &Outcome,
    limits: &mut Limits<'_>,
) -> Option<Outcome> {
    let tolerance = (plain.objective - plain.bound).abs() + ROUNDING * (1.0 + plain.objective);
    let mut iterations = plain.iterations;
    let uniform = Policy::uniform(mdp);
    let mut weight = 0.1;
    for _ in 0..5 {
        let mut points = Vec::with_capacity(3);
        for share in [1.0, 0.5, 0.25] {
            if limits.expired() {
                return None;
            }
            let dual = Some(plain.dual.as_slice());
            let found = gradient::solve(mdp, problem, limits, &uniform, dual, weight * share);
            iterations += found.iterations;
            points.push(found.policy);
        }
        let limit = |a: &[f64], b: &[f64]| -> Vec<f64> {
            a.iter().zip(b).map(|(a, b)| 2.0 * b - a).collect()
        };
        let (first, mut second) = (limit(&points[0], &points[1]), limit(&points[1], &points[2]));
        let apart = first
            .iter()
            .zip(&second)
            .fold(0.0, |worst, (a, b)| f64::max(worst, (a - b).abs()));
        if apart <= 1e-6 {
            for s in 0..mdp.n_states() {
                simplex::project(&mut second[mdp.pairs(s)], problem.xi);
            }
            let n = mdp.n_states();
            let multipliers = (&plain.dual[..n], &plain.dual[n..]);
            let mut tried = roads::frobenius_value(mdp, problem, second, Some(multipliers));
            if tried.objective <= plain.objective + tolerance {
                tried.bound = tried.bound.max(plain.bound);
                tried.iterations = iterations;
                return Some(tried);
            }
        }
        weight *= 0.1;
    }
    None
}
