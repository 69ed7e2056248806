//! UMB: writing. A plain tar archive; what the format has no word for (an uneven start, names
//! of states, a map) goes into files of our own, which other programs pass over.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;

use serde_json::json;

use super::umb::{self, System, Type};
use super::umb_rewards::{Annotation, OWN, values_file};
use super::{atomic, tar};
use crate::error::{Error, Result};
use crate::model::{Mdp, Row};

/// Most transitions that uniform rows may be written out to.
const MAX_FILLED: usize = 1 << 28;

/// Writes a model.
pub(super) fn write(path: &Path, mdp: &Mdp) -> Result<()> {
    let (n, pairs) = (mdp.n_states(), mdp.n_pairs());
    let filled = (0..pairs)
        .filter(|&pair| mdp.row(pair).spread > 0.0)
        .count();
    if filled.saturating_mul(n) > MAX_FILLED {
        return Err(Error::Unsupported(format!(
            "{filled} rows are uniform over {n} states, which .umb would have to list; use .npz or .json"
        )));
    }
    let lengths = (0..pairs).map(|pair| length(&mdp.row(pair), n));
    let branches: u64 = lengths.clone().map(|k| k as u64).sum();
    let initial: Vec<usize> = (0..n).filter(|&s| mdp.start()[s] > 0.0).collect();
    let plain_start = umb::even(n, &initial) == mdp.start();
    let names = mdp.action_names().map_or(0, <[String]>::len);
    let system = System {
        time: "discrete".into(),
        players: 1,
        states: n as u64,
        initial_states: initial.len() as u64,
        choices: pairs as u64,
        choice_actions: mdp.n_action_labels().max(names) as u64,
        branches,
        branch_actions: 0,
        observations: 0,
        branch_probability_type: Some(Type {
            kind: "double".into(),
            size: Some(64),
        }),
    };
    let index = index(&system, mdp.rewards().is_some())?;
    atomic::write(path, |file| {
        member(file, umb::INDEX, index.len(), |file| {
            file.write_all(index.as_bytes())
        })?;
        numbers(
            file,
            umb::CHOICES,
            mdp.first_pair().iter().map(|&k| k as u64),
        )?;
        numbers(file, umb::INITIAL, bits(n, &initial).into_iter())?;
        let mut end = 0;
        let ends = lengths.map(|k| {
            end += k as u64;
            end
        });
        let offsets: Vec<u64> = std::iter::once(0).chain(ends).collect();
        numbers(file, umb::BRANCHES, offsets.into_iter())?;
        let size = 8 * branches as usize;
        member(file, umb::TARGET, size, |file| {
            entries(mdp, |next, _| file.write_all(&(next as u64).to_le_bytes()))
        })?;
        member(file, umb::PROBABILITY, size, |file| {
            entries(mdp, |_, p| file.write_all(&p.to_le_bytes()))
        })?;
        member(file, umb::ACTION, 4 * pairs, |file| {
            let mut actions = mdp.actions().iter();
            actions.try_for_each(|action| file.write_all(&action.to_le_bytes()))
        })?;
        if let Some(names) = mdp.action_names() {
            texts(file, umb::ACTION_RANGES, umb::ACTION_NAMES, names)?;
        }
        if !plain_start {
            numbers(file, umb::START, mdp.start().iter().map(|p| p.to_bits()))?;
        }
        if !mdp.terminal().is_empty() {
            numbers(file, umb::TERMINAL, bits(n, mdp.terminal()).into_iter())?;
        }
        if let Some(rewards) = mdp.rewards() {
            let values = rewards.iter().map(|r| r.to_bits());
            numbers(file, &values_file(OWN, "choices"), values)?;
        }
        if let Some(names) = mdp.state_names() {
            texts(file, umb::STATE_RANGES, umb::STATE_NAMES, names)?;
        }
        if let Some(layout) = mdp.layout() {
            let map = [layout.rows as u64, layout.columns as u64];
            numbers(file, umb::MAP, map.into_iter())?;
            numbers(
                file,
                umb::CELLS,
                layout.cells.iter().map(|&cell| cell as u64),
            )?;
        }
        tar::finish(file)
    })
}

/// A set of states as a bitset.
fn bits(n: usize, states: &[usize]) -> Vec<u64> {
    let mut words = vec![0u64; n.div_ceil(64)];
    for &s in states {
        words[s / 64] |= 1 << (s % 64);
    }
    words
}

/// Transitions that a row is written as.
fn length(row: &Row<'_>, n: usize) -> usize {
    if row.spread > 0.0 {
        n
    } else {
        row.indices.len()
    }
}

/// Every transition in order, uniform shares written out.
fn entries(
    mdp: &Mdp,
    mut each: impl FnMut(usize, f64) -> std::io::Result<()>,
) -> std::io::Result<()> {
    let n = mdp.n_states();
    let mut dense = Vec::new();
    for pair in 0..mdp.n_pairs() {
        let row = mdp.row(pair);
        if row.spread > 0.0 {
            dense.clear();
            dense.resize(n, row.spread / n as f64);
            row.entries().for_each(|(t, p)| dense[t] += p);
            for (next, &p) in dense.iter().enumerate() {
                each(next, p)?;
            }
        } else {
            for (next, p) in row.entries() {
                each(next, p)?;
            }
        }
    }
    Ok(())
}

fn index(system: &System, rewarded: bool) -> Result<String> {
    let mut index = json!({
        "format-version": 0,
        "format-revision": 0,
        "file-data": {"tool": "ide3al", "tool-version": env!("CARGO_PKG_VERSION")},
        "transition-system": system,
    });
    if rewarded {
        let annotation = Annotation {
            applies_to: vec!["choices".into()],
            kind: Type {
                kind: "double".into(),
                size: Some(64),
            },
        };
        index["annotations"] = json!({"rewards": {OWN: annotation}});
    }
    serde_json::to_string_pretty(&index)
        .map_err(|error| Error::Unsupported(format!("cannot write JSON: {error}")))
}

type Out = BufWriter<File>;

fn member(
    file: &mut Out,
    name: &str,
    size: usize,
    contents: impl FnOnce(&mut Out) -> std::io::Result<()>,
) -> std::io::Result<()> {
    tar::start_member(file, name, size as u64)?;
    contents(file)?;
    tar::finish_member(file, size as u64)
}

fn numbers(
    file: &mut Out,
    name: &str,
    mut list: impl ExactSizeIterator<Item = u64>,
) -> std::io::Result<()> {
    member(file, name, 8 * list.len(), |file| {
        list.try_for_each(|number| file.write_all(&number.to_le_bytes()))
    })
}

fn texts(file: &mut Out, ranges: &str, strings: &str, list: &[String]) -> std::io::Result<()> {
    let mut offsets = vec![0u64];
    let mut end = 0;
    for text in list {
        end += text.len();
        offsets.push(end as u64);
    }
    numbers(file, ranges, offsets.into_iter())?;
    member(file, strings, end, |file| {
        let mut list = list.iter();
        list.try_for_each(|text| file.write_all(text.as_bytes()))
    })
}
