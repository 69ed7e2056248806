//! Files beside a `.tra`: `.lab` (initial states), `.sta` (state names), and `.extra.json`
//! for what PRISM and Storm cannot say (start probabilities that differ, numbers of actions
//! where states lack some, the layout of a grid, where episodes end). The last is written only when
//! needed. Rewards are in [`tra_rewards`](super::tra_rewards).

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::json::{self, LayoutKey, Start};
use super::tra::{ActionOf, for_lines};
use super::{atomic, checked_layout, malformed};
use crate::error::{Error, Result};
use crate::model::Mdp;

/// `.lab`, `.sta` and `.extra.json` of a `.tra`.
pub(super) fn paths(path: &Path) -> [PathBuf; 3] {
    ["lab", "sta", "extra.json"].map(|extension| path.with_extension(extension))
}

/// What `.extra.json` holds; every key optional.
#[derive(Default, Serialize, Deserialize)]
struct Extra {
    #[serde(skip_serializing_if = "Option::is_none")]
    start: Option<Start>,
    /// Action number of each choice, in the order of the file.
    #[serde(skip_serializing_if = "Option::is_none")]
    actions: Option<Vec<u32>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    action_names: Option<Vec<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    layout: Option<LayoutKey>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    terminal: Vec<usize>,
}

/// What the files beside a `.tra` say.
pub(super) struct Sides {
    initial: Option<Vec<usize>>,
    names: Option<HashMap<usize, String>>,
    extra: Extra,
    paths: [PathBuf; 3],
}

impl Sides {
    /// Reads those files that are there.
    pub(super) fn read(path: &Path) -> Result<Self> {
        let paths = paths(path);
        Ok(Sides {
            initial: if paths[0].exists() {
                read_labels(&paths[0])?
            } else {
                None
            },
            names: if paths[1].exists() {
                Some(read_names(&paths[1])?)
            } else {
                None
            },
            extra: if paths[2].exists() {
                json::parse(&paths[2])?
            } else {
                Extra::default()
            },
            paths,
        })
    }

    /// Whether action numbers do not come from labels.
    pub(super) fn fixes_actions(&self) -> bool {
        self.extra.actions.is_some()
    }

    /// Adds start, names and layout.
    pub(super) fn apply(self, mut mdp: Mdp) -> Result<Mdp> {
        let n = mdp.n_states();
        let [labels, states, extra] = &self.paths;
        if let Some(start) = self.extra.start {
            mdp = start.apply(mdp).map_err(|e| e.in_file(extra))?;
        } else if let Some(initial) = self.initial {
            let mut start = vec![0.0; n];
            for &state in &initial {
                *start
                    .get_mut(state)
                    .ok_or_else(|| out_of_range(labels, state, n))? = 1.0 / initial.len() as f64;
            }
            mdp = mdp.with_start(start).map_err(|e| e.in_file(labels))?;
        }
        if let Some(mut names) = self.names {
            if let Some(&state) = names.keys().find(|state| **state >= n) {
                return Err(out_of_range(states, state, n));
            }
            let names = (0..n).map(|s| names.remove(&s).unwrap_or_else(|| s.to_string()));
            mdp = mdp.with_state_names(names.collect())?;
        }
        if let Some(names) = self.extra.action_names {
            mdp = mdp.with_action_names(names).map_err(|e| e.in_file(extra))?;
        }
        if let Some(layout) = self.extra.layout {
            let layout = checked_layout(layout.rows, layout.columns, layout.cells, n)
                .map_err(|e| e.in_file(extra))?;
            mdp = mdp.with_layout(layout);
        }
        mdp.with_terminal(self.extra.terminal)
            .map_err(|e| e.in_file(extra))
    }
}

fn out_of_range(path: &Path, state: usize, limit: usize) -> Error {
    malformed(
        path,
        format!("state {state} is out of range: there are {limit}, numbered from 0"),
    )
}

