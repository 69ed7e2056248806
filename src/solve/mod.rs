//! Find it: solvers for all formulations, each with a certificate.
//!
//! `driver` is the one loop. `distance` and `occupancy` choose the method for each problem and certify its answers: the
//! interior-point method (`methods`) on small programs (`programs`), or what `large` holds for models beyond it. `reference` is
//! Clarabel, and [`value`] tells what a policy is worth where that takes a projection or a flow.

mod distance;
mod driver;
pub mod episode;
mod large;
mod methods;
mod occupancy;
mod options;
mod own;
mod programs;
mod reference;
pub mod value;

use std::ops::ControlFlow;

use crate::error::{Error, Result};
use crate::formulation::entropy::Target;
use crate::formulation::visits::Visits;
use crate::formulation::{Formulation, Problem, simplex};
use crate::model::{Mdp, Policy};
use distance::Task;
use driver::{Candidate, Driver, Kind};
pub use options::{Options, SolverChoice, TieBreak};
pub use own::solve_utility;

/// How a solve ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// The certified gap is within the tolerance.
    Optimal,
    /// An iteration limit was reached first.
    IterationLimit,
    /// The time limit was reached first.
    TimeLimit,
    /// The observer (Ctrl-C) said stop.
    Interrupted,
    /// No further progress in floating point; the gap says how good the answer is.
    Stalled,
}

impl Status {
    /// Name in JSON and tables.
    pub fn name(self) -> &'static str {
        match self {
            Status::Optimal => "optimal",
            Status::IterationLimit => "iteration_limit",
            Status::TimeLimit => "time_limit",
            Status::Interrupted => "interrupted",
            Status::Stalled => "stalled",
        }
    }
}

/// Proof of how good an answer is: for a minimisation `bound <= optimum <= objective`, for a
/// maximisation the reverse. Both sides are computed from the model, never copied from a
/// solver's report.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certificate {
    /// Value of the returned policy; where a solve was stopped before it had one, a value that no policy exceeds.
    pub objective: f64,
    /// Value of a feasible dual point.
    pub bound: f64,
    /// `|objective - bound|`.
    pub gap: f64,
    /// Whether and why the solve stopped.
    pub status: Status,
    /// Iterations of the solver.
    pub iterations: usize,
    /// Wall-clock seconds.
    pub seconds: f64,
}

/// The answer: a policy, its proof, and what a later solve of a similar model can start from.
#[derive(Debug, Clone)]
pub struct Solution {
    /// What was solved.
    pub formulation: Formulation,
    /// The policy found.
    pub policy: Policy,
    /// How good it is.
    pub certificate: Certificate,
    /// The dual point behind the bound: prices of the columns for Column Sum, of rows and columns for Infinity, multipliers of the sums of
    /// $U$ for Frobenius, potentials $V$ for functions of what is visited. Pass the whole solution back as a warm start.
    pub dual: Vec<f64>,
    /// Name of the solver that ran.
    pub solver: &'static str,
    /// Probability of starting over that the policy was planned for, at every step.
    pub restart: f64,
    /// What became of the limits, in their order.
    pub limits: Vec<LimitReport>,
    /// What the user should know (several classes, a tie-break that was skipped, ...).
    pub notes: Vec<String>,
}

impl Solution {
    /// A warm start made from parts that were kept of an earlier solution.
    pub fn start(formulation: Formulation, policy: Policy, dual: Vec<f64>) -> Self {
        Solution {
            formulation,
            policy,
            certificate: Certificate {
                objective: f64::NAN,
                bound: f64::NAN,
                gap: f64::INFINITY,
                status: Status::Interrupted,
                iterations: 0,
                seconds: 0.0,
            },
            dual,
            solver: "none",
            restart: 0.0,
            limits: Vec::new(),
            notes: Vec::new(),
        }
    }
}

/// What became of a [limit](crate::formulation::visits::Limit).
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct LimitReport {
    /// The long-run average cost under the policy.
    pub value: f64,
    /// What it may be.
    pub budget: f64,
    /// By how much the optimum improves per unit of budget; zero where the limit is slack.
    pub price: f64,
}

/// A sign of life from a running solve.
#[derive(Debug, Clone, Copy)]
pub struct Progress {
    /// Iterations so far.
    pub iteration: usize,
    /// Best objective so far.
    pub objective: f64,
    /// Best gap so far.
    pub gap: f64,
}

/// Watches a solve and may stop it.
pub trait Observer {
    /// Called now and then; `Break` ends the solve with [`Status::Interrupted`].
    fn on(&mut self, progress: &Progress) -> ControlFlow<()>;
}

