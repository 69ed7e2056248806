//! Models as JSON, read and written as a stream.
//!
//! Unknown keys are ignored, so that other tools may keep theirs, unless one differs by a
//! letter or two from a key that means something: that is a misspelling and an error.

use std::fmt;
use std::io::{BufReader, Read, Seek, SeekFrom, Write};
use std::path::Path;

use serde::de::{
    DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor,
};
use serde::{Deserialize, Serialize};

use super::rows::Transitions;
use super::{atomic, cannot_read, checked_layout, malformed, open};
use crate::error::{Error, Result, edit_distance};
use crate::model::{Mdp, Rewards};

const KEYS: [&str; 11] = [
    "states",
    "actions",
    "start",
    "transitions",
    "state_names",
    "action_names",
    "layout",
    "uniform",
    "times",
    "rewards",
    "terminal",
];

/// What the file said, before it is checked against itself.
#[derive(Default)]
struct Document {
    states: Option<usize>,
    actions: Option<usize>,
    start: Option<Start>,
    transitions: Option<Transitions>,
    uniform: Vec<(u32, u32, f64)>,
    state_names: Option<Vec<String>>,
    action_names: Option<Vec<String>>,
    layout: Option<LayoutKey>,
    times: Option<Vec<f64>>,
    rewards: Option<Vec<f64>>,
    terminal: Vec<usize>,
}

#[derive(Serialize, Deserialize)]
pub(super) struct LayoutKey {
    pub(super) rows: usize,
    pub(super) columns: usize,
    pub(super) cells: Vec<usize>,
}

/// One state, or one probability per state.
pub(super) enum Start {
    State(usize),
    Distribution(Vec<f64>),
}

impl Start {
    /// The shortest way to say it; `None` is the uniform distribution, the default.
    pub(super) fn of(mdp: &Mdp) -> Option<Self> {
        let start = mdp.start();
        let uniform = 1.0 / start.len() as f64;
        if start.iter().all(|p| *p == uniform) {
            return None;
        }
        match start.iter().position(|p| *p == 1.0) {
            Some(state) => Some(Start::State(state)),
            None => Some(Start::Distribution(start.to_vec())),
        }
    }

    pub(super) fn apply(self, mdp: Mdp) -> Result<Mdp> {
        match self {
            Start::State(state) => mdp.with_start_state(state),
            Start::Distribution(start) => mdp.with_start(start),
        }
    }
}

impl Serialize for Start {
    fn serialize<S: serde::Serializer>(&self, to: S) -> std::result::Result<S::Ok, S::Error> {
        match self {
            Start::State(state) => state.serialize(to),
            Start::Distribution(start) => start.serialize(to),
        }
    }
}

impl<'de> Deserialize<'de> for Start {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct Seed;
        impl<'de> Visitor<'de> for Seed {
            type Value = Start;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("'start' as one state number or as a list of probabilities")
            }

            fn visit_u64<E: serde::de::Error>(self, state: u64) -> std::result::Result<Start, E> {
                Ok(Start::State(usize::try_from(state).unwrap_or(usize::MAX)))
            }

            fn visit_seq<A: SeqAccess<'de>>(
                self,
                mut list: A,
            ) -> std::result::Result<Start, A::Error> {
                let mut start = Vec::new();
                while let Some(p) = list.next_element()? {
                    start.push(p);
                }
                Ok(Start::Distribution(start))
            }
        }
        from.deserialize_any(Seed)
    }
}

/// Reads the list of transitions straight into compressed form.
struct TransitionSeed;

impl<'de> DeserializeSeed<'de> for TransitionSeed {
    type Value = Transitions;

    fn deserialize<D: Deserializer<'de>>(
        self,
        from: D,
    ) -> std::result::Result<Transitions, D::Error> {
        from.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for TransitionSeed {
    type Value = Transitions;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("'transitions' as a list of [state, action, next state, probability]")
    }

    fn visit_seq<A: SeqAccess<'de>>(
        self,
        mut list: A,
    ) -> std::result::Result<Transitions, A::Error> {
        let mut transitions = Transitions::default();
        while let Some((state, action, next, value)) =
            list.next_element::<(u32, u32, u32, f64)>()?
        {
            transitions.push(state, action, next, value);
        }
        Ok(transitions)
    }
}

