//! How long a chain takes to forget where it started.
//!
//! $$t_{\text{mix}}(\varepsilon) = \min\{ t \ge 0 : \max_x \lVert M^t(x, \cdot) - d \rVert \le \varepsilon \}$$
//!
//! in total variation (half the sum of absolute differences, the default with
//! $\varepsilon = 1/4$) or in the paper's infinity norm (the largest difference). Row $x$ of
//! $M^{t+1}$ is a mixture of rows of $M^t$ and $d$ does not move, so the maximum over start
//! states never increases in either norm, which is what makes searching for $t$ legitimate.
//!
//! A few promising start states are followed first: the largest time at which one of them is
//! still too far, plus one, is a lower bound. Up to [`EXACT_LIMIT`] states all rows of that
//! power are then checked, and where some are still too far the search gallops on with
//! squared powers. The answer is exact but for rounding. Beyond that size, or where galloping
//! takes too long, the lower bound is returned, and named as one.

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};
use rayon::prelude::*;

use super::Chain;
use super::entropy::least_visited;
use super::stationary::{LongRun, dense_matrix};

/// Largest chain whose mixing time is computed exactly.
pub const EXACT_LIMIT: usize = 3_000;
/// Rows of one parallel task, fixed.
const ROWS: usize = 64;
/// Elementary operations for following start states.
const FOLLOW: usize = 400_000_000;
/// Memory for squared powers in bytes.
const POWERS: usize = 1_200_000_000;
/// Multiplications for galloping: ten seconds' work on two cores. Where memory ends the doubling of strides, chains that hardly mix would take for ever.
const GALLOP: f64 = 3e11;
/// Longest mixing time told from an infinite one.
const LONGEST: u64 = 1 << 52;

/// Norm of the distance to the stationary distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MixingNorm {
    /// $\frac12 \sum_y |p(y) - d(y)|$.
    #[default]
    TotalVariation,
    /// $\max_y |p(y) - d(y)|$, as in the paper.
    Infinity,
}

impl MixingNorm {
    /// Name on the command line and in JSON.
    pub fn name(self) -> &'static str {
        match self {
            MixingNorm::TotalVariation => "tv",
            MixingNorm::Infinity => "infinity",
        }
    }

    fn distance(self, p: &[f64], d: &[f64]) -> f64 {
        let differences = p.iter().zip(d).map(|(p, d)| (p - d).abs());
        match self {
            MixingNorm::TotalVariation => 0.5 * differences.sum::<f64>(),
            MixingNorm::Infinity => differences.fold(0.0, f64::max),
        }
    }
}

/// A mixing time, or what is known of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MixingTime {
    /// The mixing time.
    Exact(u64),
    /// It is at least this.
    LowerBound(u64),
    /// Several recurrent classes or a period: the start is never forgotten.
    Infinite,
}

impl MixingTime {
    /// The number of steps; `None` when infinite.
    pub fn steps(self) -> Option<u64> {
        match self {
            MixingTime::Exact(t) | MixingTime::LowerBound(t) => Some(t),
            MixingTime::Infinite => None,
        }
    }

    /// "exact" (an infinite one is) or "lower_bound".
    pub fn kind(self) -> &'static str {
        match self {
            MixingTime::Exact(_) | MixingTime::Infinite => "exact",
            MixingTime::LowerBound(_) => "lower_bound",
        }
    }
}

/// Mixing time of a chain; see the [module](self).
pub fn mixing_time(
    chain: &Chain,
    long_run: &LongRun,
    norm: MixingNorm,
    threshold: f64,
) -> MixingTime {
    if !long_run.classes.is_mixing() {
        return MixingTime::Infinite;
    }
    let search = Search {
        chain,
        d: &long_run.distribution,
        norm,
        threshold,
        gallop: GALLOP,
    };
    let bound = search.lower_bound();
    if chain.n_states() > EXACT_LIMIT {
        return MixingTime::LowerBound(bound);
    }
    search.from(bound)
}

struct Search<'a> {
    chain: &'a Chain,
    d: &'a [f64],
    norm: MixingNorm,
    threshold: f64,
    gallop: f64,
}

