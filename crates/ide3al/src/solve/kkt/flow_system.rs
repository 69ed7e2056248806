//! The linear system $A K^{-1} A^\top v = b$ of the flow constraints, by conjugate gradients or by
//! a Cholesky factor.
//!
//! $A$ holds the flow constraints, $(A \omega)(t) = d(t) - (1 - \rho) \sum \omega P(t)$, and
//! $K^{-1}$ one positive semidefinite [block](super::flow_blocks) per state. Both Newton methods
//! lead here: the Schur complement of the [interior-point method](crate::solve::occupancy), and the
//! Hessian of the entropies' [dual function](crate::solve::occupancy).
//!
//! State $s$ contributes on its *clique* only, itself and its successors under any action. The
//! matrix is applied by two products with $P$ and never formed, until it is to be factored.
//!
//! Uniform rows of estimated models reach every state, but only through the mean of the unknowns:
//! with $e = \mathbf 1 / S$ a row is $P_s + c_s e^\top$ and the matrix is
//! $H + h e^\top + e h^\top + \eta e e^\top$ with the same sparse $H$, so that two more solves with
//! its factor make up for them.

use super::flow_blocks::Blocks;
use crate::formulation::support::Support;
use crate::model::{Kernel, Mdp};
use ide3al_numerics::clique_matrix::{CliqueMatrix, ROUND_COST, push_dense_row};
use ide3al_numerics::conjugate_gradients::ConjugateGradients;
use ide3al_numerics::groups::owners;
use ide3al_numerics::parallel::{add, dot, map, update};

/// Numbers in the dense rows that are multiplied at a time: 16 MB.
const DENSE_ROWS: usize = 1 << 21;
/// Conjugate gradient steps between two questions whether to go on.
const ASK_EVERY: usize = 16;

/// The system for one model, with blocks that change from step to step.
pub(in crate::solve) struct FlowSystem<'a> {
    mdp: &'a Mdp,
    /// $1 - \rho$.
    stay: f64,
    transposed: Kernel,
    state_of: Vec<u32>,
    pub(in crate::solve) blocks: Blocks<'a>,
    /// The diagonal of the last matrix, or a [bound](Self::bound_diagonal) on it.
    pub(in crate::solve) diagonal: Vec<f64>,
    /// Potentials that are fixed by an addition to their diagonal entry. Without restarts the flow
    /// constraints of a component sum to zero: the matrix is singular, and potentials are free up
    /// to a constant. Where the right-hand sides sum to zero, too, as they do but for rounding, the
    /// solution with the addition is the one that is zero there.
    pub(in crate::solve) fixed: Vec<(usize, f64)>,
    pattern: Option<Pattern>,
    /// Whether the matrix at hand is factored.
    factored: bool,
    /// Room for one number per pair, and for what one state contributes.
    pairs: Vec<f64>,
    local: Local,
}

/// What is known once the system is to be factored.
struct Pattern {
    matrix: CliqueMatrix,
    /// Place of each kernel entry's column, and of the state itself, in the state's clique.
    entry_places: Vec<u32>,
    own_places: Vec<u32>,
    uniform: Option<UniformRows>,
    /// Dense rows whose squares are to be added, and to be subtracted.
    rows: [Vec<f64>; 2],
}

/// What uniform rows add to the matrix.
struct UniformRows {
    /// $h$ and $\eta$.
    border: Vec<f64>,
    corner: f64,
    /// $H^{-1} h$ and $H^{-1} e$.
    border_solved: Vec<f64>,
    mean_solved: Vec<f64>,
}

/// Room for what one state contributes.
#[derive(Default)]
struct Local {
    /// One row over the clique with its uniform share at the end, and two sums of such rows.
    row: Vec<f64>,
    mean: Vec<f64>,
    together: Vec<f64>,
    square: Vec<f64>,
    /// The products of rows with their uniform shares.
    border: Vec<f64>,
}

impl<'a> FlowSystem<'a> {
    /// With restarts of probability `restart`, and without blocks as yet.
    pub(in crate::solve) fn new(mdp: &'a Mdp, restart: f64) -> Self {
        let n = mdp.n_states();
        FlowSystem {
            mdp,
            stay: 1.0 - restart,
            transposed: mdp.kernel().transpose(),
            state_of: owners(mdp.first_pair()),
            blocks: Blocks::new(mdp),
            diagonal: vec![0.0; n],
            fixed: Vec::new(),
            pattern: None,
            factored: false,
            pairs: vec![0.0; mdp.n_pairs()],
            local: Local::default(),
        }
    }

