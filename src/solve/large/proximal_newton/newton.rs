//! Newton's direction for the dual of a proximal step.
//!
//! With $F_s$ the entries of row $s$ strictly between their bounds and $N_s$ the inverse of the
//! row's second derivative on the directions free to move, a step
//! $d\alpha, d\beta$ changes $U_s$ by $(I_F + P_F^\top N P_F)(d\alpha_s + d\beta)$. With $l_s = N_s P_F 1$,
//! $v_s = 1_F + P_F^\top l_s$ and the height $h_s = 1^\top v_s$, eliminating $d\alpha$ leaves
//!
//! $$\sum_s \big(I_F + P_F^\top N_s P_F - v_s v_s^\top / h_s\big)\, d\beta = 1 - \text{columns} - \sum_s v_s (1 - \text{row}_s) / h_s,$$
//!
//! solved by conjugate gradients whose every product costs two passes over $P$. Uniform shares of $P$ are not stored:
//! they are one more number per row in every free entry.

use std::ops::Range;

use super::row::Shared;
use super::slots::Slots;
use super::system::{Rows, each_row, parts};
use crate::formulation::support::Support;
use crate::linalg::conjugate_gradients::ConjugateGradients;
use crate::linalg::parallel::{blocks, update};
use crate::model::Mdp;
use crate::solve::driver::Driver;
use crate::solve::value::clipped::Clipped;
use crate::solve::value::projection::{Projection, damped, take_out_drift};

/// Most conjugate gradient iterations for one Newton step: a safeguard. To one digit some ten are enough on models that mix fast, about as many
/// as there are states on long chains.
const MOST_CONJUGATE: usize = 5_000;

/// After so many rounds another preconditioner than the diagonal is thought of: looking for its pattern takes some of them.
const PATIENCE: usize = 200;

/// The rows' derivatives, for the [preconditioner](super::slots).
pub(super) struct Linearised<'a> {
    inverses: &'a [f64],
    squares: &'a [usize],
    lift: &'a [f64],
    pub(super) heights: &'a [f64],
}

impl Linearised<'_> {
    /// $l$ and $N$ of a state.
    pub(super) fn of_state(&self, s: usize, pairs: Range<usize>) -> (&[f64], &[f64]) {
        let square = self.squares[s]..self.squares[s + 1];
        (&self.lift[pairs], &self.inverses[square])
    }
}

/// The linearised rows and workspace.
pub(super) struct Newton {
    /// $N_s$, row after row; that of row $s$ begins at `squares[s]`.
    inverses: Vec<f64>,
    squares: Vec<usize>,
    /// $l$ per pair.
    lift: Vec<f64>,
    /// $h$ per row, damped.
    heights: Vec<f64>,
    /// $P_F\, d\beta$ per pair, and $\tau_s = v_s \cdot d\beta / h_s$.
    products: Vec<f64>,
    tau: Vec<f64>,
    /// $N_s P_F\, d\beta - \tau_s l_s$ per pair: how the policy moves.
    moved: Vec<f64>,
    /// What a row adds to its free entries off the slots, and what it adds to that on the slots.
    by_row: Vec<f64>,
    on_slots: Vec<f64>,
    preconditioner: Preconditioner,
}

/// What conjugate gradients are preconditioned by.
enum Preconditioner {
    Diagonal,
    /// The diagonal as long as it does not take more rounds than a factorisation is worth.
    Either(Box<Slots>),
    Factor(Box<Slots>),
    /// The diagonal, as there is no sparse factor.
    OnlyDiagonal,
}

impl Newton {
    pub(super) fn new(mdp: &Mdp, support: &Support) -> Self {
        let n = mdp.n_states();
        let mut squares = vec![0];
        for s in 0..n {
            squares.push(squares[s] + mdp.n_actions(s).pow(2));
        }
        Newton {
            inverses: vec![0.0; squares[n]],
            squares,
            lift: vec![0.0; mdp.n_pairs()],
            heights: vec![0.0; n],
            products: vec![0.0; mdp.n_pairs()],
            tau: vec![0.0; n],
            moved: vec![0.0; mdp.n_pairs()],
            by_row: vec![0.0; n],
            on_slots: vec![0.0; support.len()],
            preconditioner: Preconditioner::Diagonal,
        }
    }

