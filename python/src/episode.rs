//! Episodes: solving, analysing, and policies that depend on the step.

use std::path::PathBuf;
use std::sync::Arc;

use ide3al::chain::episode::analyze_episode as analyze;
use ide3al::domains::default_parameters;
use ide3al::evaluation::episode::report;
use ide3al::formulation::episode::Episode;
use ide3al::model::{Mdp, Plan, TimedPolicy, io};
use ide3al::solve::episode::{EpisodeSolution, solve};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;

use crate::errors::{error, exception};
use crate::json::to_python;
use crate::model::Model;
use crate::signals::Signals;
use crate::solving::{Settings, plain};

/// A solved episode.
#[pyclass(frozen, module = "ide3al._ide3al")]
pub(crate) struct SolvedEpisode {
    mdp: Arc<Mdp>,
    solution: EpisodeSolution,
}

#[pymethods]
impl SolvedEpisode {
    #[getter]
    fn xi(&self) -> f64 {
        self.solution.episode.xi
    }

    #[getter]
    fn steps(&self) -> usize {
        self.solution.episode.steps
    }

    #[getter]
    fn solver(&self) -> &'static str {
        self.solution.solver
    }

    #[getter]
    fn objective(&self) -> f64 {
        self.solution.certificate.objective
    }

    #[getter]
    fn bound(&self) -> f64 {
        self.solution.certificate.bound
    }

    #[getter]
    fn gap(&self) -> f64 {
        self.solution.certificate.gap
    }

    #[getter]
    fn status(&self) -> &'static str {
        self.solution.certificate.status.name()
    }

    #[getter]
    fn iterations(&self) -> usize {
        self.solution.certificate.iterations
    }

    #[getter]
    fn seconds(&self) -> f64 {
        self.solution.certificate.seconds
    }

    /// One probability per step and pair.
    fn probabilities<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.solution.policy.probabilities())
    }

    /// Everything that `ide3al solve --formulation episode --json` prints, less the policy;
    /// `distribution` is an array.
    fn report<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let mut judged = py
            .detach(|| report(&self.mdp, &self.solution))
            .map_err(exception)?;
        judged.policy.clear();
        let distribution = std::mem::take(&mut judged.analysis.distribution);
        let mut value = plain(&judged)?;
        if let Some(entries) = value.as_object_mut() {
            entries.remove("policy");
        }
        let dict = to_python(py, &value)?;
        dict.set_item("distribution", PyArray1::from_vec(py, distribution))?;
        Ok(dict)
    }

    /// Writes the policy (.json, .npz or .npy).
    fn save_policy(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| io::write_timed_policy(&path, &self.mdp, &self.solution.policy))
            .map_err(exception)
    }
}

/// Solves an episode.
#[pyfunction]
pub(crate) fn solve_episode(
    py: Python<'_>,
    model: &Model,
    steps: i64,
    xi: Option<f64>,
    settings: Settings,
) -> PyResult<SolvedEpisode> {
    let mdp = Arc::clone(&model.mdp);
    let steps = usize::try_from(steps)
        .map_err(|_| error(format!("steps = {steps}: an episode has at least one step")))?;
    let xi = xi.unwrap_or_else(|| default_parameters(&model.spec, &mdp).xi);
    let options = settings.options()?;
    let mut signals = Signals::new();
    let solved = py.detach(|| solve(&mdp, &Episode { steps, xi }, &options, &mut signals));
    signals.finish()?;
    let solution = solved.map_err(exception)?;
    Ok(SolvedEpisode { mdp, solution })
}

/// One episode of a model under a policy that depends on the step.
#[pyfunction]
pub(crate) fn analyze_episode<'py>(
    py: Python<'py>,
    model: &Model,
    probabilities: PyReadonlyArray1<'_, f64>,
) -> PyResult<Bound<'py, PyAny>> {
    let flat = probabilities.as_array().to_vec();
    let mdp = &model.mdp;
    let judged = py.detach(|| analyze(mdp, &TimedPolicy::new(mdp, flat)?));
    let mut analysis = judged.map_err(exception)?;
    let distribution = std::mem::take(&mut analysis.distribution);
    let dict = to_python(py, &plain(&analysis)?)?;
    dict.set_item("distribution", PyArray1::from_vec(py, distribution))?;
    Ok(dict)
}

/// Reads a policy file: the number of steps if the policy depends on the step, and its
/// probabilities.
#[pyfunction]
pub(crate) fn read_policy<'py>(
    py: Python<'py>,
    path: PathBuf,
    model: &Model,
) -> PyResult<(Option<usize>, Bound<'py, PyArray1<f64>>)> {
    let plan = py
        .detach(|| io::read_plan(&path, &model.mdp))
        .map_err(exception)?;
    Ok(match &plan {
        Plan::Stationary(policy) => (None, PyArray1::from_slice(py, policy.probabilities())),
        Plan::Timed(policy) => (
            Some(policy.steps()),
            PyArray1::from_slice(py, policy.probabilities()),
        ),
    })
}
