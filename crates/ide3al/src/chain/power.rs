//! Stationary distributions by products alone, for chains too large and too tangled for
//! elimination.
//!
//! Power iteration $x \leftarrow M^\top x$ (on the lazy chain $\frac12(I + M)$ where the
//! chain is periodic), and, where that is slow, restarted Arnoldi. Chains that tangle enough
//! to defeat sparse elimination are expanders, and those mix in a few dozen steps.

use super::classes::Classes;
use super::krylov::{self, Effort};
use super::stationary::RESIDUAL_TOLERANCE;
use crate::model::Kernel;

/// Products after which the rate of convergence is judged.
const TRIAL: usize = 60;
/// Products that a promising iteration may take in all.
const PATIENCE: usize = 600;
/// Products that a chain which mixes fast may take: each takes off an eighth of what is left at
/// least.
const FAST: usize = 200;
/// How often in the long run a transition has to be seen per step for a part that is left by it to
/// be felt: at a share of the mass of this, too much or too little of it moves a thousand times
/// what counts as converged.
const SEEN: f64 = 1e3 * RESIDUAL_TOLERANCE;
/// $\lVert x - M^\top x \rVert_1$ aimed at; rounding rarely allows less.
const TARGET: f64 = 1e-14;

/// $x \mapsto M^\top x$ with the transpose at hand, in parallel.
pub(crate) struct Forward<'a> {
    transpose: Kernel,
    spread: &'a [f64],
}

impl<'a> Forward<'a> {
    pub(crate) fn new(kernel: &'a Kernel) -> Self {
        Forward {
            transpose: kernel.transpose(),
            spread: kernel.spread(),
        }
    }

    pub(crate) fn apply(&self, x: &[f64], out: &mut [f64]) {
        self.transpose.times(x, out);
        if !self.spread.is_empty() {
            let share = krylov::dot(self.spread, x) / x.len() as f64;
            out.iter_mut().for_each(|v| *v += share);
        }
    }
}

/// A distribution and how far one step moves it in the sum of absolute differences.
pub(crate) struct Approximation {
    pub(crate) x: Vec<f64>,
    pub(crate) change: f64,
}

/// Power iteration from the uniform distribution. Gives up after a trial when the rate seen
/// promises no convergence within patience.
pub(crate) fn power(forward: &Forward<'_>, n: usize, lazy: bool) -> Approximation {
    polish(forward, vec![1.0 / n as f64; n], lazy, TRIAL, PATIENCE)
}

/// The stationary distribution of a chain without uniform shares that clearly mixes fast, by power
/// iteration; nothing for any other.
///
/// A part that is hardly ever left may hold too much or too little without moving by more than one
/// can feel in a step. So it begins with very uneven parts, wherever they lie, and counts only
/// where one can come from every state to every other by transitions of which each is seen often
/// enough.
pub(crate) fn of_fast_chain(kernel: &Kernel) -> Option<Vec<f64>> {
    if kernel.has_spread() {
        return None;
    }
    let n = kernel.n_rows();
    let forward = Forward::new(kernel);
    let mut start: Vec<f64> = (0..n).map(|s| (s + 1) as f64 * scattered(s)).collect();
    super::gth::normalise(&mut start);
    let found = polish(&forward, start, false, TRIAL, FAST);
    if !(found.change <= RESIDUAL_TOLERANCE) {
        return None;
    }
    let mut flows = kernel.values().to_vec();
    for (s, w) in kernel.offsets().windows(2).enumerate() {
        for p in &mut flows[w[0]..w[1]] {
            *p = if found.x[s] * *p < SEEN { 0.0 } else { *p };
        }
    }
    let (offsets, indices) = (kernel.offsets().to_vec(), kernel.indices().to_vec());
    let seen = Kernel::from_raw(n, offsets, indices, flows, Vec::new());
    Classes::of_kernel(&seen)
        .is_irreducible()
        .then_some(found.x)
}

