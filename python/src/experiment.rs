//! Sets of runs: what `ide3al learn` does, whole or one run at a time.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ide3al::learn::{
    self, Algorithm, CheckpointPlan, Ended, Entry, Event, Folder, Metrics, RunResult, Runs, Summary,
};
use ide3al::model::Mdp;
use ide3al_report::palette::Role;
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::errors::{error, exception};
use crate::json::to_python;
use crate::model::Model;
use crate::settings::settings;
use crate::signals::watched;

/// The parameters of a set of runs on a model, and the results there are so far.
#[pyclass(frozen, module = "ide3al._ide3al")]
pub(crate) struct Experiment {
    mdp: Arc<Mdp>,
    name: String,
    experiment: learn::Experiment,
    /// Locked while this lives.
    folder: Mutex<Option<Folder>>,
    /// One per run that is done; algorithm varies fastest.
    parts: Mutex<Vec<Option<Vec<u8>>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // whoever panicked left a whole value all the same
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Experiment {
    /// The runs as the library has them, with everything that is done.
    fn runs(&self) -> ide3al::Result<Runs<'_>> {
        let runs = Runs::new(&self.experiment, &self.mdp)?;
        for (job, part) in lock(&self.parts).iter().enumerate() {
            if let Some(part) = part {
                runs.adopt(job, part)?;
            }
        }
        Ok(runs)
    }

    fn keep(&self, runs: &Runs<'_>) {
        for (job, slot) in lock(&self.parts).iter_mut().enumerate() {
            if slot.is_none() {
                *slot = runs.part(job);
            }
        }
    }

    /// What is done, by algorithm and run.
    fn results(&self) -> ide3al::Result<Vec<Vec<Option<RunResult>>>> {
        let runs = self.runs()?;
        Ok((0..self.experiment.algorithms.len())
            .map(|k| runs.results(k))
            .collect())
    }

    /// All results, or an error that says how many there are.
    fn complete(&self) -> ide3al::Result<Vec<Vec<RunResult>>> {
        let jobs = lock(&self.parts).len();
        let results: Vec<Vec<RunResult>> = self
            .results()?
            .into_iter()
            .map(|runs| runs.into_iter().flatten().collect())
            .collect();
        let done: usize = results.iter().map(Vec::len).sum();
        if done == jobs {
            return Ok(results);
        }
        Err(ide3al::Error::Unsupported(format!(
            "only {done} of {jobs} runs are done; go on with resume=True"
        )))
    }

    fn job(&self, algorithm: usize, run: usize) -> PyResult<usize> {
        let algorithms = self.experiment.algorithms.len();
        if algorithm >= algorithms || run as u64 >= self.experiment.runs {
            return Err(error(format!(
                "algorithm {algorithm}, run {run}: there are {algorithms} algorithms and {} runs",
                self.experiment.runs
            )));
        }
        Ok(run * algorithms + algorithm)
    }

    fn checkpoint_path(&self) -> Option<PathBuf> {
        lock(&self.folder).as_ref().map(Folder::checkpoint)
    }
}

#[pymethods]
impl Experiment {
    /// `parameters`: any of algorithms, formulation, xi, zeta, epsilon, eta, discount,
    /// relative_tolerance, tie_break, iterations, batch_size, runs, seed, converge, goal.
    #[new]
    fn new(model: &Model, name: &str, given: &Bound<'_, PyDict>) -> PyResult<Self> {
        let mdp = Arc::clone(&model.mdp);
        let settings = settings(given)?;
        let experiment = settings.resolve(&model.spec, &mdp).map_err(exception)?;
        experiment.validate(&mdp).map_err(exception)?;
        let jobs = experiment.algorithms.len() * experiment.runs as usize;
        Ok(Experiment {
            mdp,
            name: name.to_owned(),
            experiment,
            folder: Mutex::new(None),
            parts: Mutex::new(vec![None; jobs]),
        })
    }

