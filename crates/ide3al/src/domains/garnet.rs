//! Garnet: random sparse models, for tests and benchmarks of any size.
//!
//! Source: Archibald, McKinnon and Thomas (1995), "On the generation of Markov decision
//! processes", as used by Bhatnagar et al. (2009).

use std::collections::HashSet;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::{check_count, check_transitions};
use crate::error::Result;
use crate::model::Mdp;

/// Every pair leads to `branching` distinct states drawn uniformly, with probabilities from
/// a flat Dirichlet distribution (exponentials, normalised). The same seed gives the same
/// model on every machine. Starts in state 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Garnet {
    /// Number of states.
    pub states: usize,
    /// Actions of each state.
    pub actions: usize,
    /// Successors of each pair.
    pub branching: usize,
    /// Seed of the generator.
    pub seed: u64,
}

impl Default for Garnet {
    fn default() -> Self {
        Garnet {
            states: 100,
            actions: 4,
            branching: 5,
            seed: 1,
        }
    }
}

impl Garnet {
    /// Checks the parameters.
    pub fn validate(&self) -> Result<()> {
        check_count("states", self.states, 1, u32::MAX as usize - 1)?;
        check_count("actions", self.actions, 1, u32::MAX as usize - 1)?;
        check_count("branching", self.branching, 1, self.states)?;
        check_transitions(
            "states x actions x branching",
            &[self.states, self.actions, self.branching],
        )
    }

    /// Builds the model in one pass, without a second copy.
    pub fn build(&self) -> Result<Mdp> {
        self.validate()?;
        let mut rng = ChaCha8Rng::seed_from_u64(self.seed);
        let mut chosen = Distinct::new(self.branching);
        Mdp::from_fn(self.states, self.actions, |_, _, row| {
            let mut sum = 0.0;
            for k in self.states - self.branching..self.states {
                let next = chosen.draw(k, row, &mut rng);
                let uniform: f64 = rng.random();
                // in (0, inf): a weight of zero would lose a successor
                let weight = (-(1.0 - uniform).ln()).max(f64::MIN_POSITIVE);
                sum += weight;
                row.push((next, weight));
            }
            for entry in row.iter_mut() {
                entry.1 /= sum;
            }
            chosen.clear();
            true
        })?
        .with_start_state(0)?
        .with_action_names((0..self.actions).map(|a| format!("action {a}")).collect())
    }
}

/// Floyd's way to draw distinct numbers: for $k = S-b, \dots, S-1$ draw from $0..=k$ and take
/// $k$ itself where that number was drawn before.
struct Distinct {
    /// Only for long rows; a short one is searched directly.
    set: Option<HashSet<usize>>,
}

impl Distinct {
    fn new(branching: usize) -> Self {
        Distinct {
            set: (branching > 32).then(|| HashSet::with_capacity(branching)),
        }
    }

    fn draw(&mut self, k: usize, row: &[(usize, f64)], rng: &mut ChaCha8Rng) -> usize {
        // u64, so that the stream does not depend on the machine's word
        let candidate = rng.random_range(0..=k as u64) as usize;
        match &mut self.set {
            Some(set) => {
                if set.insert(candidate) {
                    candidate
                } else {
                    set.insert(k);
                    k
                }
            }
            None if row.iter().any(|entry| entry.0 == candidate) => k,
            None => candidate,
        }
    }

    fn clear(&mut self) {
        if let Some(set) = &mut self.set {
            set.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_distinct_successors_and_the_seed_decides() {
        for branching in [1, 5, 40, 60] {
            let garnet = Garnet {
                states: 60,
                actions: 3,
                branching,
                seed: 7,
            };
            let mdp = garnet.build().unwrap();
            assert_eq!(mdp.kernel().nnz(), 60 * 3 * branching);
            assert_eq!(mdp, garnet.build().unwrap());
            let other = Garnet { seed: 8, ..garnet };
            assert_ne!(mdp, other.build().unwrap());
        }
    }

    #[test]
    fn successors_are_drawn_evenly() {
        let mdp = Garnet {
            states: 20,
            actions: 2000,
            branching: 3,
            seed: 1,
        };
        let mut hits = [0usize; 20];
        for &t in mdp.build().unwrap().kernel().indices() {
            hits[t as usize] += 1;
        }
        // 120,000 draws over 20 states: 6,000 each, standard deviation about 70
        assert!(hits.iter().all(|h| (5600..6400).contains(h)), "{hits:?}");
    }
}
