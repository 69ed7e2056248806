//! UMB, the unified Markov binary format of probabilistic model checkers: reading.
//!
//! A tar archive, plain or compressed by gzip, with `index.json` and one binary file per
//! mapping. Files that nothing here has a use for (atomic propositions, valuations, observations)
//! are passed over.
//!
//! Source: "Specification of the UMB Format", pmc-tools.github.io/umb/spec, of January 2026.

use std::collections::BTreeMap;
use std::io::{BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;
use serde::{Deserialize, Serialize};

use super::rows::Transitions;
use super::umb_rewards::{Annotations, FOLDER};
use super::{cannot_read, checked_layout, malformed, open, tar};
use crate::error::{Error, Result};
use crate::model::{Mdp, Rewards};

pub(super) const INDEX: &str = "index.json";
pub(super) const CHOICES: &str = "state-to-choices.bin";
pub(super) const INITIAL: &str = "state-is-initial.bin";
pub(super) const BRANCHES: &str = "choice-to-branches.bin";
pub(super) const TARGET: &str = "branch-to-target.bin";
pub(super) const PROBABILITY: &str = "branch-to-probability.bin";
pub(super) const ACTION: &str = "actions/choices/values.bin";
pub(super) const ACTION_NAMES: &str = "actions/choices/strings.bin";
pub(super) const ACTION_RANGES: &str = "actions/choices/string-mapping.bin";
// of our own: other programs pass over files they do not know
pub(super) const START: &str = "ide3al/state-to-start.bin";
pub(super) const MAP: &str = "ide3al/map.bin";
pub(super) const CELLS: &str = "ide3al/state-to-cell.bin";
pub(super) const TERMINAL: &str = "ide3al/state-is-terminal.bin";
pub(super) const STATE_NAMES: &str = "ide3al/strings.bin";
pub(super) const STATE_RANGES: &str = "ide3al/string-mapping.bin";

#[rustfmt::skip]
const WANTED: [&str; 15] = [
    INDEX, CHOICES, INITIAL, BRANCHES, TARGET, PROBABILITY, ACTION, ACTION_NAMES, ACTION_RANGES,
    START, MAP, CELLS, TERMINAL, STATE_NAMES, STATE_RANGES,
];

/// What a compressed file may grow to, as a multiple of its size: real models shrink to a
/// tenth, a file made to fill the memory to a thousandth.
const MOST_GROWTH: u64 = 300;

/// A model whose targets are left out has one transition per choice, to state 0; more than
/// this many are refused, because nothing in the file would stand for them.
const MOST_IMPLIED: usize = 1 << 20;

/// The type of the numbers in a file.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Type {
    #[serde(rename = "type")]
    pub(super) kind: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) size: Option<u64>,
}

/// `transition-system` of the index.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) struct System {
    pub(super) time: String,
    #[serde(rename = "#players")]
    pub(super) players: u64,
    #[serde(rename = "#states")]
    pub(super) states: u64,
    #[serde(rename = "#initial-states")]
    pub(super) initial_states: u64,
    #[serde(rename = "#choices")]
    pub(super) choices: u64,
    #[serde(rename = "#choice-actions")]
    pub(super) choice_actions: u64,
    #[serde(rename = "#branches")]
    pub(super) branches: u64,
    #[serde(rename = "#branch-actions", default)]
    pub(super) branch_actions: u64,
    #[serde(rename = "#observations", default)]
    pub(super) observations: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) branch_probability_type: Option<Type>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Index {
    format_version: u64,
    transition_system: System,
    #[serde(default)]
    annotations: Annotations,
}

/// Reads a model.
pub(super) fn read(path: &Path) -> Result<Mdp> {
    let file = open(path)?;
    let bytes = file.metadata().map_err(|e| cannot_read(path, e))?.len();
    let members = Members::read(file, bytes)
        .map_err(|problem| malformed(path, format!("not a readable UMB file: {problem}")))?;
    let bad = |problem: String| malformed(path, problem);
    let text = members.get(INDEX).ok_or_else(|| {
        bad(format!(
            "it holds no {INDEX}; a UMB file is a tar archive with one"
        ))
    })?;
    let index: Index = serde_json::from_slice(text)
        .map_err(|error| bad(format!("{INDEX}: {error}; write the file again")))?;
    if index.format_version > 1 {
        return Err(bad(format!(
            "{INDEX}: format-version {} is unknown; this program reads 0 and 1",
            index.format_version
        )));
    }
    let whole = || {
        let model = Model::new(&members, &index.transition_system)?;
        let labelled = model.actions.is_some();
        let rewards = index.annotations.of_choices(&members, &model)?;
        let mdp = decorate(model.build()?, labelled, &members, &index.transition_system)?;
        Ok(match rewards {
            Some(rewards) => mdp.with_rewards(Rewards::Pairs(&rewards))?,
            None => mdp,
        })
    };
    whole().map_err(|trouble| match trouble {
        Trouble::Here(problem) => bad(problem),
        Trouble::Model(error) => error,
    })
}

