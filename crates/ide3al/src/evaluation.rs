//! A solved problem, judged: the certificate, the long run, the bounds, the share of the truth.

pub mod episode;
pub mod reach;

use serde::Serialize;

use crate::chain::bounds::{self, Distances, PaperClaims};
use crate::chain::{Analysis, AnalyzeOptions, analyze};
use crate::error::Result;
use crate::formulation::support::Support;
use crate::formulation::{Formulation, Problem, column_sum};
use crate::model::{Mdp, Policy};
use crate::solve::birkhoff::distance::Evaluator;
use crate::solve::{self, Certificate, Observer, Options, Solution, Status, TieBreak};

/// Most stored transitions of a chain whose infinity distance is computed.
const INFINITY_LIMIT: usize = 20_000;
/// Most states of a chain whose infinity and Frobenius distances are computed.
const DISTANCE_STATES: usize = 2_000;
/// Most transitions of a model that is solved a second time for the share without being asked.
const SHARE_LIMIT: usize = 500_000;

/// Whether to solve State Entropy as well, to say how far from the truth a policy is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compare {
    /// Unless the model is very large.
    #[default]
    Auto,
    /// Always.
    Always,
    /// Never.
    Never,
}

/// Lower bounds on the entropy of the steady state, in nats.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bounds {
    /// What the paper's theorems claim; these can be wrong (see `docs/explanation/erratum.md`).
    pub paper: PaperClaims,
    /// The paper's theorem with the condition number it lacks: never above the entropy.
    pub corrected: f64,
    /// The best that is proven: never above the entropy.
    pub certified: f64,
    /// Why `certified` is zero, where it is for want of a proof.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub certified_reason: Option<&'static str>,
    /// How far the steady state moves per unit of residual (the condition number $\tau$).
    pub condition: Option<f64>,
    /// Distances of the chain from the doubly stochastic matrices, behind the claims.
    pub distances: Distances,
}

/// Everything `ide3al solve` reports. Serialises with these names as keys, those of
/// [`Analysis`] beside them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SolveReport {
    /// Name of the formulation.
    pub formulation: &'static str,
    /// Least probability of every action.
    pub xi: f64,
    /// Largest entry of the target; `None` where the formulation has no target.
    pub zeta: Option<f64>,
    /// Name of the solver that ran.
    pub solver: &'static str,
    /// How the solve ended.
    pub status: &'static str,
    /// Value of the policy.
    pub objective: f64,
    /// What a feasible dual point proves of the optimum.
    pub bound: f64,
    /// `|objective - bound|`.
    pub gap: f64,
    /// Iterations of the solver.
    pub iterations: usize,
    /// Wall-clock seconds of the solve.
    pub seconds: f64,
    /// What became of the limits.
    pub limits: Vec<solve::LimitReport>,
    /// One row per state, one probability per action of that state.
    pub policy: Vec<Vec<f64>>,
    /// Lower bounds on the entropy of the steady state.
    pub bounds: Bounds,
    /// Largest steady-state entropy of any policy with the same `xi`, in nats.
    pub optimal_entropy: Option<f64>,
    /// Entropy of this policy's steady state as a share of `optimal_entropy`.
    pub optimal_entropy_share: Option<f64>,
    /// With a horizon: the largest entropy that any policy, time-dependent ones included, reaches
    /// within it, in nats.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub horizon_optimal_entropy: Option<f64>,
    /// Entropy of this policy within the horizon as a share of `horizon_optimal_entropy`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub horizon_optimal_entropy_share: Option<f64>,
    /// What the user should know.
    pub notes: Vec<String>,
    /// The long run under the policy.
    #[serde(flatten)]
    pub analysis: Analysis,
}

/// Distances of $M(\pi)$ from the doubly stochastic matrices ($\zeta = 1$). The Frobenius and
/// infinity ones are left out on large chains.
pub fn distances(mdp: &Mdp, policy: &Policy) -> Distances {
    let n = mdp.n_states();
    let small = n <= DISTANCE_STATES;
    let frobenius = small.then(|| {
        let support = Support::new(mdp);
        let mut evaluator = Evaluator::new(mdp, &support, 1.0);
        evaluator.project(policy.probabilities(), 1e-12, 500).sqrt()
    });
    let kernel = mdp.mix(policy.probabilities());
    let entries = if kernel.has_spread() {
        n * n
    } else {
        kernel.nnz()
    };
    let infinity = if small && entries <= INFINITY_LIMIT {
        // the chain as a model of one action: the best target is all there is to find
        let start = vec![1.0 / n as f64; n];
        let single = Mdp::from_parts((0..=n).collect(), vec![0; n], kernel, start);
        let options = Options {
            tie_break: TieBreak::None,
            ..Options::default()
        };
        let problem = Problem::new(Formulation::Infinity);
        // a claim that is not computed is left out; it must not cost the user the policy
        solve::solve(&single, &problem, &options, None, &mut ())
            .ok()
            .map(|solution| solution.certificate.objective)
    } else {
        None
    };
    Distances {
        infinity,
        frobenius,
        column_sum: column_sum::value(mdp, policy.probabilities()),
    }
}

/// The paper's claims and the certified bound for a policy of a model.
pub fn entropy_bounds(mdp: &Mdp, policy: &Policy) -> Bounds {
    let distances = distances(mdp, policy);
    let certified = bounds::certified(&mdp.chain(policy));
    Bounds {
        paper: bounds::paper_claims(mdp.n_states(), &distances),
        corrected: certified.theorem,
        certified: certified.entropy,
        certified_reason: certified.reason,
        condition: certified.condition,
        distances,
    }
}

