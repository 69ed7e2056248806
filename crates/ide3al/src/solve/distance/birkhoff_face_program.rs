//! The optimal Frobenius policy nearest to a given one, as a program over
//! [rows](crate::solve::kkt::transition_rows).
//!
//! At an optimum the difference $G = U - M(\pi^*)$ is unique although the policy may not be. A
//! policy is optimal exactly when $M(\pi) + G \in B_\zeta$:
//!
//! $$\min \tfrac12 \|\pi - c\|^2 \quad \text{s.t.} \quad \sum_s M_{st}(\pi) = \sum_s M_{st}(\pi^*), \qquad
//!   0 \le M_{st}(\pi) + G_{st} = r_{st} \le \zeta$$
//!
//! on the cells that some policy reaches; elsewhere nothing changes. The multipliers of $U \ge 0$
//! and $U \le \zeta$ tell which entries stay at their bounds on the whole face.

use crate::formulation::Problem;
use crate::model::Mdp;
use crate::solve::cost::DENSE;
use crate::solve::kkt::proximal_term::ProximalTerm;
use crate::solve::kkt::row_schur::RowSchur;
use crate::solve::kkt::transition_rows::{Cells, TransitionRows, capped};
use ide3al_numerics::interior_point::{InteriorPoint, ProblemData, QuadraticProgram};

pub(in crate::solve) struct BirkhoffFace {
    rows: TransitionRows,
    proximal: ProximalTerm,
    elimination: RowSchur,
    /// A column whose multiplier is pinned: the columns' sums together say what the simplexes' say.
    pinned: usize,
}

/// An optimum to start from.
pub(in crate::solve) struct Optimum<'a> {
    /// Free parts $p$ of the policy, and $U$ on the cells.
    pub(in crate::solve) p: &'a [f64],
    pub(in crate::solve) u: Vec<f64>,
    /// Which of both stay at a bound on the whole face.
    pub(in crate::solve) fixed: Vec<bool>,
}

impl BirkhoffFace {
    /// The method at its start; nothing if the columns' system is too large.
    pub(in crate::solve) fn start(
        mdp: &Mdp,
        problem: &Problem,
        optimum: &Optimum<'_>,
        centre: &[f64],
    ) -> Option<InteriorPoint<Self>> {
        let rows = TransitionRows::new(mdp, problem.xi, centre, Cells::Filled, DENSE)?;
        let (n, cells) = (rows.n_states(), rows.n_cells());
        let mut right = vec![0.0; 2 * n + cells];
        rows.sums(optimum.p, &mut right[..n]);
        let mut mass = vec![0.0; cells];
        rows.transpose_times(optimum.p, &mut mass);
        for (cell, right) in right[n..n + cells].iter_mut().enumerate() {
            *right = optimum.u[cell] - mass[cell];
        }
        rows.column_sums(&mass, &mut right[n + cells..]);
        let x = [optimum.p, &optimum.u].concat();
        Self::begin(rows, problem.zeta, right, x, centre)
    }

    /// The same for $G = 0$, from the uniform policy: towards the nearest one whose matrix is
    /// doubly stochastic and has no entry above $\zeta$.
    pub(in crate::solve) fn start_doubly_stochastic(
        mdp: &Mdp,
        (xi, zeta): (f64, f64),
        centre: &[f64],
    ) -> Option<InteriorPoint<Self>> {
        let rows = TransitionRows::new(mdp, xi, centre, Cells::Filled, DENSE)?;
        let mut x = ProximalTerm::new(&rows).uniform;
        let mut mass = vec![0.0; rows.n_cells()];
        rows.transpose_times(&x, &mut mass);
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
        rows: TransitionRows,
        zeta: f64,
        right: Vec<f64>,
        x: Vec<f64>,
        centre: &[f64],
    ) -> Option<InteriorPoint<Self>> {
        let mut elimination = RowSchur::new(&rows, false, DENSE)?;
        elimination.weights.w = vec![0.0; rows.n_cells()];
        let (n, free, cells) = (rows.n_states(), rows.n_free(), rows.n_cells());
        let mut reached = vec![0.0; n];
        rows.column_sums_of(&vec![1.0; free], &mut reached);
        let pinned = (0..n).fold(
            0,
            |most, t| if reached[t] > reached[most] { t } else { most },
        );
        let mut proximal = ProximalTerm::new(&rows);
        let mut cost = vec![0.0; free + cells];
        proximal.activate(&rows, centre, &mut cost);
        let program = BirkhoffFace {
            pinned,
            elimination,
            proximal,
            rows,
        };
        let (z, y) = (vec![1.0; x.len()], vec![0.0; right.len()]);
        let data = ProblemData {
            cost,
            right,
            bounded: capped(free..free + cells, zeta),
            cap: zeta,
        };
        Some(InteriorPoint::new(program, data, x, z, y))
    }

