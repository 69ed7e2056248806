//! Restarted Halpern primal-dual steps with a certificate now and then.

use crate::formulation::simplex;
use crate::linalg::parallel::blocks;
use crate::model::Mdp;
use crate::solve::driver::{Driver, Method, Step};
use crate::solve::methods::halpern_primal_dual::{Iteration, Saddle};

/// The balance between primal and dual steps at the start; restarts adjust it.
const BALANCE: f64 = 0.5;

/// A saddle point whose iterates can be judged.
pub(in crate::solve) trait Judged: Saddle {
    /// Steps between two certificates.
    const BETWEEN_LOOKS: usize;

    /// Certifies where the iteration stands, or begins it anew with another problem.
    fn judge(&mut self, iteration: &mut Iteration) -> Step;
}

/// The steps.
pub(in crate::solve) struct PrimalDual<P> {
    problem: P,
    iteration: Iteration,
}

impl<P: Judged> PrimalDual<P> {
    pub(super) fn from(problem: P, x: Vec<f64>, y: Vec<f64>) -> Self {
        PrimalDual {
            iteration: begin(&problem, x, y),
            problem,
        }
    }
}

/// The iteration at its start.
pub(super) fn begin(problem: &impl Saddle, x: Vec<f64>, y: Vec<f64>) -> Iteration {
    Iteration::new(problem, x, y, BALANCE)
}

impl<P: Judged> Method for PrimalDual<P> {
    fn name(&self) -> &'static str {
        "primal-dual"
    }

    fn step(&mut self, driver: &mut Driver<'_>) -> Step {
        for _ in 0..P::BETWEEN_LOOKS {
            if !driver.alive() {
                break;
            }
            self.iteration.advance(&self.problem);
        }
        driver.count(P::BETWEEN_LOOKS - 1);
        self.problem.judge(&mut self.iteration)
    }
}

/// A gradient step of a policy, projected: `out` = the nearest point of $\Delta_\xi$ to `x - step * gradient`, state by state.
pub(super) fn policy_step(
    mdp: &Mdp,
    xi: f64,
    (x, gradient, step): (&[f64], &[f64], f64),
    out: &mut [f64],
) {
    let first = mdp.first_pair();
    blocks(first, out, |s, row| {
        for (i, p) in (first[s]..).zip(row.iter_mut()) {
            *p = x[i] - step * gradient[i];
        }
        simplex::project(row, xi);
    });
}
