//! Which solver runs, and how its answer becomes a certified outcome.

use super::{
    Limits, Options, Outcome, Solution, SolverChoice, TieBreak, conic, gradient, interior,
    potentials,
};
use crate::error::Result;
use crate::formulation::components::components;
use crate::formulation::frobenius::Evaluator;
use crate::formulation::support::Support;
use crate::formulation::transport::Block;
use crate::formulation::{Formulation, Problem, column_sum, entropy, infinity, simplex};
use crate::model::{Mdp, Policy};

/// Tolerance asked of the conic solver; what it reached is judged by the certificate.
const CONIC_TOLERANCE: f64 = 1e-11;

type Solved = (Outcome, &'static str, Vec<String>);

pub(super) fn solve(
    mdp: &Mdp,
    problem: &Problem,
    options: &Options,
    warm: Option<&Solution>,
    limits: &mut Limits<'_>,
) -> Result<Solved> {
    let conic = options.solver == SolverChoice::Conic;
    let outcome = match problem.formulation {
        Formulation::ColumnSum if conic => conic_column_sum(mdp, problem, options, limits)?,
        Formulation::ColumnSum => saddle_column_sum(mdp, problem, options, warm, limits)?,
        Formulation::Infinity if conic => conic_infinity(mdp, problem, options, limits)?,
        Formulation::Infinity => saddle_infinity(mdp, problem, options, warm, limits)?,
        Formulation::Frobenius if conic => conic_frobenius(mdp, problem, options, limits)?,
        Formulation::Frobenius if warm.is_none() && interior::applies(mdp, problem) => {
            interior_frobenius(mdp, problem, options, limits)
        }
        Formulation::Frobenius => {
            let uniform = Policy::uniform(mdp);
            let start = warm.map_or(&uniform, |w| &w.policy);
            gradient::solve(mdp, problem, limits, start, warm.map(|w| w.dual.as_slice()))
        }
        Formulation::Dual | Formulation::StateEntropy => {
            return entropies(mdp, problem, options, warm, limits);
        }
    };
    Ok((
        outcome,
        if conic { "conic" } else { "structured" },
        Vec::new(),
    ))
}

/// Moves a solver's policy onto $\Delta_\xi$ exactly.
fn feasible(mdp: &Mdp, xi: f64, mut policy: Vec<f64>) -> Vec<f64> {
    for s in 0..mdp.n_states() {
        simplex::project(&mut policy[mdp.pairs(s)], xi);
    }
    policy
}

fn conic_column_sum(
    mdp: &Mdp,
    problem: &Problem,
    options: &Options,
    limits: &mut Limits<'_>,
) -> Result<Outcome> {
    let certified = |policy: Vec<f64>, y: Vec<f64>, iterations: usize| {
        let policy = feasible(mdp, problem.xi, policy);
        Outcome {
            objective: column_sum::objective(mdp, &Policy::cleaned(mdp, policy.clone())),
            bound: column_sum::bound(mdp, problem.xi, &y).max(0.0),
            policy,
            dual: y,
            iterations,
        }
    };
    let (policy, y, iterations) =
        conic::column_sum(mdp, problem, 0.0, CONIC_TOLERANCE, limits.seconds_left())?;
    let plain = certified(policy, y, iterations);
    if options.tie_break == TieBreak::None {
        return Ok(plain);
    }
    nearest_to_uniform(plain, limits, |weight, limits| {
        let (policy, y, iterations) =
            conic::column_sum(mdp, problem, weight, CONIC_TOLERANCE, limits.seconds_left())?;
        Ok(certified(policy, y, iterations))
    })
}

fn saddle_column_sum(
    mdp: &Mdp,
    problem: &Problem,
    options: &Options,
    warm: Option<&Solution>,
    limits: &mut Limits<'_>,
) -> Result<Outcome> {
    let uniform = Policy::uniform(mdp);
    let start = warm.map_or(&uniform, |w| &w.policy);
    let dual = warm.map(|w| w.dual.as_slice());
    let plain = super::column_sum::solve(mdp, problem, limits, start, dual, 0.0);
    if options.tie_break == TieBreak::None {
        return Ok(plain);
    }
    let dual = plain.dual.clone();
    nearest_to_uniform(plain, limits, |weight, limits| {
        Ok(super::column_sum::solve(
            mdp,
            problem,
            limits,
            &uniform,
            Some(&dual),
            weight,
        ))
    })
}

fn saddle_infinity(
    mdp: &Mdp,
    problem: &Problem,
    options: &Options,
    warm: Option<&Solution>,
    limits: &mut Limits<'_>,
) -> Result<Outcome> {
    let support = Support::filled(mdp);
    let uniform = Policy::uniform(mdp);
    let start = warm.map_or(&uniform, |w| &w.policy);
    let mut blocks: Vec<Block> = Vec::new();
    let mut run = |start: &Policy, dual: Option<&[f64]>, weight: f64, limits: &mut Limits<'_>| {
        loop {
            let run = super::infinity::solve(
                mdp, problem, &support, &blocks, limits, start, dual, weight,
            );
            match run.block.filter(|b| !blocks.contains(b)) {
                Some(block) => blocks.push(block),
                None => return run.outcome,
            }
        }
    };
    let plain = run(start, warm.map(|w| w.dual.as_slice()), 0.0, limits);
    if options.tie_break == TieBreak::None {
        return Ok(plain);
    }
    let dual = plain.dual.clone();
    nearest_to_uniform(plain, limits, |weight, limits| {
        Ok(run(&uniform, Some(&dual), weight, limits))
    })
}

