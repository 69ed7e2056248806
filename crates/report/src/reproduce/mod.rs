//! The paper, experiment by experiment: what it prints, what we measure, and a verdict.
//!
//! An experiment is a small file (see [`registry`]); its `kind` names the code that runs it, its
//! parameters come as a reduced and a full set. Running one gives an [`Outcome`]: rows with
//! verdicts, tables, pictures. [`store`] writes outcomes to a folder and finds them again.

mod exact;
mod learning;
mod learning_claims;
mod optimal_policies;
pub mod page;
mod parameters;
pub mod registry;
mod solve_time;
pub mod store;
mod theorems;
mod three_states;
mod trade_off;
pub mod verdict;

use std::sync::atomic::{AtomicBool, Ordering};

use serde::{Deserialize, Serialize};

use crate::panels::Panels;
use ide3al::error::{Error, Result};
use registry::Spec;
use verdict::{Measurement, Verdict};

/// One claim, measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Row {
    /// What is claimed, in words.
    pub name: String,
    /// What the paper prints or says.
    pub paper: serde_json::Value,
    /// What was measured; null where nothing could be.
    pub measured: Option<f64>,
    /// Low end of its 95 % interval; the number itself where it is computed, not sampled.
    pub low: Option<f64>,
    /// High end.
    pub high: Option<f64>,
    /// The verdict, by rule.
    pub verdict: Verdict,
    /// Why.
    pub reason: String,
}

impl Row {
    /// A judged claim.
    pub fn new(
        name: impl Into<String>,
        paper: impl Into<serde_json::Value>,
        measured: Measurement,
        judged: (Verdict, String),
    ) -> Self {
        let finite = |x: f64| x.is_finite().then_some(x);
        Row {
            name: name.into(),
            paper: paper.into(),
            measured: finite(measured.value),
            low: finite(measured.low),
            high: finite(measured.high),
            verdict: judged.0,
            reason: judged.1,
        }
    }

    /// With a further sentence of explanation.
    #[must_use]
    pub fn because(mut self, text: &str) -> Self {
        if !text.is_empty() {
            if !self.reason.is_empty() {
                self.reason.push_str("; ");
            }
            self.reason.push_str(text);
        }
        self
    }

    /// With a sentence that only a claim which does not hold needs.
    #[must_use]
    pub fn otherwise(self, text: &str) -> Self {
        if self.verdict == Verdict::Holds {
            self
        } else {
            self.because(text)
        }
    }
}

/// A table: on the page unless it is long, and as a CSV file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DataTable {
    /// Ending of the file's name; empty for the table named like the experiment.
    pub name: String,
    /// Names of the columns, units included.
    pub header: Vec<String>,
    /// Cells as text; numbers are recognised.
    pub rows: Vec<Vec<String>>,
    /// Below the table.
    pub caption: String,
    /// Whether the page shows it.
    pub shown: bool,
}

impl DataTable {
    fn new(name: &str, header: &[&str]) -> Self {
        DataTable {
            name: name.to_owned(),
            header: header.iter().map(|h| (*h).to_owned()).collect(),
            shown: true,
            ..DataTable::default()
        }
    }
}

/// What an experiment found.
#[derive(Debug, Clone, Default)]
pub struct Outcome {
    /// The claims.
    pub rows: Vec<Row>,
    /// The data.
    pub tables: Vec<DataTable>,
    /// Pictures, each with the ending of its file's name.
    pub figures: Vec<(String, Panels)>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

/// How to run.
pub struct Context<'a> {
    /// The paper's numbers of runs instead of reduced ones.
    pub full: bool,
    /// Threads; results do not depend on them.
    pub threads: usize,
    /// Set to stop soon.
    pub stop: &'a AtomicBool,
    /// Told the share done of the running experiment, from 0 to 1.
    pub progress: &'a (dyn Fn(f64) + Sync),
}

impl Context<'_> {
    fn check(&self) -> Result<()> {
        if self.stop.load(Ordering::Relaxed) {
            Err(Error::Interrupted)
        } else {
            Ok(())
        }
    }

    /// Reports a share of the work and whether to go on.
    fn step(&self, done: usize, of: usize) -> Result<()> {
        (self.progress)(done as f64 / of.max(1) as f64);
        self.check()
    }
}

/// Runs one experiment.
pub fn run(spec: &Spec, context: &Context<'_>) -> Result<Outcome> {
    context.check()?;
    match spec.kind.as_str() {
        "exact" => exact::run(spec, context),
        "learning" => learning::run(spec, context),
        "parameters" => parameters::run(spec, context),
        "solve-time" => solve_time::run(spec, context),
        "theorems" => theorems::run(spec, context),
        "three-states" => three_states::run(spec, context),
        "trade-off" => trade_off::run(spec, context),
        other => Err(Error::unknown("kind of experiment", other, &KINDS)),
    }
}

/// The kinds of experiment that [`run`] knows.
pub const KINDS: [&str; 7] = [
    "exact",
    "learning",
    "parameters",
    "solve-time",
    "theorems",
    "three-states",
    "trade-off",
];
