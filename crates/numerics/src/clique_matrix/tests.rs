//! What was assembled is what is solved.

use super::*;

/// A pivot that is nothing but rounding takes its unknown out and leaves the others alone, in the
/// middle of a matrix of several blocks as well as at its end.
#[test]
fn an_unknown_without_a_pivot_stays_at_zero() {
    // pairs of neighbours; two of the pairs are the same equation twice
    let n = 300;
    let offsets: Vec<usize> = (0..=n / 2).map(|k| 2 * k).collect();
    let members: Vec<u32> = (0..n as u32).collect();
    for most_dense in [0, n] {
        let mut matrix = CliqueMatrix::new(
            n,
            offsets.clone(),
            members.clone(),
            most_dense > 0,
            most_dense,
        )
        .unwrap();
        matrix.clear();
        for k in 0..n / 2 {
            let other = if k == 40 || k == n / 2 - 1 { 1.0 } else { 0.5 };
            matrix.add_clique(k, &[1.0, other, other, 1.0]);
        }
        assert!(matrix.factor(1e-13));
        let mut x = vec![1.5; n];
        matrix.solve(&mut x);
        for (i, x) in x.iter().enumerate() {
            let expected = match i / 2 {
                40 | 149 => f64::from(u8::from(x.abs() > 0.5)) * 1.5,
                _ => 1.0,
            };
            assert!((x - expected).abs() < 1e-9, "{i}: {x}");
        }
        assert!(((x[80] + x[81]) - 1.5).abs() < 1e-9);
        assert!(((x[298] + x[299]) - 1.5).abs() < 1e-9);
    }
}

/// A strip of 4,000 by 3 with a state that all are next to is narrow; the same unknowns with links
/// to anywhere are not.
#[test]
fn width_tells_strips_from_tangles() {
    let n = 12_001u32;
    let cliques = |far: bool| {
        let (mut offsets, mut members) = (vec![0], Vec::new());
        for s in 0..n - 1 {
            let mut clique = vec![s, (s + 3).min(n - 2), n - 1];
            if far {
                clique.push((s.wrapping_mul(2_654_435_761) >> 8) % n);
            }
            clique.sort_unstable();
            clique.dedup();
            members.extend(clique);
            offsets.push(members.len());
        }
        (offsets, members)
    };
    let (offsets, members) = cliques(false);
    assert!(widest_front(n as usize, &members, &offsets) < 10);
    assert!(CliqueMatrix::new(n as usize, offsets, members, false, 0).is_some());
    let (offsets, members) = cliques(true);
    assert!(widest_front(n as usize, &members, &offsets) > WIDEST);
    assert!(CliqueMatrix::new(n as usize, offsets, members, false, 0).is_none());
}

/// Half of a binary tree's nodes are leaves, all as far from the root; eliminated from there they
/// cost next to nothing.
#[test]
fn trees_are_narrow() {
    let n = 12_001u32;
    let (mut offsets, mut members) = (vec![0], Vec::new());
    for s in 0..n {
        let near = [s.saturating_sub(1) / 2, s, 2 * s + 1, 2 * s + 2];
        let mut clique: Vec<u32> = near.into_iter().filter(|t| *t < n).collect();
        clique.dedup();
        members.extend(clique);
        offsets.push(members.len());
    }
    assert!(widest_front(n as usize, &members, &offsets) < 10);
    let matrix = CliqueMatrix::new(n as usize, offsets, members, false, 0).unwrap();
    assert!(matrix.work() < 100.0 * f64::from(n), "{}", matrix.work());
}

