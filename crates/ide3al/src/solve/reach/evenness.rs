//! The limit on the entropy of the steady state.
//!
//! An augmented Lagrangian (Nocedal and Wright, 2006, section 17.3) leads to a policy near the
//! limit. What it lacks is taken from the policy of the largest entropy $\omega^*$: entropy is
//! concave in the occupancy $\omega$, so that on the way from $\omega$ to $\omega^*$ it rises until
//! the limit is kept.

use ide3al_numerics::projected_lbfgs::Objective;

use super::super::driver::{Candidate, Driver};
use super::super::{Options, TieBreak};
use super::NAME;
use super::climb::{ReachValue, Slope, by_rows, climb, keep_vanished, normalise, rows_of};
use crate::error::Result;
use crate::formulation::reach::Reach;
use crate::formulation::reach::entropy::Evenness;
use crate::formulation::reach::world::World;
use crate::formulation::{Formulation, Problem, parameter};
use crate::model::Mdp;

/// Rounds of the multiplier, and steps in each.
const ROUNDS: usize = 8;
const STEPS: usize = 100;
/// Relative gain per step below which an ascent ends.
const WORTHWHILE: f64 = 1e-6;
/// Halvings of the way to the policy of the largest entropy.
const HALVINGS: usize = 50;
/// By how much, as a share, the largest entropy may fall short of what is asked for: it is known to
/// the tolerance of its own solve.
const ROUNDING: f64 = 1e-7;

/// What is asked for, and a policy that has it.
pub(super) struct Floor {
    least: f64,
    apart: usize,
    even: Vec<f64>,
}

/// The least entropy in nats and a policy that has the most; an error where that is not enough.
pub(super) fn floor(mdp: &Mdp, world: &World, reach: &Reach) -> Result<Floor> {
    let n = world.n_states();
    let largest = (n as f64).ln();
    let least = reach.evenness * largest;
    let part = world.as_model(mdp)?;
    let part = if reach.restart > 0.0 {
        part.with_restart(reach.restart)?
    } else {
        part
    };
    let problem = Problem {
        xi: reach.xi,
        ..Problem::new(Formulation::StateEntropy)
    };
    let options = Options {
        tie_break: TieBreak::None,
        ..Options::default()
    };
    let solution = super::super::solve(&part, &problem, &options, None, &mut ())?;
    let even = solution.policy.probabilities().to_vec();
    let d = crate::chain::stationary::long_run(&part.chain(&solution.policy)).distribution;
    let apart = (0..n).max_by(|a, b| d[*a].total_cmp(&d[*b])).unwrap_or(0);
    let most = crate::chain::entropy::entropy(&d);
    if least > most + ROUNDING * largest {
        let share = if largest > 0.0 { most / largest } else { 1.0 };
        let problem = format!(
            "no policy with xi {} has a steady state of that much of the largest entropy; the most \
             is {share:.6}",
            reach.xi
        );
        return Err(parameter("evenness", reach.evenness, problem));
    }
    Ok(Floor {
        least: least.min(most),
        apart,
        even,
    })
}

/// Replaces the driver's best policy by the best found that keeps to the limit.
pub(super) fn run(world: &World, floor: &Floor, driver: &mut Driver<'_>) {
    let mut evenness = Evenness::new(world, floor.apart);
    let free = driver.best().policy.clone();
    if evenness.value(&free, None) >= floor.least {
        return;
    }
    let mut reach_value = ReachValue::new(world);
    let sign = if world.is_hitting() { 1.0 } else { -1.0 };
    let mut best = (sign * reach_value.value(&floor.even), floor.even.clone());
    for from in [&free, &floor.even] {
        let mut limited = Limited {
            slope: Slope::new(world),
            world,
            evenness: evenness.clone(),
            least: floor.least,
            multiplier: 0.0,
            penalty: 1.0,
            policy: vec![0.0; free.len()],
            entropy: vec![0.0; free.len()],
        };
        let mut x = rows_of(world, from, 1e-2);
        let mut short_before = f64::INFINITY;
        // a penalty as steep as the loss is large
        limited.penalty = 10.0 * reach_value.value(from).abs().max(1e-3);
        for _ in 0..ROUNDS {
            let mut minimiser = climb(
                world,
                rows_of(world, &limited.of(&x), 1e-4),
                STEPS,
                WORTHWHILE,
            );
            while !minimiser.advance(&mut limited, 4) {
                driver.count(4);
                if !driver.should_continue() {
                    break;
                }
            }
            x = minimiser.x().to_vec();
            let policy = limited.of(&x);
            let short = floor.least - evenness.value(&policy, None);
            if let Some(kept) = mend(world, floor, &mut evenness, &policy) {
                let value = sign * reach_value.value(&kept);
                if value < best.0 {
                    best = (value, kept);
                }
            }
            if !driver.should_continue() || short.is_nan() {
                break;
            }
            limited.multiplier = (limited.multiplier + limited.penalty * short).max(0.0);
            if short.abs() > 0.25 * short_before {
                limited.penalty *= 4.0;
            }
            short_before = short.abs();
        }
    }
    let candidate = Candidate {
        objective: sign * best.0,
        bound: driver.best().bound,
        policy: best.1,
        dual: Vec::new(),
    };
    driver.replace(candidate.policy.clone(), candidate.objective);
    driver.offer(candidate, NAME);
}

