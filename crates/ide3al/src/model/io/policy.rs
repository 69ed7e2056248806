//! Policy files: JSON, NPY and NPZ.

use std::io::{BufReader, Write};
use std::path::Path;

use serde::Serialize;
use zip::ZipWriter;

use super::archive::Archive;
use super::enduring::Enduring;
use super::npy::{Array, Header};
use super::numbers::{Document, Numbers};
use super::{atomic, cannot_read, extension, json, malformed, npy, npz, open, unknown_format};
use crate::error::{Error, Result};
use crate::model::timed_policy::in_step;
use crate::model::{Mdp, Plan, Policy, TimedPolicy};

const KNOWN: &str = ".json, .npz or .npy";

/// Reads a stationary policy for a model; the format is told by the extension.
///
/// Accepted shapes: one row per state with as many numbers as that state has actions; one
/// row per state with a column per action number (zero where a state lacks that action); or
/// one flat list with a number per state-action pair. JSON holds it under the key `policy`
/// (what `solve --json` prints is such a file) or is the list itself; NPZ has an array
/// `policy`.
pub fn read_policy(path: &Path, mdp: &Mdp) -> Result<Policy> {
    match read_plan(path, mdp)? {
        Plan::Stationary(policy) => Ok(policy),
        Plan::Timed(policy) => Err(malformed(
            path,
            format!(
                "it holds a policy for each of {} steps, where one for all steps is needed",
                policy.steps()
            ),
        )),
    }
}

/// Reads a policy that may depend on the step: the shapes of [`read_policy`], or one such table per
/// step behind each other (in arrays the shape is $(T, S, A)$; NPZ also has $(T, \text{pairs})$
/// beside an array `steps`).
pub fn read_plan(path: &Path, mdp: &Mdp) -> Result<Plan> {
    let plan = match extension(path).as_str() {
        "json" => from_json(json::parse(path)?, mdp),
        "npz" => {
            let mut archive = Archive::open(path)?;
            if !archive.has("policy") {
                let names = archive.names().join(", ");
                return Err(malformed(
                    path,
                    format!("it has no array 'policy', only: {names}"),
                ));
            }
            let timed = archive.has("steps");
            from_array(&archive.floats("policy")?, timed, mdp)
        }
        "npy" => from_array(&read_npy(path)?, false, mdp),
        _ => return Err(unknown_format(path, KNOWN)),
    };
    plan.map_err(|error| error.in_file(path))
}

fn read_npy(path: &Path) -> Result<Array<f64>> {
    let file = open(path)?;
    let bytes = file.metadata().map_err(|e| cannot_read(path, e))?.len();
    let mut reader = BufReader::new(file);
    Header::read(&mut reader)
        .and_then(|header| header.read_floats(&mut reader, bytes))
        .map_err(|problem| malformed(path, format!("the array: {problem}")))
}

fn from_json(document: Document, mdp: &Mdp) -> Result<Plan> {
    match document.0 {
        None => Err(Error::Unsupported(
            "the key 'policy' is missing; add one list of probabilities per state".into(),
        )),
        Some(Numbers::Flat(flat)) => Policy::new(mdp, flat).map(Plan::Stationary),
        Some(Numbers::Rows(rows)) => {
            let flat = own_rows(mdp, rows.iter().map(Vec::as_slice))?;
            Policy::new(mdp, flat).map(Plan::Stationary)
        }
        Some(Numbers::Tables(tables)) => {
            let mut flat = Vec::with_capacity(tables.len() * mdp.n_pairs());
            for (step, rows) in tables.iter().enumerate() {
                let table = own_rows(mdp, rows.iter().map(Vec::as_slice));
                flat.extend(table.map_err(|e| in_step(e, step))?);
            }
            TimedPolicy::new(mdp, flat).map(Plan::Timed)
        }
    }
}

/// The states' own actions, from rows in either of the two shapes.
fn own_rows<'a>(mdp: &Mdp, rows: impl ExactSizeIterator<Item = &'a [f64]>) -> Result<Vec<f64>> {
    check_rows(rows.len(), mdp)?;
    let mut flat = Vec::with_capacity(mdp.n_pairs());
    for (state, row) in rows.enumerate() {
        flat.extend(state_row(mdp, state, row)?);
    }
    Ok(flat)
}

