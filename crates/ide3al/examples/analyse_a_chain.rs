//! What a policy does in the long run: classes, entropies, spectral gap, mixing time.
#![allow(clippy::print_stdout)]

use ide3al::chain::{AnalyzeOptions, analyze};
use ide3al::domains;
use ide3al::model::Policy;

pub(crate) fn main() -> ide3al::Result<()> {
    let mdp = domains::load("river-swim")?;
    let analysis = analyze(&mdp, &Policy::uniform(&mdp), &AnalyzeOptions::default())?;
    println!(
        "{:.1} % of the largest entropy, spectral gap {:.4}",
        100.0 * analysis.entropy_normalized,
        analysis.spectral_gap
    );
    match analysis.mixing_time {
        Some(steps) => println!("mixes within {steps} steps ({})", analysis.mixing_time_kind),
        None => println!("never mixes"),
    }
    println!(
        "state {} is visited least: {:.3e}",
        analysis.least_visited_state, analysis.min_probability
    );
    Ok(())
}
