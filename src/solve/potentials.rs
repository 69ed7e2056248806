//! Dual and State Entropy by Newton's method on the unconstrained dual.
//!
//! $F_\tau(V) = \ln \sum_s e^{\psi_s(V) - V_s}$ with $\psi_s = \max_{p \in \Delta_\xi} p \cdot
//! (PV)_s + \tau H(p)$ is convex and smooth for $\tau > 0$. With $d$ the softmax of
//! $\psi - V$, $p_s$ the maximisers, $g_s = p_s P_s - e_s$ and $J_s$ the derivative of $p_s$,
//!
//! $$\nabla F = \sum_s d_s g_s, \qquad \nabla^2 F = \sum_s d_s \Big( \tfrac1\tau P_s^\top J_s P_s
//!   + g_s g_s^\top \Big) - \nabla F \nabla F^\top .$$
//!
//! The gradient is the violation of the flow constraint by $\omega = d \cdot p$. Dual is
//! $\tau = 1$. State Entropy is the limit $\tau \to 0$, followed along a falling sequence of
//! $\tau$; the limit policy is, of all that reach the optimal $d$, the one with the highest
//! entropy of actions. Where the Hessian's factor is sparse
//! enough it is factored, otherwise applied without being formed (two products with $P$) inside
//! conjugate gradients.

use faer::Mat;
use faer::linalg::solvers::Solve;

use super::hessian::{Hessian, Point};
use super::{Limits, Outcome};
use crate::formulation::{Formulation, Problem, entropy, simplex};
use crate::model::{Kernel, Mdp, Policy};

/// Up to this many states a Hessian with too many entries is factored densely.
const DENSE_LIMIT: usize = 1_500;
/// Newton needs some ten steps; where it has not converged after this many, floating point
/// has given out (chains that hardly hang together) and the certificate says how far it got.
const MOST_STEPS: usize = 500;
/// Each smoothing step divides $\tau$ by this at most.
const SHRINK: f64 = 0.2;

/// Solves on a model that is one component. `dual` of the outcome holds $V$.
pub(super) fn solve(
    mdp: &Mdp,
    problem: &Problem,
    limits: &mut Limits<'_>,
    start: Option<&[f64]>,
) -> Outcome {
    let n = mdp.n_states();
    let mut newton = Newton::new(mdp, problem.xi);
    let dual = problem.formulation == Formulation::Dual;
    // a warm start is near the limit already, but its tau is not known: begin lower
    newton.tau = if dual { 1.0 } else { 1e-3 };
    let warm = start
        .filter(|v| v.len() == n && v.iter().all(|x| x.is_finite()))
        .is_some_and(|v| {
            newton.v.copy_from_slice(v);
            newton.evaluate();
            // V = 0 is worth ln S at tau = 0; a start above that has been overtaken by what
            // was learnt since, and Newton's method takes long to come back from there
            newton.value < (n as f64).ln() + newton.tau * (mdp.max_actions() as f64).ln()
        });
    if !warm {
        newton.v.fill(0.0);
        newton.tau = if dual { 1.0 } else { 0.5 };
        newton.evaluate();
    }
    let mut best = None;
    let mut iterations = 0;
    if dual {
        // the gap is about the square of the violation; a certificate costs a stationary
        // distribution, so ask for one when it can be expected to do
        let near = (0.3 * limits.wanted(1.0).sqrt()).clamp(1e-9, 1e-3);
        loop {
            let before = newton.violation();
            let mut improved = newton.step();
            iterations += 1;
            if newton.violation() < near && newton.factors() {
                // convergence is quadratic here: one or two steps more give the policy the
                // digits that its value already has
                for _ in 0..2 {
                    if !improved || newton.violation() < 1e-12 {
                        break;
                    }
                    improved = newton.step();
                    iterations += 1;
                }
            }
            if (newton.violation() < near || !improved || iterations % 20 == 0)
                && certify(problem, &newton, iterations, &mut best, limits)
            {
                break;
            }
            if !improved
                || (newton.violation() >= before && before < 1e-13)
                || iterations >= MOST_STEPS
            {
                break;
            }
        }
    } else {
        let mut previous: Option<(f64, Vec<f64>)> = None;
        'smoothing: loop {
            for inner in 0..60 {
                let improved = newton.step();
                iterations += 1;
                if newton.violation() <= (0.1 * newton.tau).clamp(1e-13, 1e-3) {
                    break;
                }
                if !improved || inner == 59 {
                    break;
                }
            }
            if newton.tau < 1e-2 && certify(problem, &newton, iterations, &mut best, limits) {
                // one more small step sharpens the policy towards the limit
                break 'smoothing;
            }
            if newton.tau <= 1e-12 || iterations >= MOST_STEPS {
                break;
            }
            // V is smooth in tau: extrapolate to the next value
            let next = newton.tau * SHRINK;
            let here = newton.v.clone();
            if let Some((tau, v)) = previous.as_ref() {
                let share = (next - newton.tau) / (newton.tau - tau);
                for (x, old) in newton.v.iter_mut().zip(v) {
                    *x += share * (*x - old);
                }
            }
            previous = Some((newton.tau, here));
            newton.tau = next;
            newton.evaluate();
        }
    }
    if best.is_none() {
        certify(problem, &newton, iterations, &mut best, limits);
    }
    best.unwrap_or_else(|| unreachable!("certify always stores an outcome"))
}

