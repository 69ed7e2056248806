//! The analysis of chains against independent dense computations.
#![allow(clippy::unwrap_used, clippy::needless_range_loop)]

use ide3al::chain::mixing::{MixingNorm, MixingTime, mixing_time};
use ide3al::chain::spectrum::{SpectrumKind, second_eigenvalue, second_modulus};
use ide3al::chain::stationary::{Method, long_run};
use ide3al::chain::{AnalyzeOptions, Chain, Classes, analyze};
use ide3al::model::{Counts, Mdp, Policy, Unvisited};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A chain as a model with one action, from dense rows.
fn model(rows: &[Vec<f64>]) -> Mdp {
    let n = rows.len();
    Mdp::from_dense(n, 1, &rows.concat()).unwrap()
}

fn chain(rows: &[Vec<f64>]) -> Chain {
    let mdp = model(rows);
    mdp.chain(&Policy::uniform(&mdp))
}

/// Long-run average by Gaussian elimination with pivoting and the definition: absorption
/// probabilities times stationary distributions, classes by transitive closure.
fn reference(m: &[Vec<f64>], start: &[f64]) -> Vec<f64> {
    let n = m.len();
    let mut reach: Vec<Vec<bool>> = (0..n)
        .map(|i| (0..n).map(|j| i == j || m[i][j] > 0.0).collect())
        .collect();
    for k in 0..n {
        for i in 0..n {
            for j in 0..n {
                reach[i][j] |= reach[i][k] && reach[k][j];
            }
        }
    }
    let recurrent = |s: usize| (0..n).all(|t| !reach[s][t] || reach[t][s]);
    let transient: Vec<usize> = (0..n).filter(|&s| !recurrent(s)).collect();
    let mut d = vec![0.0; n];
    for leader in 0..n {
        if !recurrent(leader) || (0..leader).any(|s| reach[s][leader] && reach[leader][s]) {
            continue;
        }
        let class: Vec<usize> = (0..n).filter(|&t| reach[leader][t]).collect();
        // absorption: (I - T) h = (one-step probability of the class)
        let mut a: Vec<Vec<f64>> = transient
            .iter()
            .map(|&i| {
                let mut row: Vec<f64> = transient
                    .iter()
                    .map(|&j| f64::from(u8::from(i == j)) - m[i][j])
                    .collect();
                row.push(class.iter().map(|&c| m[i][c]).sum());
                row
            })
            .collect();
        let h = solve(&mut a);
        let weight: f64 = class.iter().map(|&c| start[c]).sum::<f64>()
            + transient
                .iter()
                .zip(&h)
                .map(|(&s, h)| start[s] * h)
                .sum::<f64>();
        // stationary: transpose equations with the last replaced by the sum
        let k = class.len();
        let mut a: Vec<Vec<f64>> = (0..k)
            .map(|j| {
                let mut row: Vec<f64> = (0..k)
                    .map(|i| m[class[i]][class[j]] - f64::from(u8::from(i == j)))
                    .collect();
                row.push(0.0);
                row
            })
            .collect();
        a[k - 1] = vec![1.0; k + 1];
        for (&s, p) in class.iter().zip(solve(&mut a)) {
            d[s] = weight * p;
        }
    }
    d
}

/// Gaussian elimination with partial pivoting on an augmented matrix.
fn solve(a: &mut [Vec<f64>]) -> Vec<f64> {
    let n = a.len();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs()));
        a.swap(k, pivot.unwrap());
        for i in k + 1..n {
            let f = a[i][k] / a[k][k];
            for j in k..=n {
                a[i][j] -= f * a[k][j];
            }
        }
    }
    let mut x = vec![0.0; n];
    for k in (0..n).rev() {
        let sum: f64 = (k + 1..n).map(|j| a[k][j] * x[j]).sum();
        x[k] = (a[k][n] - sum) / a[k][k];
    }
    x
}

