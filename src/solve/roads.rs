//! Which solver runs, and how its answer becomes a certified outcome.

use super::{Limits, Options, Outcome, Solution, SolverChoice, TieBreak, conic, gradient};
use crate::error::Result;
use crate::formulation::frobenius::Evaluator;
use crate::formulation::support::Support;
use crate::formulation::{Formulation, Problem, column_sum, infinity, simplex};
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
    let notes = Vec::new();
    let conic = options.solver == SolverChoice::Conic;
    let outcome = match problem.formulation {
        Formulation::ColumnSum => conic_column_sum(mdp, problem, options, limits)?,
        Formulation::Infinity => conic_infinity(mdp, problem, options, limits)?,
        Formulation::Frobenius if conic => conic_frobenius(mdp, problem, options, limits)?,
        Formulation::Frobenius => {
            let uniform = Policy::uniform(mdp);
            let start = warm.map_or(&uniform, |w| &w.policy);
            gradient::solve(mdp, problem, limits, start, warm.map(|w| w.dual.as_slice()))
        }
        _ => todo!(),
    };
    Ok((outcome, if conic { "conic" } else { "structured" }, notes))
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
