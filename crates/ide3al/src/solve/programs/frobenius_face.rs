//! The optimal Frobenius policy nearest to a given one, as a program over
//! [rows](crate::solve::methods::rows).
//!
//! At an optimum the difference $G = U - M(\pi^*)$ is unique although the policy may not be. A
//! policy is optimal exactly when $M(\pi) + G \in B_\zeta$:
//!
//! $$\min \tfrac12 \|\pi - c\|^2 \quad \text{s.t.} \quad \sum_s M_{st}(\pi) = \sum_s M_{st}(\pi^*), \qquad
//!   0 \le M_{st}(\pi) + G_{st} = r_{st} \le \zeta$$
//!
//! on the cells that some policy reaches; elsewhere nothing changes. The multipliers of $U \ge 0$
//! and $U \le \zeta$ tell which entries stay at their bounds on the whole face.

use super::{Pull, capped};
use crate::formulation::Problem;
use crate::model::Mdp;
use crate::solve::methods::elimination::{AT_ONCE, Elimination};
use crate::solve::methods::interior_point::{Data, InteriorPoint, Program};
use crate::solve::methods::rows::{Cells, Rows};

pub(in crate::solve) struct FrobeniusFace {
    rows: Rows,
    pull: Pull,
    elimination: Elimination,
    /// A column whose multiplier is held.
    held: usize,
}

/// An optimum to start from.
pub(in crate::solve) struct Optimum<'a> {
    /// Free parts $p$ of the policy, and $U$ on the cells.
    pub(in crate::solve) p: &'a [f64],
    pub(in crate::solve) u: Vec<f64>,
    /// Which of both stay at a bound on the whole face.
    pub(in crate::solve) frozen: Vec<bool>,
}

impl FrobeniusFace {
    /// The method at its start; nothing if the columns' system is too large.
    pub(in crate::solve) fn start(
        mdp: &Mdp,
        problem: &Problem,
        optimum: &Optimum<'_>,
        centre: &[f64],
    ) -> Option<InteriorPoint<Self>> {
        let rows = Rows::new(mdp, problem.xi, centre, Cells::Filled, AT_ONCE)?;
        let (n, cells) = (rows.n_states(), rows.n_cells());
        let mut right = vec![0.0; 2 * n + cells];
        rows.sums(optimum.p, &mut right[..n]);
        let mut mass = vec![0.0; cells];
        rows.spread(optimum.p, &mut mass);
        for (cell, right) in right[n..n + cells].iter_mut().enumerate() {
            *right = optimum.u[cell] - mass[cell];
        }
        rows.column_sums(&mass, &mut right[n + cells..]);
        let x = [optimum.p, &optimum.u].concat();
        Self::begin(rows, problem.zeta, right, x, centre)
    }

    /// The same for $G = 0$, from the uniform policy: towards the nearest one whose matrix is
    /// doubly stochastic and has no entry above $\zeta$.
    pub(in crate::solve) fn start_even(
        mdp: &Mdp,
        (xi, zeta): (f64, f64),
        centre: &[f64],
    ) -> Option<InteriorPoint<Self>> {
        let rows = Rows::new(mdp, xi, centre, Cells::Filled, AT_ONCE)?;
        let mut x = Pull::new(&rows).uniform;
        let mut mass = vec![0.0; rows.n_cells()];
        rows.spread(&x, &mut mass);
        let base = rows.base(mdp);
        let mut right = rows.simplexes();
        let mut columns = vec![0.0; rows.n_states()];
        rows.column_sums(&base, &mut columns);
        // the entries start within their bounds, whatever the uniform policy makes of them
        x.extend((mass.iter().zip(&base)).map(|(m, b)| (m + b).clamp(0.05 * zeta, 0.95 * zeta)));
        right.extend(base);
        right.extend(columns.iter().map(|c| 1.0 - c));
        Self::begin(rows, zeta, right, x, centre)
    }

