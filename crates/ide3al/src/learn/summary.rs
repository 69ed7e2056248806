//! All runs of an experiment in one table.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::evaluator::{DataFigures, Metrics};
use super::experiment::Experiment;
use super::runs::RunResult;
use super::statistics::Estimate;
use crate::model::Mdp;

/// The figures of all runs of one algorithm at one moment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Batches so far.
    pub iteration: u64,
    /// Samples so far.
    pub samples: u64,
    /// Per metric (see [`Metrics::NAMES`] and [`DataFigures::NAMES`]), mean and interval over runs.
    #[serde(flatten)]
    pub metrics: BTreeMap<String, Estimate>,
}

/// Goal-conditioned success after exploring for `horizon` steps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct GoalPoint {
    /// Exploring steps $T$.
    pub horizon: u64,
    /// Probability of reaching the goal in time.
    pub probability: Estimate,
    /// Discounted value as a share of the optimal one.
    pub value_share: Estimate,
}

/// What some runs of an algorithm say about what they learned, see [`super::Learner::notes`].
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Note {
    /// In words.
    pub text: String,
    /// How many runs say it.
    pub runs: u64,
}

/// How many notes of an algorithm are shown: they name states, so that every run may have one of
/// its own.
const SHOWN: usize = 2;

/// What one algorithm achieved.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AlgorithmSummary {
    /// From iteration 0 on. A run that converged keeps its last figures.
    pub curve: Vec<Point>,
    /// The last point of the curve.
    #[serde(rename = "final")]
    pub last: Point,
    /// Samples after which the mean entropy first reaches 95 % of its final value.
    pub samples_to_95_percent: u64,
    /// Number of runs.
    pub runs: u64,
    /// Number of runs that ended by convergence.
    pub converged: u64,
    /// Computing time of all its runs, in seconds.
    pub seconds: f64,
    /// Goal-conditioned success, where asked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub goal: Vec<GoalPoint>,
    /// What its runs say about what they learned, the most frequent first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<Note>,
}

/// The whole experiment.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// The model as the user named it.
    pub model: String,
    /// Number of states.
    pub states: usize,
    /// Number of state-action pairs.
    pub pairs: usize,
    /// Everything that decided the results.
    pub parameters: Experiment,
    /// By label.
    pub algorithms: BTreeMap<String, AlgorithmSummary>,
}

impl Summary {
    /// Summarises finished runs: `results[k]` belongs to the `k`-th algorithm.
    pub fn new(
        model: &str,
        mdp: &Mdp,
        experiment: &Experiment,
        results: &[Vec<RunResult>],
    ) -> Self {
        let algorithms = experiment
            .algorithms
            .iter()
            .zip(results)
            .map(|(algorithm, runs)| (algorithm.label(), summarise(mdp, experiment, runs)))
            .collect();
        Summary {
            model: model.to_owned(),
            states: mdp.n_states(),
            pairs: mdp.n_pairs(),
            parameters: experiment.clone(),
            algorithms,
        }
    }

    /// The notes of all algorithms as lines to show; where an algorithm has many, the most frequent
    /// ones.
    pub fn remarks(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for algorithm in &self.parameters.algorithms {
            let label = algorithm.label();
            let Some(of) = self.algorithms.get(&label) else {
                continue;
            };
            for note in of.notes.iter().take(SHOWN) {
                lines.push(format!(
                    "{label}, {} of {} runs: {}.",
                    note.runs, of.runs, note.text
                ));
            }
            if of.notes.len() > SHOWN {
                let more = of.notes.len() - SHOWN;
                lines.push(format!("{label}: {more} more in summary.json."));
            }
        }
        lines
    }
}

/// Equal notes of several runs are one.
fn notes(runs: &[RunResult]) -> Vec<Note> {
    let mut notes: Vec<Note> = Vec::new();
    for text in runs.iter().flat_map(|run| &run.notes) {
        match notes.iter_mut().find(|note| note.text == *text) {
            Some(note) => note.runs += 1,
            None => notes.push(Note {
                text: text.clone(),
                runs: 1,
            }),
        }
    }
    // stable: of equally frequent ones that of the earlier run comes first
    notes.sort_by_key(|note| std::cmp::Reverse(note.runs));
    notes
}

fn summarise(mdp: &Mdp, experiment: &Experiment, runs: &[RunResult]) -> AlgorithmSummary {
    let length = runs.iter().map(|run| run.curve.len()).max().unwrap_or(0);
    let mut column = Vec::with_capacity(runs.len());
    let curve: Vec<Point> = (0..length)
        .map(|i| {
            let rows: Vec<Vec<f64>> = runs
                .iter()
                .filter_map(|run| run.curve.get(i).or(run.curve.last()))
                .map(|m| {
                    let of_policy = m.values(mdp.n_states(), mdp.n_pairs());
                    of_policy.into_iter().chain(m.data.values()).collect()
                })
                .collect();
            let metrics = (Metrics::NAMES.iter().chain(&DataFigures::NAMES))
                .enumerate()
                .map(|(k, name)| {
                    column.clear();
                    column.extend(rows.iter().map(|row| row[k]));
                    ((*name).to_owned(), Estimate::of(&column))
                })
                .collect();
            Point {
                iteration: i as u64,
                samples: i as u64 * experiment.batch_size,
                metrics,
            }
        })
        .collect();
    let entropy = |point: &Point| point.metrics["entropy"].mean.unwrap_or(0.0);
    let last = curve.last().cloned().unwrap_or(Point {
        iteration: 0,
        samples: 0,
        metrics: BTreeMap::new(),
    });
    let wanted = curve.last().map_or(0.0, |point| 0.95 * entropy(point));
    let samples_to_95_percent = curve
        .iter()
        .find(|point| entropy(point) >= wanted)
        .map_or(0, |point| point.samples);
    let goal = experiment.goal.iter().flat_map(|goal| {
        goal.horizons.iter().enumerate().map(|(k, &horizon)| {
            let of = |get: fn(&super::Success) -> f64| {
                let values: Vec<f64> = runs
                    .iter()
                    .filter_map(|run| run.goal.get(k))
                    .map(get)
                    .collect();
                Estimate::of(&values)
            };
            GoalPoint {
                horizon,
                probability: of(|success| success.probability),
                value_share: of(|success| success.value_share),
            }
        })
    });
    AlgorithmSummary {
        last,
        samples_to_95_percent,
        runs: runs.len() as u64,
        converged: runs.iter().filter(|run| run.converged).count() as u64,
        seconds: runs.iter().map(|run| run.seconds).sum(),
        goal: goal.collect(),
        notes: notes(runs),
        curve,
    }
}
