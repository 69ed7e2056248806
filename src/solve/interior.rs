//! Frobenius by an interior-point method that eliminates the target row by row.
//!
//! Variables are the policy $\pi = \xi + p$, $p \ge 0$, and all of $U \in [0, \zeta]^{S \times S}$. In a
//! Newton step row $s$ of $U$ has the diagonal Hessian $1 + \Theta$ ($\Theta$ from the barrier) and meets the
//! other rows only through the column multipliers $\beta$. With $D = (1 + \Theta)^{-1}$ and, per
//! state, $B = P_s D$, $K = P_s (1 - D) P_s^\top + \text{barrier}$, $N$ the inverse of $K$ on directions
//! that sum to zero, $e = B 1$, $h = \sum D + e^\top N e$ and $g = D + B^\top N e$, what is left is
//!
//! $$\sum_s \Big( \mathrm{diag}(D_s) + B_s^\top N_s B_s - \tfrac{1}{h_s} g_s g_s^\top \Big)\, d\beta = \text{right}.$$
//!
//! The middle terms live on the sparse support, the last ones are a single product of two
//! $S \times S$ matrices: one step costs $S^3$ multiplications at the speed of dense linear
//! algebra. Memory is a handful of $S \times S$ arrays, so this road is for up to some
//! thousand states. Predictor and corrector follow Mehrotra (1992).

use faer::linalg::matmul::triangular::{BlockStructure, matmul};
use faer::linalg::solvers::{Llt, Solve};
use faer::{Accum, Mat, MatRef, Par};

use super::elimination::{Local, invert, overlap};
use crate::formulation::{Problem, simplex};
use crate::model::Mdp;

/// Most states this road is meant for.
pub(super) const LIMIT: usize = 1_500;

/// A policy, the multipliers of the projection, and the iterations it took.
pub(super) struct Found {
    pub(super) policy: Vec<f64>,
    pub(super) alpha: Vec<f64>,
    pub(super) beta: Vec<f64>,
    /// The bound on $\|U - M\|_F$ that the last dual point proves.
    pub(super) bound: f64,
    pub(super) iterations: usize,
}

/// Whether the model and parameters leave an interior to work in.
pub(super) fn applies(mdp: &Mdp, problem: &Problem) -> bool {
    let n = mdp.n_states();
    n > 1 && n <= LIMIT && !mdp.kernel().has_spread() && problem.zeta * n as f64 > 1.0 + 1e-6
}

/// Minimises $\frac12\|U - M\|_F^2 + \frac w2 \|\pi - \text{uniform}\|^2$ until the complementarity gap
/// is below `target` or stands still, or `enough(objective, bound)` says so.
pub(super) fn solve(
    mdp: &Mdp,
    problem: &Problem,
    pull: f64,
    target: f64,
    mut stop: impl FnMut(usize) -> bool,
    enough: impl Fn(f64, f64) -> bool,
) -> Found {
    let mut state = State::new(mdp, problem, pull);
    let mut found = state.found(problem.xi);
    let mut bound = 0.0f64;
    let mut best = f64::INFINITY;
    let mut stalled = 0;
    let mut iterations = 0;
    while iterations < 100 && !stop(iterations) {
        let (gap, infeasibility) = state.measure();
        // only the policy is kept, and U is projected anew: its own infeasibility costs squared
        let merit = gap + infeasibility * infeasibility;
        let mut done = false;
        if pull == 0.0 && gap < 1e-6 {
            let (objective, proven) = state.bound(problem);
            bound = bound.max(proven);
            done = infeasibility < 1e-6 && enough(objective, bound);
        }
        stalled = if merit < 0.9 * best { 0 } else { stalled + 1 };
        if merit < best {
            best = merit;
            found = state.found(problem.xi);
        }
        if done || (gap <= target && infeasibility <= 1e-5) {
            break;
        }
        if stalled > 4 || !merit.is_finite() {
            break;
        }
        if !state.step() {
            break;
        }
        iterations += 1;
    }
    found.iterations = iterations;
    found.bound = bound;
    found
}