    /// Analyses the pattern, which can be factored if it stays sparse or if there are `most_dense`
    /// states at most. Returns about how many steps of conjugate gradients take as long as one
    /// factorisation; nothing if there is no factor.
    pub(in crate::solve) fn analyse(&mut self, most_dense: usize) -> Option<f64> {
        let n = self.mdp.n_states();
        if self.pattern.is_none() {
            let Support {
                offsets,
                columns: members,
                slots: mut entry_places,
            } = Support::with_itself(self.mdp);
            let mut own_places = Vec::with_capacity(n);
            for (s, w) in offsets.windows(2).enumerate() {
                let clique = &members[w[0]..w[1]];
                own_places.push(clique.partition_point(|t| *t < s as u32) as u32);
                let (pairs, first) = (self.mdp.pairs(s), self.mdp.kernel().offsets());
                for place in &mut entry_places[first[pairs.start]..first[pairs.end]] {
                    *place -= w[0] as u32;
                }
            }
            let matrix = CliqueMatrix::new(n, offsets, members, false, most_dense)?;
            let uniform = self.mdp.kernel().has_spread().then(|| UniformRows {
                border: vec![0.0; n],
                corner: 0.0,
                border_solved: vec![0.0; n],
                mean_solved: vec![0.0; n],
            });
            self.pattern = Some(Pattern {
                matrix,
                entry_places,
                own_places,
                uniform,
                rows: [Vec::new(), Vec::new()],
            });
        }
        let work = self.pattern.as_ref().map(|pattern| pattern.matrix.work())?;
        Some(steps_worth(self.mdp, work))
    }

    /// About how many multiplications a factorisation takes, once the pattern is analysed.
    pub(in crate::solve) fn work(&self) -> f64 {
        (self.pattern.as_ref()).map_or(f64::INFINITY, |pattern| pattern.matrix.work())
    }

    /// Forgets the pattern, where its factor takes too long.
    pub(in crate::solve) fn forget_pattern(&mut self) {
        self.pattern = None;
    }

    /// $A^\top v$, per pair. Only differences of potentials are formed: a constant in them may be
    /// large.
    pub(in crate::solve) fn columns(&self, v: &[f64], out: &mut [f64]) {
        let here = |pair: usize| v[self.state_of[pair] as usize];
        self.mdp.kernel().times_relative(v, &here, out);
        let stay = self.stay;
        update(out, |pair, x| (1.0 - stay) * here(pair) - stay * x);
    }

    /// $A \omega$, per state.
    pub(in crate::solve) fn rows(&self, omega: &[f64], out: &mut [f64]) {
        let mdp = self.mdp;
        mdp.kernel().arrivals(&self.transposed, omega, out);
        update(out, |s, arriving| {
            let d: f64 = omega[mdp.pairs(s)].iter().sum();
            d - self.stay * arriving
        });
    }

    /// What comes to each state along the pairs.
    pub(in crate::solve) fn arrivals(&self, omega: &[f64], out: &mut [f64]) {
        self.mdp.kernel().arrivals(&self.transposed, omega, out);
    }

    /// Adds `times` what fixes potentials to the product of the matrix with them.
    pub(in crate::solve) fn add_fixed(&self, v: &[f64], times: f64, out: &mut [f64]) {
        for &(s, extra) in &self.fixed {
            out[s] += times * extra * v[s];
        }
    }

    /// Solves by at most so many steps of conjugate gradients, preconditioned by the factor if
    /// there is one, else by the diagonal; the system itself is that of the last blocks. After
    /// `trial` steps it ends where their rate promises no more. Returns whether the residual fell
    /// by the factor `tolerance`.
    pub(in crate::solve) fn conjugate_gradients(
        &mut self,
        right: &[f64],
        x: &mut [f64],
        (tolerance, most, trial): (f64, usize, usize),
        mut go_on: impl FnMut() -> bool,
    ) -> bool {
        let mut gradients = ConjugateGradients::new(right.len());
        gradients.trial = trial;
        gradients.residual.copy_from_slice(right);
        let (mut pattern, mut pairs) = (self.pattern.take(), std::mem::take(&mut self.pairs));
        let mut factor = pattern.as_mut().filter(|_| self.factored);
        let mut steps = 0;
        let times = |v: &[f64], out: &mut [f64]| {
            steps += 1;
            self.columns(v, &mut pairs);
            self.blocks.divide(&mut pairs);
            self.rows(&pairs, out);
            self.add_fixed(v, 1.0, out);
            steps % ASK_EVERY != 0 || go_on()
        };
        let precondition = |residual: &[f64], out: &mut [f64]| {
            match &mut factor {
                Some(factor) => {
                    out.copy_from_slice(residual);
                    factor.solve(out);
                }
                None => map(out, [residual, &self.diagonal], |_, [r, d]| {
                    r / d.max(f64::MIN_POSITIVE)
                }),
            }
            dot(residual, out)
        };
        let solved = gradients.solve_by(x, (tolerance, most), times, precondition);
        (self.pattern, self.pairs) = (pattern, pairs);
        solved
    }