/// Mixing time by multiplying dense matrices one step at a time.
fn reference_mixing(m: &[Vec<f64>], d: &[f64], norm: MixingNorm, threshold: f64) -> u64 {
    let n = m.len();
    let mut p: Vec<Vec<f64>> = (0..n)
        .map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect())
        .collect();
    for t in 0.. {
        let worst = p.iter().fold(0.0, |w: f64, row| {
            let gaps = row.iter().zip(d).map(|(a, b)| (a - b).abs());
            w.max(match norm {
                MixingNorm::TotalVariation => gaps.sum::<f64>() / 2.0,
                MixingNorm::Infinity => gaps.fold(0.0, f64::max),
            })
        });
        if worst <= threshold {
            return t;
        }
        p = p
            .iter()
            .map(|row| {
                (0..n)
                    .map(|j| (0..n).map(|k| row[k] * m[k][j]).sum())
                    .collect()
            })
            .collect();
    }
    unreachable!()
}

fn random_rows(n: usize, degree: usize, rng: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
    (0..n)
        .map(|_| {
            let mut row = vec![0.0; n];
            for _ in 0..degree {
                row[rng.random_range(0..n)] += rng.random::<f64>() + 0.01;
            }
            let sum: f64 = row.iter().sum();
            row.iter().map(|p| p / sum).collect()
        })
        .collect()
}

fn close(a: &[f64], b: &[f64], tolerance: f64) {
    assert_eq!(a.len(), b.len());
    for (i, (x, y)) in a.iter().zip(b).enumerate() {
        assert!((x - y).abs() <= tolerance, "entry {i}: {x} against {y}");
    }
}

/// Random walk on a line with reflecting ends: reversible, eigenvalues cos(pi k / n).
fn line(n: usize) -> Mdp {
    Mdp::from_fn(n, 2, |s, a, next| {
        next.push((
            if a == 0 {
                s.saturating_sub(1)
            } else {
                (s + 1).min(n - 1)
            },
            1.0,
        ));
        true
    })
    .unwrap()
}

#[test]
fn random_chains_of_all_kinds() {
    let mut rng = ChaCha8Rng::seed_from_u64(11);
    let mut several = 0;
    for round in 0..400 {
        let n = 1 + round % 40;
        let rows = random_rows(n, 1 + round % 3, &mut rng);
        let chain = chain(&rows);
        let found = long_run(&chain);
        several += usize::from(found.classes.recurrent.len() > 1);
        close(&found.distribution, &reference(&rows, chain.start()), 1e-12);
        assert!(found.converged && found.residual <= 1e-14);
    }
    assert!(
        several > 50,
        "the test must meet several classes: {several}"
    );
}

#[test]
fn two_recurrent_classes() {
    let rows = [
        vec![0.2, 0.3, 0.0, 0.5, 0.0],
        vec![0.0, 0.5, 0.5, 0.0, 0.0],
        vec![0.0, 0.25, 0.75, 0.0, 0.0],
        vec![0.0, 0.0, 0.0, 0.0, 1.0],
        vec![0.0, 0.0, 0.0, 1.0, 0.0],
    ];
    let mdp = model(&rows).with_start_state(0).unwrap();
    let found = analyze(&mdp, &Policy::uniform(&mdp), &AnalyzeOptions::default()).unwrap();
    close(
        &found.stationary,
        &[0.0, 0.125, 0.25, 0.3125, 0.3125],
        1e-15,
    );
    assert_eq!(
        (found.recurrent_classes, found.communicating_classes),
        (2, 3)
    );
    assert_eq!((found.transient_states, found.period), (1, 2));
    assert_eq!(found.mixing_time, None);
    assert_eq!((found.spectral_gap, found.second_eigenvalue), (0.0, 1.0));
    assert_eq!((found.min_probability, found.least_visited_state), (0.0, 0));
}