/// Values the policy at hand, keeps it if it is the best so far, and says whether to stop.
fn certify(
    problem: &Problem,
    newton: &Newton<'_>,
    iterations: usize,
    best: &mut Option<Outcome>,
    limits: &mut Limits<'_>,
) -> bool {
    let policy = Policy::cleaned(newton.mdp, newton.p.clone());
    let (objective, _) = entropy::value(newton.mdp, problem.formulation, &policy);
    let bound = entropy::bound(newton.mdp, problem.formulation, problem.xi, &newton.v);
    let least = best.as_ref().map_or(bound, |b| b.bound.min(bound));
    match best {
        Some(best) if best.objective > objective + 1e-12 => {
            best.bound = least;
            best.iterations = iterations;
        }
        _ => {
            *best = Some(Outcome {
                policy: policy.probabilities().to_vec(),
                objective,
                bound: least,
                dual: newton.v.clone(),
                iterations,
            });
        }
    }
    best.as_ref().is_some_and(|b| limits.reached(b))
}

struct Newton<'a> {
    mdp: &'a Mdp,
    transposed: Kernel,
    xi: f64,
    tau: f64,
    v: Vec<f64>,
    /// $PV$.
    q: Vec<f64>,
    /// Maximisers $p$.
    p: Vec<f64>,
    d: Vec<f64>,
    gradient: Vec<f64>,
    value: f64,
    sparse: Option<Hessian>,
    dense: Option<Mat<f64>>,
    direction: Vec<f64>,
    saved: Vec<f64>,
    weights: Vec<f64>,
    work: [Vec<f64>; 3],
}

impl<'a> Newton<'a> {
    fn new(mdp: &'a Mdp, xi: f64) -> Self {
        let n = mdp.n_states();
        let sparse = Hessian::new(mdp);
        let dense = sparse.is_none() && n <= DENSE_LIMIT && !mdp.kernel().has_spread();
        Newton {
            mdp,
            transposed: mdp.kernel().transpose(),
            xi,
            tau: 1.0,
            v: vec![0.0; n],
            q: vec![0.0; mdp.n_pairs()],
            p: vec![0.0; mdp.n_pairs()],
            d: vec![0.0; n],
            gradient: vec![0.0; n],
            value: 0.0,
            sparse,
            dense: dense.then(|| Mat::zeros(n, n)),
            direction: vec![0.0; n],
            saved: vec![0.0; n],
            weights: vec![0.0; mdp.n_pairs()],
            work: [vec![0.0; n], vec![0.0; n], vec![0.0; n]],
        }
    }

    /// Whether steps are exact.
    fn factors(&self) -> bool {
        self.sparse.is_some() || self.dense.is_some()
    }

    /// $F$, $d$, $p$ and the gradient at $V$.
    fn evaluate(&mut self) {
        let mdp = self.mdp;
        mdp.kernel().times(&self.v, &mut self.q);
        for s in 0..mdp.n_states() {
            let pairs = mdp.pairs(s);
            let psi = simplex::soft_maximum(
                &self.q[pairs.clone()],
                self.xi,
                self.tau,
                &mut self.p[pairs],
            );
            self.d[s] = psi - self.v[s];
        }
        self.value = entropy::log_sum_exp(self.d.iter().copied());
        for s in 0..mdp.n_states() {
            self.d[s] = (self.d[s] - self.value).exp();
            for pair in mdp.pairs(s) {
                self.weights[pair] = self.d[s] * self.p[pair];
            }
        }
        mdp.kernel()
            .arrivals(&self.transposed, &self.weights, &mut self.gradient);
        for (g, d) in self.gradient.iter_mut().zip(&self.d) {
            *g -= d;
        }
    }

