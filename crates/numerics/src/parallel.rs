//! Loops over long vectors on all threads, with results that do not depend on how many there are.
//!
//! Work is cut into chunks of fixed size; sums add the chunks' sums in order. Short vectors
//! stay on the calling thread.

use std::sync::Mutex;

/// Vectors shorter than this are not shared: waking the threads would take as long as the loop,
/// some ten microseconds.
const SHORT: usize = 1 << 15;
/// Entries that one thread takes at a time: the shortest vectors that are shared have four chunks.
const CHUNK: usize = 1 << 13;
/// Rows, columns and blocks take a loop each: fewer of them are worth sharing, in smaller tasks.
const FEW_ROWS: usize = 1 << 12;
const ROWS: usize = 1 << 9;

/// Calls `f` for every item, on this thread and on others as they wake up. (With an iterator of
/// rayon's this thread would go to sleep for each short loop, as it is no member of the pool.)
pub fn share<T: Send>(items: impl ExactSizeIterator<Item = T> + Send, f: impl Fn(T) + Sync) {
    let helpers = rayon::current_num_threads().min(items.len());
    let items = Mutex::new(items);
    let next = || items.lock().ok().and_then(|mut items| items.next());
    let work = || {
        while let Some(item) = next() {
            f(item);
        }
    };
    rayon::in_place_scope(|scope| {
        (1..helpers).for_each(|_| scope.spawn(|_| work()));
        work();
    });
}

/// Calls `run(from, part)` for parts of `out` of the given size, the first of which is entry
/// `from`; one call for all where `out` is `short`.
fn cut(out: &mut [f64], (short, size): (usize, usize), run: impl Fn(usize, &mut [f64]) + Sync) {
    if out.len() < short {
        return run(0, out);
    }
    share(out.chunks_mut(size).enumerate(), |(c, part)| {
        run(c * size, part)
    });
}

/// What `run(from, to)` finds in parts of `0..n`, joined in order.
fn joined(
    n: usize,
    start: f64,
    run: impl Fn(usize, usize) -> f64 + Sync,
    join: impl Fn(f64, f64) -> f64,
) -> f64 {
    if n < SHORT {
        return run(0, n);
    }
    let mut parts = vec![0.0; n.div_ceil(CHUNK)];
    share(parts.iter_mut().enumerate(), |(c, part)| {
        *part = run(c * CHUNK, ((c + 1) * CHUNK).min(n));
    });
    parts.into_iter().fold(start, join)
}

/// `out[i] = f(i, out[i])` for every `i`.
pub fn update(out: &mut [f64], f: impl Fn(usize, f64) -> f64 + Sync) {
    cut(out, (SHORT, CHUNK), |from, part| {
        for (i, x) in (from..).zip(part) {
            *x = f(i, *x);
        }
    });
}

/// `out[i] = f(i)` for every `i`, where each takes a loop over a row or a column.
pub fn gather(out: &mut [f64], f: impl Fn(usize) -> f64 + Sync) {
    cut(out, (FEW_ROWS, ROWS), |from, part| {
        for (i, x) in (from..).zip(part) {
            *x = f(i);
        }
    });
}

/// $\sum_{i < n} f(i)$.
pub fn sum(n: usize, f: impl Fn(usize) -> f64 + Sync) -> f64 {
    joined(n, 0.0, |from, to| (from..to).map(&f).sum(), |x, y| x + y)
}

/// Numbers that are folded side by side, so that the processor need not wait for one result before
/// it begins the next.
const LANES: usize = 8;

/// `out[i] = f(out[i], [a[i], b[i], ...])` for every `i` and input vectors of the same length.
pub fn map<const N: usize>(
    out: &mut [f64],
    inputs: [&[f64]; N],
    f: impl Fn(f64, [f64; N]) -> f64 + Sync,
) {
    cut(out, (SHORT, CHUNK), |from, out| {
        let n = out.len();
        // with all lengths known to be equal the loop has no checks in it
        let inputs = inputs.map(|v| &v[from..from + n]);
        for i in 0..n {
            out[i] = f(out[i], std::array::from_fn(|k| inputs[k][i]));
        }
    });
}

