//! One Newton step of a program over [rows](super::rows): every row is eliminated on its own, which
//! leaves one system in the columns' multipliers.
//!
//! The numbers $k$ on the cells follow
//!
//! $$ dk_{st} = D_{st} (a_{st} + \lambda_s + \beta_t) + f_{st}\, dM_{st}, \qquad dM_s = P_s^\top dp_s, $$
//!
//! with $\lambda_s$ the step of the row's multiplier (where a row has a sum to keep) and $\beta_t$
//! that of the column's, and the policy
//!
//! $$ (\mathrm{diag}(\theta) + P_s W_s P_s^\top)\, dp_s = \text{force}_s + \eta_s + P_s F_s (\lambda_s + \beta) . $$
//!
//! The sum of $p_s$ is kept by moving relative to one *reference* action, the one with the least
//! $\theta$: with $T$ the differences of the other actions' rows from its own, the matrix
//! $\mathrm{diag}(\theta) + \theta_r 1 1^\top + T W T^\top = L L^\top$ is a sum of positive parts,
//! so that nothing cancels however far the $\theta$ lie apart. With $C = L^{-1} T F$,
//! $h_s = \sum_t D_{st} + \text{slack} + |C 1|^2$ and $g_s = D_s + C^\top C 1$, the columns' system
//! is
//!
//! $$\Big( \mathrm{diag}(\text{extra}) + \sum_s \mathrm{diag}(D_s) + C_s^\top C_s - \tfrac{1}{h_s} g_s g_s^\top \Big) \beta
//!   = \text{right} .$$

mod assembly;
mod squares;

use super::transition_rows::TransitionRows;
use crate::solve::cost::SizeLimits;
use assembly::{shape, work_of_rows};
use ide3al_numerics::clique_matrix::CliqueMatrix;
use ide3al_numerics::parallel::{add, map, total};

/// Pivots of the columns' scaled matrix below this are rounding: it is what some thousand additions
/// leave.
const PIVOT: f64 = 1e-13;

/// What a Newton step does to the cells; an empty list stands for zero ($D$, $W$) or one ($F$)
/// everywhere.
pub(in crate::solve) struct Weights {
    /// $\theta$, one per free action.
    pub(in crate::solve) policy: Vec<f64>,
    pub(in crate::solve) d: Vec<f64>,
    pub(in crate::solve) f: Vec<f64>,
    pub(in crate::solve) w: Vec<f64>,
    /// One over the barrier of each row's slack; empty where rows have no sum to keep.
    pub(in crate::solve) slack: Vec<f64>,
    /// What else lies on the diagonal of the columns' system.
    pub(in crate::solve) extra: Vec<f64>,
}

/// The factored elimination.
pub(in crate::solve) struct RowSchur {
    pub(in crate::solve) weights: Weights,
    /// $dM$ of the last solution, one per cell; what it held before does not matter.
    pub(in crate::solve) mass: Vec<f64>,
    matrix: CliqueMatrix,
    keeps_rows: bool,
    reference: Vec<u32>,
    /// $L$, row by row, and the part of the reference's own motion in the others' equations.
    lower: Vec<f64>,
    lower_offsets: Vec<usize>,
    reference_coupling: Vec<f64>,
    /// $C$, and $C 1$.
    c: Vec<f64>,
    c_total: Vec<f64>,
    schur_pivot: Vec<f64>,
    /// $g$, one per cell.
    g: Vec<f64>,
    diagonal: Vec<f64>,
    local: Vec<f64>,
    difference: Vec<f64>,
    weighted: Vec<f64>,
    square: Vec<f64>,
    updates: Vec<f64>,
    downdates: Vec<f64>,
    /// The forces on the actions after the forward solution; one state's part; and as they are.
    forward_solved: Vec<f64>,
    solved: Vec<f64>,
    force: Vec<f64>,
}

