//! Newton's direction for the dual of a proximal step.
//!
//! With $F_s$ the entries of row $s$ strictly between their bounds and $N_s$ the inverse of the
//! row's second derivative on the directions free to move, a step $d\alpha, d\beta$ changes $U_s$
//! by $(I_F + P_F^\top N P_F)(d\alpha_s + d\beta)$. With $l_s = N_s P_F 1$,
//! $v_s = 1_F + P_F^\top l_s$ and the pivot $h_s = 1^\top v_s$, eliminating $d\alpha$ leaves
//!
//! $$\sum_s \big(I_F + P_F^\top N_s P_F - v_s v_s^\top / h_s\big)\, d\beta = 1 - \text{columns} - \sum_s v_s (1 - \text{row}_s) / h_s,$$
//!
//! solved by conjugate gradients. $N_s$ vanishes but for actions above $\xi$ in states that have
//! several of them, in the end about as many in all as there are columns that can be filled: their
//! rows, on the free entries alone, are copied for the products ([`moving`](super::free_actions)).
//! Uniform shares of $P$ are not stored: they are one more number per row in every free entry.

use super::free_actions::FreeActions;
use super::preconditioner::Preconditioner;
use super::row::{Derivative, ProximalProblem, Shared};
use super::system::{Rows, each_row, parts};
use crate::solve::birkhoff::clipped::Clipped;
use crate::solve::birkhoff::projection::{Projection, damped, take_out_drift};
use crate::solve::driver::Driver;
use ide3al_numerics::parallel::{blocks, update};

/// Most conjugate gradient iterations for one Newton step: a safeguard. To one digit some ten are
/// enough on models that mix fast, about as many as there are states on long chains.
const MOST_CONJUGATE: usize = 5_000;

/// After so many rounds another preconditioner than the diagonal is thought of: looking for its
/// pattern takes some of them.
const PATIENCE: usize = 200;

/// The linearised rows and workspace.
pub(super) struct Newton {
    /// $N_s$, row after row; that of row $s$ begins at `squares[s]`.
    inverses: Vec<f64>,
    squares: Vec<usize>,
    /// $l$ per pair.
    policy_response: Vec<f64>,
    /// $h$ per row, damped.
    schur_pivots: Vec<f64>,
    moving: FreeActions,
    /// $\tau_s = v_s \cdot d\beta / h_s$.
    tau: Vec<f64>,
    /// What a row adds to all its free entries, and slots to that.
    by_row: Vec<f64>,
    on_slots: Vec<f64>,
    /// Rounds with the diagonal as preconditioner before something else is tried.
    rounds: usize,
    /// What that is, where there is something, and whether it is in use.
    other: Option<Preconditioner>,
    by_other: bool,
}

