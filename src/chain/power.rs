//! Stationary distributions by products alone, for chains too large and too tangled for
//! elimination.
//!
//! Power iteration $x \leftarrow M^\top x$ (on the lazy chain $\frac12(I + M)$ where the
//! chain is periodic), and, where that is slow, restarted Arnoldi. Chains that tangle enough
//! to defeat sparse elimination are expanders, and those mix in a few dozen steps.

use super::krylov::{self, Effort};
use crate::model::Kernel;

/// Products after which the rate of convergence is judged.
const TRIAL: usize = 60;
/// Products that a promising iteration may take in all.
const PATIENCE: usize = 600;
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
