//! The columns' matrix as a sum of squares of rows, in which nothing cancels.

use super::RowSchur;
use crate::solve::kkt::transition_rows::TransitionRows;
use ide3al_numerics::clique_matrix::{add_product, push_dense_row};

/// Squares of longer rows than this are left to a dense product, which takes a microsecond to
/// begin.
const BY_PRODUCT: usize = 48;

impl RowSchur {
    /// Begins with $\sum_s D_s - D_s 1 1^\top D_s / 1^\top D_s 1$ of the wide rows. Off the
    /// diagonal every term is negative, so that their product adds up without cancelling; on it the
    /// differences are taken term by term.
    pub(super) fn add_wide_rows(&mut self, rows: &TransitionRows) {
        if !self.keeps_rows {
            return;
        }
        self.downdates.clear();
        for s in 0..rows.n_states() {
            if !self.matrix.prefers_rows(rows.reach(s).len()) {
                continue;
            }
            let cells = rows.offsets[s]..rows.offsets[s + 1];
            let d = &self.weights.d[cells.clone()];
            let own: f64 = d.iter().sum();
            let columns = rows.columns[cells].iter().copied();
            for (t, rest) in columns.clone().zip(rests(d, own)) {
                self.diagonal[t as usize] += rest;
            }
            let scale = 1.0 / own.sqrt();
            push_dense_row(&mut self.downdates, rows.n_states(), columns, d, scale);
        }
        if !self.downdates.is_empty() {
            self.matrix.add_product(&self.downdates, -1.0);
            self.matrix.clear_diagonal();
        }
    }
}

/// $d_j (1 - d_j / \sum d)$ for each $j$; the largest is almost the sum at times, and what the
/// others add up to is then not lost.
pub(super) fn rests(d: &[f64], sum: f64) -> impl Iterator<Item = f64> {
    let most = (0..d.len()).fold(0, |most, j| if d[j] > d[most] { j } else { most });
    let others: f64 = (0..d.len()).filter(|j| *j != most).map(|j| d[j]).sum();
    d.iter().enumerate().map(move |(j, x)| {
        let rest = if j == most { others } else { sum - x };
        x / sum * rest
    })
}

/// Adds the squares of rows of `width` numbers, one after the other in `rows`, to the upper half of
/// a row-major square.
pub(super) fn add_squares(local: &mut [f64], rows: &[f64], width: usize) {
    if width > BY_PRODUCT {
        add_product(local, rows, width, 1.0);
        return;
    }
    for row in rows.chunks_exact(width.max(1)) {
        for (j, x) in row.iter().enumerate().filter(|x| *x.1 != 0.0) {
            let target = &mut local[j * width + j..(j + 1) * width];
            for (o, y) in target.iter_mut().zip(&row[j..]) {
                *o += x * y;
            }
        }
    }
}