struct State<'a> {
    mdp: &'a Mdp,
    n: usize,
    xi: f64,
    /// Whether the cap $\zeta$ can bind.
    capped: bool,
    pull: f64,
    p: Vec<f64>,
    q: Vec<f64>,
    theta: Vec<f64>,
    alpha: Vec<f64>,
    beta: Vec<f64>,
    u: Vec<f64>,
    z: Vec<f64>,
    v: Vec<f64>,
    /// $\zeta - U$, kept as a variable of its own: near the cap the difference would cancel.
    room: Vec<f64>,
    d: Vec<f64>,
    g: Vec<f64>,
    /// Right-hand side of the target's equations, then the direction $dU$.
    du: Vec<f64>,
    /// Targets of the complementarity products: $Uz$ and $(\zeta - U)v$.
    aim_z: Vec<f64>,
    aim_v: Vec<f64>,
    aim_q: Vec<f64>,
    dp: Vec<f64>,
    dtheta: Vec<f64>,
    dalpha: Vec<f64>,
    dbeta: Vec<f64>,
    blocks: Vec<Local>,
    schur: Mat<f64>,
    /// $U - M$ is needed often; $M$ per row on demand.
    mass: Vec<f64>,
}

impl<'a> State<'a> {
    fn new(mdp: &'a Mdp, problem: &Problem, pull: f64) -> Self {
        let n = mdp.n_states();
        let capped = problem.zeta < 1.0;
        let mut p = vec![0.0; mdp.n_pairs()];
        for s in 0..n {
            let count = mdp.n_actions(s) as f64;
            p[mdp.pairs(s)].fill((1.0 / count - problem.xi).max(0.0));
        }
        let cells = n * n;
        State {
            mdp,
            n,
            xi: problem.xi,
            capped,
            pull,
            q: vec![0.1; p.len()],
            theta: vec![0.0; n],
            alpha: vec![0.0; n],
            beta: vec![0.0; n],
            u: vec![1.0 / n as f64; cells],
            z: vec![0.1; cells],
            v: vec![if capped { 0.1 } else { 0.0 }; cells],
            room: vec![problem.zeta - 1.0 / n as f64; if capped { cells } else { 0 }],
            d: vec![0.0; cells],
            g: vec![0.0; cells],
            du: vec![0.0; cells],
            aim_z: vec![0.0; cells],
            aim_v: vec![0.0; if capped { cells } else { 0 }],
            aim_q: vec![0.0; p.len()],
            dp: vec![0.0; p.len()],
            dtheta: vec![0.0; n],
            dalpha: vec![0.0; n],
            dbeta: vec![0.0; n],
            blocks: vec![Local::default(); n],
            schur: Mat::zeros(n, n),
            mass: vec![0.0; n],
            p,
        }
    }

    fn found(&self, xi: f64) -> Found {
        Found {
            policy: self.p.iter().map(|p| p + xi).collect(),
            alpha: self.alpha.clone(),
            beta: self.beta.clone(),
            bound: 0.0,
            iterations: 0,
        }
    }

    /// $\|G\|_F$ for $G = U - M$, and the bound of [`frobenius`](crate::formulation::frobenius)
    /// for it and the multipliers at hand; valid whether or not they are optimal.
    fn bound(&mut self, problem: &Problem) -> (f64, f64) {
        let n = self.n;
        let (mut value, mut squares) = (0.0, 0.0);
        for s in 0..n {
            Self::fill_mass(self.mdp, self.xi, &self.p, s, &mut self.mass);
            let u = &self.u[s * n..(s + 1) * n];
            value += self.alpha[s] + self.beta[s];
            for t in 0..n {
                let g = u[t] - self.mass[t];
                self.mass[t] = g;
                squares += g * g;
                value += problem.zeta * (g - self.alpha[s] - self.beta[t]).min(0.0);
            }
            let mass = &self.mass;
            let gains = self.mdp.pairs(s).map(|pair| {
                self.mdp
                    .row(pair)
                    .entries()
                    .map(|(t, x)| x * mass[t])
                    .sum::<f64>()
            });
            value -= simplex::support(gains, problem.xi);
        }
        if squares > 0.0 {
            (squares.sqrt(), (value / squares.sqrt()).max(0.0))
        } else {
            (0.0, 0.0)
        }
    }