    /// $\sum_t |\nabla F_t|$: how far $\omega$ is from being stationary.
    fn violation(&self) -> f64 {
        self.gradient.iter().map(|g| g.abs()).sum()
    }

    /// One damped Newton step. Returns whether it made progress.
    fn step(&mut self) -> bool {
        if let Some(hessian) = self.sparse.as_mut() {
            let point = Point {
                p: &self.p,
                d: &self.d,
                xi: self.xi,
                tau: self.tau,
            };
            if !hessian.direction(self.mdp, &point, &self.gradient, &mut self.direction) {
                return false;
            }
        } else if self.dense.is_some() {
            self.dense_direction();
        } else {
            self.iterative_direction();
        }
        let slope: f64 = self
            .gradient
            .iter()
            .zip(&self.direction)
            .map(|(g, x)| g * x)
            .sum();
        if !(slope < 0.0) {
            return false;
        }
        self.saved.copy_from_slice(&self.v);
        let (before, violation) = (self.value, self.violation());
        let mut size = 1.0;
        for _ in 0..50 {
            for ((v, old), x) in self.v.iter_mut().zip(&self.saved).zip(&self.direction) {
                *v = old + size * x;
            }
            self.evaluate();
            // near the optimum F no longer shows progress in floating point, the gradient does
            let decreased = self.value <= before + 1e-4 * size * slope;
            let flat = size * slope.abs() < 1e-13 * (1.0 + before.abs());
            if self.value.is_finite() && (decreased || (flat && self.violation() < violation)) {
                return true;
            }
            size *= 0.5;
        }
        self.v.copy_from_slice(&self.saved);
        self.evaluate();
        false
    }

    /// Factors $\nabla^2 F$ with $\mathbf 1 \mathbf 1^\top$ added, since $F$ does not change along
    /// constants.
    fn dense_direction(&mut self) {
        let mdp = self.mdp;
        let n = mdp.n_states();
        let Some(hessian) = self.dense.as_mut() else {
            return;
        };
        let constant = 1.0 / (n as f64 * n as f64);
        for j in 0..n {
            hessian.col_as_slice_mut(j).fill(constant);
        }
        let mean = &mut self.work[0];
        let mut touched: Vec<usize> = Vec::new();
        mean.fill(0.0);
        let add = |hessian: &mut Mat<f64>, list: &[usize], x: &[f64], scale: f64| {
            for &j in list {
                let factor = scale * x[j];
                if factor != 0.0 {
                    let column = hessian.col_as_slice_mut(j);
                    for &i in list {
                        column[i] += factor * x[i];
                    }
                }
            }
        };
        for s in 0..n {
            let pairs = mdp.pairs(s);
            let d = self.d[s];
            // successors of the state, and the state itself
            touched.clear();
            touched.push(s);
            for pair in pairs.clone() {
                touched.extend(mdp.row(pair).indices.iter().map(|t| *t as usize));
            }
            touched.sort_unstable();
            touched.dedup();
            // g_s g_s'
            for pair in pairs.clone() {
                for (t, x) in mdp.row(pair).entries() {
                    mean[t] += self.p[pair] * x;
                }
            }
            mean[s] -= 1.0;
            add(hessian, &touched, mean, d);
            touched.iter().for_each(|t| mean[*t] = 0.0);
            // P' J P as a weighted covariance of the rows of free actions
            let free = |pair: &usize| self.p[*pair] > self.xi;
            let mass: f64 = pairs.clone().filter(free).map(|pair| self.p[pair]).sum();
            if mass <= 0.0 || pairs.clone().filter(free).count() < 2 {
                continue;
            }
            for pair in pairs.clone().filter(free) {
                for (t, x) in mdp.row(pair).entries() {
                    mean[t] -= self.p[pair] / mass * x;
                }
            }
            for pair in pairs.clone().filter(free) {
                let row = mdp.row(pair);
                row.entries().for_each(|(t, x)| mean[t] += x);
                add(hessian, &touched, mean, d * self.p[pair] / self.tau);
                row.entries().for_each(|(t, x)| mean[t] -= x);
            }
            touched.iter().for_each(|t| mean[*t] = 0.0);
        }
        let largest = (0..n).map(|i| hessian[(i, i)]).fold(0.0, f64::max);
        let mut shift = 1e-15 * largest;
        for i in 0..n {
            hessian[(i, i)] += shift;
        }
        loop {
            if let Ok(factor) = hessian.llt(faer::Side::Lower) {
                let mut right = Mat::from_fn(n, 1, |i, _| -self.gradient[i]);
                factor.solve_in_place(right.as_mut());
                for i in 0..n {
                    self.direction[i] = right[(i, 0)];
                }
                return;
            }
            let more = 100.0 * shift.max(1e-300);
            for i in 0..n {
                hessian[(i, i)] += more - shift;
            }
            shift = more;
        }
    }

