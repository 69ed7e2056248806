//! Column Sum as a program over [rows](crate::solve::kkt::transition_rows).
//!
//! With $b_t$ what the floor $\xi$ leaves open in column $t$ and $u, v$ the two parts of what is
//! missing,
//!
//! $$\min_{p, u, v \ge 0} \sum_t (u_t + v_t), \qquad P^\top p + u - v = b, \qquad \textstyle\sum_a p_{sa} = 1 .$$
//!
//! Uniform rows of estimated models reach every column, but all in the same way: the mass $\sigma$
//! that all of them hold together is one more variable, in each column by $\sigma / S$. What ties
//! it to the policy is that the columns together lack nothing, $\sum_t (u_t - v_t) = 0$.

use crate::model::Mdp;
use crate::solve::cost::SizeLimits;
use crate::solve::kkt::proximal_term::ProximalTerm;
use crate::solve::kkt::row_schur::RowSchur;
use crate::solve::kkt::transition_rows::{Cells, TransitionRows};
use ide3al_numerics::interior_point::{InteriorPoint, ProblemData, QuadraticProgram};

pub(in crate::solve) struct ColumnSum {
    rows: TransitionRows,
    proximal: ProximalTerm,
    elimination: RowSchur,
    /// One over the barriers of $u_t$ and $v_t$.
    parts: Vec<(f64, f64)>,
    uniform: Option<Uniform>,
    /// The point that the method starts from.
    start: Vec<f64>,
}

/// The part of uniform rows in a Newton step. With $\rho$ the multiplier of what ties $\sigma$, the
/// columns' multipliers enter as $\beta + \rho$ but for the policy, so that one unit of $\rho$
/// pushes the policy by $-P 1$ and one of $\sigma$ fills columns by $1/S$; both are solved for
/// beforehand, and two equations remain.
struct Uniform {
    theta: f64,
    /// $P 1$.
    reached: Vec<f64>,
    rho: Response,
    sigma: Response,
}

/// Steps of $p$, of the simplexes' multipliers and of the columns'.
struct Response {
    dp: Vec<f64>,
    eta: Vec<f64>,
    beta: Vec<f64>,
}

impl Response {
    fn new(free: usize, n: usize) -> Self {
        Response {
            dp: vec![0.0; free],
            eta: vec![0.0; n],
            beta: vec![0.0; n],
        }
    }
}

impl ColumnSum {
    /// The method at its start; nothing if the columns' system is too large.
    pub(in crate::solve) fn start(
        mdp: &Mdp,
        xi: f64,
        centre: &[f64],
        limits: SizeLimits,
    ) -> Option<InteriorPoint<Self>> {
        let rows = TransitionRows::new(mdp, xi, centre, Cells::Reached, limits)?;
        let elimination = RowSchur::new(&rows, false, limits)?;
        let (n, free) = (rows.n_states(), rows.n_free());
        let base = rows.base(mdp);
        let mut filled = vec![0.0; n];
        rows.column_sums(&base, &mut filled);
        let mut right = rows.simplexes();
        right.extend(filled.iter().map(|c| 1.0 - c));
        let mut cost = vec![0.0; free];
        cost.resize(free + 2 * n, 1.0);
        let shared = mdp.kernel().has_spread();
        if shared {
            cost.push(0.0);
            right.push(0.0);
        }
        // what the uniform policy leaves missing, split with room on both sides
        let proximal = ProximalTerm::new(&rows);
        let mut x = proximal.uniform.clone();
        rows.column_sums_of(&x, &mut filled);
        x.resize(cost.len(), 0.0);
        let missing = |t: usize| right[n + t] - filled[t];
        let kernel = mdp.kernel();
        let uniform = |s: usize| {
            let pairs = mdp.pairs(s);
            let count = pairs.len() as f64;
            pairs.map(|pair| kernel.spread_of(pair)).sum::<f64>() / count
        };
        let sigma = (0..n).map(uniform).sum::<f64>();
        if shared {
            x[free + 2 * n] = sigma;
        }
        for t in 0..n {
            let missing = missing(t) - sigma / n as f64;
            x[free + t] = missing.max(0.0) + 0.1;
            x[free + n + t] = x[free + t] - missing;
        }
        // y = 0 and eta = -1 leave slacks of one everywhere
        let mut y = vec![0.0; right.len()];
        y[..n].fill(-1.0);
        let z = vec![1.0; x.len()];
        let program = ColumnSum {
            uniform: shared.then(|| {
                let mut reached = vec![0.0; free];
                rows.times_columns(&vec![1.0; n], &mut reached);
                Uniform {
                    theta: 0.0,
                    reached,
                    rho: Response::new(free, n),
                    sigma: Response::new(free, n),
                }
            }),
            start: x.clone(),
            parts: vec![(0.0, 0.0); n],
            elimination,
            proximal,
            rows,
        };
        let data = ProblemData {
            cost,
            right,
            bounded: 0..0,
            cap: f64::INFINITY,
        };
        Some(InteriorPoint::new(program, data, x, z, y))
    }

