//! Which solver runs, and how its answer becomes a certified outcome.

use super::balance::Balance;
use super::tie_break;
use super::{
    Limits, Options, Outcome, Solution, SolverChoice, TieBreak, barrier, conic, gradient, interior,
    potentials, proximal,
};
use crate::error::Result;
use crate::formulation::components::components;
use crate::formulation::entropy::Target;
use crate::formulation::frobenius::Evaluator;
use crate::formulation::support::Support;
use crate::formulation::{Formulation, Problem, column_sum, entropy, infinity, simplex};
use crate::model::{Mdp, Policy};

/// Tolerance asked of the conic solver; what it reached is judged by the certificate.
const CONIC_TOLERANCE: f64 = 1e-11;

/// Rounds of fifty steps that the start may take.
const EVEN_ROUNDS: usize = 20;
/// States from which on it pays.
const MANY: usize = 500;

type Solved = (Outcome, &'static str, Vec<String>);

pub(super) fn solve(
    mdp: &Mdp,
    problem: &Problem,
    target: &Target,
    options: &Options,
    warm: Option<&Solution>,
    limits: &mut Limits<'_>,
) -> Result<Solved> {
    let conic = options.solver == SolverChoice::Conic;
    let uniform = Policy::uniform(mdp);
    let start = warm.map_or(&uniform, |w| &w.policy);
    let dual = warm.map(|w| w.dual.as_slice());
    let mut linear_solver = "primal-dual";
    let plain = match problem.formulation {
        Formulation::ColumnSum if conic => conic_column_sum(mdp, problem, limits)?,
        Formulation::ColumnSum => {
            let (found, solver) = structured_column_sum(mdp, problem, limits, start, dual);
            linear_solver = solver;
            found
        }
        Formulation::Infinity if conic => conic_infinity(mdp, problem, limits)?,
        Formulation::Infinity => super::infinity::solve(mdp, problem, limits, start, dual, 0.0),
        Formulation::Frobenius if conic => conic_frobenius(mdp, problem, limits)?,
        Formulation::Frobenius if warm.is_none() && interior::applies(mdp, problem) => {
            interior_frobenius(mdp, problem, limits)
        }
        Formulation::Frobenius if proximal::applies(mdp) => {
            let even = dual
                .is_none()
                .then(|| evenly_filled(mdp, problem, limits).0);
            proximal::solve(mdp, problem, limits, even.as_ref().unwrap_or(start), dual)
        }
        Formulation::Frobenius => gradient::solve(mdp, problem, limits, start, dual, 0.0),
        Formulation::Dual | Formulation::StateEntropy => {
            return entropies(mdp, problem, target, options, warm, limits);
        }
    };
    let name = match problem.formulation {
        _ if conic => "conic",
        Formulation::ColumnSum | Formulation::Infinity => linear_solver,
        _ if warm.is_none() && interior::applies(mdp, problem) => "interior-point",
        _ if proximal::applies(mdp) => "proximal",
        _ => "gradient",
    };
    if options.tie_break == TieBreak::None || limits.stopped_early() {
        return Ok((plain, name, Vec::new()));
    }
    let (outcome, notes) = tie_break::apply(mdp, problem, plain, limits);
    Ok((outcome, name, notes))
}

/// A good start where nothing is known (see [`balance`](super::balance)), and its column sums.
fn evenly_filled(mdp: &Mdp, problem: &Problem, limits: &mut Limits<'_>) -> (Policy, Vec<f64>) {
    let uniform = Policy::uniform(mdp).probabilities().to_vec();
    let mut balance = Balance::new(mdp, problem.xi, uniform);
    for _ in 0..EVEN_ROUNDS {
        if limits.expired() || balance.advance(50) < 1e-7 {
            break;
        }
    }
    (Policy::cleaned(mdp, balance.policy), balance.columns)
}

/// Moves a solver's policy onto $\Delta_\xi$ exactly.
fn feasible(mdp: &Mdp, xi: f64, mut policy: Vec<f64>) -> Vec<f64> {
    for s in 0..mdp.n_states() {
        simplex::project(&mut policy[mdp.pairs(s)], xi);
    }
    policy
}

fn conic_column_sum(mdp: &Mdp, problem: &Problem, limits: &mut Limits<'_>) -> Result<Outcome> {
    let (policy, y, iterations) =
        conic::column_sum(mdp, problem, CONIC_TOLERANCE, limits.seconds_left())?;
    let policy = feasible(mdp, problem.xi, policy);
    Ok(Outcome {
        objective: column_sum::objective(mdp, &Policy::cleaned(mdp, policy.clone())),
        bound: column_sum::bound(mdp, problem.xi, &y).max(0.0),
        policy,
        dual: y,
        iterations,
    })
}

/// The interior-point method where its equations are cheap, warm or not: it needs no start, and of
/// many optimal policies it ends in the middle. Where it does not apply or ends short of the
/// gap asked for, primal-dual steps, from what it found.
pub(super) fn structured_column_sum(
    mdp: &Mdp,
    problem: &Problem,
    limits: &mut Limits<'_>,
    start: &Policy,
    dual: Option<&[f64]>,
) -> (Outcome, &'static str) {
    let (absolute, relative) = (limits.absolute, limits.relative);
    let wanted = |objective: f64| absolute.max(relative * objective);
    let found = barrier::column_sum(mdp, problem, wanted, || limits.expired());
    if let Some(found) = found {
        if limits.reached(&found) {
            return (found, "interior-point");
        }
        let start = Policy::cleaned(mdp, found.policy.clone());
        let mut best =
            super::column_sum::solve(mdp, problem, limits, &start, Some(&found.dual), 0.0);
        best.iterations += found.iterations;
        if found.objective < best.objective {
            best.objective = found.objective;
            best.policy = found.policy;
        }
        if found.bound > best.bound {
            best.bound = found.bound;
            best.dual = found.dual;
        }
        return (best, "primal-dual");
    }
    let even =
        (dual.is_none() && mdp.n_states() >= MANY).then(|| evenly_filled(mdp, problem, limits));
    let prices = even.as_ref().map(|(_, columns)| {
        let lacks = |c: &f64| if *c < 1.0 { 1.0 } else { -1.0 };
        columns.iter().map(lacks).collect::<Vec<f64>>()
    });
    let start = even.as_ref().map_or(start, |(policy, _)| policy);
    let dual = dual.or(prices.as_deref());
    let found = super::column_sum::solve(mdp, problem, limits, start, dual, 0.0);
    (found, "primal-dual")
}

fn conic_infinity(mdp: &Mdp, problem: &Problem, limits: &mut Limits<'_>) -> Result<Outcome> {
    let support = Support::filled(mdp);
    let mut blocks = Vec::new();
    let mut mass = vec![0.0; support.len()];
    let mut spread = vec![0.0; mdp.n_states()];
    loop {
        let (policy, mut kept, dual, iterations) = conic::infinity(
            mdp,
            problem,
            &support,
            &blocks,
            CONIC_TOLERANCE,
            limits.seconds_left(),
        )?;
        let policy = feasible(mdp, problem.xi, policy);
        super::infinity::full_mass(mdp, &support, &policy, &mut mass, &mut spread);
        infinity::repair(&support, &blocks, problem.zeta, &mass, &mut kept);
        let (objective, block) = infinity::objective(&support, problem.zeta, &kept);
        if let Some(block) = block.filter(|b| !blocks.contains(b)) {
            blocks.push(block);
            continue;
        }
        return Ok(Outcome {
            policy,
            objective,
            bound: infinity::bound(mdp, &support, problem.xi, problem.zeta, &dual).max(0.0),
            dual: [dual.rows, dual.columns].concat(),
            iterations,
        });
    }
}

fn conic_frobenius(mdp: &Mdp, problem: &Problem, limits: &mut Limits<'_>) -> Result<Outcome> {
    let found = conic::frobenius(mdp, problem, CONIC_TOLERANCE, limits.seconds_left())?;
    let mut outcome = frobenius_value(mdp, problem, feasible(mdp, problem.xi, found.policy), None);
    outcome.bound = outcome.bound.max(found.bound);
    outcome.iterations = found.iterations;
    Ok(outcome)
}

fn interior_frobenius(mdp: &Mdp, problem: &Problem, limits: &mut Limits<'_>) -> Outcome {
    // where everything can be visited evenly the uniform policy often does it, and at distance
    // zero there is no interior to speak of
    let uniform = Policy::uniform(mdp);
    let even = frobenius_value(mdp, problem, uniform.probabilities().to_vec(), None);
    if limits.reached(&even) {
        return even;
    }
    // stop when the gap asked for is at hand, with something to spare; if the certificate does
    // not confirm it, go on by proximal steps
    let (absolute, relative) = (limits.absolute, limits.relative);
    let near =
        |objective: f64, bound: f64| objective - bound <= 0.3 * absolute.max(relative * objective);
    let first = certified_interior(mdp, problem, limits, near);
    if limits.close_enough(first.objective, first.bound) || limits.expired() {
        return first;
    }
    if !proximal::applies(mdp) {
        return certified_interior(mdp, problem, limits, |_, _| false);
    }
    let start = Policy::cleaned(mdp, first.policy.clone());
    let mut found = proximal::solve(mdp, problem, limits, &start, Some(&first.dual));
    found.iterations += first.iterations;
    found.bound = found.bound.max(first.bound);
    if first.objective < found.objective {
        found.objective = first.objective;
        found.policy = first.policy;
        found.dual = first.dual;
    }
    found
}

fn certified_interior(
    mdp: &Mdp,
    problem: &Problem,
    limits: &mut Limits<'_>,
    enough: impl Fn(f64, f64) -> bool,
) -> Outcome {
    let found = interior::solve(mdp, problem, 0.0, 1e-15, |_| limits.expired(), enough);
    let policy = feasible(mdp, problem.xi, found.policy);
    let multipliers = (&found.alpha[..], &found.beta[..]);
    let mut outcome = frobenius_value(mdp, problem, policy, Some(multipliers));
    outcome.bound = outcome.bound.max(found.bound);
    outcome.iterations = found.iterations;
    outcome
}

/// Value of a policy and the bound that its own residual proves.
pub(super) fn frobenius_value(
    mdp: &Mdp,
    problem: &Problem,
    policy: Vec<f64>,
    multipliers: Option<(&[f64], &[f64])>,
) -> Outcome {
    let support = Support::new(mdp);
    let mut evaluator = Evaluator::new(mdp, &support, problem.zeta);
    if let Some((alpha, beta)) = multipliers {
        evaluator.projection.alpha.copy_from_slice(alpha);
        evaluator.projection.beta.copy_from_slice(beta);
    }
    let mut descent = vec![0.0; mdp.n_pairs()];
    evaluator.project(&policy, 1e-13, 300);
    evaluator.descent(&mut descent);
    let own = evaluator.certify(problem.xi, &descent);
    Outcome {
        policy,
        objective: own.objective,
        bound: own.bound,
        dual: [
            &evaluator.projection.alpha[..],
            &evaluator.projection.beta[..],
        ]
        .concat(),
        iterations: 0,
    }
}

/// Dual and State Entropy, component by component.
fn entropies(
    mdp: &Mdp,
    problem: &Problem,
    target: &Target,
    options: &Options,
    warm: Option<&Solution>,
    limits: &mut Limits<'_>,
) -> Result<Solved> {
    let conic = options.solver == SolverChoice::Conic;
    let name = if conic { "conic" } else { "newton" };
    let mut run = |mdp: &Mdp, target: &Target, start: Option<&[f64]>| -> Result<Outcome> {
        if !conic {
            return Ok(potentials::solve(mdp, problem, target, limits, start));
        }
        let seconds = limits.seconds_left();
        let (omega, v, iterations) =
            conic::entropy(mdp, problem, target, CONIC_TOLERANCE, seconds)?;
        let policy = feasible(
            mdp,
            problem.xi,
            Policy::cleaned(mdp, omega).probabilities().to_vec(),
        );
        let policy = Policy::cleaned(mdp, policy);
        Ok(Outcome {
            objective: entropy::value_towards(mdp, problem.formulation, target, &policy).0,
            bound: entropy::bound_towards(mdp, problem.formulation, target, problem.xi, &v),
            policy: policy.probabilities().to_vec(),
            dual: v,
            iterations,
        })
    };
    let Some(parts) = components(mdp, problem.xi) else {
        let outcome = run(mdp, target, warm.map(|w| w.dual.as_slice()))?;
        let classes = entropy::classes(mdp, &outcome.policy);
        let mut notes = Vec::new();
        if classes > 1 {
            notes.push(format!(
                "this optimal policy keeps to {classes} separate parts of the model: the objective \
                 is that of the best mixture of them, the steady state below is the one reached from \
                 the start distribution; a larger xi joins the parts"
            ));
        }
        return Ok((outcome, name, notes));
    };
    let mut whole = Outcome {
        policy: Policy::uniform(mdp).probabilities().to_vec(),
        objective: 0.0,
        bound: 0.0,
        dual: vec![0.0; mdp.n_states()],
        iterations: 0,
    };
    let (mut values, mut bounds) = (Vec::new(), Vec::new());
    for part in &parts {
        let of_part = Target {
            log_weights: target.of_states(&part.states),
            ..*target
        };
        let found = run(&part.mdp, &of_part, None)?;
        values.push(found.objective);
        bounds.push(found.bound);
        whole.iterations += found.iterations;
        for &s in &part.states {
            whole.policy[mdp.pairs(s)].fill(0.0);
        }
        for (&pair, p) in part.pairs.iter().zip(&found.policy) {
            whole.policy[pair] = *p;
        }
        for (&s, v) in part.states.iter().zip(&found.dual) {
            whole.dual[s] = *v;
        }
    }
    whole.objective = entropy::log_sum_exp(values.iter().copied());
    whole.bound = entropy::log_sum_exp(bounds.iter().copied());
    let covered: usize = parts.iter().map(|part| part.states.len()).sum();
    let mut notes = Vec::new();
    if parts.len() > 1 {
        notes.push(format!(
            "the model falls into {} parts that cannot all be reached for ever from one start: \
             the objective is that of the best mixture of them, the steady state below is the \
             one reached from the start distribution",
            parts.len()
        ));
    }
    if covered < mdp.n_states() {
        notes.push(format!(
            "{} of {} states cannot be visited for ever under these constraints",
            mdp.n_states() - covered,
            mdp.n_states()
        ));
    }
    Ok((whole, name, notes))
}
