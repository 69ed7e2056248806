//! The results of an experiment as files.

use std::fmt::Write as _;
use std::path::Path;

use super::evaluator::{DataFigures, Metrics};
use super::experiment::Experiment;
use super::runs::RunResult;
use super::summary::Summary;
use crate::error::{Error, Result};
use crate::model::Mdp;

/// Every figure of every run, tidy: one line per algorithm, run and iteration, in that
/// order. Numbers are written so that reading them returns the same bits; what was not
/// computed is empty.
pub fn runs_csv(mdp: &Mdp, experiment: &Experiment, results: &[Vec<RunResult>]) -> String {
    let mut text = format!(
        "algorithm,run,iteration,samples,{}\n",
        Metrics::NAMES.join(",")
    );
    for (algorithm, runs) in experiment.algorithms.iter().zip(results) {
        let label = algorithm.label();
        for (number, run) in runs.iter().enumerate() {
            for (iteration, metrics) in run.curve.iter().enumerate() {
                let samples = iteration as u64 * experiment.batch_size;
                // writing to a string cannot fail
                let _ = write!(text, "{label},{number},{iteration},{samples}");
                for value in metrics.values(mdp.n_states(), mdp.n_pairs()) {
                    text.push(',');
                    if value.is_finite() {
                        let _ = write!(text, "{value:?}");
                    }
                }
                text.push('\n');
            }
        }
    }
    text
}

/// How much was seen, in every iteration of every run.
pub fn data_csv(experiment: &Experiment, results: &[Vec<RunResult>]) -> String {
    let names = DataFigures::NAMES.join(",");
    let mut text = format!("algorithm,run,iteration,samples,{names}\n");
    for (algorithm, runs) in experiment.algorithms.iter().zip(results) {
        let label = algorithm.label();
        for (number, run) in runs.iter().enumerate() {
            for (iteration, metrics) in run.curve.iter().enumerate() {
                let samples = iteration as u64 * experiment.batch_size;
                let [states, pairs, effective] = metrics.data.values();
                let _ = writeln!(
                    text,
                    "{label},{number},{iteration},{samples},{states},{pairs},{effective:?}"
                );
            }
        }
    }
    text
}

/// Goal-conditioned success: one line per algorithm, run and horizon.
pub fn goal_csv(experiment: &Experiment, results: &[Vec<RunResult>]) -> Option<String> {
    let goal = experiment.goal.as_ref()?;
    let mut text = String::from("algorithm,run,horizon,probability,value_share\n");
    for (algorithm, runs) in experiment.algorithms.iter().zip(results) {
        for (number, run) in runs.iter().enumerate() {
            for (horizon, success) in goal.horizons.iter().zip(&run.goal) {
                let _ = writeln!(
                    text,
                    "{},{number},{horizon},{:?},{:?}",
                    algorithm.label(),
                    success.probability,
                    success.value_share
                );
            }
        }
    }
    Some(text)
}

/// Writes `policies/`, `runs.csv`, `data.csv`, `goal.csv` where asked for, and `summary.json`, each
/// whole or not at all.
pub fn write(
    folder: &Path,
    mdp: &Mdp,
    experiment: &Experiment,
    results: &[Vec<RunResult>],
    summary: &Summary,
) -> Result<()> {
    let policies = folder.join("policies");
    std::fs::create_dir_all(&policies).map_err(|source| Error::Io {
        path: policies.clone(),
        action: "create the folder",
        source,
    })?;
    for (algorithm, runs) in experiment.algorithms.iter().zip(results) {
        // a colon is no part of a file name on every system
        let label = algorithm.label().replace(':', "-");
        for (number, run) in runs.iter().enumerate() {
            let path = policies.join(format!("{label}-{number:03}.json"));
            crate::model::io::write_policy(&path, mdp, &run.policy)?;
        }
    }
    let replace = |name: &str, text: &str| {
        crate::model::io::atomic::write_bytes(&folder.join(name), text.as_bytes())
    };
    replace("runs.csv", &runs_csv(mdp, experiment, results))?;
    replace("data.csv", &data_csv(experiment, results))?;
    if let Some(text) = goal_csv(experiment, results) {
        replace("goal.csv", &text)?;
    }
    replace("summary.json", &json(summary)?)
}

/// Pretty JSON with a final line break.
pub fn json(summary: &Summary) -> Result<String> {
    let mut text = serde_json::to_string_pretty(summary)
        .map_err(|error| Error::Unsupported(format!("cannot write JSON: {error}")))?;
    text.push('\n');
    Ok(text)
}