impl<'de> Deserialize<'de> for Document {
    fn deserialize<D: Deserializer<'de>>(from: D) -> std::result::Result<Self, D::Error> {
        struct Keys;
        impl<'de> Visitor<'de> for Keys {
            type Value = Document;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object with the keys 'states', 'actions' and 'transitions'")
            }

            fn visit_map<A: MapAccess<'de>>(
                self,
                mut map: A,
            ) -> std::result::Result<Document, A::Error> {
                let mut document = Document::default();
                let mut seen: Vec<String> = Vec::new();
                while let Some(key) = map.next_key::<String>()? {
                    if KEYS.contains(&key.as_str()) && seen.contains(&key) {
                        return Err(A::Error::custom(format!("the key '{key}' appears twice")));
                    }
                    match key.as_str() {
                        "states" => document.states = Some(map.next_value()?),
                        "actions" => document.actions = Some(map.next_value()?),
                        "start" => document.start = map.next_value()?,
                        "transitions" => {
                            document.transitions = Some(map.next_value_seed(TransitionSeed)?);
                        }
                        "uniform" => document.uniform = map.next_value()?,
                        "state_names" => document.state_names = map.next_value()?,
                        "action_names" => document.action_names = map.next_value()?,
                        "layout" => document.layout = map.next_value()?,
                        "times" => document.times = map.next_value()?,
                        "rewards" => document.rewards = map.next_value()?,
                        "terminal" => document.terminal = map.next_value()?,
                        other => {
                            let near = KEYS.iter().find(|known| edit_distance(other, known) <= 2);
                            if let Some(near) = near {
                                return Err(A::Error::custom(format!(
                                    "unknown key '{other}'; did you mean '{near}'?"
                                )));
                            }
                            map.next_value::<IgnoredAny>()?;
                        }
                    }
                    seen.push(key);
                }
                Ok(document)
            }
        }
        from.deserialize_map(Keys)
    }
}

/// Reads any JSON document as a stream; errors name line and column.
pub(super) fn parse<T: for<'de> Deserialize<'de>>(path: &Path) -> Result<T> {
    let reader = BufReader::with_capacity(1 << 18, open(path)?);
    let mut stream = serde_json::Deserializer::from_reader(reader);
    let outcome = T::deserialize(&mut stream).and_then(|document| {
        stream.end()?;
        Ok(document)
    });
    outcome.map_err(|error| explain(path, &error))
}

fn explain(path: &Path, error: &serde_json::Error) -> Error {
    use serde_json::error::Category;
    match error.classify() {
        Category::Io => cannot_read(
            path,
            error
                .io_error_kind()
                .map_or_else(|| std::io::Error::other(error.to_string()), Into::into),
        ),
        Category::Eof => malformed(
            path,
            format!("malformed JSON: {error}; the file is truncated"),
        ),
        Category::Data => malformed(path, format!("{error}; correct that place")),
        Category::Syntax => {
            let found = text_near(path, error.line(), error.column()).unwrap_or_default();
            let word = ["NaN", "Infinity", "nan", "inf"]
                .into_iter()
                .find(|w| found.contains(w));
            match word {
                Some(word) => malformed(
                    path,
                    format!(
                        "line {}, column {}: {word} is not a probability (nor valid JSON); correct that entry",
                        error.line(),
                        error.column()
                    ),
                ),
                None => malformed(path, format!("malformed JSON: {error}; correct that place")),
            }
        }
    }
}

/// A few bytes around a place, to tell NaN and infinities from other mistakes.
fn text_near(path: &Path, line: usize, column: usize) -> std::io::Result<String> {
    let mut file = BufReader::new(std::fs::File::open(path)?);
    let (mut at, mut left) = (0u64, line.saturating_sub(1));
    let mut chunk = [0u8; 1 << 16];
    'lines: while left > 0 {
        let n = file.read(&mut chunk)?;
        if n == 0 {
            break;
        }
        for &byte in &chunk[..n] {
            at += 1;
            if byte == b'\n' {
                left -= 1;
                if left == 0 {
                    break 'lines;
                }
            }
        }
    }
    file.seek(SeekFrom::Start((at + column as u64).saturating_sub(6)))?;
    let mut text = Vec::new();
    file.take(14).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}

