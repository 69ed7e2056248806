//! Value iteration for a reward on states, on sparse and partly uniform rows.

use crate::model::{Mdp, Policy};

/// How to iterate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ValueIteration {
    /// $\gamma$. The paper names none; 0.99 looks about a hundred steps ahead, which
    /// crosses every domain of the paper.
    pub discount: f64,
    /// Wanted accuracy of the values, relative to the spread of the rewards: at the end
    /// $\max_s |V(s) - V^*(s)| \le \text{tolerance} \cdot (\max R - \min R)$ and the greedy
    /// policy loses at most twice that.
    pub tolerance: f64,
    /// Most sweeps.
    pub max_sweeps: usize,
}

impl Default for ValueIteration {
    fn default() -> Self {
        ValueIteration {
            discount: 0.99,
            tolerance: 1e-3,
            max_sweeps: 10_000,
        }
    }
}

/// Actions whose values differ by less than this share of the rewards' spread count as
/// equally good.
const TIE: f64 = 1e-9;

impl ValueIteration {
    /// Improves `values` to the optimal values of
    ///
    /// $$V(s) = R(s) + \gamma \max_a \sum_t P(t|s,a) V(t),$$
    ///
    /// starting from whatever `values` holds. Returns the number of sweeps.
    ///
    /// With $\delta = V_{k+1} - V_k$, MacQueen's bounds put $V^*$ between
    /// $V_{k+1} + \frac{\gamma}{1-\gamma} \min \delta$ and
    /// $V_{k+1} + \frac{\gamma}{1-\gamma} \max \delta$; the sweeps end when these are within
    /// the tolerance, and the values returned lie in the middle. That takes about as many
    /// sweeps as the chain takes to mix, far fewer than $1/(1-\gamma)$.
    /// Each costs $O(\text{nnz} + \text{pairs})$.
    pub fn run(&self, mdp: &Mdp, reward: &[f64], values: &mut [f64]) -> usize {
        let gamma = self.discount;
        let (least, most) = range(reward);
        let wanted = self.tolerance * (most - least);
        if wanted <= 0.0 {
            // a constant reward
            values.fill(least / (1.0 - gamma));
            return 0;
        }
        let mut ahead = vec![0.0; mdp.n_pairs()];
        for sweep in 1..=self.max_sweeps {
            mdp.kernel().times(values, &mut ahead);
            let (mut low, mut high) = (f64::INFINITY, f64::NEG_INFINITY);
            for (s, value) in values.iter_mut().enumerate() {
                let best = ahead[mdp.pairs(s)]
                    .iter()
                    .fold(f64::NEG_INFINITY, |best, q| best.max(*q));
                let new = reward[s] + gamma * best;
                let change = new - *value;
                low = low.min(change);
                high = high.max(change);
                *value = new;
            }
            let factor = gamma / (1.0 - gamma);
            if factor * (high - low) <= 2.0 * wanted {
                let shift = factor * 0.5 * (high + low);
                values.iter_mut().for_each(|v| *v += shift);
                return sweep;
            }
        }
        self.max_sweeps
    }

    /// The $\epsilon$-greedy policy for given values:
    /// $\pi(a|s) = \epsilon / A_s + (1 - \epsilon) / |G_s|$ for $a$ in the set $G_s$ of
    /// greedy actions, $\epsilon / A_s$ otherwise. Ties are shared, not decided by
    /// numbering: an agent that knows nothing should not prefer action 0.
    pub fn greedy(&self, mdp: &Mdp, reward: &[f64], values: &[f64], epsilon: f64) -> Policy {
        let mut ahead = vec![0.0; mdp.n_pairs()];
        mdp.kernel().times(values, &mut ahead);
        let (least, most) = range(reward);
        let tie = TIE * (most - least).max(f64::MIN_POSITIVE);
        for s in 0..mdp.n_states() {
            let row = &mut ahead[mdp.pairs(s)];
            let best = row.iter().fold(f64::NEG_INFINITY, |best, q| best.max(*q));
            let winners = row.iter().filter(|q| **q >= best - tie).count() as f64;
            let n = row.len() as f64;
            for q in row {
                let greedy = if *q >= best - tie { 1.0 / winners } else { 0.0 };
                *q = epsilon / n + (1.0 - epsilon) * greedy;
            }
        }
        Policy::cleaned(mdp, ahead)
    }

