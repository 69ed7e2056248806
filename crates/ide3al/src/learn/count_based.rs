//! CountBased: rewards for rarely visited states (the paper's appendix, after MBIE-EB).

use rand_chacha::ChaCha8Rng;

use super::codec::Damage;
use super::estimate::{Estimate, Untried, fitted, recut, recut_values};
use super::learner::{Behaviour, Exploration, Learner, Lesson, Loader, Saver};
use super::value_iteration::ValueIteration;
use crate::error::Result;
use crate::model::{Counts, Policy, Unvisited};

/// After each batch: estimate the model (uniform rows for unvisited pairs), reward every
/// state with $R(s) = 1 / (N(s) + 1)$ and follow the $\epsilon$-greedy policy.
///
/// $N(s)$ counts how often the agent *acted* in $s$.
///
/// [As lived](CountBased::as_lived) it plans on the states seen, ends and cuts of episodes
/// included; all states never seen are one, worth the reward of each of them.
#[derive(Debug, Clone)]
pub struct CountBased {
    epsilon: f64,
    method: ValueIteration,
    policy: Policy,
    values: Vec<f64>,
    lived: bool,
}

impl CountBased {
    /// `uniform` is the uniform policy of the environment's shape, which it starts from.
    pub fn new(uniform: Policy, n_states: usize, epsilon: f64, method: ValueIteration) -> Self {
        CountBased {
            epsilon,
            method,
            policy: uniform,
            values: vec![0.0; n_states],
            lived: false,
        }
    }

    /// Plans for the states seen and the episodes lived.
    #[must_use]
    pub fn as_lived(self) -> Self {
        CountBased {
            lived: true,
            ..self
        }
    }

    fn update_as_lived(&mut self, lesson: &Lesson<'_>) {
        let counts = lesson.counts;
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
        if let Some(lump) = estimate.lump()
            && (known < counts.n_states() || lesson.open)
        {
            of_estimate[lump] = 1.0;
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

    fn update(&mut self, lesson: &Lesson<'_>) -> Result<()> {
        if self.lived {
            self.policy = fitted(&self.policy, lesson.counts);
            self.update_as_lived(lesson);
            return Ok(());
        }
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

    fn recut(&mut self, from: &[usize], counts: &Counts) -> Result<()> {
        let n_actions = counts.pairs(0).len();
        self.policy = recut(&self.policy, from, n_actions);
        self.values = recut_values(&self.values, from, 0.0);
        Ok(())
    }

    fn plans_as_lived(&self) -> bool {
        self.lived
    }

    fn save(&self, checkpoint: &mut Saver<'_>) {
        checkpoint.0.reals(self.policy.probabilities());
        checkpoint.0.reals(&self.values);
    }

    fn load(&mut self, checkpoint: &mut Loader<'_, '_>) -> std::result::Result<(), Damage> {
        let pairs = self.policy.probabilities().len();
        self.policy = if self.lived {
            checkpoint.0.any_policy()?
        } else {
            checkpoint.0.policy(pairs)?
        };
        let values = checkpoint.0.reals()?;
        if values.len() != self.values.len() && !self.lived {
            return Err("its values are of another size".into());
        }
        self.values = values;
        Ok(())
    }
}
