//! What is asked of a distance, and the interior-point method as one of the driver's methods.

use crate::formulation::{Problem, simplex};
use crate::model::Mdp;
use crate::solve::driver::{Candidate, Driver, Method, Step};
use crate::solve::{Options, Solution, SolverChoice};
use ide3al_numerics::interior_point::{InteriorPoint, QuadraticProgram};

/// Steps that the interior-point method may take; it has never needed half of them.
pub(super) const MOST_STEPS: usize = 100;
/// A certificate costs about as much as a step: it is asked for once the method's own gap is this
/// share of the wanted one.
const CERTIFY_SHARE: f64 = 0.3;

/// What is to be solved.
#[derive(Clone, Copy)]
pub(in crate::solve) struct Task<'a> {
    pub(in crate::solve) mdp: &'a Mdp,
    pub(in crate::solve) problem: &'a Problem,
    pub(in crate::solve) options: &'a Options,
    /// Of several optimal policies the one nearest to this point is wanted.
    pub(in crate::solve) centre: &'a [f64],
    pub(in crate::solve) warm: Option<&'a Solution>,
}

impl Task<'_> {
    /// Whether the general conic solver is asked for.
    pub(super) fn is_conic(&self) -> bool {
        self.options.solver == SolverChoice::Conic
    }

    /// The nearest of all policies to the centre.
    pub(super) fn nearest(&self) -> Vec<f64> {
        simplex::feasible(self.mdp, self.problem.xi, self.centre.to_vec())
    }
}

/// The interior-point method on one of the programs, with a way to read off a certified candidate.
pub(super) struct InteriorPointMethod<P, R, N> {
    pub(super) point: InteriorPoint<P>,
    read: R,
    /// Whether a certificate is worth its price: the point, and the gap that is wanted.
    near: N,
    steps: usize,
    ended: bool,
}

impl<P, R, N> InteriorPointMethod<P, R, N> {
    pub(super) fn new(point: InteriorPoint<P>, read: R, near: N) -> Self {
        InteriorPointMethod {
            point,
            read,
            near,
            steps: 0,
            ended: false,
        }
    }
}

impl<P, R, N> Method for InteriorPointMethod<P, R, N>
where
    P: QuadraticProgram,
    R: FnMut(&InteriorPoint<P>, &mut Driver<'_>) -> Candidate,
    N: Fn(&InteriorPoint<P>, f64) -> bool,
{
    fn name(&self) -> &'static str {
        "interior-point"
    }

    fn step(&mut self, driver: &mut Driver<'_>) -> Step {
        if self.ended {
            return Step::End;
        }
        self.ended = self.steps >= MOST_STEPS || !self.point.step();
        self.steps += 1;
        let wanted = CERTIFY_SHARE * driver.wanted(driver.best().objective);
        if self.ended || (self.near)(&self.point, wanted) {
            Step::Offer((self.read)(&self.point, driver))
        } else {
            Step::Going
        }
    }
}
