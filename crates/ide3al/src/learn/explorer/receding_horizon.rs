//! The gradient of a utility of all visits so far, followed with a receding horizon.
//!
//! A visit of $(s, a)$ changes the entropy of the visits by about $-\ln n_s$, up to a constant. A
//! plan for the sum of these gradients, discounted by 0.99, with the counts of this moment, needs
//! no stationary policy, no ergodicity and no convex program. Value iteration goes on from the plan
//! before. Rewards are
//!
//! $$-\ln (n_s + 1) - \tau \ln \frac{N(s,a) + 1 / A}{n_s + 1} ,$$
//!
//! less their mean over the visits; $\tau$ keeps all actions in use where they matter little, and
//! is 1 for the entropy of pairs. Between two plans each step looks one step ahead with the counts
//! of that moment.
//!
//! *Optimism.* A pair that had the same outcome in each of a few tries is expected to have another
//! one with the [missing mass](super::transitions) of such pairs, and that one is taken
//! for the best that any action of the state had. Without it an action whose only try slipped may
//! never be repeated: on Double Chain that happens in 7 of 200 runs (with it in none, `ide3al learn
//! double-chain --algorithm ideal --runs 200 --seed 5`). Where nothing is random it changes
//! nothing.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::transitions::RESTART;
use super::view::View;
use crate::formulation::Formulation;
use crate::learn::codec::{Damage, Reader, Writer};

/// Discount of a step in this plan; that of a chase is in `rule.rs`. From 0.98 to 0.995 nothing
/// changes by more than 2 % on FrozenLake and 8 % on DoorKey.
const DISCOUNT: f64 = 0.99;
/// Most sweeps of one plan, and the span of their changes at which they end earlier.
const SWEEPS: usize = 30;
const SPREAD: f64 = 1e-2;

/// $\tau$ for the entropy of states. From 0.03 to 0.3 nothing changes by more than 2 % on
/// FrozenLake and 8 % on DoorKey.
const ACTION_ENTROPY_WEIGHT: f64 = 0.2;

/// Temperature at which actions are drawn and values are smoothed, in nats. Where cells hide a part
/// of the state, a greedy action that is wrong is repeated at every visit: effective states of
/// Acrobot's cells after 40,000 steps 252 without, 337 with 0.1, 308 with 0.25 (half the 95 %
/// interval about 100); of CartPole's 55 with 0.1, 51 with 0.25, 45 with 1; of Pendulum's 59.8,
/// 58.9, 57.7; of FourRooms 951 without, 942 with 0.2.
const TEMPERATURE: f64 = 0.1;

/// The utility of all visits whose gradient is followed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Gradient {
    /// The entropy of states and, with this weight, that of their actions.
    Entropy(f64),
    /// The error of the estimated model, $-\sum c / N$.
    ModelError,
    /// As many samples of every pair: $-\sum 1 / N$.
    Coverage,
}

impl Default for Gradient {
    fn default() -> Self {
        Gradient::Entropy(ACTION_ENTROPY_WEIGHT)
    }
}

impl Gradient {
    /// The gradient for a formulation. Those that compare the chain of a policy with a target need
    /// the same samples as even visits do.
    pub fn of(formulation: Formulation) -> Self {
        match formulation {
            Formulation::Dual => Gradient::Entropy(1.0),
            Formulation::ModelError => Gradient::ModelError,
            Formulation::Coverage => Gradient::Coverage,
            _ => Gradient::default(),
        }
    }

    /// At the counts of this moment, up to what all pairs have in common and a scale.
    #[inline]
    fn at(self, view: &View<'_>, node: usize, pair: usize) -> f64 {
        let seen = view.transitions;
        match self {
            Gradient::Entropy(actions) => {
                let log_visits = seen.log_visits()[node];
                -log_visits - actions * (seen.log_tries(pair) - log_visits)
            }
            Gradient::ModelError => {
                let tries = f64::from(seen.tries(pair));
                let outcomes = seen.outcomes(pair).map(|(_, n)| f64::from(n));
                variance(tries, outcomes) / (tries * tries)
            }
            Gradient::Coverage => {
                let tries = f64::from(seen.tries(pair));
                1.0 / (tries * tries)
            }
        }
    }
}

/// Variance of a sample of a row seen so often, with these outcomes: see [`super`].
pub(super) fn variance(tries: f64, outcomes: impl Iterator<Item = f64>) -> f64 {
    let whole = tries + 1.0;
    1.0 - outcomes.map(|n| (n / whole) * (n / whole)).sum::<f64>()
}

/// Values of all nodes, for a gradient.
#[derive(Debug, Clone)]
pub(super) struct RecedingHorizon {
    gradient: Gradient,
    values: Vec<f64>,
    /// $\ln (n_s + 1)$ when the plan was made.
    planned: Vec<f64>,
    /// Whether the next sweep goes from the first node to the last.
    forward: bool,
    /// What gradients other than those of entropies are multiplied with.
    scale: f64,
}

