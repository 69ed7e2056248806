//! How good an exploration is, against the true model where it is known.

use super::evaluate_episodic::EpisodicEvaluation;
use super::learner::{Exploration, Mixture};
use crate::chain::{Chain, LongRun, entropy, spectrum, stationary};
use crate::model::{Counts, Kernel, Mdp, Policy, Unvisited};

/// The figures of one iteration, entropies in nats.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Metrics {
    /// $H(d)$.
    pub entropy: f64,
    /// $H(d \Pi)$, the entropy of state-action pairs.
    pub state_action_entropy: f64,
    /// $\min_s d(s)$.
    pub min_probability: f64,
    /// $1 - |\lambda_2|$; NaN in iterations where it was not computed.
    pub spectral_gap: f64,
    /// $\|P - \hat P\|_F$; NaN where the true model is unknown.
    pub model_error: f64,
    /// How much was seen; [`Session::evaluate`](super::Session::evaluate) fills it in.
    pub data: DataFigures,
}

/// How much was seen until some iteration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DataFigures {
    /// Number of states in which the agent acted.
    pub states_met: f64,
    /// Number of state-action pairs tried.
    pub pairs_tried: f64,
    /// The exponential of the entropy of the states in which the agent acted.
    pub effective_states: f64,
}

impl DataFigures {
    /// Nothing seen.
    pub const NONE: DataFigures = DataFigures {
        states_met: 0.0,
        pairs_tried: 0.0,
        effective_states: 0.0,
    };

    /// Names of the columns, in the order of [`values`](Self::values).
    pub const NAMES: [&'static str; 3] = ["states_met", "pairs_tried", "effective_states"];

    /// Of what was counted.
    pub fn of(counts: &Counts) -> Self {
        let visits: Vec<f64> = counts.state_totals().iter().map(|n| *n as f64).collect();
        let whole: f64 = visits.iter().sum();
        if whole == 0.0 {
            return DataFigures::NONE;
        }
        let shares: Vec<f64> = visits.iter().map(|n| n / whole).collect();
        DataFigures {
            states_met: visits.iter().filter(|n| **n > 0.0).count() as f64,
            pairs_tried: counts.pair_totals().iter().filter(|n| **n > 0).count() as f64,
            effective_states: entropy::entropy(&shares).exp(),
        }
    }

    /// All figures.
    pub fn values(&self) -> [f64; 3] {
        [self.states_met, self.pairs_tried, self.effective_states]
    }
}

impl Metrics {
    /// Names of the columns, in the order of [`values`](Self::values).
    pub const NAMES: [&'static str; 7] = [
        "entropy",
        "entropy_normalized",
        "state_action_entropy",
        "state_action_entropy_normalized",
        "min_probability",
        "spectral_gap",
        "model_error",
    ];

    /// All figures, entropies also as a share of $\ln S$ and of $\ln(\text{pairs})$.
    pub fn values(&self, n_states: usize, n_pairs: usize) -> [f64; 7] {
        [
            self.entropy,
            entropy::normalized(self.entropy, n_states),
            self.state_action_entropy,
            entropy::normalized(self.state_action_entropy, n_pairs),
            self.min_probability,
            self.spectral_gap,
            self.model_error,
        ]
    }
}

/// Judges the explorations of one run, remembering what does not change from one iteration
/// to the next.
///
/// A mixture is evaluated on $\sum_k \alpha_k d^{\pi_k}$ and
/// $\sum_k \alpha_k d^{\pi_k} \Pi_k$: one policy is drawn, once, and then followed. The chain
/// of that is reducible, so its spectral gap (and the policy that is written to disk) is the
/// one of the equivalent stationary policy
/// $\pi(a|s) = \sum_k \alpha_k d^{\pi_k}(s) \pi_k(a|s) / \sum_k \alpha_k d^{\pi_k}(s)$,
/// which has the same long-run distribution of state-action pairs.
#[derive(Debug)]
pub struct Evaluator<'a> {
    truth: Option<&'a Mdp>,
    /// The policy evaluated last; for a mixture, the equivalent one.
    policy: Policy,
    /// Whether `known` belongs to `policy`.
    fresh: bool,
    known: Metrics,
    /// True long-run distribution of each member of a mixture.
    members: Vec<Vec<f64>>,
    distribution: Vec<f64>,
}

impl<'a> Evaluator<'a> {
    /// Against the true model, or against each estimate where it is unknown.
    pub fn new(truth: Option<&'a Mdp>, uniform: Policy) -> Self {
        Evaluator {
            truth,
            policy: uniform,
            fresh: false,
            known: Metrics {
                entropy: f64::NAN,
                state_action_entropy: f64::NAN,
                min_probability: f64::NAN,
                spectral_gap: f64::NAN,
                model_error: f64::NAN,
                data: DataFigures::NONE,
            },
            members: Vec::new(),
            distribution: Vec::new(),
        }
    }

    /// The policy evaluated last; for a mixture, the equivalent one.
    pub fn policy(&self) -> &Policy {
        &self.policy
    }

