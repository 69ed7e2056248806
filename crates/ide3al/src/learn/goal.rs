//! Goal-conditioned evaluation: is what was explored enough to learn to reach any state?
//!
//! Explore for $T$ steps from the start, estimate a model from these steps alone, plan by
//! value iteration for a reward of 1 in the goal, and measure the greedy policy on the true
//! model. The goal is the hardest state: the one least visited under the uniform policy (of
//! several, the one farthest from the start).

use std::collections::VecDeque;

use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::environment::Environment;
use super::learner::Exploration;
use super::random::Random;
use super::session::Session;
use super::value_iteration::ValueIteration;
use crate::chain::stationary;
use crate::error::{Error, Result};
use crate::model::{Mdp, Policy, Unvisited};

/// What to evaluate.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Goal {
    /// Numbers of exploring steps $T$.
    pub horizons: Vec<u64>,
    /// Steps the learned policy has to reach the goal.
    pub within: u64,
    /// Repetitions per run and horizon.
    pub repetitions: u64,
}

impl Default for Goal {
    /// The paper's horizons 10, 20, ..., 100, and as many steps to reach the goal as its
    /// longest.
    fn default() -> Self {
        Goal {
            horizons: (1..=10).map(|k| 10 * k).collect(),
            within: 100,
            repetitions: 5,
        }
    }
}

impl Goal {
    /// Refuses an empty evaluation.
    pub fn validate(&self) -> Result<()> {
        let bad = self.horizons.is_empty()
            || self.horizons.contains(&0)
            || self.within == 0
            || self.repetitions == 0;
        if !bad {
            return Ok(());
        }
        Err(Error::Parameter {
            name: "goal".into(),
            value: format!(
                "horizons {:?}, within {}, repetitions {}",
                self.horizons, self.within, self.repetitions
            ),
            problem: "every number must be at least 1, and there must be a horizon".into(),
        })
    }
}

/// How well a goal can be reached, averaged over repetitions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Success {
    /// Probability of reaching the goal from the start within the steps allowed.
    pub probability: f64,
    /// Discounted value of the learned policy from the start as a share of the optimal one.
    pub value_share: f64,
}

/// The state least visited in the long run under the uniform policy, among those that can be
/// reached from the start; of several, the one most steps away; of several such, the first.
pub fn hardest_state(mdp: &Mdp) -> usize {
    let d = stationary::long_run(&mdp.chain(&Policy::uniform(mdp))).distribution;
    let steps = steps_from_start(mdp);
    let reachable = |s: &usize| steps[*s].is_some();
    let candidates = || (0..d.len()).filter(reachable);
    let least = candidates().fold(f64::INFINITY, |least, s| least.min(d[s]));
    // states equal by symmetry differ in rounding
    let equal = candidates().filter(|&s| d[s] <= least * (1.0 + 1e-9));
    equal
        .min_by_key(|&s| std::cmp::Reverse(steps[s]))
        .unwrap_or(0)
}

/// Fewest steps to each state from the start; `None` where no steps lead there.
fn steps_from_start(mdp: &Mdp) -> Vec<Option<usize>> {
    let start = mdp.start().iter();
    let mut steps: Vec<Option<usize>> = start.map(|p| (*p > 0.0).then_some(0)).collect();
    let mut queue: VecDeque<usize> = (0..steps.len()).filter(|&s| steps[s].is_some()).collect();
    let mut everywhere = false;
    while let Some(state) = queue.pop_front() {
        let next = steps[state].map(|k| k + 1);
        for pair in mdp.pairs(state) {
            let row = mdp.row(pair);
            let mut visit = |t: usize| {
                if steps[t].is_none() {
                    steps[t] = next;
                    queue.push_back(t);
                }
            };
            row.entries()
                .filter(|(_, p)| *p > 0.0)
                .for_each(|(t, _)| visit(t));
            // a uniform share leads everywhere, and needs to be followed once only
            if row.spread > 0.0 && !std::mem::replace(&mut everywhere, true) {
                (0..mdp.n_states()).for_each(visit);
            }
        }
    }
    steps
}

/// Probability of reaching `goal` within `steps` steps of a policy from the start.
/// Costs `steps` products with the chain.
pub fn reach_probability(mdp: &Mdp, policy: &Policy, goal: usize, steps: u64) -> f64 {
    let chain = mdp.chain(policy);
    let mut still = mdp.start().to_vec();
    let mut reached = std::mem::take(&mut still[goal]);
    let mut next = vec![0.0; still.len()];
    for _ in 0..steps {
        chain.kernel().transpose_times(&still, &mut next);
        reached += std::mem::take(&mut next[goal]);
        std::mem::swap(&mut still, &mut next);
    }
    reached.min(1.0)
}

/// Evaluates explorations of one model for its hardest state.
#[derive(Debug)]
pub struct GoalEvaluator<'a> {
    truth: &'a Mdp,
    goal: Goal,
    method: ValueIteration,
    /// For the values that are reported.
    fine: ValueIteration,
    target: usize,
    reward: Vec<f64>,
    /// Optimal value from the start.
    best: f64,
}

