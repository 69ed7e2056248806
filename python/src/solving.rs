//! Solving, analysing, sweeping.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use ide3al::chain::{Analysis, AnalyzeOptions, MixingNorm};
use ide3al::domains::default_parameters;
use ide3al::evaluation::reach::ReachReport;
use ide3al::evaluation::{Compare, report};
use ide3al::formulation::occupancy_spec::{Limit, OccupancySpec, per_pair};
use ide3al::formulation::reach::Reach;
use ide3al::formulation::{Formulation, Problem};
use ide3al::frontier::Vary;
use ide3al::frontier::reach::sweep as reach_sweep;
use ide3al::frontier::{for_horizon, sweep};
use ide3al::model::{Mdp, io};
use ide3al::solve::{Options, Solution, SolverChoice, TieBreak};
use ide3al_report::frontier::Frontier;
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::Value;

use crate::errors::{error, exception};
use crate::json::to_python;
use crate::model::Model;
use crate::reach::Asked;
use crate::signals::{Signals, abandonable};

/// The problem on a model: given values, or the paper's defaults.
pub(crate) fn problem(
    mdp: &Mdp,
    formulation: &str,
    xi: Option<f64>,
    zeta: Option<f64>,
    defaults: (f64, f64),
) -> PyResult<Problem> {
    let formulation = Formulation::from_name(formulation).map_err(exception)?;
    if let (Some(zeta), false) = (zeta, formulation.takes_zeta()) {
        return Err(error(format!(
            "zeta = {zeta}: {} takes no zeta; leave it out, or choose frobenius or infinity",
            formulation.name()
        )));
    }
    let problem = Problem {
        formulation,
        xi: xi.unwrap_or(defaults.0),
        zeta: if formulation.takes_zeta() {
            zeta.unwrap_or(defaults.1)
        } else {
            1.0
        },
    };
    problem.validate(mdp).map_err(exception)?;
    Ok(problem)
}

/// How to solve, by name; the same keywords for every function that solves.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Settings {
    solver: String,
    tie_break: String,
    tolerance: f64,
    relative_tolerance: f64,
    max_iterations: usize,
    time_limit: Option<f64>,
}

impl Settings {
    pub(crate) fn options(&self) -> PyResult<Options> {
        for (name, value) in [
            ("tolerance", self.tolerance),
            ("relative_tolerance", self.relative_tolerance),
        ] {
            if !(value >= 0.0 && value.is_finite()) {
                return Err(error(format!(
                    "{name} = {value}: must be a number, 0 or more"
                )));
            }
        }
        let time_limit = match self.time_limit {
            None => None,
            Some(seconds) => Some(
                Duration::try_from_secs_f64(seconds)
                    .ok()
                    .filter(|limit| !limit.is_zero())
                    .ok_or_else(|| {
                        error(format!(
                            "time_limit = {seconds}: must be a positive number of seconds"
                        ))
                    })?,
            ),
        };
        Ok(Options {
            solver: SolverChoice::from_name(&self.solver).map_err(exception)?,
            tie_break: TieBreak::from_name(&self.tie_break).map_err(exception)?,
            tolerance: self.tolerance,
            relative_tolerance: self.relative_tolerance,
            max_iterations: self.max_iterations,
            time_limit,
        })
    }
}

/// What is to be visited.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct VisitSpec {
    target: Option<Vec<f64>>,
    wanted: Option<Vec<f64>>,
    restart: f64,
    limits: Vec<(Vec<f64>, f64)>,
}

impl VisitSpec {
    pub(crate) fn visits(self, mdp: &Mdp) -> PyResult<OccupancySpec> {
        let numbers = |what: &str, numbers: &[f64]| per_pair(mdp, what, numbers).map_err(exception);
        let mut limits = Vec::with_capacity(self.limits.len());
        for (j, (cost, budget)) in self.limits.iter().enumerate() {
            limits.push(Limit {
                cost: numbers(&format!("limit {}", j + 1), cost)?,
                budget: *budget,
            });
        }
        let wanted = match &self.wanted {
            Some(wanted) => numbers("wanted", wanted)?,
            None => Vec::new(),
        };
        Ok(OccupancySpec {
            target: self.target.unwrap_or_default(),
            wanted,
            restart: self.restart,
            limits,
            ..OccupancySpec::default()
        })
    }
}

fn unknown(what: &'static str, name: &str, known: &[&str]) -> PyErr {
    exception(ide3al::Error::unknown(what, name, known))
}

/// A solved problem.
#[pyclass(frozen, module = "ide3al._ide3al")]
pub(crate) struct Solved {
    mdp: Arc<Mdp>,
    problem: Problem,
    solution: Solution,
    horizon: Option<u64>,
    tried: Vec<(f64, f64)>,
    reach: Option<Reach>,
}

impl Solved {
    /// Of a problem without a horizon.
    pub(crate) fn new(mdp: Arc<Mdp>, problem: Problem, solution: Solution) -> Self {
        Solved {
            mdp,
            problem,
            solution,
            horizon: None,
            tried: Vec::new(),
            reach: None,
        }
    }