impl Newton {
    pub(super) fn new(problem_data: &ProximalProblem<'_>) -> Self {
        let (mdp, support) = (problem_data.mdp, problem_data.support);
        let (n, pairs) = (mdp.n_states(), mdp.n_pairs());
        let mut squares = vec![0];
        for s in 0..n {
            squares.push(squares[s] + mdp.n_actions(s).pow(2));
        }
        Newton {
            inverses: vec![0.0; squares[n]],
            squares,
            policy_response: vec![0.0; pairs],
            schur_pivots: vec![0.0; n],
            moving: FreeActions::default(),
            tau: vec![0.0; n],
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
        self.row_responses(&rows.problem_data, clipped, &line.beta);
        let (sums, schur_pivots, tau) = (&clipped.rows.sums, &self.schur_pivots, &self.tau);
        update(&mut line.alpha, |s, _| {
            (1.0 - sums[s]) / schur_pivots[s] - tau[s]
        });
        take_out_drift(&mut line.alpha, &mut line.beta);
    }

    /// Solves the columns' system; false where that took more rounds than another preconditioner
    /// would cost, which is then in use. At first that is the diagonal, and where a factorisation
    /// of [what lies on the slots](super::preconditioner) is worth fewer rounds, its factor.
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
                factor.factor(rows, dual, |s| self.derivative(s, &rows.problem_data))
            });
        let (problem_data, clipped) = (&rows.problem_data, &mut dual.clipped);
        let (gradients, beta) = (&mut dual.gradients, &mut dual.line.beta);
        // the right side
        let (sums, schur_pivots) = (&clipped.rows.sums, &self.schur_pivots);
        self.moving.products.fill(0.0);
        update(&mut self.tau, |s, _| (sums[s] - 1.0) / schur_pivots[s]);
        self.column_responses(problem_data, clipped, &mut gradients.residual);
        let sums = &clipped.columns.sums;
        update(&mut gradients.residual, |t, x| 1.0 - sums[t] - x);
        let rounds = self.rounds;
        let times = |v: &[f64], out: &mut [f64]| {
            self.row_responses(problem_data, clipped, v);
            self.column_responses(problem_data, clipped, out);
            let counts = &clipped.columns.counts;
            update(out, |t, x| x + damped(counts[t], delta) * v[t]);
            driver.should_continue()
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
        if done || rounds == MOST_CONJUGATE || !driver.should_continue() {
            return true;
        }
        if self.other.is_some() {
            (self.by_other, self.rounds) = (true, MOST_CONJUGATE);
        } else {
            self.other = Preconditioner::new(problem_data);
            self.rounds = self.other.as_ref().map_or(MOST_CONJUGATE, |factor| {
                factor.rounds_worth.clamp(PATIENCE, MOST_CONJUGATE)
            });
        }
        false
    }

    fn derivative(&self, s: usize, problem_data: &ProximalProblem<'_>) -> Derivative<'_> {
        Derivative {
            inverse: &self.inverses[self.squares[s]..self.squares[s + 1]],
            policy_response: &self.policy_response[problem_data.mdp.pairs(s)],
            schur_pivot: self.schur_pivots[s],
        }
    }

    /// Differentiates every row, and finds the system's diagonal.
    fn linearise(&mut self, rows: &Rows<'_>, dual: &mut Projection<'_>, delta: f64) {
        let (mdp, support) = (rows.problem_data.mdp, rows.problem_data.support);
        let shared = Shared {
            problem_data: &rows.problem_data,
            dual,
        };
        let parts = parts(&self.squares, &mut self.inverses)
            .zip(parts(mdp.first_pair(), &mut self.policy_response))
            .zip(parts(&support.offsets, &mut self.on_slots))
            .zip(self.schur_pivots.iter_mut().zip(&mut self.by_row));
        each_row(parts, |row, s, part| {
            let (((inverse, policy_response), on_slots), (schur_pivot, by_row)) = part;
            let p = &rows.policy[mdp.pairs(s)];
            row.load(&shared, s, p);
            *schur_pivot = row.differentiate(&shared, (p, delta), inverse, policy_response);
            let derivative = Derivative {
                inverse,
                policy_response,
                schur_pivot: *schur_pivot,
            };
            *by_row = row.shortfall(rows.problem_data.problem.zeta, &derivative, on_slots);
        });
        let (inverses, squares) = (&self.inverses, &self.squares);
        // what stands on the diagonal is positive, or the action does not move
        let moves = |s: usize, a: usize| inverses[squares[s] + a * (mdp.n_actions(s) + 1)] > 0.0;
        self.moving
            .collect(&rows.problem_data, &dual.clipped.free, moves);
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
    fn row_responses(
        &mut self,
        problem_data: &ProximalProblem<'_>,
        clipped: &mut Clipped<'_>,
        x: &[f64],
    ) {
        clipped.times(x, &mut self.tau);
        self.moving.times(problem_data, x, &self.tau);
        let (policy_response, schur_pivots, moving) =
            (&self.policy_response, &self.schur_pivots, &self.moving);
        update(&mut self.tau, |s, all| {
            let mut along = all;
            for i in moving.first[s]..moving.first[s + 1] {
                along += policy_response[moving.pairs[i] as usize] * moving.products[i];
            }
            along / schur_pivots[s]
        });
    }

    /// $\sum_s (P_F^\top N_s P_F\, d\beta - v_s \tau_s)$ in every column, from `products` and
    /// `tau`.
    fn column_responses(
        &mut self,
        problem_data: &ProximalProblem<'_>,
        clipped: &mut Clipped<'_>,
        out: &mut [f64],
    ) {
        let (kernel, n) = (
            problem_data.mdp.kernel(),
            problem_data.mdp.n_states() as f64,
        );
        let first_pair = problem_data.mdp.first_pair();
        let (inverses, squares, policy_response, tau) = (
            &self.inverses,
            &self.squares,
            &self.policy_response,
            &self.tau,
        );
        let FreeActions {
            first,
            pairs,
            products,
            moved,
            ..
        } = &mut self.moving;
        blocks(first, moved, |s, part| {
            let (own, y) = (&pairs[first[s]..first[s + 1]], &products[first[s]..]);
            let (begin, width) = (first_pair[s], first_pair[s + 1] - first_pair[s]);
            for (x, pair) in part.iter_mut().zip(own) {
                let line = &inverses[squares[s] + (*pair as usize - begin) * width..][..width];
                *x = -tau[s] * policy_response[*pair as usize];
                for (other, y) in own.iter().zip(y) {
                    *x += line[*other as usize - begin] * y;
                }
            }
        });
        update(&mut self.by_row, |s, _| {
            let mut row = -tau[s];
            if kernel.has_spread() {
                for i in first[s]..first[s + 1] {
                    row += kernel.spread_of(pairs[i] as usize) / n * moved[i];
                }
            }
            row
        });
        clipped.transpose_times(&self.by_row, out);
        self.moving.add_arrivals(out);
    }
}
