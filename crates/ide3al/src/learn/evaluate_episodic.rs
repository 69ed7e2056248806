//! How good an exploration is over episodes, as far as the estimate can tell.

use super::estimate::{Estimate, Untried, fitted};
use super::evaluator::{DataFigures, Metrics};
use super::learner::Exploration;
use crate::chain::{entropy, spectrum, stationary};
use crate::model::{Counts, Policy};

/// What the estimate says of an exploration.
#[derive(Debug, Clone)]
pub struct EpisodicEvaluation {
    /// The policy; for a mixture, the one with the visits of all its members together.
    pub policy: Policy,
    /// How often each state is visited: average over episodes.
    pub distribution: Vec<f64>,
    /// Its figures; the spectral gap is that of the chain with restarts.
    pub metrics: Metrics,
}

/// Evaluates on the states seen, ends and cuts of episodes included. `with_gap`: also computes the
/// spectral gap, the dearest of the figures.
pub fn evaluate_episodic(
    exploration: Exploration<'_>,
    counts: &Counts,
    with_gap: bool,
) -> EpisodicEvaluation {
    let estimate = Estimate::new(counts, Untried::Siblings);
    let model = &estimate.model;
    let visits = |policy: &Policy| {
        let plan = Policy::of_rows(estimate.plan(counts, policy));
        let long_run = stationary::long_run(&model.chain(&plan));
        estimate.visits(counts, &long_run.distribution)
    };
    let (policy, distribution) = match exploration {
        Exploration::Policy(policy) => (fitted(policy, counts), visits(policy)),
        Exploration::Mixture(mixture) => {
            let mut state = vec![0.0; counts.n_states()];
            let mut pair = vec![0.0; counts.n_pairs()];
            for (member, weight) in mixture.members.iter().zip(&mixture.weights) {
                let member = fitted(member, counts);
                for (s, p) in visits(&member).iter().enumerate() {
                    state[s] += weight * p;
                    for k in counts.pairs(s) {
                        pair[k] += weight * p * member.probabilities()[k];
                    }
                }
            }
            for s in 0..counts.n_states() {
                let even = 1.0 / counts.pairs(s).len() as f64;
                for p in &mut pair[counts.pairs(s)] {
                    *p = if state[s] > 0.0 { *p / state[s] } else { even };
                }
            }
            (Policy::of_rows(pair), state)
        }
    };
    let rows = policy.probabilities();
    let within: f64 = distribution
        .iter()
        .enumerate()
        .map(|(s, p)| p * entropy::entropy(&rows[counts.pairs(s)]))
        .sum();
    let of_states = entropy::entropy(&distribution);
    let mut metrics = Metrics {
        entropy: of_states,
        state_action_entropy: of_states + within,
        min_probability: entropy::least_visited(&distribution).1,
        spectral_gap: f64::NAN,
        model_error: f64::NAN,
        data: DataFigures::NONE,
    };
    if with_gap {
        let chain = model.chain(&Policy::of_rows(estimate.plan(counts, &policy)));
        let long_run = stationary::long_run(&chain);
        metrics.spectral_gap = 1.0 - spectrum::second_modulus(&chain, &long_run);
    }
    EpisodicEvaluation {
        policy,
        distribution,
        metrics,
    }
}
