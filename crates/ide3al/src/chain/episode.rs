//! What a time-dependent policy sees within its episode.

use serde::Serialize;

use super::entropy::{entropy, least_visited, normalized};
use crate::error::{Error, Result};
use crate::model::{Mdp, TimedPolicy};

/// Average over the $T$ steps of an episode of the distribution over state-action pairs:
/// $\bar\omega = \frac1T \sum_{t \le T} \omega_t$ with $\omega_t(s,a) = d_t(s)\,\pi_t(a|s)$, $d_1$
/// the start and $d_{t+1}(s') = \sum_{s,a} \omega_t(s,a) P(s'|s,a)$. Costs $O(T\,\text{nnz})$.
pub fn average_flow(mdp: &Mdp, policy: &TimedPolicy) -> Vec<f64> {
    let steps = policy.steps();
    let transposed = mdp.kernel().transpose();
    let mut d = mdp.start().to_vec();
    let mut flow = vec![0.0; mdp.n_pairs()];
    let mut sum = vec![0.0; mdp.n_pairs()];
    for t in 0..steps {
        let table = policy.at(t);
        for s in 0..mdp.n_states() {
            for pair in mdp.pairs(s) {
                flow[pair] = d[s] * table[pair];
                sum[pair] += flow[pair];
            }
        }
        if t + 1 < steps {
            mdp.kernel().arrivals(&transposed, &flow, &mut d);
        }
    }
    sum.iter_mut().for_each(|x| *x /= steps as f64);
    sum
}

/// State marginal of a distribution over pairs.
pub fn state_marginal(mdp: &Mdp, flow: &[f64]) -> Vec<f64> {
    (0..mdp.n_states())
        .map(|s| flow[mdp.pairs(s)].iter().sum())
        .collect()
}

/// One episode under a time-dependent policy. Serialises with these names as keys; those that
/// [`Analysis`](super::Analysis) has as well mean the same of the average over the episode.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EpisodeAnalysis {
    /// Number of states $S$.
    pub states: usize,
    /// Number of state-action pairs.
    pub pairs: usize,
    /// Stored transitions of the model.
    pub transitions: usize,
    /// Steps $T$ of the episode.
    pub steps: usize,
    /// $H(\bar d)$ in nats, $\bar d$ the average over the episode.
    pub entropy: f64,
    /// $H(\bar d) / \ln S$; 1 for one state.
    pub entropy_normalized: f64,
    /// $H(\bar\omega)$ in nats.
    pub state_action_entropy: f64,
    /// $H(\bar\omega) / \ln(\text{pairs})$; 1 for one pair.
    pub state_action_entropy_normalized: f64,
    /// $\min_s \bar d(s)$.
    pub min_probability: f64,
    /// The first state with that probability.
    pub least_visited_state: usize,
    /// States that the episode reaches with positive probability.
    pub states_reached: usize,
    /// $\bar d$, the expected share of the episode in each state.
    pub distribution: Vec<f64>,
}

/// Analyses one episode of a model under a time-dependent policy.
pub fn analyze_episode(mdp: &Mdp, policy: &TimedPolicy) -> Result<EpisodeAnalysis> {
    if policy.at(0).len() != mdp.n_pairs() {
        return Err(Error::Size {
            what: "time-dependent policy".into(),
            expected: format!("{} state-action pairs as in the model", mdp.n_pairs()),
            found: policy.at(0).len().to_string(),
        });
    }
    let flow = average_flow(mdp, policy);
    let d = state_marginal(mdp, &flow);
    let (states, pairs) = (entropy(&d), entropy(&flow));
    let (least_visited_state, min_probability) = least_visited(&d);
    Ok(EpisodeAnalysis {
        states: mdp.n_states(),
        pairs: mdp.n_pairs(),
        transitions: mdp.kernel().nnz(),
        steps: policy.steps(),
        entropy: states,
        entropy_normalized: normalized(states, mdp.n_states()),
        state_action_entropy: pairs,
        state_action_entropy_normalized: normalized(pairs, mdp.n_pairs()),
        min_probability,
        least_visited_state,
        states_reached: d.iter().filter(|p| **p > 0.0).count(),
        distribution: d,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::horizon::average_distribution;
    use crate::model::Policy;

    #[test]
    fn a_repeated_policy_sees_what_the_stationary_one_sees() {
        let mdp = Mdp::from_fn(5, 2, |s, a, next| {
            next.extend([((s + 1 + a) % 5, 0.7), (s, 0.3)]);
            true
        })
        .unwrap()
        .with_start_state(2)
        .unwrap();
        let policy = Policy::new(
            &mdp,
            (0..5)
                .flat_map(|s| [0.1 * s as f64, 1.0 - 0.1 * s as f64])
                .collect(),
        )
        .unwrap();
        for steps in [1, 2, 9] {
            let expected = average_distribution(&mdp.chain(&policy), steps as u64);
            let timed = TimedPolicy::repeated(&policy, steps);
            let seen = analyze_episode(&mdp, &timed).unwrap();
            for (a, b) in expected.iter().zip(&seen.distribution) {
                assert!((a - b).abs() < 1e-14);
            }
            assert_eq!(seen.states_reached, (2 * steps - 1).min(5));
        }
    }
}
