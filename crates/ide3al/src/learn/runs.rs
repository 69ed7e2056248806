//! Many runs in parallel, resumable at any moment.
//!
//! Runs share nothing but the model: each has its own stream of random numbers, so results
//! do not depend on the number of threads or on the order in which runs happen.

mod part;

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::checkpoint;
use super::evaluator::Metrics;
use super::experiment::Experiment;
use super::goal::{GoalEvaluator, Success};
use super::learner::Planner;
use super::run::{Plan, Run, generator};
use super::simulator::{Simulator, Tables};
use crate::error::{Error, Result};
use crate::model::{Mdp, Policy};

/// What a finished run leaves behind.
#[derive(Debug, Clone, PartialEq)]
pub struct RunResult {
    /// Figures per iteration, from 0 on.
    pub curve: Vec<Metrics>,
    /// The learned policy; for a mixture, the equivalent one (see [`super::Evaluator`]).
    pub policy: Policy,
    /// Its long-run state distribution.
    pub distribution: Vec<f64>,
    /// How often each state was visited while learning.
    pub visits: Vec<u64>,
    /// Whether the run ended by convergence rather than by its budget.
    pub converged: bool,
    /// Time spent on it.
    pub seconds: f64,
    /// Goal-conditioned success per horizon, where asked for.
    pub goal: Vec<Success>,
    /// What the user should know of what was learned, in words (see [`super::Learner::notes`]).
    pub notes: Vec<String>,
}

/// How far a run has come.
#[derive(Debug, Clone)]
pub(crate) enum Stage {
    /// Not begun.
    Waiting,
    /// Under way: its complete state at the last snapshot.
    Running(Vec<u8>),
    /// Finished.
    Done(RunResult),
}

/// Where and how often to write a checkpoint.
#[derive(Debug, Clone)]
pub struct CheckpointPlan {
    /// The file.
    pub path: PathBuf,
    /// Time between two writes.
    pub interval: Duration,
}

/// A sign of life.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// An algorithm has completed this many further iterations (more than one when a run is
    /// taken over from a checkpoint, or converges early).
    Iterations {
        /// Place in [`Experiment::algorithms`].
        algorithm: usize,
        /// How many.
        count: u64,
    },
}

/// How a set of runs ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ended {
    /// All runs are done.
    Finished,
    /// Stopped from outside; the state can be resumed.
    Interrupted,
}

/// An experiment on a known model, ready to run or to go on.
pub struct Runs<'a> {
    experiment: &'a Experiment,
    mdp: &'a Mdp,
    planner: Arc<dyn Planner>,
    fingerprint: u64,
    /// One per run; algorithm varies fastest.
    stages: Vec<Mutex<Stage>>,
}

impl<'a> Runs<'a> {
    /// Nothing done yet. Checks the parameters.
    pub fn new(experiment: &'a Experiment, mdp: &'a Mdp) -> Result<Self> {
        Runs::with_planner(experiment, mdp, experiment.planner())
    }

    /// With another planner than the production one.
    pub fn with_planner(
        experiment: &'a Experiment,
        mdp: &'a Mdp,
        planner: Arc<dyn Planner>,
    ) -> Result<Self> {
        experiment.validate(mdp)?;
        let jobs = experiment.algorithms.len() * experiment.runs as usize;
        Ok(Runs {
            experiment,
            mdp,
            planner,
            fingerprint: experiment.fingerprint(mdp),
            stages: (0..jobs).map(|_| Mutex::new(Stage::Waiting)).collect(),
        })
    }

    /// Takes over a checkpoint. A damaged or foreign one is refused, and nothing changes.
    pub fn resume(&mut self, path: &std::path::Path) -> Result<()> {
        let bytes = std::fs::read(path).map_err(|source| Error::Io {
            path: path.to_owned(),
            action: "read",
            source,
        })?;
        let jobs = self.stages.len();
        let stages = checkpoint::decode(path, &bytes, self.fingerprint, jobs, self.mdp)?;
        // a state that cannot be restored is refused now, not in the middle of the work
        let tables = Tables::new(self.mdp);
        for (job, stage) in stages.iter().enumerate() {
            if let Stage::Running(bytes) = stage {
                self.restored(&tables, job, bytes)
                    .map_err(|error| error.in_file(path))?;
            }
        }
        self.stages = stages.into_iter().map(Mutex::new).collect();
        Ok(())
    }

