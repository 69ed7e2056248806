//! Rewards beside a `.tra`: PRISM's `.srew` (states: `state reward`) and `.trew` (transitions:
//! `state choice next reward`), and Storm's `.rew`, which may hold either.
//!
//! PRISM begins with a line of counts, newer versions with comments; Storm begins at once. A
//! state's reward is earned by every choice in it, a transition's with the transition's
//! probability.
//!
//! Source: PRISM manual, "Explicit model import"; Storm, "Explicit files".

use std::collections::HashMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::tra::for_lines;
use super::{atomic, malformed, tra_side};
use crate::error::Result;
use crate::model::Mdp;

/// `.srew` and `.trew` of a `.tra`, which are written, and `.rew`, which is only read.
const WRITTEN: [&str; 2] = ["srew", "trew"];
const READ: [&str; 3] = ["srew", "trew", "rew"];

/// The files that may be written.
pub(super) fn paths(path: &Path) -> [PathBuf; 2] {
    WRITTEN.map(|extension| path.with_extension(extension))
}

/// Expected rewards.
#[derive(Default)]
pub(super) struct Earned {
    states: HashMap<u32, f64>,
    choices: HashMap<(u32, u32), f64>,
}

impl Earned {
    /// Of a choice in a state.
    pub(super) fn of(&self, state: u32, choice: u32) -> f64 {
        let of_state = self.states.get(&state).copied().unwrap_or(0.0);
        of_state + self.choices.get(&(state, choice)).copied().unwrap_or(0.0)
    }
}

/// What the files beside a `.tra` say, if there are any; `lines` are its transitions.
pub(super) fn read(path: &Path, lines: &[(u32, u32, u32, f64)]) -> Result<Option<Earned>> {
    let files = READ.map(|extension| path.with_extension(extension));
    let mut files = files.into_iter().filter(|file| file.exists()).peekable();
    if files.peek().is_none() {
        return Ok(None);
    }
    let mut probability: HashMap<(u32, u32, u32), f64> = HashMap::new();
    for &(state, choice, next, p) in lines {
        *probability.entry((state, choice, next)).or_insert(0.0) += p;
    }
    // of each choice: its transitions, and the rewards on them with their probabilities
    let mut transitions: HashMap<(u32, u32), usize> = HashMap::new();
    for &(state, choice, _) in probability.keys() {
        *transitions.entry((state, choice)).or_default() += 1;
    }
    let known: std::collections::HashSet<u32> = lines.iter().map(|line| line.0).collect();
    let mut listed: HashMap<(u32, u32), Vec<(f64, f64)>> = HashMap::new();
    let mut earned = Earned::default();
    for file in files {
        // PRISM's counts are whole numbers, and no more of them than a line of rewards has
        let counted = file.extension().is_none_or(|extension| extension != "rew");
        let mut first = counted;
        for_lines(&file, |number, line| {
            let line = line.trim();
            if line.starts_with('#') {
                return Ok(());
            }
            if std::mem::take(&mut first) {
                return Ok(());
            }
            let bad = |problem: String| malformed(&file, format!("line {number}: {problem}"));
            let words: Vec<&str> = line.split_whitespace().collect();
            let index = |k: usize| -> Result<u32> {
                let problem = || bad(format!("a number from 0 expected, found '{}'", words[k]));
                words[k].parse().map_err(|_| problem())
            };
            let reward = words.last().and_then(|word| word.parse::<f64>().ok());
            let reward = reward.filter(|r| r.is_finite()).ok_or_else(|| {
                bad(format!(
                    "a reward expected at the end of '{line}', a finite number"
                ))
            })?;
            match words.len() {
                2 => {
                    let state = index(0)?;
                    if !known.contains(&state) {
                        return Err(bad(format!("the model has no state {state}")));
                    }
                    *earned.states.entry(state).or_insert(0.0) += reward;
                }
                // of a chain there is one choice, which is left out
                3 | 4 => {
                    let chain = words.len() == 3;
                    let (state, next) = (index(0)?, index(words.len() - 2)?);
                    let choice = if chain { 0 } else { index(1)? };
                    let p = probability.get(&(state, choice, next)).ok_or_else(|| {
                        bad(format!(
                            "the model has no transition from state {state} by choice {choice} to state {next}"
                        ))
                    })?;
                    listed
                        .entry((state, choice))
                        .or_default()
                        .push((*p, reward));
                }
                _ => {
                    return Err(bad(format!(
                        "'{line}' is neither 'state reward' nor 'state choice next reward'"
                    )));
                }
            }
            Ok(())
        })?;
    }
    for (choice, rewards) in listed {
        let (_, first) = rewards[0];
        // one reward whatever follows is that reward, without rounding
        let same = rewards.len() == transitions[&choice] && rewards.iter().all(|x| x.1 == first);
        let mean = || rewards.iter().map(|(p, r)| p * r).sum();
        earned
            .choices
            .insert(choice, if same { first } else { mean() });
    }
    Ok(Some(earned))
}

/// Writes `.trew`, the expected reward of a choice on each of its transitions, where the model has
/// rewards; removes those of an earlier model.
pub(super) fn write(path: &Path, mdp: &Mdp) -> Result<()> {
    let [states, transitions] = paths(path);
    tra_side::remove(&states)?;
    let Some(rewards) = mdp.rewards() else {
        return tra_side::remove(&transitions);
    };
    let n = mdp.n_states();
    let length = |pair: usize| {
        let row = mdp.row(pair);
        if row.spread > 0.0 {
            n
        } else {
            row.indices.len()
        }
    };
    let rewarded = |pair: &usize| rewards[*pair] != 0.0;
    let lines: usize = (0..mdp.n_pairs()).filter(rewarded).map(length).sum();
    atomic::write(&transitions, |file| {
        writeln!(file, "{n} {} {lines}", mdp.n_pairs())?;
        for state in 0..n {
            for (choice, pair) in mdp.pairs(state).enumerate() {
                let (row, reward) = (mdp.row(pair), rewards[pair]);
                if reward == 0.0 {
                    continue;
                }
                if row.spread > 0.0 {
                    for next in 0..n {
                        writeln!(file, "{state} {choice} {next} {reward:?}")?;
                    }
                } else {
                    for (next, _) in row.entries() {
                        writeln!(file, "{state} {choice} {next} {reward:?}")?;
                    }
                }
            }
        }
        Ok(())
    })
}
