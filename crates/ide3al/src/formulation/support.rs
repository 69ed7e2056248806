//! Where a chain $M(\pi)$ can have mass, whatever the policy.

use std::ops::Range;

use crate::model::Mdp;

/// For each state the union of its actions' successors, ascending: the *slots* on which
/// $M(\pi)$ can be non-zero beyond its uniform share. Every stored entry of the kernel knows
/// its slot, so that $M(\pi)$ is assembled by one pass over the kernel without searching.
#[derive(Debug, Clone)]
pub struct Support {
    /// Slots of state `s` are `offsets[s]..offsets[s + 1]`.
    pub offsets: Vec<usize>,
    /// Column of each slot.
    pub columns: Vec<u32>,
    /// Slot of each stored kernel entry.
    pub slots: Vec<u32>,
}

impl Support {
    /// Builds the pattern in $O(\text{nnz} \log \text{row})$.
    pub fn new(mdp: &Mdp) -> Self {
        Support::build(mdp, false, false)
    }

    /// The pattern in which every state has a slot of its own, too.
    pub(crate) fn with_itself(mdp: &Mdp) -> Self {
        Support::build(mdp, false, true)
    }

    /// The pattern in which a state with a uniform row has a slot in every column, so that
    /// all of $M(\pi)$ lies on slots.
    pub fn filled(mdp: &Mdp) -> Self {
        Support::build(mdp, true, false)
    }

    fn build(mdp: &Mdp, filled: bool, itself: bool) -> Self {
        let kernel = mdp.kernel();
        let n = mdp.n_states();
        let (mut offsets, mut columns) = (vec![0], Vec::new());
        let mut slots = vec![0u32; kernel.nnz()];
        let mut union: Vec<u32> = Vec::new();
        for s in 0..n {
            let pairs = mdp.pairs(s);
            let entries = kernel.offsets()[pairs.start]..kernel.offsets()[pairs.end];
            union.clear();
            if filled && pairs.clone().any(|pair| kernel.spread_of(pair) > 0.0) {
                union.extend(0..n as u32);
            } else {
                union.extend(itself.then_some(s as u32));
                union.extend_from_slice(&kernel.indices()[entries.clone()]);
                union.sort_unstable();
                union.dedup();
            }
            let first = columns.len();
            for k in entries {
                let place = union.partition_point(|t| *t < kernel.indices()[k]);
                slots[k] = (first + place) as u32;
            }
            columns.extend_from_slice(&union);
            offsets.push(columns.len());
        }
        Support {
            offsets,
            columns,
            slots,
        }
    }

    /// The slots of a state.
    pub fn row(&self, s: usize) -> Range<usize> {
        self.offsets[s]..self.offsets[s + 1]
    }

    /// Number of slots.
    pub fn len(&self) -> usize {
        self.columns.len()
    }

    /// Whether there is no slot (every row is uniform).
    pub fn is_empty(&self) -> bool {
        self.columns.is_empty()
    }

    /// Writes $M(\pi)$ into `mass` (one per slot) and its uniform share per state into
    /// `spread`. `policy` need not be a distribution: the map is linear.
    pub fn assemble(&self, mdp: &Mdp, policy: &[f64], mass: &mut [f64], spread: &mut [f64]) {
        let kernel = mdp.kernel();
        mass.fill(0.0);
        for (pair, &p) in policy.iter().enumerate() {
            if p != 0.0 {
                for k in kernel.offsets()[pair]..kernel.offsets()[pair + 1] {
                    mass[self.slots[k] as usize] += p * kernel.values()[k];
                }
            }
        }
        for (s, share) in spread.iter_mut().enumerate() {
            let pairs = mdp.pairs(s);
            *share = pairs.map(|i| policy[i] * kernel.spread_of(i)).sum();
        }
    }
}