    /// The results of one algorithm, by run; `None` for a run that is not done.
    pub fn results(&self, algorithm: usize) -> Vec<Option<RunResult>> {
        let algorithms = self.experiment.algorithms.len();
        self.stages
            .iter()
            .skip(algorithm)
            .step_by(algorithms)
            .map(|stage| match &*lock(stage) {
                Stage::Done(result) => Some(result.clone()),
                _ => None,
            })
            .collect()
    }

    /// Runs everything that is not done, on `threads` threads, until finished or until
    /// `stop` is set. With a [`CheckpointPlan`] the state is written at its interval, and
    /// once more at an interruption.
    pub fn execute(
        &self,
        threads: usize,
        checkpoint: Option<&CheckpointPlan>,
        stop: &AtomicBool,
        observer: &(dyn Fn(Event) + Sync),
    ) -> Result<Ended> {
        let tables = Tables::new(self.mdp);
        let goal = self.goal_evaluator();
        let shared = Shared::new(&tables, goal.as_ref(), checkpoint, stop, observer);
        std::thread::scope(|scope| {
            for _ in 0..threads.clamp(1, self.stages.len()) {
                scope.spawn(|| self.work(&shared));
            }
        });
        let finished = self
            .stages
            .iter()
            .all(|stage| matches!(*lock(stage), Stage::Done(_)));
        if let Some(plan) = checkpoint {
            // also when finished: results written from it may be cut short by a kill
            let written = self.write_checkpoint(plan);
            let failure = lock(&shared.failure).take();
            match failure {
                Some(error) => return Err(error),
                None => written?,
            }
        } else if let Some(error) = lock(&shared.failure).take() {
            return Err(error);
        }
        Ok(if finished {
            Ended::Finished
        } else {
            Ended::Interrupted
        })
    }