/// The policy as near to this one as the way to the most even one keeps to the limit.
fn mend(world: &World, floor: &Floor, evenness: &mut Evenness, policy: &[f64]) -> Option<Vec<f64>> {
    let least = floor.least * (1.0 - 1e-12);
    let here = evenness.value(policy, None);
    if here >= least {
        return Some(policy.to_vec());
    }
    let occupancy = |policy: &[f64], d: &[f64]| -> Vec<f64> {
        let total: f64 = d[..world.n_states()].iter().sum();
        (0..world.n_states())
            .flat_map(|s| world.pairs(s).map(move |k| (s, k)))
            .map(|(s, k)| policy[k] * d[s] / total)
            .collect()
    };
    if here.is_nan() {
        return None;
    }
    let own = occupancy(policy, evenness.visits());
    evenness.value(&floor.even, None);
    let even = occupancy(&floor.even, evenness.visits());
    let mixed = |share: f64| -> Vec<f64> {
        let both = own.iter().zip(&even);
        let omega: Vec<f64> = both.map(|(o, e)| (1.0 - share) * o + share * e).collect();
        let mut rows = omega;
        for s in 0..world.n_states() {
            let pairs = world.pairs(s);
            let sum: f64 = rows[pairs.clone()].iter().sum();
            for k in pairs {
                rows[k] = if sum > 0.0 { rows[k] / sum } else { policy[k] };
            }
        }
        rows
    };
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..HALVINGS {
        let middle = 0.5 * (low + high);
        if evenness.value(&mixed(middle), None) >= least {
            high = middle;
        } else {
            low = middle;
        }
    }
    Some(if high < 1.0 {
        mixed(high)
    } else {
        floor.even.clone()
    })
}

/// The loss with what the entropy falls short of, $\frac{\rho}{2} (h + \mu/\rho)_+^2$.
struct Limited<'a> {
    slope: Slope<'a>,
    world: &'a World,
    evenness: Evenness<'a>,
    least: f64,
    multiplier: f64,
    penalty: f64,
    policy: Vec<f64>,
    entropy: Vec<f64>,
}

impl Limited<'_> {
    fn of(&self, x: &[f64]) -> Vec<f64> {
        let mut policy = vec![0.0; x.len()];
        normalise(self.world, x, &mut policy);
        policy
    }
}

impl Objective for Limited<'_> {
    fn evaluate(&mut self, x: &[f64], gradient: &mut [f64]) -> f64 {
        let loss = self.slope.evaluate(x, gradient);
        normalise(self.world, x, &mut self.policy);
        self.entropy.fill(0.0);
        let entropy = self
            .evenness
            .value(&self.policy, Some((&mut self.entropy, 1.0)));
        let force = (self.multiplier + self.penalty * (self.least - entropy)).max(0.0);
        by_rows(self.world, x, &mut self.entropy);
        for (g, h) in gradient.iter_mut().zip(&self.entropy) {
            *g -= force * h;
        }
        if entropy.is_nan() {
            return f64::NAN;
        }
        loss + force * force / (2.0 * self.penalty)
    }

    fn mend(&self, from: &[f64], trial: &mut [f64]) {
        keep_vanished(self.world, from, trial);
    }
}