    /// Of reach, with what was asked for.
    pub(crate) fn of_reach(
        mdp: Arc<Mdp>,
        problem: Problem,
        solution: Solution,
        reach: Reach,
    ) -> Self {
        Solved {
            reach: Some(reach),
            ..Solved::new(mdp, problem, solution)
        }
    }

    /// The solution, if a solve of this formulation on this model can start from it.
    pub(crate) fn start_of(&self, formulation: Formulation, mdp: &Mdp) -> Option<&Solution> {
        let fits = self.problem.formulation == formulation && self.mdp.n_pairs() == mdp.n_pairs();
        fits.then_some(&self.solution)
    }
}

#[pymethods]
impl Solved {
    #[getter]
    fn formulation(&self) -> &'static str {
        self.problem.formulation.name()
    }

    #[getter]
    fn maximises(&self) -> bool {
        let hitting = |reach: &Reach| reach.time(&self.mdp).is_infinite();
        self.problem.formulation.maximises() && !self.reach.as_ref().is_some_and(hitting)
    }

    #[getter]
    fn xi(&self) -> f64 {
        self.problem.xi
    }

    #[getter]
    fn zeta(&self) -> Option<f64> {
        self.problem
            .formulation
            .takes_zeta()
            .then_some(self.problem.zeta)
    }

    #[getter]
    fn horizon(&self) -> Option<u64> {
        self.horizon
    }

    /// (zeta, entropy within the horizon) of every zeta tried.
    #[getter]
    fn tried(&self) -> Vec<(f64, f64)> {
        self.tried.clone()
    }

    #[getter]
    fn solver(&self) -> &'static str {
        self.solution.solver
    }

    #[getter]
    fn notes(&self) -> Vec<String> {
        self.solution.notes.clone()
    }

    /// Value, budget and price of each limit.
    #[getter]
    fn limits(&self) -> Vec<(f64, f64, f64)> {
        let limits = self.solution.limits.iter();
        limits.map(|l| (l.value, l.budget, l.price)).collect()
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

    /// One probability per pair.
    fn probabilities<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        PyArray1::from_slice(py, self.solution.policy.probabilities())
    }

    /// Everything that `ide3al solve --json` prints, less the policy; `stationary` is an array.
    fn report<'py>(&self, py: Python<'py>, compare: &str) -> PyResult<Bound<'py, PyAny>> {
        let compare = match compare {
            "auto" => Compare::Auto,
            "always" => Compare::Always,
            "never" => Compare::Never,
            other => return Err(unknown("comparison", other, &["auto", "always", "never"])),
        };
        let options = AnalyzeOptions {
            horizon: self.horizon,
            ..AnalyzeOptions::default()
        };
        let mut signals = Signals::new();
        let judged = py.detach(|| {
            report(
                &self.mdp,
                &self.problem,
                &self.solution,
                &options,
                compare,
                &mut signals,
            )
        });
        signals.finish()?;
        let mut judged = judged.map_err(exception)?;
        judged.policy.clear();
        let stationary = std::mem::take(&mut judged.analysis.stationary);
        let mut value = match &self.reach {
            Some(reach) => plain(&ReachReport::new(&self.mdp, reach, judged))?,
            None => plain(&judged)?,
        };
        if let Some(entries) = value.as_object_mut() {
            entries.remove("policy");
        }
        let dict = to_python(py, &value)?;
        dict.set_item("stationary", PyArray1::from_vec(py, stationary))?;
        Ok(dict)
    }

    /// Writes the policy (.json, .npz or .npy).
    fn save_policy(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| io::write_policy(&path, &self.mdp, &self.solution.policy))
            .map_err(exception)
    }
}

pub(crate) fn plain(value: &impl serde::Serialize) -> PyResult<Value> {
    serde_json::to_value(value).map_err(|e| error(e.to_string()))
}

/// Solves a formulation on a model.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // keywords in Python
pub(crate) fn solve(
    py: Python<'_>,
    model: &Model,
    formulation: &str,
    xi: Option<f64>,
    zeta: Option<f64>,
    horizon: Option<u64>,
    settings: Settings,
    warm: Option<&Solved>,
    visit_spec: VisitSpec,
) -> PyResult<Solved> {
    let mdp = Arc::clone(&model.mdp);
    let defaults = default_parameters(&model.spec, &mdp);
    let problem = problem(&mdp, formulation, xi, zeta, (defaults.xi, defaults.zeta))?;
    if horizon.is_some() && zeta.is_some() {
        return Err(error(
            "horizon chooses zeta: leave zeta out, or leave horizon out",
        ));
    }
    let options = settings.options()?;
    let visits = visit_spec.visits(&mdp)?;
    if horizon.is_some() && !visits.is_plain() {
        return Err(error(
            "horizon goes with evenness alone: leave out target, wanted, restart and limits, or leave horizon out",
        ));
    }
    let warm = match warm {
        Some(warm) if warm.mdp.n_pairs() != mdp.n_pairs() => {
            return Err(error(format!(
                "warm start: the solution has {} state-action pairs, the model {}",
                warm.mdp.n_pairs(),
                mdp.n_pairs()
            )));
        }
        // a dual point means something to its own formulation only
        Some(warm) if warm.problem.formulation == problem.formulation => Some(&warm.solution),
        _ => None,
    };
    let mut signals = Signals::new();
    let solved = py.detach(|| match horizon {
        None => ide3al::solve::solve_visits(&mdp, &problem, &visits, &options, warm, &mut signals)
            .map(|solution| (problem, solution, Vec::new())),
        Some(steps) => for_horizon(&mdp, &problem, steps, &options, &mut signals)
            .map(|choice| (choice.problem, choice.solution, choice.tried)),
    });
    signals.finish()?;
    let (problem, solution, tried) = solved.map_err(exception)?;
    Ok(Solved {
        mdp,
        problem,
        solution,
        horizon,
        tried,
        reach: None,
    })
}

