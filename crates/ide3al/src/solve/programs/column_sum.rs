//! Column Sum as a program over [rows](crate::solve::methods::rows).
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
use crate::solve::methods::elimination::{Elimination, Limits};
use crate::solve::methods::interior_point::{Data, InteriorPoint, Program};
use crate::solve::methods::rows::{Cells, Rows};

use super::Pull;

pub(in crate::solve) struct ColumnSum {
    rows: Rows,
    pull: Pull,
    elimination: Elimination,
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
    fn new(moving: usize, n: usize) -> Self {
        Response {
            dp: vec![0.0; moving],
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
        limits: Limits,
    ) -> Option<InteriorPoint<Self>> {
        let rows = Rows::new(mdp, xi, centre, Cells::Reached, limits)?;
        let elimination = Elimination::new(&rows, false, limits)?;
        let (n, moving) = (rows.n_states(), rows.n_moving());
        let base = rows.base(mdp);
        let mut filled = vec![0.0; n];
        rows.column_sums(&base, &mut filled);
        let mut right = rows.simplexes();
        right.extend(filled.iter().map(|c| 1.0 - c));
        let mut cost = vec![0.0; moving];
        cost.resize(moving + 2 * n, 1.0);
        let shared = mdp.kernel().has_spread();
        if shared {
            cost.push(0.0);
            right.push(0.0);
        }
        // what the uniform policy leaves missing, split with room on both sides
        let pull = Pull::new(&rows);
        let mut x = pull.uniform.clone();
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
            x[moving + 2 * n] = sigma;
        }
        for t in 0..n {
            let missing = missing(t) - sigma / n as f64;
            x[moving + t] = missing.max(0.0) + 0.1;
            x[moving + n + t] = x[moving + t] - missing;
        }
        // y = 0 and eta = -1 leave slacks of one everywhere
        let mut y = vec![0.0; right.len()];
        y[..n].fill(-1.0);
        let z = vec![1.0; x.len()];
        let program = ColumnSum {
            uniform: shared.then(|| {
                let mut reached = vec![0.0; moving];
                rows.gather_columns(&vec![1.0; n], &mut reached);
                Uniform {
                    theta: 0.0,
                    reached,
                    rho: Response::new(moving, n),
                    sigma: Response::new(moving, n),
                }
            }),
            start: x.clone(),
            parts: vec![(0.0, 0.0); n],
            elimination,
            pull,
            rows,
        };
        let data = Data {
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

    /// What is missing in all columns together.
    pub(in crate::solve) fn missing(&self, x: &[f64]) -> f64 {
        let (moving, n) = self.sizes();
        x[moving..moving + 2 * n].iter().sum()
    }

    fn sizes(&self) -> (usize, usize) {
        (self.rows.n_moving(), self.rows.n_states())
    }
}

impl InteriorPoint<ColumnSum> {
    /// From here on the nearest point to a policy is looked for.
    pub(in crate::solve) fn toward(&mut self, centre: &[f64]) {
        let ColumnSum { pull, rows, .. } = &mut self.program;
        pull.begin(rows, centre, &mut self.data.cost);
    }

    /// Looks from the uniform policy for the nearest one to `centre` of which no column lacks
    /// anything, by `search`, which gets what is frozen for it, and comes back to where it was.
    pub(in crate::solve) fn aside_to_even<T>(
        &mut self,
        centre: &[f64],
        search: impl FnOnce(&mut Self, Vec<bool>) -> T,
    ) -> T {
        let (moving, n) = self.program.sizes();
        let parts = moving..moving + 2 * n;
        let kept = (self.iterate(), self.data.cost.clone());
        let pulled = self.program.pull.active;
        self.x.copy_from_slice(&self.program.start);
        self.x[parts.clone()].fill(0.0);
        let mut frozen = vec![false; self.x.len()];
        frozen[parts].fill(true);
        self.toward(centre);
        let found = search(self, frozen);
        self.program.pull.active = pulled;
        self.go_back(kept.0);
        self.data.cost = kept.1;
        found
    }
}

impl Program for ColumnSum {
    fn curvature(&self, x: &[f64], out: &mut [f64]) -> bool {
        self.pull.curvature(x, out)
    }

    fn rows(&self, x: &[f64], out: &mut [f64]) {
        let (moving, n) = self.sizes();
        let (sums, columns) = out.split_at_mut(n);
        self.rows.sums(x, sums);
        self.rows.column_sums_of(&x[..moving], &mut columns[..n]);
        let mut share = 0.0;
        if self.uniform.is_some() {
            let parts = |k: usize| x[k..k + n].iter().sum::<f64>();
            columns[n] = parts(moving) - parts(moving + n);
            share = x[moving + 2 * n] / n as f64;
        }
        for t in 0..n {
            columns[t] += x[moving + t] - x[moving + n + t] + share;
        }
    }

    fn columns(&self, y: &[f64], out: &mut [f64]) {
        let (moving, n) = self.sizes();
        let (eta, beta) = y.split_at(n);
        let rho = beta.get(n).copied().unwrap_or(0.0);
        self.rows.gather_columns(&beta[..n], &mut out[..moving]);
        for (s, w) in self.rows.first.windows(2).enumerate() {
            out[w[0]..w[1]].iter_mut().for_each(|x| *x += eta[s]);
        }
        for t in 0..n {
            out[moving + t] = beta[t] + rho;
            out[moving + n + t] = -beta[t] - rho;
        }
        if self.uniform.is_some() {
            out[moving + 2 * n] = beta[..n].iter().sum::<f64>() / n as f64;
        }
    }

    fn factor(&mut self, theta: &[f64]) -> bool {
        let (moving, n) = self.sizes();
        let weights = &mut self.elimination.weights;
        self.pull.weights(&theta[..moving], &mut weights.policy);
        for t in 0..n {
            let (u, v) = (1.0 / theta[moving + t], 1.0 / theta[moving + n + t]);
            self.parts[t] = (u, v);
            weights.extra[t] = u + v;
        }
        if self.elimination.factor(&self.rows, None).is_none() {
            return false;
        }
        if let Some(uniform) = &mut self.uniform {
            uniform.theta = theta[moving + 2 * n];
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
        let (moving, n) = self.sizes();
        dx[..moving].copy_from_slice(&rx[..moving]);
        dy.copy_from_slice(ry);
        let (eta, beta) = dy.split_at_mut(n);
        // what the two parts of what is missing do by themselves
        for t in 0..n {
            let (u, v) = self.parts[t];
            beta[t] -= u * rx[moving + t] - v * rx[moving + n + t];
        }
        let (dp, columns) = (&mut dx[..moving], &mut beta[..n]);
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
                u * rx[moving + t] - v * rx[moving + n + t]
            };
            let first = ry[2 * n] - parts(beta) - (0..n).map(own).sum::<f64>();
            let second = rx[moving + 2 * n] + mean(beta);
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
                (&mut dx[..moving], &rho.dp, &sigma.dp),
                (eta, &rho.eta, &sigma.eta),
                (&mut beta[..n], &rho.beta, &sigma.beta),
            ] {
                for ((x, of_rho), of_sigma) in step.iter_mut().zip(of_rho).zip(of_sigma) {
                    *x += r * of_rho + s * of_sigma;
                }
            }
            (dx[moving + 2 * n], beta[n], shift) = (s, r, r);
        }
        for t in 0..n {
            let (u, v) = self.parts[t];
            dx[moving + t] = u * (rx[moving + t] + beta[t]);
            dx[moving + n + t] = v * (rx[moving + n + t] - beta[t]);
            beta[t] -= shift;
        }
    }
}
