//! Restarted Halpern primal-dual steps with a certificate now and then.

use crate::formulation::simplex;
use crate::model::Mdp;
use crate::solve::driver::{Driver, Method, Step};
use crate::solve::methods::halpern_primal_dual::{Iteration, Saddle};
use ide3al_numerics::parallel::blocks;

pub(super) const NAME: &str = "primal-dual";

/// The balance between primal and dual steps at the start; restarts adjust it.
pub(super) const BALANCE: f64 = 0.5;

/// A saddle point whose iterates can be judged.
pub(super) trait Judged: Saddle {
    /// Steps between two certificates.
    const BETWEEN_LOOKS: usize;

    /// Certifies where the iteration stands, or begins it anew with another problem.
    fn judge(&mut self, iteration: &mut Iteration, driver: &mut Driver<'_>) -> Step;
}

/// The steps.
pub(super) struct PrimalDual<P> {
    pub(super) problem: P,
    pub(super) iteration: Iteration,
}

impl<P: Judged> Method for PrimalDual<P> {
    fn name(&self) -> &'static str {
        NAME
    }

    fn step(&mut self, driver: &mut Driver<'_>) -> Step {
        for _ in 0..P::BETWEEN_LOOKS {
            if !driver.alive() {
                break;
            }
            self.iteration.advance(&self.problem);
        }
        driver.count(P::BETWEEN_LOOKS - 1);
        self.problem.judge(&mut self.iteration, driver)
    }
}

/// Moves every state's probabilities to the nearest point of $\Delta_\xi$.
pub(super) fn project_policy(mdp: &Mdp, xi: f64, policy: &mut [f64]) {
    blocks(mdp.first_pair(), policy, |_, row| simplex::project(row, xi));
}