    /// Row of $M$ for the current policy into `mass`.
    fn fill_mass(mdp: &Mdp, xi: f64, p: &[f64], s: usize, mass: &mut [f64]) {
        mass.fill(0.0);
        for pair in mdp.pairs(s) {
            for (t, x) in mdp.row(pair).entries() {
                mass[t] += (p[pair] + xi) * x;
            }
        }
    }

    /// Whether the state's policy can move at all.
    fn movable(&self, s: usize) -> bool {
        let pairs = self.mdp.pairs(s);
        pairs.len() > 1 && 1.0 - self.xi * pairs.len() as f64 > 1e-12
    }

    /// Total complementarity and the largest violated equation.
    fn measure(&mut self) -> (f64, f64) {
        let n = self.n;
        let mut gap = 0.0;
        let mut worst = 0.0f64;
        let mut columns = vec![-1.0; n];
        for s in 0..n {
            let row = s * n..(s + 1) * n;
            let mut sum = -1.0;
            for (t, (u, z)) in self.u[row.clone()]
                .iter()
                .zip(&self.z[row.clone()])
                .enumerate()
            {
                gap += u * z;
                sum += u;
                columns[t] += u;
            }
            if self.capped {
                for (room, v) in self.room[row.clone()].iter().zip(&self.v[row]) {
                    gap += room * v;
                }
            }
            worst = worst.max(sum.abs());
            if self.movable(s) {
                for r in self.mdp.pairs(s) {
                    gap += self.p[r] * self.q[r];
                }
            }
        }
        let worst = columns.iter().fold(worst, |w, c| w.max(c.abs()));
        (gap, worst)
    }

    /// One predictor-corrector step; `false` when no progress is possible.
    fn step(&mut self) -> bool {
        if !self.factor() {
            return false;
        }
        let Some(factor) = self.factored() else {
            return false;
        };
        let (gap, _) = self.measure();
        let count = self.count();
        let mu = gap / count;
        // predictor: aim at zero complementarity
        self.aim_z.fill(0.0);
        self.aim_v.fill(0.0);
        self.aim_q.fill(0.0);
        self.direction(&factor);
        let size = self.largest_step();
        let affine = self.gap_after(size) / count;
        let sigma = (affine / mu).powi(3).clamp(1e-8, 1.0);
        // corrector: aim at sigma mu, less the second-order term of the predictor
        self.set_aims(sigma * mu);
        self.direction(&factor);
        let size = (0.995 * self.largest_step()).min(1.0);
        if !(size > 1e-10) {
            return false;
        }
        self.move_by(size);
        true
    }

    fn count(&self) -> f64 {
        let cells = (self.n * self.n) as f64;
        let moving: usize = (0..self.n)
            .filter(|s| self.movable(*s))
            .map(|s| self.mdp.n_actions(s))
            .sum();
        cells * if self.capped { 2.0 } else { 1.0 } + moving as f64
    }

