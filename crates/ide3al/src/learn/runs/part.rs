//! One run at a time, and its result as bytes: what a scheduler of many machines needs.
//!
//! A run depends on nothing but the experiment, the model and its own number, so that it can
//! be done anywhere, again after a failure, and put together with the others: the results are
//! those of [`Runs::execute`], bit by bit.

use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use super::{CheckpointPlan, Ended, Event, Runs, Shared, Stage, lock};
use crate::error::{Error, Result};
use crate::learn::checkpoint;
use crate::learn::codec::Hash;
use crate::learn::simulator::Tables;

impl Runs<'_> {
    /// Number of runs of all algorithms together: run `r` of the `k`-th of `n` algorithms is
    /// job `r * n + k`.
    pub fn jobs(&self) -> usize {
        self.stages.len()
    }

    /// Whether a job is done.
    pub fn is_done(&self, job: usize) -> bool {
        self.stages
            .get(job)
            .is_some_and(|stage| matches!(*lock(stage), Stage::Done(_)))
    }

    /// Does one job, on this thread, unless it is done already.
    pub fn execute_one(
        &self,
        job: usize,
        stop: &AtomicBool,
        observer: &(dyn Fn(Event) + Sync),
    ) -> Result<Ended> {
        self.check(job)?;
        let tables = Tables::new(self.mdp);
        let goal = self.goal_evaluator();
        let shared = Shared::new(&tables, goal.as_ref(), None, stop, observer);
        match self.one_run(&shared, job) {
            Ok(()) => Ok(Ended::Finished),
            Err(Error::Interrupted) => Ok(Ended::Interrupted),
            Err(error) => Err(error),
        }
    }

    /// The result of a job as bytes, `None` while it is not done.
    pub fn part(&self, job: usize) -> Option<Vec<u8>> {
        let stage = lock(self.stages.get(job)?).clone();
        matches!(stage, Stage::Done(_))
            .then(|| checkpoint::encode(self.seal(job), std::iter::once(&stage)))
    }

    /// Takes over the result of a job from [`part`](Self::part) of another process. Damaged
    /// bytes, and those of another experiment, model, version or job, are refused.
    pub fn adopt(&self, job: usize, bytes: &[u8]) -> Result<()> {
        self.check(job)?;
        let algorithms = &self.experiment.algorithms;
        let label = algorithms[job % algorithms.len()].label();
        let name = PathBuf::from(format!("{label}, run {}", job / algorithms.len()));
        let mut stages = checkpoint::decode(&name, bytes, self.seal(job), 1, self.mdp)?;
        if let Some(stage @ Stage::Done(_)) = stages.pop() {
            *lock(&self.stages[job]) = stage;
        }
        Ok(())
    }

    /// Writes everything that is done, whole or not at all, for [`resume`](Self::resume).
    pub fn save(&self, path: &Path) -> Result<()> {
        self.write_checkpoint(&CheckpointPlan {
            path: path.to_owned(),
            interval: std::time::Duration::ZERO,
        })
    }

    /// Tells a job of this experiment from all others.
    fn seal(&self, job: usize) -> u64 {
        let mut hash = Hash::new();
        hash.number(self.fingerprint);
        hash.number(job as u64);
        hash.value()
    }

    fn check(&self, job: usize) -> Result<()> {
        if job < self.jobs() {
            return Ok(());
        }
        Err(Error::OutOfRange {
            what: "run",
            index: job,
            limit: self.jobs(),
            place: String::new(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domains;
    use crate::learn::{Experiment, RunResult};

    fn small() -> Experiment {
        Experiment {
            iterations: 4,
            batch_size: 20,
            runs: 2,
            goal: Some(crate::learn::Goal::default()),
            ..Experiment::default()
        }
    }

    /// Without the time spent.
    fn results(runs: &Runs<'_>, algorithms: usize) -> Vec<RunResult> {
        let all = (0..algorithms).flat_map(|k| runs.results(k));
        all.map(|result| RunResult {
            seconds: 0.0,
            ..result.unwrap()
        })
        .collect()
    }

    #[test]
    fn runs_done_one_by_one_elsewhere_are_the_same_runs() {
        let mdp = domains::load("single-chain").unwrap();
        let experiment = small();
        let stop = AtomicBool::new(false);
        let together = Runs::new(&experiment, &mdp).unwrap();
        together.execute(2, None, &stop, &|_| ()).unwrap();
        let assembled = Runs::new(&experiment, &mdp).unwrap();
        // in any order, each in its own process as it were
        for job in (0..assembled.jobs()).rev() {
            let elsewhere = Runs::new(&experiment, &mdp).unwrap();
            assert!(elsewhere.part(job).is_none());
            elsewhere.execute_one(job, &stop, &|_| ()).unwrap();
            assembled.adopt(job, &elsewhere.part(job).unwrap()).unwrap();
            assert!(assembled.is_done(job));
        }
        let n = experiment.algorithms.len();
        assert_eq!(results(&together, n), results(&assembled, n));
    }

    #[test]
    fn parts_of_other_jobs_and_damaged_ones_are_refused() {
        let mdp = domains::load("single-chain").unwrap();
        let experiment = small();
        let stop = AtomicBool::new(false);
        let runs = Runs::new(&experiment, &mdp).unwrap();
        runs.execute_one(1, &stop, &|_| ()).unwrap();
        let part = runs.part(1).unwrap();
        let fresh = Runs::new(&experiment, &mdp).unwrap();
        let error = fresh.adopt(2, &part).unwrap_err().to_string();
        assert!(error.contains("another experiment"), "{error}");
        for place in (0..part.len()).step_by(97) {
            let mut damaged = part.clone();
            damaged[place] ^= 0x40;
            assert!(fresh.adopt(1, &damaged).is_err(), "{place}");
        }
        assert!(fresh.adopt(1, &part[..part.len() / 2]).is_err());
        assert!(fresh.adopt(99, &part).is_err());
        assert!(fresh.execute_one(99, &stop, &|_| ()).is_err());
        assert!(!fresh.is_done(1));
        fresh.adopt(1, &part).unwrap();
        assert!(fresh.is_done(1));
    }
}
