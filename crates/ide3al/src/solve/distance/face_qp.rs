//! The nearest point of a face to the policy wanted: a quadratic program that starts where another
//! one has ended.

use super::task::MOST_STEPS;
use crate::solve::driver::Driver;
use ide3al_numerics::interior_point::{InteriorPoint, QuadraticProgram};

/// The mean complementarity from which on the optimal face is known: what belongs to it is then
/// far larger than its multiplier, everything else far smaller.
const POLISHED_MU: f64 = 1e-15;
/// The nearest optimal policy is known when nothing more than this remains to be gained,
const NEAREST_GAP: f64 = 1e-14;
/// or no more than this where no further step is possible.
const STALLED_GAP: f64 = 1e-10;
/// Complementarity at the start on the face; between 1e-2 and 1e-4 the number of steps hardly
/// changes.
const START_MU: f64 = 1e-3;
/// The mean complementarity at which it can be guessed which variables end at a bound (at 1e-6 the
/// guess took 14 exchanges on Taxi, at 1e-8 one or two on nearly all models), and by what it has to
/// fall for a better guess.
const GUESS_MU: f64 = 1e-8;
const NEXT_GUESS: f64 = 1e-3;
/// Equations of a face are violated by no more than this at its start; where there is no face, by
/// more, and that does not halve within so many steps.
const FEASIBLE: f64 = 1e-6;
const PATIENCE: usize = 5;

/// Goes on from an optimum until the optimal face is known, at the latest when it is as `clear`
/// as wanted; false if the solve is to stop.
pub(super) fn polish<P: QuadraticProgram>(
    point: &mut InteriorPoint<P>,
    driver: &mut Driver<'_>,
    clear: impl Fn(&InteriorPoint<P>) -> bool,
) -> bool {
    for _ in 0..MOST_STEPS {
        if !driver.should_continue() {
            return false;
        }
        if point.mu() <= POLISHED_MU || clear(point) || !point.step() {
            break;
        }
        driver.count(1);
    }
    true
}

/// From a point near a face to the nearest policy to the one wanted among those on it, in at most
/// so many steps: says whether it got there, nothing if the solve is to stop. Active sets are tried
/// first, and again whenever it is known better which variables end at a bound; steps of the
/// interior-point method come between.
pub(super) fn solve_face_qp<P: QuadraticProgram>(
    point: &mut InteriorPoint<P>,
    fixed: Vec<bool>,
    most: usize,
    driver: &mut Driver<'_>,
) -> Option<bool> {
    point.start_on_face(fixed, START_MU);
    // the first guess is that nothing ends at a bound; the next ones are read off the point once
    // its complementarity is as small as this
    let mut guess = f64::INFINITY;
    let mut infeasibilities = Vec::new();
    for k in 0..most {
        if point.mu() <= guess {
            let (guessed, next) = if k == 0 {
                (Vec::new(), GUESS_MU)
            } else {
                (point.active_bounds(), guess * NEXT_GUESS)
            };
            let found =
                point.solve_with_active_set(&guessed, most - k, || driver.should_continue());
            if let Some(steps) = found {
                driver.count(steps);
                return Some(true);
            }
            guess = next;
        }
        if !driver.should_continue() {
            return None;
        }
        if point.gap() <= NEAREST_GAP || !point.step() {
            break;
        }
        driver.count(1);
        infeasibilities.push(point.primal_infeasibility());
        if is_infeasible(&infeasibilities) {
            return Some(false);
        }
    }
    Some(point.gap() <= STALLED_GAP && point.is_feasible())
}

/// Whether equations that are violated by more than rounding have not got nearer to being met.
fn is_infeasible(infeasibilities: &[f64]) -> bool {
    let mut latest = infeasibilities.iter().rev();
    let now = latest.next().copied().unwrap_or(0.0);
    now > FEASIBLE && (latest.nth(PATIENCE - 1)).is_some_and(|before| now > 0.5 * before)
}