    pub(in crate::solve) fn policy(&self, x: &[f64]) -> Vec<f64> {
        self.rows.policy(x)
    }

    fn sizes(&self) -> (usize, usize, usize) {
        let rows = &self.rows;
        (rows.n_free(), rows.n_states(), rows.n_cells())
    }
}

impl QuadraticProgram for BirkhoffFace {
    fn add_hessian_times(&self, x: &[f64], out: &mut [f64]) -> bool {
        self.proximal.curvature(x, out)
    }

    fn times(&self, x: &[f64], out: &mut [f64]) {
        let (free, n, cells) = self.sizes();
        self.rows.sums(x, &mut out[..n]);
        let (caps, columns) = out[n..].split_at_mut(cells);
        self.rows.transpose_times(&x[..free], caps);
        self.rows.column_sums(caps, columns);
        for (o, r) in caps.iter_mut().zip(&x[free..]) {
            *o = r - *o;
        }
    }

    fn transpose_times(&self, y: &[f64], out: &mut [f64]) {
        let (free, n, cells) = self.sizes();
        let (gamma, beta) = y[n..].split_at(cells);
        let (policy, r) = out.split_at_mut(free);
        r.copy_from_slice(gamma);
        // r is done with; its place holds what the policy sees of each cell
        for (r, t) in r.iter_mut().zip(&self.rows.columns) {
            *r = beta[*t as usize] - *r;
        }
        self.rows.times(r, policy);
        r.copy_from_slice(gamma);
        for (s, w) in self.rows.first.windows(2).enumerate() {
            policy[w[0]..w[1]].iter_mut().for_each(|x| *x += y[s]);
        }
    }

    fn factorize(&mut self, theta: &[f64]) -> bool {
        let (free, ..) = self.sizes();
        let weights = &mut self.elimination.weights;
        self.proximal.weights(&theta[..free], &mut weights.policy);
        weights.w.copy_from_slice(&theta[free..]);
        // the columns' sums together say what the simplexes' say
        self.elimination
            .factor(&self.rows, Some(self.pinned))
            .is_some()
    }

    fn solve(&mut self, rx: &[f64], ry: &[f64], dx: &mut [f64], dy: &mut [f64]) {
        let (free, n, cells) = self.sizes();
        let RowSchur { mass, weights, .. } = &mut self.elimination;
        for cell in 0..cells {
            mass[cell] = rx[free + cell] - weights.w[cell] * ry[n + cell];
        }
        let (dp, dr) = dx.split_at_mut(free);
        self.rows.times(mass, dp);
        dp.iter_mut().zip(rx).for_each(|(d, r)| *d += r);
        dy.copy_from_slice(ry);
        let (eta, rest) = dy.split_at_mut(n);
        let (gamma, beta) = rest.split_at_mut(cells);
        self.elimination
            .solve(&self.rows, &[], dp, eta, &mut [], beta);
        let RowSchur { mass, weights, .. } = &self.elimination;
        for cell in 0..cells {
            dr[cell] = ry[n + cell] + mass[cell];
            gamma[cell] = weights.w[cell] * dr[cell] - rx[free + cell];
        }
    }
}