/// Folds `[a[i], b[i], ...]` for every `i` into `start`, which `join` leaves as it is, in lanes and
/// chunks that are joined in order.
pub fn fold<const N: usize>(
    inputs: [&[f64]; N],
    start: f64,
    fold: impl Fn(f64, [f64; N]) -> f64 + Sync,
    join: impl Fn(f64, f64) -> f64 + Sync,
) -> f64 {
    let run = |from: usize, to: usize| {
        let inputs = inputs.map(|v| &v[from..to]);
        let mut lanes = [start; LANES];
        let whole = (to - from) / LANES * LANES;
        for i in (0..whole).step_by(LANES) {
            for (lane, x) in lanes.iter_mut().enumerate() {
                *x = fold(*x, std::array::from_fn(|k| inputs[k][i + lane]));
            }
        }
        for i in whole..to - from {
            let x = &mut lanes[i - whole];
            *x = fold(*x, std::array::from_fn(|k| inputs[k][i]));
        }
        lanes.into_iter().fold(start, &join)
    };
    joined(inputs[0].len(), start, run, &join)
}

/// $\sum_i a_i b_i$.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    fold([a, b], 0.0, |sum, [a, b]| sum + a * b, |x, y| x + y)
}

/// $\sum_i a_i$.
pub fn total(a: &[f64]) -> f64 {
    fold([a], 0.0, |sum, [a]| sum + a, |x, y| x + y)
}

/// $y \leftarrow y + c\, x$.
pub fn add(y: &mut [f64], c: f64, x: &[f64]) {
    map(y, [x], |y, [x]| y + c * x);
}

/// $\max_i |a_i b_i|$; not a number if one of them is none.
pub fn largest_product(a: &[f64], b: &[f64]) -> f64 {
    fold([a, b], 0.0, |most, [a, b]| larger(most, a * b), larger)
}

/// $\max_i |a_i|$; not a number if one of them is none.
pub fn largest(a: &[f64]) -> f64 {
    fold([a], 0.0, |most, [a]| larger(most, a), larger)
}

/// The larger size; what is no number stays.
fn larger(most: f64, x: f64) -> f64 {
    let x = x.abs();
    if x > most || x.is_nan() { x } else { most }
}

/// Calls `f(block, part)` for every block of a vector whose blocks begin at `first` (one more
/// entry than blocks): the pairs of each state.
pub fn blocks(first: &[usize], out: &mut [f64], f: impl Fn(usize, &mut [f64]) + Sync) {
    // numbers of nothing take no room
    blocks_to(&mut vec![(); first.len() - 1], first, out, f);
}

/// The same, with what `f` returns for each block written to `results`.
pub fn blocks_to<T: Send>(
    results: &mut [T],
    first: &[usize],
    out: &mut [f64],
    f: impl Fn(usize, &mut [f64]) -> T + Sync,
) {
    let n = results.len();
    let run = |from: usize, results: &mut [T], part: &mut [f64]| {
        let base = first[from];
        for (b, result) in (from..).zip(results) {
            *result = f(b, &mut part[first[b] - base..first[b + 1] - base]);
        }
    };
    if n < FEW_ROWS && out.len() < SHORT {
        return run(0, results, out);
    }
    let mut tasks = Vec::with_capacity(n / ROWS + out.len() / CHUNK + 1);
    let (mut rest, mut from) = ((results, out), 0);
    while from < n {
        let mut to = from + 1;
        while to < (from + ROWS).min(n) && first[to] - first[from] < CHUNK {
            to += 1;
        }
        let (results, later) = rest.0.split_at_mut(to - from);
        let (part, after) = rest.1.split_at_mut(first[to] - first[from]);
        tasks.push((from, results, part));
        (rest, from) = ((later, after), to);
    }
    share(tasks.into_iter(), |(from, results, part)| {
        run(from, results, part)
    });
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
                let shifted: Vec<f64> = (0..n).map(|i| value(i + 7)).collect();
                map(&mut x, [&shifted], |x, [y]| x - y);
                (sum(n, |i| x[i]) + dot(&x, &shifted), x)
            })
        };
        let (one, x) = run(1);
        let (three, y) = run(3);
        assert_eq!(one.to_bits(), three.to_bits());
        let plain: f64 = x.iter().map(|x| x.abs()).fold(0.0, f64::max);
        assert!((largest(&x) - plain).abs() < 1e-300);
        assert!(largest(&[1.0, f64::NAN, 2.0]).is_nan());
        assert_eq!(x, y);
        assert!((x[4] - (value(4) + value(5) - value(11))).abs() < 1e-15);
    }
}