    /// Goes on from a checkpoint: `policy` is the one evaluated last.
    pub(crate) fn restore(&mut self, policy: Policy) {
        self.policy = policy;
        self.fresh = false;
        self.members.clear();
    }

    /// Whether the true model is known.
    pub(crate) fn knows_truth(&self) -> bool {
        self.truth.is_some()
    }

    /// Takes over an evaluation on episodes.
    pub(crate) fn adopt(&mut self, evaluated: EpisodicEvaluation) -> Metrics {
        self.policy = evaluated.policy;
        self.distribution = evaluated.distribution;
        self.fresh = false;
        evaluated.metrics
    }

    /// The state distribution of the exploration evaluated last.
    pub fn distribution(&self) -> &[f64] {
        &self.distribution
    }

    /// Evaluates an exploration; `with_gap` says whether to compute the spectral gap, the
    /// dearest of the figures. `counts`, `unvisited` and `start` describe the estimate.
    pub fn evaluate(
        &mut self,
        exploration: Exploration<'_>,
        counts: &Counts,
        unvisited: Unvisited,
        start: &[f64],
        with_gap: bool,
    ) -> Metrics {
        let mut metrics = match self.truth {
            Some(truth) => {
                let mut metrics = self.long_run_figures(truth, exploration, with_gap);
                metrics.model_error = model_error(truth, counts, unvisited);
                metrics
            }
            None => {
                // every estimate is another model
                self.fresh = false;
                self.members.clear();
                let estimate = counts.estimate(unvisited, start);
                self.long_run_figures(&estimate, exploration, with_gap)
            }
        };
        if !with_gap {
            metrics.spectral_gap = f64::NAN;
        }
        metrics
    }

    fn long_run_figures(
        &mut self,
        model: &Mdp,
        exploration: Exploration<'_>,
        with_gap: bool,
    ) -> Metrics {
        match exploration {
            Exploration::Policy(policy) => {
                let same = self.fresh && *policy == self.policy;
                if same && !(with_gap && self.known.spectral_gap.is_nan()) {
                    return self.known;
                }
                let chain = model.chain(policy);
                let long_run = stationary::long_run(&chain);
                if !same {
                    self.distribution.clone_from(&long_run.distribution);
                    self.policy = policy.clone();
                    self.fresh = true;
                    self.known = figures(model, &self.distribution, policy);
                }
                if with_gap {
                    self.known.spectral_gap = gap(&chain, &long_run);
                }
            }
            Exploration::Mixture(mixture) => {
                self.mix(model, mixture);
                self.known = figures(model, &self.distribution, &self.policy);
                self.fresh = false;
                if with_gap {
                    let chain = model.chain(&self.policy);
                    self.known.spectral_gap = gap(&chain, &stationary::long_run(&chain));
                }
            }
        }
        self.known
    }

    /// The distribution of a mixture and its equivalent policy.
    fn mix(&mut self, model: &Mdp, mixture: &Mixture) {
        for member in &mixture.members[self.members.len()..] {
            self.members
                .push(stationary::long_run(&model.chain(member)).distribution);
        }
        let mut state = vec![0.0; model.n_states()];
        let mut pair = vec![0.0; model.n_pairs()];
        for ((member, d), weight) in mixture
            .members
            .iter()
            .zip(&self.members)
            .zip(&mixture.weights)
        {
            let probabilities = member.probabilities();
            for (s, p) in d.iter().enumerate() {
                let mass = weight * p;
                state[s] += mass;
                for k in model.pairs(s) {
                    pair[k] += mass * probabilities[k];
                }
            }
        }
        // a state the mixture never visits gets a uniform row
        self.policy = Policy::cleaned(model, pair);
        self.distribution = state;
    }
}

fn figures(model: &Mdp, d: &[f64], policy: &Policy) -> Metrics {
    Metrics {
        entropy: entropy::entropy(d),
        state_action_entropy: entropy::state_action_entropy(model, policy, d),
        min_probability: entropy::least_visited(d).1,
        spectral_gap: f64::NAN,
        model_error: f64::NAN,
        data: DataFigures::NONE,
    }
}

fn gap(chain: &Chain, long_run: &LongRun) -> f64 {
    1.0 - spectrum::second_modulus(chain, long_run)
}