/// The long run of a model under a policy.
#[pyfunction]
pub(crate) fn analyze<'py>(
    py: Python<'py>,
    model: &Model,
    probabilities: PyReadonlyArray1<'_, f64>,
    horizon: Option<u64>,
    mixing_threshold: f64,
    mixing_norm: &str,
) -> PyResult<Bound<'py, PyAny>> {
    let policy = model.policy(probabilities)?;
    let options = AnalyzeOptions {
        horizon,
        mixing_threshold,
        mixing_norm: match mixing_norm {
            "tv" => MixingNorm::TotalVariation,
            "infinity" => MixingNorm::Infinity,
            other => return Err(unknown("mixing norm", other, &["tv", "infinity"])),
        },
    };
    let mdp = Arc::clone(&model.mdp);
    let analyze = move || ide3al::chain::analyze(&mdp, &policy, &options);
    let mut analysis: Analysis = abandonable(py, analyze)?.map_err(exception)?;
    let stationary = std::mem::take(&mut analysis.stationary);
    let dict = to_python(py, &plain(&analysis)?)?;
    dict.set_item("stationary", PyArray1::from_vec(py, stationary))?;
    Ok(dict)
}

/// Solves along zeta or xi; the picture comes as SVG under "svg".
#[pyfunction]
#[allow(clippy::too_many_arguments)] // keywords in Python
pub(crate) fn frontier<'py>(
    py: Python<'py>,
    model: &Model,
    formulation: &str,
    vary: Option<&str>,
    points: usize,
    xi: Option<f64>,
    zeta: Option<f64>,
    name: &str,
    settings: Settings,
    reach: Option<Asked>,
) -> PyResult<Bound<'py, PyAny>> {
    let problem = problem(&model.mdp, formulation, xi, zeta, (0.0, 1.0))?;
    let vary = match vary {
        Some("zeta") => Vary::Zeta,
        Some("xi") => Vary::Xi,
        Some("within") => Vary::Within,
        Some("evenness") => Vary::Evenness,
        Some(other) => {
            let known = ["zeta", "xi", "within", "evenness"];
            return Err(unknown("parameter", other, &known));
        }
        None if problem.formulation.takes_zeta() => Vary::Zeta,
        None => Vary::Xi,
    };
    let reach = reach.map(|asked| asked.reach(problem.xi)).transpose()?;
    let fixed_twice = match vary {
        Vary::Zeta => zeta,
        Vary::Xi => xi,
        Vary::Within => reach.as_ref().and_then(|reach| reach.within),
        Vary::Evenness => (reach.as_ref().map(|reach| reach.evenness)).filter(|e| *e > 0.0),
    };
    if let Some(value) = fixed_twice {
        let name = vary.name();
        return Err(error(format!(
            "{name} = {value}: {name} is what varies; leave {name} out"
        )));
    }
    let options = settings.options()?;
    let mut signals = Signals::new();
    let found = py.detach(|| match &reach {
        Some(reach) => reach_sweep(&model.mdp, reach, vary, points, &options, &mut signals),
        None => sweep(&model.mdp, &problem, vary, points, &options, &mut signals),
    });
    signals.finish()?;
    let found = found.map_err(exception)?;
    let dict = to_python(py, &plain(&found)?)?;
    let svg = Frontier::of_sweep(&found, name, &problem, vary)
        .panels()
        .svg();
    dict.cast::<PyDict>()?.set_item("svg", svg)?;
    Ok(dict)
}

/// Writes a policy file for a model.
#[pyfunction]
pub(crate) fn write_policy(
    py: Python<'_>,
    path: PathBuf,
    model: &Model,
    probabilities: PyReadonlyArray1<'_, f64>,
) -> PyResult<()> {
    let policy = model.policy(probabilities)?;
    py.detach(|| io::write_policy(&path, &model.mdp, &policy))
        .map_err(exception)
}

/// Writes a file whole or not at all.
#[pyfunction]
pub(crate) fn write_file(py: Python<'_>, path: PathBuf, bytes: &[u8]) -> PyResult<()> {
    py.detach(|| io::atomic::write_bytes(&path, bytes))
        .map_err(exception)
}