    /// The direction into `dual.line`, damped by `delta`, with conjugate gradients to `tolerance`.
    pub(super) fn direction(
        &mut self,
        rows: &Rows<'_>,
        dual: &mut Projection<'_>,
        (delta, tolerance): (f64, f64),
        driver: &mut Driver<'_>,
    ) {
        self.linearise(rows, dual, delta);
        let (clipped, line) = (&mut dual.clipped, &mut dual.line);
        let (sums, heights) = (&clipped.rows.sums, &self.heights);
        self.products.fill(0.0);
        update(&mut self.tau, |s, _| (sums[s] - 1.0) / heights[s]);
        self.spread(rows, clipped, &mut dual.gradients.residual);
        let sums = &clipped.columns.sums;
        update(&mut dual.gradients.residual, |t, x| 1.0 - sums[t] - x);
        let (gradients, beta) = (&mut dual.gradients, &mut line.beta);
        self.columns(rows, clipped, gradients, beta, (delta, tolerance), driver);
        self.follow(rows, clipped, &line.beta);
        let (sums, heights, tau) = (&clipped.rows.sums, &self.heights, &self.tau);
        update(&mut line.alpha, |s, _| {
            (1.0 - sums[s]) / heights[s] - tau[s]
        });
        take_out_drift(&mut line.alpha, &mut line.beta);
    }

    /// Solves the columns' system: with the diagonal as preconditioner and, where that takes more rounds than a factorisation of
    /// [what lies on the slots](super::slots) would, with its factor from then on.
    fn columns(
        &mut self,
        rows: &Rows<'_>,
        clipped: &mut Clipped<'_>,
        gradients: &mut ConjugateGradients,
        beta: &mut [f64],
        (delta, tolerance): (f64, f64),
        driver: &mut Driver<'_>,
    ) {
        let mut preconditioner =
            std::mem::replace(&mut self.preconditioner, Preconditioner::OnlyDiagonal);
        let right = gradients.residual.clone();
        loop {
            gradients.residual.copy_from_slice(&right);
            let most = match &mut preconditioner {
                Preconditioner::Diagonal => PATIENCE,
                Preconditioner::Either(slots) => slots.rounds_worth.clamp(PATIENCE, MOST_CONJUGATE),
                Preconditioner::Factor(slots) => {
                    let linear = Linearised {
                        inverses: &self.inverses,
                        squares: &self.squares,
                        lift: &self.lift,
                        heights: &self.heights,
                    };
                    if slots.factor(rows, &linear, &clipped.free, &gradients.diagonal) {
                        let limits = (tolerance, MOST_CONJUGATE);
                        let times = |v: &[f64], out: &mut [f64]| {
                            self.times(rows, clipped, delta, v, out, driver)
                        };
                        let by_factor = |r: &[f64], out: &mut [f64]| slots.precondition(r, out);
                        gradients.solve_by(beta, limits, times, by_factor);
                        break;
                    }
                    MOST_CONJUGATE
                }
                Preconditioner::OnlyDiagonal => MOST_CONJUGATE,
            };
            let times =
                |v: &[f64], out: &mut [f64]| self.times(rows, clipped, delta, v, out, driver);
            let solved = gradients.solve(beta, (tolerance, most), times);
            if solved || most == MOST_CONJUGATE || !driver.alive() {
                break;
            }
            let (mdp, support) = (rows.setting.mdp, rows.setting.support);
            preconditioner = match preconditioner {
                Preconditioner::Diagonal => Slots::new(mdp, support)
                    .map_or(Preconditioner::OnlyDiagonal, |slots| {
                        Preconditioner::Either(Box::new(slots))
                    }),
                Preconditioner::Either(slots) => Preconditioner::Factor(slots),
                other => other,
            };
        }
        self.preconditioner = preconditioner;
    }

    /// The columns' system times `v`; false if the solve is to stop.
    fn times(
        &mut self,
        rows: &Rows<'_>,
        clipped: &mut Clipped<'_>,
        delta: f64,
        v: &[f64],
        out: &mut [f64],
        driver: &mut Driver<'_>,
    ) -> bool {
        if !driver.alive() {
            return false;
        }
        self.follow(rows, clipped, v);
        self.spread(rows, clipped, out);
        let counts = &clipped.columns.counts;
        update(out, |t, x| x + damped(counts[t], delta) * v[t]);
        true
    }

