//! An interior-point method for quadratic programs whose structure lies elsewhere.
//!
//! $$\min_x \; \tfrac12 x^\top Q x + c \cdot x \quad \text{subject to} \quad A x = b, \quad 0 \le x, \quad
//!   x_i \le u \text{ for some } i .$$
//!
//! Predictor and corrector follow Mehrotra (1992, *SIAM J. Optim.* 2, 575-601). The method sees a
//! [`Program`] only through products and through solutions of
//!
//! $$ (Q + \Theta)\, dx - A^\top dy = r_x, \qquad A\, dx = r_y, $$
//!
//! $\Theta$ being the barrier's diagonal, so that each program eliminates its variables in its own
//! way (as in Gertz and Wright 2003, *ACM Trans. Math. Softw.* 29). Variables may be *frozen* at
//! zero, which is how the optimal face of a program solved before is kept.

mod active_sets;

use std::ops::Range;

use ide3al_numerics::parallel::{add, dot, fold, largest, largest_product, map};

/// The vectors and bounds of a quadratic program.
pub(in crate::solve) struct Data {
    /// $c$.
    pub(in crate::solve) cost: Vec<f64>,
    /// $b$.
    pub(in crate::solve) right: Vec<f64>,
    /// The variables that have an upper bound, and the bound.
    pub(in crate::solve) bounded: Range<usize>,
    pub(in crate::solve) cap: f64,
}

/// The matrices of a quadratic program, and the linear algebra of its Newton steps.
pub(in crate::solve) trait Program {
    /// Adds $Q x$ to `out`; says whether there is any $Q$.
    fn curvature(&self, x: &[f64], out: &mut [f64]) -> bool;
    /// `out` $= A x$.
    fn rows(&self, x: &[f64], out: &mut [f64]);
    /// `out` $= A^\top y$.
    fn columns(&self, y: &[f64], out: &mut [f64]);
    /// Prepares solutions for a diagonal $\Theta$; false where the matrix breaks down.
    fn factor(&mut self, theta: &[f64]) -> bool;
    /// Solves the two equations above.
    fn solve(&mut self, rx: &[f64], ry: &[f64], dx: &mut [f64], dy: &mut [f64]);
}

/// A member of a complementary pair below this share of the other one vanishes in the end: each
/// step at the end takes off another two digits.
const APART: f64 = 1e-6;
/// The barrier weight of a frozen variable: it cannot move, and products of two weights are finite.
const FROZEN: f64 = 1e11;
/// The share of the way to the boundary that a step may go.
const TO_THE_BOUNDARY: f64 = 0.995;
/// A Newton step is refined until its equations hold to this share of their right-hand sides,
const REFINED: f64 = 1e-11;
/// but no more than so often.
const MOST_REFINEMENTS: usize = 3;
/// Errors below this are rounding: costs, probabilities and slacks are of the order of one.
const ROUNDING: f64 = 1e-15;
/// A step may violate the rows by this much: it is what certificates forgive, since policies are
/// projected,
const VIOLATED: f64 = 1e-9;
/// or by this share of the mean complementarity product: later steps make up for it.
const VIOLATED_SHARE: f64 = 1e-4;
/// On a face the rows may be violated by this much in the end: it is how exactly the variables
/// frozen there are known at worst.
const FORGIVEN: f64 = 1e-6;

/// The iterate of the method on a program.
pub(in crate::solve) struct InteriorPoint<P> {
    pub(in crate::solve) program: P,
    pub(in crate::solve) data: Data,
    pub(in crate::solve) x: Vec<f64>,
    /// Multipliers of $x \ge 0$.
    z: Vec<f64>,
    /// Multipliers of the rows.
    pub(in crate::solve) y: Vec<f64>,
    /// $u - x$ of the bounded variables, a variable of its own: near the bound the difference would
    /// cancel. And its multipliers.
    room: Vec<f64>,
    v: Vec<f64>,
    frozen: Vec<bool>,
    /// The same as numbers at the last Newton step: one for a variable that moves, zero for a
    /// frozen one.
    moves: Vec<f64>,
    linear: bool,
    theta: Vec<f64>,
    /// Aims of the complementarity products $x z$ and $(u - x) v$.
    aim: Vec<f64>,
    aim_v: Vec<f64>,
    dual_residual: Vec<f64>,
    primal_residual: Vec<f64>,
    dx: Vec<f64>,
    dy: Vec<f64>,
    /// What goes with the direction and the aims; zero where frozen.
    dz: Vec<f64>,
    dv: Vec<f64>,
    rx: Vec<f64>,
    error_x: Vec<f64>,
    error_y: Vec<f64>,
    fix_x: Vec<f64>,
    fix_y: Vec<f64>,
}

