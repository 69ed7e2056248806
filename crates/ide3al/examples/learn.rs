//! Learn from samples only, and compare with a rival: what `ide3al learn` does.
#![allow(clippy::print_stdout)]

use std::sync::atomic::AtomicBool;

use ide3al::domains;
use ide3al::learn::{Algorithm, Experiment, Runs};

pub(crate) fn main() -> ide3al::Result<()> {
    let mdp = domains::load("single-chain")?;
    let experiment = Experiment {
        algorithms: vec![
            Algorithm::from_name("ideal")?,
            Algorithm::from_name("random")?,
        ],
        iterations: 30,
        runs: 3,
        seed: 1,
        ..Experiment::recommended("single-chain", &mdp)
    };
    let runs = Runs::new(&experiment, &mdp)?;
    // the figures are the same for any number of threads
    runs.execute(2, None, &AtomicBool::new(false), &|_| {})?;
    for (k, algorithm) in experiment.algorithms.iter().enumerate() {
        for result in runs.results(k).into_iter().flatten() {
            if let Some(last) = result.curve.last() {
                let share = last.entropy / (mdp.n_states() as f64).ln();
                println!("{}: {share:.3} of the largest entropy", algorithm.label());
            }
        }
    }
    Ok(())
}