#[test]
fn period_three() {
    let rows = [
        vec![0.0, 0.5, 0.5, 0.0],
        vec![0.0, 0.0, 0.0, 1.0],
        vec![0.0, 0.0, 0.0, 1.0],
        vec![1.0, 0.0, 0.0, 0.0],
    ];
    let mdp = model(&rows).with_start_state(2).unwrap();
    let options = AnalyzeOptions {
        horizon: Some(3),
        ..AnalyzeOptions::default()
    };
    let found = analyze(&mdp, &Policy::uniform(&mdp), &options).unwrap();
    let third = 1.0 / 3.0;
    close(
        &found.stationary,
        &[third, third / 2.0, third / 2.0, third],
        1e-15,
    );
    assert_eq!(found.period, 3);
    assert_eq!(found.mixing_time, None);
    assert_eq!(found.spectral_gap, 0.0);
    // t = 0, 1, 2: states 2, 3, 0
    assert!((found.horizon_entropy.unwrap() - 3f64.ln()).abs() < 1e-14);
    assert!((found.horizon_entropy_normalized.unwrap() - 3f64.ln() / 4f64.ln()).abs() < 1e-14);
}

#[test]
fn second_eigenvalue_next_to_one() {
    // lambda_2 = 1 - a - b = 1 - 1e-9
    let (a, b) = (0.25e-9, 0.75e-9);
    let rows = [vec![1.0 - a, a], vec![b, 1.0 - b]];
    let chain = chain(&rows);
    let found = long_run(&chain);
    // what rounding leaves of 1 - a plays no part: only a and b are read
    close(&found.distribution, &[0.75, 0.25], 1e-15);
    let second = second_eigenvalue(&chain, &found);
    assert!((second.modulus - (1.0 - 1e-9)).abs() < 1e-14);
    assert!((second.spectral_gap() - 1e-9).abs() <= second.error + 1e-15);
    assert!(second.error < 1e-13);
    // distance from state 1 is 0.75 lambda^t
    let MixingTime::Exact(t) = mixing_time(&chain, &found, MixingNorm::TotalVariation, 0.25) else {
        panic!("a chain of two states is computed exactly");
    };
    let expected = (1f64 / 3.0).ln() / (-1e-9f64).ln_1p();
    assert!((t as f64 / expected - 1.0).abs() < 1e-6, "{t} {expected}");
}

#[test]
fn one_state_and_one_action() {
    let mdp = model(&[vec![1.0]]);
    let options = AnalyzeOptions {
        horizon: Some(5),
        ..AnalyzeOptions::default()
    };
    let found = analyze(&mdp, &Policy::uniform(&mdp), &options).unwrap();
    assert_eq!((found.entropy, found.entropy_normalized), (0.0, 1.0));
    assert_eq!(found.state_action_entropy_normalized, 1.0);
    assert_eq!((found.spectral_gap, found.second_eigenvalue), (1.0, 0.0));
    assert_eq!((found.mixing_time, found.period), (Some(0), 1));
    assert_eq!(found.horizon_entropy, Some(0.0));
    assert_eq!(found.stationary, [1.0]);
}

#[test]
fn different_action_counts() {
    // state 0: go or stay; state 1: return; state 2: three ways
    let mdp = Mdp::from_triplets(
        3,
        3,
        [
            (0, 0, 0, 1.0),
            (0, 1, 1, 1.0),
            (1, 0, 2, 1.0),
            (2, 0, 0, 1.0),
            (2, 1, 1, 1.0),
            (2, 2, 2, 1.0),
        ],
    )
    .unwrap();
    let policy = Policy::uniform(&mdp);
    let found = analyze(&mdp, &policy, &AnalyzeOptions::default()).unwrap();
    let chain = mdp.chain(&policy);
    let expected = reference(&chain.kernel().to_dense(), chain.start());
    close(&found.stationary, &expected, 1e-14);
    let omega: Vec<f64> = [(0, 2), (1, 1), (2, 3)]
        .iter()
        .flat_map(|&(s, n)| vec![expected[s] / n as f64; n])
        .collect();
    let h: f64 = omega.iter().map(|w| -w * w.ln()).sum();
    assert!((found.state_action_entropy - h).abs() < 1e-14);
    assert!((found.state_action_entropy_normalized - h / 6f64.ln()).abs() < 1e-14);
}

