//! For each state the clique of itself and its successors under any action: the pattern of all
//! matrices $A K A^\top$ with $A$ the flow constraints and $K$ one block per state.

use crate::formulation::support::Support;
use crate::model::Mdp;
use ide3al_numerics::clique_matrix::{CliqueMatrix, ROUND_COST};

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
        let Support {
            offsets,
            columns: members,
            slots: mut entry_places,
        } = Support::with_itself(mdp);
        let (mut own_places, mut largest) = (Vec::new(), 0);
        for (s, w) in offsets.windows(2).enumerate() {
            let clique = &members[w[0]..w[1]];
            own_places.push(clique.partition_point(|t| *t < s as u32) as u32);
            largest = largest.max(clique.len());
            let (pairs, first) = (mdp.pairs(s), mdp.kernel().offsets());
            let entries = first[pairs.start]..first[pairs.end];
            for place in &mut entry_places[entries] {
                *place -= w[0] as u32;
            }
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