/// $\|P - \hat P\|_F$ over all pairs and next states, from the counts themselves. Costs
/// $O(\text{nnz} + \text{distinct transitions} + \text{pairs})$.
pub fn model_error(truth: &Mdp, counts: &Counts, unvisited: Unvisited) -> f64 {
    let kernel: &Kernel = truth.kernel();
    let n = truth.n_states() as f64;
    let mut sum = 0.0;
    for s in 0..truth.n_states() {
        for pair in truth.pairs(s) {
            let row = kernel.row(pair);
            let total = counts.pair_totals()[pair];
            let looped = [(s as u32, 1)];
            // what the estimate spreads evenly, and what it puts in single places
            let (spread, scale, seen): (f64, f64, &[(u32, u64)]) = if total > 0 {
                (0.0, 1.0 / total as f64, counts.seen(pair))
            } else if unvisited == Unvisited::SelfLoop {
                (0.0, 1.0, &looped)
            } else {
                (1.0, 0.0, &[])
            };
            let base = (row.spread - spread) / n;
            let (mut i, mut j, mut places) = (0, 0, 0.0);
            while i < row.indices.len() || j < seen.len() {
                let of_truth = row.indices.get(i).copied().unwrap_or(u32::MAX);
                let of_counts = seen.get(j).map_or(u32::MAX, |entry| entry.0);
                let mut difference = base;
                if of_truth <= of_counts {
                    difference += row.values[i];
                    i += 1;
                }
                if of_counts <= of_truth {
                    difference -= seen[j].1 as f64 * scale;
                    j += 1;
                }
                sum += difference * difference;
                places += 1.0;
            }
            sum += (n - places) * base * base;
        }
    }
    sum.sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop() -> Mdp {
        Mdp::from_triplets(
            3,
            2,
            [
                (0, 0, 1, 0.5),
                (0, 0, 2, 0.5),
                (0, 1, 0, 1.0),
                (1, 0, 0, 1.0),
                (2, 0, 0, 0.25),
                (2, 0, 2, 0.75),
            ],
        )
        .unwrap()
        .with_start_state(0)
        .unwrap()
    }

    #[test]
    fn the_model_error_matches_the_dense_difference() {
        let truth = hop();
        let mut counts = Counts::new(&[2, 1, 1]);
        counts.record(0, 0, 1);
        counts.record(0, 0, 1);
        counts.record(0, 0, 2);
        counts.record(1, 0, 0);
        for unvisited in [Unvisited::Uniform, Unvisited::SelfLoop] {
            let estimate = counts.estimate(unvisited, truth.start());
            let mut sum = 0.0;
            for (p, q) in truth
                .kernel()
                .to_dense()
                .concat()
                .iter()
                .zip(estimate.kernel().to_dense().concat())
            {
                sum += (p - q) * (p - q);
            }
            let error = model_error(&truth, &counts, unvisited);
            assert!((error - sum.sqrt()).abs() < 1e-14, "{error} {sum}");
        }
    }

    #[test]
    fn the_equivalent_policy_has_the_distribution_of_the_mixture() {
        let truth = hop();
        let a = Policy::from_rows(&truth, &[vec![0.9, 0.1], vec![1.0], vec![1.0]]).unwrap();
        let b = Policy::from_rows(&truth, &[vec![0.2, 0.8], vec![1.0], vec![1.0]]).unwrap();
        let mixture = Mixture {
            members: vec![a.clone(), b.clone()],
            weights: vec![0.3, 0.7],
        };
        let counts = Counts::new(&[2, 1, 1]);
        let mut evaluator = Evaluator::new(Some(&truth), Policy::uniform(&truth));
        evaluator.evaluate(
            Exploration::Mixture(&mixture),
            &counts,
            Unvisited::Uniform,
            truth.start(),
            false,
        );
        let mixed = evaluator.distribution().to_vec();
        let of = |policy: &Policy| stationary::long_run(&truth.chain(policy)).distribution;
        for (s, p) in mixed.iter().enumerate() {
            assert!((p - 0.3 * of(&a)[s] - 0.7 * of(&b)[s]).abs() < 1e-12);
        }
        for (p, q) in of(evaluator.policy()).iter().zip(&mixed) {
            assert!((p - q).abs() < 1e-10, "{p} {q}");
        }
    }

    #[test]
    fn the_same_policy_is_evaluated_once_and_the_figures_are_right() {
        let truth = Mdp::from_triplets(2, 1, [(0, 0, 1, 1.0), (1, 0, 0, 1.0)])
            .unwrap()
            .with_start_state(0)
            .unwrap();
        let uniform = Policy::uniform(&truth);
        let counts = Counts::new(&[1, 1]);
        let mut evaluator = Evaluator::new(Some(&truth), uniform.clone());
        for _ in 0..2 {
            let metrics = evaluator.evaluate(
                Exploration::Policy(&uniform),
                &counts,
                Unvisited::Uniform,
                truth.start(),
                false,
            );
            assert!((metrics.entropy - 2f64.ln()).abs() < 1e-12);
            assert!((metrics.values(2, 2)[1] - 1.0).abs() < 1e-12);
            assert!((metrics.min_probability - 0.5).abs() < 1e-12);
            // rows (0,1) and (1,0) against (1/2, 1/2) twice
            assert!((metrics.model_error - 1.0).abs() < 1e-12);
        }
    }

    #[test]
    fn data_figures_are_those_of_the_counts() {
        let mut counts = Counts::new(&[2, 2, 1]);
        assert_eq!(DataFigures::of(&counts), DataFigures::NONE);
        for _ in 0..3 {
            counts.record(0, 0, 1);
            counts.record(1, 1, 0);
        }
        let found = DataFigures::of(&counts);
        assert_eq!((found.states_met, found.pairs_tried), (2.0, 2.0));
        assert!((found.effective_states - 2.0).abs() < 1e-12);
    }
}
