//! Loops over long vectors on all threads, with results that do not depend on how many there are.
//!
//! Work is cut into chunks of fixed size; sums add the chunks' sums in order. Short vectors
//! stay on the calling thread.

use rayon::prelude::*;

/// Vectors shorter than this are not worth sharing.
const SHORT: usize = 1 << 15;
const CHUNK: usize = 1 << 13;
/// Rows, columns and blocks take a loop each: fewer of them are worth sharing, in smaller tasks.
const FEW_ROWS: usize = 1 << 12;
const ROWS: usize = 1 << 9;

/// `out[i] = f(i, out[i])` for every `i`.
pub(crate) fn update(out: &mut [f64], f: impl Fn(usize, f64) -> f64 + Sync) {
    if out.len() < SHORT {
        for (i, x) in out.iter_mut().enumerate() {
            *x = f(i, *x);
        }
        return;
    }
    out.par_chunks_mut(CHUNK)
        .enumerate()
        .for_each(|(c, chunk)| {
            for (k, x) in chunk.iter_mut().enumerate() {
                *x = f(c * CHUNK + k, *x);
            }
        });
}

/// $\sum_{i < n} f(i)$.
pub(crate) fn sum(n: usize, f: impl Fn(usize) -> f64 + Sync) -> f64 {
    if n < SHORT {
        return (0..n).map(f).sum();
    }
    let parts: Vec<f64> = (0..n.div_ceil(CHUNK))
        .into_par_iter()
        .map(|c| (c * CHUNK..((c + 1) * CHUNK).min(n)).map(&f).sum())
        .collect();
    parts.iter().sum()
}

/// `out[i] = f(i)` for every `i`, where each takes a loop over a row or a column.
pub(crate) fn gather(out: &mut [f64], f: impl Fn(usize) -> f64 + Sync) {
    let run = |(c, part): (usize, &mut [f64])| {
        for (k, x) in part.iter_mut().enumerate() {
            *x = f(c * ROWS + k);
        }
    };
    if out.len() < FEW_ROWS {
        run((0, out));
    } else {
        out.par_chunks_mut(ROWS).enumerate().for_each(run);
    }
}

/// Calls `f(block, part)` for every block of a vector whose blocks begin at `first` (one more
/// entry than blocks): the pairs of each state.
pub(crate) fn blocks(first: &[usize], out: &mut [f64], f: impl Fn(usize, &mut [f64]) + Sync) {
    let n = first.len() - 1;
    let run = |from: usize, to: usize, part: &mut [f64]| {
        let base = first[from];
        for b in from..to {
            f(b, &mut part[first[b] - base..first[b + 1] - base]);
        }
    };
    if n < FEW_ROWS {
        run(0, n, out);
        return;
    }
    let mut tasks = Vec::with_capacity(n / ROWS + 1);
    let mut rest = out;
    for from in (0..n).step_by(ROWS) {
        let to = (from + ROWS).min(n);
        let (part, after) = rest.split_at_mut(first[to] - first[from]);
        tasks.push((from, to, part));
        rest = after;
    }
    tasks
        .into_par_iter()
        .for_each(|(from, to, part)| run(from, to, part));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_vectors_give_the_same_bits_on_any_number_of_threads() {
        let n = 100_001;
        let value = |i: usize| ((i as f64) * 0.37).sin() / (i as f64 + 1.0);
        let run = |threads: usize| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
            pool.build().unwrap().install(|| {
                let mut x: Vec<f64> = (0..n).map(value).collect();
                update(&mut x, |i, old| old + value(i + 1));
                let first: Vec<usize> = (0..=n / 3).map(|b| 3 * b).collect();
                let end = 3 * (n / 3);
                blocks(&first, &mut x[..end], |b, part| {
                    part.iter_mut().for_each(|y| *y *= b as f64);
                });
                (sum(n, |i| x[i]), x)
            })
        };
        let (one, x) = run(1);
        let (three, y) = run(3);
        assert_eq!(one.to_bits(), three.to_bits());
        assert_eq!(x, y);
        assert!((x[4] - (value(4) + value(5))).abs() < 1e-15);
    }
}
