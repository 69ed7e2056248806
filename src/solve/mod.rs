//! Find it: solvers for the five problems, each with a certificate.

mod balance;
mod barrier;
mod column_sum;
mod conic;
mod elimination;
mod gradient;
mod hessian;
mod infinity;
mod interior;
mod newton;
mod potentials;
mod proximal;
mod roads;
mod saddle;
mod sharing;
mod tie_break;

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::formulation::entropy::Target;
use crate::formulation::{Formulation, Problem};
use crate::model::{Mdp, Policy};

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
    /// Value of the returned policy.
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

/// Which road to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum SolverChoice {
    /// By formulation and size.
    #[default]
    Auto,
    /// The general conic solver Clarabel: the reference.
    Conic,
    /// The solver made for this formulation.
    Structured,
}

/// Which of several optimal policies to return.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum TieBreak {
    /// The optimal policy nearest to uniform (see the documentation of each formulation).
    #[default]
    Uniform,
    /// Whichever the solver ends on.
    None,
}

/// How to solve.
#[derive(Debug, Clone)]
pub struct Options {
    /// Which road.
    pub solver: SolverChoice,
    /// Which of several optimal policies.
    pub tie_break: TieBreak,
    /// Wanted gap, absolute. Gaps below 1e-12 count as none: that is rounding.
    pub tolerance: f64,
    /// Wanted gap as a share of the objective; the solve ends when either is reached.
    pub relative_tolerance: f64,
    /// Most iterations.
    pub max_iterations: usize,
    /// Most wall-clock time.
    pub time_limit: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            solver: SolverChoice::Auto,
            tie_break: TieBreak::Uniform,
            tolerance: 5e-8,
            relative_tolerance: 0.0,
            max_iterations: 1_000_000,
            time_limit: None,
        }
    }
}

/// The answer: a policy, its proof, and what a later solve of a similar model can start from.
#[derive(Debug, Clone)]
pub struct Solution {
    /// The policy found.
    pub policy: Policy,
    /// How good it is.
    pub certificate: Certificate,
    /// The dual point behind the bound; its meaning belongs to the formulation. Pass the
    /// whole solution back as a warm start.
    pub dual: Vec<f64>,
    /// Name of the solver that ran.
    pub solver: &'static str,
    /// What the user should know (several classes, a tie-break that was skipped, ...).
    pub notes: Vec<String>,
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
    problem.validate(mdp)?;
    check_target(mdp, problem, target)?;
    let mut limits = Limits::new(problem, options, observer);
    let (mut outcome, solver, mut notes) =
        roads::solve(mdp, problem, target, options, warm, &mut limits)?;
    outcome.bound = credible(mdp, problem, target, &outcome);
    let status = limits.status(&outcome);
    let gap = (outcome.objective - outcome.bound).abs();
    if status == Status::Stalled {
        notes.push(format!(
            "no further progress in floating point at gap {gap:.1e}: the policy is as good as the gap \
             says; very small probabilities or a model that hardly hangs together are the usual cause"
        ));
    }
    Ok(Solution {
        policy: Policy::cleaned_within(mdp, problem.xi, outcome.policy),
        certificate: Certificate {
            objective: outcome.objective,
            bound: outcome.bound,
            gap,
            status,
            iterations: outcome.iterations,
            seconds: limits.started.elapsed().as_secs_f64(),
        },
        dual: outcome.dual,
        solver,
        notes,
    })
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
    if !problem.formulation.maximises() {
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

/// The bound, or what is known without one where rounding has carried it past the value of
/// the very policy that it is to be compared with (a residual of rounding size has no direction).
fn credible(mdp: &Mdp, problem: &Problem, target: &Target, outcome: &Outcome) -> f64 {
    let Outcome {
        objective, bound, ..
    } = *outcome;
    let slack = 1e-9 * (1.0 + objective.abs());
    let sound = if problem.formulation.maximises() {
        bound >= objective - slack
    } else {
        bound <= objective + slack
    };
    match problem.formulation {
        _ if sound => bound,
        _ if !target.is_plain() => target.most(mdp, problem.formulation).max(objective),
        Formulation::Dual => (mdp.n_pairs() as f64).ln().max(objective),
        Formulation::StateEntropy => (mdp.n_states() as f64).ln().max(objective),
        _ => 0.0,
    }
}

/// What a solver hands back; `policy` lies in $\Delta_\xi$ to rounding.
#[derive(Debug, Clone)]
struct Outcome {
    policy: Vec<f64>,
    objective: f64,
    bound: f64,
    dual: Vec<f64>,
    iterations: usize,
}

/// A gap this small is rounding: objectives are sums over all transitions.
const ROUNDING: f64 = 1e-12;

/// When to stop.
struct Limits<'a> {
    absolute: f64,
    relative: f64,
    max_iterations: usize,
    started: Instant,
    time_limit: Option<Duration>,
    observer: &'a mut dyn Observer,
    stopped: Option<Status>,
    /// What the observer's figures are multiplied with.
    unit: f64,
}

impl<'a> Limits<'a> {
    fn new(_problem: &Problem, options: &Options, observer: &'a mut dyn Observer) -> Self {
        Limits {
            absolute: options.tolerance.max(ROUNDING),
            relative: options.relative_tolerance,
            max_iterations: options.max_iterations,
            started: Instant::now(),
            time_limit: options.time_limit,
            observer,
            stopped: None,
            unit: 1.0,
        }
    }

