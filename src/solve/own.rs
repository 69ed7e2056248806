//! A utility of the user's own, under the one driver.

use super::driver::Driver;
use super::{Observer, Options, Solution, kind, occupancy, solution, unknown};
use crate::error::Result;
use crate::formulation::utility::Utility;
use crate::formulation::visits::Visits;
use crate::formulation::{Formulation, Problem};
use crate::model::Mdp;

/// Maximises a concave [`Utility`] of the user's own over what policies that play every action with probability `xi` can
/// visit, with restarts and limits. The bound is that of the Frank-Wolfe gap: true of every concave function. A function that
/// proves not to be concave is an error, and so is one whose value is not a number.
///
/// ```
/// use ide3al::formulation::utility::Utility;
/// use ide3al::formulation::visits::Visits;
/// use ide3al::solve::{Options, solve_utility};
/// /// Stay near half of the time in each state.
/// struct Half;
/// impl Utility for Half {
///     fn value(&self, omega: &[f64]) -> f64 {
///         -(omega[0] + omega[1] - 0.5).powi(2)
///     }
///     fn gradient(&self, omega: &[f64], out: &mut [f64]) {
///         out.fill(0.0);
///         out[..2].fill(-2.0 * (omega[0] + omega[1] - 0.5));
///     }
/// }
/// let mdp = ide3al::model::Mdp::from_fn(2, 2, |s, a, next| {
///     next.push(((s + a) % 2, 1.0));
///     true
/// })?;
/// let solution = solve_utility(&mdp, &Half, 0.1, &Visits::default(), &Options::default(), &mut ())?;
/// assert!(solution.certificate.objective > -1e-7);
/// # Ok::<(), ide3al::Error>(())
/// ```
pub fn solve_utility(
    mdp: &Mdp,
    utility: &dyn Utility,
    xi: f64,
    visits: &Visits,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Solution> {
    let problem = Problem {
        xi,
        ..Problem::new(Formulation::Own)
    };
    problem.validate(mdp)?;
    options.validate()?;
    visits.validate(mdp, problem.formulation)?;
    let first = unknown(mdp, &problem);
    let mut driver = Driver::new(kind(&problem), options, first, observer);
    let told = occupancy::own(mdp, utility, &problem, visits, &mut driver)?;
    let mut solved = solution(mdp, &problem, &mut driver, told.notes, told.limits);
    solved.restart = visits.restart;
    Ok(solved)
}
