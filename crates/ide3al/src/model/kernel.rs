//! Sparse stochastic rows, some of them partly uniform.

use ide3al_numerics::groups::transposed;
use ide3al_numerics::parallel::share;

/// Rows handed to one parallel task. Fixed, so that results never depend on thread count.
const CHUNK: usize = 4096;

/// A matrix of probabilities in compressed sparse rows, plus a uniform share per row:
///
/// $$K_{ij} = \text{value}_{ij} + \frac{\text{spread}_i}{n}, \qquad n = \text{columns}.$$
///
/// `spread` is what lets an estimated model keep "uniform over all states" as one number
/// instead of $n$; it is empty when no row uses it. Every product costs
/// $O(\text{nnz} + \text{rows} + n)$.
#[derive(Debug, Clone, PartialEq)]
pub struct Kernel {
    columns: usize,
    offsets: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
    spread: Vec<f64>,
}

/// One row of a [`Kernel`].
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row<'a> {
    /// Columns of the stored entries, ascending.
    pub indices: &'a [u32],
    /// Stored entries.
    pub values: &'a [f64],
    /// Mass spread evenly over all columns.
    pub spread: f64,
}

impl<'a> Row<'a> {
    /// The stored entries as `(column, value)`.
    pub fn entries(self) -> impl Iterator<Item = (usize, f64)> + 'a {
        self.indices
            .iter()
            .zip(self.values)
            .map(|(&j, &v)| (j as usize, v))
    }
}

impl Kernel {
    /// Builds from raw compressed rows. `spread` is one number per row, or empty.
    ///
    /// # Panics
    /// If the lengths disagree: this is an internal constructor, input is checked before it.
    pub(crate) fn from_raw(
        columns: usize,
        offsets: Vec<usize>,
        indices: Vec<u32>,
        values: Vec<f64>,
        spread: Vec<f64>,
    ) -> Self {
        assert_eq!(offsets.last().copied(), Some(indices.len()));
        assert_eq!(indices.len(), values.len());
        assert!(spread.is_empty() || spread.len() + 1 == offsets.len());
        Kernel {
            columns,
            offsets,
            indices,
            values,
            spread,
        }
    }

    /// Number of rows.
    pub fn n_rows(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Number of columns.
    pub fn n_columns(&self) -> usize {
        self.columns
    }

    /// Number of stored entries.
    pub fn nnz(&self) -> usize {
        self.indices.len()
    }

    /// Whether some row has a uniform share.
    pub fn has_spread(&self) -> bool {
        !self.spread.is_empty()
    }

    /// Uniform share of each row; empty when no row has one.
    pub fn spread(&self) -> &[f64] {
        &self.spread
    }

    /// Uniform share of row `i`.
    pub fn spread_of(&self, i: usize) -> f64 {
        self.spread.get(i).copied().unwrap_or(0.0)
    }

    /// Offsets of the compressed rows, one more than there are rows.
    pub fn offsets(&self) -> &[usize] {
        &self.offsets
    }

    /// Columns of all stored entries.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// All stored entries.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    /// Row `i`.
    pub fn row(&self, i: usize) -> Row<'_> {
        let range = self.offsets[i]..self.offsets[i + 1];
        Row {
            indices: &self.indices[range.clone()],
            values: &self.values[range],
            spread: self.spread_of(i),
        }
    }

    /// $\text{out}_i = \sum_j K_{ij} v_j$. Rows are shared among threads; the result does
    /// not depend on how many there are.
    pub fn times(&self, v: &[f64], out: &mut [f64]) {
        let mean = if self.has_spread() {
            v.iter().sum::<f64>() / self.columns as f64
        } else {
            0.0
        };
        self.fill(out, |i| {
            let range = self.offsets[i]..self.offsets[i + 1];
            let mut sum = self.spread_of(i) * mean;
            for (&j, &p) in self.indices[range.clone()].iter().zip(&self.values[range]) {
                sum += p * v[j as usize];
            }
            sum
        });
    }

    /// $\text{out}_i = \sum_j K_{ij} (v_j - r_i)$: what [`times`](Self::times) gives less $r_i$ for
    /// rows that sum to one, but with the digits of the differences where $v$ is large.
    pub fn times_relative(&self, v: &[f64], r: &(impl Fn(usize) -> f64 + Sync), out: &mut [f64]) {
        // the mean, in two parts: a large common one, and the rest with its digits
        let first = v.first().copied().unwrap_or(0.0);
        let rest = if self.has_spread() {
            v.iter().map(|x| x - first).sum::<f64>() / self.columns as f64
        } else {
            0.0
        };
        self.fill(out, |i| {
            let (range, r) = (self.offsets[i]..self.offsets[i + 1], r(i));
            let spread = self.spread_of(i);
            let mut sum = if spread > 0.0 {
                spread * ((first - r) + rest)
            } else {
                0.0
            };
            for (&j, &p) in self.indices[range.clone()].iter().zip(&self.values[range]) {
                sum += p * (v[j as usize] - r);
            }
            sum
        });
    }

