//! CountBased: rewards for rarely visited states (the paper's appendix, after MBIE-EB).

use rand_chacha::ChaCha8Rng;

use super::codec::Damage;
use super::learner::{Exploration, Learner, Lesson, Loader, Saver};
use super::value_iteration::ValueIteration;
use crate::error::Result;
use crate::model::{Policy, Unvisited};

/// After each batch: estimate the model (uniform rows for unvisited pairs), reward every
/// state with $R(s) = 1 / (N(s) + 1)$ and follow the $\epsilon$-greedy policy.
///
/// $N(s)$ counts how often the agent *acted* in $s$.
#[derive(Debug, Clone)]
pub struct CountBased {
    epsilon: f64,
    method: ValueIteration,
    policy: Policy,
    values: Vec<f64>,
}

impl CountBased {
    /// `uniform` is the uniform policy of the environment's shape, which it starts from.
    pub fn new(uniform: Policy, n_states: usize, epsilon: f64, method: ValueIteration) -> Self {
        CountBased {
            epsilon,
            method,
            policy: uniform,
            values: vec![0.0; n_states],
        }
    }
}

impl Learner for CountBased {
    fn behaviour(&mut self, _: &mut ChaCha8Rng) -> &Policy {
        &self.policy
    }

    fn update(&mut self, lesson: &Lesson<'_>) -> Result<()> {
        let model = lesson.counts.estimate(Unvisited::Uniform, lesson.start);
        let reward: Vec<f64> = lesson
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

    fn save(&self, checkpoint: &mut Saver<'_>) {
        checkpoint.0.reals(self.policy.probabilities());
        checkpoint.0.reals(&self.values);
    }

    fn load(&mut self, checkpoint: &mut Loader<'_, '_>) -> std::result::Result<(), Damage> {
        let pairs = self.policy.probabilities().len();
        self.policy = checkpoint.0.policy(pairs)?;
        let values = checkpoint.0.reals()?;
        if values.len() != self.values.len() {
            return Err("its values are of another size".into());
        }
        self.values = values;
        Ok(())
    }
}