impl Search<'_> {
    /// Follows promising start states until they are near or the work is spent.
    fn lower_bound(&self) -> u64 {
        let n = self.chain.n_states();
        let kernel = self.chain.kernel();
        let starts = self.promising();
        // where all rows are looked at anyway, no more than a few products of matrices cost
        let work = if n <= EXACT_LIMIT {
            FOLLOW.min(4 * n * n * n + 100_000)
        } else {
            FOLLOW
        };
        let steps = (work / (starts.len() * (kernel.nnz() + 4 * n))).clamp(4, 200_000) as u64;
        let mut bound = 0;
        let (mut now, mut next) = (vec![0.0; n], vec![0.0; n]);
        for start in starts {
            now.fill(0.0);
            now[start] = 1.0;
            let mut near = 0;
            for t in 0..steps {
                if self.norm.distance(&now, self.d) > self.threshold {
                    bound = bound.max(t + 1);
                    near = 0;
                } else {
                    // one start's infinity norm may rise again for a while
                    near += 1;
                    if self.norm == MixingNorm::TotalVariation || near > 3 {
                        break;
                    }
                }
                kernel.transpose_times(&now, &mut next);
                std::mem::swap(&mut now, &mut next);
            }
        }
        bound
    }

    /// The extremes of a slowly decaying function, the least visited state, the likeliest
    /// start.
    fn promising(&self) -> Vec<usize> {
        let n = self.chain.n_states();
        let kernel = self.chain.kernel();
        let mut starts = vec![least_visited(self.d).0];
        let likeliest = (0..n).max_by(|&a, &b| {
            let start = self.chain.start();
            start[a].total_cmp(&start[b]).then(b.cmp(&a))
        });
        starts.extend(likeliest);
        // distance to the stationary mean of a function, smoothed by the chain itself
        let mut v: Vec<f64> = (0..n).map(|s| (s as f64 * 0.754_877_666).fract()).collect();
        let mut next = vec![0.0; n];
        let rounds = (FOLLOW / (4 * kernel.nnz().max(1))).clamp(4, 40);
        for _ in 0..rounds {
            kernel.times(&v, &mut next);
            let mean: f64 = next.iter().zip(self.d).map(|(v, d)| v * d).sum();
            let largest = next.iter().fold(0.0, |m: f64, x| m.max((x - mean).abs()));
            if largest < 1e-13 {
                break;
            }
            v.iter_mut()
                .zip(&next)
                .for_each(|(v, x)| *v = (x - mean) / largest);
        }
        let extreme = |sign: f64| {
            (0..n).max_by(|&a, &b| (sign * v[a]).total_cmp(&(sign * v[b])).then(b.cmp(&a)))
        };
        starts.extend(extreme(1.0));
        starts.extend(extreme(-1.0));
        starts.sort_unstable();
        starts.dedup();
        starts
    }

    fn is_mixed(&self, power: &[f64]) -> bool {
        let n = self.d.len();
        power.par_chunks(ROWS * n).all(|rows| {
            rows.chunks_exact(n)
                .all(|row| self.norm.distance(row, self.d) <= self.threshold)
        })
    }

    /// The exact time, known to be at least `bound`.
    fn from(&self, bound: u64) -> MixingTime {
        let n = self.d.len();
        let one = dense_matrix(self.chain.kernel());
        let mut power = self.power(bound, &one);
        let mut t = bound;
        if self.is_mixed(&power) {
            return MixingTime::Exact(t);
        }
        // gallop: strides 1, 2, 4, ... while the target is still too far
        let room = (POWERS / (8 * n * n)).max(2);
        let mut strides = vec![one];
        let mut trial = vec![0.0; n * n];
        let mut j = 0;
        let mut spent = 0.0;
        loop {
            // a product, and mostly a square
            spent += 2.0 * (n as f64).powi(3);
            self.advance(&power, j, &strides, &mut trial);
            if self.is_mixed(&trial) {
                break;
            }
            std::mem::swap(&mut power, &mut trial);
            t += 1 << j;
            if t > LONGEST || spent > self.gallop {
                return MixingTime::LowerBound(t);
            }
            if j + 1 < room && j < 51 {
                if strides.len() == j + 1 {
                    let mut square = vec![0.0; n * n];
                    multiply(n, &strides[j], &strides[j], &mut square);
                    renormalise(n, &mut square);
                    strides.push(square);
                }
                j += 1;
            }
        }
        // too far at t, near at t + 2^j
        while j > 0 {
            j -= 1;
            self.advance(&power, j, &strides, &mut trial);
            if !self.is_mixed(&trial) {
                std::mem::swap(&mut power, &mut trial);
                t += 1 << j;
            }
        }
        MixingTime::Exact(t + 1)
    }

    /// `out` $= M^{2^j}$ `power`.
    fn advance(&self, power: &[f64], j: usize, strides: &[Vec<f64>], out: &mut [f64]) {
        let n = self.d.len();
        if j == 0 {
            self.step(power, out);
        } else {
            multiply(n, &strides[j], power, out);
            renormalise(n, out);
        }
    }

    /// `out` $= M$ `power`, by the sparse rows of $M$.
    fn step(&self, power: &[f64], out: &mut [f64]) {
        let n = self.d.len();
        let kernel = self.chain.kernel();
        let mut mean = vec![0.0; n];
        if kernel.has_spread() {
            for row in power.chunks_exact(n) {
                mean.iter_mut().zip(row).for_each(|(m, p)| *m += p);
            }
            mean.iter_mut().for_each(|m| *m /= n as f64);
        }
        out.par_chunks_mut(n).enumerate().for_each(|(i, target)| {
            let row = kernel.row(i);
            if row.spread > 0.0 {
                target
                    .iter_mut()
                    .zip(&mean)
                    .for_each(|(o, m)| *o = row.spread * m);
            } else {
                target.fill(0.0);
            }
            for (j, p) in row.entries() {
                let source = &power[j * n..(j + 1) * n];
                target.iter_mut().zip(source).for_each(|(o, x)| *o += p * x);
            }
        });
    }

    /// $M^t$ by its binary digits; digits that add one cost a sparse product.
    fn power(&self, t: u64, one: &[f64]) -> Vec<f64> {
        let n = self.d.len();
        if t == 0 {
            let mut identity = vec![0.0; n * n];
            (0..n).for_each(|i| identity[i * n + i] = 1.0);
            return identity;
        }
        let mut power = one.to_vec();
        let mut buffer = vec![0.0; n * n];
        // a sparse step costs nnz * n, a squaring n^3 at about four times the speed
        let cheap = (n * n / (4 * self.chain.kernel().nnz().max(1))) as u64;
        let mut bits = 63 - t.leading_zeros();
        // the leading digits by single steps, while a doubling takes fewer than a squaring
        let mut lead = 0;
        while lead < bits && t >> (bits - lead) <= cheap {
            lead += 1;
        }
        for _ in 1..t >> (bits - lead) {
            self.step(&power, &mut buffer);
            std::mem::swap(&mut power, &mut buffer);
        }
        bits -= lead;
        for bit in (0..bits).rev() {
            multiply(n, &power, &power, &mut buffer);
            renormalise(n, &mut buffer);
            std::mem::swap(&mut power, &mut buffer);
            if t >> bit & 1 == 1 {
                self.step(&power, &mut buffer);
                std::mem::swap(&mut power, &mut buffer);
            }
        }
        power
    }
}

