//! What a policy does in the long run: analysis of the Markov chain it induces.

use crate::model::Kernel;

/// A Markov chain $(M, d_0)$, usually $M(\pi)$ of [`Mdp::chain`](crate::model::Mdp::chain).
#[derive(Debug, Clone, PartialEq)]
pub struct Chain {
    kernel: Kernel,
    start: Vec<f64>,
}

impl Chain {
    pub(crate) fn from_parts(kernel: Kernel, start: Vec<f64>) -> Self {
        Chain { kernel, start }
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
