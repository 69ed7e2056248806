//! Cells cut anew: an agent's counts made again from the steps that were recorded.

use ide3al::learn::Trajectory;
use ide3al::model::Counts;
use numpy::{PyReadonlyArray1, PyUntypedArrayMethods};
use pyo3::prelude::*;

use crate::agent::Agent;
use crate::errors::{error, exception};

/// Replaces all that an agent has counted. `transitions` are (state, action, next state), one entry
/// per observation; `starts` and `ends` say how often episodes began and ended in each state,
/// `cuts` how many were cut short; state `s` is made of what was `origin[s]` before; `at` is where
/// the trajectory stands, if one does, and whether the episode has ended there.
#[pyfunction]
#[allow(clippy::too_many_arguments)] // one argument per thing counted
pub(crate) fn recount(
    agent: &Agent,
    states: PyReadonlyArray1<'_, i64>,
    actions: PyReadonlyArray1<'_, i64>,
    following: PyReadonlyArray1<'_, i64>,
    starts: Vec<u64>,
    ends: Vec<u64>,
    cuts: u64,
    origin: Vec<usize>,
    at: Option<(usize, bool)>,
) -> PyResult<()> {
    if !agent.is_open() {
        return Err(error("recount: this agent's states were declared"));
    }
    let n = origin.len();
    if n == 0 || states.len() != actions.len() || states.len() != following.len() {
        return Err(error("recount: arrays of different lengths, or no states"));
    }
    if at.is_some_and(|(at, _)| at >= n) {
        return Err(error("recount: the trajectory is nowhere"));
    }
    let shape = vec![agent.n_actions; n];
    let mut counts = Counts::new(&shape);
    let columns = (states.as_array(), actions.as_array(), following.as_array());
    for ((&s, &a), &t) in columns.0.iter().zip(columns.1).zip(columns.2) {
        let within = |k: i64, limit: usize| usize::try_from(k).is_ok_and(|k| k < limit);
        if !(within(s, n) && within(a, agent.n_actions) && within(t, n)) {
            return Err(error(format!("recount: no such transition: {s}, {a}, {t}")));
        }
        counts.record(s as usize, a as usize, t as usize);
    }
    let first = starts.iter().position(|begun| *begun > 0);
    counts.set_episodes(starts, ends, cuts).map_err(exception)?;
    let trajectory = at.map(|(state, terminal)| Trajectory { state, terminal });
    let mut state = agent.state()?;
    state
        .session
        .repartition(counts, &origin, first, trajectory)
        .map_err(exception)?;
    state.prediction = None;
    // the numbers asked for were of other states
    (state.finalized, state.asked_for) = (false, 0);
    Ok(())
}