    /// Values of a fixed policy, $V(s) = R(s) + \gamma \sum_t M_{st}(\pi) V(t)$, to the same
    /// tolerance.
    pub fn evaluate(&self, mdp: &Mdp, policy: &Policy, reward: &[f64]) -> Vec<f64> {
        let chain = mdp.chain(policy);
        let single: Vec<usize> = (0..=mdp.n_states()).collect();
        let process = Mdp::from_parts(
            single,
            vec![0; mdp.n_states()],
            chain.kernel().clone(),
            mdp.start().to_vec(),
        );
        let mut values = vec![0.0; mdp.n_states()];
        self.run(&process, reward, &mut values);
        values
    }
}

fn range(reward: &[f64]) -> (f64, f64) {
    reward
        .iter()
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), r| {
            (low.min(*r), high.max(*r))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{Counts, Unvisited};

    /// Stay or hop between two states; reward 1 in state 1.
    fn two_states() -> Mdp {
        Mdp::from_triplets(
            2,
            2,
            [
                (0, 0, 0, 1.0),
                (0, 1, 1, 1.0),
                (1, 0, 1, 1.0),
                (1, 1, 0, 1.0),
            ],
        )
        .unwrap()
    }

    #[test]
    fn values_match_the_closed_form() {
        let mdp = two_states();
        let method = ValueIteration {
            tolerance: 1e-9,
            ..ValueIteration::default()
        };
        let mut values = vec![5.0, -3.0];
        method.run(&mdp, &[0.0, 1.0], &mut values);
        // stay in 1 forever: 1 / (1 - 0.99); from 0 one step later
        assert!((values[1] - 100.0).abs() < 1e-6, "{values:?}");
        assert!((values[0] - 99.0).abs() < 1e-6, "{values:?}");
        let policy = method.greedy(&mdp, &[0.0, 1.0], &values, 0.1);
        let expected = [0.05, 0.95, 0.95, 0.05];
        for (p, q) in policy.probabilities().iter().zip(expected) {
            assert!((p - q).abs() < 1e-12);
        }
        let of_policy = method.evaluate(&mdp, &policy, &[0.0, 1.0]);
        // V1 = 1 + g(.95 V1 + .05 V0), V0 = g(.95 V1 + .05 V0)
        assert!((of_policy[1] - of_policy[0] - 1.0).abs() < 1e-6);
        assert!((of_policy[1] - (1.0 + 0.99 * (of_policy[1] - 0.05))).abs() < 1e-6);
    }

    #[test]
    fn ties_are_shared_and_a_constant_reward_is_no_trouble() {
        let mdp = two_states();
        let method = ValueIteration::default();
        let mut values = vec![0.0; 2];
        method.run(&mdp, &[0.3, 0.3], &mut values);
        let policy = method.greedy(&mdp, &[0.3, 0.3], &values, 0.1);
        assert!(policy.distance(&Policy::uniform(&mdp)) < 1e-15);
    }

    #[test]
    fn uniform_rows_attract_like_the_mean_value() {
        let mut counts = Counts::new(&[2, 1, 1]);
        counts.record(0, 0, 0);
        counts.record(1, 0, 0);
        counts.record(2, 0, 0);
        let mdp = counts.estimate(Unvisited::Uniform, &[1.0, 0.0, 0.0]);
        let method = ValueIteration::default();
        let mut values = vec![0.0; 3];
        let reward = [0.0, 0.0, 1.0];
        method.run(&mdp, &reward, &mut values);
        // the only way to state 2 is the pair never tried
        let policy = method.greedy(&mdp, &reward, &values, 0.0);
        assert_eq!(policy.probabilities()[1], 1.0);
    }
}
