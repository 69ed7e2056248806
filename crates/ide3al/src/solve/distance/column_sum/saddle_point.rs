//! Column Sum by restarted primal-dual steps on its saddle point.
//!
//! $\min_{\pi \in \Delta_\xi} \max_{|y| \le 1} \sum_t y_t (1 - c_t(\pi))$: both projections are
//! closed form, each step is one product with $P$ and one with its transpose.

use crate::formulation::{column_sum, simplex};
use crate::model::{Kernel, Mdp};
use crate::solve::Solution;
use crate::solve::distance::balanced_columns::balanced_policy;
use crate::solve::distance::first_order::{
    BALANCE, CertifiedSaddlePoint, NAME, PrimalDual, project_policy,
};
use crate::solve::driver::{Candidate, Driver, Step};
use ide3al_numerics::parallel::update;
use ide3al_numerics::primal_dual::{Iteration, SaddlePoint, Side};

struct ColumnSum<'a> {
    mdp: &'a Mdp,
    transposed: Kernel,
    xi: f64,
}

impl SaddlePoint for ColumnSum<'_> {
    fn primal_gradient(&self, y: &[f64], out: &mut [f64]) {
        self.mdp.kernel().times(y, out);
        update(out, |_, g| -g);
    }

    fn dual_gradient(&self, x: &[f64], out: &mut [f64]) {
        self.mdp.kernel().arrivals(&self.transposed, x, out);
        update(out, |_, c| 1.0 - c);
    }

    fn project_primal(&self, x: &mut [f64]) {
        project_policy(self.mdp, self.xi, x);
    }

    fn project_dual(&self, y: &mut [f64]) {
        update(y, |_, y| y.clamp(-1.0, 1.0));
    }
}

impl CertifiedSaddlePoint for ColumnSum<'_> {
    /// A certificate costs as much as a step.
    const CERTIFY_EVERY: usize = 10;

    fn certify(&mut self, iteration: &mut Iteration, _: &mut Driver<'_>) -> Step {
        let (policy, y) = (&iteration.primal.point, &iteration.dual.point);
        Step::Offer(Candidate {
            objective: column_sum::value(self.mdp, policy),
            bound: column_sum::bound(self.mdp, self.xi, y),
            policy: policy.clone(),
            dual: y.clone(),
        })
    }
}

/// Solves from the best policy at hand and its dual point; from evenly filled columns where nothing
/// is known.
pub(in crate::solve) fn solve(
    mdp: &Mdp,
    xi: f64,
    warm: Option<&Solution>,
    driver: &mut Driver<'_>,
) {
    let n = mdp.n_states();
    let (policy, mut y) = match warm {
        Some(warm) => (warm.policy.probabilities().to_vec(), warm.dual.clone()),
        None if driver.best().bound == 0.0 => {
            let (policy, columns) = balanced_policy(mdp, xi, driver);
            let side = |c: &f64| if *c < 1.0 { 1.0 } else { -1.0 };
            (policy, columns.iter().map(side).collect())
        }
        None => (driver.best().policy.clone(), driver.best().dual.clone()),
    };
    y.resize(n, 0.0);
    y.iter_mut().for_each(|y| *y = y.clamp(-1.0, 1.0));
    // dual steps: one over the mass all pairs together send to a column
    let ones = vec![1.0; mdp.n_pairs()];
    let mut sigma = vec![0.0; n];
    mdp.kernel().transpose_times(&ones, &mut sigma);
    sigma.iter_mut().for_each(|s| *s = 1.0 / s.max(1e-6));
    let mut problem = ColumnSum {
        mdp,
        transposed: mdp.kernel().transpose(),
        xi,
    };
    let primal = Side::new(simplex::feasible(mdp, xi, policy), ones);
    let mut iteration = Iteration::new(primal, Side::new(y, sigma), BALANCE);
    // where the start took all the time or steps there were, its policy is worth having
    if let Step::Offer(first) = problem.certify(&mut iteration, driver) {
        driver.offer(first, NAME);
    }
    driver.run(&mut PrimalDual { problem, iteration });
}