    /// Conjugate gradients with the diagonal as preconditioner.
    fn iterative_direction(&mut self) {
        let mdp = self.mdp;
        let n = mdp.n_states();
        let violation = self.violation();
        let forcing = violation.sqrt().clamp(1e-3, 0.1);
        let diagonal = self.diagonal();
        self.direction.fill(0.0);
        let mut residual: Vec<f64> = self.gradient.iter().map(|g| -g).collect();
        let mut conjugate: Vec<f64> = residual.iter().zip(&diagonal).map(|(r, d)| r / d).collect();
        let mut product = vec![0.0; n];
        let mut rho: f64 = residual.iter().zip(&conjugate).map(|(r, z)| r * z).sum();
        let first = rho;
        for _ in 0..500 {
            if !(rho > forcing * forcing * first) {
                break;
            }
            self.apply(&conjugate, &mut product);
            let curvature: f64 = product.iter().zip(&conjugate).map(|(x, y)| x * y).sum();
            if !(curvature > 0.0) {
                break;
            }
            let step = rho / curvature;
            let mut next = 0.0;
            for t in 0..n {
                self.direction[t] += step * conjugate[t];
                residual[t] -= step * product[t];
                next += residual[t] * residual[t] / diagonal[t];
            }
            let momentum = next / rho;
            rho = next;
            for t in 0..n {
                conjugate[t] = residual[t] / diagonal[t] + momentum * conjugate[t];
            }
        }
    }

    /// Diagonal of $\nabla^2 F$ without its last term, kept away from zero.
    fn diagonal(&self) -> Vec<f64> {
        let mdp = self.mdp;
        let n = mdp.n_states();
        let mut diagonal = vec![0.0; n];
        for s in 0..n {
            let d = self.d[s];
            diagonal[s] += d;
            for pair in mdp.pairs(s) {
                let weight = d * self.p[pair] * (1.0 + (1.0 - self.p[pair]) / self.tau);
                for (t, x) in mdp.row(pair).entries() {
                    diagonal[t] += weight * x * x;
                }
            }
        }
        let largest = diagonal.iter().copied().fold(0.0, f64::max);
        diagonal
            .iter_mut()
            .for_each(|x| *x = x.max(1e-12 * largest));
        diagonal
    }

    /// $\text{out} = \nabla^2 F\, x$ by one product with $P$ and one with its transpose.
    fn apply(&mut self, x: &[f64], out: &mut [f64]) {
        let mdp = self.mdp;
        let n = mdp.n_states();
        // q is free between evaluations: step() evaluates anew before anyone reads it
        mdp.kernel().times(x, &mut self.q);
        let along: f64 = self.gradient.iter().zip(x).map(|(g, x)| g * x).sum();
        for s in 0..n {
            let pairs = mdp.pairs(s);
            let (mut mean, mut free_mass, mut free_mean) = (0.0, 0.0, 0.0);
            for pair in pairs.clone() {
                let p = self.p[pair];
                mean += p * self.q[pair];
                if p > self.xi {
                    free_mass += p;
                    free_mean += p * self.q[pair];
                }
            }
            if free_mass > 0.0 {
                free_mean /= free_mass;
            }
            let change = mean - x[s];
            for pair in pairs {
                let p = self.p[pair];
                let mut weight = p * change;
                if p > self.xi {
                    weight += p * (self.q[pair] - free_mean) / self.tau;
                }
                self.weights[pair] = self.d[s] * weight;
            }
            self.work[1][s] = self.d[s] * change;
        }
        mdp.kernel().arrivals(&self.transposed, &self.weights, out);
        for t in 0..n {
            out[t] -= self.work[1][t] + self.gradient[t] * along;
        }
    }
}
