//! Find it: solvers for all formulations, each with a certificate.
//!
//! `driver` is the one loop. `distance` and `occupancy` choose the method for each problem and
//! certify its answers, with engines of `ide3al-numerics` on linear systems that know the model
//! (`kkt`); `cost` holds the sizes up to which each is used. `reference` is Clarabel, and
//! [`birkhoff`] tells what a policy is worth where that takes a projection or a flow. No module
//! imports one further down, and those of one line do not know each other:
//!
//! ```text
//! cost, options
//! driver
//! birkhoff, kkt
//! reference
//! distance, occupancy, episode, reach
//! ```

pub mod birkhoff;
mod cost;
mod distance;
mod driver;
pub mod episode;
mod kkt;
mod occupancy;
mod options;
pub mod reach;
mod reference;

use std::ops::ControlFlow;

use crate::error::{Error, Result};
use crate::formulation::entropy::EntropyWeights;
use crate::formulation::occupancy_spec::OccupancySpec;
use crate::formulation::utility::Utility;
use crate::formulation::{Formulation, Problem, parameter, simplex};
use crate::model::{Mdp, Policy};
use distance::task::Task;
use driver::{Candidate, Comparison, Driver};
use occupancy::Report;
pub use options::{Options, SolverChoice, TieBreak};

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
    /// No better policy near this one was found of a problem that is not concave; the gap says by
    /// how much another one could be better at most.
    LocalOptimum,
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
            Status::LocalOptimum => "local_optimum",
            Status::Stalled => "stalled",
        }
    }
}

/// Proof of how good an answer is: for a minimisation `bound <= optimum <= objective`, for a
/// maximisation the reverse. Both sides are computed from the model, never copied from a
/// solver's report.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certificate {
    /// Value of the returned policy; where a solve was stopped before it had one, a value that no
    /// policy exceeds.
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
    /// The dual point behind the bound: prices of the columns for Column Sum, of rows and columns
    /// for Infinity, multipliers of the sums of $U$ for Frobenius, potentials $V$ for functions of
    /// what is visited. Pass the whole solution back as a warm start.
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

/// What became of a [limit](crate::formulation::occupancy_spec::Limit).
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
    solve_towards(
        mdp,
        problem,
        &EntropyWeights::default(),
        options,
        warm,
        observer,
    )
}

/// [`solve`] for Dual and State Entropy with [`EntropyWeights`]: of states, and of the entropy of
/// actions. The default will do for any formulation.
pub fn solve_towards(
    mdp: &Mdp,
    problem: &Problem,
    target: &EntropyWeights,
    options: &Options,
    warm: Option<&Solution>,
    observer: &mut dyn Observer,
) -> Result<Solution> {
    target.validate(mdp, problem.formulation)?;
    if Formulation::VISITS.contains(&problem.formulation) {
        let visits = OccupancySpec::default();
        return solve_visits(mdp, problem, &visits, options, warm, observer);
    }
    if problem.formulation == Formulation::Reach {
        check(mdp, problem, options, warm)?;
        let asked = crate::formulation::reach::Reach::with_xi(problem.xi);
        return reach::solve(mdp, &asked, options, warm, observer);
    }
    let uniform = Policy::uniform(mdp);
    let wanted = (target, uniform.probabilities());
    find(mdp, problem, wanted, options, warm, observer)
}