/// Something wrong with the file itself, or with the model in it.
pub(super) enum Trouble {
    Here(String),
    Model(Error),
}

impl From<String> for Trouble {
    fn from(problem: String) -> Self {
        Trouble::Here(problem)
    }
}

impl From<Error> for Trouble {
    fn from(error: Error) -> Self {
        Trouble::Model(error)
    }
}

pub(super) type Found<T> = std::result::Result<T, Trouble>;

/// The members that matter, in memory.
pub(super) struct Members(BTreeMap<String, Vec<u8>>);

impl Members {
    fn read(file: std::fs::File, bytes: u64) -> std::result::Result<Self, tar::Problem> {
        let mut from = BufReader::with_capacity(1 << 18, file);
        let start: Vec<u8> = {
            let buffer = std::io::BufRead::fill_buf(&mut from).map_err(|e| e.to_string())?;
            buffer.iter().take(6).copied().collect()
        };
        if start.starts_with(&[0xFD, b'7', b'z', b'X', b'Z', 0]) {
            return Err(
                "it is compressed by xz, which is not supported; unpack it first: xz -dc FILE > plain.umb"
                    .into(),
            );
        }
        let mut members = Members(BTreeMap::new());
        if start.starts_with(&[0x1F, 0x8B]) {
            let most = bytes.saturating_mul(MOST_GROWTH).saturating_add(1 << 20);
            let mut limited = MultiGzDecoder::new(from).take(most);
            let outcome = tar::read(&mut limited, |name, size, from| {
                members.keep(name, size, from)
            });
            if limited.limit() == 0 {
                return Err(format!(
                    "it unpacks to more than {MOST_GROWTH} times its size; if you trust it, unpack it first: gzip -dc FILE > plain.umb"
                ));
            }
            outcome?;
        } else {
            tar::read(from, |name, size, from| members.keep(name, size, from))?;
        }
        Ok(members)
    }

    fn keep(
        &mut self,
        name: &str,
        size: u64,
        from: &mut dyn Read,
    ) -> std::result::Result<(), tar::Problem> {
        if !WANTED.contains(&name) && !name.starts_with(FOLDER) {
            return Ok(());
        }
        // grows with what arrives, not with what the header claims
        let mut contents = Vec::new();
        from.read_to_end(&mut contents)
            .map_err(|error| format!("{name}: {error}"))?;
        if contents.len() as u64 != size {
            return Err(format!(
                "{name} ends after {} of {size} bytes; it is truncated, write it again",
                contents.len()
            ));
        }
        match self.0.insert(name.to_owned(), contents) {
            None => Ok(()),
            Some(_) => Err(format!("{name} is there twice")),
        }
    }

    fn get(&self, name: &str) -> Option<&[u8]> {
        self.0.get(name).map(Vec::as_slice)
    }

    /// A file of `count` items of `N` bytes, if it is there.
    pub(super) fn items<const N: usize>(
        &self,
        name: &str,
        count: u64,
    ) -> Found<Option<Vec<[u8; N]>>> {
        let Some(bytes) = self.get(name) else {
            return Ok(None);
        };
        let (items, rest) = bytes.as_chunks::<N>();
        if items.len() as u64 != count || !rest.is_empty() {
            return Err(Trouble::Here(format!(
                "{name} has {} bytes; {count} items of {N} bytes were expected by {INDEX}",
                bytes.len()
            )));
        }
        Ok(Some(items.to_vec()))
    }

    /// Offsets of `count` intervals that together cover `0..total`.
    fn ranges(&self, name: &str, count: u64, total: u64) -> Found<Option<Vec<usize>>> {
        let Some(items) = self.items::<8>(name, count.saturating_add(1))? else {
            return Ok(None);
        };
        let offsets: Vec<usize> = items
            .iter()
            .map(|item| usize::try_from(u64::from_le_bytes(*item)).unwrap_or(usize::MAX))
            .collect();
        let covers =
            offsets.first() == Some(&0) && offsets.last().map(|&k| k as u64) == Some(total);
        if !covers || !offsets.is_sorted() {
            return Err(Trouble::Here(format!(
                "{name} must ascend from 0 to {total}; write the file again"
            )));
        }
        Ok(Some(offsets))
    }