fn from_array(array: &Array<f64>, timed: bool, mdp: &Mdp) -> Result<Plan> {
    let strides = array.strides();
    let (steps, rows, columns) = match array.shape.as_slice() {
        [_] => (None, None, 0),
        &[steps, columns] if timed => (Some(steps), None, columns),
        &[rows, columns] => (None, Some(rows), columns),
        &[steps, rows, columns] => (Some(steps), Some(rows), columns),
        other => {
            return Err(Error::Size {
                what: "policy".into(),
                expected:
                    "an array of shape (S, A), or a number per pair, or (T, S, A) for T steps"
                        .into(),
                found: format!("shape {other:?}"),
            });
        }
    };
    let mut data = Vec::with_capacity(array.data.len());
    for step in 0..steps.unwrap_or(1) {
        // in the order of the shape, whatever the order in memory
        let first = steps.map_or(0, |_| step * strides[0]);
        let row = |at: usize| -> Vec<f64> {
            let stride = strides.last().copied().unwrap_or(1);
            (0..columns).map(|a| array.data[at + a * stride]).collect()
        };
        match rows {
            Some(rows) => {
                let stride = strides[strides.len() - 2];
                let table: Vec<Vec<f64>> = (0..rows).map(|s| row(first + s * stride)).collect();
                let own = own_rows(mdp, table.iter().map(Vec::as_slice));
                data.extend(if steps.is_some() {
                    own.map_err(|e| in_step(e, step))?
                } else {
                    own?
                });
            }
            None if steps.is_some() => data.extend(row(first)),
            None => data.extend_from_slice(&array.data),
        }
    }
    if array.single {
        // rounded to single precision: within 1e-5 of one it is meant to be one
        for table in data.chunks_exact_mut(mdp.n_pairs()) {
            for w in mdp.first_pair().windows(2) {
                npz::rescale_single(&mut table[w[0]..w[1]]);
            }
        }
    }
    match steps {
        None => Policy::new(mdp, data).map(Plan::Stationary),
        Some(_) => TimedPolicy::new(mdp, data).map(Plan::Timed),
    }
}

fn check_rows(rows: usize, mdp: &Mdp) -> Result<()> {
    if rows == mdp.n_states() {
        return Ok(());
    }
    Err(Error::Size {
        what: "policy".into(),
        expected: format!("{} rows, one per state of the model", mdp.n_states()),
        found: rows.to_string(),
    })
}

/// A row as the state's own actions, from either of the two shapes.
fn state_row(mdp: &Mdp, state: usize, row: &[f64]) -> Result<Vec<f64>> {
    let own = mdp.n_actions(state);
    if row.len() == own {
        return Ok(row.to_vec());
    }
    let labels = mdp.n_action_labels();
    // names may cover actions that no state has
    if row.len() != labels && row.len() != json::declared_actions(mdp) {
        let or = if own == labels {
            String::new()
        } else {
            format!(" (or {labels} with zeros for the missing ones)")
        };
        return Err(Error::BadPolicy {
            state,
            problem: format!("{} probabilities for {own} actions{or}", row.len()),
        });
    }
    let actions = &mdp.actions()[mdp.pairs(state)];
    for (action, p) in row.iter().enumerate() {
        if *p != 0.0 && !actions.contains(&(action as u32)) {
            return Err(Error::BadPolicy {
                state,
                problem: format!("{p} for action {action}, which this state does not have"),
            });
        }
    }
    Ok(actions.iter().map(|&a| row[a as usize]).collect())
}

/// Writes a policy that may depend on the step.
pub fn write_plan(path: &Path, mdp: &Mdp, plan: &Plan) -> Result<()> {
    match plan {
        Plan::Stationary(policy) => write_policy(path, mdp, policy),
        Plan::Timed(policy) => write_timed_policy(path, mdp, policy),
    }
}

/// Writes a policy; the format is told by the extension. An existing file is replaced.
///
/// JSON gets one row per state with that state's own actions; NPZ and NPY an array of shape
/// $(S, A)$ with zeros where a state lacks an action, or one number per pair where that
/// would be mostly zeros.
pub fn write_policy(path: &Path, mdp: &Mdp, policy: &Policy) -> Result<()> {
    if policy.probabilities().len() != mdp.n_pairs() {
        return Err(Error::Size {
            what: "policy".into(),
            expected: format!("{} state-action pairs as in the model", mdp.n_pairs()),
            found: policy.probabilities().len().to_string(),
        });
    }
    match extension(path).as_str() {
        "json" => write_json(path, mdp, policy),
        "npz" => atomic::write(path, |file| {
            let mut zip = ZipWriter::new(Enduring::new(file));
            let (shape, numbers) = as_array(mdp, policy);
            let bytes = numbers.map(f64::to_le_bytes);
            npz::member(&mut zip, "policy", "<f8", &shape, bytes)?;
            zip.finish()?.end()
        }),
        "npy" => atomic::write(path, |file| {
            let (shape, numbers) = as_array(mdp, policy);
            npy::write_header(file, "<f8", &shape)?;
            npy::write_items(file, numbers.map(f64::to_le_bytes))
        }),
        _ => Err(unknown_format(path, KNOWN)),
    }
}

