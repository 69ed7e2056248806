//! MaxEnt: a mixture of policies that climbs the entropy of the state distribution
//! (Hazan et al. 2019, as the paper's appendix writes it).

use std::sync::atomic::Ordering;

use rand_chacha::ChaCha8Rng;

use super::codec::Damage;
use super::estimate::{Estimate, Untried, fitted, repartition, repartition_values};
use super::learner::{Behaviour, Exploration, LearnContext, Learner, Loader, Mixture, Saver};
use super::value_iteration::ValueIteration;
use crate::chain::stationary;
use crate::error::{Error, Result};
use crate::model::{Counts, Policy, Unvisited};

/// Members of less weight than this keep the distribution computed for them last: with
/// step size $\eta$ only about $\ln(10^{-3}/\eta) / \ln(1-\eta)$ members are evaluated per
/// iteration, and what is stale has a total weight of at most $10^{-3}/\eta$.
const REFRESH_WEIGHT: f64 = 1e-3;

/// After each batch: estimate the model (a self-loop for unvisited pairs), reward every
/// state with the gradient of the mixture's entropy,
///
/// $$R(s) = -(\ln d_{\text{mix}}(s) + 1) \text{ if visited}, \qquad \ln S \text{ otherwise},$$
///
/// add the $\epsilon$-greedy policy for that reward with weight $\eta$ and scale the others
/// by $1 - \eta$. Each batch follows one policy drawn from the mixture.
///
/// $d_{\text{mix}} = \sum_k \alpha_k \hat d_k$, where $\hat d_k$ is the long-run
/// distribution of member $k$ in the estimated model. $n$ samples cannot tell a
/// probability below $1/n$ from zero, so $d_{\text{mix}}$ is cut off there. Equal policies
/// are one member: their weights add up.
#[derive(Debug, Clone)]
pub struct MaxEnt {
    epsilon: f64,
    eta: f64,
    method: ValueIteration,
    mixture: Mixture,
    /// Long-run distribution of each member in the model estimated last.
    distributions: Vec<Vec<f64>>,
    values: Vec<f64>,
    drawn: usize,
    episodic: bool,
}

impl MaxEnt {
    /// `uniform` is the uniform policy of the environment's shape, $\pi_0$.
    pub fn new(
        uniform: Policy,
        n_states: usize,
        epsilon: f64,
        eta: f64,
        method: ValueIteration,
    ) -> Self {
        MaxEnt {
            epsilon,
            eta,
            method,
            mixture: Mixture {
                members: vec![uniform],
                weights: vec![1.0],
            },
            distributions: vec![Vec::new()],
            values: vec![0.0; n_states],
            drawn: 0,
            episodic: false,
        }
    }

    /// Plans for the states seen and for episodes, which end and are truncated.
    #[must_use]
    pub fn episodic(self) -> Self {
        MaxEnt {
            episodic: true,
            ..self
        }
    }

    /// Visits of the mixture, then the greedy policy for their gradient, all of it on the estimate
    /// as episodic.
    fn update_for_episodes(&mut self, context: &LearnContext<'_>) -> Result<()> {
        let counts = context.counts;
        let estimate = Estimate::new(counts, Untried::Rival(Unvisited::SelfLoop));
        let model = &estimate.model;
        let mut d = vec![0.0; counts.n_states()];
        for (k, member) in self.mixture.members.iter_mut().enumerate() {
            if member.probabilities().len() < counts.n_pairs() {
                *member = fitted(member, counts);
            }
            let weight = self.mixture.weights[k];
            if self.distributions[k].is_empty() || weight >= REFRESH_WEIGHT {
                if context.stop.load(Ordering::Relaxed) {
                    return Err(Error::Interrupted);
                }
                let plan = Policy::of_rows(estimate.plan(counts, member));
                let visited = stationary::long_run(&model.chain(&plan)).distribution;
                self.distributions[k] = estimate.visits(counts, &visited);
            }
            for (sum, p) in d.iter_mut().zip(&self.distributions[k]) {
                *sum += weight * p;
            }
        }
        let floor = 1.0 / counts.total().max(1) as f64;
        let most = (counts.n_states() as f64).ln();
        let reward: Vec<f64> = d
            .iter()
            .zip(counts.state_totals())
            .map(|(p, &visits)| match visits {
                0 => most,
                _ => -(p.max(floor).ln() + 1.0),
            })
            .collect();
        let reward = estimate.gather(&reward, 0.0);
        let mut values = estimate.gather(&self.values, 0.0);
        self.method.run(model, &reward, &mut values);
        let greedy = self.method.greedy(model, &reward, &values, self.epsilon);
        self.add(estimate.policy(counts, greedy.probabilities()));
        self.values = vec![0.0; counts.n_states()];
        for (&s, v) in estimate.known.iter().zip(values) {
            self.values[s as usize] = v;
        }
        Ok(())
    }

