//! Transition tables of Gymnasium's toy environments.

use ide3al::model::{Mdp, Rewards};
use pyo3::exceptions::{PyIndexError, PyKeyError};
use pyo3::prelude::*;

use crate::errors::{error, exception};

/// Reads `P[s][a] = [(probability, next state, reward, terminated), ...]`.
///
/// A state that some transition of positive probability enters with `terminated` is
/// terminal: whatever the action, it leads to the start distribution (`reset`) or to itself.
/// This is the chain in which an agent lives that resets the environment after each episode
/// and counts the reset as a step. Rewards are kept as expectations; leaving a terminal state earns
/// nothing.
pub(crate) fn read(
    table: &Bound<'_, PyAny>,
    n_states: usize,
    n_actions: usize,
    start: Vec<f64>,
    reset: bool,
) -> PyResult<Mdp> {
    let py = table.py();
    let mut offsets = vec![0];
    let mut indices: Vec<u32> = Vec::new();
    let mut values: Vec<f64> = Vec::new();
    let mut rewards = vec![0.0; n_states * n_actions];
    let mut terminal = vec![false; n_states];
    for s in 0..n_states {
        let row = item(table, s, || format!("P has no state {s}"))?;
        for a in 0..n_actions {
            let place = || format!("P has no action {a} in state {s}");
            let outcomes = item(&row, a, place)?;
            for outcome in outcomes.try_iter()? {
                let (probability, next, reward, terminated): (
                    f64,
                    i64,
                    f64,
                    Bound<'_, PyAny>,
                ) = outcome?.extract().map_err(|problem: PyErr| {
                    error(format!(
                        "P[{s}][{a}]: an entry is not (probability, next state, reward, terminated): {}",
                        problem.value(py)
                    ))
                })?;
                let next = usize::try_from(next)
                    .ok()
                    .filter(|t| *t < n_states)
                    .ok_or_else(|| {
                        error(format!(
                            "P[{s}][{a}]: next state {next} is out of range: there are {n_states}, numbered from 0"
                        ))
                    })?;
                if probability == 0.0 {
                    continue;
                }
                if terminated.is_truthy()? {
                    terminal[next] = true;
                }
                rewards[s * n_actions + a] += probability * reward;
                indices.push(next as u32);
                values.push(probability);
            }
            offsets.push(indices.len());
        }
    }
    py.check_signals()?;
    py.detach(|| {
        let built = Mdp::from_fn(n_states, n_actions, |s, a, row| {
            if terminal[s] && reset {
                row.extend(start.iter().copied().enumerate().filter(|(_, p)| *p != 0.0));
            } else if terminal[s] {
                row.push((s, 1.0));
            } else {
                let pair = s * n_actions + a;
                let range = offsets[pair]..offsets[pair + 1];
                let entries = indices[range.clone()].iter().zip(&values[range]);
                row.extend(entries.map(|(&t, &p)| (t as usize, p)));
            }
            true
        });
        for s in (0..n_states).filter(|s| terminal[*s]) {
            rewards[s * n_actions..(s + 1) * n_actions].fill(0.0);
        }
        let ended = (0..n_states).filter(|s| terminal[*s]).collect();
        let model = built?.with_start(start)?.with_terminal(ended)?;
        // a table of zeros says nothing of rewards
        if rewards.iter().all(|r| *r == 0.0) {
            return Ok(model);
        }
        model.with_rewards(Rewards::Pairs(&rewards))
    })
    .map_err(exception)
}

/// `container[key]`, for dictionaries and lists.
fn item<'py>(
    container: &Bound<'py, PyAny>,
    key: usize,
    missing: impl Fn() -> String,
) -> PyResult<Bound<'py, PyAny>> {
    container.get_item(key).map_err(|problem| {
        let py = container.py();
        if problem.is_instance_of::<PyKeyError>(py) || problem.is_instance_of::<PyIndexError>(py) {
            error(missing())
        } else {
            problem
        }
    })
}