/// Observes nothing.
impl Observer for () {
    fn on(&mut self, _: &Progress) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

/// Solves a problem on a model, optionally warm-started from an earlier solution of a
/// similar model with the same pairs.
pub fn solve(
    mdp: &Mdp,
    problem: &Problem,
    options: &Options,
    warm: Option<&Solution>,
    observer: &mut dyn Observer,
) -> Result<Solution> {
    solve_towards(mdp, problem, &Target::default(), options, warm, observer)
}

/// [`solve`] for Dual and State Entropy with a [`Target`]: weights of states, and of the entropy of actions. The plain
/// target will do for any formulation.
pub fn solve_towards(
    mdp: &Mdp,
    problem: &Problem,
    target: &Target,
    options: &Options,
    warm: Option<&Solution>,
    observer: &mut dyn Observer,
) -> Result<Solution> {
    check_target(mdp, problem, target)?;
    if Formulation::VISITS.contains(&problem.formulation) {
        let visits = Visits::default();
        return solve_visits(mdp, problem, &visits, options, warm, observer);
    }
    let uniform = Policy::uniform(mdp);
    let wanted = (target, uniform.probabilities());
    find(mdp, problem, wanted, options, warm, observer)
}

/// The optimal policy of one of the three distances that is nearest to `centre`, a number for each pair, which need
/// not be a policy: towards a point far away lies an extreme point of the optimal policies.
pub(crate) fn solve_nearest(
    mdp: &Mdp,
    problem: &Problem,
    centre: &[f64],
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Solution> {
    let wanted = (&Target::default(), centre);
    find(mdp, problem, wanted, options, None, observer)
}

/// Solves towards a target and, where there are several optimal policies, for the one nearest to a point.
fn find(
    mdp: &Mdp,
    problem: &Problem,
    (target, centre): (&Target, &[f64]),
    options: &Options,
    warm: Option<&Solution>,
    observer: &mut dyn Observer,
) -> Result<Solution> {
    check_named(problem)?;
    problem.validate(mdp)?;
    options.validate()?;
    check_warm(mdp, problem, warm)?;
    let kind = kind(problem);
    let first = known(mdp, problem, target, warm);
    let mut driver = Driver::new(kind, options, first, observer);
    let task = Task {
        mdp,
        problem,
        options,
        centre,
        warm,
    };
    let notes = match problem.formulation {
        Formulation::ColumnSum => distance::column_sum::solve(&task, &mut driver)?,
        Formulation::Infinity => distance::infinity::solve(&task, &mut driver)?,
        Formulation::Frobenius => distance::frobenius::solve(&task, &mut driver)?,
        _ => occupancy::solve(mdp, problem, target, options, warm, &mut driver)?,
    };
    Ok(solution(mdp, problem, &mut driver, notes, Vec::new()))
}

/// [`solve`] with [what is to be visited](crate::formulation::visits): a target, wanted samples, restarts, limits. For
/// [relative](Formulation::is_relative) formulations the tolerance counts as a share of the objective. A warm start is of use
/// for plain visits only.
pub fn solve_visits(
    mdp: &Mdp,
    problem: &Problem,
    visits: &Visits,
    options: &Options,
    warm: Option<&Solution>,
    observer: &mut dyn Observer,
) -> Result<Solution> {
    visits.validate(mdp, problem.formulation)?;
    check_named(problem)?;
    if visits.is_plain() && !Formulation::VISITS.contains(&problem.formulation) {
        return solve(mdp, problem, options, warm, observer);
    }
    problem.validate(mdp)?;
    options.validate()?;
    check_warm(mdp, problem, warm)?;
    let first = unknown(mdp, problem);
    let mut options = options.clone();
    if problem.formulation.is_relative() {
        options.relative_tolerance = options.relative_tolerance.max(options.tolerance);
    }
    let mut driver = Driver::new(kind(problem), &options, first, observer);
    if problem.formulation.is_relative() {
        driver.absolute = 0.0;
    }
    let told = occupancy::visits(mdp, problem, visits, &options, &mut driver)?;
    let mut solved = solution(mdp, problem, &mut driver, told.notes, told.limits);
    solved.restart = visits.restart;
    Ok(solved)
}

fn kind(problem: &Problem) -> Kind {
    Kind {
        maximises: problem.formulation.maximises(),
        dual_follows_policy: !matches!(
            problem.formulation,
            Formulation::ColumnSum | Formulation::Infinity
        ),
    }
}

/// What a driver ended with, as the user sees it.
fn solution(
    mdp: &Mdp,
    problem: &Problem,
    driver: &mut Driver<'_>,
    mut notes: Vec<String>,
    limits: Vec<LimitReport>,
) -> Solution {
    let best = driver.best().clone();
    let gap = (best.objective - best.bound).abs();
    if !driver.done() {
        // the conic solver keeps a clock of its own, and may have ended because of it
        driver.alive();
    }
    let status = driver.status();
    if status == Status::Stalled {
        notes.push(format!(
            "no further progress in floating point at gap {gap:.1e}: the policy is as good as the gap \
             says; very small probabilities or a model that hardly hangs together are the usual cause"
        ));
    }
    Solution {
        formulation: problem.formulation,
        policy: Policy::cleaned_within(mdp, problem.xi, best.policy),
        certificate: Certificate {
            objective: best.objective,
            bound: best.bound,
            gap,
            status,
            iterations: driver.iterations(),
            seconds: driver.seconds(),
        },
        dual: best.dual,
        solver: driver.solver(),
        restart: 0.0,
        limits,
        notes,
    }
}

/// Nothing is known before any step but a policy.
fn unknown(mdp: &Mdp, problem: &Problem) -> Candidate {
    let worst = if problem.formulation.maximises() {
        f64::NEG_INFINITY
    } else {
        f64::INFINITY
    };
    Candidate {
        policy: Policy::uniform(mdp).probabilities().to_vec(),
        objective: worst,
        bound: -worst,
        dual: Vec::new(),
    }
}

/// What is known before any step: a policy, and values that no policy exceeds on either side.
fn known(mdp: &Mdp, problem: &Problem, target: &Target, warm: Option<&Solution>) -> Candidate {
    let states = mdp.n_states() as f64;
    let (objective, bound) = match problem.formulation {
        Formulation::Infinity => (2.0, 0.0),
        // all mass in one column; entries of two rows that have nothing in common
        Formulation::ColumnSum => (2.0 * states, 0.0),
        Formulation::Frobenius => ((2.0 * states).sqrt(), 0.0),
        // a policy that ends in the state that weighs least
        _ => {
            let least = (0..mdp.n_states()).map(|s| target.log_weight(s));
            let least = least.fold(0.0, f64::min);
            (least, target.most(mdp, problem.formulation))
        }
    };
    let start = warm.map_or_else(|| Policy::uniform(mdp), |w| w.policy.clone());
    Candidate {
        policy: simplex::feasible(mdp, problem.xi, start.probabilities().to_vec()),
        objective,
        bound,
        dual: Vec::new(),
    }
}

/// A function of the user's own must be given.
fn check_named(problem: &Problem) -> Result<()> {
    if problem.formulation == Formulation::Own {
        return Err(Error::Unsupported(
            "a utility of one's own is solved by solve_utility, which takes the function".into(),
        ));
    }
    Ok(())
}

fn check_target(mdp: &Mdp, problem: &Problem, target: &Target) -> Result<()> {
    if target.is_plain() {
        return Ok(());
    }
    let log_weights = &target.log_weights;
    let bad = |value: String, problem: String| {
        Err(Error::Parameter {
            name: "weights of states".into(),
            value,
            problem,
        })
    };
    if !problem.formulation.is_entropy() {
        let name = problem.formulation.name();
        return bad(name.into(), "only dual and state-entropy take them".into());
    }
    if !(0.0..=1.0).contains(&target.actions) {
        return bad(
            target.actions.to_string(),
            "that of actions lies between 0 and 1".into(),
        );
    }
    if !log_weights.is_empty() && log_weights.len() != mdp.n_states() {
        return bad(
            log_weights.len().to_string(),
            format!("{}, one per state, are needed", mdp.n_states()),
        );
    }
    match log_weights.iter().find(|w| !w.is_finite()) {
        Some(weight) => bad(weight.to_string(), "must be positive and finite".into()),
        None => Ok(()),
    }
}

/// A warm start must be a solution of the same formulation on a model with the same pairs.
fn check_warm(mdp: &Mdp, problem: &Problem, warm: Option<&Solution>) -> Result<()> {
    let Some(warm) = warm else { return Ok(()) };
    let bad = |value: String, problem: String| {
        Err(Error::Parameter {
            name: "warm start".into(),
            value,
            problem,
        })
    };
    if warm.formulation != problem.formulation {
        return bad(
            warm.formulation.name().into(),
            format!(
                "solves another formulation than {}",
                problem.formulation.name()
            ),
        );
    }
    let pairs = warm.policy.probabilities().len();
    if pairs != mdp.n_pairs() {
        return bad(
            format!("{pairs} state-action pairs"),
            format!("the model has {}", mdp.n_pairs()),
        );
    }
    if Policy::new(mdp, warm.policy.probabilities().to_vec()).is_err() {
        return bad(
            "policy".into(),
            "its probabilities do not add up to one in every state: it belongs to a model with other pairs".into(),
        );
    }
    Ok(())
}