    /// `count` texts, if they are there.
    fn texts(&self, ranges: &str, strings: &str, count: u64) -> Found<Option<Vec<String>>> {
        let Some(bytes) = self.get(strings) else {
            return Ok(None);
        };
        let Some(offsets) = self.ranges(ranges, count, bytes.len() as u64)? else {
            return Err(Trouble::Here(format!(
                "{strings} is there without {ranges}"
            )));
        };
        let text = |(k, w): (usize, &[usize])| {
            String::from_utf8(bytes[w[0]..w[1]].to_vec())
                .map_err(|_| Trouble::Here(format!("{strings}: text {k} is not UTF-8")))
        };
        let texts = offsets.windows(2).enumerate().map(text);
        Ok(Some(texts.collect::<Found<_>>()?))
    }
}

/// The mappings of a discrete-time system of at most one player, sizes checked.
pub(super) struct Model {
    pub(super) choices: Vec<usize>,
    pub(super) branches: Vec<usize>,
    targets: Vec<u32>,
    pub(super) probabilities: Vec<f64>,
    /// Action of each choice, where that is distinct within each state.
    pub(super) actions: Option<Vec<u32>>,
}

impl Model {
    fn new(members: &Members, system: &System) -> Found<Self> {
        let unsupported = |what: String| {
            Err(Trouble::Here(format!(
                "{INDEX}: {what}; only discrete-time MDPs and chains can be read"
            )))
        };
        if system.time != "discrete" {
            return unsupported(format!("the model's time is {:?}", system.time));
        }
        if system.players > 1 {
            return unsupported(format!("it is a game of {} players", system.players));
        }
        if u32::try_from(system.states).is_err() {
            return unsupported(format!("{} states are too many", system.states));
        }
        if system.states == 0 || system.choices == 0 || system.branches == 0 {
            return Err(Error::Empty.into());
        }
        let targets = match members.items::<8>(TARGET, system.branches)? {
            Some(items) => targets(&items, system.states)?,
            None if system.branches <= MOST_IMPLIED as u64 => vec![0; system.branches as usize],
            None => return Err(Trouble::Here(format!("it holds no {TARGET}"))),
        };
        let branches = one_to_one(
            members.ranges(BRANCHES, system.choices, system.branches)?,
            BRANCHES,
            ("choices", system.choices),
            ("branches", system.branches),
        )?;
        let choices = one_to_one(
            members.ranges(CHOICES, system.states, system.choices)?,
            CHOICES,
            ("states", system.states),
            ("choices", system.choices),
        )?;
        let probabilities = probabilities(members, system, &branches)?;
        let actions = actions(members, system, &choices)?;
        Ok(Model {
            choices,
            branches,
            targets,
            probabilities,
            actions,
        })
    }

    fn build(self) -> Found<Mdp> {
        let n_states = self.choices.len() - 1;
        let mut transitions = Transitions::default();
        let mut n_actions = 0;
        for state in 0..n_states {
            let first = self.choices[state];
            for choice in first..self.choices[state + 1] {
                let action = match &self.actions {
                    Some(actions) => actions[choice],
                    None => (choice - first) as u32,
                };
                n_actions = n_actions.max(action as usize + 1);
                let range = self.branches[choice]..self.branches[choice + 1];
                if range.is_empty() {
                    return Err(Trouble::Here(format!(
                        "{BRANCHES}: choice {choice} (state {state}) has no branch; give it one"
                    )));
                }
                for branch in range {
                    let (next, p) = (self.targets[branch], self.probabilities[branch]);
                    transitions.push(state as u32, action, next, p);
                }
            }
        }
        transitions.check(n_states, n_actions, "branches")?;
        Ok(transitions.build(n_states, n_actions)?)
    }
}

fn targets(items: &[[u8; 8]], states: u64) -> Found<Vec<u32>> {
    let target = |(branch, item): (usize, &[u8; 8])| {
        let target = u64::from_le_bytes(*item);
        match u32::try_from(target) {
            Ok(small) if target < states => Ok(small),
            _ => Err(Trouble::Here(format!(
                "{TARGET}: branch {branch} leads to state {target}; there are {states}, numbered from 0"
            ))),
        }
    };
    items.iter().enumerate().map(target).collect()
}

/// The offsets found, or one target each where the file is left out.
fn one_to_one(
    found: Option<Vec<usize>>,
    name: &str,
    (many, from): (&str, u64),
    (each, to): (&str, u64),
) -> Found<Vec<usize>> {
    match found {
        Some(offsets) => Ok(offsets),
        None if from == to => Ok((0..=from as usize).collect()),
        None => Err(Trouble::Here(format!(
            "it holds no {name}, which it needs for {from} {many} and {to} {each}"
        ))),
    }
}

