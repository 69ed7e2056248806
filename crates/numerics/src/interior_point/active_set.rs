//! The nearest point of a face by active sets.
//!
//! If it were known which variables end at a bound, one Newton step would give the point. Each step
//! here is_feasible those that the last one carried beyond their bound, and lets go those whose
//! multiplier points inwards: a Newton method for the optimality conditions (Hintermüller, Ito and
//! Kunisch 2002, *SIAM J. Optim.* 13, 865-888), which ends after few steps or not at all. In the
//! latter case everything is as before, for the interior-point method; some of its steps later it
//! is known better what ends at a bound.

use super::{FACE_TOLERANCE, InteriorPoint, QuadraticProgram, ROW_TOLERANCE};
use crate::parallel::add;

/// Where the objective is strictly convex in what is free, so many steps in a row may exchange no
/// fewer than some step before did: exchanges often go up at first. Elsewhere exchanges that do not
/// halve from step to step, a few apart, end in a circle sooner or later.
const PATIENCE: usize = 5;
const FEW: f64 = 2.0;
/// Up to this share of the free variables may be without curvature for that: slacks of columns
/// are, while the numbers on cells are most of them.
const FLAT: f64 = 0.5;
/// Curvature of a variable that the objective leaves undetermined: it stays where it is.
const REGULARISATION: f64 = 1e-9;
/// What counts as beyond a bound, and as a force.
const BEYOND: f64 = 1e-11;
const FORCE: f64 = 1e-9;

impl<P: QuadraticProgram> InteriorPoint<P> {
    /// From a point with some variables fixed to the optimum with these fixed, in at most so many
    /// steps and as long as one is `alive`; the number of steps, or nothing if it was not found.
    /// Variables `at_bound` are taken to end at a bound.
    pub fn solve_with_active_set(
        &mut self,
        at_bound: &[bool],
        most: usize,
        mut alive: impl FnMut() -> bool,
    ) -> Option<usize> {
        let face = self.fixed.clone();
        let before = self.iterate();
        for i in (0..at_bound.len()).filter(|i| at_bound[*i] && !face[*i]) {
            self.fixed[i] = true;
            self.put_on_bound(i);
        }
        self.z.fill(0.0);
        self.v.fill(0.0);
        self.complementarity_rhs.fill(0.0);
        self.upper_rhs.fill(0.0);
        let curved = self.is_curved();
        let patience = if curved { PATIENCE } else { 1 };
        let (mut fewest, mut worse) = (usize::MAX, 0);
        let mut steps = 0;
        while steps < most && alive() {
            steps += 1;
            self.residuals();
            let violated = self.primal_infeasibility();
            self.set_barrier(REGULARISATION);
            if !(self.program.factorize(&self.theta) && self.direction(ROW_TOLERANCE)) {
                break;
            }
            add(&mut self.x, 1.0, &self.dx);
            add(&mut self.y, 1.0, &self.dy);
            let moved = &self.dx[self.data.bounded.clone()];
            add(&mut self.upper_slack, -1.0, moved);
            self.residuals();
            let exchanged = self.exchange(&face);
            // what the fixed variables leave of the rows' equations, no step takes away
            let left = self.primal_infeasibility();
            let is_feasible =
                left <= ROW_TOLERANCE || (left <= FACE_TOLERANCE && left > 0.5 * violated);
            if exchanged == 0 {
                if is_feasible {
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
        self.restore(before);
        None
    }

    /// Whether the objective is strictly convex in most of the free variables.
    fn is_curved(&mut self) -> bool {
        self.rx.fill(1.0);
        self.correction_x.fill(0.0);
        self.program
            .add_hessian_times(&self.rx, &mut self.correction_x);
        let moving = self.correction_x.iter().zip(&self.fixed).filter(|x| !x.1);
        let flat = moving.clone().filter(|x| !(*x.0 > 0.0)).count();
        flat as f64 <= FLAT * moving.count() as f64
    }

    /// Fixes what is beyond its bound and frees what its multiplier pushes off it; says how many
    /// there were.
    fn exchange(&mut self, face: &[bool]) -> usize {
        let mut count = 0;
        for i in (0..self.x.len()).filter(|i| !face[*i]) {
            let (place, force) = if self.side(i).1 {
                (self.data.cap - self.x[i], -self.dual_residual[i])
            } else {
                (self.x[i], self.dual_residual[i])
            };
            let exchanged = if self.fixed[i] {
                force < -FORCE
            } else {
                place < -BEYOND
            };
            if exchanged || place < f64::MIN_POSITIVE {
                self.put_on_bound(i);
            }
            if exchanged {
                self.fixed[i] = !self.fixed[i];
                count += 1;
            }
        }
        count
    }

    /// Moves a variable to the bound it lies next to, but not quite: it is divided by.
    fn put_on_bound(&mut self, i: usize) {
        let (at, away) = (f64::MIN_POSITIVE, self.data.cap);
        let (upper_slack, full) = self.side(i);
        self.x[i] = if full { away } else { at };
        if let Some(j) = upper_slack {
            self.upper_slack[j] = if full { at } else { away };
        }
    }
}