    /// The policy at a point, and the dual point of the
    /// [formulation](crate::formulation::column_sum).
    pub(in crate::solve) fn read(&self, x: &[f64], y: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let n = self.rows.n_states();
        let rho = y.get(2 * n).copied().unwrap_or(0.0);
        let prices = y[n..2 * n].iter().map(|beta| beta + rho);
        (self.rows.policy(x), prices.collect())
    }

    fn sizes(&self) -> (usize, usize) {
        (self.rows.n_free(), self.rows.n_states())
    }
}

impl ColumnSum {
    /// From here on the nearest point to a policy is looked for.
    pub(super) fn set_proximal_objective(point: &mut InteriorPoint<Self>, centre: &[f64]) {
        let ColumnSum { proximal, rows, .. } = &mut point.program;
        proximal.activate(rows, centre, &mut point.data.cost);
    }

    /// From here on, from the uniform policy again, the nearest point to a policy is looked for of
    /// which no column lacks anything; says what is fixed for it.
    pub(super) fn without_excess(point: &mut InteriorPoint<Self>, centre: &[f64]) -> Vec<bool> {
        let (free, n) = point.program.sizes();
        let parts = free..free + 2 * n;
        point.x.copy_from_slice(&point.program.start);
        point.x[parts.clone()].fill(0.0);
        let mut fixed = vec![false; point.x.len()];
        fixed[parts].fill(true);
        Self::set_proximal_objective(point, centre);
        fixed
    }
}

impl QuadraticProgram for ColumnSum {
    fn add_hessian_times(&self, x: &[f64], out: &mut [f64]) -> bool {
        self.proximal.curvature(x, out)
    }

    fn times(&self, x: &[f64], out: &mut [f64]) {
        let (free, n) = self.sizes();
        let (sums, columns) = out.split_at_mut(n);
        self.rows.sums(x, sums);
        self.rows.column_sums_of(&x[..free], &mut columns[..n]);
        let mut share = 0.0;
        if self.uniform.is_some() {
            let parts = |k: usize| x[k..k + n].iter().sum::<f64>();
            columns[n] = parts(free) - parts(free + n);
            share = x[free + 2 * n] / n as f64;
        }
        for t in 0..n {
            columns[t] += x[free + t] - x[free + n + t] + share;
        }
    }

    fn transpose_times(&self, y: &[f64], out: &mut [f64]) {
        let (free, n) = self.sizes();
        let (eta, beta) = y.split_at(n);
        let rho = beta.get(n).copied().unwrap_or(0.0);
        self.rows.times_columns(&beta[..n], &mut out[..free]);
        for (s, w) in self.rows.first.windows(2).enumerate() {
            out[w[0]..w[1]].iter_mut().for_each(|x| *x += eta[s]);
        }
        for t in 0..n {
            out[free + t] = beta[t] + rho;
            out[free + n + t] = -beta[t] - rho;
        }
        if self.uniform.is_some() {
            out[free + 2 * n] = beta[..n].iter().sum::<f64>() / n as f64;
        }
    }

