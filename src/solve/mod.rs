//! Find it: solvers for the five problems, each with a certificate.

use std::ops::ControlFlow;
use std::time::Duration;

use crate::error::Result;
use crate::formulation::Problem;
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
    /// Wanted gap, relative to `max(1, |objective|)`.
    pub tolerance: f64,
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
            tolerance: 1e-7,
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
    problem.validate(mdp)?;
    let _ = (options, warm, observer);
    todo!()
}
