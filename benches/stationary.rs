//! Dense stationary distributions, to be compared with QuantEcon by
//! `benches/peers/quantecon_stationary.py`.
//!
//! With a folder as argument, every `chain-*.npy` in it (square, little-endian `f8`, C order)
//! is solved: prints `name seconds` and writes the answer beside it as raw `f8`. Without one,
//! random chains are timed alone.
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]

use std::path::Path;
use std::time::Instant;

use ide3al::chain::gth::stationary_dense;
use rand::{RngExt, SeedableRng};

/// Best of five, in seconds; the copy of the input is not counted.
fn best_time(n: usize, matrix: &[f64]) -> (f64, Vec<f64>) {
    let mut best = f64::INFINITY;
    let mut answer = Vec::new();
    for _ in 0..5 {
        let mut copy = matrix.to_vec();
        let clock = Instant::now();
        answer = stationary_dense(n, &mut copy);
        best = best.min(clock.elapsed().as_secs_f64());
    }
    (best, answer)
}

fn read_npy(path: &Path) -> Vec<f64> {
    let bytes = std::fs::read(path).unwrap();
    let header = u16::from_le_bytes([bytes[8], bytes[9]]) as usize + 10;
    bytes[header..]
        .chunks_exact(8)
        .map(|b| f64::from_le_bytes(b.try_into().unwrap()))
        .collect()
}

fn main() {
    let folder = std::env::args().skip(1).find(|a| !a.starts_with("--"));
    if let Some(folder) = folder {
        let mut files: Vec<_> = std::fs::read_dir(folder)
            .unwrap()
            .map(|entry| entry.unwrap().path())
            .filter(|p| p.extension().is_some_and(|e| e == "npy"))
            .collect();
        files.sort();
        for file in files {
            let matrix = read_npy(&file);
            let n = matrix.len().isqrt();
            let (seconds, answer) = best_time(n, &matrix);
            let bytes: Vec<u8> = answer.iter().flat_map(|x| x.to_le_bytes()).collect();
            std::fs::write(file.with_extension("f8"), bytes).unwrap();
            println!("{} {seconds}", file.file_stem().unwrap().display());
        }
        return;
    }
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
    println!("states  seconds  Gflop/s");
    for n in [10, 20, 100, 360, 500, 1000, 2000] {
        let mut matrix: Vec<f64> = (0..n * n).map(|_| rng.random()).collect();
        for row in matrix.chunks_exact_mut(n) {
            let sum: f64 = row.iter().sum();
            row.iter_mut().for_each(|p| *p /= sum);
        }
        let (seconds, _) = best_time(n, &matrix);
        let flops = 2.0 / 3.0 * (n as f64).powi(3);
        println!("{n:6}  {seconds:.2e}  {:7.2}", flops / seconds / 1e9);
    }
}