impl RowSchur {
    /// With weights to be filled in, those of cells only where rows have a sum to keep; nothing if
    /// the columns' system is neither sparse nor small, or a step would take too long.
    pub(in crate::solve) fn new(
        rows: &TransitionRows,
        keeps_rows: bool,
        limits: SizeLimits,
    ) -> Option<Self> {
        let n = rows.n_states();
        let (mut clique_offsets, mut members) = (vec![0], Vec::new());
        let mut beyond_reach = false;
        let mut lower_offsets = vec![0];
        for s in 0..n {
            let reach = rows.reach(s);
            let cells = rows.offsets[s + 1] - rows.offsets[s];
            beyond_reach |= keeps_rows && cells != reach.len();
            members.extend(reach.iter().map(|c| rows.columns[*c as usize]));
            clique_offsets.push(members.len());
            let others = (rows.first[s + 1] - rows.first[s]).saturating_sub(1);
            lower_offsets.push(lower_offsets[s] + others * others);
        }
        let (offsets, shape) = (&clique_offsets, |s| shape(rows, s, keeps_rows));
        let split = (!beyond_reach)
            .then(|| CliqueMatrix::with_split_rows(n, offsets, &members, limits.order, shape))
            .flatten();
        let matrix = match split {
            Some(matrix) => matrix,
            None => CliqueMatrix::new(n, clique_offsets, members, beyond_reach, limits.order)?,
        };
        if matrix.work() + work_of_rows(rows, &matrix) > limits.work {
            return None;
        }
        let most_actions = rows.first.windows(2).map(|w| w[1] - w[0]).max();
        let kept = |count: usize| vec![0.0; if keeps_rows { count } else { 0 }];
        Some(RowSchur {
            weights: Weights {
                policy: vec![0.0; rows.n_free()],
                d: kept(rows.n_cells()),
                f: kept(rows.n_cells()),
                w: kept(rows.n_cells()),
                slack: kept(n),
                extra: vec![0.0; n],
            },
            mass: vec![0.0; rows.n_cells()],
            matrix,
            keeps_rows,
            reference: vec![0; n],
            lower: vec![0.0; lower_offsets[n]],
            lower_offsets,
            reference_coupling: vec![0.0; rows.n_free()],
            c: vec![0.0; rows.values.len()],
            c_total: vec![0.0; rows.n_free()],
            schur_pivot: vec![0.0; n],
            g: kept(rows.n_cells()),
            diagonal: vec![0.0; n],
            local: Vec::new(),
            difference: Vec::new(),
            weighted: Vec::new(),
            square: Vec::new(),
            updates: Vec::new(),
            downdates: Vec::new(),
            forward_solved: vec![0.0; rows.n_free()],
            solved: vec![0.0; most_actions.unwrap_or(0)],
            force: vec![0.0; rows.n_free()],
        })
    }

    /// Eliminates every row and factors the columns' system. Where the columns' sums say nothing
    /// that the rows' do not say together, the system is singular: `pinned` names a column whose
    /// multiplier is then held near zero by doubling its diagonal entry. What was added is
    /// returned; nothing where the matrix breaks down.
    pub(in crate::solve) fn factor(
        &mut self,
        rows: &TransitionRows,
        pinned: Option<usize>,
    ) -> Option<f64> {
        self.matrix.clear();
        self.diagonal.copy_from_slice(&self.weights.extra);
        self.updates.clear();
        self.add_wide_rows(rows);
        self.downdates.clear();
        for s in 0..rows.n_states() {
            if !self.eliminate_policy(rows, s) {
                return None;
            }
            self.add_row(rows, s);
        }
        self.matrix.add_product(&self.updates, 1.0);
        self.matrix.add_product(&self.downdates, -1.0);
        self.matrix.add_diagonal(&self.diagonal, 1.0);
        let updates = pinned.map_or(0.0, |t| self.matrix.double_diagonal(t));
        self.matrix.factor(PIVOT).then_some(updates)
    }