impl RecedingHorizon {
    pub(super) fn new(gradient: Gradient) -> Self {
        RecedingHorizon {
            gradient,
            values: Vec::new(),
            planned: Vec::new(),
            forward: false,
            scale: 1.0,
        }
    }

    /// Adds Gumbel noise to the values of actions: the action with the largest sum is a draw from
    /// their Boltzmann distribution.
    pub(super) fn perturb(&self, worths: &mut [f64], rng: &mut ChaCha8Rng) {
        for worth in worths {
            *worth -= TEMPERATURE * (-uniform(rng).ln()).ln();
        }
    }

    /// Forgets the plan: the nodes are others now.
    pub(super) fn clear(&mut self) {
        *self = RecedingHorizon::new(self.gradient);
    }

    /// Whether the plan at hand was made when the node was known.
    pub(super) fn knows(&self, node: usize) -> bool {
        node < self.planned.len()
    }

    pub(super) fn save(&self, writer: &mut Writer) {
        writer.reals(&self.values);
        writer.reals(&self.planned);
        writer.byte(u8::from(self.forward));
        writer.real(self.scale);
    }

    /// Takes back what [`save`](Self::save) wrote, of so many nodes.
    pub(super) fn load(&mut self, reader: &mut Reader<'_>, n_nodes: usize) -> Result<(), Damage> {
        (self.values, self.planned) = (reader.reals()?, reader.reals()?);
        (self.forward, self.scale) = (reader.byte()? != 0, reader.real()?);
        if self.planned.len() > self.values.len() || self.values.len() > n_nodes {
            return Err("it holds values of states that it does not know".into());
        }
        Ok(())
    }

    /// Plans anew, from the plan before. Ends after about `allowance` outcomes, but not before one
    /// sweep; returns the number of outcomes looked at.
    pub(super) fn plan(&mut self, view: &View<'_>, allowance: usize) -> usize {
        let seen = view.transitions;
        let restart = self.values.first().copied().unwrap_or(0.0);
        self.values.resize(seen.n_nodes(), restart);
        let (mean, scale) = self.level(view);
        let bonus = ((seen.steps() + 1) as f64).ln();
        let mut cost = 0;
        let mut worths = Vec::new();
        for _ in 0..SWEEPS {
            self.forward = !self.forward;
            let at_restart: f64 = seen.starts().map(|(s, p)| p * self.values[s]).sum();
            self.values[RESTART] = at_restart;
            let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
            for k in 1..seen.n_nodes() {
                let node = if self.forward { k } else { seen.n_nodes() - k };
                worths.clear();
                if seen.is_terminal(node) {
                    worths.push(self.terminal(view, node, mean) + DISCOUNT * at_restart);
                    cost += 1;
                }
                let best = view.best_outcome(node, |t| self.values[t]);
                for pair in seen.pairs(node) {
                    let value = if seen.tries(pair) == 0 {
                        cost += 1;
                        bonus + DISCOUNT * at_restart
                    } else {
                        let (ahead, outcomes) = view.expect(pair, |t| self.values[t]);
                        cost += outcomes;
                        let ahead = ahead + view.optimism_bonus(pair, best, |t| self.values[t]);
                        scale * (self.gradient.at(view, node, pair) - mean) + DISCOUNT * ahead
                    };
                    worths.push(value);
                }
                let value = soft_maximum(&worths);
                let change = value - self.values[node];
                low = low.min(change);
                high = high.max(change);
                self.values[node] = value;
            }
            if high - low < SPREAD || cost >= allowance {
                break;
            }
        }
        self.planned.clear();
        self.planned.extend_from_slice(seen.log_visits());
        cost
    }

    /// What the actions of a node are worth, up to what they have in common.
    pub(super) fn evaluate_actions(&self, view: &View<'_>, node: usize, worths: &mut Vec<f64>) {
        let seen = view.transitions;
        let logs = seen.log_visits();
        let restart = self.values[RESTART];
        let is_entropy = matches!(self.gradient, Gradient::Entropy(_));
        // for entropies the next state's reward is brought up to date as well
        let value = |t: usize| match (t, self.planned.get(t)) {
            (RESTART, _) => restart,
            (_, Some(planned)) if is_entropy => self.values[t] + planned - logs[t],
            (_, Some(_)) => self.values[t],
            (_, None) => restart - logs[t],
        };
        let scale = if is_entropy { 1.0 } else { self.scale };
        let best = view.best_outcome(node, value);
        let worth = |pair| {
            let ahead = view.expect(pair, value).0 + view.optimism_bonus(pair, best, value);
            scale * self.gradient.at(view, node, pair) + DISCOUNT * ahead
        };
        worths.extend(seen.pairs(node).map(worth));
    }

