//! A preconditioner for the columns' system of a [Newton step](super::newton): what the rows have on their slots, factored.
//!
//! Row $s$ gives $I_F + P_F^\top N_s P_F - v_s v_s^\top / h_s$. Its part on the slots, where the policy moves mass, may be $1/\mu$ times
//! as large as all else, and ties each column to a few others only. Together with the whole diagonal it is
//! positive, being principal minors of positive matrices, and its factor is sparse on chains, mazes and grids: just where
//! conjugate gradients would otherwise take as many rounds as it takes steps to walk through the model.

use super::newton::Linearised;
use super::system::Rows;
use crate::formulation::support::Support;
use crate::linalg::clique_matrix::CliqueMatrix;
use crate::model::Mdp;

/// Multiplications of one round of conjugate gradients per transition, in those of a dense factorisation: two passes over the kernel with
/// gathers, as in `solve/occupancy/cliques.rs`.
const ROUND_COST: f64 = 80.0;
/// Pivots this small are rounding: the matrix is scaled to a unit diagonal, and what is lost of a preconditioner costs a round.
const PIVOT: f64 = 1e-15;

pub(super) struct Slots {
    matrix: CliqueMatrix,
    /// One state's actions on its slots, the same times $N$, $v$, and the square.
    dense: Vec<f64>,
    times: Vec<f64>,
    along: Vec<f64>,
    local: Vec<f64>,
    /// Rounds of conjugate gradients that take as long as a factorisation.
    pub(super) rounds_worth: usize,
}

impl Slots {
    /// Nothing where the factor would be too large.
    pub(super) fn new(mdp: &Mdp, support: &Support) -> Option<Self> {
        let n = mdp.n_states();
        let (offsets, columns) = (support.offsets.clone(), support.columns.clone());
        let matrix = CliqueMatrix::new(n, offsets, columns, false, 0)?;
        let round = ROUND_COST * (mdp.kernel().nnz() + mdp.n_pairs()) as f64;
        Some(Slots {
            rounds_worth: (matrix.work() / round) as usize,
            matrix,
            dense: Vec::new(),
            times: Vec::new(),
            along: Vec::new(),
            local: Vec::new(),
        })
    }

    /// Assembles and factors; false where that fails. `free` says which slots are strictly between their bounds.
    pub(super) fn factor(
        &mut self,
        rows: &Rows<'_>,
        linear: &Linearised<'_>,
        free: &[bool],
        diagonal: &[f64],
    ) -> bool {
        let (mdp, support) = (rows.setting.mdp, rows.setting.support);
        let (kernel, n) = (mdp.kernel(), mdp.n_states() as f64);
        self.matrix.clear();
        for s in 0..mdp.n_states() {
            let (slots, pairs) = (support.offsets[s]..support.offsets[s + 1], mdp.pairs(s));
            let (w, m) = (slots.len(), pairs.len());
            for (v, size) in [
                (&mut self.dense, m * w),
                (&mut self.times, m * w),
                (&mut self.along, w),
                (&mut self.local, w * w),
            ] {
                v.clear();
                v.resize(size, 0.0);
            }
            let (lift, inverse) = linear.of_state(s, pairs.clone());
            let mut base = 1.0;
            for (a, pair) in pairs.enumerate() {
                let share = kernel.spread_of(pair) / n;
                base += share * lift[a];
                let row = &mut self.dense[a * w..(a + 1) * w];
                for e in kernel.offsets()[pair]..kernel.offsets()[pair + 1] {
                    let k = support.slots[e] as usize - slots.start;
                    row[k] += kernel.values()[e];
                    self.along[k] += lift[a] * kernel.values()[e];
                }
                row.iter_mut().for_each(|x| *x += share);
            }
            for (k, along) in self.along.iter_mut().enumerate() {
                *along = if free[slots.start + k] {
                    *along + base
                } else {
                    0.0
                };
            }
            for a in 0..m {
                for b in 0..m {
                    let (x, from) = (inverse[a * m + b], &self.dense[b * w..(b + 1) * w]);
                    let row = &mut self.times[a * w..(a + 1) * w];
                    row.iter_mut().zip(from).for_each(|(y, p)| *y += x * p);
                }
            }
            for k in (0..w).filter(|k| free[slots.start + k]) {
                for l in (k + 1..w).filter(|l| free[slots.start + l]) {
                    let own: f64 = (0..m)
                        .map(|a| self.dense[a * w + k] * self.times[a * w + l])
                        .sum();
                    self.local[k * w + l] = own - self.along[k] * self.along[l] / linear.heights[s];
                }
            }
            self.matrix.add_clique(s, &self.local);
        }
        // all of it, off the slots, too
        self.matrix.add_diagonal(diagonal);
        self.matrix.factor(PIVOT)
    }

    /// Writes the solution for a residual and returns their product.
    pub(super) fn precondition(&mut self, residual: &[f64], out: &mut [f64]) -> f64 {
        out.copy_from_slice(residual);
        self.matrix.solve(out);
        crate::linalg::parallel::dot(residual, out)
    }
}