fn conic_infinity(
    mdp: &Mdp,
    problem: &Problem,
    options: &Options,
    limits: &mut Limits<'_>,
) -> Result<Outcome> {
    let support = Support::filled(mdp);
    let n = mdp.n_states();
    let mut blocks = Vec::new();
    let mut mass = vec![0.0; support.len()];
    let mut spread = vec![0.0; n];
    let mut run = |weight: f64, limits: &mut Limits<'_>| -> Result<Outcome> {
        loop {
            let (policy, mut kept, dual, iterations) = conic::infinity(
                mdp,
                problem,
                &support,
                &blocks,
                weight,
                CONIC_TOLERANCE,
                limits.seconds_left(),
            )?;
            let policy = feasible(mdp, problem.xi, policy);
            support.assemble(mdp, &policy, &mut mass, &mut spread);
            for s in 0..n {
                for m in &mut mass[support.offsets[s]..support.offsets[s + 1]] {
                    *m += spread[s] / n as f64;
                }
            }
            infinity::repair(&support, n, problem.zeta, &mass, &mut kept);
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
    };
    let plain = run(0.0, limits)?;
    if options.tie_break == TieBreak::None {
        return Ok(plain);
    }
    nearest_to_uniform(plain, limits, run)
}

fn conic_frobenius(
    mdp: &Mdp,
    problem: &Problem,
    options: &Options,
    limits: &mut Limits<'_>,
) -> Result<Outcome> {
    let support = Support::new(mdp);
    let mut evaluator = Evaluator::new(mdp, &support, problem.zeta);
    let mut descent = vec![0.0; mdp.n_pairs()];
    let mut run = |weight: f64, limits: &mut Limits<'_>| -> Result<Outcome> {
        let found = conic::frobenius(mdp, problem, weight, CONIC_TOLERANCE, limits.seconds_left())?;
        let policy = feasible(mdp, problem.xi, found.policy);
        evaluator.project(&policy, 1e-13, 200);
        evaluator.descent(&mut descent);
        let own = evaluator.certify(problem.xi, &descent);
        Ok(Outcome {
            policy,
            objective: own.objective,
            bound: found.bound.max(own.bound),
            dual: [
                &evaluator.projection.alpha[..],
                &evaluator.projection.beta[..],
            ]
            .concat(),
            iterations: found.iterations,
        })
    };
    let _ = options;
    run(0.0, limits)
}

fn interior_frobenius(
    mdp: &Mdp,
    problem: &Problem,
    options: &Options,
    limits: &mut Limits<'_>,
) -> Outcome {
    let support = Support::new(mdp);
    let mut evaluator = Evaluator::new(mdp, &support, problem.zeta);
    let mut descent = vec![0.0; mdp.n_pairs()];
    let mut run = |pull: f64, target: f64| {
        let found = interior::solve(mdp, problem, pull, target, |_| false);
        let policy = feasible(mdp, problem.xi, found.policy);
        evaluator.projection.alpha.copy_from_slice(&found.alpha);
        evaluator.projection.beta.copy_from_slice(&found.beta);
        evaluator.project(&policy, 1e-13, 200);
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
            iterations: found.iterations,
        }
    };
    let _ = (options, limits);
    run(0.0, 1e-14)
}

/// Dual and State Entropy, component by component.
fn entropies(
    mdp: &Mdp,
    problem: &Problem,
    options: &Options,
    warm: Option<&Solution>,
    limits: &mut Limits<'_>,
) -> Result<Solved> {
    let conic = options.solver == SolverChoice::Conic;
    let name = if conic { "conic" } else { "newton" };
    let mut run = |mdp: &Mdp, start: Option<&[f64]>| -> Result<Outcome> {
        if !conic {
            return Ok(potentials::solve(mdp, problem, limits, start));
        }
        let (omega, v, iterations) =
            conic::entropy(mdp, problem, CONIC_TOLERANCE, limits.seconds_left())?;
        let policy = feasible(
            mdp,
            problem.xi,
            Policy::cleaned(mdp, omega).probabilities().to_vec(),
        );
        let policy = Policy::cleaned(mdp, policy);
        Ok(Outcome {
            objective: entropy::value(mdp, problem.formulation, &policy).0,
            bound: entropy::bound(mdp, problem.formulation, problem.xi, &v),
            policy: policy.probabilities().to_vec(),
            dual: v,
            iterations,
        })
    };
    let Some(parts) = components(mdp, problem.xi) else {
        let outcome = run(mdp, warm.map(|w| w.dual.as_slice()))?;
        return Ok((outcome, name, Vec::new()));
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
        let found = run(&part.mdp, None)?;
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

/// Among the optimal policies of a linear program, the one nearest to uniform.
///
/// Adding $\frac{w}{2}\|\pi - u\|^2$ to a linear program returns, for every weight $w$ below
/// some threshold, exactly the optimal point nearest to $u$ (Mangasarian and Meyer 1979). The
/// threshold is not known, but whether a weight was small enough is: its answer must itself be
/// optimal for the linear program, which the certificate of `plain` decides. So weights
/// fall until it is.
fn nearest_to_uniform(
    plain: Outcome,
    limits: &mut Limits<'_>,
    mut solve: impl FnMut(f64, &mut Limits<'_>) -> Result<Outcome>,
) -> Result<Outcome> {
    let tolerance = (plain.objective - plain.bound).abs() + 1e-9 * (1.0 + plain.objective.abs());
    let mut weight = 1.0;
    let mut iterations = plain.iterations;
    for _ in 0..8 {
        let mut tried = solve(weight, limits)?;
        iterations += tried.iterations;
        if tried.objective <= plain.objective + tolerance {
            // the dual point of the weighted problem proves less than the plain one
            tried.bound = tried.bound.max(plain.bound);
            tried.dual = plain.dual;
            tried.iterations = iterations;
            return Ok(tried);
        }
        weight *= 0.1;
    }
    Ok(plain)
}