    /// Diagonals, local inverses and the Schur complement.
    fn factor(&mut self) -> bool {
        let n = self.n;
        for i in 0..n * n {
            let mut barrier = self.z[i] / self.u[i];
            if self.capped {
                barrier += self.v[i] / self.room[i];
            }
            self.d[i] = 1.0 / (1.0 + barrier);
        }
        for j in 0..n {
            self.schur.col_as_slice_mut(j).fill(0.0);
        }
        let mut scratch = vec![0.0; self.mdp.max_actions()];
        let mut dense = vec![0.0; n * self.mdp.max_actions()];
        let mut union: Vec<u32> = Vec::new();
        for s in 0..n {
            let pairs = self.mdp.pairs(s);
            let a = pairs.len();
            let d = &self.d[s * n..(s + 1) * n];
            let g = &mut self.g[s * n..(s + 1) * n];
            g.copy_from_slice(d);
            let mut h: f64 = d.iter().sum();
            let movable = a > 1 && 1.0 - self.xi * a as f64 > 1e-12;
            let local = &mut self.blocks[s];
            if movable {
                let mut k = vec![0.0; a * a];
                let mut e = vec![0.0; a];
                for (i, pair) in pairs.clone().enumerate() {
                    let row = self.mdp.row(pair);
                    e[i] = row.entries().map(|(t, x)| x * d[t]).sum();
                    k[i * a + i] += self.pull + self.q[pair] / self.p[pair];
                    for (j, other) in pairs.clone().enumerate().take(i + 1) {
                        let value = overlap(row, self.mdp.row(other), d);
                        k[i * a + j] += value;
                        if i != j {
                            k[j * a + i] += value;
                        }
                    }
                }
                if !invert(&mut k, a) {
                    return false;
                }
                let ones: Vec<f64> = (0..a).map(|i| k[i * a..(i + 1) * a].iter().sum()).collect();
                local.total = ones.iter().sum();
                local.share = ones.iter().map(|x| x / local.total).collect();
                local.inverse = k;
                let ne = &mut scratch[..a];
                local.apply(&e, ne);
                h += e.iter().zip(ne.iter()).map(|(x, y)| x * y).sum::<f64>();
                for (i, pair) in pairs.clone().enumerate() {
                    for (t, x) in self.mdp.row(pair).entries() {
                        g[t] += x * d[t] * ne[i];
                    }
                }
                local.e = e;
                // B' N B on the union of successors
                union.clear();
                for pair in pairs.clone() {
                    union.extend_from_slice(self.mdp.row(pair).indices);
                }
                union.sort_unstable();
                union.dedup();
                let width = union.len();
                let b = &mut dense[..a * width];
                b.fill(0.0);
                for (i, pair) in pairs.clone().enumerate() {
                    for (t, x) in self.mdp.row(pair).entries() {
                        let place = union.partition_point(|c| (*c as usize) < t);
                        b[i * width + place] += x * d[t];
                    }
                }
                let mut column = vec![0.0; a];
                let mut image = vec![0.0; a];
                for c in 0..width {
                    for i in 0..a {
                        column[i] = b[i * width + c];
                    }
                    local.apply(&column, &mut image);
                    let target = self.schur.col_as_slice_mut(union[c] as usize);
                    for r in c..width {
                        let sum: f64 = (0..a).map(|i| b[i * width + r] * image[i]).sum();
                        target[union[r] as usize] += sum;
                    }
                }
            }
            local.h = h;
            let scale = 1.0 / h.sqrt();
            g.iter_mut().for_each(|x| *x *= scale);
        }
        // - sum g g' / h, lower half
        let left = MatRef::from_column_major_slice(&self.g, n, n);
        matmul(
            self.schur.as_mut(),
            BlockStructure::TriangularLower,
            Accum::Add,
            left,
            BlockStructure::Rectangular,
            left.transpose(),
            BlockStructure::Rectangular,
            -1.0,
            Par::Seq,
        );
        let mut diagonal = vec![0.0; n];
        for s in 0..n {
            for (sum, d) in diagonal.iter_mut().zip(&self.d[s * n..(s + 1) * n]) {
                *sum += d;
            }
        }
        // constants are a null direction (alpha + c, beta - c): fill it
        let mean = diagonal.iter().sum::<f64>() / (n * n) as f64;
        for j in 0..n {
            let column = self.schur.col_as_slice_mut(j);
            for x in &mut column[j..] {
                *x += mean;
            }
            column[j] += diagonal[j] * (1.0 + 1e-14);
        }
        true
    }

    fn factored(&mut self) -> Option<Llt<f64>> {
        let mut shift = 0.0;
        for _ in 0..20 {
            if let Ok(factor) = self.schur.llt(faer::Side::Lower) {
                return Some(factor);
            }
            let more = if shift == 0.0 { 1e-13 } else { 99.0 * shift };
            for j in 0..self.n {
                let x = self.schur[(j, j)];
                self.schur[(j, j)] = x + more * x.abs().max(1e-300);
            }
            shift += more;
        }
        None
    }