impl<P: Program> InteriorPoint<P> {
    /// From $x > 0$ (below its bounds), $z > 0$ and $y$. `z` also starts the upper bounds'
    /// multipliers.
    pub(in crate::solve) fn new(
        program: P,
        data: Data,
        x: Vec<f64>,
        z: Vec<f64>,
        y: Vec<f64>,
    ) -> Self {
        let (n, m) = (x.len(), y.len());
        let bounded = x[data.bounded.clone()].iter();
        let room: Vec<f64> = bounded.map(|x| data.cap - x).collect();
        let v = z[data.bounded.clone()].to_vec();
        InteriorPoint {
            aim_v: vec![0.0; v.len()],
            room,
            data,
            frozen: vec![false; n],
            moves: vec![1.0; n],
            linear: true,
            theta: vec![0.0; n],
            aim: vec![0.0; n],
            dual_residual: vec![0.0; n],
            primal_residual: vec![0.0; m],
            dx: vec![0.0; n],
            dy: vec![0.0; m],
            dz: vec![0.0; n],
            dv: vec![0.0; v.len()],
            rx: vec![0.0; n],
            error_x: vec![0.0; n],
            error_y: vec![0.0; m],
            fix_x: vec![0.0; n],
            fix_y: vec![0.0; m],
            program,
            x,
            z,
            y,
            v,
        }
    }

    /// What the next steps depend on: variables, multipliers, and what is frozen.
    pub(in crate::solve) fn iterate(&self) -> ([Vec<f64>; 5], Vec<bool>) {
        let kept = [&self.x, &self.z, &self.y, &self.room, &self.v];
        (kept.map(Vec::clone), self.frozen.clone())
    }

    /// Goes back to an iterate.
    pub(in crate::solve) fn go_back(&mut self, (kept, frozen): ([Vec<f64>; 5], Vec<bool>)) {
        [self.x, self.z, self.y, self.room, self.v] = kept;
        self.frozen = frozen;
    }

    /// Holds these variables where they are. No other one may have an upper bound.
    pub(in crate::solve) fn freeze(&mut self, range: Range<usize>) {
        debug_assert!(self.data.bounded.is_empty() || self.data.bounded == range);
        self.frozen[range.clone()].fill(true);
        self.z[range].fill(0.0);
        self.v.fill(0.0);
    }

    /// Whether a variable is held where it is.
    pub(in crate::solve) fn is_frozen(&self, i: usize) -> bool {
        self.frozen[i]
    }

    /// Variables that stay at a bound on the whole optimal face, as seen from an accurate optimum:
    /// of each complementary pair one member is positive there (Goldman and Tucker 1956), and the
    /// method ends where the smaller one has vanished.
    pub(in crate::solve) fn at_bounds(&self) -> Vec<bool> {
        let mut frozen: Vec<bool> = self.x.iter().zip(&self.z).map(|(x, z)| z > x).collect();
        for (j, i) in self.data.bounded.clone().enumerate() {
            frozen[i] |= self.v[j] > self.room[j];
        }
        frozen
    }

    /// Whether of each complementary pair one member is far larger than the other.
    pub(in crate::solve) fn is_told_apart(&self) -> bool {
        let far = |(a, b): (&f64, &f64)| a.min(*b) <= APART * a.max(*b);
        self.x.iter().zip(&self.z).all(far) && self.room.iter().zip(&self.v).all(far)
    }

    /// Begins again from the point at hand for another objective, with some variables frozen at the
    /// bound they lie next to. `centre` is the complementarity product of all others.
    pub(in crate::solve) fn begin_on_face(&mut self, frozen: Vec<bool>, centre: f64) {
        for (i, frozen) in frozen.iter().enumerate() {
            let (room, full) = self.side(i);
            if *frozen {
                if full {
                    self.x[i] = self.data.cap;
                } else if self.x[i] <= self.z[i] || room.is_some() {
                    self.x[i] = 0.0;
                }
                self.z[i] = 0.0;
                if let Some(j) = room {
                    (self.room[j], self.v[j]) = (self.data.cap - self.x[i], 0.0);
                }
            } else {
                self.z[i] = centre / self.x[i];
                if let Some(j) = room {
                    self.v[j] = centre / self.room[j];
                }
            }
        }
        self.y.fill(0.0);
        self.frozen = frozen;
    }

    /// The place of a variable among the bounded ones, and whether it is nearer to its upper bound
    /// than to zero.
    fn side(&self, i: usize) -> (Option<usize>, bool) {
        let range = &self.data.bounded;
        let room = range.contains(&i).then(|| i - range.start);
        (room, room.is_some_and(|j| self.room[j] < self.x[i]))
    }

