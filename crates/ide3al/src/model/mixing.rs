//! The chain that a policy makes of a decision process.

use super::{Kernel, Mdp, Policy};

impl Mdp {
    /// The chain of a policy as a model in which every state has one action.
    pub fn under_policy(&self, policy: &Policy) -> Self {
        let n = self.n_states();
        let chain = self.mix(policy.probabilities());
        Mdp::from_parts((0..=n).collect(), vec![0; n], chain, self.start().to_vec())
    }

    /// The rows $\sum_a w(s,a) P(\cdot|s,a)$ for any non-negative weights, one per pair.
    pub(crate) fn mix(&self, probabilities: &[f64]) -> Kernel {
        let n = self.n_states();
        let mut offsets = Vec::with_capacity(n + 1);
        offsets.push(0);
        let mut indices: Vec<u32> = Vec::new();
        let mut values: Vec<f64> = Vec::new();
        let mut spread = if self.kernel.has_spread() {
            vec![0.0; n]
        } else {
            Vec::new()
        };
        let mut row: Vec<(u32, f64)> = Vec::new();
        for s in 0..n {
            row.clear();
            for pair in self.pairs(s) {
                let weight = probabilities[pair];
                if weight > 0.0 {
                    let source = self.kernel.row(pair);
                    row.extend(
                        source
                            .indices
                            .iter()
                            .zip(source.values)
                            .map(|(&t, &p)| (t, weight * p)),
                    );
                    if source.spread > 0.0 {
                        spread[s] += weight * source.spread;
                    }
                }
            }
            row.sort_by_key(|entry| entry.0);
            let first = indices.len();
            for &(t, p) in &row {
                if indices.len() > first && indices.last() == Some(&t) {
                    values[indices.len() - 1] += p;
                } else {
                    indices.push(t);
                    values.push(p);
                }
            }
            offsets.push(indices.len());
        }
        if spread.iter().all(|c| *c == 0.0) {
            spread.clear();
        }
        Kernel::from_raw(n, offsets, indices, values, spread)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_chain_of_a_policy_mixes_rows() {
        let mdp = Mdp::from_triplets(
            2,
            2,
            [
                (0, 0, 0, 1.0),
                (0, 1, 1, 1.0),
                (1, 0, 1, 1.0),
                (1, 1, 0, 1.0),
            ],
        )
        .unwrap();
        let policy = Policy::new(&mdp, vec![0.25, 0.75, 1.0, 0.0]).unwrap();
        assert_eq!(
            mdp.chain(&policy).kernel().to_dense(),
            [[0.25, 0.75], [0.0, 1.0]]
        );
    }
}
