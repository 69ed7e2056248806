//! What one state leaves behind when the interior-point method eliminates its row of the target.
//!
//! Small dense matrices, one row and column per action; see [`interior`](super::interior).

use crate::model::Row;

/// What a state's elimination leaves behind.
#[derive(Default, Clone)]
pub(super) struct Local {
    /// $K^{-1}$, row-major.
    pub(super) inverse: Vec<f64>,
    /// $K^{-1} 1 / (1^\top K^{-1} 1)$.
    pub(super) share: Vec<f64>,
    /// $1^\top K^{-1} 1$.
    pub(super) total: f64,
    pub(super) e: Vec<f64>,
    pub(super) h: f64,
}

impl Local {
    /// $N x$ with $N = K^{-1} - K^{-1} 1 1^\top K^{-1} / (1^\top K^{-1} 1)$.
    pub(super) fn apply(&self, x: &[f64], out: &mut [f64]) {
        let a = x.len();
        for (i, o) in out.iter_mut().enumerate() {
            *o = (0..a).map(|j| self.inverse[i * a + j] * x[j]).sum();
        }
        let sum: f64 = out.iter().sum();
        for (o, share) in out.iter_mut().zip(&self.share) {
            *o -= share * sum;
        }
    }
}

/// $\sum_t x_t y_t (1 - D_t)$ of two sparse rows.
pub(super) fn overlap(x: Row<'_>, y: Row<'_>, d: &[f64]) -> f64 {
    let (mut i, mut j, mut sum) = (0, 0, 0.0);
    while i < x.indices.len() && j < y.indices.len() {
        match x.indices[i].cmp(&y.indices[j]) {
            std::cmp::Ordering::Less => i += 1,
            std::cmp::Ordering::Greater => j += 1,
            std::cmp::Ordering::Equal => {
                sum += x.values[i] * y.values[j] * (1.0 - d[x.indices[i] as usize]);
                i += 1;
                j += 1;
            }
        }
    }
    sum
}

/// Inverts a symmetric positive definite matrix in place by Gauss-Jordan elimination.
pub(super) fn invert(matrix: &mut [f64], n: usize) -> bool {
    for k in 0..n {
        let pivot = matrix[k * n + k];
        if !(pivot > 0.0) {
            return false;
        }
        matrix[k * n + k] = 1.0;
        for j in 0..n {
            matrix[k * n + j] /= pivot;
        }
        for i in (0..n).filter(|i| *i != k) {
            let factor = matrix[i * n + k];
            matrix[i * n + k] = 0.0;
            for j in 0..n {
                matrix[i * n + j] -= factor * matrix[k * n + j];
            }
        }
    }
    true
}
