//! Restarted primal-dual steps for saddle points with simple constraints.
//!
//! $$\min_{x \in X} \max_{y \in Y} \; L(x, y), \qquad L \text{ bilinear (affine in each)},$$
//!
//! where $X$ and $Y$ have projections in closed form. One primal-dual step
//!
//! $$x^+ = \Pi_X(x - \tfrac{\eta}{\omega} T \nabla_x L(y)), \qquad
//!   y^+ = \Pi_Y(y + \eta\,\omega\,\Sigma\, \nabla_y L(2x^+ - x))$$
//!
//! is a firmly non-expansive map $\mathcal T$ in a suitable norm when
//! $\eta \|\Sigma^{1/2} K T^{1/2}\| \le 1$. The iteration is reflected Halpern,
//! $z_{k+1} = \frac{k+1}{k+2} (2\mathcal T(z_k) - z_k) + \frac{1}{k+2} z_0$, restarted at
//! $\mathcal T(z_k)$ when the fixed-point residual has fallen enough, with the balance $\omega$
//! between the two sides adjusted at restarts. On linear programs this converges linearly.
//!
//! References: Chambolle and Pock (2011); Pock and Chambolle (2011) for $T$ and $\Sigma$;
//! Lu and Yang (2024), *Restarted Halpern PDHG for linear programming*, for the restarts.

use crate::linalg::parallel::update;

/// A saddle problem; gradients are affine in their argument.
pub(in crate::solve) trait Saddle {
    /// $\nabla_x L$ at `y`.
    fn primal_gradient(&self, y: &[f64], out: &mut [f64]);
    /// $\nabla_y L$ at `x`.
    fn dual_gradient(&self, x: &[f64], out: &mut [f64]);
    /// `out` = the minimiser over $X$ of `gradient . p + |p - x|^2 / (2 step T)`.
    fn primal_step(&self, x: &[f64], gradient: &[f64], step: f64, out: &mut [f64]);
    /// `out` = projection on $Y$ of `y + step * Sigma * gradient`.
    fn dual_step(&self, y: &[f64], gradient: &[f64], step: f64, out: &mut [f64]);
    /// `out` = $T v$.
    fn scale_primal(&self, v: &[f64], out: &mut [f64]);
    /// `out` = $\Sigma v$.
    fn scale_dual(&self, v: &[f64], out: &mut [f64]);
    /// $\|v\|^2_{T^{-1}}$.
    fn primal_norm(&self, v: &[f64]) -> f64;
    /// $\|v\|^2_{\Sigma^{-1}}$.
    fn dual_norm(&self, v: &[f64]) -> f64;
}

/// The iteration's state. [`Iteration::advance`] makes one step.
pub(in crate::solve) struct Iteration {
    /// Last image $\mathcal T(z)$: feasible for both sides.
    pub(in crate::solve) x: Vec<f64>,
    /// See `x`.
    pub(in crate::solve) y: Vec<f64>,
    /// Fixed-point residual of the last step.
    residual: f64,
    current_x: Vec<f64>,
    current_y: Vec<f64>,
    anchor_x: Vec<f64>,
    anchor_y: Vec<f64>,
    gradient_x: Vec<f64>,
    gradient_y: Vec<f64>,
    mixed: Vec<f64>,
    /// Step size $\eta$.
    step: f64,
    /// Balance $\omega$.
    weight: f64,
    since_restart: usize,
    total: usize,
    first_residual: f64,
    last_residual: f64,
    accumulated_error: f64,
}

impl Iteration {
    pub(in crate::solve) fn new(
        problem: &impl Saddle,
        x: Vec<f64>,
        y: Vec<f64>,
        weight: f64,
    ) -> Self {
        let (nx, ny) = (x.len(), y.len());
        let mut iteration = Iteration {
            current_x: x.clone(),
            current_y: y.clone(),
            anchor_x: x.clone(),
            anchor_y: y.clone(),
            gradient_x: vec![0.0; nx],
            gradient_y: vec![0.0; ny],
            mixed: vec![0.0; nx],
            residual: f64::INFINITY,
            step: 1.0,
            weight,
            since_restart: 0,
            total: 0,
            first_residual: f64::INFINITY,
            last_residual: f64::INFINITY,
            accumulated_error: 0.0,
            x,
            y,
        };
        iteration.step = 0.998 / iteration.norm(problem);
        iteration
    }

