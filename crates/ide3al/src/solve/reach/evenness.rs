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
use super::descent::{
    ReachValue, RowObjective, descent, gradient_in_rows, keep_vanished, normalise, rows_of,
};
use crate::error::Result;
use crate::formulation::reach::Reach;
use crate::formulation::reach::entropy::Evenness;
use crate::formulation::reach::world::World;
use crate::formulation::{Formulation, Problem, parameter};
use crate::model::Mdp;

/// Rounds of the multiplier, and steps in each.
const ROUNDS: usize = 8;
const STEPS: usize = 100;
/// Relative gain per step below which a descent ends.
const WORTHWHILE: f64 = 1e-6;
/// Halvings of the way to the policy of the largest entropy.
const HALVINGS: usize = 50;
/// By how much, as a share, the largest entropy may fall short of what is asked for: it is known to
/// the tolerance of its own solve.
const ROUNDING: f64 = 1e-7;

/// The least entropy asked for in nats, a policy of the largest, and a recurrent state of its
/// chain.
pub(super) struct EntropyLimit {
    min_entropy: f64,
    recurrent_state: usize,
    max_entropy_policy: Vec<f64>,
}

/// The limit; an error where no policy has that entropy.
pub(super) fn limit(mdp: &Mdp, world: &World, reach: &Reach) -> Result<EntropyLimit> {
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
    let max_entropy_policy = solution.policy.probabilities().to_vec();
    let d = crate::chain::stationary::long_run(&part.chain(&solution.policy)).distribution;
    let recurrent_state = (0..n).max_by(|a, b| d[*a].total_cmp(&d[*b])).unwrap_or(0);
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
    Ok(EntropyLimit {
        min_entropy: least.min(most),
        recurrent_state,
        max_entropy_policy,
    })
}

/// Replaces the driver's best policy by the best found that keeps to the limit.
pub(super) fn run(world: &World, limit: &EntropyLimit, driver: &mut Driver<'_>) {
    let mut evenness = Evenness::new(world, limit.recurrent_state);
    let free = driver.best().policy.clone();
    if evenness.value(&free, None) >= limit.min_entropy {
        return;
    }
    let mut reach_value = ReachValue::new(world);
    let sign = if world.is_hitting() { 1.0 } else { -1.0 };
    let mut best = (
        sign * reach_value.value(&limit.max_entropy_policy),
        limit.max_entropy_policy.clone(),
    );
    for from in [&free, &limit.max_entropy_policy] {
        let mut limited = Limited {
            objective: RowObjective::new(world),
            world,
            evenness: evenness.clone(),
            least: limit.min_entropy,
            multiplier: 0.0,
            penalty: 1.0,
            policy: vec![0.0; free.len()],
            entropy: vec![0.0; free.len()],
        };
        let mut x = rows_of(world, from, 1e-2);
        let mut short_before = f64::INFINITY;
        // a penalty of the order of the loss
        limited.penalty = 10.0 * reach_value.value(from).abs().max(1e-3);
        for _ in 0..ROUNDS {
            let mut minimiser = descent(
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
            let short = limit.min_entropy - evenness.value(&policy, None);
            if let Some(kept) = mend(world, limit, &mut evenness, &policy) {
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

/// Mixes the occupancy of a policy with that of the policy of the largest entropy, by bisection,
/// just enough to keep to the limit.
fn mend(
    world: &World,
    limit: &EntropyLimit,
    evenness: &mut Evenness,
    policy: &[f64],
) -> Option<Vec<f64>> {
    let least = limit.min_entropy * (1.0 - 1e-12);
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
    evenness.value(&limit.max_entropy_policy, None);
    let even = occupancy(&limit.max_entropy_policy, evenness.visits());
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
        limit.max_entropy_policy.clone()
    })
}

/// Augmented Lagrangian of the loss subject to $h = H_{\min} - H \le 0$: the loss and
/// $\frac{\rho}{2} (h + \mu/\rho)_+^2$.
struct Limited<'a> {
    objective: RowObjective<'a>,
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
        let loss = self.objective.evaluate(x, gradient);
        normalise(self.world, x, &mut self.policy);
        self.entropy.fill(0.0);
        let entropy = self
            .evenness
            .value(&self.policy, Some((&mut self.entropy, 1.0)));
        let force = (self.multiplier + self.penalty * (self.least - entropy)).max(0.0);
        gradient_in_rows(self.world, x, &mut self.entropy);
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
