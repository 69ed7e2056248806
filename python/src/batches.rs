//! Steps taken elsewhere: in many environments at once, or on other machines. Python steps, the
//! agent draws, records and learns.

use std::sync::atomic::AtomicBool;

use ide3al::learn::{End, Move, Session};
use ide3al::model::Counts;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::agent::{Agent, check_pairs, grow};
use crate::errors::{error, exception};
use crate::planning::nothing_to_explore;

/// Most environments that are explored together.
const MOST_FOLLOWERS: usize = 1 << 20;

/// Begins a batch: the policy for it, one probability per pair, or `None` where the learner chooses
/// each action by itself. [`agent_draw`] acts with it from now on.
#[pyfunction]
pub(crate) fn agent_behaviour<'py>(
    py: Python<'py>,
    agent: &Agent,
) -> PyResult<Option<Bound<'py, PyArray1<f64>>>> {
    let mut guard = agent.state()?;
    let state = &mut *guard;
    state.session.set_open(agent.is_open());
    let Some(policy) = state.session.begin_batch().map_err(exception)? else {
        return Ok(None);
    };
    let mut rows = policy.probabilities().to_vec();
    grow(&mut rows, state.session.counts());
    Ok(Some(rows.into_pyarray(py)))
}

/// An action in each of the states, chosen one after the other; a state never met is played
/// uniformly. `followers`: which of the environments explored together each state is of.
#[pyfunction]
pub(crate) fn agent_draw<'py>(
    py: Python<'py>,
    agent: &Agent,
    states: PyReadonlyArray1<'py, i64>,
    followers: PyReadonlyArray1<'py, i64>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let mut guard = agent.state()?;
    let session = &mut guard.session;
    let mut actions = Vec::with_capacity(states.len()?);
    for (&observed, &follower) in states.as_array().iter().zip(followers.as_array()) {
        let observed = known(agent, session, observed)?;
        actions.push(session.act(number(follower)?, observed) as i64);
    }
    Ok(actions.into_pyarray(py))
}

/// Remembers steps, one row each: state, action, next state, how it ended, and which of the
/// environments explored together took it. 0 goes on, 1 ended in a terminal state, 2 was cut short,
/// 3 is a step that left a terminal state for a start. `starts`: where episodes began after that, a
/// state and an environment each.
#[pyfunction]
pub(crate) fn agent_record(
    agent: &Agent,
    steps: PyReadonlyArray2<'_, i64>,
    starts: PyReadonlyArray2<'_, i64>,
) -> PyResult<()> {
    let mut guard = agent.state()?;
    let session = &mut guard.session;
    for row in steps.as_array().rows() {
        let (from, next) = (
            known(agent, session, row[0])?,
            known(agent, session, row[2])?,
        );
        let action = action_of(session.counts(), from, row[1])?;
        let what = match row[3] {
            1 => Move::Step(End::Terminal),
            2 => Move::Step(End::Truncated),
            3 => Move::Restart,
            _ => Move::Step(End::Continues),
        };
        session.record(number(row[4])?, from, action, next, what);
    }
    for row in starts.as_array().rows() {
        let start = known(agent, session, row[0])?;
        session.record_start(number(row[1])?, start);
    }
    Ok(())
}

/// The number of one of the environments explored together.
fn number(follower: i64) -> PyResult<usize> {
    let limit = |k: &usize| *k < MOST_FOLLOWERS;
    usize::try_from(follower).ok().filter(limit).ok_or_else(|| {
        error(format!(
            "environment {follower}: 0 to {MOST_FOLLOWERS} can be explored together"
        ))
    })
}

/// An action that the state has.
fn action_of(counts: &Counts, from: usize, action: i64) -> PyResult<usize> {
    let actions = counts.pairs(from).len();
    let found = usize::try_from(action).ok().filter(|a| *a < actions);
    found.ok_or_else(|| {
        error(format!(
            "action {action} is out of range: there are {actions}, numbered from 0"
        ))
    })
}

/// One step into counts that nobody learns from meanwhile.
pub(crate) fn record(
    counts: &mut Counts,
    from: usize,
    action: i64,
    next: usize,
    end: i64,
) -> PyResult<()> {
    let action = action_of(counts, from, action)?;
    counts.record(from, action, next);
    match end {
        2 => counts.record_truncation(),
        3 => counts.record_end(from),
        _ => {}
    }
    Ok(())
}

/// A state's number, after making room for it where states are found one by one.
fn known(agent: &Agent, session: &mut Session, observed: i64) -> PyResult<usize> {
    let limit = session.counts().n_states();
    let found = usize::try_from(observed).ok();
    match found.filter(|s| *s < limit || (agent.is_open() && *s < u32::MAX as usize)) {
        Some(state) => {
            check_pairs(state + 1, agent.n_actions)?;
            session.make_room(state, |s| agent.width(s));
            Ok(state)
        }
        None => Err(error(format!(
            "state {observed} is out of range: there are {limit}, numbered from 0"
        ))),
    }
}

/// Learns from everything remembered so far.
#[pyfunction]
pub(crate) fn agent_learn(py: Python<'_>, agent: &Agent, last: bool) -> PyResult<()> {
    let mut guard = agent.state()?;
    let state = &mut *guard;
    if let Some(problem) = nothing_to_explore(state.session.counts()) {
        return Err(error(problem));
    }
    agent.refresh(py, state)?;
    let session = &mut state.session;
    let learned = py.detach(|| session.update(last, &AtomicBool::new(false)));
    learned.map_err(|e| agent.raise(e))?;
    state.batches += 1;
    state.finalized = false;
    state.prediction = None;
    py.check_signals()
}