    /// Direction for the aims at hand, into `du`, `dp`, `dtheta`, `dalpha`, `dbeta`.
    fn direction(&mut self, factor: &Llt<f64>) {
        let n = self.n;
        let mut right = Mat::zeros(n, 1);
        let mut rows = vec![0.0; n];
        let mut partial = vec![0.0; self.p.len()];
        let mut forces = vec![0.0; self.p.len()];
        let mut columns = vec![1.0; n];
        let mut buffer = vec![0.0; self.mdp.max_actions()];
        for s in 0..n {
            let range = s * n..(s + 1) * n;
            Self::fill_mass(self.mdp, self.xi, &self.p, s, &mut self.mass);
            let (u, d) = (&self.u[range.clone()], &self.d[range.clone()]);
            let du = &mut self.du[range.clone()];
            let alpha = self.alpha[s];
            let mut sum_u = 0.0;
            let mut sum_dr = 0.0;
            for t in 0..n {
                let mut r =
                    self.mass[t] - u[t] + alpha + self.beta[t] + self.aim_z[s * n + t] / u[t];
                if self.capped {
                    r -= self.aim_v[s * n + t] / self.room[s * n + t];
                }
                du[t] = r;
                sum_u += u[t];
                sum_dr += d[t] * r;
                columns[t] -= u[t] + d[t] * r;
            }
            let mut a_s = 1.0 - sum_u - sum_dr;
            let local = &self.blocks[s];
            if self.mdp.n_actions(s) > 1 && !local.e.is_empty() {
                let pairs = self.mdp.pairs(s);
                let a = pairs.len();
                let uniform = 1.0 / a as f64;
                let mut mass_left = 1.0 - self.xi * a as f64;
                for pair in pairs.clone() {
                    let row = self.mdp.row(pair);
                    let mut force = self.theta[s] + self.aim_q[pair] / self.p[pair]
                        - self.pull * (self.p[pair] + self.xi - uniform);
                    for (t, x) in row.entries() {
                        force += x * (u[t] - self.mass[t] + d[t] * du[t]);
                    }
                    forces[pair] = force;
                    mass_left -= self.p[pair];
                }
                let out = &mut buffer[..a];
                local.apply(&forces[pairs.clone()], out);
                for (i, pair) in pairs.clone().enumerate() {
                    partial[pair] = out[i] + local.share[i] * mass_left;
                    a_s -= local.e[i] * partial[pair];
                    for (t, x) in self.mdp.row(pair).entries() {
                        columns[t] -= x * d[t] * partial[pair];
                    }
                }
            }
            rows[s] = a_s;
        }
        for s in 0..n {
            // g is stored divided by sqrt(h)
            let weight = rows[s] / self.blocks[s].h.sqrt();
            for (c, g) in columns.iter_mut().zip(&self.g[s * n..(s + 1) * n]) {
                *c -= g * weight;
            }
        }
        for t in 0..n {
            right[(t, 0)] = columns[t];
        }
        factor.solve_in_place(right.as_mut());
        for t in 0..n {
            self.dbeta[t] = right[(t, 0)];
        }
        for s in 0..n {
            let range = s * n..(s + 1) * n;
            let local = &self.blocks[s];
            let product: f64 = self.g[range.clone()]
                .iter()
                .zip(&self.dbeta)
                .map(|(g, b)| g * b)
                .sum();
            let dalpha = rows[s] / local.h - product / local.h.sqrt();
            self.dalpha[s] = dalpha;
            self.mass.fill(0.0);
            let d = &self.d[range.clone()];
            if self.mdp.n_actions(s) > 1 && !local.e.is_empty() {
                let pairs = self.mdp.pairs(s);
                let a = pairs.len();
                let mut force = vec![0.0; a];
                let mut mass_left = 1.0 - self.xi * a as f64;
                for (i, pair) in pairs.clone().enumerate() {
                    let own: f64 = self
                        .mdp
                        .row(pair)
                        .entries()
                        .map(|(t, x)| x * d[t] * self.dbeta[t])
                        .sum();
                    force[i] = local.e[i] * dalpha + own;
                    mass_left -= self.p[pair];
                }
                let out = &mut buffer[..a];
                local.apply(&force, out);
                let mut pressed = 0.0;
                for (i, pair) in pairs.clone().enumerate() {
                    self.dp[pair] = partial[pair] + out[i];
                    pressed += local.share[i] * (forces[pair] + force[i]);
                    for (t, x) in self.mdp.row(pair).entries() {
                        self.mass[t] += x * self.dp[pair];
                    }
                }
                self.dtheta[s] = mass_left / local.total - pressed;
            }
            let du = &mut self.du[range];
            for t in 0..n {
                du[t] = d[t] * (du[t] + self.mass[t] + dalpha + self.dbeta[t]);
            }
        }
    }

