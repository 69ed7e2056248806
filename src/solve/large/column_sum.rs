//! Column Sum by restarted primal-dual steps on its saddle point.
//!
//! $\min_{\pi \in \Delta_\xi} \max_{|y| \le 1} \sum_t y_t (1 - c_t(\pi))$: both projections are
//! closed form, each step is one product with $P$ and one with its transpose.

use super::even_columns::evenly_filled;
pub(in crate::solve) use super::primal_dual::PrimalDual;
use super::primal_dual::{Judged, policy_step};
use crate::formulation::{column_sum, simplex};
use crate::linalg::parallel::{sum, update};
use crate::model::{Kernel, Mdp};
use crate::solve::Solution;
use crate::solve::driver::{Candidate, Driver, Step};
use crate::solve::methods::halpern_primal_dual::{Iteration, Saddle};

/// States from which on evenly filled columns are a better start than the uniform policy, by trial.
const MANY: usize = 500;

pub(in crate::solve) struct ColumnSum<'a> {
    mdp: &'a Mdp,
    transposed: Kernel,
    xi: f64,
    /// Dual step per column: one over the mass all pairs together send there.
    sigma: Vec<f64>,
    /// Workspace of certificates: one number per column, one per pair.
    missing: Vec<f64>,
    products: Vec<f64>,
}

impl Saddle for ColumnSum<'_> {
    fn primal_gradient(&self, y: &[f64], out: &mut [f64]) {
        self.mdp.kernel().times(y, out);
        update(out, |_, g| -g);
    }

    fn dual_gradient(&self, x: &[f64], out: &mut [f64]) {
        self.mdp.kernel().arrivals(&self.transposed, x, out);
        update(out, |_, c| 1.0 - c);
    }

    fn primal_step(&self, x: &[f64], gradient: &[f64], step: f64, out: &mut [f64]) {
        policy_step(self.mdp, self.xi, (x, gradient, step), out);
    }

    fn dual_step(&self, y: &[f64], gradient: &[f64], step: f64, out: &mut [f64]) {
        update(out, |t, _| {
            (y[t] + step * self.sigma[t] * gradient[t]).clamp(-1.0, 1.0)
        });
    }

    fn scale_primal(&self, v: &[f64], out: &mut [f64]) {
        out.copy_from_slice(v);
    }

    fn scale_dual(&self, v: &[f64], out: &mut [f64]) {
        update(out, |t, _| v[t] * self.sigma[t]);
    }

    fn primal_norm(&self, v: &[f64]) -> f64 {
        sum(v.len(), |i| v[i] * v[i])
    }

    fn dual_norm(&self, v: &[f64]) -> f64 {
        sum(v.len(), |i| v[i] * v[i] / self.sigma[i])
    }
}

impl Judged for ColumnSum<'_> {
    /// A certificate costs as much as a step.
    const BETWEEN_LOOKS: usize = 10;

    fn judge(&mut self, iteration: &mut Iteration) -> Step {
        let (x, y, kernel) = (&iteration.x, &iteration.y, self.mdp.kernel());
        kernel.arrivals(&self.transposed, x, &mut self.missing);
        update(&mut self.missing, |_, c| 1.0 - c);
        kernel.times(y, &mut self.products);
        Step::Offer(Candidate {
            policy: x.clone(),
            objective: self.missing.iter().map(|g| g.abs()).sum(),
            bound: column_sum::bound_from_products(self.mdp, self.xi, y, &self.products),
            dual: y.clone(),
        })
    }
}

impl<'a> PrimalDual<ColumnSum<'a>> {
    /// From the best policy at hand and its dual point; from evenly filled columns on a large model
    /// of which nothing is known.
    pub(in crate::solve) fn new(
        mdp: &'a Mdp,
        xi: f64,
        warm: Option<&Solution>,
        driver: &mut Driver<'_>,
    ) -> Self {
        let n = mdp.n_states();
        let ones = vec![1.0; mdp.n_pairs()];
        let mut sigma = vec![0.0; n];
        mdp.kernel().transpose_times(&ones, &mut sigma);
        sigma.iter_mut().for_each(|s| *s = 1.0 / s.max(1e-6));
        let problem = ColumnSum {
            mdp,
            transposed: mdp.kernel().transpose(),
            xi,
            sigma,
            missing: vec![0.0; n],
            products: vec![0.0; mdp.n_pairs()],
        };
        let (x, mut y) = match warm {
            Some(warm) => (warm.policy.probabilities().to_vec(), warm.dual.clone()),
            None if driver.best().bound == 0.0 && n >= MANY => {
                let (policy, columns) = evenly_filled(mdp, xi, driver);
                let side = |c: &f64| if *c < 1.0 { 1.0 } else { -1.0 };
                (policy, columns.iter().map(side).collect())
            }
            None => (driver.best().policy.clone(), driver.best().dual.clone()),
        };
        y.resize(n, 0.0);
        y.iter_mut().for_each(|y| *y = y.clamp(-1.0, 1.0));
        PrimalDual::from(problem, simplex::feasible(mdp, xi, x), y)
    }
}
