//! One local search: projected quasi-Newton steps on unnormalised rows.
//!
//! A row of the policy is $\pi = \xi + (1 - n \xi)\, y / \sum y$ with $y \ge 0$ of its $n$ actions.
//! Its entries become exactly $\xi$ where that is best, which with a soft maximum in the place of
//! the projection they never do: its gradient vanishes near deterministic policies, where most
//! optima lie.

use ide3al_numerics::projected_lbfgs::{Minimiser, Objective, Stop};
use rand::RngExt;
use rand_chacha::ChaCha8Rng;

use super::proportions::Proportions;
use crate::formulation::reach::hitting::Hitting;
use crate::formulation::reach::sampled::Sampled;
use crate::formulation::reach::seen::Seen;
use crate::formulation::reach::world::World;

/// A row whose sum falls below this keeps its last values: nothing is known of its direction.
const VANISHED: f64 = 1e-6;
/// Least entry of rows that are brought to given proportions: with zeros among them there is
/// usually no policy with these nonzero entries and the steady state asked for, and the line search
/// stops there. Chosen on RoSSO's patrol alone: with the proportions
/// of RoSSO's own policy 18.3 steps instead of 20.0; actions still become as rare as is best.
const LEAST_ROW: f64 = 1e-3;
/// Seed of the signs of an estimate.
const SIGNS: u64 = 0x5167;
/// Steps over which progress is averaged.
const WINDOW: usize = 10;

/// Values of policies, whichever they are.
#[derive(Debug, Clone)]
pub(super) enum ReachValue<'a> {
    Seen(Seen<'a>),
    Sampled(Box<Sampled<'a>>),
    Hitting(Hitting<'a>),
}

impl<'a> ReachValue<'a> {
    pub(super) fn new(world: &'a World) -> Self {
        if world.is_hitting() {
            ReachValue::Hitting(Hitting::new(world))
        } else if world.fills_in() {
            ReachValue::Sampled(Box::new(Sampled::new(world, SIGNS)))
        } else {
            ReachValue::Seen(Seen::new(world))
        }
    }

    /// The problem's own value, to be maximised or minimised.
    pub(super) fn value(&mut self, policy: &[f64]) -> f64 {
        match self {
            ReachValue::Seen(seen) => seen.value(policy, None),
            ReachValue::Sampled(sampled) => sampled.value(policy, None),
            ReachValue::Hitting(hitting) => hitting.value(policy, None),
        }
    }

    /// A value to be minimised, and its gradient.
    fn loss(&mut self, policy: &[f64], gradient: &mut [f64]) -> f64 {
        match self {
            ReachValue::Seen(seen) => {
                let value = seen.value(policy, Some(gradient));
                gradient.iter_mut().for_each(|g| *g = -*g);
                -value
            }
            ReachValue::Sampled(sampled) => {
                let value = sampled.value(policy, Some(gradient));
                gradient.iter_mut().for_each(|g| *g = -*g);
                -value
            }
            ReachValue::Hitting(hitting) => hitting.value(policy, Some(gradient)),
        }
    }
}

/// The loss as a function of unnormalised rows.
pub(super) struct RowObjective<'a> {
    world: &'a World,
    reach_value: ReachValue<'a>,
    /// The share seen within some other time, whose negative is minimised instead.
    other: Option<Seen<'a>>,
    minimises_other: bool,
    /// What brings rows to the steady state asked for, if any is.
    proportions: Option<Proportions<'a>>,
    policy: Vec<f64>,
}

impl<'a> RowObjective<'a> {
    pub(super) fn new(world: &'a World) -> Self {
        RowObjective {
            world,
            reach_value: ReachValue::new(world),
            other: None,
            minimises_other: false,
            proportions: Proportions::new(world),
            policy: vec![0.0; world.pair.len()],
        }
    }

    /// The policy of unnormalised rows; `None` where there is none.
    pub(super) fn policy(&mut self, x: &[f64]) -> Option<&[f64]> {
        match &mut self.proportions {
            Some(proportions) => {
                if !proportions.scale(x, &mut self.policy) {
                    return None;
                }
            }
            None => normalise(self.world, x, &mut self.policy),
        }
        Some(&self.policy)
    }

    /// Sets what is minimised: less the share seen within a time, or the problem's own loss.
    pub(super) fn set_objective(&mut self, time: Option<f64>) {
        self.minimises_other = time.is_some();
        if let Some(time) = time {
            let world = self.world;
            self.other
                .get_or_insert_with(|| Seen::new(world))
                .set_time(time);
        }
    }

    /// The problem's own value of unnormalised rows.
    pub(super) fn value_of(&mut self, x: &[f64]) -> f64 {
        if self.policy(x).is_none() {
            return f64::NAN;
        }
        self.reach_value.value(&self.policy)
    }
}

impl Objective for RowObjective<'_> {
    fn evaluate(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
        if self.policy(x).is_none() {
            return f64::NAN;
        }
        let value = match &mut self.other {
            Some(seen) if self.minimises_other => {
                let value = seen.value(&self.policy, Some(gradient));
                gradient.iter_mut().for_each(|g| *g = -*g);
                -value
            }
            _ => self.reach_value.loss(&self.policy, gradient),
        };
        match &mut self.proportions {
            Some(proportions) => proportions.by_rows(x, gradient),
            None => gradient_in_rows(self.world, x, gradient),
        }
        value
    }

    fn mend(&self, from: &[f64], trial: &mut [f64]) {
        keep_vanished(self.world, from, trial);
    }
}

