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

use super::preconditioner::Preconditioner;
use super::row::{Derivative, Setting, Shared};
use super::system::{Rows, each_row, parts};
use crate::linalg::parallel::{blocks, update};
use crate::solve::driver::Driver;
use crate::solve::value::clipped::Clipped;
use crate::solve::value::projection::{Projection, damped, take_out_drift};

/// Most conjugate gradient iterations for one Newton step: a safeguard. To one digit some ten are enough on models that mix fast, about as many
/// as there are states on long chains.
const MOST_CONJUGATE: usize = 5_000;

/// After so many rounds another preconditioner than the diagonal is thought of: looking for its pattern takes some of them.
const PATIENCE: usize = 200;

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
    /// Rounds with the diagonal as preconditioner before something else is tried.
    rounds: usize,
    /// What that is, where there is something, and whether it is in use.
    other: Option<Preconditioner>,
    by_other: bool,
}

impl Newton {
    pub(super) fn new(setting: &Setting<'_>) -> Self {
        let (mdp, support) = (setting.mdp, setting.support);
        let (n, pairs) = (mdp.n_states(), mdp.n_pairs());
        let mut squares = vec![0];
        for s in 0..n {
            squares.push(squares[s] + mdp.n_actions(s).pow(2));
        }
        Newton {
            inverses: vec![0.0; squares[n]],
            squares,
            lift: vec![0.0; pairs],
            heights: vec![0.0; n],
            products: vec![0.0; pairs],
            tau: vec![0.0; n],
            moved: vec![0.0; pairs],
            by_row: vec![0.0; n],
            on_slots: vec![0.0; support.len()],
            rounds: PATIENCE,
            other: None,
            by_other: false,
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
        while !self.columns(rows, dual, (delta, tolerance), driver) {}
        let (clipped, line) = (&mut dual.clipped, &mut dual.line);
        self.follow(&rows.setting, clipped, &line.beta);
        let (sums, heights, tau) = (&clipped.rows.sums, &self.heights, &self.tau);
        update(&mut line.alpha, |s, _| {
            (1.0 - sums[s]) / heights[s] - tau[s]
        });
        take_out_drift(&mut line.alpha, &mut line.beta);
    }

    /// Solves the columns' system; false where that took more rounds than another preconditioner would cost, which is then in use. At first
    /// that is the diagonal, and where a factorisation of [what lies on the slots](super::preconditioner) is worth fewer rounds, its factor.
    fn columns(
        &mut self,
        rows: &Rows<'_>,
        dual: &mut Projection<'_>,
        (delta, tolerance): (f64, f64),
        driver: &mut Driver<'_>,
    ) -> bool {
        let mut other = self.other.take();
        let by_factor = self.by_other
            && other.as_mut().is_some_and(|factor| {
                factor.factor(rows, dual, |s| self.derivative(s, &rows.setting))
            });
        let (setting, clipped) = (&rows.setting, &mut dual.clipped);
        let (gradients, beta) = (&mut dual.gradients, &mut dual.line.beta);
        // the right side
        let (sums, heights) = (&clipped.rows.sums, &self.heights);
        self.products.fill(0.0);
        update(&mut self.tau, |s, _| (sums[s] - 1.0) / heights[s]);
        self.spread(setting, clipped, &mut gradients.residual);
        let sums = &clipped.columns.sums;
        update(&mut gradients.residual, |t, x| 1.0 - sums[t] - x);
        let rounds = self.rounds;
        let times = |v: &[f64], out: &mut [f64]| {
            self.follow(setting, clipped, v);
            self.spread(setting, clipped, out);
            let counts = &clipped.columns.counts;
            update(out, |t, x| x + damped(counts[t], delta) * v[t]);
            driver.alive()
        };
        let done = match &mut other {
            Some(factor) if by_factor => {
                let limits = (tolerance, MOST_CONJUGATE);
                gradients.solve_by(beta, limits, times, |r, out| factor.apply(r, out));
                true
            }
            _ => gradients.solve(beta, (tolerance, rounds), times),
        };
        self.other = other;
        if done || rounds == MOST_CONJUGATE || !driver.alive() {
            return true;
        }
        if self.other.is_some() {
            (self.by_other, self.rounds) = (true, MOST_CONJUGATE);
        } else {
            self.other = Preconditioner::new(setting);
            self.rounds = self.other.as_ref().map_or(MOST_CONJUGATE, |factor| {
                factor.rounds_worth.clamp(PATIENCE, MOST_CONJUGATE)
            });
        }
        false
    }

    fn derivative(&self, s: usize, setting: &Setting<'_>) -> Derivative<'_> {
        Derivative {
            inverse: &self.inverses[self.squares[s]..self.squares[s + 1]],
            lift: &self.lift[setting.mdp.pairs(s)],
            height: self.heights[s],
        }
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
            let (((inverse, lift), on_slots), (height, by_row)) = part;
            let p = &rows.policy[mdp.pairs(s)];
            row.load(&shared, s, p);
            *height = row.differentiate(&shared, (p, delta), inverse, lift);
            let derivative = Derivative {
                inverse,
                lift,
                height: *height,
            };
            *by_row = row.shortfall(rows.setting.problem.zeta, &derivative, on_slots);
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
    fn follow(&mut self, setting: &Setting<'_>, clipped: &mut Clipped<'_>, x: &[f64]) {
        let (mdp, slots) = (setting.mdp, &setting.support.slots);
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
    fn spread(&mut self, setting: &Setting<'_>, clipped: &mut Clipped<'_>, out: &mut [f64]) {
        let (mdp, support) = (setting.mdp, setting.support);
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
