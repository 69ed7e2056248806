//! A saved agent: its counts, generator and settings as JSON, checked before memory is taken.

use ide3al::learn::Experiment;
use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};

use crate::agent::Agent;
use crate::errors::{error, exception};

/// Changes whenever what an agent saves does.
pub(crate) const FORMAT: u64 = 5;

/// The agent that `Agent::save` wrote as a text and the learner's bytes.
pub(crate) fn load(py: Python<'_>, text: &str, learner: &[u8]) -> PyResult<Agent> {
    let damaged = |what: &str| error(format!("the agent's file is damaged: {what}"));
    let value: Value =
        serde_json::from_str(text).map_err(|e| damaged(&format!("agent.json: {e}")))?;
    if value["format"] != json!(FORMAT) {
        return Err(error(format!(
            "the agent's file has format {}, this version of ide3al reads format {FORMAT}",
            value["format"]
        )));
    }
    let flag = |key: &str| value[key].as_bool().ok_or_else(|| damaged(key));
    let number = |key: &str| value[key].as_u64().ok_or_else(|| damaged(key));
    let experiment: Experiment =
        serde_json::from_value(value["experiment"].clone()).map_err(|e| damaged(&e.to_string()))?;
    let (n_states, n_actions) = (number("n_states")?, number("n_actions")?);
    let counts = value["counts"]
        .as_array()
        .ok_or_else(|| damaged("counts"))?;
    // what a header claims must not exhaust the machine: every state is listed, too
    let listed = value["starts"].as_array().map_or(0, Vec::len) as u64;
    if listed != n_states || n_states.saturating_mul(n_actions) > 1 << 28 {
        return Err(damaged("n_states"));
    }
    // written only where states have different numbers of actions
    let widths: Vec<usize> = match &value["widths"] {
        Value::Null => Vec::new(),
        given => serde_json::from_value(given.clone()).map_err(|_| damaged("widths"))?,
    };
    if widths.len() as u64 > n_states {
        return Err(damaged("widths"));
    }
    let parameters = PyDict::new(py);
    parameters.set_item("formulation", &experiment.formulation)?;
    parameters.set_item("xi", experiment.xi)?;
    parameters.set_item("zeta", experiment.zeta)?;
    let visits = &experiment.visits;
    let budgets: Vec<f64> = visits.limits.iter().map(|limit| limit.budget).collect();
    parameters.set_item("restart", visits.restart)?;
    parameters.set_item("weighted", !visits.target.is_empty())?;
    parameters.set_item("budgets", budgets)?;
    parameters.set_item("known", experiment.known)?;
    parameters.set_item("horizon", experiment.horizon)?;
    parameters.set_item("epsilon", experiment.epsilon)?;
    parameters.set_item("eta", experiment.eta)?;
    parameters.set_item("discount", experiment.discount)?;
    parameters.set_item("relative_tolerance", experiment.relative_tolerance)?;
    parameters.set_item("rough_tolerance", experiment.rough_tolerance)?;
    parameters.set_item("tie_break", experiment.tie_break.name())?;
    let (open, growing) = (flag("open")?, flag("growing")?);
    if !growing {
        parameters.set_item("batch_size", experiment.batch_size)?;
    }
    parameters.set_item("paper", experiment.paper)?;
    let agent = Agent::new(
        value["algorithm"]
            .as_str()
            .ok_or_else(|| damaged("algorithm"))?,
        n_states as usize,
        n_actions as usize,
        experiment.seed,
        &parameters,
        open,
        Some(widths),
    )?;
    {
        let mut guard = agent.state()?;
        let state = &mut *guard;
        let rng = serde_json::from_value(value["generator"].clone())
            .map_err(|e| damaged(&e.to_string()))?;
        let first = match value["start"].as_u64() {
            Some(start) if start >= n_states => return Err(damaged("start")),
            start => start.map(|s| s as usize),
        };
        state.batches = number("batches")?;
        state.finalized = true;
        let mut held = state.session.counts().clone();
        for entry in counts {
            let (pair, next, count): (usize, usize, u64) =
                serde_json::from_value(entry.clone()).map_err(|e| damaged(&e.to_string()))?;
            if count > u64::MAX >> 16 {
                return Err(damaged("counts"));
            }
            held.add(pair, next, count).map_err(exception)?;
        }
        let episodes = |key: &str| {
            let read: Vec<u64> =
                serde_json::from_value(value[key].clone()).map_err(|e| damaged(&e.to_string()))?;
            if read.len() as u64 != n_states || read.iter().any(|n| *n > u64::MAX >> 16) {
                return Err(damaged(key));
            }
            Ok(read)
        };
        let (starts, ends) = (episodes("starts")?, episodes("ends")?);
        let cuts = number("cuts")?;
        held.set_episodes(starts, ends, cuts).map_err(exception)?;
        state.session.restore(held, first, rng);
        state.session.restore_learner(learner).map_err(exception)?;
    }
    Ok(agent)
}