    /// Everything that decides the results.
    #[getter]
    fn parameters<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let value = serde_json::to_value(&self.experiment).map_err(|e| error(e.to_string()))?;
        to_python(py, &value)
    }

    /// Names of the algorithms.
    #[getter]
    fn labels(&self) -> Vec<String> {
        let algorithms = self.experiment.algorithms.iter();
        algorithms.map(Algorithm::label).collect()
    }

    /// Opens and locks a folder; `entry` is new, resume or overwrite. Takes over a checkpoint
    /// found there; true where the experiment was finished before.
    fn enter(&self, py: Python<'_>, path: PathBuf, entry: &str) -> PyResult<bool> {
        let entry = match entry {
            "new" => Entry::New,
            "resume" => Entry::Resume,
            "overwrite" => Entry::Overwrite,
            other => return Err(error(format!("entry {other}: new, resume or overwrite"))),
        };
        py.detach(|| {
            let folder = Folder::enter(&path, &self.name, &self.mdp, &self.experiment, entry)?;
            let checkpoint = folder.checkpoint();
            if checkpoint.exists() {
                let mut runs = self.runs()?;
                runs.resume(&checkpoint)?;
                self.keep(&runs);
            }
            let finished = folder.is_finished();
            *lock(&self.folder) = Some(folder);
            Ok(finished)
        })
        .map_err(exception)
    }

    /// Gives the folder back.
    fn leave(&self) {
        *lock(&self.folder) = None;
    }

    /// Does everything that is not done on threads of this process; false if interrupted.
    /// `progress` is called with the number of iterations done, now and then.
    fn execute(
        &self,
        py: Python<'_>,
        threads: usize,
        interval: f64,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<bool> {
        let interval = Duration::try_from_secs_f64(interval)
            .map_err(|problem| error(format!("checkpoint_every = {interval}: {problem}")))?;
        let checkpoint = self
            .checkpoint_path()
            .map(|path| CheckpointPlan { path, interval });
        let mut runs = self.runs().map_err(exception)?;
        if let Some(plan) = checkpoint.as_ref().filter(|plan| plan.path.exists()) {
            // also takes over runs that were under way
            runs.resume(&plan.path).map_err(exception)?;
        }
        let (stop, iterations) = (AtomicBool::new(false), AtomicU64::new(0));
        let observer = |Event::Iterations { count, .. }: Event| {
            iterations.fetch_add(count, Ordering::Relaxed);
        };
        let ended = watched(
            py,
            &stop,
            || match &progress {
                Some(progress) => progress
                    .call1((iterations.load(Ordering::Relaxed),))
                    .map(|_| ()),
                None => Ok(()),
            },
            || runs.execute(threads, checkpoint.as_ref(), &stop, &observer),
        );
        self.keep(&runs);
        Ok(ended?.map_err(exception)? == Ended::Finished)
    }

    /// Does one run and returns its result as bytes.
    fn execute_one<'py>(
        &self,
        py: Python<'py>,
        algorithm: usize,
        run: usize,
    ) -> PyResult<Bound<'py, PyBytes>> {
        let job = self.job(algorithm, run)?;
        let runs = self.runs().map_err(exception)?;
        let stop = AtomicBool::new(false);
        watched(
            py,
            &stop,
            || Ok(()),
            || runs.execute_one(job, &stop, &|_| ()),
        )?
        .map_err(exception)?;
        match runs.part(job) {
            Some(part) => Ok(PyBytes::new(py, &part)),
            None => Err(exception(ide3al::Error::Interrupted)),
        }
    }

    /// Takes over the bytes of a run done elsewhere.
    fn adopt(&self, algorithm: usize, run: usize, part: &[u8]) -> PyResult<()> {
        let job = self.job(algorithm, run)?;
        let runs = Runs::new(&self.experiment, &self.mdp).map_err(exception)?;
        runs.adopt(job, part).map_err(exception)?;
        lock(&self.parts)[job] = Some(part.to_vec());
        Ok(())
    }

    /// Writes what is done to the folder's checkpoint.
    fn save_checkpoint(&self, py: Python<'_>) -> PyResult<()> {
        let Some(path) = self.checkpoint_path() else {
            return Ok(());
        };
        py.detach(|| self.runs()?.save(&path)).map_err(exception)
    }

    /// Algorithm and run of everything that is not done.
    fn missing(&self) -> Vec<(usize, usize)> {
        let algorithms = self.experiment.algorithms.len();
        let parts = lock(&self.parts);
        let jobs = parts.iter().enumerate();
        jobs.filter(|(_, part)| part.is_none())
            .map(|(job, _)| (job % algorithms, job / algorithms))
            .collect()
    }

    /// One row per algorithm, run and iteration of what is done: column names with arrays.
    fn columns<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let (n, pairs) = (self.mdp.n_states(), self.mdp.n_pairs());
        let results = py.detach(|| self.results()).map_err(exception)?;
        let labels = self.labels();
        let names = PyList::empty(py);
        let (mut runs, mut iterations) = (Vec::<i64>::new(), Vec::<i64>::new());
        let mut figures: [Vec<f64>; Metrics::NAMES.len()] = Default::default();
        for (label, of) in labels.iter().zip(&results) {
            let label = label.into_pyobject(py)?;
            for (number, result) in of.iter().enumerate() {
                let Some(result) = result else { continue };
                for (iteration, metrics) in result.curve.iter().enumerate() {
                    names.append(&label)?;
                    runs.push(number as i64);
                    iterations.push(iteration as i64);
                    for (column, value) in figures.iter_mut().zip(metrics.values(n, pairs)) {
                        column.push(value);
                    }
                }
            }
        }
        let batch = self.experiment.batch_size as i64;
        let samples: Vec<i64> = iterations.iter().map(|i| i * batch).collect();
        let columns = PyDict::new(py);
        columns.set_item("algorithm", names)?;
        columns.set_item("run", runs.into_pyarray(py))?;
        columns.set_item("iteration", iterations.into_pyarray(py))?;
        columns.set_item("samples", samples.into_pyarray(py))?;
        for (name, column) in Metrics::NAMES.iter().zip(figures) {
            columns.set_item(name, column.into_pyarray(py))?;
        }
        Ok(columns)
    }

    /// The policy that a run learned, one probability per pair.
    fn policy<'py>(
        &self,
        py: Python<'py>,
        algorithm: usize,
        run: usize,
    ) -> PyResult<Bound<'py, PyArray1<f64>>> {
        self.job(algorithm, run)?;
        let runs = self.runs().map_err(exception)?;
        match runs.results(algorithm).swap_remove(run) {
            Some(result) => Ok(PyArray1::from_slice(py, result.policy.probabilities())),
            None => Err(error(format!(
                "algorithm {algorithm}, run {run} is not done"
            ))),
        }
    }

    /// Mean and interval of every figure, by algorithm and iteration.
    fn summary<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let value = py
            .detach(|| {
                let results = self.complete()?;
                let summary = Summary::new(&self.name, &self.mdp, &self.experiment, &results);
                Ok(serde_json::to_value(summary))
            })
            .map_err(exception)?
            .map_err(|e| error(e.to_string()))?;
        to_python(py, &value)
    }

    /// `runs.csv`, byte for byte as `ide3al learn` writes it.
    fn runs_csv(&self, py: Python<'_>) -> PyResult<String> {
        py.detach(|| {
            Ok(learn::runs_csv(
                &self.mdp,
                &self.experiment,
                &self.complete()?,
            ))
        })
        .map_err(exception)
    }

    /// `goal.csv`, where goals were asked for.
    fn goal_csv(&self, py: Python<'_>) -> PyResult<Option<String>> {
        py.detach(|| Ok(learn::goal_csv(&self.experiment, &self.complete()?)))
            .map_err(exception)
    }

    /// Writes runs.csv, goal.csv, summary.json and the policies to a folder; to the one
    /// entered it also says that the experiment is finished.
    fn write(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| {
            let results = self.complete()?;
            let summary = Summary::new(&self.name, &self.mdp, &self.experiment, &results);
            learn::write(&path, &self.mdp, &self.experiment, &results, &summary)?;
            match lock(&self.folder).as_ref() {
                Some(folder) if folder.path() == Path::new(&path) => folder.finish(),
                _ => Ok(()),
            }
        })
        .map_err(exception)
    }
}

/// Names of the figures of every iteration.
#[pyfunction]
pub(crate) fn metrics() -> Vec<&'static str> {
    learn::Metrics::NAMES.to_vec()
}

/// Colour, dash pattern (as in SVG) and marker of an algorithm in all pictures.
#[pyfunction]
pub(crate) fn look(label: &str, place: usize) -> (String, &'static str, String) {
    let name = label.rsplit(':').next().unwrap_or(label);
    let role = match (label.split(':').next(), Role::from_name(name)) {
        // as in the page that the command line writes
        (Some("non-iterative"), _) => Role::Other(4 + place),
        (_, Some(role)) => role,
        (_, None) => Role::Other(place),
    };
    let look = role.look();
    let marker = format!("{:?}", look.marker).to_lowercase();
    (look.light.to_string(), look.dash, marker)
}