    /// Largest step that keeps everything non-negative.
    fn largest_step(&self) -> f64 {
        let mut size = f64::INFINITY;
        let mut limit = |x: f64, dx: f64| {
            if dx < 0.0 {
                size = size.min(-x / dx);
            }
        };
        for i in 0..self.u.len() {
            let (u, du, z) = (self.u[i], self.du[i], self.z[i]);
            limit(u, du);
            limit(z, (self.aim_z[i] - z * du) / u - z);
            if self.capped {
                let (room, v) = (self.room[i], self.v[i]);
                limit(room, -du);
                limit(v, (self.aim_v[i] + v * du) / room - v);
            }
        }
        for s in (0..self.n).filter(|s| self.movable(*s)) {
            for r in self.mdp.pairs(s) {
                limit(self.p[r], self.dp[r]);
                let dq = (self.aim_q[r] - self.q[r] * self.dp[r]) / self.p[r] - self.q[r];
                limit(self.q[r], dq);
            }
        }
        size.min(1e3)
    }

    fn gap_after(&self, size: f64) -> f64 {
        let size = size.min(1.0);
        let mut gap = 0.0;
        for i in 0..self.u.len() {
            let (u, du, z) = (self.u[i], self.du[i], self.z[i]);
            let dz = (self.aim_z[i] - z * du) / u - z;
            gap += (u + size * du) * (z + size * dz);
            if self.capped {
                let (room, v) = (self.room[i], self.v[i]);
                let dv = (self.aim_v[i] + v * du) / room - v;
                gap += (room - size * du) * (v + size * dv);
            }
        }
        for s in (0..self.n).filter(|s| self.movable(*s)) {
            for r in self.mdp.pairs(s) {
                let dq = (self.aim_q[r] - self.q[r] * self.dp[r]) / self.p[r] - self.q[r];
                gap += (self.p[r] + size * self.dp[r]) * (self.q[r] + size * dq);
            }
        }
        gap
    }

    /// Aims of the corrector, from the predictor's direction (whose aims were zero).
    fn set_aims(&mut self, mu: f64) {
        for i in 0..self.u.len() {
            let (u, du, z) = (self.u[i], self.du[i], self.z[i]);
            let dz = -z * du / u - z;
            self.aim_z[i] = mu - du * dz;
            if self.capped {
                let (room, v) = (self.room[i], self.v[i]);
                let dv = v * du / room - v;
                self.aim_v[i] = mu + du * dv;
            }
        }
        for r in 0..self.p.len() {
            let dq = -self.q[r] * self.dp[r] / self.p[r] - self.q[r];
            self.aim_q[r] = if dq.is_finite() {
                mu - self.dp[r] * dq
            } else {
                mu
            };
        }
    }

    fn move_by(&mut self, size: f64) {
        for i in 0..self.u.len() {
            let (u, du, z) = (self.u[i], self.du[i], self.z[i]);
            self.z[i] += size * ((self.aim_z[i] - z * du) / u - z);
            if self.capped {
                let (room, v) = (self.room[i], self.v[i]);
                self.v[i] += size * ((self.aim_v[i] + v * du) / room - v);
                self.room[i] -= size * du;
            }
            self.u[i] += size * du;
        }
        for s in 0..self.n {
            self.alpha[s] += size * self.dalpha[s];
            self.beta[s] += size * self.dbeta[s];
            if self.movable(s) {
                self.theta[s] += size * self.dtheta[s];
                for r in self.mdp.pairs(s) {
                    let dq = (self.aim_q[r] - self.q[r] * self.dp[r]) / self.p[r] - self.q[r];
                    self.q[r] += size * dq;
                    self.p[r] += size * self.dp[r];
                }
            }
        }
    }
}