    /// One number per row, on all threads where that pays.
    fn fill(&self, out: &mut [f64], of_row: impl Fn(usize) -> f64 + Sync) {
        let fill = |first: usize, out: &mut [f64]| {
            for (k, o) in out.iter_mut().enumerate() {
                *o = of_row(first + k);
            }
        };
        if self.nnz() < 1 << 16 {
            fill(0, out);
        } else {
            let chunks = out.chunks_mut(CHUNK).enumerate();
            share(chunks, |(c, chunk)| fill(c * CHUNK, chunk));
        }
    }

    /// $\text{out}_j = \sum_i w_i K_{ij}$, by scattering, on one thread. For many large
    /// products build [`Kernel::transpose`] once and use [`Kernel::times`] on it.
    pub fn transpose_times(&self, w: &[f64], out: &mut [f64]) {
        let spread: f64 = self.spread.iter().zip(w).map(|(c, w)| c * w).sum();
        out.fill(spread / self.columns as f64);
        for (i, &weight) in w.iter().enumerate() {
            if weight != 0.0 {
                let range = self.offsets[i]..self.offsets[i + 1];
                for (&j, &p) in self.indices[range.clone()].iter().zip(&self.values[range]) {
                    out[j as usize] += weight * p;
                }
            }
        }
    }

    /// $\text{out}_j = \sum_i w_i K_{ij}$ on all threads, with the [transposed](Self::transpose)
    /// entries at hand.
    pub fn arrivals(&self, transposed: &Kernel, w: &[f64], out: &mut [f64]) {
        transposed.times(w, out);
        if self.has_spread() {
            let mass: f64 = self.spread.iter().zip(w).map(|(c, w)| c * w).sum();
            let share = mass / self.columns as f64;
            out.iter_mut().for_each(|x| *x += share);
        }
    }

    /// The transposed *stored* entries; the uniform shares have no sparse transpose and are
    /// left out (add $\frac1n \sum_i w_i\,\text{spread}_i$ to every entry of a product).
    #[must_use]
    pub fn transpose(&self) -> Kernel {
        let stored = (&self.offsets[..], &self.indices[..], &self.values[..]);
        let (offsets, indices, values) = transposed(self.columns, stored);
        Kernel {
            columns: self.n_rows(),
            offsets,
            indices,
            values,
            spread: Vec::new(),
        }
    }

    /// Dense copy, row by row; for small matrices and tests.
    pub fn to_dense(&self) -> Vec<Vec<f64>> {
        (0..self.n_rows())
            .map(|i| {
                let row = self.row(i);
                let mut dense = vec![row.spread / self.columns as f64; self.columns];
                for (j, p) in row.entries() {
                    dense[j] += p;
                }
                dense
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Kernel {
        Kernel::from_raw(
            3,
            vec![0, 2, 2, 3],
            vec![0, 2, 1],
            vec![0.25, 0.75, 0.5],
            vec![0.0, 1.0, 0.5],
        )
    }

    #[test]
    fn products_match_the_dense_matrix() {
        let kernel = sample();
        let dense = kernel.to_dense();
        let v = [1.0, -2.0, 0.5];
        let mut out = [0.0; 3];
        kernel.times(&v, &mut out);
        for i in 0..3 {
            let expected: f64 = (0..3).map(|j| dense[i][j] * v[j]).sum();
            assert!((out[i] - expected).abs() < 1e-15);
        }
        kernel.transpose_times(&v, &mut out);
        for j in 0..3 {
            let expected: f64 = (0..3).map(|i| dense[i][j] * v[i]).sum();
            assert!((out[j] - expected).abs() < 1e-15);
        }
    }

    #[test]
    fn relative_products_keep_their_digits() {
        let kernel = sample();
        let dense = kernel.to_dense();
        let v = [1e17 + 64.0, 1e17 - 128.0, 1e17];
        let mut out = [0.0; 3];
        kernel.times_relative(&v, &|_| 1e17, &mut out);
        for i in 0..3 {
            let expected: f64 = (0..3).map(|j| dense[i][j] * (v[j] - 1e17)).sum();
            assert!((out[i] - expected).abs() < 1e-9, "{} {expected}", out[i]);
        }
    }

    #[test]
    fn transposing_twice_returns_the_stored_entries() {
        let kernel = sample();
        let twice = kernel.transpose().transpose();
        assert_eq!(twice.indices(), kernel.indices());
        assert_eq!(twice.values(), kernel.values());
    }
}
