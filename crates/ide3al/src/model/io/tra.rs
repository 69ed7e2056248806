//! Explicit models of the probabilistic model checkers PRISM and Storm.
//!
//! `.tra` holds the transitions, one per line: `state choice next probability [action]` of a
//! Markov decision process, or `state next probability` of a chain (one action). PRISM's first
//! line counts: `states choices transitions`, or `states transitions` for a chain; Storm's is
//! the word `mdp` or `dtmc`. Files beside it are read by [`tra_side`](super::tra_side).
//!
//! Source: PRISM manual, "Explicit model import"; Storm, "Explicit files".

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;

use super::rows::Transitions;
use super::{atomic, cannot_read, malformed, open, tra_rewards, tra_side};
use crate::error::{Error, Result};
use crate::model::{Mdp, Rewards};

/// Uniform shares are written out in full, up to this many numbers.
const MAX_FILLED: usize = 50_000_000;

/// Calls `each` with every line that is neither empty nor a comment, numbered from 1.
pub(super) fn for_lines(
    path: &Path,
    mut each: impl FnMut(usize, &str) -> Result<()>,
) -> Result<()> {
    let mut reader = BufReader::with_capacity(1 << 18, open(path)?);
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        line.clear();
        let n = reader
            .read_until(b'\n', &mut line)
            .map_err(|e| cannot_read(path, e))?;
        if n == 0 {
            return Ok(());
        }
        number += 1;
        let text = std::str::from_utf8(&line)
            .map_err(|_| malformed(path, format!("line {number}: not valid UTF-8 text")))?;
        let text = text.trim_end_matches(['\n', '\r']);
        if !text.trim().is_empty() {
            each(number, text)?;
        }
    }
}

/// What the first line promises.
enum Kind {
    /// Chain or not, and PRISM's counts of states, choices and transitions.
    Chain(Option<(usize, usize)>),
    Process(Option<(usize, usize, usize)>),
}

fn parse_kind(path: &Path, number: usize, line: &str) -> Result<Kind> {
    match line.trim().to_ascii_lowercase().as_str() {
        "mdp" => return Ok(Kind::Process(None)),
        "dtmc" => return Ok(Kind::Chain(None)),
        _ => {}
    }
    let counts: Option<Vec<usize>> = line.split_whitespace().map(|n| n.parse().ok()).collect();
    match counts.as_deref() {
        Some(&[states, transitions]) => Ok(Kind::Chain(Some((states, transitions)))),
        Some(&[states, choices, transitions]) => {
            Ok(Kind::Process(Some((states, choices, transitions))))
        }
        _ => Err(malformed(
            path,
            format!(
                "line {number}: the first line must be 'states choices transitions', 'states transitions', 'mdp' or 'dtmc', not '{line}'"
            ),
        )),
    }
}

/// A decimal number, or a fraction as exact engines write it.
fn parse_probability(text: &str) -> Option<f64> {
    match text.split_once('/') {
        None => text.parse().ok(),
        Some((above, below)) => {
            let (above, below): (f64, f64) = (above.parse().ok()?, below.parse().ok()?);
            Some(above / below)
        }
    }
}

/// Action of each (state, choice).
pub(super) type ActionOf = HashMap<(u32, u32), u32>;

/// Labels of choices: which action each (state, choice) is.
#[derive(Default)]
struct Labels {
    numbers: HashMap<String, u32>,
    names: Vec<String>,
    /// `(state, choice, label)`, one per run of lines.
    used: Vec<(u32, u32, u32)>,
    missing: bool,
}

impl Labels {
    fn note(&mut self, state: u32, choice: u32, label: Option<&str>) {
        let Some(label) = label else {
            self.missing = true;
            return;
        };
        let number = match self.numbers.get(label) {
            Some(&number) => number,
            None => {
                let number = self.names.len() as u32;
                self.numbers.insert(label.to_owned(), number);
                self.names.push(tra_side::unquote(label));
                number
            }
        };
        if self.used.last() != Some(&(state, choice, number)) {
            self.used.push((state, choice, number));
        }
    }

