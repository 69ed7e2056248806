//! Restarted Halpern primal-dual steps with a certificate now and then.

use crate::formulation::simplex;
use crate::model::Mdp;
use crate::solve::driver::{Driver, Method, Step};
use ide3al_numerics::parallel::blocks;
use ide3al_numerics::primal_dual::{Iteration, SaddlePoint};

pub(super) const NAME: &str = "primal-dual";

/// The balance between primal and dual steps at the start; restarts adjust it.
pub(super) const BALANCE: f64 = 0.5;

/// A saddle point whose iterates can be judged.
pub(super) trait CertifiedSaddlePoint: SaddlePoint {
    /// Steps between two certificates.
    const CERTIFY_EVERY: usize;

    /// Certifies where the iteration stands, or begins it anew with another problem.
    fn certify(&mut self, iteration: &mut Iteration, driver: &mut Driver<'_>) -> Step;
}

/// The steps.
pub(super) struct PrimalDual<P> {
    pub(super) problem: P,
    pub(super) iteration: Iteration,
}

impl<P: CertifiedSaddlePoint> Method for PrimalDual<P> {
    fn name(&self) -> &'static str {
        NAME
    }

    fn step(&mut self, driver: &mut Driver<'_>) -> Step {
        for _ in 0..P::CERTIFY_EVERY {
            if !driver.should_continue() {
                break;
            }
            self.iteration.advance(&self.problem);
        }
        driver.count(P::CERTIFY_EVERY - 1);
        self.problem.certify(&mut self.iteration, driver)
    }
}

/// Moves every state's probabilities to the nearest point of $\Delta_\xi$.
pub(super) fn project_policy(mdp: &Mdp, xi: f64, policy: &mut [f64]) {
    blocks(mdp.first_pair(), policy, |_, row| simplex::project(row, xi));
}