    /// Solves a helping problem whose values are `scale` times those of the problem at hand, to a
    /// `share` of the gap; whoever watches sees the problem at hand's units.
    fn at_scale<T>(&mut self, scale: f64, share: f64, solve: impl FnOnce(&mut Self) -> T) -> T {
        let before = (self.absolute, self.relative, self.unit);
        self.absolute *= share * scale;
        self.relative *= share;
        self.unit /= scale;
        let found = solve(self);
        (self.absolute, self.relative, self.unit) = before;
        found
    }

    /// The gap that would be close enough at this objective.
    fn wanted(&self, objective: f64) -> f64 {
        self.absolute.max(self.relative * objective.abs())
    }

    fn close_enough(&self, objective: f64, bound: f64) -> bool {
        let gap = (objective - bound).abs();
        gap <= self.absolute || gap <= self.relative * objective.abs()
    }

    /// Whether to stop at this outcome, and remembers why.
    fn reached(&mut self, outcome: &Outcome) -> bool {
        // whoever said stop to a helping problem need not say it again
        if self.stopped_early() {
            return true;
        }
        let status = if self.close_enough(outcome.objective, outcome.bound) {
            Some(Status::Optimal)
        } else if outcome.iterations >= self.max_iterations {
            Some(Status::IterationLimit)
        } else if self
            .time_limit
            .is_some_and(|limit| self.started.elapsed() >= limit)
        {
            Some(Status::TimeLimit)
        } else {
            let progress = Progress {
                iteration: outcome.iterations,
                objective: self.unit * outcome.objective,
                gap: self.unit * (outcome.objective - outcome.bound).abs(),
            };
            self.observer
                .on(&progress)
                .is_break()
                .then_some(Status::Interrupted)
        };
        if status.is_some() {
            self.stopped = status;
        }
        status.is_some()
    }

    fn status(&self, outcome: &Outcome) -> Status {
        if self.close_enough(outcome.objective, outcome.bound) {
            Status::Optimal
        } else {
            match self.stopped {
                Some(Status::Optimal) | None => Status::Stalled,
                Some(other) => other,
            }
        }
    }

    /// Whether the time is up or the observer wants to stop; for loops between certificates.
    fn expired(&mut self) -> bool {
        if self.stopped_early() {
            return true;
        }
        let progress = Progress {
            iteration: 0,
            objective: f64::NAN,
            gap: f64::INFINITY,
        };
        if self
            .time_limit
            .is_some_and(|limit| self.started.elapsed() >= limit)
        {
            self.stopped = Some(Status::TimeLimit);
        } else if self.observer.on(&progress).is_break() {
            self.stopped = Some(Status::Interrupted);
        }
        self.stopped_early()
    }

    /// Whether the solve ended for another reason than being done.
    fn stopped_early(&self) -> bool {
        !matches!(self.stopped, None | Some(Status::Optimal))
    }

    /// Seconds left, for solvers that keep their own clock.
    fn seconds_left(&self) -> f64 {
        self.time_limit.map_or(1e9, |limit| {
            limit.saturating_sub(self.started.elapsed()).as_secs_f64()
        })
    }
}