    fn factorize(&mut self, theta: &[f64]) -> bool {
        let (free, n) = self.sizes();
        let weights = &mut self.elimination.weights;
        self.proximal.weights(&theta[..free], &mut weights.policy);
        for t in 0..n {
            let (u, v) = (1.0 / theta[free + t], 1.0 / theta[free + n + t]);
            self.parts[t] = (u, v);
            weights.extra[t] = u + v;
        }
        if self.elimination.factor(&self.rows, None).is_none() {
            return false;
        }
        if let Some(uniform) = &mut self.uniform {
            uniform.theta = theta[free + 2 * n];
            let Uniform { rho, sigma, .. } = uniform;
            for (d, reached) in rho.dp.iter_mut().zip(&uniform.reached) {
                *d = -reached;
            }
            rho.beta.fill(0.0);
            sigma.dp.fill(0.0);
            sigma.beta.fill(-1.0 / n as f64);
            for Response { dp, eta, beta } in [rho, sigma] {
                eta.fill(0.0);
                self.elimination
                    .solve(&self.rows, &[], dp, eta, &mut [], beta);
            }
        }
        true
    }

    fn solve(&mut self, rx: &[f64], ry: &[f64], dx: &mut [f64], dy: &mut [f64]) {
        let (free, n) = self.sizes();
        dx[..free].copy_from_slice(&rx[..free]);
        dy.copy_from_slice(ry);
        let (eta, beta) = dy.split_at_mut(n);
        // what the two parts of what is missing do by themselves
        for t in 0..n {
            let (u, v) = self.parts[t];
            beta[t] -= u * rx[free + t] - v * rx[free + n + t];
        }
        let (dp, columns) = (&mut dx[..free], &mut beta[..n]);
        self.elimination
            .solve(&self.rows, &[], dp, eta, &mut [], columns);
        let mut shift = 0.0;
        if let Some(uniform) = &self.uniform {
            let Uniform { rho, sigma, .. } = uniform;
            let mean = |b: &[f64]| b[..n].iter().sum::<f64>() / n as f64;
            let extra = &self.elimination.weights.extra;
            let parts = |b: &[f64]| -> f64 { b.iter().zip(extra).map(|(b, e)| b * e).sum() };
            let own = |t: usize| {
                let (u, v) = self.parts[t];
                u * rx[free + t] - v * rx[free + n + t]
            };
            let first = ry[2 * n] - parts(beta) - (0..n).map(own).sum::<f64>();
            let second = rx[free + 2 * n] + mean(beta);
            let (a, b) = (parts(&rho.beta), parts(&sigma.beta));
            // the system is symmetric: b is also the mean of rho's part less one, without its
            // cancellation
            let d = uniform.theta - mean(&sigma.beta);
            let determinant = a * d + b * b;
            let (r, s) = (
                (first * d - b * second) / determinant,
                (a * second + first * b) / determinant,
            );
            for (step, of_rho, of_sigma) in [
                (&mut dx[..free], &rho.dp, &sigma.dp),
                (eta, &rho.eta, &sigma.eta),
                (&mut beta[..n], &rho.beta, &sigma.beta),
            ] {
                for ((x, of_rho), of_sigma) in step.iter_mut().zip(of_rho).zip(of_sigma) {
                    *x += r * of_rho + s * of_sigma;
                }
            }
            (dx[free + 2 * n], beta[n], shift) = (s, r, r);
        }
        for t in 0..n {
            let (u, v) = self.parts[t];
            dx[free + t] = u * (rx[free + t] + beta[t]);
            dx[free + n + t] = v * (rx[free + n + t] - beta[t]);
            beta[t] -= shift;
        }
    }
}