    /// Differentiates every row, and finds the system's diagonal.
    fn linearise(&mut self, rows: &Rows<'_>, dual: &mut Projection<'_>, delta: f64) {
        let (mdp, support) = (rows.setting.mdp, rows.setting.support);
        let shared = Shared {
            setting: &rows.setting,
            dual,
        };
        let parts = parts(&self.squares, &mut self.inverses)
            .zip(parts(mdp.first_pair(), &mut self.lift))
            .zip(parts(&support.offsets, &mut self.on_slots))
            .zip(self.heights.iter_mut().zip(&mut self.by_row));
        each_row(parts, |row, s, part| {
            let (((inverse, lift), taken), (height, by_row)) = part;
            let pairs = mdp.pairs(s);
            let p = &rows.policy[pairs.clone()];
            row.load(&shared, s, &rows.centre[pairs], p);
            (*height, *by_row) = row.derivative(&shared, (p, delta), inverse, lift, taken);
        });
        let diagonal = &mut dual.gradients.diagonal;
        dual.clipped
            .column_sums(&self.by_row, &self.on_slots, diagonal);
        let counts = &dual.clipped.columns.counts;
        update(diagonal, |t, taken| {
            if counts[t] < 0.5 {
                1.0
            } else {
                // rounding may take all that is there
                (counts[t] - taken).max(1e-3 * counts[t].min(1.0)) + delta
            }
        });
    }

    /// `products` and `tau` for a step `x` of the columns' multipliers.
    fn follow(&mut self, rows: &Rows<'_>, clipped: &mut Clipped<'_>, x: &[f64]) {
        let (mdp, slots) = (rows.setting.mdp, &rows.setting.support.slots);
        let (kernel, n, first) = (mdp.kernel(), mdp.n_states() as f64, mdp.first_pair());
        clipped.times(x, &mut self.tau);
        let (all, free) = (&self.tau, &clipped.free);
        blocks(first, &mut self.products, |s, part| {
            for (pair, y) in (first[s]..).zip(part) {
                let mut sum = kernel.spread_of(pair) / n * all[s];
                for e in kernel.offsets()[pair]..kernel.offsets()[pair + 1] {
                    let follows = free[slots[e] as usize];
                    let value = if follows { kernel.values()[e] } else { 0.0 };
                    sum += value * x[kernel.indices()[e] as usize];
                }
                *y = sum;
            }
        });
        let (lift, products, heights) = (&self.lift, &self.products, &self.heights);
        update(&mut self.tau, |s, all| {
            let mut along = all;
            for pair in first[s]..first[s + 1] {
                along += lift[pair] * products[pair];
            }
            along / heights[s]
        });
    }

    /// $\sum_s (P_F^\top N_s P_F\, d\beta - v_s \tau_s)$ in every column, from `products` and `tau`.
    fn spread(&mut self, rows: &Rows<'_>, clipped: &mut Clipped<'_>, out: &mut [f64]) {
        let (mdp, support) = (rows.setting.mdp, rows.setting.support);
        let (kernel, n, first) = (mdp.kernel(), mdp.n_states() as f64, mdp.first_pair());
        let (inverses, squares, lift) = (&self.inverses, &self.squares, &self.lift);
        let (products, tau) = (&self.products, &self.tau);
        blocks(first, &mut self.moved, |s, part| {
            let y = &products[first[s]..first[s + 1]];
            let lines = inverses[squares[s]..squares[s + 1]].chunks_exact(y.len());
            for ((x, line), lift) in part.iter_mut().zip(lines).zip(&lift[first[s]..]) {
                *x = -tau[s] * lift;
                for (n, y) in line.iter().zip(y) {
                    *x += n * y;
                }
            }
        });
        let moved = &self.moved;
        update(&mut self.by_row, |s, _| {
            let mut row = -tau[s];
            if kernel.has_spread() {
                for pair in first[s]..first[s + 1] {
                    row += kernel.spread_of(pair) / n * moved[pair];
                }
            }
            row
        });
        let (by_row, free, correction) = (&self.by_row, &clipped.free, &clipped.correction);
        blocks(&support.offsets, &mut self.on_slots, |s, part| {
            let from = support.offsets[s];
            part.fill(0.0);
            for pair in first[s]..first[s + 1] {
                for e in kernel.offsets()[pair]..kernel.offsets()[pair + 1] {
                    part[support.slots[e] as usize - from] += kernel.values()[e] * moved[pair];
                }
            }
            for (k, x) in (from..).zip(part) {
                let follows = if free[k] { *x } else { 0.0 };
                *x = f64::from(correction[k]) * by_row[s] + follows;
            }
        });
        clipped.column_sums(&self.by_row, &self.on_slots, out);
    }
}
