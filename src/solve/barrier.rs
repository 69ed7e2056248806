//! Column Sum by an interior-point method, for models whose normal equations factor sparsely.
//!
//! With $\pi = \xi + p$, $b_t$ what the floor $\xi$ leaves open in column $t$ and $u, v$ the two
//! parts of what is missing,
//!
//! $$\min_{p, u, v \ge 0} \sum_t (u_t + v_t), \qquad P^\top p + u - v = b, \qquad
//!   \textstyle\sum_a p_{sa} = 1 - A_s \xi .$$
//!
//! The dual is $\max b \cdot y + \sum_s \theta_s (1 - A_s\xi)$ with slacks $z = -(Py + \theta) \ge 0$ and
//! $1 \mp y \ge 0$. Both sides have an interior point in closed form, so every iterate is feasible
//! and the complementarity products add up to the gap. Predictor and corrector follow
//! Mehrotra (1992); $\theta$ is eliminated state by state, which leaves one sparse system in
//! $dy$ ([`hessian`](super::hessian)).

use super::Outcome;
use super::hessian::Hessian;
use crate::formulation::{Problem, column_sum, simplex};
use crate::model::{Mdp, Policy};

/// Most multiplications in one factorisation: beyond, primal-dual steps are as fast.
const MOST_WORK: f64 = 3e7;
const MOST_ITERATIONS: usize = 60;

/// Solves until the gap is below `wanted(objective)`; nothing if the model is not made for this road.
pub(super) fn column_sum(
    mdp: &Mdp,
    problem: &Problem,
    wanted: impl Fn(f64) -> f64,
    mut stop: impl FnMut() -> bool,
) -> Option<Outcome> {
    let n = mdp.n_states();
    let free = |s: usize| simplex::free_mass(mdp.n_actions(s), problem.xi);
    if n < 2 || (0..n).any(|s| free(s) < 1e-9) {
        return None;
    }
    let hessian = Hessian::new(mdp).filter(|h| h.work() <= MOST_WORK)?;
    let mut state = State::new(mdp, problem, hessian);
    let mut iterations = 0;
    while iterations < MOST_ITERATIONS && !stop() {
        let objective: f64 = state.u.iter().zip(&state.v).map(|(u, v)| u + v).sum();
        if state.gap() <= 0.3 * wanted(objective) || !state.step() {
            break;
        }
        iterations += 1;
    }
    let mut policy: Vec<f64> = state.p.iter().map(|p| p + problem.xi).collect();
    for s in 0..n {
        simplex::project(&mut policy[mdp.pairs(s)], problem.xi);
    }
    Some(Outcome {
        objective: column_sum::objective(mdp, &Policy::cleaned(mdp, policy.clone())),
        bound: column_sum::bound(mdp, problem.xi, &state.y).max(0.0),
        policy,
        dual: state.y,
        iterations,
    })
}

struct State<'a> {
    mdp: &'a Mdp,
    hessian: Hessian,
    p: Vec<f64>,
    z: Vec<f64>,
    u: Vec<f64>,
    v: Vec<f64>,
    y: Vec<f64>,
    theta: Vec<f64>,
    /// Targets of $pz$, $u(1-y)$ and $v(1+y)$.
    aim: Vec<f64>,
    aim_u: Vec<f64>,
    aim_v: Vec<f64>,
    dp: Vec<f64>,
    dz: Vec<f64>,
    du: Vec<f64>,
    dv: Vec<f64>,
    dy: Vec<f64>,
    dtheta: Vec<f64>,
    weights: Vec<f64>,
    extra: Vec<f64>,
    pairs: Vec<f64>,
}

impl<'a> State<'a> {
    fn new(mdp: &'a Mdp, problem: &Problem, hessian: Hessian) -> Self {
        let (n, pairs) = (mdp.n_states(), mdp.n_pairs());
        let mut p = vec![0.0; pairs];
        for s in 0..n {
            let count = mdp.n_actions(s);
            p[mdp.pairs(s)].fill(simplex::free_mass(count, problem.xi) / count as f64);
        }
        // what is missing in each column under the uniform policy, split with room on both sides
        let mut sums = vec![0.0; n];
        mdp.kernel()
            .transpose_times(Policy::uniform(mdp).probabilities(), &mut sums);
        let u: Vec<f64> = sums.iter().map(|c| (1.0 - c).max(0.0) + 0.1).collect();
        let v = u.iter().zip(&sums).map(|(u, c)| u - (1.0 - c)).collect();
        let columns = || vec![0.0; n];
        let rows = || vec![0.0; pairs];
        State {
            mdp,
            hessian,
            p,
            z: vec![1.0; pairs],
            u,
            v,
            y: columns(),
            theta: vec![-1.0; n],
            aim: rows(),
            aim_u: columns(),
            aim_v: columns(),
            dp: rows(),
            dz: rows(),
            du: columns(),
            dv: columns(),
            dy: columns(),
            dtheta: columns(),
            weights: rows(),
            extra: columns(),
            pairs: rows(),
        }
    }

    fn gap(&self) -> f64 {
        let policy: f64 = self.p.iter().zip(&self.z).map(|(p, z)| p * z).sum();
        let columns = self.u.iter().zip(&self.v).zip(&self.y);
        policy
            + columns
                .map(|((u, v), y)| u * (1.0 - y) + v * (1.0 + y))
                .sum::<f64>()
    }

