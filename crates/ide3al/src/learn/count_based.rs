//! CountBased: rewards for rarely visited states (the paper's appendix, after MBIE-EB).

use rand_chacha::ChaCha8Rng;

use super::codec::Damage;
use super::estimate::{Estimate, Untried, fitted, repartition, repartition_values};
use super::learner::{Behaviour, Exploration, LearnContext, Learner, Loader, Saver};
use super::value_iteration::ValueIteration;
use crate::error::Result;
use crate::model::{Counts, Policy, Unvisited};

/// After each batch: estimate the model (uniform rows for unvisited pairs), reward every
/// state with $R(s) = 1 / (N(s) + 1)$ and follow the $\epsilon$-greedy policy.
///
/// $N(s)$ counts how often the agent *acted* in $s$.
///
/// [For episodes](CountBased::episodic) it plans on the states seen, ends and cuts of episodes
/// included; all states never seen are one, worth the reward of each of them.
#[derive(Debug, Clone)]
pub struct CountBased {
    epsilon: f64,
    method: ValueIteration,
    policy: Policy,
    values: Vec<f64>,
    episodic: bool,
}

impl CountBased {
    /// `uniform` is the uniform policy of the environment's shape, which it starts from.
    pub fn new(uniform: Policy, n_states: usize, epsilon: f64, method: ValueIteration) -> Self {
        CountBased {
            epsilon,
            method,
            policy: uniform,
            values: vec![0.0; n_states],
            episodic: false,
        }
    }

    /// Plans for the states seen and for episodes, which end and are truncated.
    #[must_use]
    pub fn episodic(self) -> Self {
        CountBased {
            episodic: true,
            ..self
        }
    }

    fn update_for_episodes(&mut self, context: &LearnContext<'_>) {
        let counts = context.counts;
        let estimate = Estimate::new(counts, Untried::Rival(Unvisited::Uniform));
        let reward: Vec<f64> = counts
            .state_totals()
            .iter()
            .map(|&n| 1.0 / (n as f64 + 1.0))
            .collect();
        let known = estimate.known.len();
        let mean = estimate
            .known
            .iter()
            .map(|s| reward[*s as usize])
            .sum::<f64>()
            / known as f64;
        let mut of_estimate = estimate.gather(&reward, mean);
        if let Some(unknown_state) = estimate.unknown_state()
            && (known < counts.n_states() || context.open)
        {
            of_estimate[unknown_state] = 1.0;
        }
        let some = self.values.iter().sum::<f64>() / self.values.len().max(1) as f64;
        let mut values = estimate.gather(&self.values, some);
        self.method.run(&estimate.model, &of_estimate, &mut values);
        let greedy = self
            .method
            .greedy(&estimate.model, &of_estimate, &values, self.epsilon);
        self.policy = estimate.policy(counts, greedy.probabilities());
        self.values = vec![some; counts.n_states()];
        for (&s, v) in estimate.known.iter().zip(values) {
            self.values[s as usize] = v;
        }
    }
}

impl Learner for CountBased {
    fn behaviour(&mut self, _: &mut ChaCha8Rng) -> Behaviour<'_> {
        Behaviour::Policy(&self.policy)
    }

    fn update(&mut self, context: &LearnContext<'_>) -> Result<()> {
        if self.episodic {
            self.policy = fitted(&self.policy, context.counts);
            self.update_for_episodes(context);
            return Ok(());
        }
        let model = context.counts.estimate(Unvisited::Uniform, context.start);
        let reward: Vec<f64> = context
            .counts
            .state_totals()
            .iter()
            .map(|&n| 1.0 / (n as f64 + 1.0))
            .collect();
        self.method.run(&model, &reward, &mut self.values);
        self.policy = self
            .method
            .greedy(&model, &reward, &self.values, self.epsilon);
        Ok(())
    }

    fn exploration(&self) -> Exploration<'_> {
        Exploration::Policy(&self.policy)
    }

    fn repartition(&mut self, from: &[usize], counts: &Counts) -> Result<()> {
        let n_actions = counts.pairs(0).len();
        self.policy = repartition(&self.policy, from, n_actions);
        self.values = repartition_values(&self.values, from, 0.0);
        Ok(())
    }

    fn plans_for_episodes(&self) -> bool {
        self.episodic
    }

    fn save(&self, checkpoint: &mut Saver<'_>) {
        checkpoint.0.reals(self.policy.probabilities());
        checkpoint.0.reals(&self.values);
    }

    fn load(&mut self, checkpoint: &mut Loader<'_, '_>) -> std::result::Result<(), Damage> {
        let pairs = self.policy.probabilities().len();
        self.policy = if self.episodic {
            checkpoint.0.any_policy()?
        } else {
            checkpoint.0.policy(pairs)?
        };
        let values = checkpoint.0.reals()?;
        if values.len() != self.values.len() && !self.episodic {
            return Err("its values are of another size".into());
        }
        self.values = values;
        Ok(())
    }
}