    fn begin(
        rows: Rows,
        zeta: f64,
        right: Vec<f64>,
        x: Vec<f64>,
        centre: &[f64],
    ) -> Option<InteriorPoint<Self>> {
        let mut elimination = Elimination::new(&rows, false, AT_ONCE)?;
        elimination.weights.w = vec![0.0; rows.n_cells()];
        let (n, moving, cells) = (rows.n_states(), rows.n_moving(), rows.n_cells());
        let mut reached = vec![0.0; n];
        rows.column_sums_of(&vec![1.0; moving], &mut reached);
        let held = (0..n).fold(
            0,
            |most, t| if reached[t] > reached[most] { t } else { most },
        );
        let mut pull = Pull::new(&rows);
        let mut cost = vec![0.0; moving + cells];
        pull.begin(&rows, centre, &mut cost);
        let program = FrobeniusFace {
            held,
            elimination,
            pull,
            rows,
        };
        let (z, y) = (vec![1.0; x.len()], vec![0.0; right.len()]);
        let data = Data {
            cost,
            right,
            bounded: capped(moving..moving + cells, zeta),
            cap: zeta,
        };
        Some(InteriorPoint::new(program, data, x, z, y))
    }

    pub(in crate::solve) fn policy(&self, x: &[f64]) -> Vec<f64> {
        self.rows.policy(x)
    }

    /// Multipliers of the columns' sums.
    pub(in crate::solve) fn prices<'a>(&self, y: &'a [f64]) -> &'a [f64] {
        let (_, n, cells) = self.sizes();
        &y[n + cells..]
    }

    fn sizes(&self) -> (usize, usize, usize) {
        let rows = &self.rows;
        (rows.n_moving(), rows.n_states(), rows.n_cells())
    }
}

impl Program for FrobeniusFace {
    fn curvature(&self, x: &[f64], out: &mut [f64]) -> bool {
        self.pull.curvature(x, out)
    }

    fn rows(&self, x: &[f64], out: &mut [f64]) {
        let (moving, n, cells) = self.sizes();
        self.rows.sums(x, &mut out[..n]);
        let (caps, columns) = out[n..].split_at_mut(cells);
        self.rows.spread(&x[..moving], caps);
        self.rows.column_sums(caps, columns);
        for (o, r) in caps.iter_mut().zip(&x[moving..]) {
            *o = r - *o;
        }
    }

    fn columns(&self, y: &[f64], out: &mut [f64]) {
        let (moving, n, cells) = self.sizes();
        let (gamma, beta) = y[n..].split_at(cells);
        let (policy, r) = out.split_at_mut(moving);
        r.copy_from_slice(gamma);
        // r is done with; its place holds what the policy sees of each cell
        for (r, t) in r.iter_mut().zip(&self.rows.columns) {
            *r = beta[*t as usize] - *r;
        }
        self.rows.gather(r, policy);
        r.copy_from_slice(gamma);
        for (s, w) in self.rows.first.windows(2).enumerate() {
            policy[w[0]..w[1]].iter_mut().for_each(|x| *x += y[s]);
        }
    }

    fn factor(&mut self, theta: &[f64]) -> bool {
        let (moving, ..) = self.sizes();
        let weights = &mut self.elimination.weights;
        self.pull.weights(&theta[..moving], &mut weights.policy);
        weights.w.copy_from_slice(&theta[moving..]);
        // the columns' sums together say what the simplexes' say
        self.elimination
            .factor(&self.rows, Some(self.held))
            .is_some()
    }

    fn solve(&mut self, rx: &[f64], ry: &[f64], dx: &mut [f64], dy: &mut [f64]) {
        let (moving, n, cells) = self.sizes();
        let Elimination { mass, weights, .. } = &mut self.elimination;
        for cell in 0..cells {
            mass[cell] = rx[moving + cell] - weights.w[cell] * ry[n + cell];
        }
        let (dp, dr) = dx.split_at_mut(moving);
        self.rows.gather(mass, dp);
        dp.iter_mut().zip(rx).for_each(|(d, r)| *d += r);
        dy.copy_from_slice(ry);
        let (eta, rest) = dy.split_at_mut(n);
        let (gamma, beta) = rest.split_at_mut(cells);
        self.elimination
            .solve(&self.rows, &[], dp, eta, &mut [], beta);
        let Elimination { mass, weights, .. } = &self.elimination;
        for cell in 0..cells {
            dr[cell] = ry[n + cell] + mass[cell];
            gamma[cell] = weights.w[cell] * dr[cell] - rx[moving + cell];
        }
    }
}
