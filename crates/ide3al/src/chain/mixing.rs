//! How long a chain takes to forget where it started.
//!
//! $$t_{\text{mix}}(\varepsilon) = \min\{ t \ge 0 : \max_x \lVert M^t(x, \cdot) - d \rVert \le \varepsilon \}$$
//!
//! in total variation (half the sum of absolute differences, the default with
//! $\varepsilon = 1/4$) or in the paper's infinity norm (the largest difference). Row $x$ of
//! $M^{t+1}$ is a mixture of rows of $M^t$ and $d$ does not move, so the maximum over start
//! states never increases in either norm, which is what makes searching for $t$ legitimate.
//!
//! A few promising start states are followed first: the largest time at which one of them is still
//! too far, plus one, is a lower bound. Then all are looked at: where a chain mixes fast each is
//! followed, where it mixes slowly its slow part (`slow_part.rs`) tells where they are at any later
//! time (`slow_mixing.rs`). The answer is exact but for rounding. Where both would take too long
//! the lower bound is returned, and named as one.

use rayon::prelude::*;

use super::Chain;
use super::block::{Block, BothWays, LANES};
use super::entropy::least_visited;
use super::slow_mixing;
use super::spectrum::SecondEigenvalue;
use super::stationary::LongRun;

/// Multiplications for following promising starts: less than half a second's work.
const FOLLOW: usize = 1_200_000_000;
/// Multiplications for following all of them: a second's work, or some ten up to so many states.
const FOLLOW_ALL: f64 = 3e9;
const FOLLOW_ALL_SMALL: f64 = 3e10;
const MOST_STATES: usize = 3_000;
/// Chains that take at least so many steps are asked for their slow part first.
const SLOW: u64 = 128;
/// So many times the steps after which promising starts are near, and a few, are taken by those
/// that are not.
const LONGER: u64 = 4;
const FEW: u64 = 64;

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

    /// How far two distributions that differ by so much are from each other.
    pub(super) fn size(self, differences: impl Iterator<Item = f64>) -> f64 {
        let sizes = differences.map(f64::abs);
        match self {
            MixingNorm::TotalVariation => 0.5 * sizes.sum::<f64>(),
            MixingNorm::Infinity => sizes.fold(0.0, f64::max),
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
    with_second_eigenvalue(chain, long_run, norm, threshold).0
}

/// The same, with the second eigenvalue where it is found on the way.
pub(super) fn with_second_eigenvalue(
    chain: &Chain,
    long_run: &LongRun,
    norm: MixingNorm,
    threshold: f64,
) -> (MixingTime, Option<SecondEigenvalue>) {
    if !long_run.classes.is_mixing() {
        return (MixingTime::Infinite, None);
    }
    let search = Search {
        chain,
        both: &BothWays::new(chain.kernel()),
        d: &long_run.distribution,
        norm,
        threshold,
    };
    let most = if chain.n_states() <= MOST_STATES {
        FOLLOW_ALL_SMALL
    } else {
        FOLLOW_ALL
    };
    let mut bound = search.lower_bound();
    loop {
        if bound >= SLOW
            && let Some((time, second)) =
                slow_mixing::mixing_time(search.both, search.d, (norm, threshold), bound)
        {
            return (time, second);
        }
        if search.work_of_all(bound) > most {
            return (MixingTime::LowerBound(bound), None);
        }
        match search.all_starts(bound) {
            Ok(exact) => return (MixingTime::Exact(exact), None),
            Err(reached) => bound = reached,
        }
    }
}

struct Search<'a> {
    chain: &'a Chain,
    both: &'a BothWays<'a>,
    d: &'a [f64],
    norm: MixingNorm,
    threshold: f64,
}

