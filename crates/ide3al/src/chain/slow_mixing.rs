//! The mixing time of a chain that mixes slowly, from its [slow part](super::slow_part).
//!
//! With $E_{ks} = Q (BQ)^{k-1} B$ the distances of all starts at any multiple of $s$ steps are the
//! sizes of the rows of a product. The last multiple at which some start is too far is found by
//! galloping and bisection, starts that are near once being left out; from there the start that is
//! farthest is followed step by step until it is near, then the one that is farthest at that time,
//! until none is too far.

use faer::linalg::matmul::matmul;
use faer::{Accum, Mat, MatRef, Par};
use rayon::prelude::*;

use super::block::{Block, BothWays};
use super::mixing::{MixingNorm, MixingTime};
use super::slow_part::SlowPart;
use super::spectrum::{self, SecondEigenvalue};

/// Largest chain whose starts are all looked at: a look takes up to three billion multiplications,
/// and there are some twenty.
const MOST_STATES: usize = 5_000;
/// What may be missing of a distance, as a share of it: a mixing time is then exact to so many
/// digits, and to the step where it has no more.
const MISSED: f64 = 1e-6;
/// Starts followed one after the other to the time at which all are near: mostly it is one.
const MOST_FOLLOWED: usize = 20;
/// Starts of one parallel task, fixed.
const STARTS: usize = 64;

/// The mixing time, known to be at least `bound`, and the second eigenvalue where that can be told,
/// too; nothing where there are too many states, or the slow part cannot be had. A time beyond what
/// can be told from rounding is bounded from below.
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
    let missing = slow.error * right.norm_l2();
    let second = spectrum::of_power(&core, slow.steps, missing);
    let far = Far {
        norm,
        threshold,
        left: Mat::new(),
    };
    let time = far.search(slow, &right, core, bound)?;
    Some((time, second))
}

/// The starts that may still be too far, by their rows $L$ of $E_t = L B$.
struct Far {
    norm: MixingNorm,
    threshold: f64,
    left: Mat<f64>,
}

impl Far {
    /// The mixing time from the slow part, its $B^\top$ and its $B Q$.
    fn search(
        mut self,
        mut slow: SlowPart<'_>,
        right: &Mat<f64>,
        core: Mat<f64>,
        bound: u64,
    ) -> Option<MixingTime> {
        let sizes = self.sizes(&slow.left, right);
        let first = sizes.iter().copied().fold(0.0, f64::max);
        // Each multiple of the steps adds what is missing once more, and each step its rounding, as
        // shares of what is left by then; a row's sum of n numbers is at most √n times its length.
        let missing = (right.nrows() as f64).sqrt() * slow.error / first;
        let per_step = missing / slow.steps as f64 + f64::EPSILON;
        let latest = MISSED / per_step;
        let within = |t: u64| t as f64 <= latest;
        let mut t = slow.steps;
        if !within(t) {
            return None;
        }
        if !self.keep(&slow.left, &sizes) {
            // all are near, and a step before the bound some start was not
            return (t == bound).then_some(MixingTime::Exact(t));
        }
        // strides of 1, 2, 4, ... times the steps of the slow part while some start is still too
        // far
        let mut strides = vec![core];
        loop {
            let j = strides.len() - 1;
            let next = t + (slow.steps << j);
            if !within(next) || !self.go(&strides[j], right) {
                break;
            }
            t = next;
            let square = &strides[j] * &strides[j];
            strides.push(square);
        }
        for (j, stride) in strides.iter().enumerate().rev() {
            let next = t + (slow.steps << j);
            if within(next) && self.go(stride, right) {
                t = next;
            }
        }
        if !within(t + slow.steps) {
            return Some(MixingTime::LowerBound(bound.max(t + 1)));
        }
        let mut reached = bound;
        for _ in 0..MOST_FOLLOWED {
            let right = slow.right();
            let Some(farthest) = self.farthest(&right) else {
                return Some(MixingTime::Exact(t));
            };
            reached = reached.max(t + 1);
            let differences = right * self.left.row(farthest).transpose();
            let later = self.follow(differences.iter().copied(), &slow);
            slow.advance(later);
            t += later;
        }
        Some(MixingTime::LowerBound(reached))
    }

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

    /// Takes over the rows of starts that are too far by their sizes; false, and nothing is taken
    /// over, where there are none.
    fn keep(&mut self, left: &Mat<f64>, sizes: &[f64]) -> bool {
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
        let sizes = self.sizes(&left, right);
        self.keep(&left, &sizes)
    }

    /// The start that is farthest, if it is too far.
    fn farthest(&self, right: &Mat<f64>) -> Option<usize> {
        let sizes = self.sizes(&self.left, right);
        let farthest = (0..sizes.len()).max_by(|a, b| sizes[*a].total_cmp(&sizes[*b]))?;
        (sizes[farthest] > self.threshold).then_some(farthest)
    }

    /// Steps until a start is near that is so far from the long run. It takes no more than those of
    /// the slow part, rounding apart.
    fn follow(&self, differences: impl Iterator<Item = f64>, slow: &SlowPart<'_>) -> u64 {
        // alone in its block
        let alone = |x| std::array::from_fn(|c| if c == 0 { x } else { 0.0 });
        let mut now: Block = differences.map(alone).collect();
        let mut room = now.clone();
        let mut steps = 0;
        while steps <= 2 * slow.steps && self.norm.size(now.iter().map(|x| x[0])) > self.threshold {
            slow.chain.differences(1, slow.d, &mut now, &mut room);
            steps += 1;
        }
        steps
    }
}
