//! What a policy does in the long run: analysis of the Markov chain it induces.
//!
//! [`analyze`] computes everything at once. Its parts stand alone, for loops that need one figure
//! many times: [`Classes::of`], [`stationary::long_run`], [`spectrum::second_eigenvalue`],
//! [`entropy::entropy`], [`mixing::mixing_time`], [`horizon::average_distribution`],
//! [`hitting::hitting_times`], [`seen::seen`], [`bounds::certified`]; [`episode`] is about policies
//! that depend on the step.

mod analysis;
mod block;
pub mod bounds;
pub mod classes;
pub mod entropy;
pub mod episode;
pub mod gth;
pub mod hitting;
pub mod horizon;
mod krylov;
pub mod mixing;
mod power;
pub mod seen;
mod slow_mixing;
mod slow_part;
mod sparse_gth;
pub mod spectrum;
pub mod stationary;
mod wide;

use crate::model::{Kernel, Mdp, Policy};

pub use analysis::{Analysis, AnalyzeOptions, analyze};
pub use classes::{Classes, RecurrentClass};
pub use mixing::{MixingNorm, MixingTime};
pub use spectrum::{SecondEigenvalue, SpectrumKind};
pub use stationary::{LongRun, Method};

/// A Markov chain $(M, d_0)$, usually $M(\pi)$ of [`Mdp::chain`].
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    kernel: Kernel,
    start: Vec<f64>,
}

impl Chain {
    pub(crate) fn from_parts(kernel: Kernel, start: Vec<f64>) -> Self {
        Chain { kernel, start }
    }

    /// A chain from `(state, next, probability)` in row order, started uniformly.
    #[cfg(test)]
    pub(crate) fn from_entries(
        n: usize,
        entries: &[(usize, usize, f64)],
        spread: Vec<f64>,
    ) -> Self {
        let mut rows = vec![std::collections::BTreeMap::new(); n];
        for &(s, t, p) in entries {
            *rows[s].entry(t as u32).or_insert(0.0) += p;
        }
        let mut offsets = vec![0];
        let (mut indices, mut values) = (Vec::new(), Vec::new());
        for row in rows {
            indices.extend(row.keys());
            values.extend(row.values());
            offsets.push(indices.len());
        }
        let kernel = Kernel::from_raw(n, offsets, indices, values, spread);
        Chain::from_parts(kernel, vec![1.0 / n as f64; n])
    }

    /// Number of states.
    pub fn n_states(&self) -> usize {
        self.start.len()
    }

    /// $M$, one row per state.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// $d_0$.
    pub fn start(&self) -> &[f64] {
        &self.start
    }
}

// here and not beside `Mdp`, so that models need not know what is made of them
impl Mdp {
    /// The Markov chain $M(\pi)_{st} = \sum_a \pi(a|s) P(t|s,a)$ started from $d_0$.
    /// Costs $O(\text{nnz} \log \text{row})$.
    pub fn chain(&self, policy: &Policy) -> Chain {
        Chain::from_parts(self.mix(policy.probabilities()), self.start().to_vec())
    }
}