    /// The action of each (state, choice), if every choice has one label, different from
    /// those of the state's other choices.
    fn actions(mut self) -> Option<(Vec<String>, ActionOf)> {
        if self.missing || self.names.is_empty() {
            return None;
        }
        self.used.sort_unstable();
        self.used.dedup();
        let mut by_label: Vec<(u32, u32)> = self.used.iter().map(|u| (u.0, u.2)).collect();
        by_label.sort_unstable();
        let repeated = by_label.windows(2).any(|w| w[0] == w[1]);
        let ambiguous = self
            .used
            .windows(2)
            .any(|w| (w[0].0, w[0].1) == (w[1].0, w[1].1));
        if repeated || ambiguous {
            return None;
        }
        let actions = self.used.iter().map(|u| ((u.0, u.1), u.2)).collect();
        Some((self.names, actions))
    }
}

/// Reads a model.
pub(super) fn read(path: &Path) -> Result<Mdp> {
    let mut kind = None;
    let mut transitions = Transitions::default();
    let mut lines: Vec<(u32, u32, u32, f64)> = Vec::new();
    let mut labels = Labels::default();
    for_lines(path, |number, line| {
        let line = line.trim();
        if line.starts_with('#') {
            return Ok(());
        }
        let Some(kind) = &kind else {
            kind = Some(parse_kind(path, number, line)?);
            return Ok(());
        };
        let limit = match kind {
            Kind::Chain(counts) => counts.map(|c| c.0),
            Kind::Process(counts) => counts.map(|c| c.0),
        };
        let chain = matches!(kind, Kind::Chain(_));
        let mut fields = line.split_whitespace();
        let mut index = |what: &'static str, limit: Option<usize>| -> Result<u32> {
            let field = fields.next();
            let value: Option<u32> = field.and_then(|text| text.parse().ok());
            let value = value.ok_or_else(|| {
                malformed(
                    path,
                    format!(
                        "line {number}: {what} expected, found '{}'",
                        field.unwrap_or("")
                    ),
                )
            })?;
            match limit {
                Some(limit) if value as usize >= limit => Err(malformed(
                    path,
                    format!(
                        "line {number}: {what} {value} is out of range: there are {limit}, numbered from 0"
                    ),
                )),
                _ => Ok(value),
            }
        };
        let state = index("state", limit)?;
        let choice = if chain { 0 } else { index("choice", None)? };
        let next = index("next state", limit)?;
        let text = fields.next().unwrap_or("");
        let value = parse_probability(text).ok_or_else(|| {
            malformed(
                path,
                format!("line {number}: probability expected, found '{text}'"),
            )
        })?;
        if !(value.is_finite() && value >= 0.0) {
            let problem = Error::BadProbability {
                state: state as usize,
                action: choice as usize,
                next: next as usize,
                value,
            };
            return Err(malformed(path, format!("line {number}: {problem}")));
        }
        // the rest of the line: a quoted name may hold spaces
        let label = tra_side::after_fields(line, if chain { 3 } else { 4 });
        labels.note(state, choice, label);
        lines.push((state, choice, next, value));
        Ok(())
    })?;
    let kind =
        kind.ok_or_else(|| malformed(path, "the file is empty; its first line gives the sizes"))?;
    check_counts(path, &kind, &lines)?;
    let sides = tra_side::Sides::read(path)?;
    let named = if sides.fixes_actions() {
        None
    } else {
        labels.actions()
    };
    let pairs = tra_side::number_actions(path, &sides, &lines)?;
    let rewards = tra_rewards::read(path, &lines)?;
    let mut found = Vec::new();
    for &(state, choice, next, value) in &lines {
        let action = match (&pairs, &named) {
            (Some(pairs), _) => pairs[&(state, choice)],
            (None, Some((_, actions))) => actions[&(state, choice)],
            (None, None) => choice,
        };
        transitions.push(state, action, next, value);
        if let Some(rewards) = &rewards {
            found.push((state, action, rewards.of(state, choice)));
        }
    }
    drop(lines);
    let n_states = match kind {
        Kind::Chain(Some((states, _))) | Kind::Process(Some((states, _, _))) => states,
        _ => transitions.n_states(),
    };
    let mut mdp = transitions.build(n_states, u32::MAX as usize - 1)?;
    if let Some((names, _)) = named {
        mdp = mdp.with_action_names(names)?;
    }
    if rewards.is_some() {
        found.sort_by_key(|x| (x.0, x.1));
        found.dedup_by_key(|x| (x.0, x.1));
        let of_pairs: Vec<f64> = found.into_iter().map(|x| x.2).collect();
        mdp = mdp.with_rewards(Rewards::Pairs(&of_pairs))?;
    }
    sides.apply(mdp)
}

