//! What a finite budget of steps sees.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::Chain;
use super::stationary::dense_matrix;

/// Work beyond which powers of the matrix replace single steps.
const STEPWISE: f64 = 2e9;
/// Largest chain whose powers are formed.
const DENSE_LIMIT: usize = 1_000;
/// Rows of one parallel task, fixed.
const ROWS: usize = 64;

/// Average of the state distributions at times $t = 0, \dots, T-1$ from the start:
/// $\bar d_T = \frac1T \sum_{t<T} (M^\top)^t d_0$, the expected share of time in each state
/// during a run of $T$ steps. $T = 0$ is taken as $T = 1$.
///
/// Costs $O(T\,\text{nnz})$, less where the distribution settles on the way, and
/// $O(n^3 \log T)$ for small chains and large $T$.
pub fn average_distribution(chain: &Chain, steps: u64) -> Vec<f64> {
    let steps = steps.max(1);
    let n = chain.n_states();
    let kernel = chain.kernel();
    if steps as f64 * (kernel.nnz() + n) as f64 > STEPWISE && n <= DENSE_LIMIT {
        return by_powers(chain, steps);
    }
    let mut now = chain.start().to_vec();
    let mut next = vec![0.0; n];
    let mut sum = vec![0.0; n];
    for t in 0..steps {
        sum.iter_mut().zip(&now).for_each(|(s, p)| *s += p);
        kernel.transpose_times(&now, &mut next);
        let settled = now
            .iter()
            .zip(&next)
            .all(|(a, b)| a.to_bits() == b.to_bits());
        std::mem::swap(&mut now, &mut next);
        if settled {
            let rest = (steps - 1 - t) as f64;
            sum.iter_mut().zip(&now).for_each(|(s, p)| *s += rest * p);
            break;
        }
    }
    sum.iter_mut().for_each(|s| *s /= steps as f64);
    sum
}

/// $\sigma_{2k} = \sigma_k + (M^\top)^k \sigma_k$ and $\sigma_{k+1} = d_0 + M^\top \sigma_k$,
/// along the binary digits of the number of steps.
fn by_powers(chain: &Chain, steps: u64) -> Vec<f64> {
    let n = chain.n_states();
    let kernel = chain.kernel();
    let matrix = dense_matrix(kernel);
    let mut power = matrix.clone();
    let mut buffer = vec![0.0; n * n];
    let mut sum = chain.start().to_vec();
    let mut image = vec![0.0; n];
    let highest = 63 - steps.leading_zeros();
    for bit in (0..highest).rev() {
        image.fill(0.0);
        for (row, weight) in power.chunks_exact(n).zip(&sum) {
            image
                .iter_mut()
                .zip(row)
                .for_each(|(o, p)| *o += weight * p);
        }
        sum.iter_mut().zip(&image).for_each(|(s, p)| *s += p);
        multiply(n, &power, &power, &mut buffer);
        std::mem::swap(&mut power, &mut buffer);
        if steps >> bit & 1 == 1 {
            kernel.transpose_times(&sum, &mut image);
            sum.iter_mut()
                .zip(&image)
                .zip(chain.start())
                .for_each(|((s, p), d)| *s = p + d);
            multiply(n, &power, &matrix, &mut buffer);
            std::mem::swap(&mut power, &mut buffer);
        }
    }
    let total: f64 = sum.iter().sum();
    sum.iter_mut().for_each(|s| *s /= total);
    sum
}

/// Dense row-major product in fixed row blocks: the bits do not depend on the thread count.
fn multiply(n: usize, a: &[f64], b: &[f64], out: &mut [f64]) {
    let right = MatRef::from_row_major_slice(b, n, n);
    out.par_chunks_mut(ROWS * n)
        .zip(a.par_chunks(ROWS * n))
        .for_each(|(target, rows)| {
            let count = rows.len() / n;
            let left = MatRef::from_row_major_slice(rows, count, n);
            let target = MatMut::from_column_major_slice_mut(target, n, count).transpose_mut();
            matmul(target, Accum::Replace, left, right, 1.0, Par::Seq);
        });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn powers_agree_with_steps() {
        let entries = [
            (0, 1, 0.7),
            (0, 2, 0.3),
            (1, 0, 0.2),
            (1, 1, 0.8),
            (2, 0, 1.0),
        ];
        let mut chain = Chain::from_entries(3, &entries, vec![]);
        chain.start = vec![1.0, 0.0, 0.0];
        for steps in [1, 2, 3, 7, 100, 1023] {
            let (a, b) = (
                average_distribution(&chain, steps),
                by_powers(&chain, steps),
            );
            for (x, y) in a.iter().zip(&b) {
                assert!((x - y).abs() < 1e-13, "{steps}: {a:?} {b:?}");
            }
        }
        assert_eq!(average_distribution(&chain, 1), [1.0, 0.0, 0.0]);
        let two = average_distribution(&chain, 2);
        assert!((two[1] - 0.35).abs() < 1e-15);
    }
}