impl Search<'_> {
    /// Follows promising start states until they are near or the work is spent.
    fn lower_bound(&self) -> u64 {
        let n = self.chain.n_states();
        let starts = self.promising();
        // no more than following all of them would take
        let work = FOLLOW.min(4 * n * n * n + 100_000);
        let steps = (work / self.both.work()).clamp(4, 200_000) as u64;
        let mut now = self.differences(starts.iter().copied());
        let mut room = now.clone();
        let (mut bound, mut near) = (0, 0);
        for t in 0..steps {
            if self.farthest(&now) > self.threshold {
                bound = t + 1;
                near = 0;
            } else {
                // one start's infinity norm may rise again for a while
                near += 1;
                if self.norm == MixingNorm::TotalVariation || near > 3 {
                    break;
                }
            }
            self.both.differences(1, self.d, &mut now, &mut room);
        }
        bound
    }

    /// What starting in some states differs by from the long run, each in a place of its own.
    fn differences(&self, starts: impl Iterator<Item = usize>) -> Block {
        let mut block: Block = vec![[0.0; LANES]; self.d.len()];
        for (place, start) in starts.enumerate().take(LANES) {
            block
                .iter_mut()
                .zip(self.d)
                .for_each(|(x, d)| x[place] = -d);
            block[start][place] += 1.0;
        }
        block
    }

    /// The size of the largest differences of a block.
    fn farthest(&self, block: &Block) -> f64 {
        let size = |place: usize| self.norm.size(block.iter().map(|x| x[place]));
        (0..LANES).map(size).fold(0.0, f64::max)
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

    /// Multiplications of following all starts for so many steps.
    fn work_of_all(&self, steps: u64) -> f64 {
        let blocks = self.d.len().div_ceil(LANES);
        (blocks * self.both.work()) as f64 * steps as f64
    }

    /// The exact time, known to be at least `bound`, from all starts; where some take far longer, a
    /// larger bound.
    fn all_starts(&self, bound: u64) -> Result<u64, u64> {
        let blocks = (0..self.d.len()).into_par_iter().step_by(LANES);
        let times = blocks.map(|first| self.near_from(first, bound));
        let (time, over) = times.reduce(|| (bound, false), |a, b| (a.0.max(b.0), a.1 | b.1));
        if over {
            return Err(time);
        }
        if time > bound && self.norm != MixingNorm::TotalVariation {
            // those that were near at the bound may have moved off again
            return self.all_starts(time);
        }
        Ok(time)
    }

    /// The time from which on some starts are near, looked at up to `bound` and as long as they are
    /// not; whether they still were not when that took far longer.
    fn near_from(&self, first: usize, bound: u64) -> (u64, bool) {
        let mut now = self.differences(first..self.d.len());
        let mut room = now.clone();
        let (mut t, mut near_from) = (0, 0);
        loop {
            let far = self.farthest(&now) > self.threshold;
            if far {
                near_from = t + 1;
            }
            // in total variation what is near stays near
            if !far && (t >= bound || self.norm == MixingNorm::TotalVariation) {
                return (near_from, false);
            }
            if t >= LONGER * bound + FEW {
                return (near_from, true);
            }
            self.both.differences(1, self.d, &mut now, &mut room);
            t += 1;
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::chain::spectrum::second_eigenvalue;
    use crate::chain::stationary::long_run;

    /// A walk along a path that stays put most of the time, drifts, and now and then jumps
    /// anywhere.
    fn path(n: usize, up: f64, jump: f64) -> Chain {
        let mut entries = Vec::new();
        for s in 0..n {
            let (down, up) = (0.3 * (1.0 - jump), up * (1.0 - jump));
            entries.push((s, s.saturating_sub(1), down));
            entries.push((s, (s + 1).min(n - 1), up));
            entries.push((s, s, 1.0 - jump - down - up));
        }
        Chain::from_entries(n, &entries, vec![jump; n])
    }

    /// The slow part tells the same times as following every start, in both norms, with uniform
    /// rows and without.
    #[test]
    fn slow_part_and_all_starts_agree() {
        for (n, up, jump) in [
            (9, 0.3, 0.0),
            (70, 0.3, 0.0),
            (150, 0.32, 0.0),
            (90, 0.25, 1e-3),
        ] {
            let chain = path(n, up, jump);
            let found = long_run(&chain);
            let both = BothWays::new(chain.kernel());
            for (norm, threshold) in [
                (MixingNorm::TotalVariation, 0.25),
                (MixingNorm::TotalVariation, 1e-3),
                (MixingNorm::Infinity, 1e-2),
            ] {
                let search = Search {
                    chain: &chain,
                    both: &both,
                    d: &found.distribution,
                    norm,
                    threshold,
                };
                let mut bound = 1;
                let exact = loop {
                    match search.all_starts(bound) {
                        Ok(exact) => break exact,
                        Err(reached) => bound = reached,
                    }
                };
                let (early, norm) = (exact / 3, (norm, threshold));
                let slow = slow_mixing::mixing_time(&both, search.d, norm, early);
                let (time, second) = slow.unwrap();
                assert_eq!(time, MixingTime::Exact(exact), "{n} {norm:?}");
                let (second, other) = (second.unwrap(), second_eigenvalue(&chain, &found));
                let apart = (second.modulus - other.modulus).abs();
                assert!(apart <= second.error + other.error, "{second:?} {other:?}");
                assert!(second.error < 1e-13, "{second:?}");
                assert!(search.lower_bound() <= exact);
            }
        }
    }

    /// Two states that are hardly ever left: rounding hides when, and what was seen is a bound.
    #[test]
    fn what_rounding_hides_is_bounded_from_below() {
        let time = |leave: f64| {
            let stay = 1.0 - leave;
            let entries = [(0, 0, stay), (0, 1, leave), (1, 1, stay), (1, 0, leave)];
            let chain = Chain::from_entries(2, &entries, vec![]);
            mixing_time(&chain, &long_run(&chain), MixingNorm::TotalVariation, 0.25)
        };
        // (1 - 2 leave)^t <= 1/2
        let MixingTime::Exact(exact) = time(1e-8) else {
            panic!("{:?}", time(1e-8));
        };
        let expected = 0.5e8 * 2f64.ln();
        assert!((exact as f64 / expected - 1.0).abs() < 1e-6, "{exact}");
        let MixingTime::LowerBound(seen) = time(1e-15) else {
            panic!("{:?}", time(1e-15));
        };
        assert!(
            seen > 1_000_000 && (seen as f64) < 0.5e15 * 2f64.ln(),
            "{seen}"
        );
    }

    /// Two pairs of states with next to nothing between them: nothing to be seen but that it takes
    /// long.
    #[test]
    fn parts_that_hardly_hang_together_end_with_a_bound() {
        for link in [1e-22, 1e-30, 1e-300] {
            let entries = [
                (0, 0, 0.5),
                (0, 1, 0.5),
                (1, 0, 0.5),
                (1, 1, 0.5),
                (1, 2, link),
                (2, 1, link),
                (2, 2, 0.5),
                (2, 3, 0.5),
                (3, 2, 0.5),
                (3, 3, 0.5),
            ];
            let chain = Chain::from_entries(4, &entries, vec![]);
            let time = mixing_time(&chain, &long_run(&chain), MixingNorm::TotalVariation, 0.25);
            let MixingTime::LowerBound(seen) = time else {
                panic!("{time:?}");
            };
            assert!(seen > 1_000_000, "{seen}");
        }
    }

    /// Differences keep their digits however small they are: the distance of two states left with a
    /// quarter is half of $2^{-t}$.
    #[test]
    fn thresholds_below_rounding() {
        let entries = [(0, 0, 0.75), (0, 1, 0.25), (1, 1, 0.75), (1, 0, 0.25)];
        let chain = Chain::from_entries(2, &entries, vec![]);
        let found = long_run(&chain);
        for threshold in [1e-3f64, 1e-17, 1e-100, 1e-300] {
            let expected = (0.5 / threshold).log2().ceil() as u64;
            let time = mixing_time(&chain, &found, MixingNorm::TotalVariation, threshold);
            assert_eq!(time, MixingTime::Exact(expected), "{threshold}");
        }
    }

    /// A ring with a drift: $\lambda_k = 0.0001 + 0.9 e^{i\theta} + 0.0999 e^{-i\theta}$,
    /// $\theta = 2 \pi k / 150$. At $k = 75$ it is $-0.9998$, which following one vector misses for
    /// others near by.
    #[test]
    fn a_ring_with_a_drift() {
        let n = 150;
        let mut entries = Vec::new();
        for s in 0..n {
            entries.push((s, (s + 1) % n, 0.9));
            entries.push((s, (s + n - 1) % n, 0.0999));
            entries.push((s, s, 0.0001));
        }
        let chain = Chain::from_entries(n, &entries, vec![]);
        let (norm, found) = (MixingNorm::TotalVariation, long_run(&chain));
        let (time, second) = with_second_eigenvalue(&chain, &found, norm, 0.25);
        let second = second.unwrap();
        let apart = (second.modulus - 0.9998).abs();
        assert!(apart <= second.error && second.error < 1e-13, "{second:?}");
        // t such that the two eigenvalues next to it leave a quarter
        assert!(matches!(time, MixingTime::Exact(4_000..4_500)), "{time:?}");
    }
}