fn check_counts(path: &Path, kind: &Kind, lines: &[(u32, u32, u32, f64)]) -> Result<()> {
    let (choices, transitions) = match kind {
        Kind::Chain(Some((_, transitions))) => (None, *transitions),
        Kind::Process(Some((_, choices, transitions))) => (Some(*choices), *transitions),
        _ => return Ok(()),
    };
    if transitions != lines.len() {
        return Err(malformed(
            path,
            format!(
                "the first line says {transitions} transitions, but there are {}; the file is truncated or its first line is wrong",
                lines.len()
            ),
        ));
    }
    let Some(choices) = choices else {
        return Ok(());
    };
    let mut pairs: Vec<(u32, u32)> = lines.iter().map(|l| (l.0, l.1)).collect();
    pairs.dedup();
    if !pairs.is_sorted() {
        pairs.sort_unstable();
        pairs.dedup();
    }
    if pairs.len() == choices {
        return Ok(());
    }
    Err(malformed(
        path,
        format!(
            "the first line says {choices} choices, but there are {}; correct it",
            pairs.len()
        ),
    ))
}

/// Writes `.tra` with PRISM's first line, and the files beside it that the model needs.
pub(super) fn write(path: &Path, mdp: &Mdp) -> Result<()> {
    let (n, kernel) = (mdp.n_states(), mdp.kernel());
    let filled = kernel.spread().iter().filter(|c| **c > 0.0).count();
    if filled.saturating_mul(n) > MAX_FILLED {
        return Err(Error::Unsupported(format!(
            "{filled} rows are uniform over {n} states, which .tra would have to list; use .npz or .json"
        )));
    }
    let transitions: usize = (0..mdp.n_pairs())
        .map(|pair| {
            let row = mdp.row(pair);
            if row.spread > 0.0 {
                n
            } else {
                row.indices.len()
            }
        })
        .sum();
    let names: Option<Vec<String>> = mdp
        .action_names()
        .map(|names| names.iter().map(|name| tra_side::quote(name)).collect());
    // the side files first: a .tra that is there is complete
    tra_side::write(path, mdp)?;
    tra_rewards::write(path, mdp)?;
    atomic::write(path, |file| {
        writeln!(file, "{n} {} {transitions}", mdp.n_pairs())?;
        let mut dense = vec![0.0; if filled > 0 { n } else { 0 }];
        for state in 0..n {
            for (choice, pair) in mdp.pairs(state).enumerate() {
                let action = mdp.actions()[pair] as usize;
                let label = names.as_ref().map(|names| names[action].as_str());
                let row = mdp.row(pair);
                let mut line = |next: usize, p: f64| {
                    // the shortest text that reads back as the same number
                    write!(file, "{state} {choice} {next} {p:?}")?;
                    match label {
                        Some(label) => writeln!(file, " {label}"),
                        None => writeln!(file),
                    }
                };
                if row.spread > 0.0 {
                    dense.fill(row.spread / n as f64);
                    row.entries().for_each(|(t, p)| dense[t] += p);
                    for (next, &p) in dense.iter().enumerate() {
                        line(next, p)?;
                    }
                } else {
                    for (next, p) in row.entries() {
                        line(next, p)?;
                    }
                }
            }
        }
        Ok(())
    })
}