/// The action of each (state, choice), where `.extra.json` lists them.
pub(super) fn number_actions(
    path: &Path,
    sides: &Sides,
    lines: &[(u32, u32, u32, f64)],
) -> Result<Option<ActionOf>> {
    let Some(actions) = &sides.extra.actions else {
        return Ok(None);
    };
    let mut pairs: Vec<(u32, u32)> = lines.iter().map(|l| (l.0, l.1)).collect();
    pairs.sort_unstable();
    pairs.dedup();
    if pairs.len() != actions.len() {
        let extra = path.with_extension("extra.json");
        return Err(malformed(
            &extra,
            format!(
                "'actions' has {} entries for the {} choices of {}; delete this file if it belongs to another model",
                actions.len(),
                pairs.len(),
                path.display()
            ),
        ));
    }
    Ok(Some(
        pairs.into_iter().zip(actions.iter().copied()).collect(),
    ))
}

/// Initial states: PRISM's `0="init" 1="deadlock"` then `5: 0 1`, or Storm's `#DECLARATION`.
fn read_labels(path: &Path) -> Result<Option<Vec<usize>>> {
    let mut initial = Vec::new();
    let (mut storm, mut declared, mut init_number) = (false, false, None);
    for_lines(path, |number, line| {
        let line = line.trim();
        match line {
            "#DECLARATION" => storm = true,
            "#END" => declared = true,
            _ if storm && !declared => {}
            _ if storm => {
                let mut words = line.split_whitespace();
                let state = words.next().and_then(|w| w.parse().ok());
                let state = state.ok_or_else(|| bad_label(path, number, line))?;
                if words.any(|word| word == "init") {
                    initial.push(state);
                }
            }
            _ if !declared => {
                declared = true;
                for word in line.split_whitespace() {
                    let (label, name) = word
                        .split_once('=')
                        .ok_or_else(|| bad_label(path, number, line))?;
                    if name.trim_matches('"') == "init" {
                        init_number = Some(label.to_owned());
                    }
                }
            }
            _ => {
                let (state, labels) = line
                    .split_once(':')
                    .ok_or_else(|| bad_label(path, number, line))?;
                let state = state
                    .trim()
                    .parse()
                    .map_err(|_| bad_label(path, number, line))?;
                if labels
                    .split_whitespace()
                    .any(|l| Some(l) == init_number.as_deref())
                {
                    initial.push(state);
                }
            }
        }
        Ok(())
    })?;
    initial.sort_unstable();
    initial.dedup();
    Ok((!initial.is_empty()).then_some(initial))
}

fn bad_label(path: &Path, number: usize, line: &str) -> Error {
    malformed(
        path,
        format!("line {number}: '{line}' is not a label line such as '0=\"init\"' or '3: 0'"),
    )
}

/// State names: PRISM's `(x,y)` then `3:(0,1)`; a single variable called `name` holds the
/// name itself, otherwise it is the tuple with the variables' names.
fn read_names(path: &Path) -> Result<HashMap<usize, String>> {
    let mut variables: Option<Vec<String>> = None;
    let mut names = HashMap::new();
    for_lines(path, |number, line| {
        let bad = || {
            malformed(
                path,
                format!("line {number}: '{line}' is not a state line such as '(x,y)' or '3:(0,1)'"),
            )
        };
        let inner = |text: &str| {
            let text = text.strip_prefix('(')?.strip_suffix(')')?;
            Some(text.to_owned())
        };
        let Some(variables) = &variables else {
            let header = inner(line.trim()).ok_or_else(bad)?;
            variables = Some(header.split(',').map(|v| v.trim().to_owned()).collect());
            return Ok(());
        };
        let (state, rest) = line.split_once(':').ok_or_else(bad)?;
        let state: usize = state.trim().parse().map_err(|_| bad())?;
        let values = inner(rest).ok_or_else(bad)?;
        let name = if variables.as_slice() == ["name"] {
            unquote(&values)
        } else {
            let pairs = variables.iter().zip(values.split(','));
            let pairs: Vec<String> = pairs.map(|(v, x)| format!("{v}={}", x.trim())).collect();
            pairs.join(",")
        };
        if names.insert(state, name).is_some() {
            return Err(malformed(
                path,
                format!("line {number}: state {state} appears twice"),
            ));
        }
        Ok(())
    })?;
    Ok(names)
}

