//! Policy iteration whose policies are evaluated only as well as pays.
//!
//! Sweeps over all pairs improve the policy, and each proves how good it is. Between them the
//! policy is followed (modified policy iteration) as long as that is expected to end soon: the rate
//! at which it has narrowed the bounds so far says how long it will take. Elsewhere, as with a
//! discount near one, the value of the policy is approached by BiCGSTAB after some sweeps. With
//! Bellman's optimality operator $T$ and $\delta = TV - V$ the optimal values and those of the
//! greedy policy both lie between
//! $TV + \frac{\gamma}{1-\gamma} \min \delta$ and $TV + \frac{\gamma}{1-\gamma} \max \delta$
//! (MacQueen's bounds); without a discount, on a model in which every state can be reached from
//! every other, its average reward and the largest lie between $\min \delta$ and $\max \delta$.
//! These hold whatever $V$ is. Where BiCGSTAB does not help, the policy is followed for some sweeps
//! whatever their rate, which always ends. Bounds may become wider for a while: a policy known
//! exactly may be far from the best.
//!
//! Reference: Puterman (1994), *Markov Decision Processes*, sections 6.4 to 6.6, 8.5 and 8.7.

use ide3al_numerics::parallel::largest;

use super::clock::Clock;
use super::evaluate::Evaluator;
use super::policy_rows::PolicyRows;
use super::sweep::{Change, Sweeper};
use crate::solve::Status;

/// Most steps that follow a policy before it is improved again, and the share of the span of the
/// changes at which that ends earlier. 30, 40 and 100 steps, and shares of 0.03 to 0.3, differ by a
/// twelfth in the geometric mean over 22 problems like those of `benches/peers/plan_peers.py`.
const STEPS: usize = 100;
const REDUCTION: f64 = 0.1;
/// Steps that a policy may still have to be followed for until the bounds are as narrow as wanted.
/// With a discount of 0.99 some 2,000 are enough, which took 0.7 s on a river swim of 100,000
/// states and 0.8 s on a grid with its reward in one state; BiCGSTAB took 0.1 s and 2.8 s (both
/// compiled with the profile `checked`). With 0.999 ten times as many may be needed.
const FOLLOWING: f64 = 3_000.0;
/// Sweeps that improve the policy before its value is approached: a better action moves on by one
/// state per sweep. With 1, 4, 8 and 32 of them an open grid of 100,000 states takes 2.1, 1.4, 1.0
/// and 1.1 s, a river swim 0.13, 0.12, 0.13 and 0.20 s (one thread, `benches/peers/plan_peers.py`).
const IMPROVEMENTS: usize = 8;
/// Steps that follow a policy where BiCGSTAB does not help.
const FOLLOWED: usize = 20;
/// Improvements in a row without a smaller width after which the iteration ends if the width is
/// within rounding, and after which it ends in any case. While the policy still changes the width
/// may stay above its first value for hundreds of improvements: with 400 a river swim of 20,000
/// states ends with a gap of 1e8 at a discount of 0.99999.
const STALLED_AT_ROUNDING: usize = 4;
const STALLED: usize = 10_000;

/// Where policy iteration ended.
pub(super) struct Iterated {
    /// $TV$ of the last sweep; without a discount, less the change of the first state.
    pub(super) values: Vec<f64>,
    /// The pair chosen in each state, greedy for $V$.
    pub(super) choice: Vec<u32>,
    /// Least and largest $\delta$.
    pub(super) change: Change,
    pub(super) status: Status,
}

/// Factor from the span of $\delta$ to the width of the bounds.
pub(super) fn width_factor(discount: f64) -> f64 {
    if discount < 1.0 {
        discount / (1.0 - discount)
    } else {
        1.0
    }
}

