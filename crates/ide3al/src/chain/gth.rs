//! Dense Grassmann-Taksar-Heyman elimination, in recursive blocks.
//!
//! Eliminating a state replaces the chain by the one watched only while it is elsewhere:
//! $M_{ij} \leftarrow M_{ij} + M_{ik} M_{kj} / s_k$ with $s_k = \sum_{j<k} M_{kj}$. Only sums,
//! products and quotients of nonnegative numbers occur, so every entry of the result is
//! accurate to a small multiple of the rounding unit, however close the chain is to falling
//! apart. Where products leave the range of doubles, the same is done in numbers without one.
//!
//! Reference: Grassmann, Taksar and Heyman (1985), *Operations Research* 33, 1107-1116.

use faer::linalg::matmul::matmul;
use faer::prelude::IntoConst;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::wide::{self, FAINT};

/// Blocks up to this size are eliminated by plain loops.
const PLAIN: usize = 16;
/// Rows of one parallel task: fixed, so that the bits do not depend on the thread count.
const ROWS: usize = 64;
/// Below this many multiplications a block is not worth handing to other threads.
const PARALLEL: usize = 1 << 21;
/// Unnormalised weights beyond this are scaled down on the way.
const LARGE: f64 = 1e200;

/// Stationary distribution of an irreducible chain given as a dense row-major matrix, which
/// is used up: $d^\top M = d^\top$, $\sum_s d(s) = 1$. Diagonal entries are not read.
///
/// Costs $\tfrac23 n^3$ multiplications and additions, most of them in matrix products.
///
/// # Panics
/// If `matrix` is not $n \times n$ or `n` is zero.
pub fn stationary_dense(n: usize, matrix: &mut [f64]) -> Vec<f64> {
    assert!(n > 0 && matrix.len() == n * n, "a square matrix");
    // kept only where the probability of some path can be too small for doubles
    let original = can_be_faint(n, matrix).then(|| matrix.to_vec());
    let mut scale = vec![0.0; n];
    eliminate(n, matrix, 0, n, &mut scale);
    match original {
        // negated, so that what is not a number counts as well
        Some(original) if !scale[1..].iter().all(|s| *s >= FAINT) => {
            wide::stationary_dense(n, &original)
        }
        _ => substitute(n, matrix),
    }
}

/// Whether a way of at most $n$ steps can be fainter than doubles are trusted with.
fn can_be_faint(n: usize, matrix: &[f64]) -> bool {
    let least = matrix
        .iter()
        .fold(1.0, |m: f64, p| if *p > 0.0 { m.min(*p) } else { m });
    n as f64 * least.ln() < FAINT.ln()
}

/// Eliminates states `first..end` from their own rows over the full width: the later half,
/// its effect on the rows of the earlier half, the earlier half.
fn eliminate(n: usize, matrix: &mut [f64], first: usize, end: usize, scale: &mut [f64]) {
    if end - first <= PLAIN {
        return eliminate_rows(n, matrix, first, end, scale);
    }
    let middle = first + (end - first) / 2;
    eliminate(n, matrix, middle, end, scale);
    let (upper, lower) = matrix.split_at_mut(middle * n);
    let rows = &mut upper[first * n..];
    let panel = &lower[..(end - middle) * n];
    let block = Block {
        n,
        panel,
        first: middle,
        end,
        scale,
    };
    if (middle - first) * (end - middle) * middle < PARALLEL {
        rows.chunks_mut(ROWS * n).for_each(|rows| block.leave(rows));
    } else {
        rows.par_chunks_mut(ROWS * n)
            .for_each(|rows| block.leave(rows));
    }
    eliminate(n, matrix, first, middle, scale);
}

/// Rows of states `first..end` after their elimination.
struct Block<'a> {
    n: usize,
    panel: &'a [f64],
    first: usize,
    end: usize,
    scale: &'a [f64],
}