fn probabilities(members: &Members, system: &System, branches: &[usize]) -> Found<Vec<f64>> {
    let Some(kind) = &system.branch_probability_type else {
        // without probabilities every choice has one outcome
        return match branches.windows(2).position(|w| w[1] - w[0] > 1) {
            None => Ok(vec![1.0; system.branches as usize]),
            Some(choice) => Err(Trouble::Here(format!(
                "{INDEX}: without a branch-probability-type choice {choice} must have one branch"
            ))),
        };
    };
    let missing = || Trouble::Here(format!("it holds no {PROBABILITY}"));
    match (kind.kind.as_str(), kind.size) {
        ("double", None | Some(64)) => {
            let items = members.items::<8>(PROBABILITY, system.branches)?;
            let items = items.ok_or_else(missing)?;
            Ok(items.into_iter().map(f64::from_le_bytes).collect())
        }
        ("rational", None | Some(128)) => {
            let items = members.items::<16>(PROBABILITY, system.branches)?;
            let fraction = |item: [u8; 16]| {
                let number = |k: usize| item[k..k + 8].try_into().map_or([0; 8], |bytes| bytes);
                i64::from_le_bytes(number(0)) as f64 / u64::from_le_bytes(number(8)) as f64
            };
            Ok(items
                .ok_or_else(missing)?
                .into_iter()
                .map(fraction)
                .collect())
        }
        (kind, size) => Err(Trouble::Here(format!(
            "{INDEX}: probabilities of type {kind:?}{} are not supported; write them as double",
            size.map_or(String::new(), |bits| format!(" of {bits} bits"))
        ))),
    }
}

fn actions(members: &Members, system: &System, choices: &[usize]) -> Found<Option<Vec<u32>>> {
    if system.choice_actions == 0 {
        return Ok(None);
    }
    let Some(items) = members.items::<4>(ACTION, system.choices)? else {
        // every choice has action 0: distinct only where there is one choice
        return Ok(None);
    };
    let actions: Vec<u32> = items.into_iter().map(u32::from_le_bytes).collect();
    if let Some(choice) = actions
        .iter()
        .position(|&action| u64::from(action) >= system.choice_actions)
    {
        return Err(Trouble::Here(format!(
            "{ACTION}: choice {choice} has action {}; there are {}, numbered from 0",
            actions[choice], system.choice_actions
        )));
    }
    let mut seen = Vec::new();
    let distinct = choices.windows(2).all(|w| {
        seen.clear();
        seen.extend_from_slice(&actions[w[0]..w[1]]);
        seen.sort_unstable();
        seen.windows(2).all(|pair| pair[0] != pair[1])
    });
    // an action number is a column of tables to come: one far beyond the choices is none
    let sensible = system.choice_actions <= system.choices.saturating_mul(64).max(1 << 16);
    Ok((distinct && sensible).then_some(actions))
}

/// Start, names and layout.
fn decorate(mut mdp: Mdp, labelled: bool, members: &Members, system: &System) -> Found<Mdp> {
    let n = mdp.n_states();
    if let Some(start) = members.items::<8>(START, system.states)? {
        mdp = mdp.with_start(start.into_iter().map(f64::from_le_bytes).collect())?;
    } else if let Some(words) = members.items::<8>(INITIAL, system.states.div_ceil(64))? {
        let bit = |s: usize| u64::from_le_bytes(words[s / 64]) >> (s % 64) & 1 == 1;
        let initial: Vec<usize> = (0..n).filter(|&s| bit(s)).collect();
        if !initial.is_empty() {
            mdp = mdp.with_start(even(n, &initial))?;
        }
    }
    if let Some(words) = members.items::<8>(TERMINAL, system.states.div_ceil(64))? {
        let bit = |s: usize| u64::from_le_bytes(words[s / 64]) >> (s % 64) & 1 == 1;
        mdp = mdp.with_terminal((0..n).filter(|&s| bit(s)).collect())?;
    }
    let names = members.texts(ACTION_RANGES, ACTION_NAMES, system.choice_actions)?;
    if let Some(names) = names.filter(|_| labelled) {
        mdp = mdp.with_action_names(names)?;
    }
    if let Some(names) = members.texts(STATE_RANGES, STATE_NAMES, system.states)? {
        mdp = mdp.with_state_names(names)?;
    }
    if let (Some(map), Some(cells)) = (
        members.items::<8>(MAP, 2)?,
        members.items::<8>(CELLS, system.states)?,
    ) {
        let whole = |item: &[u8; 8]| usize::try_from(u64::from_le_bytes(*item));
        let whole = |item| whole(item).unwrap_or(usize::MAX);
        let cells = cells.iter().map(whole).collect();
        mdp = mdp.with_layout(checked_layout(whole(&map[0]), whole(&map[1]), cells, n)?);
    }
    Ok(mdp)
}

/// The distribution that is even on some states.
pub(super) fn even(n: usize, states: &[usize]) -> Vec<f64> {
    let mut start = vec![0.0; n];
    for &s in states {
        start[s] = 1.0 / states.len() as f64;
    }
    start
}
