//! Column Sum as a program over [rows](crate::solve::methods::rows).
//!
//! With $b_t$ what the floor $\xi$ leaves open in column $t$ and $u, v$ the two parts of what is missing,
//!
//! $$\min_{p, u, v \ge 0} \sum_t (u_t + v_t), \qquad P^\top p + u - v = b, \qquad \textstyle\sum_a p_{sa} = 1 .$$
//!
//! Uniform rows of estimated models reach every column, but all in the same way: the mass $\sigma$ that all
//! of them hold together is one more variable, in each column by $\sigma / S$.

use crate::formulation::support::Support;
use crate::model::Mdp;
use crate::solve::methods::elimination::{Elimination, Weights};
use crate::solve::methods::interior_point::{InteriorPoint, Program};
use crate::solve::methods::rows::{Cells, Rows};

use super::Pull;

pub(in crate::solve) struct ColumnSum {
    rows: Rows,
    pull: Pull,
    elimination: Elimination,
    /// One over the barriers of $u_t$ and $v_t$.
    parts: Vec<(f64, f64)>,
    cost: Vec<f64>,
    right: Vec<f64>,
    weights: Weights,
    cells: Vec<f64>,
    /// What one unit of $\sigma$ more would do: the step of $p$ and of the columns' multipliers.
    shared: Option<Shared>,
}

struct Shared {
    theta: f64,
    dp: Vec<f64>,
    eta: Vec<f64>,
    beta: Vec<f64>,
}

impl ColumnSum {
    /// The method at its start; nothing if the columns' system is too large.
    pub(in crate::solve) fn start(
        mdp: &Mdp,
        xi: f64,
        most_dense: usize,
    ) -> Option<InteriorPoint<Self>> {
        let rows = Rows::new(mdp, xi, Cells::Reached);
        let elimination = Elimination::new(&rows, false, most_dense)?;
        let (n, moving, columns) = (rows.n_states(), rows.n_moving(), rows.n_columns);
        let base = rows.base(mdp, &Support::new(mdp));
        let mut filled = vec![0.0; columns];
        rows.column_sums(&base, &mut filled);
        let mut right = vec![1.0; n];
        right.extend(filled.iter().map(|c| 1.0 - c));
        let mut cost = vec![0.0; moving];
        cost.resize(moving + 2 * n, 1.0);
        if columns > n {
            cost.push(0.0);
            right[2 * n] = -filled[n];
        }
        for (s, w) in rows.first.windows(2).enumerate() {
            right[s] = if w[0] < w[1] { 1.0 } else { 0.0 };
        }
        // what the uniform policy leaves missing, split with room on both sides
        let pull = Pull::new(&rows);
        let mut x = pull.uniform.clone();
        rows.column_sums_of(&x, &mut filled);
        x.resize(cost.len(), 0.0);
        let shared = columns > n;
        if shared {
            x[moving + 2 * n] = filled[n] - right[2 * n];
        }
        for t in 0..n {
            let share = if shared {
                x[moving + 2 * n] / n as f64
            } else {
                0.0
            };
            let missing = right[n + t] - filled[t] - share;
            x[moving + t] = missing.max(0.0) + 0.1;
            x[moving + n + t] = x[moving + t] - missing;
        }
        // y = 0 and eta = -1 leave slacks of one everywhere
        let mut y = vec![0.0; right.len()];
        y[..n].fill(-1.0);
        let z = vec![1.0; x.len()];
        let program = ColumnSum {
            weights: Weights {
                policy: vec![0.0; moving],
                extra: vec![0.0; columns],
                ..Weights::default()
            },
            shared: shared.then(|| Shared {
                theta: 0.0,
                dp: vec![0.0; moving],
                eta: vec![0.0; n],
                beta: vec![0.0; columns],
            }),
            cells: vec![0.0; rows.n_cells()],
            parts: vec![(0.0, 0.0); n],
            cost,
            right,
            elimination,
            pull,
            rows,
        };
        Some(InteriorPoint::new(program, x, z, y))
    }

    pub(in crate::solve) fn work(&self) -> f64 {
        self.elimination.work(&self.rows)
    }

    /// The policy at a point, and the dual point of the [formulation](crate::formulation::column_sum).
    pub(in crate::solve) fn read(&self, x: &[f64], y: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let n = self.rows.n_states();
        (self.rows.policy(x), y[n..2 * n].to_vec())
    }

