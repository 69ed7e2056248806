//! One Newton step: barrier, direction, iterative refinement.

use super::{InteriorPoint, QuadraticProgram};
use crate::parallel::{add, largest, largest_product, map};

/// The barrier weight of a fixed variable: it cannot move, and products of two weights are finite.
const FIXED_BARRIER: f64 = 1e11;
/// A Newton step is refined until its equations hold to this share of their right-hand sides,
const REFINED: f64 = 1e-11;
/// but no more than so often.
const MOST_REFINEMENTS: usize = 3;
/// Errors below this are rounding: costs, probabilities and slacks are of the order of one.
const ROUNDING: f64 = 1e-15;

impl<P: QuadraticProgram> InteriorPoint<P> {
    /// The barrier's weights, and at least the weight given.
    pub(super) fn set_barrier(&mut self, least: f64) {
        for (free, fixed) in self.free.iter_mut().zip(&self.fixed) {
            *free = if *fixed { 0.0 } else { 1.0 };
        }
        let inputs = [&self.free[..], &self.x, &self.z];
        map(&mut self.theta, inputs, |_, [free, x, z]| {
            if free > 0.0 {
                (z / x).max(least)
            } else {
                FIXED_BARRIER
            }
        });
    }

    /// The multipliers' steps that go with the direction.
    pub(super) fn multiplier_steps(&mut self) {
        let inputs = [
            &self.free[..],
            &self.x,
            &self.z,
            &self.dx,
            &self.complementarity_rhs,
        ];
        map(
            &mut self.dz,
            inputs,
            |_, [free, x, z, dx, complementarity_rhs]| {
                if free > 0.0 {
                    (complementarity_rhs - z * dx) / x - z
                } else {
                    0.0
                }
            },
        );
        let bounded = self.data.bounded.clone();
        let (free, dx) = (&self.free[bounded.clone()], &self.dx[bounded]);
        let inputs = [free, &self.upper_slack, &self.v, dx, &self.upper_rhs];
        map(
            &mut self.dv,
            inputs,
            |_, [free, upper_slack, v, dx, complementarity_rhs]| {
                if free > 0.0 {
                    (complementarity_rhs + v * dx) / upper_slack - v
                } else {
                    0.0
                }
            },
        );
    }

    /// Newton's direction with the factor at hand, as exact as one solution is.
    pub(super) fn solve(&mut self) {
        let inputs = [
            &self.free[..],
            &self.x,
            &self.z,
            &self.complementarity_rhs,
            &self.dual_residual,
        ];
        map(
            &mut self.rx,
            inputs,
            |_, [free, x, z, complementarity_rhs, residual]| {
                if free > 0.0 {
                    complementarity_rhs / x - z - residual
                } else {
                    0.0
                }
            },
        );
        let bounded = self.data.bounded.clone();
        let inputs = [
            &self.free[bounded.clone()],
            &self.upper_slack,
            &self.v,
            &self.upper_rhs,
        ];
        map(
            &mut self.rx[bounded],
            inputs,
            |r, [free, upper_slack, v, complementarity_rhs]| {
                if free > 0.0 {
                    r + (v - complementarity_rhs / upper_slack)
                } else {
                    r
                }
            },
        );
        self.program
            .solve(&self.rx, &self.primal_residual, &mut self.dx, &mut self.dy);
        self.zero_fixed();
    }

    /// Newton's direction, refined; false where its equations cannot be solved any more, or its
    /// rows would be `violated` by more than so much.
    pub(super) fn direction(&mut self, violated: f64) -> bool {
        self.solve();
        let scale = (largest(&self.rx), largest(&self.primal_residual));
        let mut left = self.errors(scale);
        for _ in 0..MOST_REFINEMENTS {
            if !(left > REFINED) {
                break;
            }
            self.program.solve(
                &self.error_x,
                &self.error_y,
                &mut self.correction_x,
                &mut self.correction_y,
            );
            add(&mut self.dx, 1.0, &self.correction_x);
            add(&mut self.dy, 1.0, &self.correction_y);
            self.zero_fixed();
            let before = left;
            left = self.errors(scale);
            if left > 0.5 * before {
                break;
            }
        }
        self.multiplier_steps();
        // neither a number missing nor rows violated more than before
        left.is_finite() && largest(&self.error_y) <= 1.5 * scale.1 + violated
    }

    /// What the direction leaves of its two equations, as shares of their right-hand sides.
    fn errors(&mut self, scale: (f64, f64)) -> f64 {
        self.program.transpose_times(&self.dy, &mut self.error_x);
        self.correction_x.fill(0.0);
        self.program
            .add_hessian_times(&self.dx, &mut self.correction_x);
        let inputs = [
            &self.free[..],
            &self.rx,
            &self.theta,
            &self.dx,
            &self.correction_x,
        ];
        map(
            &mut self.error_x,
            inputs,
            |e, [free, rx, theta, dx, curved]| {
                if free > 0.0 {
                    rx + e - theta * dx - curved
                } else {
                    0.0
                }
            },
        );
        let size = scale.0.max(largest_product(&self.theta, &self.dx));
        self.program.times(&self.dx, &mut self.error_y);
        for (e, r) in self.error_y.iter_mut().zip(&self.primal_residual) {
            *e = r - *e;
        }
        let share = |error: f64, scale: f64| {
            if error <= ROUNDING {
                0.0
            } else {
                error / scale.max(1e-12)
            }
        };
        let moved = largest(&self.dx);
        share(largest(&self.error_x), size) + share(largest(&self.error_y), scale.1.max(moved))
    }

    /// Takes out what rounding moves fixed variables by.
    fn zero_fixed(&mut self) {
        let keep = |dx, [free]: [f64; 1]| if free > 0.0 { dx } else { 0.0 };
        map(&mut self.dx, [&self.free], keep);
    }
}
