//! The largest expected total of rewards where every policy comes to an end, by policy iteration.
//!
//! Without a discount the change of a sweep, $\delta = TV - V$, counts once for every step until
//! the end. With $W \ge 1 + P_a W$ for all actions the greedy policy has at least
//! $V - W \max(-\delta)$, and none has more than $V + W \max \delta$.
//!
//! Where only some policies end and each step costs something, a policy that improves on one that
//! ends does so, too, if the values of that were right to within half of what a step costs: on a
//! cycle that is never left the costs would add up to more than the errors.
//!
//! Reference: Bertsekas and Tsitsiklis (1991), *Mathematics of Operations Research* 16, 580-595.

use super::clock::Clock;
use super::evaluate::Evaluator;
use super::rounding;
use super::sweep::{Change, Sweeper};

/// Most times that a policy's values are approached before it is improved.
const EVALUATIONS: usize = 50;
/// Sweeps that follow a policy where BiCGSTAB does not help.
const SWEEPS: usize = 20;
/// Improvements in a row that do not halve the change after which the iteration ends if the change
/// is within rounding, and after which it ends in any case.
const STALLED_AT_ROUNDING: usize = 6;
const STALLED: usize = 200;
/// Units of rounding in the largest value, as a share of the scale, that count as rounding.
const ROUNDING: f64 = 1e4;

/// Values, the greedy policy and how far one sweep changes them, as a share of the scale.
pub(super) struct Total {
    pub(super) values: Vec<f64>,
    pub(super) choice: Vec<u32>,
    pub(super) change: Change,
    /// Whether the change is as small as was wanted.
    pub(super) met: bool,
}

/// Improves `choice`, a policy that ends, until $\max_s |TV - V|(s) / c(s)$ is at most `enough` of
/// the values, where $c$ is `scale`: what a step costs, or one.
pub(super) fn total(
    sweeper: Sweeper<'_>,
    mut choice: Vec<u32>,
    scale: &[f64],
    enough: impl Fn(&[f64]) -> f64,
    clock: &mut Clock<'_>,
) -> Total {
    let n = choice.len();
    let (mut values, mut next) = (vec![0.0; n], vec![0.0; n]);
    let mut evaluator = Evaluator::default();
    let relative = |values: &[f64], next: &[f64]| {
        let mut change = Change::default();
        for s in (0..n).filter(|s| !sweeper.ended[*s]) {
            change.add((next[s] - values[s]) / scale[s]);
        }
        change
    };
    let (mut least, mut stale) = (f64::INFINITY, 0);
    loop {
        for _ in 0..EVALUATIONS {
            if !evaluator.approach(sweeper, &mut choice, 0.0, &mut values) {
                for _ in 0..SWEEPS {
                    sweeper.follow(&values, &mut next, &mut choice);
                    std::mem::swap(&mut values, &mut next);
                }
            }
            sweeper.follow(&values, &mut next, &mut choice);
            if relative(&values, &next).size() <= 0.5 {
                break;
            }
        }
        sweeper.improve(&values, &mut next, &mut choice);
        let change = relative(&values, &next);
        let size = change.size();
        let met = size <= enough(&values);
        if size < 0.5 * least {
            (least, stale) = (size, 0);
        } else {
            stale += 1;
        }
        let shares = values.iter().zip(scale).filter(|(_, scale)| **scale > 0.0);
        let most = shares.map(|(v, scale)| (v / scale).abs());
        let rounding = ROUNDING * f64::EPSILON * most.fold(0.0, f64::max);
        let patience = if size <= rounding {
            STALLED_AT_ROUNDING
        } else {
            STALLED
        };
        if met || stale >= patience || !clock.tick(values[0], size) {
            return Total {
                values,
                choice,
                change,
                met,
            };
        }
    }
}

/// $W \ge 1 + P_a W$: at least the mean number of steps until the end, whatever the policy;
/// infinite where it could not be found.
pub(super) fn longest(sweeper: Sweeper<'_>, choice: Vec<u32>, clock: &mut Clock<'_>) -> Vec<f64> {
    let ones = vec![1.0; sweeper.reward.len()];
    let each = vec![1.0; choice.len()];
    let steps = Sweeper {
        reward: &ones,
        ..sweeper
    };
    let found = total(steps, choice, &each, |_| 0.01, clock);
    let beyond = found.change.most.max(0.0) + rounding(&found.values);
    let factor = if beyond < 0.5 {
        1.0 / (1.0 - beyond)
    } else {
        f64::INFINITY
    };
    let of_state = |(w, ended): (&f64, &bool)| if *ended { 0.0 } else { w * factor };
    found
        .values
        .iter()
        .zip(sweeper.ended)
        .map(of_state)
        .collect()
}

impl Total {
    /// By how much the policy's value may lie below the values in a state from which the end takes
    /// `steps` steps, and the best value above; without a scale.
    pub(super) fn errors(&self, steps: f64) -> (f64, f64) {
        let rounded = rounding(&self.values);
        let below = (-self.change.least).max(0.0) + rounded;
        let above = self.change.most.max(0.0) + rounded;
        (below * steps, above * steps)
    }
}
