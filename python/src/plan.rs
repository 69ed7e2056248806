//! Planning: policies for rewards and goals, and what is known of them from what was tried.

use std::time::Duration;

use ide3al::model::{Mdp, Plan, Rewards};
use ide3al::plan::{Bounding, Criterion, Evidence, Goal, Options, Planned, plan_each, plan_goal};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::{error, exception};
use crate::model::Model;
use crate::signals::Signals;

type Numbers<'py> = Bound<'py, PyArray1<f64>>;

/// Values, their error, number of tables of the policy (none: one for all steps), the policy, steps
/// to a goal, and the certificate.
type Answer<'py> = (
    Numbers<'py>,
    f64,
    Option<usize>,
    Numbers<'py>,
    Option<Numbers<'py>>,
    Bound<'py, PyDict>,
);

/// Expected reward of each pair, if the model has rewards.
#[pyfunction]
pub(crate) fn model_rewards<'py>(py: Python<'py>, model: &Model) -> Option<Numbers<'py>> {
    let rewards = model.mdp.rewards();
    rewards.map(|r| PyArray1::from_slice(py, r))
}

/// States in which episodes end.
#[pyfunction]
pub(crate) fn model_terminal(model: &Model) -> Vec<usize> {
    model.mdp.terminal().to_vec()
}

/// The expected reward of each pair, from numbers per state, pair, transition or triple.
#[pyfunction]
pub(crate) fn expected_rewards<'py>(
    py: Python<'py>,
    model: &Model,
    rewards: PyReadonlyArray1<'_, f64>,
) -> PyResult<Numbers<'py>> {
    let numbers = rewards.as_array().to_vec();
    let expected = Rewards::of(&model.mdp, &numbers).and_then(|r| model.mdp.expected_rewards(r));
    Ok(expected.map_err(exception)?.into_pyarray(py))
}

/// The same model with an expected reward for each pair (if given), and with these states as those
/// in which episodes end.
#[pyfunction]
pub(crate) fn model_with_rewards(
    model: &Model,
    rewards: Option<PyReadonlyArray1<'_, f64>>,
    terminal: Vec<usize>,
) -> PyResult<Model> {
    let mut mdp = Mdp::clone(&model.mdp);
    if let Some(rewards) = rewards {
        let numbers = rewards.as_array().to_vec();
        mdp = mdp
            .with_rewards(Rewards::Pairs(&numbers))
            .map_err(exception)?;
    }
    mdp = mdp.with_terminal(terminal).map_err(exception)?;
    Ok(Model::new(mdp, &model.spec))
}

/// Tolerance, most iterations, most seconds.
type Limits = (f64, usize, Option<f64>);

/// The best policy for each of some rewards, one number per pair: discounted, within a number of
/// steps, or for the average where neither is given.
#[pyfunction]
pub(crate) fn plan_rewards<'py>(
    py: Python<'py>,
    model: &Model,
    rewards: Vec<PyReadonlyArray1<'_, f64>>,
    discount: Option<f64>,
    within: Option<usize>,
    limits: Limits,
) -> PyResult<Vec<Answer<'py>>> {
    let criterion = match (discount, within) {
        (Some(discount), _) => Criterion::Discounted(discount),
        (None, Some(steps)) => Criterion::Within(steps),
        (None, None) => Criterion::Average,
    };
    let options = options(limits)?;
    let of = |reward: &PyReadonlyArray1<'_, f64>| reward.as_array().to_vec();
    let rewards: Vec<Vec<f64>> = rewards.iter().map(of).collect();
    let mut signals = Signals::new();
    let found = py.detach(|| plan_each(&model.mdp, &rewards, criterion, &options, &mut signals));
    signals.finish()?;
    let found = found.map_err(exception)?;
    found.into_iter().map(|one| answer(py, one)).collect()
}

/// The policy that reaches a goal with the largest probability, and then soonest.
#[pyfunction]
#[pyo3(name = "plan_goal")]
pub(crate) fn plan_goal_of<'py>(
    py: Python<'py>,
    model: &Model,
    reach: Vec<usize>,
    avoid: Vec<usize>,
    within: Option<usize>,
    limits: Limits,
) -> PyResult<Answer<'py>> {
    let options = options(limits)?;
    let goal = Goal { reach, avoid };
    let mut signals = Signals::new();
    let found = py.detach(|| plan_goal(&model.mdp, &goal, within, &options, &mut signals));
    signals.finish()?;
    answer(py, found.map_err(exception)?)
}

fn options((tolerance, max_iterations, time_limit): Limits) -> PyResult<Options> {
    let limit = |seconds: f64| {
        Duration::try_from_secs_f64(seconds).map_err(|_| {
            error(format!(
                "time_limit = {seconds}: a number of seconds is needed"
            ))
        })
    };
    Ok(Options {
        tolerance,
        max_iterations,
        time_limit: time_limit.map(limit).transpose()?,
        ..Options::default()
    })
}

fn answer<'py>(py: Python<'py>, found: Planned) -> PyResult<Answer<'py>> {
    let (tables, policy) = match &found.policy {
        Plan::Stationary(policy) => (None, policy.probabilities()),
        Plan::Timed(policy) => (Some(policy.steps()), policy.probabilities()),
    };
    let certificate = PyDict::new(py);
    let said = &found.certificate;
    certificate.set_item("objective", said.objective)?;
    certificate.set_item("bound", said.bound)?;
    certificate.set_item("gap", said.gap)?;
    certificate.set_item("status", said.status.name())?;
    certificate.set_item("iterations", said.iterations)?;
    certificate.set_item("seconds", said.seconds)?;
    let policy = PyArray1::from_slice(py, policy);
    let steps = found.steps.map(|steps| steps.into_pyarray(py));
    Ok((
        found.values.into_pyarray(py),
        found.error,
        tables,
        policy,
        steps,
        certificate,
    ))
}

