//! For each state the clique of itself and its successors under any action: the pattern of all matrices $A K A^\top$ with $A$ the
//! flow constraints and $K$ one block per state.

use crate::linalg::clique_matrix::{CliqueMatrix, ROUND_COST};
use crate::model::Mdp;

pub(super) struct Cliques {
    /// Place of each kernel entry's column, and of the state itself, in the state's clique.
    pub(super) entry_places: Vec<u32>,
    pub(super) own_places: Vec<u32>,
    pub(super) offsets: Vec<usize>,
    pub(super) members: Vec<u32>,
    pub(super) largest: usize,
}

impl Cliques {
    pub(super) fn new(mdp: &Mdp) -> Self {
        let kernel = mdp.kernel();
        let n = mdp.n_states();
        let (mut members, mut offsets) = (Vec::new(), vec![0usize]);
        let mut entry_places = vec![0u32; kernel.nnz()];
        let mut own_places = vec![0u32; n];
        let mut clique: Vec<u32> = Vec::new();
        let mut largest = 0;
        for s in 0..n {
            let pairs = mdp.pairs(s);
            let entries = kernel.offsets()[pairs.start]..kernel.offsets()[pairs.end];
            clique.clear();
            clique.push(s as u32);
            clique.extend_from_slice(&kernel.indices()[entries.clone()]);
            clique.sort_unstable();
            clique.dedup();
            let place = |t: u32| clique.partition_point(|x| *x < t) as u32;
            own_places[s] = place(s as u32);
            for e in entries {
                entry_places[e] = place(kernel.indices()[e]);
            }
            largest = largest.max(clique.len());
            members.extend_from_slice(&clique);
            offsets.push(members.len());
        }
        Cliques {
            entry_places,
            own_places,
            offsets,
            members,
            largest,
        }
    }

    /// The matrix over these cliques; nothing if its factor would be too large.
    pub(super) fn matrix(&self, most_dense: usize) -> Option<CliqueMatrix> {
        let n = self.own_places.len();
        CliqueMatrix::new(
            n,
            self.offsets.clone(),
            self.members.clone(),
            false,
            most_dense,
        )
    }
}

/// Rounds of conjugate gradients that take as long as `work` multiplications of a factorisation.
pub(super) fn rounds_worth(mdp: &Mdp, work: f64) -> f64 {
    work / (ROUND_COST * (mdp.kernel().values().len() + mdp.n_pairs()) as f64)
}