/// Judges a solution: analyses its chain, bounds its entropy, compares it with the State
/// Entropy optimum for the same `xi` (one more solve).
pub fn report(
    mdp: &Mdp,
    problem: &Problem,
    solution: &Solution,
    analyze_options: &AnalyzeOptions,
    compare: Compare,
    observer: &mut dyn Observer,
) -> Result<SolveReport> {
    let certificate = &solution.certificate;
    let mut notes = solution.notes.clone();
    let restarted = with_restarts(mdp, solution.restart, &mut notes);
    let mdp = restarted.as_ref().unwrap_or(mdp);
    let analysis = analyze(mdp, &solution.policy, analyze_options)?;
    let bounds = entropy_bounds(mdp, &solution.policy);
    let optimal_entropy = optimum(mdp, problem, solution, compare, observer, &mut notes)?;
    if analysis.recurrent_classes > 1 {
        notes.push(format!(
            "under this policy the chain has {} recurrent classes: the steady state is the long-run \
             average from the start distribution{}",
            analysis.recurrent_classes,
            if problem.xi > 0.0 {
                ""
            } else {
                "; a small xi > 0 may connect them"
            }
        ));
    }
    if !analysis.stationary_converged {
        notes.push(format!(
            "the long-run distribution did not converge: residual {:.1e}",
            analysis.residual
        ));
    }
    if let Some(reason) = bounds.certified_reason {
        notes.push(format!("the certified entropy bound is trivial: {reason}"));
    }
    notes.extend(explained(certificate));
    let horizon_optimal_entropy = match (analyze_options.horizon, compare) {
        (None, _) | (_, Compare::Never) => None,
        _ if certificate.status == Status::Interrupted => None,
        (Some(steps), _) => {
            let asked = compare == Compare::Always;
            episode::optimum(mdp, steps, problem.xi, asked, observer, &mut notes)?
        }
    };
    let share = |entropy: f64, optimum: f64| {
        if optimum > 0.0 {
            entropy / optimum
        } else {
            1.0
        }
    };
    Ok(SolveReport {
        formulation: problem.formulation.name(),
        xi: problem.xi,
        zeta: problem.formulation.takes_zeta().then_some(problem.zeta),
        solver: solution.solver,
        status: certificate.status.name(),
        objective: certificate.objective,
        bound: certificate.bound,
        gap: certificate.gap,
        iterations: certificate.iterations,
        seconds: certificate.seconds,
        limits: solution.limits.clone(),
        policy: solution.policy.rows(mdp),
        bounds,
        optimal_entropy,
        optimal_entropy_share: optimal_entropy.map(|most| share(analysis.entropy, most)),
        horizon_optimal_entropy,
        horizon_optimal_entropy_share: horizon_optimal_entropy
            .zip(analysis.horizon_entropy)
            .map(|(most, entropy)| share(entropy, most)),
        notes,
        analysis,
    })
}

/// The model with the restarts that a policy was planned for, where there are any: the long run to
/// be judged is that one's. Beyond what can be held the plain one is judged, and the notes say so.
fn with_restarts(mdp: &Mdp, restart: f64, notes: &mut Vec<String>) -> Option<Mdp> {
    if restart == 0.0 {
        return None;
    }
    match mdp.with_restart(restart) {
        Ok(restarted) => Some(restarted),
        Err(problem) => {
            notes.push(format!(
                "the steady state and what follows from it are those without restarts: {problem}"
            ));
            None
        }
    }
}

/// Why an answer is not to the tolerance asked for, where it is not and the solution's own notes do
/// not say it.
fn explained(certificate: &Certificate) -> Option<String> {
    let reason = match certificate.status {
        Status::Optimal | Status::Stalled | Status::LocalOptimum => return None,
        Status::IterationLimit => "the iteration limit was reached",
        Status::TimeLimit => "the time limit was reached",
        Status::Interrupted => "the solve was interrupted",
    };
    Some(format!(
        "{reason}: the policy is valid and within {:.1e} of the optimum, but not to the tolerance \
         asked for",
        certificate.gap
    ))
}

/// The State Entropy optimum for the same `xi`, in nats.
fn optimum(
    mdp: &Mdp,
    problem: &Problem,
    solution: &Solution,
    compare: Compare,
    observer: &mut dyn Observer,
    notes: &mut Vec<String>,
) -> Result<Option<f64>> {
    if problem.formulation == Formulation::StateEntropy && solution.limits.is_empty() {
        return Ok(Some(solution.certificate.objective));
    }
    let wanted = match compare {
        Compare::Always => true,
        Compare::Never => false,
        Compare::Auto => {
            let small = mdp.kernel().nnz() <= SHARE_LIMIT;
            if !small {
                notes.push(
                    "the share of the optimal entropy needs a second solve and was left out on this \
                     large model; ask for it (parameter 'compare' = always)"
                        .into(),
                );
            }
            small
        }
    };
    if !wanted || solution.certificate.status == Status::Interrupted {
        return Ok(None);
    }
    let best = Problem {
        formulation: Formulation::StateEntropy,
        xi: problem.xi,
        zeta: 1.0,
    };
    let options = Options {
        tie_break: TieBreak::None,
        ..Options::default()
    };
    let found = solve::solve(mdp, &best, &options, None, observer)?;
    if found.certificate.status == Status::Interrupted {
        return Ok(None);
    }
    if found.certificate.gap > 1e-6 {
        notes.push(format!(
            "the optimal entropy is known to {:.1e} nats only; the share counts from its upper bound",
            found.certificate.gap
        ));
        return Ok(Some(found.certificate.bound));
    }
    Ok(Some(found.certificate.objective))
}