    /// Solves for the steps of the policy (`dp`, in: the force), of the rows' multipliers
    /// (`lambda`, in: what the row's sum lacks), of the columns' (`beta`, in: what the column's sum
    /// lacks) and of the simplexes' (`eta`, in: what the sum of $p$ lacks). `a` moves the cells by
    /// $D a$.
    pub(in crate::solve) fn solve(
        &mut self,
        rows: &TransitionRows,
        a: &[f64],
        dp: &mut [f64],
        eta: &mut [f64],
        lambda: &mut [f64],
        beta: &mut [f64],
    ) {
        self.forward_solved.fill(0.0);
        for s in 0..rows.n_states() {
            self.forward_solve(rows, s, dp, eta[s]);
        }
        self.force.copy_from_slice(dp);
        self.back_substitute(rows, eta, dp);
        // what the cells move by while the multipliers rest, and then with the rows' sums kept
        if self.keeps_rows {
            let inputs = [&self.weights.f[..], &self.weights.d, a];
            map(&mut self.mass, inputs, |mass, [f, d, a]| f * mass + d * a);
            for s in 0..rows.n_states() {
                let cells = rows.offsets[s]..rows.offsets[s + 1];
                let moved = &mut self.mass[cells.clone()];
                lambda[s] = (lambda[s] - total(moved)) / self.schur_pivot[s];
                add(moved, lambda[s], &self.g[cells]);
            }
        }
        rows.add_to_columns(&self.mass, -1.0, beta);
        self.matrix.solve(beta);
        // the rows' multipliers, and what they and the columns' push each cell by
        for s in 0..rows.n_states() {
            let cells = rows.offsets[s]..rows.offsets[s + 1];
            let mut own = 0.0;
            if self.keeps_rows {
                lambda[s] -=
                    rows.dot_columns(s, &self.g[cells.clone()], beta) / self.schur_pivot[s];
                own = lambda[s];
            }
            let reach = rows.reach(s);
            if reach.len() == cells.len() {
                let pushed = &mut self.mass[cells.clone()];
                rows.outer_sums_of(s, own, beta, pushed);
                if self.keeps_rows {
                    map(pushed, [&self.weights.f[cells]], |push, [f]| f * push);
                }
            } else {
                for cell in reach.iter().map(|cell| *cell as usize) {
                    let push = own + beta[rows.columns[cell] as usize];
                    self.mass[cell] = self.weights.f.get(cell).map_or(push, |f| f * push);
                }
            }
        }
        rows.times(&self.mass, dp);
        for s in 0..rows.n_states() {
            self.forward_solve(rows, s, dp, 0.0);
        }
        for (force, more) in self.force.iter_mut().zip(dp.iter()) {
            *force += more;
        }
        self.back_substitute(rows, eta, dp);
        for s in 0..rows.n_states() {
            let own = rows.first[s]..rows.first[s + 1];
            if own.is_empty() {
                eta[s] = 0.0;
                continue;
            }
            // the reference's own equation gives the simplex's multiplier
            let r = own.start + self.reference[s] as usize;
            let Weights { policy, w, .. } = &self.weights;
            eta[s] = policy[r] * dp[r] - self.force[r];
            if !w.is_empty() {
                let along = rows.entries(r);
                eta[s] += along
                    .map(|(cell, x)| x * w[cell] * self.mass[cell])
                    .sum::<f64>();
            }
        }
    }

    /// Adds $L^{-1}$ of the force relative to the reference's to what is solved so far.
    fn forward_solve(&mut self, rows: &TransitionRows, s: usize, force: &[f64], simplex: f64) {
        let own = rows.first[s]..rows.first[s + 1];
        let Some(others) = own.len().checked_sub(1) else {
            return;
        };
        let lower = &self.lower[self.lower_offsets[s]..self.lower_offsets[s + 1]];
        let r = self.reference[s] as usize;
        let force = &force[own.clone()];
        let solved = &mut self.solved[..others];
        for i in 0..others {
            let action = if i < r { i } else { i + 1 };
            let mut sum =
                force[action] - force[r] - simplex * self.reference_coupling[own.start + i];
            for m in 0..i {
                sum -= lower[i * others + m] * solved[m];
            }
            solved[i] = sum / lower[i * others + i];
            self.forward_solved[own.start + i] += solved[i];
        }
    }

    /// The actions' steps from the forward solution, and $dM$.
    fn back_substitute(&mut self, rows: &TransitionRows, simplex: &[f64], dp: &mut [f64]) {
        for s in 0..rows.n_states() {
            let own = rows.first[s]..rows.first[s + 1];
            let Some(others) = own.len().checked_sub(1) else {
                continue;
            };
            let lower = &self.lower[self.lower_offsets[s]..self.lower_offsets[s + 1]];
            let forward_solved = &self.forward_solved[own.clone()];
            let r = self.reference[s] as usize;
            let action = |i: usize| own.start + if i < r { i } else { i + 1 };
            let mut rest = simplex[s];
            for i in (0..others).rev() {
                let mut sum = forward_solved[i];
                for m in i + 1..others {
                    sum -= lower[m * others + i] * dp[action(m)];
                }
                dp[action(i)] = sum / lower[i * others + i];
                rest -= dp[action(i)];
            }
            dp[own.start + r] = rest;
        }
        rows.transpose_times(dp, &mut self.mass);
    }
}

#[cfg(test)]
mod tests;