/// Rows that have lost all their mass go back to what they were.
pub(super) fn keep_vanished(world: &World, from: &[f64], trial: &mut [f64]) {
    for s in 0..world.n_states() {
        let pairs = world.pairs(s);
        if !(trial[pairs.clone()].iter().sum::<f64>() >= VANISHED) {
            trial[pairs.clone()].copy_from_slice(&from[pairs]);
        }
    }
}

/// The policy of unnormalised rows.
pub(super) fn normalise(world: &World, x: &[f64], policy: &mut [f64]) {
    for s in 0..world.n_states() {
        let pairs = world.pairs(s);
        let free = free_mass(world, s);
        let sum: f64 = x[pairs.clone()].iter().sum();
        for k in pairs {
            policy[k] = world.xi + free * x[k] / sum;
        }
    }
}

/// The chain rule from derivatives by the policy to those by unnormalised rows.
pub(super) fn gradient_in_rows(world: &World, x: &[f64], gradient: &mut [f64]) {
    for s in 0..world.n_states() {
        let pairs = world.pairs(s);
        let (free, sum) = (free_mass(world, s), x[pairs.clone()].iter().sum::<f64>());
        let mean: f64 = pairs.clone().map(|k| x[k] * gradient[k]).sum::<f64>() / sum;
        for k in pairs {
            gradient[k] = free * (gradient[k] - mean) / sum;
        }
    }
}

/// Rows of sum one that make this policy, so much of them spread evenly.
pub(super) fn rows_of(world: &World, policy: &[f64], even: f64) -> Vec<f64> {
    let mut x = policy.to_vec();
    for s in 0..world.n_states() {
        let row = &mut x[world.pairs(s)];
        let n = row.len() as f64;
        row.iter_mut().for_each(|p| *p = (*p - world.xi).max(0.0));
        let sum: f64 = row.iter().sum();
        for p in row {
            let own = if sum > 0.0 { *p / sum } else { 1.0 / n };
            *p = (1.0 - even) * own + even / n;
        }
    }
    x
}

pub(super) fn free_mass(world: &World, s: usize) -> f64 {
    (1.0 - world.pairs(s).len() as f64 * world.xi).max(0.0)
}

/// A row drawn from Dirichlet's distribution with all parameters 2: random, but no action rules out
/// any other.
pub(super) fn draw_row(row: &mut [f64], rng: &mut ChaCha8Rng) {
    let mut sum = 0.0;
    for x in row.iter_mut() {
        let (u, v): (f64, f64) = (rng.random(), rng.random());
        *x = -((1.0 - u) * (1.0 - v)).ln() + 1e-12;
        sum += *x;
    }
    row.iter_mut().for_each(|x| *x /= sum);
}

/// A descent from unnormalised rows.
pub(super) fn descent(world: &World, mut x: Vec<f64>, steps: usize, decrease: f64) -> Minimiser {
    let n = x.len();
    let least = if world.proportions.is_empty() {
        0.0
    } else {
        LEAST_ROW
    };
    x.iter_mut().for_each(|x| *x = x.max(least));
    let stop = Stop {
        steps,
        decrease,
        window: WINDOW,
    };
    Minimiser::new(x, vec![least; n], vec![f64::INFINITY; n], stop)
}