    /// Bounds the diagonal of the matrix of the blocks at hand from above, in one pass over the
    /// kernel: squares of sums of an entry's parts count as sums of squares, but for the state's
    /// own.
    pub(in crate::solve) fn bound_diagonal(&mut self) {
        self.factored = false;
        self.diagonal.fill(0.0);
        for s in 0..self.mdp.n_states() {
            let (parts, first) = (self.blocks.of(s), self.mdp.pairs(s).start);
            let mut own = 1.0;
            for (i, (u, c)) in parts.free.iter().zip(parts.together).enumerate() {
                let exchange = u * (1.0 - u * parts.exchange_weight).max(0.0);
                let both = exchange + c * parts.together_weight;
                for (t, p) in self.mdp.row(first + i).entries() {
                    let x = self.stay * p;
                    if t == s {
                        own -= c * x;
                        self.diagonal[t] += exchange * x * x;
                    } else {
                        self.diagonal[t] += both * x * x;
                    }
                }
            }
            self.diagonal[s] += parts.together_weight * own * own;
        }
    }

    /// Computes the matrix of the blocks at hand and its diagonal, once the pattern is analysed.
    pub(in crate::solve) fn assemble(&mut self) {
        let (mdp, kernel) = (self.mdp, self.mdp.kernel());
        let Some(pattern) = &mut self.pattern else {
            return;
        };
        let local = &mut self.local;
        self.diagonal.fill(0.0);
        self.factored = false;
        pattern.clear();
        for s in 0..mdp.n_states() {
            let width = pattern.matrix.members(s).len();
            let wide = pattern.matrix.prefers_rows(width);
            // the square of the clique, or its diagonal
            let stride = if wide { 0 } else { width };
            local.clear(width, stride);
            local.together[pattern.own_places[s] as usize] = 1.0;
            let (parts, first) = (self.blocks.of(s), mdp.pairs(s).start);
            let places = &pattern.entry_places;
            let entries = |pair: usize| {
                let range = kernel.offsets()[pair]..kernel.offsets()[pair + 1];
                range.map(|e| (places[e] as usize, kernel.values()[e]))
            };
            let (stay, reference) = (self.stay, first + parts.reference);
            let rows = &mut pattern.rows;
            let mut add_square = |local: &mut Local, which: Which, weight: f64| {
                let dense = local.add_square(which, weight, stride);
                if wide {
                    let columns = pattern.matrix.members(s).iter().copied();
                    let rows = &mut rows[usize::from(weight < 0.0)];
                    push_dense_row(rows, mdp.n_states(), columns, dense, weight.abs().sqrt());
                }
            };
            for (i, (u, c)) in parts.free.iter().zip(parts.together).enumerate() {
                let (pair, together) = (first + i, &mut local.together);
                for (place, x) in entries(pair) {
                    together[place] -= stay * c * x;
                }
                together[width] -= stay * c * kernel.spread_of(pair);
                if pair == reference || *u == 0.0 {
                    continue;
                }
                let row = &mut local.row;
                row.fill(0.0);
                for (from, sign) in [(pair, -stay), (reference, stay)] {
                    for (place, x) in entries(from) {
                        row[place] += sign * x;
                    }
                    row[width] += sign * kernel.spread_of(from);
                }
                add(&mut local.mean, *u, row);
                add_square(local, Which::Row, *u);
            }
            add_square(local, Which::Mean, -parts.exchange_weight);
            add_square(local, Which::Together, parts.together_weight);
            for (j, t) in pattern.matrix.members(s).iter().enumerate() {
                self.diagonal[*t as usize] += local.square[j * (stride + 1)];
            }
            if !wide {
                pattern.matrix.add_clique(s, &local.square);
            }
            pattern.add_border(s, &local.border);
            pattern.add_rows(DENSE_ROWS);
        }
        pattern.add_rows(1);
    }

    /// Factors the assembled matrix with `shift` of states and their diagonal entries added to
    /// these; pivots below the share `least` of their diagonal entries count as rounding. Returns
    /// whether that is possible.
    pub(in crate::solve) fn factorize(
        &mut self,
        shift: impl Fn(usize, f64) -> f64,
        least: f64,
    ) -> bool {
        let Some(pattern) = &mut self.pattern else {
            return false;
        };
        let entries = self.diagonal.iter().enumerate();
        let mut extra: Vec<f64> = entries.map(|(s, x)| shift(s, *x)).collect();
        self.fixed.iter().for_each(|(s, x)| extra[*s] += x);
        pattern.matrix.add_diagonal(&extra, 1.0);
        self.factored = pattern.matrix.factor(least);
        if self.factored {
            pattern.solve_border();
        }
        self.factored
    }