fn write_json(path: &Path, mdp: &Mdp, policy: &Policy) -> Result<()> {
    #[derive(Serialize)]
    struct Row<'a>(&'a [f64]);
    atomic::write(path, |file| {
        writeln!(file, "{{\n\"states\": {},", mdp.n_states())?;
        writeln!(file, "\"actions\": {},", json::declared_actions(mdp))?;
        write!(file, "\"policy\": [")?;
        for state in 0..mdp.n_states() {
            file.write_all(if state == 0 { b"\n" } else { b",\n" })?;
            let row = Row(&policy.probabilities()[mdp.pairs(state)]);
            serde_json::to_writer(&mut *file, &row)?;
        }
        writeln!(file, "\n]\n}}")
    })
}

fn as_array<'a>(
    mdp: &'a Mdp,
    policy: &'a Policy,
) -> (Vec<usize>, Box<dyn Iterator<Item = f64> + 'a>) {
    let (n, labels) = (mdp.n_states(), mdp.n_action_labels());
    let probabilities = policy.probabilities();
    if mostly_missing(mdp) {
        return (vec![mdp.n_pairs()], Box::new(probabilities.iter().copied()));
    }
    (vec![n, labels], Box::new(full_rows(mdp, probabilities)))
}

/// Whether an array with a column per action number would be mostly zeros.
fn mostly_missing(mdp: &Mdp) -> bool {
    let most = mdp.n_pairs().saturating_mul(16).saturating_add(1 << 20);
    mdp.n_states().saturating_mul(mdp.n_action_labels()) > most
}

/// One row per state with a column per action number, zero where a state lacks that action.
fn full_rows<'a>(mdp: &'a Mdp, probabilities: &'a [f64]) -> impl Iterator<Item = f64> + 'a {
    let labels = mdp.n_action_labels() as u32;
    (0..mdp.n_states()).flat_map(move |s| {
        let mut pairs = mdp.pairs(s).peekable();
        (0..labels).map(move |a| {
            let pair = pairs.next_if(|&pair| mdp.actions()[pair] == a);
            pair.map_or(0.0, |pair| probabilities[pair])
        })
    })
}

/// Writes a time-dependent policy; the format is told by the extension. An existing file is
/// replaced.
///
/// JSON gets one table per step, NPY an array of shape $(T, S, A)$, NPZ the same, or
/// $(T, \text{pairs})$ where that would be mostly zeros, beside the number of steps.
pub fn write_timed_policy(path: &Path, mdp: &Mdp, policy: &TimedPolicy) -> Result<()> {
    if policy.at(0).len() != mdp.n_pairs() {
        return Err(Error::Size {
            what: "time-dependent policy".into(),
            expected: format!("{} state-action pairs as in the model", mdp.n_pairs()),
            found: policy.at(0).len().to_string(),
        });
    }
    let (steps, flat) = (policy.steps(), mostly_missing(mdp));
    let full = [steps, mdp.n_states(), mdp.n_action_labels()];
    let full_tables =
        || (0..steps).flat_map(|t| full_rows(mdp, policy.at(t)).map(f64::to_le_bytes));
    match extension(path).as_str() {
        "json" => write_json_tables(path, mdp, policy),
        "npz" => atomic::write(path, |file| {
            let mut zip = ZipWriter::new(Enduring::new(file));
            if flat {
                let numbers = policy.probabilities().iter().map(|p| p.to_le_bytes());
                npz::member(&mut zip, "policy", "<f8", &[steps, mdp.n_pairs()], numbers)?;
            } else {
                npz::member(&mut zip, "policy", "<f8", &full, full_tables())?;
            }
            let count = std::iter::once((steps as u64).to_le_bytes());
            npz::member(&mut zip, "steps", "<i8", &[1], count)?;
            zip.finish()?.end()
        }),
        "npy" => atomic::write(path, |file| {
            npy::write_header(file, "<f8", &full)?;
            npy::write_items(file, full_tables())
        }),
        _ => Err(unknown_format(path, KNOWN)),
    }
}

fn write_json_tables(path: &Path, mdp: &Mdp, policy: &TimedPolicy) -> Result<()> {
    atomic::write(path, |file| {
        writeln!(file, "{{\n\"states\": {},", mdp.n_states())?;
        writeln!(file, "\"actions\": {},", json::declared_actions(mdp))?;
        writeln!(file, "\"steps\": {},", policy.steps())?;
        write!(file, "\"policy\": [")?;
        for t in 0..policy.steps() {
            file.write_all(if t == 0 { b"\n[" } else { b",\n[" })?;
            for state in 0..mdp.n_states() {
                file.write_all(if state == 0 { b"" } else { b",\n" })?;
                serde_json::to_writer(&mut *file, &policy.at(t)[mdp.pairs(state)])?;
            }
            file.write_all(b"]")?;
        }
        writeln!(file, "\n]\n}}")
    })
}