impl Block<'_> {
    /// Takes the block's states out of some earlier rows.
    fn leave(&self, rows: &mut [f64]) {
        self.solve(rows, self.first, self.end);
        self.product(rows, 0, self.first, self.end);
    }

    /// Columns `low..high` of the rows, made final and scaled, latest first.
    fn solve(&self, rows: &mut [f64], low: usize, high: usize) {
        if high - low > PLAIN {
            let middle = low + (high - low) / 2;
            self.solve(rows, middle, high);
            self.product(rows, low, middle, high);
            return self.solve(rows, low, middle);
        }
        for row in rows.chunks_exact_mut(self.n) {
            for j in (low..high).rev() {
                let (target, rest) = row.split_at_mut(j);
                if rest[0] != 0.0 {
                    rest[0] /= self.scale[j];
                    let pivot = &self.panel[(j - self.first) * self.n..][low..j];
                    add_multiple(&mut target[low..], rest[0], pivot);
                }
            }
        }
    }

    /// Columns `low..middle` of the rows gain columns `middle..high` times the block's rows.
    fn product(&self, rows: &mut [f64], low: usize, middle: usize, high: usize) {
        let (n, count) = (self.n, rows.len() / self.n);
        // by way of columns: the strided row-major view of faer 0.24 swaps its strides
        let whole = MatMut::from_column_major_slice_with_stride_mut(rows, n, count, n);
        let (target, factors) = whole.transpose_mut().split_at_col_mut(middle);
        let target = target.subcols_mut(low, middle - low);
        let factors = factors.into_const().subcols(0, high - middle);
        let pivots = &self.panel[(middle - self.first) * n..(high - self.first) * n];
        let pivots = MatRef::from_row_major_slice_with_stride(pivots, high - middle, n, n);
        let pivots = pivots.subcols(low, middle - low);
        matmul(target, Accum::Add, factors, pivots, 1.0, Par::Seq);
    }
}

/// Plain elimination within rows `first..end`, over their full width.
fn eliminate_rows(n: usize, matrix: &mut [f64], first: usize, end: usize, scale: &mut [f64]) {
    for k in (first..end).rev() {
        let (upper, lower) = matrix.split_at_mut((k + 1) * n);
        let row = &mut upper[k * n..];
        for j in (k + 1..end).rev() {
            let (target, rest) = row.split_at_mut(j);
            if rest[0] != 0.0 {
                rest[0] /= scale[j];
                add_multiple(target, rest[0], &lower[(j - k - 1) * n..][..j]);
            }
        }
        scale[k] = row[..k].iter().sum();
    }
}

/// $x_k = \sum_{i<k} x_i M_{ik} / s_k$, scaled to sum to one.
fn substitute(n: usize, matrix: &[f64]) -> Vec<f64> {
    let mut x = vec![0.0; n];
    // state k is final once all i < k have passed their weight on
    x[0] = 1.0;
    for i in 0..n {
        // no factor exceeds 1 / FAINT, so that no sum of products overflows
        if x[i] > LARGE {
            x.iter_mut().for_each(|v| *v /= LARGE);
        }
        let weight = x[i];
        if weight > 0.0 {
            let (_, later) = x.split_at_mut(i + 1);
            add_multiple(later, weight, &matrix[i * n + i + 1..(i + 1) * n]);
        }
    }
    normalise(&mut x);
    x
}

/// Rescales nonnegative weights to sum to one, without overflow.
pub(crate) fn normalise(x: &mut [f64]) {
    let largest = x.iter().fold(0.0, |m: f64, v| m.max(*v));
    if largest > 0.0 {
        x.iter_mut().for_each(|v| *v /= largest);
        let sum: f64 = x.iter().sum();
        x.iter_mut().for_each(|v| *v /= sum);
    }
}

