//! The dual of one proximal step and its Newton system, $U$ never stored.
//!
//! With every row's policy minimised out ([`row`](super::row)), the dual
//!
//! $$\Psi(\alpha, \beta) = \sum_s \alpha_s + \sum_t \beta_t + \sum_s \min_{p \in \Delta_\xi} \Big(
//!   \sum_t \theta(M_{st}(p), \alpha_s + \beta_t) + \frac{\mu}{2} \|p - c_s\|^2 \Big)$$
//!
//! is concave and smooth, $\nabla\Psi$ being one minus the row and column sums of $U$. With
//! $F_s$ the entries of row $s$ strictly between their bounds and $N_s$ the inverse of the
//! row's second derivative on the directions free to move, a step
//! $d\alpha, d\beta$ changes $U_s$ by $(I_F + P_F^\top N P_F)(d\alpha_s + d\beta)$. Eliminating
//! $d\alpha$ leaves a system in $d\beta$, solved by conjugate gradients whose every product
//! costs one pass over $P$ and one over its transpose.

mod newton;

use super::packing::{ByColumn, Sorted, each_row};
use super::row::{RowState, RowWork, Shared, SlotState};
use crate::formulation::support::Support;
use crate::formulation::{Problem, simplex};
use crate::linalg::line_search::Bracket;
use crate::linalg::parallel::{sum, update};
use crate::model::Mdp;
use crate::solve::driver::Driver;

/// Newton steps for one proximal step.
const MOST_NEWTON: usize = 60;
/// How far conjugate gradients reduce a Newton step's residual, and so much further for each full step that did not get on. While entries become
/// free and cut from one step to the next a better direction is not a better step.
const LOOSE: f64 = 0.1;
/// Full steps one after the other that hardly reduce the violation, with ever better directions, before leaving it.
const MOST_STUCK: usize = 4;

pub(super) struct System<'a> {
    mdp: &'a Mdp,
    support: &'a Support,
    problem: Problem,
    by_column: ByColumn,
    pub(super) alpha: Vec<f64>,
    pub(super) beta: Vec<f64>,
    /// The policy that minimises at the current multipliers.
    pub(super) policy: Vec<f64>,
    /// $c$.
    pub(super) centre: Vec<f64>,
    /// $\mu$.
    pub(super) weight: f64,
    damping: f64,
    /// Full steps one after the other that hardly reduced the violation.
    stuck: usize,
    columns: Sorted,
    rows: Sorted,
    states: Vec<RowState>,
    slots: Vec<SlotState>,
    column_sums: Vec<f64>,
    work: RowWork,
    newton: Newton,
}

struct Newton {
    /// Per row: $N_s$, then $N_s P_F 1$.
    inverses: Vec<f64>,
    inverse_offsets: Vec<usize>,
    /// $N P_F 1$ per pair.
    lift: Vec<f64>,
    /// $1^\top (I_F + P_F^\top N P_F) 1$ per row, regularised.
    heights: Vec<f64>,
    /// Kernel values where $U$ is free, by row and by column.
    masked: Vec<f64>,
    masked_by_column: Vec<f64>,
    /// `free - plain` per slot, by row and by column.
    correction: Vec<f64>,
    correction_by_column: Vec<f64>,
    /// For each column the positions in the sorted rows that are free where it has no slot.
    ranges: Vec<(u32, u32)>,
    counts: Vec<f64>,
    diagonal: Vec<f64>,
    slot_diagonal: Vec<f64>,
    row_diagonal: Vec<f64>,
    packed: Vec<f64>,
    prefix: Vec<f64>,
    residual: Vec<f64>,
    conjugate: Vec<f64>,
    product: Vec<f64>,
    step_alpha: Vec<f64>,
    step_beta: Vec<f64>,
    saved_alpha: Vec<f64>,
    saved_beta: Vec<f64>,
}

impl<'a> System<'a> {
    pub(super) fn new(
        mdp: &'a Mdp,
        support: &'a Support,
        problem: Problem,
        start: Vec<f64>,
    ) -> Self {
        let n = mdp.n_states();
        let zeros = || vec![0.0; n];
        let mut inverse_offsets = vec![0];
        for s in 0..n {
            let m = mdp.n_actions(s);
            inverse_offsets.push(inverse_offsets[s] + m * m + m);
        }
        let nnz = mdp.kernel().nnz();
        System {
            by_column: ByColumn::new(mdp, support),
            alpha: zeros(),
            beta: zeros(),
            centre: start.clone(),
            policy: start,
            weight: 1.0,
            damping: 1e-3,
            stuck: 0,
            columns: Sorted::new(n),
            rows: Sorted::new(n),
            states: vec![RowState::default(); n],
            slots: vec![SlotState::default(); support.len()],
            column_sums: zeros(),
            work: RowWork::default(),
            newton: Newton {
                inverses: vec![0.0; inverse_offsets[n]],
                inverse_offsets,
                lift: vec![0.0; mdp.n_pairs()],
                heights: zeros(),
                masked: vec![0.0; nnz],
                masked_by_column: vec![0.0; nnz],
                correction: vec![0.0; support.len()],
                correction_by_column: vec![0.0; support.len()],
                ranges: vec![(0, 0); n],
                counts: zeros(),
                diagonal: zeros(),
                slot_diagonal: vec![0.0; support.len()],
                row_diagonal: zeros(),
                packed: vec![0.0; mdp.n_pairs() + n],
                prefix: vec![0.0; n + 1],
                residual: zeros(),
                conjugate: zeros(),
                product: zeros(),
                step_alpha: zeros(),
                step_beta: zeros(),
                saved_alpha: zeros(),
                saved_beta: zeros(),
            },
            mdp,
            support,
            problem,
        }
    }

