//! A preconditioner for the columns' system of a [Newton step](super::newton): what the rows have
//! on their slots, factored.
//!
//! Row $s$ gives $I_F + P_F^\top N_s P_F - v_s v_s^\top / h_s$. Its part on the slots, where the
//! policy moves mass, may be $1/\mu$ times as large as all else, and ties each column to a few
//! others only. Together with the whole diagonal it is positive, being principal minors of positive
//! matrices, and its factor is sparse on chains, mazes and grids: just where conjugate gradients
//! would otherwise take as many rounds as it takes steps to walk through the model.

use super::row::{Derivative, ProximalProblem, Row, Shared};
use super::system::Rows;
use crate::solve::birkhoff::projection::Projection;
use ide3al_numerics::clique_matrix::{CliqueMatrix, ROUND_COST};
use ide3al_numerics::parallel::dot;

/// Pivots this small are rounding: the matrix is scaled to a unit diagonal, and what is lost of a
/// preconditioner costs a round.
const PIVOT: f64 = 1e-15;

pub(super) struct Preconditioner {
    matrix: CliqueMatrix,
    row: Row,
    square: Vec<f64>,
    /// Rounds of conjugate gradients that take as long as a factorisation.
    pub(super) rounds_worth: usize,
}

impl Preconditioner {
    /// Nothing where the factor would be too large.
    pub(super) fn new(problem_data: &ProximalProblem<'_>) -> Option<Self> {
        let (mdp, support) = (problem_data.mdp, problem_data.support);
        let (offsets, columns) = (support.offsets.clone(), support.columns.clone());
        let matrix = CliqueMatrix::new(mdp.n_states(), offsets, columns, false, 0)?;
        let round = ROUND_COST * (mdp.kernel().nnz() + mdp.n_pairs()) as f64;
        Some(Preconditioner {
            rounds_worth: (matrix.work() / round) as usize,
            matrix,
            row: Row::default(),
            square: Vec::new(),
        })
    }

    /// Assembles and factors; false where that fails.
    pub(super) fn factor<'d>(
        &mut self,
        rows: &Rows<'_>,
        dual: &Projection<'_>,
        derivative: impl Fn(usize) -> Derivative<'d>,
    ) -> bool {
        let problem_data = &rows.problem_data;
        let shared = Shared { problem_data, dual };
        self.matrix.clear();
        for s in 0..problem_data.mdp.n_states() {
            let p = &rows.policy[problem_data.mdp.pairs(s)];
            self.row.load(&shared, s, p);
            self.row.couplings(&derivative(s), &mut self.square);
            self.matrix.add_clique(s, &self.square);
        }
        // all of it, off the slots, too
        self.matrix.add_diagonal(&dual.gradients.diagonal, 1.0);
        self.matrix.factor(PIVOT)
    }

    /// Writes the solution for a residual and returns their product.
    pub(super) fn apply(&mut self, residual: &[f64], out: &mut [f64]) -> f64 {
        out.copy_from_slice(residual);
        self.matrix.solve(out);
        dot(residual, out)
    }
}
