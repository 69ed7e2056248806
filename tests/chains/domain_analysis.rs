//! `analyze` on every domain under the uniform policy, against dense computations written here
//! from the definitions and sharing no code with the library.

#![allow(clippy::unwrap_used)]

use ide3al::domains;
use ide3al::model::Policy;
use std::process::Command;

/// `ide3al analyze DOMAIN --policy uniform --json`.
fn analyze(spec: &str) -> serde_json::Value {
    let output = Command::new(env!("CARGO_BIN_EXE_ide3al"))
        .args(["analyze", spec, "--policy", "uniform", "--json"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    serde_json::from_slice(&output.stdout).unwrap()
}

fn dense(spec: &str) -> Vec<Vec<f64>> {
    let mdp = domains::load(spec).unwrap();
    mdp.chain(&Policy::uniform(&mdp)).kernel().to_dense()
}

/// Solves $(I - M^\top) d = 0$, $\sum d = 1$ by Gaussian elimination with pivoting.
fn stationary(m: &[Vec<f64>]) -> Vec<f64> {
    let n = m.len();
    let mut a: Vec<Vec<f64>> = (0..n)
        .map(|i| {
            let mut row: Vec<f64> = (0..n)
                .map(|j| {
                    if i == n - 1 {
                        1.0
                    } else {
                        f64::from(u8::from(i == j)) - m[j][i]
                    }
                })
                .collect();
            row.push(f64::from(u8::from(i == n - 1)));
            row
        })
        .collect();
    for k in 0..n {
        let pivot = (k..n).max_by(|&i, &j| a[i][k].abs().total_cmp(&a[j][k].abs()));
        a.swap(k, pivot.unwrap());
        let lead = a[k].clone();
        for row in a.iter_mut().skip(k + 1) {
            let factor = row[k] / lead[k];
            if factor != 0.0 {
                for j in k..=n {
                    row[j] -= factor * lead[j];
                }
            }
        }
    }
    let mut d = vec![0.0; n];
    for k in (0..n).rev() {
        let sum: f64 = (k + 1..n).map(|j| a[k][j] * d[j]).sum();
        d[k] = (a[k][n] - sum) / a[k][k];
    }
    d
}

/// $\lim \|E^k\|^{1/k}$ of $E = M - 1 d^\top$ by 34 squarings with the size kept apart.
fn second_modulus(m: &[Vec<f64>], d: &[f64]) -> f64 {
    let n = m.len();
    let mut e: Vec<f64> = (0..n * n).map(|i| m[i / n][i % n] - d[i % n]).collect();
    let (mut log_size, mut power) = (0.0f64, 1.0f64);
    for _ in 0..34 {
        let norm = e.iter().map(|x| x * x).sum::<f64>().sqrt();
        if norm == 0.0 {
            return 0.0;
        }
        e.iter_mut().for_each(|x| *x /= norm);
        let mut square = vec![0.0; n * n];
        for i in 0..n {
            for k in 0..n {
                let x = e[i * n + k];
                if x != 0.0 {
                    for j in 0..n {
                        square[i * n + j] += x * e[k * n + j];
                    }
                }
            }
        }
        log_size = 2.0 * (log_size + norm.ln());
        power *= 2.0;
        e = square;
    }
    let norm = e.iter().map(|x| x * x).sum::<f64>().sqrt();
    ((log_size + norm.ln()) / power).exp()
}

/// First step at which no row of $M^t$ is further than 1/4 from $d$ in total variation.
fn mixing_time(m: &[Vec<f64>], d: &[f64]) -> u64 {
    let n = m.len();
    let sparse: Vec<Vec<(usize, f64)>> = m
        .iter()
        .map(|row| {
            let entries = row.iter().copied().enumerate();
            entries.filter(|e| e.1 > 0.0).collect()
        })
        .collect();
    let mut rows: Vec<Vec<f64>> = (0..n)
        .map(|i| (0..n).map(|j| f64::from(u8::from(i == j))).collect())
        .collect();
    for t in 0.. {
        let far = rows.iter().any(|row| {
            let distance: f64 = row.iter().zip(d).map(|(x, y)| (x - y).abs()).sum();
            0.5 * distance > 0.25
        });
        if !far {
            return t;
        }
        for row in &mut rows {
            let mut next = vec![0.0; n];
            for (s, x) in row.iter().enumerate().filter(|e| *e.1 > 0.0) {
                for &(j, p) in &sparse[s] {
                    next[j] += x * p;
                }
            }
            *row = next;
        }
    }
    unreachable!()
}

/// Number of closed classes, by transitive closure.
fn closed_classes(m: &[Vec<f64>]) -> usize {
    let n = m.len();
    let reach: Vec<Vec<bool>> = (0..n)
        .map(|start| {
            let mut seen = vec![false; n];
            let mut stack = vec![start];
            seen[start] = true;
            while let Some(s) = stack.pop() {
                for t in 0..n {
                    if m[s][t] > 0.0 && !seen[t] {
                        seen[t] = true;
                        stack.push(t);
                    }
                }
            }
            seen
        })
        .collect();
    let recurrent = |s: usize| (0..n).all(|t| !reach[s][t] || reach[t][s]);
    (0..n)
        .filter(|&s| recurrent(s) && (0..s).all(|t| !(recurrent(t) && reach[s][t])))
        .count()
}

fn check(spec: &str, conditioned: bool) {
    let found = analyze(spec);
    let m = dense(spec);
    let d = stationary(&m);
    let number = |key: &str| found[key].as_f64().unwrap();
    for (s, expected) in d.iter().enumerate() {
        let value = found["stationary"][s].as_f64().unwrap();
        assert!(
            (value - expected).abs() <= 1e-10,
            "{spec}, state {s}: {value} {expected}"
        );
    }
    let entropy: f64 = -d.iter().map(|x| x * x.ln()).sum::<f64>();
    assert!((number("entropy") - entropy).abs() <= 1e-9);
    assert!((number("entropy_normalized") - entropy / (m.len() as f64).ln()).abs() <= 1e-9);
    let gap = 1.0 - second_modulus(&m, &d);
    if conditioned {
        assert!(
            (number("spectral_gap") - gap).abs() <= 1e-8,
            "{spec}: {gap} {found}"
        );
    } else {
        // a defective eigenvalue: the reported error must cover the truth, which is gap 1
        assert!((number("spectral_gap") - 1.0).abs() <= number("spectral_gap_error"));
    }
    assert_eq!(
        found["recurrent_classes"].as_u64(),
        Some(closed_classes(&m) as u64)
    );
    assert_eq!(
        found["period"].as_u64(),
        Some(1),
        "every domain has self-loops"
    );
    assert!((0..m.len()).any(|s| m[s][s] > 0.0));
    assert_eq!(
        found["mixing_time"].as_u64(),
        Some(mixing_time(&m, &d)),
        "{spec}"
    );
}

#[test]
fn single_chain() {
    check("single-chain", false);
}

#[test]
fn double_chain() {
    check("double-chain", true);
}

#[test]
fn river_swim() {
    check("river-swim", true);
}

#[test]
fn four_rooms() {
    check("four-rooms", true);
}

#[test]
fn knight_quest() {
    check("knight-quest", true);
}

#[test]
fn garnet() {
    check("garnet:states=60,actions=3,branching=4,seed=3", true);
}
