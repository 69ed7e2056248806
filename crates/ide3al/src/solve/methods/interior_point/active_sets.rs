//! The nearest point of a face by active sets.
//!
//! If it were known which variables end at a bound, one Newton step would give the point. Each step
//! here holds those that the last one carried beyond their bound, and lets go those whose
//! multiplier points inwards: a Newton method for the optimality conditions (Hintermüller, Ito and
//! Kunisch 2002, *SIAM J. Optim.* 13, 865-888), which ends after few steps or not at all. In the
//! latter case everything is as before, for the interior-point method; some of its steps later it
//! is known better what ends at a bound.

use super::{FORGIVEN, InteriorPoint, Program, VIOLATED};
use ide3al_numerics::parallel::add;

/// Where the objective curves what moves, so many steps in a row may exchange no fewer than some
/// step before did: exchanges often go up at first. Elsewhere exchanges that do not halve from step
/// to step, a few apart, end in a circle sooner or later.
const PATIENCE: usize = 5;
const FEW: f64 = 2.0;
/// Up to this share of what moves may be without curvature for that: slacks of columns are, while
/// numbers on cells are most of what moves.
const FLAT: f64 = 0.5;
/// Weight of standing still: what the objective does not determine stays where it is.
const STILL: f64 = 1e-9;
/// What counts as beyond a bound, and as a force.
const BEYOND: f64 = 1e-11;
const FORCE: f64 = 1e-9;

impl<P: Program> InteriorPoint<P> {
    /// From a point with some variables frozen to the optimum with these frozen, in at most so many
    /// steps and as long as one is `alive`; the number of steps, or nothing if it was not found.
    /// Those that are `held` are taken to end at a bound.
    pub(in crate::solve) fn find_active_sets(
        &mut self,
        held: &[bool],
        most: usize,
        mut alive: impl FnMut() -> bool,
    ) -> Option<usize> {
        let face = self.frozen.clone();
        let before = self.iterate();
        for i in (0..held.len()).filter(|i| held[*i] && !face[*i]) {
            self.frozen[i] = true;
            self.put_on_bound(i);
        }
        self.z.fill(0.0);
        self.v.fill(0.0);
        self.aim.fill(0.0);
        self.aim_v.fill(0.0);
        let curved = self.is_curved();
        let patience = if curved { PATIENCE } else { 1 };
        let (mut fewest, mut worse) = (usize::MAX, 0);
        let mut steps = 0;
        while steps < most && alive() {
            steps += 1;
            self.residuals();
            let violated = self.violation();
            self.weigh(STILL);
            if !(self.program.factor(&self.theta) && self.direction(VIOLATED)) {
                break;
            }
            add(&mut self.x, 1.0, &self.dx);
            add(&mut self.y, 1.0, &self.dy);
            let moved = &self.dx[self.data.bounded.clone()];
            add(&mut self.room, -1.0, moved);
            self.residuals();
            let exchanged = self.exchange(&face);
            // what the frozen variables leave of the rows' equations, no step takes away
            let left = self.violation();
            let holds = left <= VIOLATED || (left <= FORGIVEN && left > 0.5 * violated);
            if exchanged == 0 {
                if holds {
                    return Some(steps);
                }
                // what the last exchange moved onto bounds is made up for by steps without any
                if left <= 0.5 * violated {
                    continue;
                }
                break;
            }
            let halved = exchanged as f64 <= 0.5 * fewest as f64 + FEW;
            if exchanged < fewest && (curved || halved) {
                (fewest, worse) = (exchanged, 0);
            } else {
                worse += 1;
            }
            if worse >= patience {
                break;
            }
        }
        self.go_back(before);
        None
    }

    /// Whether the objective curves most of what is not frozen.
    fn is_curved(&mut self) -> bool {
        self.rx.fill(1.0);
        self.fix_x.fill(0.0);
        self.program.curvature(&self.rx, &mut self.fix_x);
        let moving = self.fix_x.iter().zip(&self.frozen).filter(|x| !x.1);
        let flat = moving.clone().filter(|x| !(*x.0 > 0.0)).count();
        flat as f64 <= FLAT * moving.count() as f64
    }

    /// Holds what is beyond its bound, lets go what is pushed off it; says how many there were.
    fn exchange(&mut self, face: &[bool]) -> usize {
        let mut count = 0;
        for i in (0..self.x.len()).filter(|i| !face[*i]) {
            let (place, force) = if self.side(i).1 {
                (self.data.cap - self.x[i], -self.dual_residual[i])
            } else {
                (self.x[i], self.dual_residual[i])
            };
            let exchanged = if self.frozen[i] {
                force < -FORCE
            } else {
                place < -BEYOND
            };
            if exchanged || place < f64::MIN_POSITIVE {
                self.put_on_bound(i);
            }
            if exchanged {
                self.frozen[i] = !self.frozen[i];
                count += 1;
            }
        }
        count
    }

    /// Moves a variable to the bound it lies next to, but not quite: it is divided by.
    fn put_on_bound(&mut self, i: usize) {
        let (at, away) = (f64::MIN_POSITIVE, self.data.cap);
        let (room, full) = self.side(i);
        self.x[i] = if full { away } else { at };
        if let Some(j) = room {
            self.room[j] = if full { at } else { away };
        }
    }
}