/// A name as one word of a line: as it is, or as a JSON string where it has spaces, quotes
/// or the like.
pub(super) fn quote(name: &str) -> String {
    let plain = |c: char| !(c.is_whitespace() || c.is_control() || c == '"' || c == '\\');
    if !name.is_empty() && name.chars().all(plain) {
        name.to_owned()
    } else {
        serde_json::Value::from(name).to_string()
    }
}

/// The reverse of [`quote`].
pub(super) fn unquote(text: &str) -> String {
    if text.starts_with('"') {
        serde_json::from_str(text).unwrap_or_else(|_| text.to_owned())
    } else {
        text.to_owned()
    }
}

/// What follows the first `count` fields of a line, if anything.
pub(super) fn after_fields(line: &str, count: usize) -> Option<&str> {
    let mut rest = line.trim();
    for _ in 0..count {
        let end = rest.find(char::is_whitespace)?;
        rest = rest[end..].trim_start();
    }
    (!rest.is_empty()).then_some(rest)
}

/// Writes the files that the model needs, and removes those of an earlier one that it does
/// not.
pub(super) fn write(path: &Path, mdp: &Mdp) -> Result<()> {
    let [labels, states, extra] = paths(path);
    let start = mdp.start();
    atomic::write(&labels, |file| {
        writeln!(file, "0=\"init\"")?;
        for state in (0..start.len()).filter(|&s| start[s] > 0.0) {
            writeln!(file, "{state}: 0")?;
        }
        Ok(())
    })?;
    match mdp.state_names() {
        Some(names) => atomic::write(&states, |file| {
            writeln!(file, "(name)")?;
            for (state, name) in names.iter().enumerate() {
                writeln!(file, "{state}:({})", quote(name))?;
            }
            Ok(())
        })?,
        None => remove(&states)?,
    }
    match extra_of(mdp) {
        Some(content) => atomic::write(&extra, |file| {
            serde_json::to_writer(&mut *file, &content)?;
            writeln!(file)
        }),
        None => remove(&extra),
    }
}

pub(super) fn remove(path: &Path) -> Result<()> {
    match std::fs::remove_file(path) {
        Err(source) if source.kind() != std::io::ErrorKind::NotFound => Err(Error::Io {
            path: path.to_owned(),
            action: "remove",
            source,
        }),
        _ => Ok(()),
    }
}

/// What the other files cannot say of this model.
fn extra_of(mdp: &Mdp) -> Option<Extra> {
    let start = mdp.start();
    let support = start.iter().filter(|p| **p > 0.0).count();
    let even = 1.0 / support as f64;
    let uneven_start = start.iter().any(|p| *p > 0.0 && *p != even);
    // without names a choice's number is its action; with names actions are numbered as
    // their labels first appear
    let plain = match mdp.action_names() {
        None => (0..mdp.n_states()).all(|s| {
            let actions = &mdp.actions()[mdp.pairs(s)];
            actions.iter().enumerate().all(|(k, a)| *a as usize == k)
        }),
        Some(names) => {
            let mut met = 0u32;
            let in_order = mdp.actions().iter().all(|&a| {
                met += u32::from(a == met);
                a < met
            });
            let mut distinct: Vec<&String> = names.iter().collect();
            distinct.sort_unstable();
            distinct.dedup();
            in_order && met as usize == names.len() && distinct.len() == names.len()
        }
    };
    let extra = Extra {
        start: if uneven_start { Start::of(mdp) } else { None },
        actions: (!plain).then(|| mdp.actions().to_vec()),
        action_names: if plain {
            None
        } else {
            mdp.action_names().map(<[String]>::to_vec)
        },
        layout: json::layout_key(mdp),
        terminal: mdp.terminal().to_vec(),
    };
    let needed = extra.start.is_some()
        || extra.actions.is_some()
        || extra.layout.is_some()
        || !extra.terminal.is_empty();
    needed.then_some(extra)
}