#[test]
fn known_spectra() {
    for n in [2usize, 5, 20, 64, 65, 200, 700] {
        let mdp = line(n);
        let chain = mdp.chain(&Policy::uniform(&mdp));
        let found = long_run(&chain);
        close(&found.distribution, &vec![1.0 / n as f64; n], 1e-13);
        let second = second_eigenvalue(&chain, &found);
        let expected = (std::f64::consts::PI / n as f64).cos();
        let expected = if n == 2 { 0.0 } else { expected };
        assert!(
            (second.modulus - expected).abs() <= 1e-10,
            "{n}: {second:?} {expected}"
        );
        assert!(
            (second.modulus - expected).abs() <= second.error.max(1e-15),
            "{n}: {second:?}"
        );
        assert!((second_modulus(&chain, &found) - expected).abs() <= 1e-8);
        assert_eq!(second.kind, SpectrumKind::Converged);
    }
    // a lazy directed cycle: (1 + exp(2 pi i / n)) / 2 has modulus cos(pi / n)
    for n in [7usize, 300] {
        let mdp = Mdp::from_fn(n, 2, |s, a, next| {
            next.push(((s + a) % n, 1.0));
            true
        })
        .unwrap();
        let chain = mdp.chain(&Policy::uniform(&mdp));
        let second = second_eigenvalue(&chain, &long_run(&chain));
        let expected = (std::f64::consts::PI / n as f64).cos();
        assert!((second.modulus - expected).abs() <= 1e-10, "{second:?}");
    }
}

#[test]
fn a_defective_eigenvalue_admits_its_error() {
    // climb or fall to 0 with probability 1/2 each: nilpotent but for the eigenvalue 1
    let n = 10;
    let mdp = Mdp::from_fn(n, 2, |s, a, next| {
        next.push((if a == 0 { (s + 1).min(n - 1) } else { 0 }, 1.0));
        true
    })
    .unwrap();
    let chain = mdp.chain(&Policy::uniform(&mdp));
    let second = second_eigenvalue(&chain, &long_run(&chain));
    // the truth is 0
    assert!(second.modulus <= second.error, "{second:?}");
    assert!(second.modulus < 0.1, "{second:?}");
}

#[test]
fn mixing_times_match_step_by_step_products() {
    let mut rng = ChaCha8Rng::seed_from_u64(4);
    let mut compared = 0;
    for round in 0..150 {
        let n = 2 + round % 25;
        let mut rows = random_rows(n, 1 + round % 4, &mut rng);
        if round % 2 == 0 {
            // lazy, so that times are longer
            for (s, row) in rows.iter_mut().enumerate() {
                row.iter_mut().for_each(|p| *p *= 0.1);
                row[s] += 0.9;
            }
        }
        let chain = chain(&rows);
        let found = long_run(&chain);
        for (norm, threshold) in [
            (MixingNorm::TotalVariation, 0.25),
            (MixingNorm::TotalVariation, 0.01),
            (MixingNorm::Infinity, 0.25),
            (MixingNorm::Infinity, 1e-3),
        ] {
            let time = mixing_time(&chain, &found, norm, threshold);
            if Classes::of(&chain).is_mixing() {
                let expected = reference_mixing(&rows, &found.distribution, norm, threshold);
                assert_eq!(time, MixingTime::Exact(expected), "{round} {norm:?}");
                compared += 1;
            } else {
                assert_eq!(time, MixingTime::Infinite);
            }
        }
    }
    assert!(compared > 200);
}