    /// The complementarity products' sum: the gap, as far as both sides are feasible.
    pub(in crate::solve) fn gap(&self) -> f64 {
        dot(&self.x, &self.z) + dot(&self.room, &self.v)
    }

    /// The mean of the complementarity products.
    pub(in crate::solve) fn mean_product(&self) -> f64 {
        self.gap() / self.products()
    }

    /// The most by which a row's equation was violated before the last step.
    pub(in crate::solve) fn violation(&self) -> f64 {
        largest(&self.primal_residual)
    }

    /// Whether all rows' equations hold as far as what is frozen lets them.
    pub(in crate::solve) fn holds(&mut self) -> bool {
        self.residuals();
        self.violation() <= FORGIVEN
    }

    fn products(&self) -> f64 {
        let frozen = self.frozen.iter().filter(|f| **f).count();
        (self.x.len() - frozen + self.room.len()) as f64
    }

    /// $r_d = c + Qx - A^\top y - z + v$ and $r_p = b - Ax$.
    fn residuals(&mut self) {
        self.program.columns(&self.y, &mut self.dual_residual);
        let inputs = [&self.data.cost[..], &self.z];
        map(&mut self.dual_residual, inputs, |r, [c, z]| c - r - z);
        self.linear = !self.program.curvature(&self.x, &mut self.dual_residual);
        let bounded = &mut self.dual_residual[self.data.bounded.clone()];
        map(bounded, [&self.v], |r, [v]| r + v);
        self.program.rows(&self.x, &mut self.primal_residual);
        for (r, b) in self.primal_residual.iter_mut().zip(&self.data.right) {
            *r = b - *r;
        }
    }

    /// One predictor-corrector step; false when no progress is possible.
    pub(in crate::solve) fn step(&mut self) -> bool {
        self.residuals();
        self.weigh(0.0);
        let bounded = self.data.bounded.clone();
        let inputs = [&self.moves[bounded.clone()], &self.room, &self.v];
        map(
            &mut self.theta[bounded],
            inputs,
            |theta, [moves, room, v]| {
                if moves > 0.0 { theta + v / room } else { theta }
            },
        );
        if !self.program.factor(&self.theta) {
            return false;
        }
        let (gap, count) = (self.gap(), self.products());
        let mu = gap / count;
        // predictor: aim at zero complementarity; it only tells how far to aim and need not be
        // exact
        self.aim.fill(0.0);
        self.aim_v.fill(0.0);
        self.solve();
        self.multipliers();
        let (primal, dual) = self.largest_steps();
        let centre = (self.gap_after(primal, dual) / gap).clamp(0.0, 1.0).powi(3) * mu;
        // corrector: aim at the centre, less the second-order term of the predictor
        let changes = [&self.dx[..], &self.dz];
        map(&mut self.aim, changes, |_, [dx, dz]| centre - dx * dz);
        let changes = [&self.dx[self.data.bounded.clone()], &self.dv];
        map(&mut self.aim_v, changes, |_, [dx, dv]| centre + dx * dv);
        if !self.direction(VIOLATED.max(VIOLATED_SHARE * mu)) {
            return false;
        }
        let (primal, dual) = self.largest_steps();
        let (primal, dual) = (
            (TO_THE_BOUNDARY * primal).min(1.0),
            (TO_THE_BOUNDARY * dual).min(1.0),
        );
        if !(primal.max(dual) > 1e-10) {
            return false;
        }
        self.advance(primal, dual);
        true
    }

    /// The barrier's weights, and at least the weight given.
    fn weigh(&mut self, least: f64) {
        for (moves, frozen) in self.moves.iter_mut().zip(&self.frozen) {
            *moves = if *frozen { 0.0 } else { 1.0 };
        }
        let inputs = [&self.moves[..], &self.x, &self.z];
        map(&mut self.theta, inputs, |_, [moves, x, z]| {
            if moves > 0.0 {
                (z / x).max(least)
            } else {
                FROZEN
            }
        });
    }

    /// The multipliers' steps that go with the direction and the aims.
    fn multipliers(&mut self) {
        let inputs = [&self.moves[..], &self.x, &self.z, &self.dx, &self.aim];
        map(&mut self.dz, inputs, |_, [moves, x, z, dx, aim]| {
            if moves > 0.0 {
                (aim - z * dx) / x - z
            } else {
                0.0
            }
        });
        let bounded = self.data.bounded.clone();
        let (moves, dx) = (&self.moves[bounded.clone()], &self.dx[bounded]);
        let inputs = [moves, &self.room, &self.v, dx, &self.aim_v];
        map(&mut self.dv, inputs, |_, [moves, room, v, dx, aim]| {
            if moves > 0.0 {
                (aim + v * dx) / room - v
            } else {
                0.0
            }
        });
    }