    /// $\|\Sigma^{1/2} K T^{1/2}\|$ by power iteration from a fixed irregular vector. The
    /// gradients are affine, so $Kv$ is the difference from the gradient at zero.
    fn norm(&mut self, problem: &impl Saddle) -> f64 {
        let (nx, ny) = (self.x.len(), self.y.len());
        let zero_x = vec![0.0; nx];
        let zero_y = vec![0.0; ny];
        let mut constant_x = vec![0.0; nx];
        let mut constant_y = vec![0.0; ny];
        problem.primal_gradient(&zero_y, &mut constant_x);
        problem.dual_gradient(&zero_x, &mut constant_y);
        let mut v: Vec<f64> = (0..nx)
            .map(|i| ((i as f64 * 0.754_877_666_2) % 1.0) - 0.3)
            .collect();
        let mut w = vec![0.0; ny];
        let mut estimate: f64 = 0.0;
        for _ in 0..12 {
            let size = problem.primal_norm(&v).sqrt();
            if !(size > 0.0) {
                break;
            }
            v.iter_mut().for_each(|x| *x /= size);
            // v is in the T^-1 norm: K v, then Sigma, then K' and T
            problem.dual_gradient(&v, &mut self.gradient_y);
            for (g, c) in self.gradient_y.iter_mut().zip(&constant_y) {
                *g -= c;
            }
            problem.scale_dual(&self.gradient_y, &mut w);
            estimate = problem.dual_norm(&w).sqrt();
            problem.primal_gradient(&w, &mut self.gradient_x);
            for (g, c) in self.gradient_x.iter_mut().zip(&constant_x) {
                *g -= c;
            }
            problem.scale_primal(&self.gradient_x, &mut v);
        }
        // the preconditioner guarantees a norm of at most one; the estimate, from below, may
        // only lengthen steps by what a margin of safety allows
        (1.05 * estimate).clamp(0.3, 1.0)
    }

    /// One reflected Halpern step; restarts where due. `residual` is updated.
    pub(in crate::solve) fn advance(&mut self, problem: &impl Saddle) {
        problem.primal_gradient(&self.current_y, &mut self.gradient_x);
        problem.primal_step(
            &self.current_x,
            &self.gradient_x,
            self.step / self.weight,
            &mut self.x,
        );
        let (x, y) = (&self.x, &self.current_x);
        update(&mut self.mixed, |i, _| 2.0 * x[i] - y[i]);
        problem.dual_gradient(&self.mixed, &mut self.gradient_y);
        problem.dual_step(
            &self.current_y,
            &self.gradient_y,
            self.step * self.weight,
            &mut self.y,
        );
        // differences T(z) - z, in place of buffers no longer needed
        let (x, old) = (&self.x, &self.current_x);
        update(&mut self.mixed, |i, _| x[i] - old[i]);
        let (y, old) = (&self.y, &self.current_y);
        update(&mut self.gradient_y, |i, _| y[i] - old[i]);
        let moved_x = problem.primal_norm(&self.mixed);
        let moved_y = problem.dual_norm(&self.gradient_y);
        self.residual = (self.weight * moved_x + moved_y / self.weight).sqrt();
        self.total += 1;
        self.since_restart += 1;
        if self.since_restart == 1 {
            self.first_residual = self.residual;
        }
        let enough = self.residual <= 0.2 * self.first_residual;
        let turning =
            self.residual <= 0.8 * self.first_residual && self.residual > self.last_residual;
        let long = self.since_restart as f64 >= 0.36 * self.total as f64 && self.total > 50;
        self.last_residual = self.residual;
        if (enough || turning || long) && self.since_restart > 1 {
            self.restart(problem);
            return;
        }
        let k = self.since_restart as f64;
        let (move_on, back) = (k / (k + 1.0), 1.0 / (k + 1.0));
        let (d, anchor) = (&self.mixed, &self.anchor_x);
        update(&mut self.current_x, |i, z| {
            move_on * (z + 2.0 * d[i]) + back * anchor[i]
        });
        let (d, anchor) = (&self.gradient_y, &self.anchor_y);
        update(&mut self.current_y, |i, z| {
            move_on * (z + 2.0 * d[i]) + back * anchor[i]
        });
    }

    fn restart(&mut self, problem: &impl Saddle) {
        // how far each side moved since the anchor decides the balance
        for ((m, new), old) in self.mixed.iter_mut().zip(&self.x).zip(&self.anchor_x) {
            *m = new - old;
        }
        for ((g, new), old) in self.gradient_y.iter_mut().zip(&self.y).zip(&self.anchor_y) {
            *g = new - old;
        }
        let moved_x = problem.primal_norm(&self.mixed).sqrt();
        let moved_y = problem.dual_norm(&self.gradient_y).sqrt();
        if moved_x > 1e-14 && moved_y > 1e-14 {
            let error = (moved_y / moved_x).ln() - self.weight.ln();
            self.accumulated_error += error;
            let change = 0.5 * error + 0.01 * self.accumulated_error;
            self.weight = (self.weight.ln() + change).exp().clamp(1e-6, 1e6);
        }
        self.current_x.copy_from_slice(&self.x);
        self.current_y.copy_from_slice(&self.y);
        self.anchor_x.copy_from_slice(&self.x);
        self.anchor_y.copy_from_slice(&self.y);
        self.since_restart = 0;
        self.last_residual = f64::INFINITY;
    }
}