    /// What a visit of a terminal state is worth, which only entropies look at.
    fn terminal(&self, view: &View<'_>, node: usize, mean: f64) -> f64 {
        match self.gradient {
            Gradient::Entropy(_) => -view.transitions.log_visits()[node] - mean,
            _ => 0.0,
        }
    }

    /// Mean gradient over the visits, and what to multiply gradients with so that they are about 1.
    fn level(&mut self, view: &View<'_>) -> (f64, f64) {
        let seen = view.transitions;
        let steps = seen.steps().max(1) as f64;
        if let Gradient::Entropy(_) = self.gradient {
            return (-seen.mean_log_visits(), 1.0);
        }
        let mut sum = 0.0;
        for node in 1..seen.n_nodes() {
            for pair in seen.pairs(node).filter(|p| seen.tries(*p) > 0) {
                sum += f64::from(seen.tries(pair)) * self.gradient.at(view, node, pair);
            }
        }
        let mean = sum / steps;
        self.scale = if mean > 0.0 { 1.0 / mean } else { 1.0 };
        (mean, self.scale)
    }
}

/// A number between 0 and 1, neither included.
pub(super) fn uniform(rng: &mut ChaCha8Rng) -> f64 {
    ((rng.next_u64() >> 11) as f64 + 0.5) / (1u64 << 53) as f64
}

/// $T \ln \sum_a e^{q_a / T}$.
fn soft_maximum(worths: &[f64]) -> f64 {
    let most = worths
        .iter()
        .fold(f64::NEG_INFINITY, |most, q| most.max(*q));
    // what is far below adds nothing that counts
    let near = worths.iter().map(|q| (q - most) / TEMPERATURE);
    let near = near.filter(|x| *x > -30.0);
    // the largest itself, whose exponential is one, is often the only one that counts
    let sum: f64 = near.map(|x| if x == 0.0 { 1.0 } else { x.exp() }).sum();
    if sum == 1.0 {
        return most;
    }
    most + TEMPERATURE * sum.ln()
}

#[cfg(test)]
mod tests {
    use super::super::transitions::{NONE, Transitions};
    use super::*;

    #[test]
    fn what_was_visited_less_is_worth_more() {
        // 0 leads to 1 and to 2, which lead back; 2 was visited less
        let mut seen = Transitions::new();
        let nodes = [seen.meet(0, 2), seen.meet(1, 1), seen.meet(2, 1)];
        for k in 0..50 {
            let next = if k % 5 == 0 { 2 } else { 1 };
            seen.record(nodes[0], next - 1, nodes[next], false, None, false);
            seen.record(nodes[next], 0, nodes[0], false, None, false);
        }
        let last = vec![NONE; seen.n_pairs()];
        let view = View::new(&seen, &last, true);
        for gradient in [
            Gradient::default(),
            Gradient::ModelError,
            Gradient::Coverage,
        ] {
            let mut horizon = RecedingHorizon::new(gradient);
            horizon.plan(&view, 1_000_000);
            let mut worths = Vec::new();
            horizon.evaluate_actions(&view, nodes[0], &mut worths);
            assert!(worths[1] > worths[0], "{gradient:?}: {worths:?}");
        }
        let plain = soft_maximum(&[3.0, -40.0]);
        assert!((plain - 3.0).abs() < 1e-12);
        let even = soft_maximum(&[1.0, 1.0]);
        assert!((even - 1.0 - TEMPERATURE * 2f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn a_first_try_that_was_bad_luck_is_repeated_where_others_had_bad_luck() {
        let mut seen = Transitions::new();
        let nodes = [seen.meet(0, 2), seen.meet(1, 1), seen.meet(2, 1)];
        for k in 0..40 {
            let next = if k % 5 == 0 { 2 } else { 1 };
            seen.record(nodes[0], 0, nodes[next], false, None, false);
            seen.record(nodes[next], 0, nodes[0], false, None, false);
        }
        seen.record(nodes[0], 1, nodes[1], false, None, false);
        let expectation = |view: &View<'_>| {
            let value = |t: usize| f64::from(u8::from(t == nodes[2]));
            let pair = seen.pairs(nodes[0]).start + 1;
            view.optimism_bonus(pair, view.best_outcome(nodes[0], value), value)
        };
        let last = vec![NONE; seen.n_pairs()];
        let share = seen.missing_mass()[0];
        assert!(share > 0.0 && share < 1.0, "{share}");
        assert_eq!(expectation(&View::new(&seen, &last, true)), share);
        assert_eq!(expectation(&View::new(&seen, &last, false)), 0.0);
    }
}