/// State, action and error of a pair.
type PairError = (usize, u32, f64);

/// What was tried, as sorted rows of state, action, next state, count, sum of rewards and sum of
/// their squares.
#[pyclass(frozen, module = "ide3al._ide3al")]
pub(crate) struct Tried {
    evidence: Evidence,
}

#[pymethods]
impl Tried {
    /// `steps` has rows of state, action, next state and count, sorted; `rewards` mean and variance
    /// of each row's rewards; `starts` rows of state and count.
    #[new]
    #[pyo3(signature = (steps, rewards, starts, terminal, n_states, n_actions, declared))]
    fn new(
        steps: Vec<(u32, u32, u32, u64)>,
        rewards: Vec<(f64, f64)>,
        starts: Vec<(u32, u64)>,
        terminal: Vec<usize>,
        n_states: usize,
        n_actions: usize,
        declared: bool,
    ) -> PyResult<Self> {
        let known = |s: u32| (s as usize) < n_states;
        let sorted = steps
            .windows(2)
            .all(|w| (w[0].0, w[0].1, w[0].2) < (w[1].0, w[1].1, w[1].2));
        let inside = steps
            .iter()
            .all(|x| known(x.0) && known(x.2) && (x.1 as usize) < n_actions && x.3 > 0);
        let starts_inside = starts.iter().all(|x| known(x.0) && x.1 > 0);
        if !sorted
            || !inside
            || !starts_inside
            || rewards.len() != steps.len()
            || terminal.iter().any(|s| *s >= n_states)
        {
            return Err(error(
                "what was tried does not fit together: states, actions and counts",
            ));
        }
        let mut evidence = Evidence {
            first_pair: vec![0],
            offsets: vec![0],
            ended: vec![false; n_states],
            starts,
            n_actions,
            declared: declared.then_some(n_states),
            ..Evidence::default()
        };
        terminal.iter().for_each(|s| evidence.ended[*s] = true);
        let mut rest = steps.as_slice();
        for state in 0..n_states as u32 {
            while let Some(&(_, action, _, _)) = rest.first().filter(|x| x.0 == state) {
                let length = rest.partition_point(|x| (x.0, x.1) <= (state, action));
                let (pair, after) = rest.split_at(length);
                evidence.actions.push(action);
                evidence.next.extend(pair.iter().map(|x| x.2));
                evidence.counts.extend(pair.iter().map(|x| x.3));
                evidence.offsets.push(evidence.next.len());
                rest = after;
            }
            evidence.first_pair.push(evidence.actions.len());
        }
        evidence.reward = rewards.iter().map(|x| x.0).collect();
        evidence.variance = rewards.iter().map(|x| x.1).collect();
        Ok(Tried { evidence })
    }

    /// Lower and upper bound of the value of a policy from the start in the true environment, and a
    /// bound for all policies. `actions` is the action of each state, -1 where none that was tried
    /// is taken; `reward` one number per row of what was tried, or none for the rewards kept.
    #[pyo3(signature = (
        actions, reward, discount, reward_range, confidence, terminal=None, values=None
    ))]
    #[allow(clippy::too_many_arguments)]
    fn value_interval(
        &self,
        py: Python<'_>,
        actions: Vec<i64>,
        reward: Option<Vec<f64>>,
        discount: f64,
        reward_range: (f64, f64),
        confidence: f64,
        terminal: Option<Vec<usize>>,
        values: Option<(f64, f64)>,
    ) -> PyResult<[f64; 3]> {
        let mut evidence = self.evidence.clone();
        if actions.len() + 1 != evidence.first_pair.len() {
            return Err(error("value_interval: one action per state is needed"));
        }
        if let Some(reward) = reward {
            if reward.len() != evidence.next.len() {
                return Err(error("value_interval: one reward per outcome is needed"));
            }
            evidence.reward = reward;
            evidence.variance.clear();
        }
        for s in terminal.unwrap_or_default() {
            *evidence
                .ended
                .get_mut(s)
                .ok_or_else(|| error("terminal: no such state"))? = true;
        }
        let choice: Vec<Option<usize>> = actions
            .iter()
            .enumerate()
            .map(|(s, action)| {
                let mut pairs = evidence.first_pair[s]..evidence.first_pair[s + 1];
                pairs.find(|pair| i64::from(evidence.actions[*pair]) == *action)
            })
            .collect();
        let how = Bounding {
            discount,
            rewards: reward_range,
            values,
            confidence,
        };
        py.detach(|| evidence.value_interval(&choice, how))
            .map_err(exception)
    }

    /// How far the value of any policy for any reward in [0, 1] in the model of the counts can be
    /// from the truth, as a share of the largest value; and the same of each pair tried, as rows of
    /// state, action and error.
    fn reward_free_error(
        &self,
        py: Python<'_>,
        discount: f64,
        confidence: f64,
    ) -> PyResult<(f64, Vec<PairError>)> {
        let how = Bounding {
            discount,
            rewards: (0.0, 1.0),
            values: None,
            confidence,
        };
        let evidence = &self.evidence;
        let (error, pairs) = py
            .detach(|| evidence.reward_free_error(how))
            .map_err(exception)?;
        let mut rows = Vec::with_capacity(pairs.len());
        for s in 0..evidence.first_pair.len() - 1 {
            for pair in evidence.first_pair[s]..evidence.first_pair[s + 1] {
                rows.push((s, evidence.actions[pair], pairs[pair]));
            }
        }
        Ok((error, rows))
    }
}
