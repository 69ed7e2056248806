//! A learner with its memory, driven batch by batch from Python.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use ide3al::learn::{
    Algorithm, Evaluator, Experiment, Exploration, PolicySampler, Session, evaluate_episodic,
    generator, growing_batch,
};
use ide3al::model::{Counts, Policy, Unvisited};
use numpy::{IntoPyArray, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::json;

use crate::environment::Callbacks;
use crate::errors::{error, exception};
use crate::model::Model;
use crate::planning::InterruptiblePlanner;
use crate::settings::{fill, settings, shape};
use crate::signals::Pending;
use crate::solving::VisitSpec;

pub(crate) struct State {
    pub(crate) session: Session,
    /// Follows the learned exploration for predictions.
    pub(crate) prediction: Option<PolicySampler>,
    pub(crate) batches: u64,
    /// Whether the learner has computed what it hands over since it last learned.
    pub(crate) finalized: bool,
    /// Gives numbers for what is to be visited, of so many states.
    asked: Option<Py<PyAny>>,
    /// How many states it was asked for last.
    pub(crate) asked_for: usize,
}

/// An exploration algorithm; its environment's states are declared, or found one by one (`open`).
#[pyclass(frozen, module = "ide3al._ide3al")]
pub(crate) struct Agent {
    experiment: Experiment,
    algorithm: Algorithm,
    pub(crate) n_actions: usize,
    /// An environment that leaves its declared states makes them discovered ones.
    open: AtomicBool,
    /// How many actions each state has, where some have fewer than `n_actions`.
    widths: Mutex<Vec<usize>>,
    /// Without a fixed size batches grow with the steps so far.
    growing: bool,
    pending: Arc<Pending>,
    state: Mutex<State>,
}

impl Agent {
    pub(crate) fn is_open(&self) -> bool {
        self.open.load(Ordering::Relaxed)
    }

    /// Number of actions of a state, also of one that is only about to be added.
    pub(crate) fn width(&self, state: usize) -> usize {
        let widths = self.widths.lock().unwrap_or_else(PoisonError::into_inner);
        widths.get(state).copied().unwrap_or(self.n_actions)
    }

    /// Never waits: whoever waited here would hold the GIL that the learning thread needs to
    /// go on.
    pub(crate) fn state(&self) -> PyResult<MutexGuard<'_, State>> {
        match self.state.try_lock() {
            Ok(state) => Ok(state),
            Err(TryLockError::Poisoned(poisoned)) => Ok(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => Err(error(
                "this agent is learning at the moment; ask it in the callback of fit, or afterwards",
            )),
        }
    }

    /// The exception that waits, or the library's error.
    pub(crate) fn raise(&self, problem: ide3al::Error) -> PyErr {
        self.pending.take().unwrap_or_else(|| exception(problem))
    }

    /// Tells the learner what is asked of the visits of states met since it was last told.
    pub(crate) fn refresh(&self, py: Python<'_>, state: &mut State) -> PyResult<()> {
        let n_states = state.session.counts().n_states();
        let Some(asked) = state.asked.as_ref().filter(|_| state.asked_for != n_states) else {
            return Ok(());
        };
        let spec: VisitSpec = asked.bind(py).call1((n_states,))?.extract()?;
        let start = state.session.start();
        let model = state.session.counts().estimate(Unvisited::SelfLoop, &start);
        let visits = spec.visits(&model)?;
        state.session.set_visits(visits).map_err(exception)?;
        state.asked_for = n_states;
        Ok(())
    }

    /// Lets the learner compute what it hands over, once.
    fn finalize(&self, py: Python<'_>, state: &mut State) -> PyResult<()> {
        if state.finalized || state.session.counts().total() == 0 {
            return Ok(());
        }
        self.refresh(py, state)?;
        let session = &mut state.session;
        let finalized = py.detach(|| session.finalize(true, &AtomicBool::new(false)));
        finalized.map_err(|e| self.raise(e))?;
        state.finalized = true;
        Ok(())
    }
}

/// Most state-action pairs that are learned of: each takes some 80 bytes.
const MOST_PAIRS: usize = 1 << 26;

/// Refuses tables that would not fit into memory.
#[pyfunction]
pub(crate) fn check_pairs(n_states: usize, n_actions: usize) -> PyResult<()> {
    match n_states.checked_mul(n_actions) {
        Some(pairs) if pairs <= MOST_PAIRS => Ok(()),
        _ => Err(error(format!(
            "{n_states} states times {n_actions} actions: more than {MOST_PAIRS} pairs cannot be \
             explored; wrap the environment so that it takes one of fewer actions, with \
             gymnasium.wrappers.TransformAction(env, function, gymnasium.spaces.Discrete(n))"
        ))),
    }
}

#[pymethods]
impl Agent {
    /// `parameters`: any of formulation, xi, zeta, epsilon, eta, discount, relative_tolerance,
    /// tie_break; the rest has the defaults of `ide3al learn`.
    #[new]
    #[pyo3(signature = (algorithm, n_states, n_actions, seed, parameters, open, widths=None))]
    pub(crate) fn new(
        algorithm: &str,
        n_states: usize,
        n_actions: usize,
        seed: u64,
        parameters: &Bound<'_, PyDict>,
        open: bool,
        widths: Option<Vec<usize>>,
    ) -> PyResult<Self> {
        if n_states == 0 || n_actions == 0 {
            return Err(exception(ide3al::Error::Empty));
        }
        check_pairs(n_states, n_actions)?;
        let algorithm = Algorithm::from_name(algorithm).map_err(exception)?;
        let shape = shape(n_states, n_actions);
        let mut given = settings(parameters)?;
        fill(&mut given.visits, &shape);
        if given.paper && open {
            return Err(error(
                "paper: the paper's algorithms need to know all states beforehand; this environment \
                 does not declare a finite observation space",
            ));
        }
        let growing = !given.paper && given.batch_size.is_none();
        (given.algorithms, given.seed) = (Some(vec![algorithm.label()]), Some(seed));
        let experiment = given.resolve("", &shape).map_err(exception)?;
        experiment.validate(&shape).map_err(exception)?;
        let pending = Arc::new(Pending::default());
        let planner = InterruptiblePlanner::shared(&experiment, &pending);
        let mut actions = vec![n_actions; n_states];
        for (known, given) in actions.iter_mut().zip(widths.iter().flatten()) {
            if *given == 0 || *given > n_actions {
                return Err(error(format!("a state has {given} of {n_actions} actions")));
            }
            *known = *given;
        }
        let mut start = vec![0.0; n_states];
        start[0] = 1.0;
        let ragged = Counts::new(&actions).estimate(Unvisited::SelfLoop, &start);
        let learner = experiment.learner(&algorithm, &ragged, &planner);
        let state = State {
            session: Session::new(
                learner.map_err(exception)?,
                &actions,
                open,
                generator(seed, 0),
            ),
            prediction: None,
            batches: 0,
            finalized: false,
            asked: None,
            asked_for: 0,
        };
        Ok(Agent {
            experiment,
            algorithm,
            n_actions,
            open: AtomicBool::new(open),
            widths: Mutex::new(widths.unwrap_or_default()),
            growing,
            pending,
            state: Mutex::new(state),
        })
    }

    /// Takes a batch of steps of one environment. After a failure the next one begins with a reset.
    fn collect<'py>(
        &self,
        reset: Bound<'py, PyAny>,
        step: Bound<'py, PyAny>,
        steps: usize,
    ) -> PyResult<()> {
        let mut guard = self.state()?;
        let state = &mut *guard;
        let mut environment = Callbacks {
            reset,
            step,
            n_states: state.session.counts().n_states(),
            agent: self,
            pending: &self.pending,
        };
        let session = &mut state.session;
        session.set_open(self.is_open());
        session.begin_batch().map_err(exception)?;
        let collected = session.collect(&mut environment, steps);
        collected.map_err(|e| self.raise(e))
    }

    /// Takes a function that gives numbers for what is to be visited, of so many states.
    fn ask(&self, py: Python<'_>, asked: Py<PyAny>) -> PyResult<()> {
        let mut guard = self.state()?;
        (guard.asked, guard.asked_for) = (Some(asked), 0);
        self.refresh(py, &mut guard)
    }

    /// Forgets where the trajectory stands: the next batch begins with a reset.
    fn interrupt_trajectory(&self) -> PyResult<()> {
        self.state()?.session.interrupt();
        Ok(())
    }

    /// An action in a state, drawn from what has been learned; a mixture draws one member.
    fn draw(&self, py: Python<'_>, observed: usize) -> PyResult<usize> {
        let mut guard = self.state()?;
        let state = &mut *guard;
        let n_states = state.session.counts().n_states();
        if observed >= n_states {
            return Err(error(format!(
                "state {observed} is out of range: there are {n_states}, numbered from 0"
            )));
        }
        if state.prediction.is_none() {
            self.finalize(py, state)?;
            let mut sampler = PolicySampler::new(&widths(state.session.counts()));
            let episodic = !self.experiment.paper;
            let counts = state.session.counts().clone();
            let (exploration, rng) = state.session.exploration();
            let policy = match exploration {
                Exploration::Policy(policy) => policy,
                // an episode is over before a member's long run sets in: the one policy with the
                // visits of all
                exploration if episodic => &evaluate_episodic(exploration, &counts, false).policy,
                Exploration::Mixture(mixture) => &mixture.members[mixture.draw(rng)],
            };
            sampler.set_grown(policy, &counts).map_err(exception)?;
            state.prediction = Some(sampler);
        }
        match &state.prediction {
            Some(sampler) => Ok(sampler.draw(observed, state.session.rng())),
            None => Err(error("no policy")),
        }
    }

    /// Any action, all equally likely: for what was never seen.
    fn draw_any(&self) -> PyResult<usize> {
        let mut sampler = PolicySampler::new(&[]);
        sampler.add_state(self.n_actions);
        Ok(sampler.draw(0, self.state()?.session.rng()))
    }

    /// The policy learned; for a mixture, the one policy with the same visits (evaluated on the
    /// estimated model), with its figures: (probabilities, figures).
    fn evaluate<'py>(
        &self,
        py: Python<'py>,
    ) -> PyResult<(Bound<'py, PyArray1<f64>>, Bound<'py, PyDict>)> {
        let mut guard = self.state()?;
        let state = &mut *guard;
        self.finalize(py, state)?;
        let session = &mut state.session;
        let (policy, distribution, metrics) = py.detach(move || {
            let uniform = Policy::uniform(&shape(session.counts().n_states(), self.n_actions));
            let mut evaluator = Evaluator::new(None, uniform);
            let metrics = session.evaluate(&mut evaluator, !self.experiment.paper, true);
            (
                evaluator.policy().probabilities().to_vec(),
                evaluator.distribution().to_vec(),
                metrics,
            )
        });
        let figures = PyDict::new(py);
        figures.set_item("entropy", metrics.entropy)?;
        figures.set_item("state_action_entropy", metrics.state_action_entropy)?;
        figures.set_item("min_probability", metrics.min_probability)?;
        figures.set_item("spectral_gap", metrics.spectral_gap)?;
        figures.set_item("stationary", distribution.into_pyarray(py))?;
        Ok((policy.into_pyarray(py), figures))
    }

    /// The model estimated from what was seen.
    fn estimate(&self) -> PyResult<Model> {
        let state = self.state()?;
        let start = state.session.start();
        let unvisited = state.session.learner().unvisited();
        let model = state.session.counts().estimate(unvisited, &start);
        Ok(Model::new(model, ""))
    }

    /// How often each pair was tried.
    fn visits<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let state = self.state()?;
        let totals = state.session.counts().pair_totals().iter();
        let totals: Vec<i64> = totals.map(|&n| n as i64).collect();
        Ok(totals.into_pyarray(py))
    }

    #[getter]
    fn n_states(&self) -> PyResult<usize> {
        Ok(self.state()?.session.counts().n_states())
    }

    /// Whether states are found one by one.
    #[getter]
    fn open(&self) -> bool {
        self.is_open()
    }

    /// From now on states beyond the declared ones are added as they are met.
    fn admit_states(&self) -> PyResult<()> {
        if self.experiment.paper {
            return Err(error(
                "paper: the paper's algorithms need to know all states beforehand; this environment \
                 leaves its declared observation space",
            ));
        }
        self.open.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// How many actions a state has that is about to be met.
    fn set_width(&self, state: usize, n: usize) -> PyResult<()> {
        if n == 0 || n > self.n_actions {
            return Err(error(format!(
                "a state has {n} of {} actions",
                self.n_actions
            )));
        }
        let mut widths = self.widths.lock().unwrap_or_else(PoisonError::into_inner);
        if state >= widths.len() {
            widths.resize(state + 1, self.n_actions);
        }
        widths[state] = n;
        Ok(())
    }

    /// Number of actions of each state.
    fn widths<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let state = self.state()?;
        let counts = state.session.counts();
        let of_states: Vec<i64> = widths(counts).iter().map(|&n| n as i64).collect();
        Ok(of_states.into_pyarray(py))
    }

    #[getter]
    fn n_actions(&self) -> usize {
        self.n_actions
    }

    #[getter]
    fn steps(&self) -> PyResult<u64> {
        Ok(self.state()?.session.counts().total())
    }

    /// What the user should know of what was learned.
    fn notes(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let mut guard = self.state()?;
        self.finalize(py, &mut guard)?;
        Ok(guard.session.learner().notes())
    }

    /// The policy learned; for a mixture, see `evaluate`.
    fn policy<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        let mut guard = self.state()?;
        let state = &mut *guard;
        self.finalize(py, state)?;
        if let Exploration::Policy(policy) = state.session.learner().exploration() {
            let mut whole = policy.probabilities().to_vec();
            grow(&mut whole, state.session.counts());
            return Ok(whole.into_pyarray(py));
        }
        drop(guard);
        Ok(self.evaluate(py)?.0)
    }

    #[getter]
    fn batches(&self) -> PyResult<u64> {
        Ok(self.state()?.batches)
    }

    /// Steps of the next batch of a fit of `budget` steps in all.
    fn batch_size(&self, budget: u64) -> PyResult<u64> {
        if !self.growing {
            return Ok(self.experiment.batch_size);
        }
        Ok(growing_batch(
            self.state()?.session.counts().total(),
            budget,
        ))
    }

    /// Everything needed to go on: a JSON text and the learner's bytes.
    fn save(&self, py: Python<'_>) -> PyResult<(String, Vec<u8>)> {
        let mut guard = self.state()?;
        // whoever reads it must find the same mind
        self.finalize(py, &mut guard)?;
        let state = &*guard;
        let mut seen = Vec::new();
        for pair in 0..state.session.counts().n_pairs() {
            for &(next, count) in state.session.counts().seen(pair) {
                seen.push(json!([pair, next, count]));
            }
        }
        let text = json!({
            "format": crate::agent_file::FORMAT,
            "experiment": self.experiment,
            "algorithm": self.algorithm.label(),
            "n_states": state.session.counts().n_states(),
            "open": self.is_open(),
            "growing": self.growing,
            "starts": state.session.counts().starts(),
            "ends": state.session.counts().ends(),
            "cuts": state.session.counts().cuts(),
            "n_actions": self.n_actions,
            "widths": self.widths.lock().unwrap_or_else(PoisonError::into_inner).clone(),
            "generator": state.session.random(),
            "start": state.session.first(),
            "batches": state.batches,
            "counts": seen,
        });
        Ok((text.to_string(), state.session.learner().to_bytes()))
    }

    /// Takes back what `save` gave.
    #[staticmethod]
    fn load(py: Python<'_>, text: &str, learner: &[u8]) -> PyResult<Self> {
        crate::agent_file::load(py, text, learner)
    }
}

/// Number of actions of each state.
fn widths(counts: &Counts) -> Vec<usize> {
    let states = 0..counts.n_states();
    states.map(|s| counts.pairs(s).len()).collect()
}

/// Uniform rows for states found since a policy was made.
pub(crate) fn grow(rows: &mut Vec<f64>, counts: &Counts) {
    for s in 0..counts.n_states() {
        let pairs = counts.pairs(s);
        if pairs.start >= rows.len() {
            rows.extend(pairs.clone().map(|_| 1.0 / pairs.len() as f64));
        }
    }
}