/// A number between a half and one and a half that has nothing to do with its neighbours' (the
/// finaliser of Murmur3).
fn scattered(s: usize) -> f64 {
    let mut x = (s as u64).wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ (x >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
    x = (x ^ (x >> 33)).wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    0.5 + ((x ^ (x >> 33)) >> 11) as f64 / (1u64 << 53) as f64
}

fn polish(
    forward: &Forward<'_>,
    mut x: Vec<f64>,
    lazy: bool,
    trial: usize,
    patience: usize,
) -> Approximation {
    let mut next = vec![0.0; x.len()];
    let mut change = f64::INFINITY;
    let mut reference = f64::INFINITY;
    let mut best = f64::INFINITY;
    for round in 0..patience {
        forward.apply(&x, &mut next);
        change = x.iter().zip(&next).map(|(a, b)| (a - b).abs()).sum();
        if change <= TARGET {
            return Approximation { x, change };
        }
        if lazy {
            next.iter_mut()
                .zip(&x)
                .for_each(|(b, a)| *b = 0.5 * (*b + a));
        }
        std::mem::swap(&mut x, &mut next);
        let sum: f64 = x.iter().sum();
        x.iter_mut().for_each(|v| *v /= sum);
        if round + 10 == trial {
            reference = change;
        }
        if round >= trial && round % 10 == 0 {
            // ten steps brought the change from `reference` to `change`
            let rate = change / reference;
            let needed = 10.0 * (change / TARGET).ln() / -rate.ln();
            let stalled = change >= 0.9 * best;
            if change <= 1e-13 && stalled {
                break;
            }
            if rate >= 1.0 || needed > (patience - round) as f64 {
                break;
            }
            reference = change;
            best = best.min(change);
        }
    }
    forward.apply(&x, &mut next);
    change = change.min(x.iter().zip(&next).map(|(a, b)| (a - b).abs()).sum());
    Approximation { x, change }
}

/// Restarted Arnoldi for the eigenvector at one, from what power iteration left; always on
/// the lazy chain, whose other eigenvalues have modulus below one.
pub(crate) fn arnoldi(forward: &Forward<'_>, from: Approximation) -> Approximation {
    let n = from.x.len();
    let basis = if n > 200_000 { 24 } else { 60 };
    let effort = Effort {
        basis,
        keep: basis / 3,
        tolerance: 1e-16,
        products: 2_000,
    };
    let mut apply = |x: &[f64], out: &mut [f64]| {
        forward.apply(x, out);
        out.iter_mut().zip(x).for_each(|(o, v)| *o = 0.5 * (*o + v));
    };
    // the tolerance is on a unit vector; ours has unit sum, which is longer by sqrt(n) at most
    let Some(pair) = krylov::dominant(&mut apply, from.x.clone(), effort) else {
        return from;
    };
    let sum: f64 = pair.vector_re.iter().sum();
    let mut x: Vec<f64> = pair.vector_re.iter().map(|v| (v / sum).max(0.0)).collect();
    if !x.iter().all(|v| v.is_finite()) {
        return from;
    }
    super::gth::normalise(&mut x);
    let polished = polish(forward, x, true, 20, 200);
    if polished.change < from.change {
        polished
    } else {
        from
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::Chain;
    use crate::chain::stationary::{long_run, long_run_for_sums};

    /// Two parts that mix at once within themselves, and from one to the other by a link of some
    /// `faintness` that is a little stronger one way: iteration is not to take their even start for
    /// the end.
    fn parts(faintness: f64) -> Chain {
        let n = 300;
        let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for s in 0..n {
            let part = s / 150;
            let uneven = if part == 1 { 0.6 } else { 0.0 };
            let link = faintness * (1.0 + 1e-3 * part as f64);
            let mut row: Vec<(u32, f64)> = (0..40)
                .map(|k| ((part * 150 + (7 * s + 11 * k) % 150) as u32, 1.0 / 40.0))
                .collect();
            row.iter_mut()
                .for_each(|x| x.1 *= (1.0 - uneven) * (1.0 - link));
            row.push((part as u32 * 150, uneven * (1.0 - link)));
            row.push((((1 - part) * 150 + s % 150) as u32, link));
            row.sort_by_key(|x| x.0);
            for same in row.chunk_by(|a, b| a.0 == b.0) {
                indices.push(same[0].0);
                values.push(same.iter().map(|x| x.1).sum());
            }
            offsets.push(indices.len());
        }
        let kernel = Kernel::from_raw(n, offsets, indices, values, Vec::new());
        Chain::from_parts(kernel, vec![1.0 / n as f64; n])
    }

    #[test]
    fn parts_that_are_hardly_left_are_not_taken_for_settled() {
        for faintness in [1e-13, 1e-11, 1e-9, 1e-7, 1e-5, 1e-3, 0.3] {
            let chain = parts(faintness);
            let (exact, quick) = (long_run(&chain), long_run_for_sums(&chain));
            let apart = exact.distribution.iter().zip(&quick.distribution);
            let apart: f64 = apart.map(|(a, b)| (a - b).abs()).sum();
            assert!(apart < 1e-10, "{faintness}: {apart}");
            assert_eq!(of_fast_chain(chain.kernel()).is_some(), faintness > 0.1);
        }
    }
}
