//! Chains whose long run hangs on products of many faint probabilities, from one to a thousand
//! states: against detailed balance, in logarithms.
#![allow(clippy::unwrap_used)]

use ide3al::chain::stationary::{DENSE_LIMIT, Method, long_run};
use ide3al::model::{Mdp, Policy};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A walk on a line with the given ways up and down, and its steady state: neighbours exchange
/// equally, $d_k u_k = d_{k+1} v_{k+1}$.
fn line(up: &[f64], down: &[f64]) -> (Mdp, Vec<f64>) {
    let n = up.len() + 1;
    let mut triplets = Vec::new();
    let mut logs = vec![0.0f64; n];
    for s in 0..n {
        let u = if s + 1 < n { up[s] } else { 0.0 };
        let v = if s > 0 { down[s - 1] } else { 0.0 };
        for (t, p) in [(s.wrapping_sub(1), v), (s, 1.0 - u - v), (s + 1, u)] {
            if p > 0.0 {
                triplets.push((s, 0, t, p));
            }
        }
        if s + 1 < n {
            logs[s + 1] = logs[s] + up[s].ln() - down[s].ln();
        }
    }
    let most = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = logs.iter().map(|l| (l - most).exp()).collect();
    let sum: f64 = weights.iter().sum();
    let mdp = Mdp::from_triplets(n, 1, triplets).unwrap();
    (mdp, weights.iter().map(|w| w / sum).collect())
}

#[test]
fn valleys_of_faint_steps_on_a_line() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    // 64 is the last size eliminated densely
    for n in [2usize, 3, 7, 40, 64, 65, 66, 200, 700, DENSE_LIMIT] {
        for _ in 0..8 {
            // hills: each step up and down is faint or not, so that weights go up and down by
            // hundreds of orders of magnitude
            let mut draw = |_| -> f64 {
                let share = 0.1 + 0.3 * rng.random::<f64>();
                if rng.random::<f64>() < 0.5 {
                    share * 1e-300
                } else {
                    share
                }
            };
            let up: Vec<f64> = (1..n).map(&mut draw).collect();
            let down: Vec<f64> = (1..n).map(&mut draw).collect();
            let (mdp, expected) = line(&up, &down);
            let found = long_run(&mdp.chain(&Policy::uniform(&mdp)));
            assert!(found.method <= Method::Sparse && found.converged, "{n}");
            for (s, (a, b)) in found.distribution.iter().zip(&expected).enumerate() {
                // n logarithms of 1e-300 are summed for what is expected
                assert!((a - b).abs() <= 1e-10 * b + 1e-290, "{n}, {s}: {a} {b}");
            }
        }
    }
}

#[test]
fn two_ends_of_a_deep_valley_share_the_time() {
    // both ends hold on to what they have; the way between is 1e-300 to the power of a third of n
    for n in [9usize, 90, 900] {
        let (mut up, mut down) = (vec![0.4; n - 1], vec![0.4; n - 1]);
        for k in 0..n / 3 {
            up[k] = 1e-300;
            down[n - 2 - k] = 1e-300;
        }
        down[n - 2] = 3e-300;
        let (mdp, expected) = line(&up, &down);
        let found = long_run(&mdp.chain(&Policy::uniform(&mdp))).distribution;
        assert!((expected[0] - 0.75).abs() < 1e-9, "{expected:?}");
        assert!((found[0] - 0.75).abs() < 1e-12, "{n}: {}", found[0]);
        assert!((found[n - 1] - 0.25).abs() < 1e-12, "{n}: {}", found[n - 1]);
    }
}

#[test]
fn large_chains_whose_parts_hang_on_faint_links_are_not_left_to_iteration() {
    // two halves, each a well-mixing line; from one to the other 1e-200, and back 3e-200
    let n = DENSE_LIMIT + 200;
    let (mut up, mut down) = (vec![0.4; n - 1], vec![0.4; n - 1]);
    up[n / 2 - 1] = 1e-200;
    down[n / 2 - 1] = 3e-200;
    let (mdp, expected) = line(&up, &down);
    let found = long_run(&mdp.chain(&Policy::uniform(&mdp)));
    assert!(found.method == Method::Sparse && found.converged);
    for (a, b) in found.distribution.iter().zip(&expected) {
        assert!((a - b).abs() <= 1e-11 * b, "{a} {b}");
    }
    // the same of two tangles, which cannot be eliminated: it must say so. With a ring through
    // each half the chain is one class; without, a few states are never entered
    let n = 30_000;
    for ring in [true, false] {
        let mut rng = ChaCha8Rng::seed_from_u64(8);
        let mut triplets = Vec::new();
        for s in 0..n {
            let first = if s < n / 2 { 0 } else { n / 2 };
            let mut row = std::collections::BTreeMap::new();
            for k in 0..8 {
                let t = if ring && k == 0 {
                    (s + 1 - first) % (n / 2)
                } else {
                    rng.random_range(0..n / 2)
                };
                *row.entry(first + t).or_insert(0.0) += 0.125;
            }
            if s == 1 || s == n / 2 {
                *row.entry(n / 2 + 1 - s).or_insert(0.0) += 1e-200;
            }
            triplets.extend(row.into_iter().map(|(t, p)| (s, 0, t, p)));
        }
        let mdp = Mdp::from_triplets(n, 1, triplets).unwrap();
        let found = long_run(&mdp.chain(&Policy::uniform(&mdp)));
        assert_eq!(found.classes.recurrent.len(), 1);
        assert_eq!(found.classes.is_irreducible(), ring);
        assert!(found.method == Method::Iterative && !found.converged);
    }
}
