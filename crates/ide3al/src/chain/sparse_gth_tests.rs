//! Sparse elimination against dense elimination and against the sum over trees.
#![allow(clippy::unwrap_used, clippy::needless_range_loop)]

use super::*;
use crate::chain::gth::stationary_dense;
use rand::{RngExt, SeedableRng};

fn rows(n: usize, dense: &[f64]) -> Rows {
    let mut r = Rows {
        offsets: vec![0],
        indices: vec![],
        values: vec![],
    };
    for row in dense.chunks_exact(n) {
        for (j, &p) in row.iter().enumerate().filter(|(_, p)| **p > 0.0) {
            r.indices.push(j as u32);
            r.values.push(p);
        }
        r.offsets.push(r.indices.len());
    }
    r
}

#[test]
fn agrees_with_dense_elimination() {
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(5);
    for n in [2usize, 3, 10, 50, 200] {
        for _ in 0..20 {
            let mut dense = vec![0.0; n * n];
            for s in 0..n {
                // a cycle keeps it irreducible; the rest spans many magnitudes
                dense[s * n + (s + 1) % n] += 10f64.powf(-9.0 * rng.random::<f64>());
                for _ in 0..3 {
                    let t = rng.random_range(0..n);
                    dense[s * n + t] += 10f64.powf(-9.0 * rng.random::<f64>());
                }
                let sum: f64 = dense[s * n..(s + 1) * n].iter().sum();
                dense[s * n..(s + 1) * n].iter_mut().for_each(|p| *p /= sum);
            }
            let sparse = stationary(&rows(n, &dense), FillLimit::default()).unwrap();
            let expected = stationary_dense(n, &mut dense);
            for (a, b) in sparse.iter().zip(&expected) {
                assert!((a - b).abs() <= 1e-12 * b, "{n}: {a} {b}");
            }
        }
    }
}

/// The Markov chain tree theorem, from the definition: the weight of a state is the sum over
/// all spanning trees towards it of the products of their probabilities. In logarithms.
fn by_trees(n: usize, dense: &[f64]) -> Vec<f64> {
    let mut logs: Vec<Vec<f64>> = vec![Vec::new(); n];
    for root in 0..n {
        // a tree is a next state for every other state, without a cycle
        let mut next = vec![0usize; n];
        loop {
            let mut log = 0.0;
            for s in (0..n).filter(|s| *s != root) {
                let mut at = s;
                for _ in 0..n {
                    at = if at == root { root } else { next[at] };
                }
                let p = dense[s * n + next[s]];
                log += if at == root && next[s] != s {
                    p.ln()
                } else {
                    f64::NEG_INFINITY
                };
            }
            logs[root].push(log);
            let Some(place) = (0..n).find(|&s| s != root && next[s] + 1 < n) else {
                break;
            };
            next[place] += 1;
            (0..place).for_each(|s| next[s] = 0);
        }
    }
    let most = logs
        .iter()
        .flatten()
        .fold(f64::NEG_INFINITY, |m, l| m.max(*l));
    let weights: Vec<f64> = logs
        .iter()
        .map(|list| list.iter().map(|l| (l - most).exp()).sum())
        .collect();
    let sum: f64 = weights.iter().sum();
    weights.iter().map(|w| w / sum).collect()
}

#[test]
fn faint_probabilities_in_a_row_give_what_the_trees_give() {
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(6);
    let (mut compared, mut beyond, mut shared) = (0, 0, 0);
    for case in 0..600 {
        let n = 2 + case % 4;
        let mut dense = vec![0.0; n * n];
        for s in 0..n {
            for t in (0..n).filter(|t| *t != s) {
                // nothing, faint, or ordinary; the diagonal takes the rest and is not read
                let kind = rng.random_range(0..4);
                let factor = 0.05 + 0.15 * rng.random::<f64>();
                dense[s * n + t] = match kind {
                    0 => 0.0,
                    1 | 2 => factor * 1e-300,
                    _ => factor,
                };
            }
            // a cycle keeps it irreducible
            let t = (s + 1) % n;
            if dense[s * n + t] == 0.0 {
                dense[s * n + t] = 3e-301;
            }
        }
        let expected = by_trees(n, &dense);
        let sparse = stationary(&rows(n, &dense), FillLimit::default()).unwrap();
        let filled = stationary_dense(n, &mut dense.clone());
        let place = order(&rows(n, &dense)).unwrap();
        let columns = rows(n, &dense).transpose();
        let structure =
            Structure::of(&rows(n, &dense), &columns, &place, FillLimit::default()).unwrap();
        let plain = in_doubles(&rows(n, &dense), &columns, &place, &structure);
        beyond += u32::from(plain.is_none());
        shared += u32::from(expected.iter().filter(|d| **d > 0.01).count() > 1);
        for found in [&sparse, &filled] {
            for (a, b) in found.iter().zip(&expected) {
                // logarithms of 1e-1500 have twelve digits left
                assert!((a - b).abs() <= 1e-11 * b + 1e-300, "{dense:?}: {a} {b}");
            }
        }
        compared += 1;
    }
    // the cases must be such that doubles alone do not do, and not decided by one state
    assert!(
        beyond > compared / 2 && shared > compared / 4,
        "{beyond} {shared}"
    );
}

#[test]
fn the_limit_is_kept() {
    let n = 30;
    let dense = vec![1.0 / 30.0; n * n];
    let limit = FillLimit {
        entries: 100,
        operations: 1e9,
    };
    assert!(stationary(&rows(n, &dense), limit).is_none());
}
