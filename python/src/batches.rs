//! Steps taken elsewhere: in many environments at once, or on other machines. Python steps, the
//! agent draws, records and learns.

use std::sync::atomic::AtomicBool;

use ide3al::learn::Lesson;
use ide3al::model::Counts;
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::agent::{Agent, State, grow};
use crate::errors::{error, exception};
use crate::planning::nothing_to_explore;

/// The policy for the next batch, one probability per pair; [`agent_draw`] follows it from now on.
#[pyfunction]
pub(crate) fn agent_behaviour<'py>(
    py: Python<'py>,
    agent: &Agent,
) -> PyResult<Bound<'py, PyArray1<f64>>> {
    let mut guard = agent.state()?;
    let state = &mut *guard;
    let behaviour = state.learner.behaviour(&mut state.rng);
    state
        .sampler
        .set_grown(behaviour, &state.counts)
        .map_err(exception)?;
    let mut rows = behaviour.probabilities().to_vec();
    grow(&mut rows, &state.counts);
    Ok(rows.into_pyarray(py))
}

/// An action in each of the states, drawn one after the other; a state never met is played
/// uniformly.
#[pyfunction]
pub(crate) fn agent_draw<'py>(
    py: Python<'py>,
    agent: &Agent,
    states: PyReadonlyArray1<'py, i64>,
) -> PyResult<Bound<'py, PyArray1<i64>>> {
    let mut guard = agent.state()?;
    let state = &mut *guard;
    let mut actions = Vec::with_capacity(states.len()?);
    for &observed in states.as_array() {
        let observed = known(agent, state, observed)?;
        actions.push(state.sampler.draw(observed, &mut state.rng) as i64);
    }
    Ok(actions.into_pyarray(py))
}

/// Remembers steps, one row each: state, action, next state, and how it ended: 0 goes on, 1 in a
/// terminal state, 2 cut short, 3 a step that left a terminal state for a start. `starts`: where
/// episodes began.
#[pyfunction]
pub(crate) fn agent_record(
    agent: &Agent,
    steps: PyReadonlyArray2<'_, i64>,
    starts: PyReadonlyArray1<'_, i64>,
) -> PyResult<()> {
    let mut guard = agent.state()?;
    let state = &mut *guard;
    for &start in starts.as_array() {
        let start = known(agent, state, start)?;
        state.counts.record_start(start);
        state.start.get_or_insert(start);
    }
    for row in steps.as_array().rows() {
        let (from, next) = (known(agent, state, row[0])?, known(agent, state, row[2])?);
        record(&mut state.counts, from, row[1], next, row[3])?;
    }
    Ok(())
}

/// One step into the counts.
pub(crate) fn record(
    counts: &mut Counts,
    from: usize,
    action: i64,
    next: usize,
    end: i64,
) -> PyResult<()> {
    let actions = counts.pairs(from).len();
    let action = usize::try_from(action)
        .ok()
        .filter(|a| *a < actions)
        .ok_or_else(|| {
            error(format!(
                "action {action} is out of range: there are {actions}, numbered from 0"
            ))
        })?;
    counts.record(from, action, next);
    match end {
        2 => counts.record_cut(),
        3 => counts.record_end(from),
        _ => {}
    }
    Ok(())
}

/// A state's number, after making room for it where states are found one by one.
fn known(agent: &Agent, state: &mut State, observed: i64) -> PyResult<usize> {
    let limit = state.counts.n_states();
    let found = usize::try_from(observed).ok();
    match found.filter(|s| *s < limit || (agent.is_open() && *s < u32::MAX as usize)) {
        Some(s) => {
            while state.counts.n_states() <= s {
                let width = agent.width(state.counts.n_states());
                state.counts.add_state(width);
                state.sampler.add_state(width);
            }
            Ok(s)
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
    learn(py, agent, &mut guard, last)
}

/// One lesson.
pub(crate) fn learn(py: Python<'_>, agent: &Agent, state: &mut State, last: bool) -> PyResult<()> {
    if let Some(problem) = nothing_to_explore(&state.counts) {
        return Err(error(problem));
    }
    let start = agent.start(state);
    let (learner, counts) = (&mut state.learner, &state.counts);
    let learned = py.detach(|| {
        learner.update(&Lesson {
            counts,
            start: &start,
            last,
            open: agent.is_open(),
            stop: &AtomicBool::new(false),
        })
    });
    learned.map_err(|e| agent.raise(e))?;
    state.batches += 1;
    state.concluded = false;
    state.prediction = None;
    py.check_signals()
}
