//! Column Sum by restarted primal-dual steps on its saddle point.
//!
//! $\min_{\pi \in \Delta_\xi} \max_{|y| \le 1} \sum_t y_t (1 - c_t(\pi))$: both projections are
//! closed form, each step is one product with $P$ and one with its transpose.

use super::even_columns::evenly_filled;
use crate::formulation::{column_sum, simplex};
use crate::linalg::parallel::{blocks, sum, update};
use crate::model::{Kernel, Mdp};
use crate::solve::Solution;
use crate::solve::driver::{Candidate, Driver, Method, Step};
use crate::solve::methods::halpern_primal_dual::{Iteration, Saddle};

/// Steps between two certificates, each of which costs as much as a step.
const BETWEEN_LOOKS: usize = 10;
/// States from which on evenly filled columns are a better start than the uniform policy.
const MANY: usize = 500;

struct ColumnSum<'a> {
    mdp: &'a Mdp,
    transposed: Kernel,
    xi: f64,
    /// Dual step per column: one over the mass all pairs together send there.
    sigma: Vec<f64>,
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
        let first = self.mdp.first_pair();
        blocks(first, out, |s, row| {
            let pairs = first[s]..first[s + 1];
            let old = x[pairs.clone()].iter().zip(&gradient[pairs]);
            for (p, (x, g)) in row.iter_mut().zip(old) {
                *p = x - step * g;
            }
            simplex::project(row, self.xi);
        });
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
        for ((o, v), sigma) in out.iter_mut().zip(v).zip(&self.sigma) {
            *o = v * sigma;
        }
    }

    fn primal_norm(&self, v: &[f64]) -> f64 {
        sum(v.len(), |i| v[i] * v[i])
    }

    fn dual_norm(&self, v: &[f64]) -> f64 {
        sum(v.len(), |i| v[i] * v[i] / self.sigma[i])
    }
}

/// The steps, with what is needed to judge them.
pub(in crate::solve) struct PrimalDual<'a> {
    saddle: ColumnSum<'a>,
    iteration: Iteration,
    sums: Vec<f64>,
    products: Vec<f64>,
}

impl<'a> PrimalDual<'a> {
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
        let saddle = ColumnSum {
            mdp,
            transposed: mdp.kernel().transpose(),
            xi,
            sigma,
        };
        let (mut x, mut y) = match warm {
            Some(warm) => (warm.policy.probabilities().to_vec(), warm.dual.clone()),
            None => (driver.best().policy.clone(), driver.best().dual.clone()),
        };
        if warm.is_none() && driver.best().bound == 0.0 && n >= MANY {
            let (policy, columns) = evenly_filled(mdp, xi, driver);
            x = policy;
            y = columns
                .iter()
                .map(|c| if *c < 1.0 { 1.0 } else { -1.0 })
                .collect();
        }
        x = simplex::feasible(mdp, xi, x);
        y.resize(n, 0.0);
        y.iter_mut().for_each(|y| *y = y.clamp(-1.0, 1.0));
        PrimalDual {
            iteration: Iteration::new(&saddle, x, y, 0.5),
            saddle,
            sums: vec![0.0; n],
            products: vec![0.0; mdp.n_pairs()],
        }
    }
}

impl Method for PrimalDual<'_> {
    fn name(&self) -> &'static str {
        "primal-dual"
    }

    fn step(&mut self, driver: &mut Driver<'_>) -> Step {
        for _ in 0..BETWEEN_LOOKS {
            if !driver.alive() {
                break;
            }
            self.iteration.advance(&self.saddle);
        }
        driver.count(BETWEEN_LOOKS - 1);
        let saddle = &self.saddle;
        saddle.dual_gradient(&self.iteration.x, &mut self.sums);
        saddle
            .mdp
            .kernel()
            .times(&self.iteration.y, &mut self.products);
        let y = &self.iteration.y;
        Step::Offer(Candidate {
            policy: self.iteration.x.clone(),
            objective: self.sums.iter().map(|g| g.abs()).sum(),
            bound: column_sum::bound_from_products(saddle.mdp, saddle.xi, y, &self.products),
            dual: y.clone(),
        })
    }
}
