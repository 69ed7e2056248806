//! What the engines' tests compare with: dense linear algebra by faer, and irregular numbers.

use faer::linalg::solvers::Solve;
use faer::{Mat, MatRef};

/// Irregular numbers between 0 and 1 (Steele, Lea and Flood 2014, SplitMix64).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn next(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number below `n`.
    pub(crate) fn below(&mut self, n: usize) -> usize {
        (self.next() * n as f64) as usize
    }

    /// So many numbers between -1 and 1.
    pub(crate) fn signed(&mut self, n: usize) -> Vec<f64> {
        (0..n).map(|_| 2.0 * self.next() - 1.0).collect()
    }
}

/// $A x$ for a matrix stored row by row.
pub(crate) fn times(a: &[f64], x: &[f64]) -> Vec<f64> {
    let rows = a.chunks_exact(x.len().max(1));
    rows.map(|row| row.iter().zip(x).map(|(a, x)| a * x).sum())
        .collect()
}

/// $A^\top y$ for a matrix of `n` columns stored row by row.
pub(crate) fn transpose_times(a: &[f64], y: &[f64], n: usize) -> Vec<f64> {
    let mut out = vec![0.0; n];
    for (row, y) in a.chunks_exact(n.max(1)).zip(y) {
        out.iter_mut().zip(row).for_each(|(o, a)| *o += a * y);
    }
    out
}

/// A square matrix stored row by row, for faer.
pub(crate) fn dense(a: &[f64], columns: usize) -> Mat<f64> {
    Mat::from_fn(a.len() / columns, columns, |i, j| a[i * columns + j])
}

/// Solves a square system by dense LU with pivoting.
pub(crate) fn solve(a: MatRef<'_, f64>, right: &[f64]) -> Vec<f64> {
    let right = Mat::from_fn(right.len(), 1, |i, _| right[i]);
    let x = a.partial_piv_lu().solve(&right);
    (0..x.nrows()).map(|i| x[(i, 0)]).collect()
}

/// The largest singular value.
pub(crate) fn norm(a: MatRef<'_, f64>) -> f64 {
    a.singular_values().unwrap()[0]
}