    /// Solves every row and sums up at the current multipliers.
    pub(super) fn evaluate(&mut self) {
        let beta = &self.beta;
        self.columns.sort(|t| beta[t]);
        let (mdp, support, alpha, centre) = (self.mdp, self.support, &self.alpha, &self.centre);
        let model = (mdp, support, &self.problem);
        let shared = Shared::new(model, self.weight, &self.beta, &self.columns);
        each_row(
            (&mut self.policy[..], |s| mdp.first_pair()[s]),
            (&mut self.slots[..], |s| support.offsets[s]),
            &mut self.states,
            &mut self.work,
            |s, p, slots, state, work| {
                work.load(&shared, s);
                *state = work.solve(&shared, alpha[s], &centre[mdp.pairs(s)], p);
                slots.copy_from_slice(work.slots());
            },
        );
        let states = &self.states;
        self.rows.sort(|s| states[s].shifted);
        self.column_ranges();
        let (n, zeta) = (mdp.n_states(), self.problem.zeta);
        let (rows, slots, by_column) = (&self.rows, &self.slots, &self.by_column);
        let (ranges, beta) = (&self.newton.ranges, &self.beta);
        update(&mut self.column_sums, |t, _| {
            let (low, high) = (ranges[t].0 as usize, ranges[t].1 as usize);
            let mut sum = beta[t] * (high - low) as f64 + rows.prefix[high] - rows.prefix[low]
                + zeta * (n - high) as f64;
            for j in by_column.slot_offsets[t]..by_column.slot_offsets[t + 1] {
                sum += slots[by_column.slot[j] as usize].change;
            }
            sum
        });
    }

    /// Free positions in the sorted rows for every column, visited in ascending order so that
    /// both pointers only move down.
    fn column_ranges(&mut self) {
        let n = self.beta.len();
        let zeta = self.problem.zeta;
        let (mut low, mut high) = (n, n);
        for &t in &self.columns.order {
            let b = self.beta[t as usize];
            // the same sums as in the rows, so that both sides agree on what is free
            while low > 0 && b + self.rows.values[low - 1] > 0.0 {
                low -= 1;
            }
            while high > 0 && b + self.rows.values[high - 1] >= zeta {
                high -= 1;
            }
            self.newton.ranges[t as usize] = (low as u32, high.max(low) as u32);
        }
    }

    /// Largest violation of a row or column sum.
    pub(super) fn violation(&self) -> f64 {
        let rows = self.states.iter().map(|s| (s.sum - 1.0).abs());
        let columns = self.column_sums.iter().map(|c| (c - 1.0).abs());
        rows.chain(columns).fold(0.0, f64::max)
    }

    /// $\nabla\Psi$ along the direction.
    fn slope(&self) -> f64 {
        let (newton, states, columns) = (&self.newton, &self.states, &self.column_sums);
        sum(states.len(), |i| {
            (1.0 - states[i].sum) * newton.step_alpha[i] + (1.0 - columns[i]) * newton.step_beta[i]
        })
    }

    /// Newton steps until no sum is off by more than `accuracy`; returns whether that was reached.
    /// The policy ends in $\Delta_\xi$.
    pub(super) fn settle(&mut self, accuracy: f64, driver: &mut Driver<'_>) -> bool {
        self.evaluate();
        let mut settled = self.violation() <= accuracy;
        self.stuck = 0;
        for _ in 0..MOST_NEWTON {
            if settled || self.stuck >= MOST_STUCK || !driver.alive() {
                break;
            }
            driver.count(1);
            if !self.step(driver) {
                break;
            }
            settled = self.violation() <= accuracy;
        }
        let policy = std::mem::take(&mut self.policy);
        self.policy = simplex::feasible(self.mdp, self.problem.xi, policy);
        settled
    }

    /// One damped Newton step; returns whether it moved.
    fn step(&mut self, driver: &mut Driver<'_>) -> bool {
        let before = self.violation();
        let forcing = LOOSE.powi(1 + self.stuck as i32);
        self.direction(self.damping, forcing, driver);
        let slope = self.slope();
        if !(slope > 0.0) {
            return false;
        }
        self.newton.saved_alpha.copy_from_slice(&self.alpha);
        self.newton.saved_beta.copy_from_slice(&self.beta);
        let mut bracket = Bracket::new(slope);
        let mut size = 1.0;
        for _ in 0..20 {
            if !driver.alive() {
                break;
            }
            let newton = &self.newton;
            update(&mut self.alpha, |i, _| {
                newton.saved_alpha[i] + size * newton.step_alpha[i]
            });
            update(&mut self.beta, |i, _| {
                newton.saved_beta[i] + size * newton.step_beta[i]
            });
            self.evaluate();
            match bracket.next(size, self.slope()) {
                Some(next) => size = next,
                None => break,
            }
        }
        // too long a step means that the model misses entries about to become free; damping
        // hardly touches columns whose mass the policy can still move, their curvature is large
        if size < 0.03 {
            self.damping = (1e3 * self.damping).clamp(1e-3, 1e8);
        } else if size < 0.3 {
            self.damping = (10.0 * self.damping).min(1e8);
        } else if size >= 0.9 {
            self.damping = (0.2 * self.damping).max(1e-12);
        }
        self.stuck = if size >= 0.9 && self.violation() > 0.5 * before {
            self.stuck + 1
        } else {
            0
        };
        true
    }
}
