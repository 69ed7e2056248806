//! What an agent plans with, and when there is nothing to plan for.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ide3al::formulation::entropy::EntropyWeights;
use ide3al::formulation::occupancy_spec::OccupancySpec;
use ide3al::formulation::{Formulation, Problem};
use ide3al::learn::{Experiment, Planner, Solver};
use ide3al::model::{Counts, Mdp, Policy};
use ide3al::solve::{self, Certificate, Options, Solution, Status, TieBreak};

use crate::signals::{Pending, Signals};

/// The library's planner, with Ctrl-C.
pub(crate) struct InterruptiblePlanner {
    solver: Solver,
    pending: Arc<Pending>,
}

impl InterruptiblePlanner {
    /// As a learner takes it.
    pub(crate) fn shared(experiment: &Experiment, pending: &Arc<Pending>) -> Arc<dyn Planner> {
        Arc::new(InterruptiblePlanner {
            solver: Solver {
                options: Options {
                    tie_break: experiment.tie_break,
                    relative_tolerance: experiment.relative_tolerance,
                    ..Options::default()
                },
                rough: experiment.rough_tolerance,
            },
            pending: Arc::clone(pending),
        })
    }

    /// Solves unless a signal's handler raised, which then waits to be raised again.
    fn watched(
        &self,
        solve: impl FnOnce(&mut Signals) -> ide3al::Result<Solution>,
    ) -> ide3al::Result<Solution> {
        let mut signals = Signals::new();
        let solution = solve(&mut signals)?;
        if let Err(raised) = signals.finish() {
            self.pending.put(raised);
            return Err(ide3al::Error::Interrupted);
        }
        if solution.certificate.status == Status::Interrupted {
            return Err(ide3al::Error::Interrupted);
        }
        Ok(solution)
    }
}

impl Planner for InterruptiblePlanner {
    fn plan(
        &self,
        model: &Mdp,
        problem: &Problem,
        target: &EntropyWeights,
        warm: Option<&Solution>,
        _: &AtomicBool,
    ) -> ide3al::Result<Solution> {
        let options = self.solver.options_for(target);
        self.watched(|signals| {
            solve::solve_towards(model, problem, target, &options, warm, signals)
        })
    }

    fn plan_visits(
        &self,
        model: &Mdp,
        problem: &Problem,
        visits: &OccupancySpec,
        _: &AtomicBool,
    ) -> ide3al::Result<Solution> {
        let options = self.solver.options_for_visits();
        self.watched(|signals| solve::solve_visits(model, problem, visits, &options, None, signals))
    }
}

/// Fewest steps from which an environment is called hopeless.
const HOPELESS: u64 = 20;

/// Why no policy can change what is visited, where that is so.
pub(crate) fn nothing_to_explore(counts: &Counts) -> Option<String> {
    let steps = counts.total();
    if steps < HOPELESS {
        return None;
    }
    if counts.cuts() == steps {
        return Some(format!(
            "every one of {steps} steps was cut short (truncated): each episode is one step long, and no policy can change \
             what is visited; give the environment a longer time limit"
        ));
    }
    let ends: u64 = counts.ends().iter().sum();
    let places = counts.ends().iter().filter(|n| **n > 0).count();
    // the reset that leaves a terminal state counts as a step
    (2 * ends + 1 >= steps && places == 1).then(|| {
        format!(
            "every step ended its episode in the same state ({ends} episodes so far): no policy can change what is \
             visited; check what the environment returns as terminated"
        )
    })
}

/// Relative gap at which a plan for samples is good enough.
const SAMPLES: f64 = 1e-4;

/// Solves `coverage` for the samples wanted of each pair, with Ctrl-C.
pub(crate) fn coverage(
    model: &Mdp,
    wanted: &[f64],
    signals: &mut Signals,
) -> ide3al::Result<(Policy, Certificate)> {
    let problem = Problem {
        xi: 0.0,
        ..Problem::new(Formulation::Coverage)
    };
    let visits = OccupancySpec {
        wanted: wanted.to_vec(),
        ..OccupancySpec::default()
    };
    let options = Options {
        relative_tolerance: SAMPLES,
        tie_break: TieBreak::None,
        ..Options::default()
    };
    let found = solve::solve_visits(model, &problem, &visits, &options, None, signals)?;
    Ok((found.policy, found.certificate))
}
