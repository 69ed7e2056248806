//! One random case: solve it by both solvers and try to prove the certificate wrong.

use ide3al::formulation::{Formulation, Problem};
use ide3al::model::Mdp;
use ide3al::solve::{Options, Solution, SolverChoice, Status, TieBreak, solve};
use std::time::{Duration, Instant};

use super::arbitrary::{self, Source};
use super::definition;

/// Room for rounding in values of order one.
pub(crate) const ROUNDING: f64 = 2e-7;

/// What became of one case.
#[derive(Debug, Clone)]
pub(crate) struct Verdict {
    pub(crate) formulation: Formulation,
    pub(crate) family: usize,
    pub(crate) states: usize,
    pub(crate) status: Status,
    /// Certified gap.
    pub(crate) gap: f64,
    /// By how much the policy's value by definition is worse than claimed.
    pub(crate) overclaimed: f64,
    /// By how much the bound lies beyond a value that some policy reaches.
    pub(crate) broken: f64,
    /// Whether the conic solver reached a gap of 1e-6 as well.
    pub(crate) conic: bool,
    /// Whether the definition could not be evaluated exactly.
    pub(crate) undecided: bool,
    pub(crate) seconds: f64,
    /// What is wrong, if anything.
    pub(crate) failures: Vec<String>,
}

/// Solves a problem by the structured solver and checks it. `conic` also asks the reference.
pub(crate) fn judge(
    source: &mut dyn Source,
    mdp: &Mdp,
    family: usize,
    problem: &Problem,
    conic: bool,
) -> Verdict {
    let tie_break = if source.chance(0.1) {
        TieBreak::Uniform
    } else {
        TieBreak::None
    };
    let options = |solver| Options {
        solver,
        tie_break,
        time_limit: Some(Duration::from_secs(5)),
        ..Options::default()
    };
    let mut verdict = Verdict {
        formulation: problem.formulation,
        family,
        states: mdp.n_states(),
        status: Status::Stalled,
        gap: f64::INFINITY,
        overclaimed: 0.0,
        broken: 0.0,
        conic: false,
        undecided: false,
        seconds: 0.0,
        failures: Vec::new(),
    };
    let begun = Instant::now();
    let solution = match solve(mdp, problem, &options(SolverChoice::Auto), None, &mut ()) {
        Ok(solution) => solution,
        Err(error) => {
            verdict.failures.push(format!("refused: {error}"));
            return verdict;
        }
    };
    verdict.seconds = begun.elapsed().as_secs_f64();
    let certificate = &solution.certificate;
    verdict.status = certificate.status;
    verdict.gap = certificate.gap;
    match certificate.status {
        Status::Optimal if certificate.gap <= 5e-8 => {}
        Status::Optimal => verdict.failures.push("optimal with a large gap".into()),
        // a distance is a root: squares of 1e-15, all that doubles hold, show as 3e-8
        Status::Stalled
            if problem.formulation == Formulation::Frobenius && certificate.gap <= 2e-7 => {}
        // how long it takes depends on the machine; counted, not failed
        Status::TimeLimit => {}
        // beyond what doubles can tell apart: admitted where the status says so
        Status::Stalled | Status::IterationLimit
            if arbitrary::is_extreme(family) || (problem.xi > 0.0 && problem.xi < 1e-9) => {}
        other => verdict.failures.push(format!(
            "ended as {} at gap {:e}",
            other.name(),
            certificate.gap
        )),
    }
    let p = definition::dense(mdp);
    // the smaller the better, for all
    let sign = if problem.formulation.maximises() {
        -1.0
    } else {
        1.0
    };
    if !(certificate.objective.is_finite() && certificate.bound.is_finite()) {
        verdict.failures.push(format!(
            "objective {}, bound {}",
            certificate.objective, certificate.bound
        ));
        return verdict;
    }
    let own = checked_value(mdp, &p, problem, &solution, &mut verdict);
    let Some(own) = own else { return verdict };
    verdict.undecided = !own.1.is_finite() || !own.0.is_finite();
    // for a minimum `own` is (least, most); a value above the claim is a lie
    let proven = if sign > 0.0 { own.0 } else { -own.1 };
    verdict.overclaimed = proven - sign * certificate.objective;
    if verdict.overclaimed > ROUNDING {
        verdict.failures.push(format!(
            "the policy's value is {own:?}, claimed {}",
            certificate.objective
        ));
    }
    // any value some policy reaches lies on the other side of the bound
    let mut reached = vec![("its own policy", own)];
    let uniform: Vec<f64> = (0..mdp.n_states())
        .flat_map(|s| {
            let n = mdp.n_actions(s);
            std::iter::repeat_n(1.0 / n as f64, n)
        })
        .collect();
    let mut others = vec![("the uniform policy", uniform)];
    for _ in 0..3 {
        others.push((
            "a random policy",
            arbitrary::policy(source, mdp, problem.xi),
        ));
    }
    for (name, policy) in others {
        if problem.formulation == Formulation::Infinity {
            // one question instead of a search
            let m = definition::induced(mdp, &p, &policy);
            if definition::infinity_reaches(&m, problem.zeta, certificate.bound - ROUNDING) {
                let text = format!("{name} is better than the bound {}", certificate.bound);
                verdict.failures.push(text);
            }
            continue;
        }
        let value = definition::value(mdp, &p, problem, &policy, &[], 60);
        reached.push((name, value));
    }
    if conic && let Ok(other) = solve(mdp, problem, &options(SolverChoice::Conic), None, &mut ()) {
        let mut scratch = verdict.clone();
        if let Some(value) = checked_value(mdp, &p, problem, &other, &mut scratch) {
            verdict.conic = other.certificate.gap <= 1e-6;
            reached.push(("the conic policy", value));
            // the conic bound, too, must hold against our policy
            let most = if sign > 0.0 { own.1 } else { -own.0 };
            let excess = sign * other.certificate.bound - most;
            if excess > 1e-6 {
                verdict.failures.push(format!(
                    "the conic bound {} is beyond our policy's value {own:?}",
                    other.certificate.bound
                ));
            }
        }
    }
    for (name, value) in reached {
        let most = if sign > 0.0 { value.1 } else { -value.0 };
        let excess = sign * certificate.bound - most;
        if excess.is_finite() {
            verdict.broken = verdict.broken.max(excess);
        }
        if excess > ROUNDING {
            verdict.failures.push(format!(
                "the bound {} is beyond {name}'s value {value:?}",
                certificate.bound
            ));
        }
    }
    verdict
}

/// Checks that the policy is one, and evaluates it.
fn checked_value(
    mdp: &Mdp,
    p: &[Vec<f64>],
    problem: &Problem,
    solution: &Solution,
    verdict: &mut Verdict,
) -> Option<(f64, f64)> {
    let policy = solution.policy.probabilities();
    for s in 0..mdp.n_states() {
        let row = &policy[mdp.pairs(s)];
        let sum: f64 = row.iter().sum();
        let least = row.iter().fold(f64::INFINITY, |m, p| m.min(*p));
        // NaN fails both
        if !((sum - 1.0).abs() < 1e-12 && least >= problem.xi - 1e-12) {
            let text = format!("state {s}: {row:?} is no policy with xi {}", problem.xi);
            verdict.failures.push(text);
            return None;
        }
    }
    let hint = if problem.formulation == Formulation::Frobenius {
        solution.dual.as_slice()
    } else {
        &[]
    };
    Some(definition::value(mdp, p, problem, policy, hint, 3000))
}