#[test]
fn sparse_and_dense_methods_agree() {
    // long thin grid with slip: sparse elimination; dense reference
    let (w, h) = (40usize, 25usize);
    let grid = |w: usize, h: usize| {
        Mdp::from_fn(w * h, 4, move |s, a, next| {
            let (x, y) = (s % w, s / w);
            let cell = |a: usize| match a {
                0 => y * w + (x + 1).min(w - 1),
                1 => y * w + x.saturating_sub(1),
                2 => (y + 1).min(h - 1) * w + x,
                _ => y.saturating_sub(1) * w + x,
            };
            next.push((cell(a), 0.8));
            next.push((cell((a + 1) % 4), 0.2));
            true
        })
        .unwrap()
    };
    let mdp = grid(w, h);
    // a policy that drifts to one corner: probabilities over many magnitudes
    let policy = Policy::from_rows(&mdp, &vec![vec![0.4, 0.1, 0.4, 0.1]; w * h]).unwrap();
    let chain = mdp.chain(&policy);
    let found = long_run(&chain);
    assert_eq!(found.method, Method::Sparse);
    let mut dense = chain.kernel().to_dense().concat();
    let expected = ide3al::chain::gth::stationary_dense(w * h, &mut dense);
    for (a, b) in found.distribution.iter().zip(&expected) {
        assert!((a - b).abs() <= 1e-11 * b, "{a} {b}");
    }
    // larger than any dense method, slowly mixing
    let mdp = grid(100, 60);
    let policy = Policy::from_rows(&mdp, &vec![vec![0.3, 0.2, 0.3, 0.2]; 6000]).unwrap();
    let found = long_run(&mdp.chain(&policy));
    assert!(found.converged && found.residual <= 1e-14);
    assert_eq!(found.method, Method::Sparse);
}

#[test]
fn uniform_shares_count() {
    // an estimate of a line walk from few samples: unvisited pairs are uniform rows
    let n = 30;
    let mdp = line(n);
    let mut counts = Counts::new(&vec![2; n]);
    for s in (0..n).step_by(2) {
        counts
            .add(mdp.pairs(s).start, s.saturating_sub(1), 3)
            .unwrap();
    }
    let estimate = counts.estimate(Unvisited::Uniform, mdp.start());
    let chain = estimate.chain(&Policy::uniform(&estimate));
    assert!(chain.kernel().has_spread());
    let found = long_run(&chain);
    let dense = chain.kernel().to_dense();
    close(
        &found.distribution,
        &reference(&dense, chain.start()),
        1e-13,
    );
    let time = mixing_time(&chain, &found, MixingNorm::TotalVariation, 0.01);
    let expected = reference_mixing(
        &dense,
        &found.distribution,
        MixingNorm::TotalVariation,
        0.01,
    );
    assert_eq!(time, MixingTime::Exact(expected));
}

#[test]
fn iteration_agrees_and_threads_do_not_matter() {
    // a random sparse chain too large for dense elimination: power iteration
    let n = 3100;
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mdp = Mdp::from_fn(n, 4, |_, _, next| {
        for _ in 0..5 {
            next.push((rng.random_range(0..n), 0.2));
        }
        true
    })
    .unwrap();
    let policy = Policy::uniform(&mdp);
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        pool.unwrap()
            .install(|| analyze(&mdp, &policy, &AnalyzeOptions::default()).unwrap())
    };
    let one = run(1);
    assert_eq!(one, run(3));
    assert_eq!(one.stationary_method, "iteration");
    assert!(one.residual <= 1e-16, "{}", one.residual);
    assert_eq!((one.mixing_time, one.mixing_time_kind), (Some(4), "exact"));
    let mut dense = mdp.chain(&policy).kernel().to_dense().concat();
    let expected = ide3al::chain::gth::stationary_dense(n, &mut dense);
    close(&one.stationary, &expected, 1e-14);
}