/// The optimal policy of one of the three distances that is nearest to `centre`, a number for each
/// pair, which need not be a policy: towards a point far away lies an extreme point of the optimal
/// policies.
pub fn solve_nearest(
    mdp: &Mdp,
    problem: &Problem,
    centre: &[f64],
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Solution> {
    let wanted = (&EntropyWeights::default(), centre);
    find(mdp, problem, wanted, options, None, observer)
}

/// Solves towards a target and, where there are several optimal policies, for the one nearest to a
/// point.
fn find(
    mdp: &Mdp,
    problem: &Problem,
    (target, centre): (&EntropyWeights, &[f64]),
    options: &Options,
    warm: Option<&Solution>,
    observer: &mut dyn Observer,
) -> Result<Solution> {
    check(mdp, problem, options, warm)?;
    let first = known(mdp, problem, target, warm);
    let mut driver = Driver::new(comparison(problem), options, first, observer);
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
    let limits = Vec::new();
    let told = Report { notes, limits };
    Ok(solution(mdp, problem, 0.0, &mut driver, told))
}

/// [`solve`] with [what is to be visited](crate::formulation::occupancy_spec): a target, wanted
/// samples, restarts, limits. For [relative](Formulation::is_relative) formulations the tolerance
/// counts as a share of the objective. A warm start is of use for plain visits only.
pub fn solve_visits(
    mdp: &Mdp,
    problem: &Problem,
    visits: &OccupancySpec,
    options: &Options,
    warm: Option<&Solution>,
    observer: &mut dyn Observer,
) -> Result<Solution> {
    visits.validate(mdp, problem.formulation)?;
    if visits.is_plain() && !Formulation::VISITS.contains(&problem.formulation) {
        return solve(mdp, problem, options, warm, observer);
    }
    check(mdp, problem, options, warm)?;
    visit(mdp, problem, visits.restart, options, observer, |driver| {
        occupancy::visits(mdp, problem, visits, options, driver)
    })
}

/// Maximises a concave [`Utility`] of the user's own over what policies that play every action with
/// probability `xi` can visit, with restarts and limits. The bound is that of the Frank-Wolfe gap:
/// true of every concave function. A function that proves not to be concave is an error, and so is
/// one whose value is not a number.
///
/// ```
/// use ide3al::formulation::utility::Utility;
/// use ide3al::formulation::occupancy_spec::OccupancySpec;
/// use ide3al::solve::{Options, solve_utility};
/// /// Stay near half of the time in each state.
/// struct Half;
/// impl Utility for Half {
///     fn value(&self, omega: &[f64]) -> f64 {
///         -(omega[0] + omega[1] - 0.5).powi(2)
///     }
///     fn gradient(&self, omega: &[f64], out: &mut [f64]) {
///         out.fill(0.0);
///         out[..2].fill(-2.0 * (omega[0] + omega[1] - 0.5));
///     }
/// }
/// let mdp = ide3al::model::Mdp::from_fn(2, 2, |s, a, next| {
///     next.push(((s + a) % 2, 1.0));
///     true
/// })?;
/// let (plain, options) = (OccupancySpec::default(), Options::default());
/// let solution = solve_utility(&mdp, &Half, 0.1, &plain, &options, &mut ())?;
/// assert!(solution.certificate.objective > -1e-7);
/// # Ok::<(), ide3al::Error>(())
/// ```
pub fn solve_utility(
    mdp: &Mdp,
    utility: &dyn Utility,
    xi: f64,
    visits: &OccupancySpec,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Solution> {
    let problem = Problem {
        xi,
        ..Problem::new(Formulation::Own)
    };
    problem.validate(mdp)?;
    options.validate()?;
    visits.validate(mdp, problem.formulation)?;
    visit(mdp, &problem, visits.restart, options, observer, |driver| {
        occupancy::own(mdp, utility, &problem, visits, driver)
    })
}

/// Solves for what is to be visited, of which nothing is known before any step.
fn visit(
    mdp: &Mdp,
    problem: &Problem,
    restart: f64,
    options: &Options,
    observer: &mut dyn Observer,
    solve: impl FnOnce(&mut Driver<'_>) -> Result<Report>,
) -> Result<Solution> {
    let worst = if problem.formulation.maximises() {
        f64::NEG_INFINITY
    } else {
        f64::INFINITY
    };
    let first = Candidate {
        policy: Policy::uniform(mdp).probabilities().to_vec(),
        objective: worst,
        bound: -worst,
        dual: Vec::new(),
    };
    let mut driver = Driver::new(comparison(problem), options, first, observer);
    if problem.formulation.is_relative() {
        driver.relative = driver.relative.max(options.tolerance);
        driver.absolute = 0.0;
    }
    let told = solve(&mut driver)?;
    Ok(solution(mdp, problem, restart, &mut driver, told))
}

fn comparison(problem: &Problem) -> Comparison {
    Comparison {
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
    restart: f64,
    driver: &mut Driver<'_>,
    told: Report,
) -> Solution {
    let best = driver.best().clone();
    let certificate = driver.certificate(best.objective);
    let mut notes = told.notes;
    if certificate.status == Status::Stalled {
        notes.push(format!(
            "no further progress in floating point at gap {:.1e}: the policy is as good as the gap \
             says; very small probabilities or a model that hardly hangs together are the usual cause",
            certificate.gap
        ));
    }
    Solution {
        formulation: problem.formulation,
        policy: Policy::cleaned_within(mdp, problem.xi, best.policy),
        certificate,
        dual: best.dual,
        solver: driver.solver(),
        restart,
        limits: told.limits,
        notes,
    }
}

/// What is known before any step: a policy, and values that no policy exceeds on either side.
fn known(
    mdp: &Mdp,
    problem: &Problem,
    target: &EntropyWeights,
    warm: Option<&Solution>,
) -> Candidate {
    let states = mdp.n_states() as f64;
    let (objective, bound) = match problem.formulation {
        Formulation::Infinity => (2.0, 0.0),
        // all mass in one column; entries of two rows that have nothing in common
        Formulation::ColumnSum => (2.0 * states, 0.0),
        Formulation::Frobenius => ((2.0 * states).sqrt(), 0.0),
        // a policy that ends in the state that weighs least
        _ => {
            let least = target.log_weights.iter().copied().fold(0.0, f64::min);
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

/// Whether all that is asked for makes sense. A warm start must be a solution of the same
/// formulation on a model with the same pairs.
fn check(mdp: &Mdp, problem: &Problem, options: &Options, warm: Option<&Solution>) -> Result<()> {
    if problem.formulation == Formulation::Own {
        return Err(Error::Unsupported(
            "a utility of one's own is solved by solve_utility, which takes the function".into(),
        ));
    }
    problem.validate(mdp)?;
    options.validate()?;
    let Some(warm) = warm else { return Ok(()) };
    let bad = |value: &str, problem: String| Err(parameter("warm start", value, problem));
    let (name, of_warm) = (problem.formulation.name(), warm.formulation.name());
    if of_warm != name {
        return bad(of_warm, format!("solves another formulation than {name}"));
    }
    let given = warm.policy.probabilities();
    if given.len() != mdp.n_pairs() {
        let pairs = format!("{} state-action pairs", given.len());
        return bad(&pairs, format!("the model has {}", mdp.n_pairs()));
    }
    if Policy::new(mdp, given.to_vec()).is_err() {
        let other = "its probabilities do not add up to one in every state: it belongs to a model with other pairs";
        return bad("policy", other.into());
    }
    Ok(())
}