/// Three overlapping cliques on six unknowns, both storages, against the product.
#[test]
fn solves_what_was_assembled() {
    let offsets = vec![0, 3, 5, 8];
    let members = vec![0, 1, 4, 1, 2, 2, 4, 5];
    let extra = [0.5, 0.0, 0.25, 2.0, 0.0, 0.125];
    let local = |width: usize, seed: usize| -> Vec<f64> {
        // diagonally dominant
        (0..width * width)
            .map(|k| {
                let (j, i) = (k / width, k % width);
                if i == j {
                    3.0 + seed as f64
                } else {
                    ((i + j + seed) % 3) as f64 * 0.4
                }
            })
            .collect()
    };
    let mut dense = vec![vec![0.0; 6]; 6];
    for (i, x) in extra.iter().enumerate() {
        dense[i][i] += x;
    }
    for s in 0..3 {
        let list = &members[offsets[s]..offsets[s + 1]];
        let block = local(list.len(), s);
        for (j, &t) in list.iter().enumerate() {
            for (i, &u) in list.iter().enumerate() {
                let (low, high) = (i.min(j), i.max(j));
                dense[t as usize][u as usize] += block[low * list.len() + high];
            }
        }
    }
    for most_dense in [0, 10] {
        let mut matrix = CliqueMatrix::new(
            6,
            offsets.clone(),
            members.clone(),
            most_dense > 0,
            most_dense,
        )
        .unwrap();
        assert_eq!(matrix.sparse.is_none(), most_dense > 0);
        for _ in 0..2 {
            matrix.clear();
            for s in 0..3 {
                matrix.add_clique(s, &local(offsets[s + 1] - offsets[s], s));
            }
            matrix.add_diagonal(&extra, 1.0);
            assert!(matrix.factor(1e-13));
        }
        let expected = [1.0, -2.0, 0.5, 4.0, 3.0, -1.0];
        let mut x: Vec<f64> = (0..6)
            .map(|i| (0..6).map(|j| dense[i][j] * expected[j]).sum())
            .collect();
        matrix.solve(&mut x);
        for (x, y) in x.iter().zip(&expected) {
            assert!((x - y).abs() < 1e-12, "{x} {y}");
        }
    }
}

/// Wide cliques in pieces have the same solution as the dense matrix of their squares: vectors that
/// are combinations of two but on three members, and a $\lambda$.
#[test]
fn split_cliques_are_the_whole_ones() {
    let n = 240;
    let (mut offsets, mut members) = (vec![0], Vec::new());
    for s in 0..n as u32 {
        // a ring, and two cliques of every other and every state
        match s {
            7 => members.extend((0..n as u32).step_by(2)),
            100 => members.extend(0..n as u32),
            _ => members.extend([s, (s + 1) % n as u32]),
        }
        let from = offsets[offsets.len() - 1];
        members[from..].sort_unstable();
        offsets.push(members.len());
    }
    let apart = || vec![0, 5, 50];
    let shape = |_| Shape {
        apart: apart(),
        rank: 2,
        auxiliary: true,
    };
    let mut split = CliqueMatrix::with_split_rows(n, &offsets, &members, n, shape).unwrap();
    let mut whole = CliqueMatrix::new(n, offsets.clone(), members.clone(), true, n).unwrap();
    split.clear();
    whole.clear();
    for s in 0..n {
        let width = offsets[s + 1] - offsets[s];
        if width == 2 {
            let local = [1.0 + s as f64, -1.0, 0.0, 2.0];
            split.add_clique(s, &local);
            whole.add_clique(s, &local);
            continue;
        }
        let basis = |k: usize, t: usize| ((3 * k + 2) as f64 * t as f64 + s as f64).sin();
        let entry = |q: usize, t: usize| {
            let mixed = (q as f64 - 1.5) * basis(0, t) + (q * q) as f64 * basis(1, t);
            mixed
                + if apart().contains(&t) {
                    basis(q + 2, t)
                } else {
                    0.0
                }
        };
        let mut rows: Vec<f64> = (0..4 * width)
            .map(|k| entry(k / width, k % width))
            .collect();
        let d: Vec<f64> = (0..width).map(|t| 1.0 + basis(9, t).powi(2)).collect();
        let sum: f64 = d.iter().sum();
        let mut local = vec![0.0; width * width];
        for (k, x) in local.iter_mut().enumerate() {
            let (i, j) = (k / width, k % width);
            *x = (0..4)
                .map(|q| rows[q * width + i] * rows[q * width + j])
                .sum();
            *x -= d[i] * d[j] / sum;
            if i == j {
                *x += d[i];
            }
        }
        whole.add_clique(s, &local);
        assert!(split.is_split(s));
        split.add_split(s, &mut rows);
        split.add_auxiliary(s, &d);
    }
    assert!(split.factor(1e-14) && whole.factor(1e-14));
    let mut x: Vec<f64> = (0..n).map(|t| (t as f64).cos()).collect();
    let mut y = x.clone();
    split.solve(&mut x);
    whole.solve(&mut y);
    let largest = y.iter().fold(0.0, |most: f64, y| most.max(y.abs()));
    for (x, y) in x.iter().zip(&y) {
        assert!((x - y).abs() < 1e-10 * largest, "{x} {y}");
    }
}

