//! The three distances: which method solves each, and how its answer is certified.

pub(super) mod column_sum;
mod even;
pub(super) mod frobenius;
pub(super) mod infinity;

use super::driver::{Candidate, Driver, Method, Step};
use super::methods::interior_point::{InteriorPoint, Program};
use super::{Options, Solution, SolverChoice, TieBreak};
use crate::formulation::{Problem, simplex};
use crate::model::Mdp;

/// The mean complementarity product from which on the optimal face can be told: what belongs to it
/// is then far larger than its multiplier, everything else far smaller.
const SHARP: f64 = 1e-15;
/// Steps of first order before the interior-point method may [take its
/// time](super::methods::elimination::AT_LAST): they are enough on easy models, and elsewhere take
/// a tenth or a fifth of what follows.
const SOON: usize = 4_000;
/// More steps the method never needs.
const MOST_STEPS: usize = 100;
/// A certificate is asked for once the method's own gap is this share of the wanted one,
const NEAR: f64 = 0.3;
/// and the nearest optimal policy is known when nothing more than this remains to be gained.
const SETTLED: f64 = 1e-14;
/// or no more than this where no further step is possible.
const ALMOST_SETTLED: f64 = 1e-10;
/// Complementarity products at the start on the face; between 1e-2 and 1e-4 the number of steps
/// hardly changes.
const CENTRE: f64 = 1e-3;
/// The mean product at which it can be guessed which variables end at a bound (at 1e-6 the guess
/// took 14 exchanges on Taxi, at 1e-8 one or two on nearly all models), and by what it has to fall
/// for a better guess.
const GUESSED: f64 = 1e-8;
const BETTER_GUESS: f64 = 1e-3;
/// An objective this close to the optimum counts as optimal.
const ROUNDING: f64 = 1e-8;

/// What is to be solved.
#[derive(Clone, Copy)]
pub(super) struct Task<'a> {
    pub(super) mdp: &'a Mdp,
    pub(super) problem: &'a Problem,
    pub(super) options: &'a Options,
    /// Of several optimal policies the one nearest to this point is wanted.
    pub(super) centre: &'a [f64],
    pub(super) warm: Option<&'a Solution>,
}

impl Task<'_> {
    /// Whether the general conic solver is asked for.
    fn is_conic(&self) -> bool {
        self.options.solver == SolverChoice::Conic
    }

    /// The nearest of all policies to the centre.
    fn nearest(&self) -> Vec<f64> {
        simplex::feasible(self.mdp, self.problem.xi, self.centre.to_vec())
    }

    /// Whether no tie is left to break: nobody asks for it, or a policy that is nearest wherever it
    /// is optimal is as good as the best one, and takes its place. `value` tells what a policy is
    /// worth; it is not asked once the solve is to stop.
    fn is_settled(
        &self,
        zeta: f64,
        driver: &mut Driver<'_>,
        mut value: impl FnMut(&[f64], &mut Driver<'_>) -> f64,
    ) -> bool {
        if self.options.tie_break == TieBreak::None {
            return true;
        }
        if !driver.alive() {
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
        even::nearest(self.mdp, limits, self.centre, driver).is_some_and(|policy| {
            let objective = value(&policy, driver);
            replace(driver, policy, objective)
        })
    }
}

/// The interior-point method on one of the programs, with a way to read off a certified candidate.
struct Interior<P, R, N> {
    point: InteriorPoint<P>,
    read: R,
    /// Whether a certificate is worth its price: the point, and the gap that is wanted.
    near: N,
    steps: usize,
    ended: bool,
}

impl<P, R, N> Method for Interior<P, R, N>
where
    P: Program,
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
        let wanted = NEAR * driver.wanted(driver.best().objective);
        if self.ended || (self.near)(&self.point, wanted) {
            Step::Offer((self.read)(&self.point, driver))
        } else {
            Step::Going
        }
    }
}

/// What was found besides the optimum.
pub(super) struct Found<P> {
    /// The interior-point method where it was used.
    interior: Option<InteriorPoint<P>>,
    /// Whether the policy is the optimal one nearest to the one wanted.
    nearest: bool,
}

/// Goes on from an optimum until the optimal face can be told, at the latest when it is as `clear`
/// as wanted; false if the solve is to stop.
fn sharpen<P: Program>(
    point: &mut InteriorPoint<P>,
    driver: &mut Driver<'_>,
    clear: impl Fn(&InteriorPoint<P>) -> bool,
) -> bool {
    for _ in 0..MOST_STEPS {
        if !driver.alive() {
            return false;
        }
        if point.mean_product() <= SHARP || clear(point) || !point.step() {
            break;
        }
        driver.count(1);
    }
    true
}

/// From a point on the optimal face to the one nearest to the policy wanted; says whether it got
/// there, nothing if the solve is to stop.
fn settle<P: Program>(
    point: &mut InteriorPoint<P>,
    frozen: Vec<bool>,
    driver: &mut Driver<'_>,
) -> Option<bool> {
    point.begin_on_face(frozen, CENTRE);
    let mut steps = 0;
    let settled = approach(point, driver, MOST_STEPS, &mut steps, |_| false);
    driver.count(steps);
    driver.alive().then_some(settled)
}

/// Goes to the nearest point to the policy wanted in at most so many steps, unless after one of
/// them it is seen to be `hopeless`; says whether it got there.
fn approach<P: Program>(
    point: &mut InteriorPoint<P>,
    driver: &mut Driver<'_>,
    most: usize,
    steps: &mut usize,
    mut hopeless: impl FnMut(&InteriorPoint<P>) -> bool,
) -> bool {
    // the first guess is that nothing ends at a bound; the next ones are read off the point once
    // its products are as small as this
    let mut guess = f64::INFINITY;
    for k in 0..most {
        if point.mean_product() <= guess {
            let held = if k == 0 {
                Vec::new()
            } else {
                point.at_bounds()
            };
            let left = most - k;
            if let Some(taken) = point.find_active_sets(&held, left, || driver.alive()) {
                *steps += taken;
                return true;
            }
            guess = if k == 0 {
                GUESSED
            } else {
                guess * BETTER_GUESS
            };
        }
        if !driver.alive() || point.gap() <= SETTLED || !point.step() {
            break;
        }
        *steps += 1;
        if hopeless(point) {
            return false;
        }
    }
    point.gap() <= ALMOST_SETTLED && point.holds()
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
struct Near {
    policy: Vec<f64>,
    objective: f64,
    /// Whether no optimal policy is nearer.
    nearest: bool,
}

/// Takes the nearest optimal policy in place of the best one if it is as good; the note says what
/// is missing.
fn take_nearest(driver: &mut Driver<'_>, near: Option<Near>) -> Option<String> {
    let why = match near {
        Some(near) => {
            if replace(driver, near.policy, near.objective) {
                let note = "tie-break ended early (rounding): other optimal policies may be nearer to the one wanted";
                return (!near.nearest).then(|| note.to_owned());
            }
            "rounding hides the optimal face"
        }
        None if !driver.alive() => "the solve was stopped first",
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
    use crate::formulation::Formulation;
    use crate::solve::driver::Kind;
    use crate::solve::{Observer, Progress, Status, solve};
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
            let kind = Kind {
                maximises: false,
                dual_follows_policy: false,
            };
            let options = Options {
                tolerance,
                ..Options::default()
            };
            let mut driver = Driver::new(kind, &options, first, &mut nobody);
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
