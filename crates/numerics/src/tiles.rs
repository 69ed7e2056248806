//! Dense symmetric matrices in square tiles, which threads share.
//!
//! A tile is computed by one thread from start to end, in an order that does not depend on how many
//! threads there are, so that neither do the bits of the result. (faer has threads of its own, but
//! those wait for each other by spinning, which takes longer than one thread alone where other
//! programs use the machine, too.)

use faer::dyn_stack::MemStack;
use faer::linalg::cholesky::ldlt::factor::{LdltRegularization, cholesky_in_place};
use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::linalg::triangular_solve::solve_unit_lower_triangular_in_place;
use faer::reborrow::{Reborrow, ReborrowMut};
use faer::{Accum, MatMut, MatRef, Par};

use super::parallel::share;

/// Rows and columns of a tile: smaller ones multiply more slowly, of larger ones there are too few
/// for several threads (from 96 to 192 the time hardly changes).
const TILE: usize = 128;

/// A matrix of several tiles below each other.
fn rows_of(mut rest: MatMut<'_, f64>) -> Vec<MatMut<'_, f64>> {
    let mut tiles = Vec::new();
    while rest.nrows() > TILE {
        let (tile, below) = rest.split_at_row_mut(TILE);
        tiles.push(tile);
        rest = below;
    }
    tiles.push(rest);
    tiles
}

/// Adds `sign` times $L R^\top$ to the lower half of a square matrix.
fn add_lower(square: MatMut<'_, f64>, left: MatRef<'_, f64>, right: MatRef<'_, f64>, sign: f64) {
    let mut tiles = Vec::new();
    let (mut columns, mut j) = (square, 0);
    while columns.ncols() > 0 {
        let width = TILE.min(columns.ncols());
        let (column, next) = columns.split_at_col_mut(width);
        let below = rows_of(column.split_at_row_mut(j).1);
        tiles.extend((j..).step_by(TILE).zip(below).map(|(i, tile)| (i, j, tile)));
        (columns, j) = (next, j + width);
    }
    share(tiles.into_iter(), |(i, j, tile)| {
        let left = left.subrows(i, tile.nrows());
        let right = right.subrows(j, tile.ncols()).transpose();
        if i > j {
            return matmul(tile, Accum::Add, left, right, sign, Par::Seq);
        }
        triangular::matmul(
            tile,
            BlockStructure::TriangularLower,
            Accum::Add,
            left,
            BlockStructure::Rectangular,
            right,
            BlockStructure::Rectangular,
            sign,
            Par::Seq,
        );
    });
}

/// Adds `sign` times $X^\top X$ to the upper half of a row-major square, which is the lower half of
/// one by columns, $X$ having rows of `width` numbers.
pub fn add_product(square: &mut [f64], rows: &[f64], width: usize, sign: f64) {
    let rows = MatRef::from_column_major_slice(rows, width, rows.len() / width);
    let square = MatMut::from_column_major_slice_mut(square, width, width);
    add_lower(square, rows, rows, sign);
}

/// Replaces the lower half of a matrix by its factors $L$ and $D$, $L D L^\top$ being the matrix;
/// false where it has none. Pivots no larger than `least` are replaced by `dropped`. `signs` are
/// those of the pivots, `room` is made as large as needed.
pub fn factor(
    matrix: MatMut<'_, f64>,
    signs: &[i8],
    (least, dropped): (f64, f64),
    room: &mut Vec<f64>,
    stack: &mut MemStack,
) -> bool {
    let (n, mut done, mut rest) = (matrix.nrows(), 0, matrix);
    room.resize(n * TILE, 0.0);
    loop {
        let size = TILE.min(n - done);
        let (panel, right) = rest.split_at_col_mut(size);
        let (mut top, mut below) = panel.split_at_row_mut(size);
        let regularization = LdltRegularization {
            dynamic_regularization_signs: Some(&signs[done..done + size]),
            dynamic_regularization_delta: dropped,
            dynamic_regularization_epsilon: least,
        };
        let params = Default::default();
        if cholesky_in_place(top.rb_mut(), regularization, Par::Seq, stack, params).is_err() {
            return false;
        }
        done += size;
        if done == n {
            return true;
        }
        // the rows below the top are W = L D, which is kept, and L
        let (top, left) = (top.rb(), n - done);
        let w = MatMut::from_column_major_slice_mut(&mut room[..left * size], left, size);
        let panels = rows_of(below.rb_mut()).into_iter().zip(rows_of(w));
        let panels: Vec<_> = panels.collect();
        share(panels.into_iter(), |(mut l, mut w)| {
            let columns = l.rb_mut().transpose_mut();
            solve_unit_lower_triangular_in_place(top, columns, Par::Seq);
            for j in 0..size {
                let pivot = top[(j, j)];
                let columns = (l.rb_mut().col_mut(j), w.rb_mut().col_mut(j));
                for (l, w) in columns.0.iter_mut().zip(columns.1.iter_mut()) {
                    *w = *l;
                    *l /= pivot;
                }
            }
        });
        let w = MatRef::from_column_major_slice(&room[..left * size], left, size);
        rest = right.split_at_row_mut(size).1;
        add_lower(rest.rb_mut(), below.rb(), w, -1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use faer::Mat;
    use faer::dyn_stack::MemBuffer;
    use faer::linalg::cholesky::ldlt::factor::cholesky_in_place_scratch;

    fn entry(i: usize, j: usize) -> f64 {
        ((7 * i + 13 * j) as f64).sin()
    }

    /// $X^\top X$ of as many rows as columns and a diagonal is factored, and multiplied again it is
    /// the same; on any number of threads to the last bit, with rows and columns that fill no tile.
    #[test]
    fn factors_give_back_the_matrix() {
        let n = 2 * TILE + 37;
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build().unwrap().install(|| {
                let rows: Vec<f64> = (0..n * n).map(|k| entry(k / n, k % n)).collect();
                let mut square = vec![0.0; n * n];
                (0..n).for_each(|i| square[i * n + i] = 1.0);
                add_product(&mut square, &rows, n, 1.0);
                let sum = square.clone();
                let scratch = cholesky_in_place_scratch::<f64>(n, Par::Seq, Default::default());
                let mut buffer = MemBuffer::new(scratch);
                let matrix = MatMut::from_column_major_slice_mut(&mut square, n, n);
                let signs = vec![1; n];
                let limits = (1e-13, 1e100);
                let stack = MemStack::new(&mut buffer);
                assert!(factor(matrix, &signs, limits, &mut Vec::new(), stack));
                (sum, square)
            })
        };
        let found = run(1);
        assert_eq!(found, run(3));
        let (sum, factors) = found;
        let l = Mat::from_fn(n, n, |i, j| match i.cmp(&j) {
            std::cmp::Ordering::Less => 0.0,
            std::cmp::Ordering::Equal => 1.0,
            std::cmp::Ordering::Greater => factors[j * n + i],
        });
        let scaled = Mat::from_fn(n, n, |i, j| l[(i, j)] * factors[j * n + j]);
        let product = &scaled * l.transpose();
        for j in 0..n {
            for i in j..n {
                let own = f64::from(u8::from(i == j));
                let exact = own + (0..n).map(|k| entry(k, i) * entry(k, j)).sum::<f64>();
                assert!((sum[j * n + i] - exact).abs() < 1e-10, "{i} {j}");
                assert!((product[(i, j)] - exact).abs() < 1e-9, "{i} {j}");
            }
        }
    }
}
