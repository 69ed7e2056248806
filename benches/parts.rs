//! What each part of the analysis costs: `cargo bench --bench parts [-- MODEL ...]`.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use std::hint::black_box;
use std::time::Instant;

use ide3al::chain::mixing::{MixingNorm, mixing_time};
use ide3al::chain::spectrum::{second_eigenvalue, second_modulus};
use ide3al::chain::stationary::long_run;
use ide3al::chain::{Classes, entropy};
use ide3al::model::Policy;

/// Best time of repeated calls in microseconds, within about half a second.
fn microseconds<T>(mut work: impl FnMut() -> T) -> f64 {
    let begin = Instant::now();
    let mut best = f64::INFINITY;
    for round in 0..1000 {
        let clock = Instant::now();
        black_box(work());
        best = best.min(clock.elapsed().as_secs_f64());
        if round > 0 && begin.elapsed().as_secs_f64() > 0.5 {
            break;
        }
    }
    best * 1e6
}

fn main() {
    let chosen: Vec<String> = std::env::args()
        .skip(1)
        .filter(|a| !a.starts_with("--"))
        .collect();
    let usual = ["single-chain", "double-chain", "knight-quest", "four-rooms"];
    let models = if chosen.is_empty() {
        usual.map(String::from).to_vec()
    } else {
        chosen
    };
    println!(
        "microseconds, uniform policy\n{:<16} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}",
        "model", "chain", "classes", "long run", "entropy", "modulus", "with error", "mixing"
    );
    for model in models {
        let mdp = ide3al::domains::load(&model).unwrap();
        let policy = Policy::uniform(&mdp);
        let chain = mdp.chain(&policy);
        let run = long_run(&chain);
        print!("{model:<16}");
        for time in [
            microseconds(|| mdp.chain(&policy)),
            microseconds(|| Classes::of(&chain)),
            microseconds(|| long_run(&chain)),
            microseconds(|| entropy::state_action_entropy(&mdp, &policy, &run.distribution)),
            microseconds(|| second_modulus(&chain, &run)),
            microseconds(|| second_eigenvalue(&chain, &run)),
            microseconds(|| mixing_time(&chain, &run, MixingNorm::TotalVariation, 0.25)),
        ] {
            print!(" {time:>10.1}");
        }
        println!();
    }
}
