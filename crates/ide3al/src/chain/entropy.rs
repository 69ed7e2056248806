//! Entropies of where a policy goes and what it does there.

use crate::model::{Mdp, Policy};

/// $H(p) = -\sum_i p_i \ln p_i$ in nats; $0 \ln 0 = 0$.
pub fn entropy(p: &[f64]) -> f64 {
    // + 0.0 turns the -0.0 of a point mass into 0.0
    -p.iter()
        .filter(|x| **x > 0.0)
        .map(|x| x * x.ln())
        .sum::<f64>()
        + 0.0
}

/// Entropy as a share of the largest possible over `n` outcomes, $H / \ln n$.
///
/// With one outcome the largest is zero and is always attained: the share is defined as 1.
pub fn normalized(entropy: f64, n: usize) -> f64 {
    if n <= 1 {
        1.0
    } else {
        entropy / (n as f64).ln()
    }
}

/// Entropy of the state-action distribution $\omega(s,a) = d(s)\,\pi(a|s)$ in nats:
/// $H(d) + \sum_s d(s) H(\pi(\cdot|s))$.
pub fn state_action_entropy(mdp: &Mdp, policy: &Policy, d: &[f64]) -> f64 {
    let rows = policy.probabilities();
    let within: f64 = d
        .iter()
        .enumerate()
        .map(|(s, weight)| weight * entropy(&rows[mdp.pairs(s)]))
        .sum();
    entropy(d) + within
}

/// The least visited state (the first, among equals) and its probability.
pub fn least_visited(d: &[f64]) -> (usize, f64) {
    let mut least = (0, f64::INFINITY);
    for (s, &p) in d.iter().enumerate() {
        if p < least.1 {
            least = (s, p);
        }
    }
    least
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::needless_range_loop)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        assert_eq!(entropy(&[1.0, 0.0]), 0.0);
        assert!(entropy(&[1.0, 0.0]).is_sign_positive());
        assert!((entropy(&[0.25; 4]) - 4f64.ln()).abs() < 1e-15);
        assert_eq!(normalized(0.0, 1), 1.0);
        assert_eq!(least_visited(&[0.4, 0.3, 0.3]), (1, 0.3));
    }

    #[test]
    fn pairs_of_different_states_count_as_they_are() {
        // state 0 has two actions, state 1 has one
        let mdp =
            Mdp::from_triplets(2, 2, [(0, 0, 1, 1.0), (0, 1, 1, 1.0), (1, 0, 0, 1.0)]).unwrap();
        let policy = Policy::uniform(&mdp);
        let expected = entropy(&[0.25, 0.25, 0.5]);
        let found = state_action_entropy(&mdp, &policy, &[0.5, 0.5]);
        assert!((found - expected).abs() < 1e-15);
    }
}
