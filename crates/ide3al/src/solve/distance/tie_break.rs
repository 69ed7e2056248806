//! Of several optimal policies the one nearest to the policy wanted: whether there is a tie, and
//! what takes the place of the best policy.

use super::doubly_stochastic;
use super::task::Task;
use crate::solve::TieBreak;
use crate::solve::driver::Driver;

/// An objective this close to the optimum counts as optimal.
const ROUNDING: f64 = 1e-8;

impl Task<'_> {
    /// Whether no tie is left to break: nobody asks for it, or a policy that is nearest wherever it
    /// is optimal is as good as the best one, and takes its place. `value` tells what a policy is
    /// worth; it is not asked once the solve is to stop.
    pub(super) fn has_no_tie(
        &self,
        zeta: f64,
        driver: &mut Driver<'_>,
        mut value: impl FnMut(&[f64], &mut Driver<'_>) -> f64,
    ) -> bool {
        if self.options.tie_break == TieBreak::None {
            return true;
        }
        if !driver.should_continue() {
            // the note that the tie-break was left out belongs to an optimum; any other status says
            // that the solve was stopped
            return !driver.done();
        }
        // no optimal policy is nearer than the nearest of all policies
        let nearest = self.nearest();
        let objective = value(&nearest, driver);
        if replace(driver, nearest, objective) {
            return true;
        }
        // at distance zero all multipliers vanish and tell nothing of the optimal face, so that the
        // way of other optima does not lead to the nearest one
        if driver.best().objective > driver.wanted(0.0) {
            return false;
        }
        let limits = (self.problem.xi, zeta);
        let found = doubly_stochastic::nearest_policy(self.mdp, limits, self.centre, driver);
        found.is_some_and(|policy| {
            let objective = value(&policy, driver);
            replace(driver, policy, objective)
        })
    }
}

/// Takes a policy in place of the best one if it is as good: no gap that was closed opens again,
/// and one that was not closed does not grow by more than rounding.
fn replace(driver: &mut Driver<'_>, policy: Vec<f64>, objective: f64) -> bool {
    let best = driver.best();
    let mut most = best.objective + ROUNDING * (1.0 + best.objective.abs());
    if driver.done() {
        // the optimum is known up to the gap, and no better
        most =
            (most + (best.objective - best.bound).abs()).min(best.bound + driver.wanted(objective));
    }
    let as_good = objective <= most;
    if as_good {
        driver.replace(policy, objective);
    }
    as_good
}

/// An optimal policy near the one wanted.
pub(super) struct NearestPolicy {
    pub(super) policy: Vec<f64>,
    pub(super) objective: f64,
    /// Whether no optimal policy is nearer.
    pub(super) nearest: bool,
}

/// Takes the nearest optimal policy in place of the best one if it is as good; the note says what
/// is missing.
pub(super) fn take_nearest(driver: &mut Driver<'_>, near: Option<NearestPolicy>) -> Option<String> {
    let why = match near {
        Some(near) => {
            if replace(driver, near.policy, near.objective) {
                let note = "tie-break ended early (rounding): other optimal policies may be nearer to the one wanted";
                return (!near.nearest).then(|| note.to_owned());
            }
            "rounding hides the optimal face"
        }
        None if !driver.should_continue() => "the solve was stopped first",
        None => "too many states",
    };
    Some(format!(
        "tie-break left out ({why}): other optimal policies may have other steady states"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domains;
    use crate::formulation::{Formulation, Problem};
    use crate::solve::driver::{Candidate, Comparison};
    use crate::solve::{Observer, Options, Progress, Status, solve};
    use std::ops::ControlFlow;

    /// A gap that was left open is no allowance for a worse policy; one that was closed is.
    #[test]
    fn a_tie_break_costs_nothing_where_the_solve_stalled() {
        for (bound, tolerance, taken) in [(1.0, 1e-3, false), (1.999_5, 1e-3, true)] {
            let mut nobody = ();
            let first = Candidate {
                policy: vec![1.0],
                objective: 2.0,
                bound,
                dual: Vec::new(),
            };
            let comparison = Comparison {
                maximises: false,
                dual_follows_policy: false,
            };
            let options = Options {
                tolerance,
                ..Options::default()
            };
            let mut driver = Driver::new(comparison, &options, first, &mut nobody);
            assert!(!replace(&mut driver, vec![0.5], 2.1), "worse than wanted");
            assert_eq!(replace(&mut driver, vec![0.25], 2.000_4), taken);
            assert!(replace(&mut driver, vec![0.75], 2.0));
        }
    }

    /// Stops as soon as the optimum is certified.
    struct Impatient;

    impl Observer for Impatient {
        fn on(&mut self, progress: &Progress) -> ControlFlow<()> {
            if progress.gap <= 5e-8 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        }
    }

    /// Stopped between the optimum and the tie-break, the answer is optimal and says what is
    /// missing.
    #[test]
    fn a_tie_break_that_was_cut_short_is_told() {
        let mdp = domains::load("single-chain").unwrap();
        for formulation in [
            Formulation::ColumnSum,
            Formulation::Infinity,
            Formulation::Frobenius,
        ] {
            let problem = Problem::new(formulation);
            let found = solve(&mdp, &problem, &Options::default(), None, &mut Impatient).unwrap();
            assert_eq!(found.certificate.status, Status::Optimal, "{formulation:?}");
            let told = found.notes.iter().any(|note| note.contains("stopped"));
            assert!(told, "{formulation:?}: {:?}", found.notes);
        }
    }
}