    /// A new member of weight $\eta$.
    fn add(&mut self, policy: Policy) {
        for weight in &mut self.mixture.weights {
            *weight *= 1.0 - self.eta;
        }
        match self.mixture.members.iter().position(|m| *m == policy) {
            Some(k) => self.mixture.weights[k] += self.eta,
            None => {
                self.mixture.members.push(policy);
                self.mixture.weights.push(self.eta);
                self.distributions.push(Vec::new());
            }
        }
    }
}

impl Learner for MaxEnt {
    fn behaviour(&mut self, rng: &mut ChaCha8Rng) -> Behaviour<'_> {
        self.drawn = self.mixture.draw(rng);
        Behaviour::Policy(&self.mixture.members[self.drawn])
    }

    fn update(&mut self, context: &LearnContext<'_>) -> Result<()> {
        if self.episodic {
            return self.update_for_episodes(context);
        }
        let counts = context.counts;
        let n_states = counts.n_states();
        let model = counts.estimate(Unvisited::SelfLoop, context.start);
        let mut d = vec![0.0; n_states];
        for (k, member) in self.mixture.members.iter().enumerate() {
            let weight = self.mixture.weights[k];
            if self.distributions[k].is_empty() || weight >= REFRESH_WEIGHT {
                if context.stop.load(Ordering::Relaxed) {
                    return Err(Error::Interrupted);
                }
                self.distributions[k] = stationary::long_run(&model.chain(member)).distribution;
            }
            for (sum, p) in d.iter_mut().zip(&self.distributions[k]) {
                *sum += weight * p;
            }
        }
        let floor = 1.0 / counts.total().max(1) as f64;
        let reward: Vec<f64> = d
            .iter()
            .zip(counts.state_totals())
            .map(|(p, &visits)| {
                if visits > 0 {
                    -(p.max(floor).ln() + 1.0)
                } else {
                    (n_states as f64).ln()
                }
            })
            .collect();
        self.method.run(&model, &reward, &mut self.values);
        let policy = self
            .method
            .greedy(&model, &reward, &self.values, self.epsilon);
        self.add(policy);
        Ok(())
    }

    fn exploration(&self) -> Exploration<'_> {
        Exploration::Mixture(&self.mixture)
    }

    fn repartition(&mut self, from: &[usize], counts: &Counts) -> Result<()> {
        let n_actions = counts.pairs(0).len();
        for member in &mut self.mixture.members {
            *member = repartition(member, from, n_actions);
        }
        for distribution in &mut self.distributions {
            distribution.clear();
        }
        self.values = repartition_values(&self.values, from, 0.0);
        Ok(())
    }

    fn unvisited(&self) -> Unvisited {
        Unvisited::SelfLoop
    }

    fn plans_for_episodes(&self) -> bool {
        self.episodic
    }

    fn save(&self, checkpoint: &mut Saver<'_>) {
        let writer = &mut *checkpoint.0;
        writer.reals(&self.mixture.weights);
        for (member, distribution) in self.mixture.members.iter().zip(&self.distributions) {
            writer.reals(member.probabilities());
            writer.reals(distribution);
        }
        writer.reals(&self.values);
        writer.number(self.drawn as u64);
    }

    fn load(&mut self, checkpoint: &mut Loader<'_, '_>) -> std::result::Result<(), Damage> {
        let reader = &mut *checkpoint.0;
        let pairs = self.mixture.members[0].probabilities().len();
        let n_states = self.values.len();
        let weights = reader.reals()?;
        let mut members = Vec::new();
        let mut distributions = Vec::new();
        for _ in &weights {
            members.push(if self.episodic {
                reader.any_policy()?
            } else {
                reader.policy(pairs)?
            });
            let distribution = reader.reals()?;
            if !distribution.is_empty() && distribution.len() != n_states && !self.episodic {
                return Err("a distribution is of another size".into());
            }
            distributions.push(distribution);
        }
        let values = reader.reals()?;
        if (values.len() != n_states && !self.episodic) || members.is_empty() {
            return Err("its values are of another size".into());
        }
        let drawn = reader.index(members.len(), "member")?;
        self.mixture = Mixture { members, weights };
        self.distributions = distributions;
        self.values = values;
        self.drawn = drawn;
        Ok(())
    }
}