/// Iterates from `values` until the width of the bounds is at most `tolerance`, or `relative` times
/// the largest value.
pub(super) fn iterate(
    sweeper: Sweeper<'_>,
    mut values: Vec<f64>,
    (tolerance, relative): (f64, f64),
    clock: &mut Clock<'_>,
) -> Iterated {
    let n = values.len();
    let discounted = sweeper.discount < 1.0;
    let factor = width_factor(sweeper.discount);
    // a constant has no effect on the next sweep's span unless some values are fixed
    let shifts = discounted && !sweeper.ended.contains(&true);
    let mut choice = vec![u32::MAX; n];
    let mut next = vec![0.0; n];
    let mut evaluator = Evaluator::default();
    let mut rows = PolicyRows::default();
    // logarithm by which a step of following has narrowed the span; in the long run it is no less
    // than that of the discount
    let discount_rate = -sweeper.discount.ln();
    let mut rate = None;
    let (mut least, mut stale, mut improvements) = (f64::INFINITY, 0, 0);
    loop {
        let change = sweeper.improve(&values, &mut next, &mut choice);
        std::mem::swap(&mut values, &mut next);
        let middle = 0.5 * (change.least + change.most);
        let width = factor * change.span();
        let size = largest(&values);
        let wanted = tolerance.max(relative * size);
        let status = if width <= wanted {
            Some(Status::Optimal)
        } else if width < 0.9 * least {
            (least, stale) = (width, 0);
            None
        } else {
            stale += 1;
            let rounding = 64.0 * f64::EPSILON * size * factor;
            let ended = stale >= STALLED || (stale >= STALLED_AT_ROUNDING && width <= rounding);
            ended.then_some(Status::Stalled)
        };
        let alive = clock.tick(values[0], width);
        let status = status.or(if alive { None } else { clock.stopped });
        if let Some(status) = status {
            return Iterated {
                values,
                choice,
                change,
                status,
            };
        }
        if shifts {
            // the constant that the bounds suggest
            values.iter_mut().for_each(|v| *v += factor * middle);
        }
        let ends_soon = |rate: f64| (width / wanted).ln() <= FOLLOWING * rate;
        if discounted && rate.is_none_or(ends_soon) {
            rows.copy(&sweeper, &choice);
            let (mut taken, mut span) = (0, change.span());
            while taken < STEPS && span > REDUCTION * change.span() {
                span = rows.follow(&sweeper, &values, &mut next).span();
                std::mem::swap(&mut values, &mut next);
                taken += 1;
            }
            rate = Some(((change.span() / span).ln() / taken as f64).max(discount_rate));
            continue;
        }
        improvements += 1;
        if improvements % IMPROVEMENTS > 0 {
            continue;
        }
        next.copy_from_slice(&values);
        let (mut near, mut average) = (sweeper, 0.0);
        if !discounted {
            // as if discounted, by so little that it changes the span of the next sweep less than
            // what is left of it
            let ahead = (0.1 * width / spread(&values).max(width)).clamp(1e-12, 0.01);
            (near.discount, average) = (1.0 - ahead, middle);
        }
        if evaluator.approach(near, &mut choice, average, &mut next) {
            if !discounted {
                let first = next[0];
                next.iter_mut().for_each(|v| *v -= first);
            }
            std::mem::swap(&mut values, &mut next);
        } else {
            for _ in 0..FOLLOWED {
                let change = sweeper.follow(&values, &mut next, &mut choice);
                if discounted {
                    std::mem::swap(&mut values, &mut next);
                } else {
                    // half a step, so that periodic chains settle, too
                    let first = 0.5 * (change.least + change.most);
                    for (v, ahead) in values.iter_mut().zip(&next) {
                        *v += 0.5 * (ahead - *v - first);
                    }
                }
            }
        }
    }
}

/// Adds a constant to all values but those of ended states.
pub(super) fn shift(sweeper: &Sweeper<'_>, values: &mut [f64], by: f64) {
    for (v, ended) in values.iter_mut().zip(sweeper.ended) {
        if !ended {
            *v += by;
        }
    }
}

/// Difference of the largest and the least value.
fn spread(values: &[f64]) -> f64 {
    let range = values
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
            (low.min(*v), high.max(*v))
        });
    range.1 - range.0
}