/// Dense row-major product in fixed row blocks: the bits do not depend on the thread count.
pub(crate) fn multiply(n: usize, a: &[f64], b: &[f64], out: &mut [f64]) {
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

/// Rows of a power sum to one; rounding is not allowed to grow.
fn renormalise(n: usize, matrix: &mut [f64]) {
    matrix.par_chunks_mut(n).for_each(|row| {
        let sum: f64 = row.iter().sum();
        row.iter_mut().for_each(|p| *p /= sum);
    });
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::model::{Mdp, Policy};

    /// Two states that are hardly ever left: what was seen by the time the work is spent is a lower bound of what more work finds.
    #[test]
    fn galloping_ends_when_its_work_is_spent() {
        let mdp = Mdp::from_fn(2, 1, |s, _, next| {
            next.extend([(s, 1.0 - 1e-9), (1 - s, 1e-9)]);
            true
        })
        .unwrap();
        let chain = mdp.chain(&Policy::uniform(&mdp));
        let with = |gallop: f64| {
            let search = Search {
                chain: &chain,
                d: &[0.5, 0.5],
                norm: MixingNorm::TotalVariation,
                threshold: 0.25,
                gallop,
            };
            search.from(1)
        };
        let MixingTime::Exact(exact) = with(GALLOP) else {
            panic!("{:?}", with(GALLOP));
        };
        // (1 - 2e-9)^t <= 1/2
        assert!(
            (exact as f64 / (0.5e9 * 2f64.ln()) - 1.0).abs() < 1e-6,
            "{exact}"
        );
        let MixingTime::LowerBound(seen) = with(100.0) else {
            panic!("{:?}", with(100.0));
        };
        assert!(1 < seen && seen < exact, "{seen}");
    }
}