    fn step(&mut self) -> bool {
        let n = self.y.len();
        for (w, (p, z)) in self.weights.iter_mut().zip(self.p.iter().zip(&self.z)) {
            *w = p / z;
        }
        for t in 0..n {
            self.extra[t] = self.u[t] / (1.0 - self.y[t]) + self.v[t] / (1.0 + self.y[t]);
        }
        if !(self.hessian).normal_equations(self.mdp, &self.weights, &self.extra) {
            return false;
        }
        let count = (self.p.len() + 2 * n) as f64;
        let gap = self.gap();
        self.aim.fill(0.0);
        self.aim_u.fill(0.0);
        self.aim_v.fill(0.0);
        if !self.direction() {
            return false;
        }
        // how far the predictor gets decides how much centring the corrector needs
        let (primal, dual) = self.largest_steps();
        let mut after = 0.0;
        for i in 0..self.p.len() {
            after += (self.p[i] + primal * self.dp[i]) * (self.z[i] + dual * self.dz[i]);
        }
        for t in 0..n {
            let y = self.y[t] + dual * self.dy[t];
            after += (self.u[t] + primal * self.du[t]) * (1.0 - y)
                + (self.v[t] + primal * self.dv[t]) * (1.0 + y);
        }
        let centre = (after / gap).clamp(0.0, 1.0).powi(3) * gap / count;
        for i in 0..self.p.len() {
            self.aim[i] = centre - self.dp[i] * self.dz[i];
        }
        for t in 0..n {
            self.aim_u[t] = centre + self.du[t] * self.dy[t];
            self.aim_v[t] = centre - self.dv[t] * self.dy[t];
        }
        if !self.direction() {
            return false;
        }
        let (primal, dual) = self.largest_steps();
        let (primal, dual) = ((0.995 * primal).min(1.0), (0.995 * dual).min(1.0));
        if primal.max(dual) < 1e-8 {
            return false;
        }
        let advance = |x: &mut [f64], d: &[f64], size: f64| {
            x.iter_mut().zip(d).for_each(|(x, d)| *x += size * d);
        };
        advance(&mut self.p, &self.dp, primal);
        advance(&mut self.u, &self.du, primal);
        advance(&mut self.v, &self.dv, primal);
        advance(&mut self.y, &self.dy, dual);
        advance(&mut self.theta, &self.dtheta, dual);
        advance(&mut self.z, &self.dz, dual);
        self.gap() < gap
    }

    /// Newton's direction towards the aims, with the factor at hand.
    fn direction(&mut self) -> bool {
        let mdp = self.mdp;
        let n = self.y.len();
        // what each variable would do without the constraints
        for i in 0..self.p.len() {
            self.dp[i] = self.aim[i] / self.z[i] - self.p[i];
        }
        for t in 0..n {
            self.du[t] = self.aim_u[t] / (1.0 - self.y[t]) - self.u[t];
            self.dv[t] = self.aim_v[t] / (1.0 + self.y[t]) - self.v[t];
        }
        for s in 0..n {
            let pairs = mdp.pairs(s);
            let total: f64 = self.weights[pairs.clone()].iter().sum();
            let change: f64 = self.dp[pairs.clone()].iter().sum();
            self.dtheta[s] = change / total;
            for i in pairs {
                self.pairs[i] = self.dp[i] - self.weights[i] * self.dtheta[s];
            }
        }
        mdp.kernel().transpose_times(&self.pairs, &mut self.dy);
        for t in 0..n {
            self.dy[t] = -(self.dy[t] + self.du[t] - self.dv[t]);
        }
        if !self.hessian.solve(&mut self.dy) {
            return false;
        }
        mdp.kernel().times(&self.dy, &mut self.pairs);
        for s in 0..n {
            let pairs = mdp.pairs(s);
            let (mut total, mut along) = (0.0, 0.0);
            for i in pairs.clone() {
                total += self.weights[i];
                along += self.weights[i] * self.pairs[i];
            }
            self.dtheta[s] = -self.dtheta[s] - along / total;
            for i in pairs {
                self.dz[i] = -(self.pairs[i] + self.dtheta[s]);
                self.dp[i] -= self.weights[i] * self.dz[i];
            }
        }
        for t in 0..n {
            self.du[t] += self.u[t] / (1.0 - self.y[t]) * self.dy[t];
            self.dv[t] -= self.v[t] / (1.0 + self.y[t]) * self.dy[t];
        }
        true
    }

    /// Longest steps that keep both sides non-negative.
    fn largest_steps(&self) -> (f64, f64) {
        let limit = |x: &[f64], d: &[f64]| {
            let room = x.iter().zip(d).filter(|(_, d)| **d < 0.0);
            room.map(|(x, d)| -x / d).fold(f64::INFINITY, f64::min)
        };
        let primal = limit(&self.p, &self.dp)
            .min(limit(&self.u, &self.du))
            .min(limit(&self.v, &self.dv));
        let ends = self.y.iter().zip(&self.dy).map(|(y, d)| {
            if *d > 0.0 {
                (1.0 - y) / d
            } else if *d < 0.0 {
                (1.0 + y) / -d
            } else {
                f64::INFINITY
            }
        });
        let dual = limit(&self.z, &self.dz).min(ends.fold(f64::INFINITY, f64::min));
        (primal.min(1.0), dual.min(1.0))
    }
}