    /// Newton's direction towards the aims, with the factor at hand, as exact as one solution is.
    fn solve(&mut self) {
        let inputs = [
            &self.moves[..],
            &self.x,
            &self.z,
            &self.aim,
            &self.dual_residual,
        ];
        map(&mut self.rx, inputs, |_, [moves, x, z, aim, residual]| {
            if moves > 0.0 {
                aim / x - z - residual
            } else {
                0.0
            }
        });
        let bounded = self.data.bounded.clone();
        let inputs = [
            &self.moves[bounded.clone()],
            &self.room,
            &self.v,
            &self.aim_v,
        ];
        map(&mut self.rx[bounded], inputs, |r, [moves, room, v, aim]| {
            if moves > 0.0 { r + (v - aim / room) } else { r }
        });
        self.program
            .solve(&self.rx, &self.primal_residual, &mut self.dx, &mut self.dy);
        self.still();
    }

    /// Newton's direction, refined; false where its equations cannot be solved any more, or its
    /// rows would be `violated` by more than so much.
    fn direction(&mut self, violated: f64) -> bool {
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
                &mut self.fix_x,
                &mut self.fix_y,
            );
            add(&mut self.dx, 1.0, &self.fix_x);
            add(&mut self.dy, 1.0, &self.fix_y);
            self.still();
            let before = left;
            left = self.errors(scale);
            if left > 0.5 * before {
                break;
            }
        }
        self.multipliers();
        // neither a number missing nor rows violated more than before
        left.is_finite() && largest(&self.error_y) <= 1.5 * scale.1 + violated
    }

    /// What the direction leaves of its two equations, as shares of their right-hand sides.
    fn errors(&mut self, scale: (f64, f64)) -> f64 {
        self.program.columns(&self.dy, &mut self.error_x);
        self.fix_x.fill(0.0);
        self.program.curvature(&self.dx, &mut self.fix_x);
        let inputs = [
            &self.moves[..],
            &self.rx,
            &self.theta,
            &self.dx,
            &self.fix_x,
        ];
        map(
            &mut self.error_x,
            inputs,
            |e, [moves, rx, theta, dx, curved]| {
                if moves > 0.0 {
                    rx + e - theta * dx - curved
                } else {
                    0.0
                }
            },
        );
        let size = scale.0.max(largest_product(&self.theta, &self.dx));
        self.program.rows(&self.dx, &mut self.error_y);
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

    /// Takes out what rounding moves frozen variables by.
    fn still(&mut self) {
        let keep = |dx, [moves]: [f64; 1]| if moves > 0.0 { dx } else { 0.0 };
        map(&mut self.dx, [&self.moves], keep);
    }

    /// Longest steps, up to one, that keep both sides non-negative. With curvature the two sides
    /// depend on each other and take the same.
    fn largest_steps(&self) -> (f64, f64) {
        let longest = 1.0 / TO_THE_BOUNDARY;
        // a ratio is only taken where it is the least so far
        let shorten = |most: f64, x: f64, d: f64| if x + most * d < 0.0 { -x / d } else { most };
        let up_to = |x: &[f64], d: &[f64], sign: f64| {
            fold(
                [x, d],
                longest,
                |most, [x, d]| shorten(most, x, sign * d),
                f64::min,
            )
        };
        let moved = &self.dx[self.data.bounded.clone()];
        let mut primal = up_to(&self.x, &self.dx, 1.0).min(up_to(&self.room, moved, -1.0));
        let mut dual = up_to(&self.z, &self.dz, 1.0).min(up_to(&self.v, &self.dv, 1.0));
        if !self.linear {
            (primal, dual) = (primal.min(dual), primal.min(dual));
        }
        (primal, dual)
    }

    fn gap_after(&self, primal: f64, dual: f64) -> f64 {
        let (primal, dual) = (primal.min(1.0), dual.min(1.0));
        // a frozen variable has no multiplier and takes no part
        let products = |x: &[f64], dx: &[f64], sign: f64, z: &[f64], dz: &[f64]| {
            let product =
                |sum, [x, dx, z, dz]: [f64; 4]| sum + (x + sign * primal * dx) * (z + dual * dz);
            fold([x, dx, z, dz], 0.0, product, |sum, part| sum + part)
        };
        let moved = &self.dx[self.data.bounded.clone()];
        products(&self.x, &self.dx, 1.0, &self.z, &self.dz)
            + products(&self.room, moved, -1.0, &self.v, &self.dv)
    }

    fn advance(&mut self, primal: f64, dual: f64) {
        add(&mut self.v, dual, &self.dv);
        add(&mut self.room, -primal, &self.dx[self.data.bounded.clone()]);
        add(&mut self.x, primal, &self.dx);
        add(&mut self.z, dual, &self.dz);
        add(&mut self.y, dual, &self.dy);
    }
}