    /// Solves with the factor, in place; false without one, or where the result is not finite.
    pub(in crate::solve) fn solve_factored(&mut self, x: &mut [f64]) -> bool {
        match &mut self.pattern {
            Some(pattern) if self.factored => {
                pattern.solve(x);
                x.iter().all(|x| x.is_finite())
            }
            _ => false,
        }
    }
}

/// Steps of conjugate gradients that take as long as `work` multiplications of a factorisation.
pub(in crate::solve) fn steps_worth(mdp: &Mdp, work: f64) -> f64 {
    work / (ROUND_COST * (mdp.kernel().nnz() + mdp.n_pairs()) as f64)
}

/// Which of the local rows.
#[derive(Clone, Copy)]
enum Which {
    Row,
    Mean,
    Together,
}

impl Local {
    /// Makes room.
    fn clear(&mut self, width: usize, stride: usize) {
        self.row.resize(width + 1, 0.0);
        let rows = [&mut self.mean, &mut self.together, &mut self.border];
        let square = (&mut self.square, width * stride.max(1));
        for (zeros, size) in rows.map(|row| (row, width + 1)).into_iter().chain([square]) {
            zeros.clear();
            zeros.resize(size, 0.0);
        }
    }

    /// Adds a weighted square of a row to the upper half of the row-major square, or to its
    /// diagonal alone where there is no stride, and to the products with uniform shares. Returns
    /// the row.
    fn add_square(&mut self, which: Which, weight: f64, stride: usize) -> &[f64] {
        let row = match which {
            Which::Row => &self.row,
            Which::Mean => &self.mean,
            Which::Together => &self.together,
        };
        let width = row.len() - 1;
        let (row, uniform) = (&row[..width], row[width]);
        if uniform != 0.0 {
            add(&mut self.border[..width], weight * uniform, row);
            self.border[width] += weight * uniform * uniform;
        }
        if stride == 0 {
            let squares = self.square.iter_mut().zip(row);
            squares.for_each(|(sum, x)| *sum += weight * x * x);
            return row;
        }
        for (j, x) in row.iter().enumerate().filter(|x| *x.1 != 0.0) {
            let sums = &mut self.square[j * stride + j..(j + 1) * stride];
            let products = sums.iter_mut().zip(&row[j..]);
            products.for_each(|(sum, y)| *sum += weight * x * y);
        }
        row
    }
}

impl Pattern {
    fn clear(&mut self) {
        self.matrix.clear();
        self.rows.iter_mut().for_each(Vec::clear);
        if let Some(uniform) = &mut self.uniform {
            uniform.border.fill(0.0);
            uniform.corner = 0.0;
        }
    }

    /// Adds the squares of the dense rows if there are so many numbers in them.
    fn add_rows(&mut self, least: usize) {
        for (rows, sign) in self.rows.iter_mut().zip([1.0, -1.0]) {
            if rows.len() >= least {
                self.matrix.add_product(rows, sign);
                rows.clear();
            }
        }
    }

    /// Adds the products of one clique's rows with their uniform shares; the last one is that of
    /// the shares themselves.
    fn add_border(&mut self, s: usize, products: &[f64]) {
        if let Some(uniform) = &mut self.uniform {
            let members = self.matrix.members(s);
            for (t, x) in members.iter().zip(products) {
                uniform.border[*t as usize] += x;
            }
            uniform.corner += products[members.len()];
        }
    }

    /// What uniform rows need of a fresh factor.
    fn solve_border(&mut self) {
        if let Some(uniform) = &mut self.uniform {
            uniform.border_solved.copy_from_slice(&uniform.border);
            uniform.mean_solved.fill(1.0 / uniform.border.len() as f64);
            self.matrix.solve(&mut uniform.border_solved);
            self.matrix.solve(&mut uniform.mean_solved);
        }
    }

    /// Solves with the last factor, in place.
    fn solve(&mut self, x: &mut [f64]) {
        self.matrix.solve(x);
        let Some(uniform) = &self.uniform else {
            return;
        };
        // x - m H^{-1}h - q H^{-1}e with m = e.x and q = h.x + eta m
        let n = x.len() as f64;
        let mean = |v: &[f64]| v.iter().sum::<f64>() / n;
        let along = |v: &[f64]| dot(v, &uniform.border);
        let (a, b) = (
            1.0 + mean(&uniform.border_solved),
            mean(&uniform.mean_solved),
        );
        let (c, d) = (
            along(&uniform.border_solved) - uniform.corner,
            1.0 + along(&uniform.mean_solved),
        );
        let (right_m, right_q) = (mean(x), along(x));
        let determinant = a * d - b * c;
        let m = (right_m * d - b * right_q) / determinant;
        let q = (a * right_q - c * right_m) / determinant;
        add(x, -m, &uniform.border_solved);
        add(x, -q, &uniform.mean_solved);
    }
}

#[cfg(test)]
mod tests;