/// Reads a model.
pub(super) fn read(path: &Path) -> Result<Mdp> {
    let document: Document = parse(path)?;
    let missing = |key: &str| malformed(path, format!("the key '{key}' is missing; add it"));
    let states = document.states.ok_or_else(|| missing("states"))?;
    let actions = document.actions.ok_or_else(|| missing("actions"))?;
    let mut transitions = document.transitions.ok_or_else(|| missing("transitions"))?;
    if states == 0 || actions == 0 {
        return Err(Error::Empty);
    }
    transitions.shares = document.uniform;
    transitions.check(states, actions, "transitions")?;
    let mut mdp = transitions.build(states, actions)?;
    if let Some(start) = document.start {
        mdp = start.apply(mdp)?;
    }
    if let Some(names) = document.state_names {
        mdp = mdp.with_state_names(names)?;
    }
    if let Some(names) = document.action_names {
        if names.len() != actions {
            return Err(Error::Size {
                what: "action_names".into(),
                expected: format!("{actions}, one per action"),
                found: names.len().to_string(),
            });
        }
        mdp = mdp.with_action_names(names)?;
    }
    if let Some(layout) = document.layout {
        let layout = checked_layout(layout.rows, layout.columns, layout.cells, states)?;
        mdp = mdp.with_layout(layout);
    }
    if let Some(times) = document.times {
        mdp = mdp.with_times(times)?;
    }
    if let Some(rewards) = document.rewards {
        let rewards = Rewards::of(&mdp, &rewards)?;
        mdp = mdp.with_rewards(rewards)?;
    }
    mdp.with_terminal(document.terminal)
}

/// Number of actions to declare: every number in use, and every name.
pub(super) fn declared_actions(mdp: &Mdp) -> usize {
    let named = mdp.action_names().map_or(0, <[String]>::len);
    mdp.n_action_labels().max(named)
}

/// Writes a model, one transition per line.
pub(super) fn write(path: &Path, mdp: &Mdp) -> Result<()> {
    atomic::write(path, |file| {
        writeln!(file, "{{")?;
        writeln!(file, "\"states\": {},", mdp.n_states())?;
        writeln!(file, "\"actions\": {},", declared_actions(mdp))?;
        write_key(file, "start", Start::of(mdp))?;
        write_key(file, "state_names", mdp.state_names())?;
        write_key(file, "action_names", mdp.action_names())?;
        write_key(file, "layout", layout_key(mdp))?;
        write_key(file, "times", mdp.times())?;
        write_key(file, "rewards", mdp.rewards())?;
        let terminal = mdp.terminal();
        write_key(file, "terminal", (!terminal.is_empty()).then_some(terminal))?;
        let with_share = (0..mdp.n_states())
            .flat_map(|s| mdp.pairs(s).map(move |pair| (s, pair)))
            .map(|(s, pair)| (s, mdp.actions()[pair], mdp.kernel().spread_of(pair)))
            .filter(|entry| entry.2 > 0.0);
        let shares: Vec<_> = with_share.collect();
        write_key(file, "uniform", (!shares.is_empty()).then_some(shares))?;
        write!(file, "\"transitions\": [")?;
        let mut separator = "\n";
        for state in 0..mdp.n_states() {
            for pair in mdp.pairs(state) {
                let action = mdp.actions()[pair];
                for (next, p) in mdp.row(pair).entries() {
                    write!(file, "{separator}[{state},{action},{next},")?;
                    serde_json::to_writer(&mut *file, &p)?;
                    write!(file, "]")?;
                    separator = ",\n";
                }
            }
        }
        writeln!(file, "\n]\n}}")
    })
}

pub(super) fn layout_key(mdp: &Mdp) -> Option<LayoutKey> {
    mdp.layout().map(|layout| LayoutKey {
        rows: layout.rows,
        columns: layout.columns,
        cells: layout.cells.clone(),
    })
}

fn write_key(
    file: &mut impl Write,
    key: &str,
    value: Option<impl Serialize>,
) -> std::io::Result<()> {
    if let Some(value) = value {
        write!(file, "\"{key}\": ")?;
        serde_json::to_writer(&mut *file, &value)?;
        writeln!(file, ",")?;
    }
    Ok(())
}