    /// From here on the nearest point to a policy is looked for.
    pub(in crate::solve) fn toward(&mut self, centre: &[f64]) {
        self.cost.fill(0.0);
        self.pull.begin(&self.rows, centre, &mut self.cost);
    }

    fn sizes(&self) -> (usize, usize) {
        (self.rows.n_moving(), self.rows.n_states())
    }
}

impl Program for ColumnSum {
    fn cost(&self) -> &[f64] {
        &self.cost
    }

    fn right(&self) -> &[f64] {
        &self.right
    }

    fn curvature(&self, x: &[f64], out: &mut [f64]) -> bool {
        self.pull.curvature(x, out)
    }

    fn rows(&self, x: &[f64], out: &mut [f64]) {
        let (moving, n) = self.sizes();
        let (sums, columns) = out.split_at_mut(n);
        self.rows.sums(x, sums);
        self.rows.column_sums_of(&x[..moving], columns);
        let mut share = 0.0;
        if self.shared.is_some() {
            let sigma = x[moving + 2 * n];
            columns[n] -= sigma;
            share = sigma / n as f64;
        }
        for t in 0..n {
            columns[t] += x[moving + t] - x[moving + n + t] + share;
        }
    }

    fn columns(&self, y: &[f64], out: &mut [f64]) {
        let (moving, n) = self.sizes();
        let (eta, beta) = y.split_at(n);
        self.rows.gather_columns(beta, &mut out[..moving]);
        for (s, w) in self.rows.first.windows(2).enumerate() {
            out[w[0]..w[1]].iter_mut().for_each(|x| *x += eta[s]);
        }
        out[moving..moving + n].copy_from_slice(&beta[..n]);
        for t in 0..n {
            out[moving + n + t] = -beta[t];
        }
        if self.shared.is_some() {
            out[moving + 2 * n] = beta[..n].iter().sum::<f64>() / n as f64 - beta[n];
        }
    }

    fn factor(&mut self, theta: &[f64]) -> bool {
        let (moving, n) = self.sizes();
        let weights = &mut self.weights;
        self.pull.weights(&theta[..moving], &mut weights.policy);
        for t in 0..n {
            let (u, v) = (1.0 / theta[moving + t], 1.0 / theta[moving + n + t]);
            self.parts[t] = (u, v);
            weights.extra[t] = u + v;
        }
        if self.elimination.factor(&self.rows, weights, None).is_none() {
            return false;
        }
        if let Some(shared) = &mut self.shared {
            shared.theta = theta[moving + 2 * n];
            shared.dp.fill(0.0);
            shared.eta.fill(0.0);
            shared.beta[..n].fill(1.0 / n as f64);
            shared.beta[n] = -1.0;
            self.elimination.solve(
                &self.rows,
                &self.weights,
                &[],
                &mut shared.dp,
                &mut shared.eta,
                &mut [],
                &mut shared.beta,
                &mut self.cells,
            );
        }
        true
    }

    fn solve(&mut self, rx: &[f64], ry: &[f64], dx: &mut [f64], dy: &mut [f64]) {
        let (moving, n) = self.sizes();
        dx[..moving].copy_from_slice(&rx[..moving]);
        dy.copy_from_slice(ry);
        let (eta, beta) = dy.split_at_mut(n);
        // what the two parts of what is missing do by themselves
        for t in 0..n {
            let (u, v) = self.parts[t];
            beta[t] -= u * rx[moving + t] - v * rx[moving + n + t];
        }
        self.elimination.solve(
            &self.rows,
            &self.weights,
            &[],
            &mut dx[..moving],
            eta,
            &mut [],
            beta,
            &mut self.cells,
        );
        if let Some(shared) = &self.shared {
            let along = |b: &[f64]| b[..n].iter().sum::<f64>() / n as f64 - b[n];
            let sigma = (along(beta) + rx[moving + 2 * n]) / (along(&shared.beta) + shared.theta);
            dx[moving + 2 * n] = sigma;
            for (x, d) in dx.iter_mut().zip(&shared.dp) {
                *x -= sigma * d;
            }
            for (x, d) in eta.iter_mut().zip(&shared.eta) {
                *x -= sigma * d;
            }
            for (x, d) in beta.iter_mut().zip(&shared.beta) {
                *x -= sigma * d;
            }
        }
        for t in 0..n {
            let (u, v) = self.parts[t];
            dx[moving + t] = u * (rx[moving + t] + beta[t]);
            dx[moving + n + t] = v * (rx[moving + n + t] - beta[t]);
        }
    }
}
