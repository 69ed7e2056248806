//! The mixing time of a chain that mixes slowly, from its [slow part](super::slow_part).
//!
//! With $E_{ks} = Q (BQ)^{k-1} B$ the distances of all starts at any multiple of $s$ steps are the sizes of the rows of a product. The
//! last multiple at which some start is too far is found by galloping and bisection, starts that are near once being left out; from there the start
//! that is farthest is followed step by step until it is near, then the one that is farthest at that time, until none is too far.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use rayon::prelude::*;

use super::block::{Block, BothWays};
use super::mixing::{MixingNorm, MixingTime};
use super::slow_part::SlowPart;
use super::spectrum::{self, SecondEigenvalue};

/// Largest chain whose starts are all looked at: a look takes up to three billion multiplications, and there are some twenty.
const MOST_STATES: usize = 5_000;
/// What may be missing of a distance, as a share of the one that counts as mixed: a mixing time is then exact to so many digits, and to the step where
/// it has no more.
const MISSED: f64 = 1e-6;
/// Starts followed one after the other to the time at which all are near: mostly it is one.
const MOST_FOLLOWED: usize = 20;
/// Starts of one parallel task, fixed.
const STARTS: usize = 64;

/// The mixing time, known to be at least `bound`, and the second eigenvalue where that can be told, too; nothing where there are too many states, or
/// the slow part cannot be had. A time beyond what can be told from rounding is bounded from below.
pub(super) fn mixing_time(
    chain: &BothWays<'_>,
    d: &[f64],
    (norm, threshold): (MixingNorm, f64),
    bound: u64,
) -> Option<(MixingTime, Option<SecondEigenvalue>)> {
    if d.len() > MOST_STATES {
        return None;
    }
    let slow = SlowPart::new(chain, d, bound)?;
    let right = slow.right();
    let core = right.transpose() * &slow.left;
    let second = spectrum::of_power(&core, slow.steps, slow.error);
    let time = from(slow, (right, core), d.len(), (norm, threshold), bound)?;
    Some((time, second))
}

/// The mixing time from the slow part, its $B^\top$ and its $B Q$.
fn from(
    mut slow: SlowPart<'_>,
    (right, core): (Mat<f64>, Mat<f64>),
    n: usize,
    (norm, threshold): (MixingNorm, f64),
    bound: u64,
) -> Option<MixingTime> {
    let mut far = Far {
        norm,
        threshold,
        left: Mat::new(),
    };
    let mut t = slow.steps;
    if !far.keep(&slow.left, &right) {
        // all are near, and a step before the bound some start was not
        return (t == bound).then_some(MixingTime::Exact(t));
    }
    // each multiple of the steps adds what is missing once more; a row's sum of n numbers is at most √n times its length
    let missed = (n as f64).sqrt() * slow.error / slow.steps as f64;
    let beyond = |t: u64| !(missed * t as f64 <= MISSED * threshold);
    if beyond(t) {
        return None;
    }
    // strides of 1, 2, 4, ... times the steps of the slow part while some start is still too far
    let mut strides = vec![core];
    loop {
        let j = strides.len() - 1;
        let next = t + (slow.steps << j);
        if beyond(next) {
            return Some(MixingTime::LowerBound(t + 1));
        }
        if !far.go(&strides[j], &right) {
            break;
        }
        t = next;
        let square = &strides[j] * &strides[j];
        strides.push(square);
    }
    strides.pop();
    for (j, stride) in strides.iter().enumerate().rev() {
        if far.go(stride, &right) {
            t += slow.steps << j;
        }
    }
    for _ in 0..MOST_FOLLOWED {
        let right = slow.right();
        let Some(farthest) = far.farthest(&right) else {
            return Some(MixingTime::Exact(t));
        };
        let differences = right * far.left.row(farthest).transpose();
        let later = far.follow(differences.iter().copied(), slow.chain);
        slow.advance(later);
        t += later;
    }
    Some(MixingTime::LowerBound(t))
}

/// The starts that may still be too far, by their rows $L$ of $E_t = L B$.
struct Far {
    norm: MixingNorm,
    threshold: f64,
    left: Mat<f64>,
}

impl Far {
    /// How far starts are: the sizes of the rows of $L B$, with $B^\top$ given.
    fn sizes(&self, left: &Mat<f64>, right: &Mat<f64>) -> Vec<f64> {
        let tasks = (0..left.nrows()).into_par_iter().step_by(STARTS);
        let sizes = tasks.map(|first| {
            let count = STARTS.min(left.nrows() - first);
            let rows: MatRef<'_, f64> = left.subrows(first, count);
            // a column for each start
            let mut product = Mat::<f64>::zeros(right.nrows(), count);
            let target = product.as_mut();
            matmul(
                target,
                Accum::Replace,
                right,
                rows.transpose(),
                1.0,
                Par::Seq,
            );
            let size = |start: faer::ColRef<'_, f64>| self.norm.size(start.iter().copied());
            product.col_iter().map(size).collect::<Vec<f64>>()
        });
        sizes.collect::<Vec<Vec<f64>>>().concat()
    }

    /// Takes over the rows of starts that are too far; false, and nothing is taken over, where there are none.
    fn keep(&mut self, left: &Mat<f64>, right: &Mat<f64>) -> bool {
        let sizes = self.sizes(left, right);
        if !sizes.iter().any(|x| *x > self.threshold) {
            return false;
        }
        // what is near in total variation stays near; in the other norm it may move off again
        let all = self.norm != MixingNorm::TotalVariation;
        let kept: Vec<usize> = (0..sizes.len())
            .filter(|i| all || sizes[*i] > self.threshold)
            .collect();
        self.left = Mat::from_fn(kept.len(), left.ncols(), |i, c| left[(kept[i], c)]);
        true
    }

    /// Goes on by a stride if some start is too far even then.
    fn go(&mut self, stride: &Mat<f64>, right: &Mat<f64>) -> bool {
        let left = &self.left * stride;
        self.keep(&left, right)
    }

    /// The start that is farthest, if it is too far.
    fn farthest(&self, right: &Mat<f64>) -> Option<usize> {
        let sizes = self.sizes(&self.left, right);
        let farthest = (0..sizes.len()).max_by(|a, b| sizes[*a].total_cmp(&sizes[*b]))?;
        (sizes[farthest] > self.threshold).then_some(farthest)
    }

    /// Steps until a start is near that is so far from the long run.
    fn follow(&self, differences: impl Iterator<Item = f64>, chain: &BothWays<'_>) -> u64 {
        // alone in its block
        let alone = |x| std::array::from_fn(|c| if c == 0 { x } else { 0.0 });
        let mut now: Block = differences.map(alone).collect();
        let mut room = now.clone();
        let mut steps = 0;
        while self.norm.size(now.iter().map(|x| x[0])) > self.threshold {
            chain.backward(1, &mut now, &mut room);
            steps += 1;
        }
        steps
    }
}