#[inline]
fn add_multiple(target: &mut [f64], factor: f64, source: &[f64]) {
    for (t, s) in target.iter_mut().zip(source) {
        *t += factor * s;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::needless_range_loop)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    /// Random dense chain; `spread` orders of magnitude between its entries.
    fn random(n: usize, spread: f64, seed: u64) -> Vec<f64> {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(seed);
        let mut m: Vec<f64> = (0..n * n)
            .map(|_| 10f64.powf(-spread * rng.random::<f64>()))
            .collect();
        for row in m.chunks_exact_mut(n) {
            let sum: f64 = row.iter().sum();
            row.iter_mut().for_each(|p| *p /= sum);
        }
        m
    }

    /// The textbook loop, one state at a time.
    fn textbook(n: usize, mut m: Vec<f64>) -> Vec<f64> {
        for k in (1..n).rev() {
            let s: f64 = (0..k).map(|j| m[k * n + j]).sum();
            for i in 0..k {
                m[i * n + k] /= s;
                for j in 0..k {
                    m[i * n + j] += m[i * n + k] * m[k * n + j];
                }
            }
        }
        let mut x = vec![1.0; n];
        for k in 1..n {
            x[k] = (0..k).map(|i| x[i] * m[i * n + k]).sum();
        }
        let sum: f64 = x.iter().sum();
        x.iter().map(|v| v / sum).collect()
    }

    #[test]
    fn blocks_agree_with_the_textbook() {
        for (n, spread) in [
            (1, 0.0),
            (2, 3.0),
            (16, 8.0),
            (17, 8.0),
            (100, 8.0),
            (161, 8.0),
            (300, 12.0),
        ] {
            let m = random(n, spread, n as u64);
            let expected = textbook(n, m.clone());
            let found = stationary_dense(n, &mut m.clone());
            for (a, b) in found.iter().zip(&expected) {
                assert!((a - b).abs() <= 1e-12 * b, "{n}: {a} {b}");
            }
        }
    }

    #[test]
    fn does_not_depend_on_threads() {
        let m = random(400, 5.0, 3);
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build()
                .unwrap()
                .install(|| stationary_dense(400, &mut m.clone()))
        };
        assert_eq!(with(1), with(3));
    }

    #[test]
    fn survives_tiny_probabilities() {
        // 0 <-> 1 by 1e-300, 1 <-> 2 by 1e-200: detailed balance gives the ratios
        let (a, b, c, e) = (1e-300, 1e-10, 1e-200, 1e-30);
        let mut m = vec![1.0, a, 0.0, b, 1.0, c, 0.0, e, 1.0];
        let d = stationary_dense(3, &mut m);
        assert!((d[0] - 1.0).abs() < 1e-15);
        assert!((d[1] / 1e-290 - 1.0).abs() < 1e-12);
        let mut m = vec![0.0, 1.0, 1e-320, 0.0];
        let d = stationary_dense(2, &mut m);
        assert!(d.iter().all(|p| p.is_finite()) && (d[1] - 1.0).abs() < 1e-15);
    }

    #[test]
    fn two_faint_ways_out_balance() {
        // 0 and 2 are left with 3e-300 and 1e-300 through 1: the flow is a product of both
        let mut m = vec![1.0, 3e-300, 0.0, 0.5, 0.0, 0.5, 0.0, 1e-300, 1.0];
        let d = stationary_dense(3, &mut m);
        assert!(
            (d[0] - 0.25).abs() < 1e-12 && (d[2] - 0.75).abs() < 1e-12,
            "{d:?}"
        );
        // a ring in which every second state is faint: flows of 1e-900
        let n = 6;
        let mut m = vec![0.0; n * n];
        for s in 0..n {
            let p = if s % 2 == 0 {
                1e-300 * (1.0 + s as f64)
            } else {
                1.0
            };
            m[s * n + (s + 1) % n] = p;
        }
        let d = stationary_dense(n, &mut m);
        let total = 1.0 + 1.0 / 3.0 + 1.0 / 5.0;
        assert!((d[0] - 1.0 / total).abs() < 1e-12, "{d:?}");
        assert!((d[4] - 0.2 / total).abs() < 1e-12, "{d:?}");
    }
}
