//! How the analysis grows: garnets of 10^4, 10^5 and 10^6 states (4 actions, 5 successors)
//! built, written to NPZ, read back and analysed under the uniform policy.
//!
//! Each size runs in a process of its own, so that its peak memory is its own.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use std::time::Instant;

use ide3al::chain::{AnalyzeOptions, analyze};
use ide3al::model::{Policy, io};

/// Peak resident memory of this process in MiB.
fn peak_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM:"));
    line.and_then(|l| l.split_whitespace().nth(1))
        .and_then(|kb| kb.parse::<f64>().ok())
        .map_or(f64::NAN, |kb| kb / 1024.0)
}

fn child(states: &str) {
    let clock = Instant::now();
    let spec = format!("garnet:states={states},actions=4,branching=5,seed=1");
    let mdp = ide3al::domains::load(&spec).unwrap();
    let built = clock.elapsed().as_secs_f64();
    let file = std::env::temp_dir().join(format!("ide3al-scale-{}.npz", std::process::id()));
    let clock = Instant::now();
    io::write_model(&file, &mdp).unwrap();
    let written = clock.elapsed().as_secs_f64();
    let pairs = mdp.n_pairs();
    drop(mdp);
    let clock = Instant::now();
    let mdp = io::read_model(&file).unwrap();
    let read = clock.elapsed().as_secs_f64();
    std::fs::remove_file(&file).unwrap();
    assert_eq!(mdp.n_pairs(), pairs);
    let clock = Instant::now();
    let options = AnalyzeOptions::default();
    let found = analyze(&mdp, &Policy::uniform(&mdp), &options).unwrap();
    let analysed = clock.elapsed().as_secs_f64();
    assert!(found.residual <= 1e-12 && found.stationary_converged);
    println!(
        "{:.0} {built} {written} {read} {analysed} {} {:e}",
        found.transitions as f64,
        peak_memory(),
        found.residual
    );
}

fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    if let Some(place) = arguments.iter().position(|a| a == "--child") {
        return child(&arguments[place + 1]);
    }
    println!(
        "   states  transitions  build s  write s  read s  analyse s  total s  peak MiB  residual"
    );
    let mut points: Vec<(f64, f64, f64)> = Vec::new();
    for states in ["10000", "100000", "1000000"] {
        let output = std::process::Command::new(&arguments[0])
            .args(["--child", states])
            .output()
            .unwrap();
        if !output.status.success() {
            println!("{states}: {}", String::from_utf8_lossy(&output.stderr));
            std::process::exit(1);
        }
        let line = String::from_utf8(output.stdout).unwrap();
        let v: Vec<f64> = line
            .split_whitespace()
            .map(|x| x.parse().unwrap())
            .collect();
        let total: f64 = v[1..5].iter().sum();
        println!(
            "{states:>9}  {:>11}  {:7.2}  {:7.2}  {:6.2}  {:9.2}  {total:7.2}  {:8.0}  {:.1e}",
            v[0], v[1], v[2], v[3], v[4], v[5], v[6]
        );
        points.push((v[0], total, v[5]));
    }
    for pair in points.windows(2) {
        let transitions = (pair[1].0 / pair[0].0).ln();
        println!(
            "growth from {} to {} transitions: time exponent {:.2}, memory exponent {:.2}",
            pair[0].0,
            pair[1].0,
            (pair[1].1 / pair[0].1).ln() / transitions,
            (pair[1].2 / pair[0].2).ln() / transitions
        );
    }
}