    fn goal_evaluator(&self) -> Option<GoalEvaluator<'_>> {
        let goal = self.experiment.goal.as_ref()?;
        Some(GoalEvaluator::new(
            self.mdp,
            goal,
            self.experiment.value_iteration(),
        ))
    }

    /// What one thread does: takes the next run that nobody has begun, and the next.
    fn work(&self, shared: &Shared<'_>) {
        loop {
            let job = shared.next.fetch_add(1, Ordering::Relaxed);
            if job >= self.stages.len() || shared.stopped() {
                return;
            }
            if let Err(error) = self.one_run(shared, job) {
                if !matches!(error, Error::Interrupted) {
                    lock(&shared.failure).get_or_insert(error);
                    shared.failed.store(true, Ordering::Relaxed);
                }
                return;
            }
        }
    }

    fn one_run(&self, shared: &Shared<'_>, job: usize) -> Result<()> {
        let algorithm = job % self.experiment.algorithms.len();
        let report = |count| {
            (shared.observer)(Event::Iterations { algorithm, count });
        };
        let stage = lock(&self.stages[job]).clone();
        let (mut run, before) = match stage {
            Stage::Done(_) => {
                report(self.experiment.iterations);
                return Ok(());
            }
            Stage::Waiting => (self.fresh(shared.tables, job)?, 0.0),
            Stage::Running(bytes) => self.restored(shared.tables, job, &bytes)?,
        };
        report(run.iteration());
        let begun = Instant::now();
        let mut last_snapshot = begun;
        let seconds = || before + begun.elapsed().as_secs_f64();
        while !run.is_done() {
            if shared.stopped() {
                self.snapshot(job, &run, seconds());
                return Err(Error::Interrupted);
            }
            match run.iterate(shared.stop) {
                Err(Error::Interrupted) => continue,
                other => other?,
            }
            report(1);
            if let Some(plan) = shared.checkpoint
                && last_snapshot.elapsed() >= plan.interval
            {
                self.snapshot(job, &run, seconds());
                last_snapshot = Instant::now();
                self.write_if_due(shared, plan)?;
            }
        }
        report(self.experiment.iterations - run.iteration());
        let goal = match shared.goal {
            Some(goal) => {
                let (exploration, environment, rng) = run.parts();
                goal.evaluate(exploration, environment, rng)?
            }
            None => Vec::new(),
        };
        let result = RunResult {
            curve: run.curve().to_vec(),
            policy: run.policy().clone(),
            distribution: run.distribution().to_vec(),
            visits: run.counts().state_totals().to_vec(),
            converged: run.converged(),
            seconds: seconds(),
            goal,
            notes: run.notes(),
        };
        *lock(&self.stages[job]) = Stage::Done(result);
        match shared.checkpoint {
            Some(plan) => self.write_if_due(shared, plan),
            None => Ok(()),
        }
    }

    fn fresh<'t>(&'t self, tables: &'t Tables, job: usize) -> Result<Run<'t, Simulator<'t>>> {
        let experiment = self.experiment;
        let algorithm = &experiment.algorithms[job % experiment.algorithms.len()];
        let number = (job / experiment.algorithms.len()) as u64;
        Run::new(
            Simulator::new(tables),
            experiment.learner(algorithm, self.mdp, &self.planner)?,
            Some(self.mdp),
            Plan {
                iterations: experiment.iterations,
                batch: experiment.batch_size,
                gap_every: experiment.gap_every,
                convergence: experiment.convergence,
            },
            generator(experiment.seed, algorithm.kind.stream() << 32 | number),
        )
    }

    /// A run as its snapshot left it, and the seconds spent on it before.
    fn restored<'t>(
        &'t self,
        tables: &'t Tables,
        job: usize,
        bytes: &[u8],
    ) -> Result<(Run<'t, Simulator<'t>>, f64)> {
        let damaged = |damage: String| {
            Error::Unsupported(format!(
                "the checkpoint is damaged ({damage}); delete it to start over"
            ))
        };
        let (seconds, state) = bytes
            .split_first_chunk::<8>()
            .ok_or_else(|| damaged("a run's state ends early".into()))?;
        let mut run = self.fresh(tables, job)?;
        run.load(state).map_err(damaged)?;
        Ok((run, f64::from_le_bytes(*seconds)))
    }

    fn snapshot(&self, job: usize, run: &Run<'_, Simulator<'_>>, seconds: f64) {
        let mut bytes = seconds.to_le_bytes().to_vec();
        bytes.extend(run.save());
        *lock(&self.stages[job]) = Stage::Running(bytes);
    }

    /// One thread writes, the others go on.
    fn write_if_due(&self, shared: &Shared<'_>, plan: &CheckpointPlan) -> Result<()> {
        let Ok(mut last) = shared.last_write.try_lock() else {
            return Ok(());
        };
        if last.elapsed() < plan.interval {
            return Ok(());
        }
        self.write_checkpoint(plan)?;
        *last = Instant::now();
        Ok(())
    }

    fn write_checkpoint(&self, plan: &CheckpointPlan) -> Result<()> {
        let stages: Vec<Stage> = self.stages.iter().map(|s| lock(s).clone()).collect();
        let bytes = checkpoint::encode(self.fingerprint, stages.iter());
        crate::model::io::atomic::write_bytes(&plan.path, &bytes)
    }
}

/// What the threads of one execution share.
struct Shared<'s> {
    tables: &'s Tables,
    goal: Option<&'s GoalEvaluator<'s>>,
    checkpoint: Option<&'s CheckpointPlan>,
    stop: &'s AtomicBool,
    observer: &'s (dyn Fn(Event) + Sync),
    next: AtomicUsize,
    failed: AtomicBool,
    failure: Mutex<Option<Error>>,
    last_write: Mutex<Instant>,
}

impl<'s> Shared<'s> {
    fn new(
        tables: &'s Tables,
        goal: Option<&'s GoalEvaluator<'s>>,
        checkpoint: Option<&'s CheckpointPlan>,
        stop: &'s AtomicBool,
        observer: &'s (dyn Fn(Event) + Sync),
    ) -> Self {
        Shared {
            tables,
            goal,
            checkpoint,
            stop,
            observer,
            next: AtomicUsize::new(0),
            failed: AtomicBool::new(false),
            failure: Mutex::new(None),
            last_write: Mutex::new(Instant::now()),
        }
    }

    fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed)
    }
}

/// Locks; a thread that panicked while holding the lock left a whole value all the same.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests;