/// A chain of five unknowns: what can be read off it, and how its diagonal is changed.
#[test]
fn members_diagonal_and_work_of_a_chain() {
    let offsets: Vec<usize> = (0..=4).map(|k| 2 * k).collect();
    let members: Vec<u32> = (0..4).flat_map(|s| [s, s + 1]).collect();
    for most_dense in [0, 5] {
        let wide = most_dense > 0;
        let mut matrix =
            CliqueMatrix::new(5, offsets.clone(), members.clone(), wide, most_dense).unwrap();
        assert_eq!(matrix.members(0), [0, 1]);
        assert_eq!(matrix.members(3), [3, 4]);
        assert_eq!(matrix.prefers_rows(WIDE + 1), wide);
        assert!(!matrix.prefers_rows(WIDE));
        matrix.clear();
        assert_eq!(matrix.largest_diagonal(), None);
        for s in 0..4 {
            matrix.add_clique(s, &[1.0 + s as f64, -0.5, 0.0, 1.0]);
        }
        // 1, 3, 4, 5, 1 on the diagonal
        assert_eq!(matrix.largest_diagonal(), Some(3));
        assert_eq!(matrix.double_diagonal(2), 4.0);
        assert_eq!(matrix.largest_diagonal(), Some(2));
        assert!(matrix.factor(1e-13));
        let mut x = [0.5, 2.0, 7.0, 4.0, 0.5];
        matrix.solve(&mut x);
        assert!(x.iter().all(|x| (x - 1.0).abs() < 1e-12), "{x:?}");
        // of the sparse one the factor's columns have at most two entries
        let most = if wide { 42.0 } else { SPARSE_COST * 20.0 };
        assert!(
            matrix.work() > 1.0 && matrix.work() < most,
            "{}",
            matrix.work()
        );
        matrix.clear_diagonal();
        assert_eq!(matrix.largest_diagonal(), None);
    }
}

#[test]
fn dense_rows_hold_scaled_values_in_their_columns() {
    let mut rows = vec![9.0];
    push_dense_row(&mut rows, 4, [1u32, 3].into_iter(), &[2.0, -1.0], 3.0);
    push_dense_row(&mut rows, 2, [0u32].into_iter(), &[5.0], 1.0);
    assert_eq!(rows, [9.0, 0.0, 6.0, 0.0, -3.0, 5.0, 0.0]);
}

/// Rounding is told by a pivot's size, so the diagonal must be one before.
#[test]
fn matrices_are_scaled_to_a_unit_diagonal() {
    assert_eq!(inverse_root(16.0), 0.25);
    assert_eq!(inverse_root(0.0), 0.0);
    assert!(
        [-1.0, f64::INFINITY, f64::NAN]
            .map(inverse_root)
            .iter()
            .all(|x| x.is_nan())
    );
}