impl<'a> GoalEvaluator<'a> {
    /// Finds the goal and the value that the best policy of the true model has.
    pub fn new(truth: &'a Mdp, goal: &Goal, method: ValueIteration) -> Self {
        let target = hardest_state(truth);
        let mut reward = vec![0.0; truth.n_states()];
        reward[target] = 1.0;
        let mut values = vec![0.0; truth.n_states()];
        // a yardstick is measured finely
        let fine = ValueIteration {
            tolerance: method.tolerance.min(1e-6),
            ..method
        };
        fine.run(truth, &reward, &mut values);
        GoalEvaluator {
            truth,
            goal: goal.clone(),
            method,
            fine,
            target,
            best: dot(truth.start(), &values),
            reward,
        }
    }

    /// The goal.
    pub fn target(&self) -> usize {
        self.target
    }

    /// The mean success for each horizon. A mixture draws one member per repetition and
    /// follows it. Pairs never tried are self-loops, for every algorithm alike: off-line there
    /// is no second chance to try them, and a uniform row would promise the goal with
    /// probability $1/S$ to every action that exploration found not worth taking.
    pub fn evaluate<E: Environment + ?Sized>(
        &self,
        exploration: Exploration<'_>,
        environment: &mut E,
        rng: &mut ChaCha8Rng,
    ) -> Result<Vec<Success>> {
        let truth = self.truth;
        let actions: Vec<usize> = (0..truth.n_states()).map(|s| truth.n_actions(s)).collect();
        let mut successes = Vec::with_capacity(self.goal.horizons.len());
        for &horizon in &self.goal.horizons {
            let mut sum = Success {
                probability: 0.0,
                value_share: 0.0,
            };
            for _ in 0..self.goal.repetitions {
                let policy = match exploration {
                    Exploration::Policy(policy) => policy,
                    Exploration::Mixture(mixture) => &mixture.members[mixture.draw(rng)],
                };
                // the steps of a fixed policy
                let follower = Box::new(Random::new(policy.clone()));
                let mut session = Session::new(follower, &actions, false, rng.clone());
                session.begin_batch()?;
                session.collect(environment, horizon as usize)?;
                *rng = session.rng().clone();
                let model = session
                    .counts()
                    .estimate(Unvisited::SelfLoop, truth.start());
                let mut values = vec![0.0; truth.n_states()];
                self.method.run(&model, &self.reward, &mut values);
                let policy = self.method.greedy(&model, &self.reward, &values, 0.0);
                sum.probability += reach_probability(truth, &policy, self.target, self.goal.within);
                let reached = self.fine.evaluate(truth, &policy, &self.reward);
                sum.value_share += dot(truth.start(), &reached) / self.best;
            }
            let n = self.goal.repetitions as f64;
            successes.push(Success {
                probability: sum.probability / n,
                value_share: sum.value_share / n,
            });
        }
        Ok(successes)
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::{Simulator, Tables};
    use rand::SeedableRng;

    /// A line of four states: forward, or back to the start.
    fn line() -> Mdp {
        Mdp::from_fn(4, 2, |s, a, row| {
            row.push((if a == 0 { (s + 1).min(3) } else { 0 }, 1.0));
            true
        })
        .unwrap()
        .with_start_state(0)
        .unwrap()
    }

    #[test]
    fn the_far_end_is_hardest_and_reaching_it_is_counted_in_steps() {
        let mdp = line();
        // the last two are visited equally often; the end is farther
        assert_eq!(hardest_state(&mdp), 3);
        let forward = Policy::from_rows(&mdp, &vec![vec![1.0, 0.0]; 4]).unwrap();
        assert_eq!(reach_probability(&mdp, &forward, 3, 2), 0.0);
        assert_eq!(reach_probability(&mdp, &forward, 3, 3), 1.0);
        let uniform = Policy::uniform(&mdp);
        assert!((reach_probability(&mdp, &uniform, 3, 3) - 0.125).abs() < 1e-15);
    }

    #[test]
    fn the_hardest_state_can_be_reached_and_is_not_the_start_by_symmetry() {
        // a ring visited evenly: the far side; and a state that nothing leads to
        let ring = Mdp::from_fn(7, 2, |s, a, row| {
            let next = if a == 0 { (s + 1) % 6 } else { (s + 5) % 6 };
            row.push((if s == 6 { 0 } else { next }, 1.0));
            true
        })
        .unwrap()
        .with_start_state(1)
        .unwrap();
        assert_eq!(hardest_state(&ring), 4);
        let evaluator = GoalEvaluator::new(&ring, &Goal::default(), ValueIteration::default());
        assert!(evaluator.best > 0.0);
    }

    #[test]
    fn long_exploration_finds_the_best_policy() {
        let mdp = line();
        let tables = Tables::new(&mdp);
        let goal = Goal {
            horizons: vec![1, 500],
            within: 50,
            repetitions: 20,
        };
        let evaluator = GoalEvaluator::new(&mdp, &goal, ValueIteration::default());
        let uniform = Policy::uniform(&mdp);
        let mut rng = ChaCha8Rng::seed_from_u64(5);
        let found = evaluator
            .evaluate(
                Exploration::Policy(&uniform),
                &mut Simulator::new(&tables),
                &mut rng,
            )
            .unwrap();
        assert!(found[1].probability > 0.999 && found[1].value_share > 0.999);
        assert!(found[0].value_share < found[1].value_share);
    }
}
