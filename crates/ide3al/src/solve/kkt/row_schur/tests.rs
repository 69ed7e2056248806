//! Solutions are put into the equations that the module states.

use super::*;
use crate::domains;
use crate::solve::cost::DENSE;
use crate::solve::kkt::transition_rows::Cells;

/// Irregular numbers between 0 and 1.
fn irregular(k: usize) -> f64 {
    ((k as f64 + 1.0) * 0.618_033_988_75).fract()
}

/// Ten to a power between minus and plus `digits`.
fn scaled(k: usize, digits: f64) -> f64 {
    10f64.powf(digits * (2.0 * irregular(k) - 1.0))
}

/// What a solution leaves of each equation, as a share of the largest term in it.
fn assert_solves(spec: &str, cells: Cells, keeps_rows: bool, digits: f64) {
    let mdp = domains::load(spec).unwrap();
    let centre = vec![0.0; mdp.n_pairs()];
    let rows = TransitionRows::new(&mdp, 0.01, &centre, cells, DENSE).unwrap();
    let (n, free, count) = (rows.n_states(), rows.n_free(), rows.n_cells());
    let mut system = RowSchur::new(&rows, keeps_rows, DENSE).unwrap();
    let weights = &mut system.weights;
    for (i, theta) in weights.policy.iter_mut().enumerate() {
        *theta = scaled(i, digits);
    }
    for t in 0..n {
        weights.extra[t] = scaled(5 * t + 1, digits);
    }
    if keeps_rows {
        for cell in 0..count {
            // barriers of two parts of a cell that add up to what it holds
            let (k, r) = (scaled(3 * cell, digits), scaled(7 * cell + 2, digits));
            weights.d[cell] = 1.0 / (k + r);
            weights.f[cell] = r / (k + r);
            weights.w[cell] = k * (r / (k + r));
        }
        for s in 0..n {
            weights.slack[s] = scaled(11 * s + 4, digits);
        }
    }
    assert!(system.factor(&rows, None).is_some(), "{spec}");
    let signed = |k: usize| 2.0 * irregular(k) - 1.0;
    let a: Vec<f64> = (0..count).map(|c| signed(13 * c)).collect();
    let force: Vec<f64> = (0..free).map(|i| signed(17 * i + 3)).collect();
    let simplex: Vec<f64> = (0..n).map(|s| 0.1 * signed(19 * s + 5)).collect();
    let lacks: Vec<f64> = (0..n).map(|s| signed(23 * s + 7)).collect();
    let missing: Vec<f64> = (0..n).map(|t| signed(29 * t + 9)).collect();
    let (mut dp, mut eta, mut beta) = (force.clone(), simplex.clone(), missing.clone());
    let mut lambda = if keeps_rows {
        lacks.clone()
    } else {
        Vec::new()
    };
    let given = if keeps_rows { &a[..] } else { &[] };
    system.solve(&rows, given, &mut dp, &mut eta, &mut lambda, &mut beta);

    let weights = &system.weights;
    let mut mass = vec![0.0; count];
    rows.transpose_times(&dp, &mut mass);
    let of_row = |s: usize| lambda.get(s).copied().unwrap_or(0.0);
    let (mut dk, mut push) = (mass.clone(), vec![0.0; count]);
    let mut column_sizes: Vec<f64> = missing.iter().map(|m| m.abs()).collect();
    let mut left = missing.clone();
    for s in 0..n {
        let (mut sum, mut size) = (0.0, 0.0f64);
        for cell in rows.offsets[s]..rows.offsets[s + 1] {
            let t = rows.columns[cell] as usize;
            let prices = of_row(s) + beta[t];
            push[cell] = prices;
            if keeps_rows {
                let (d, f, w) = (weights.d[cell], weights.f[cell], weights.w[cell]);
                dk[cell] = d * (a[cell] + prices) + f * mass[cell];
                push[cell] = f * prices - w * mass[cell];
                size = size.max((d * a[cell]).abs()).max((d * prices).abs());
            }
            sum += dk[cell];
            left[t] -= dk[cell];
            column_sizes[t] = column_sizes[t].max(dk[cell].abs());
            size = size.max(dk[cell].abs());
        }
        if keeps_rows {
            let slack = weights.slack[s] * lambda[s];
            let size = size.max(slack.abs()).max(1.0);
            assert!(
                (sum + slack - lacks[s]).abs() < 1e-8 * size,
                "{spec}, row {s}"
            );
        }
        let own = rows.first[s]..rows.first[s + 1];
        let total: f64 = dp[own.clone()].iter().sum();
        let size = dp[own.clone()].iter().fold(1.0, |m: f64, x| m.max(x.abs()));
        assert!(own.is_empty() || (total - simplex[s]).abs() < 1e-10 * size);
    }
    for t in 0..n {
        let shift = weights.extra[t] * beta[t];
        let size = column_sizes[t].max(shift.abs());
        assert!((left[t] - shift).abs() < 1e-8 * size, "{spec}, column {t}");
    }
    let mut pushed = vec![0.0; free];
    rows.times(&push, &mut pushed);
    for s in 0..n {
        for i in rows.first[s]..rows.first[s + 1] {
            let terms = [weights.policy[i] * dp[i], -force[i], -eta[s], -pushed[i]];
            let size = terms.iter().fold(1.0, |m: f64, x| m.max(x.abs()));
            let sum: f64 = terms.iter().sum();
            assert!(
                sum.abs() < 1e-7 * size,
                "{spec}, action {i}: {sum} of {size}"
            );
        }
    }
}

/// A sparse and a dense matrix, wide rows, all cells; barriers of one size, and from 1e-8 to 1e8.
#[test]
fn solutions_meet_the_equations() {
    for digits in [0.5, 8.0] {
        for spec in [
            "river-swim:states=30",
            "garnet:states=40,actions=4,branching=5,seed=2",
            "garnet:states=30,actions=3,branching=25,seed=5",
        ] {
            assert_solves(spec, Cells::Reached, false, digits);
            assert_solves(spec, Cells::Filled, true, digits);
            assert_solves(spec, Cells::All, true, digits);
        }
    }
    // rows of more members than are added cell by cell, in a dense matrix and in a split one
    assert_solves(
        "garnet:states=150,actions=3,branching=120,seed=1",
        Cells::Filled,
        true,
        0.5,
    );
}
