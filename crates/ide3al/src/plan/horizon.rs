//! The best policy within a number of steps, by backward induction.
//!
//! $V_T = 0$ and $V_t(s) = \max_a \big(r(s,a) + \sum_{s'} P(s'|s,a) V_{t+1}(s')\big)$: exact but
//! for rounding, so that objective and bound are the same number.

use super::clock::Clock;
use super::sweep::Sweeper;
use crate::error::{Error, Result};

/// Most choices, and most probabilities, that a policy of many steps may hold (2 and 4 GiB).
const MOST: usize = 1 << 29;

/// The value at the first step, and the pair chosen at each step in each state, step by step.
pub(super) struct Induced {
    pub(super) values: Vec<f64>,
    pub(super) choices: Vec<u32>,
}

/// Backward induction over `steps` steps; `None` where it was stopped.
pub(super) fn induce(
    sweeper: Sweeper<'_>,
    steps: usize,
    clock: &mut Clock<'_>,
) -> Result<Option<Induced>> {
    let n = sweeper.mdp.n_states();
    let fits = |each: usize| steps.checked_mul(each).filter(|size| *size <= MOST);
    let (Some(size), Some(_)) = (fits(n), fits(sweeper.mdp.n_pairs())) else {
        return Err(Error::Parameter {
            name: "within".into(),
            value: steps.to_string(),
            problem: format!(
                "a policy for each of so many steps in {n} states does not fit; plan with a \
                 discount or for the average"
            ),
        });
    };
    let mut choices = vec![u32::MAX; size];
    let (mut values, mut next) = (vec![0.0; n], vec![0.0; n]);
    for t in (0..steps).rev() {
        let (before, after) = choices.split_at_mut((t + 1) * n);
        let choice = &mut before[t * n..];
        // where several are as good, the one of the step after, so that policies change rarely
        if let Some(after) = after.get(..n) {
            choice.copy_from_slice(after);
        }
        sweeper.improve(&values, &mut next, choice);
        std::mem::swap(&mut values, &mut next);
        if !clock.tick(values[0], f64::INFINITY) && t > 0 {
            return Ok(None);
        }
    }
    Ok(Some(Induced { values, choices }))
}
