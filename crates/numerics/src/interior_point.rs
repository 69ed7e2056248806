//! An interior-point method for quadratic programs whose structure lies elsewhere.
//!
//! $$\min_x \; \tfrac12 x^\top Q x + c \cdot x \quad \text{subject to} \quad A x = b, \quad 0 \le x, \quad
//!   x_i \le u \text{ for some } i .$$
//!
//! Predictor and corrector follow Mehrotra (1992, *SIAM J. Optim.* 2, 575-601). The method sees a
//! [`QuadraticProgram`] only through products and through solutions of
//!
//! $$ (Q + \Theta)\, dx - A^\top dy = r_x, \qquad A\, dx = r_y, $$
//!
//! $\Theta$ being the barrier's diagonal, so that each program eliminates its variables in its own
//! way (as in Gertz and Wright 2003, *ACM Trans. Math. Softw.* 29). Variables may be *fixed* at
//! zero, which is how the optimal face of a program solved before is kept.

mod active_set;
mod newton_step;

use std::ops::Range;

use super::parallel::{add, dot, fold, largest, map};

/// The vectors and bounds of a quadratic program.
pub struct ProblemData {
    /// $c$.
    pub cost: Vec<f64>,
    /// $b$.
    pub right: Vec<f64>,
    /// The variables that have an upper bound, and the bound.
    pub bounded: Range<usize>,
    /// Their common upper bound $u$.
    pub cap: f64,
}

/// The matrices of a quadratic program, and the linear algebra of its Newton steps.
pub trait QuadraticProgram {
    /// Adds $Q x$ to `out`; says whether there is any $Q$.
    fn add_hessian_times(&self, x: &[f64], out: &mut [f64]) -> bool;
    /// `out` $= A x$.
    fn times(&self, x: &[f64], out: &mut [f64]);
    /// `out` $= A^\top y$.
    fn transpose_times(&self, y: &[f64], out: &mut [f64]);
    /// Prepares solutions for a diagonal $\Theta$; false where the matrix breaks down.
    fn factorize(&mut self, theta: &[f64]) -> bool;
    /// Solves the two equations above.
    fn solve(&mut self, rx: &[f64], ry: &[f64], dx: &mut [f64], dy: &mut [f64]);
}

/// A member of a complementary pair below this share of the other one vanishes in the end: each
/// of the last steps reduces it by two digits.
const STRICTLY: f64 = 1e-6;
/// The share of the way to the boundary that a step may go.
const BOUNDARY_SHARE: f64 = 0.995;
/// Residual of the rows that a step may leave: projecting the policy removes it.
const ROW_TOLERANCE: f64 = 1e-9;
/// The same as a share of the mean complementarity product: later steps reduce it.
const ROW_TOLERANCE_SHARE: f64 = 1e-4;
/// Residual of the rows that is allowed at the end on a face: the variables fixed there are not
/// known better.
const FACE_TOLERANCE: f64 = 1e-6;

/// The iterate of the method on a program.
pub struct InteriorPoint<P> {
    /// The matrices.
    pub program: P,
    /// The vectors and bounds.
    pub data: ProblemData,
    /// $x$.
    pub x: Vec<f64>,
    /// Multipliers of $x \ge 0$.
    z: Vec<f64>,
    /// Multipliers of the rows.
    pub y: Vec<f64>,
    /// $u - x$ of the bounded variables, a variable of its own: near the bound the difference would
    /// cancel. And its multipliers.
    upper_slack: Vec<f64>,
    v: Vec<f64>,
    fixed: Vec<bool>,
    /// The same as numbers at the last Newton step: one for a free variable, zero for a
    /// fixed one.
    free: Vec<f64>,
    linear: bool,
    theta: Vec<f64>,
    /// What the products $x z$ and $(u - x) v$ are to become.
    complementarity_rhs: Vec<f64>,
    upper_rhs: Vec<f64>,
    dual_residual: Vec<f64>,
    primal_residual: Vec<f64>,
    dx: Vec<f64>,
    dy: Vec<f64>,
    /// The multipliers' steps; zero where fixed.
    dz: Vec<f64>,
    dv: Vec<f64>,
    rx: Vec<f64>,
    error_x: Vec<f64>,
    error_y: Vec<f64>,
    correction_x: Vec<f64>,
    correction_y: Vec<f64>,
}

impl<P: QuadraticProgram> InteriorPoint<P> {
    /// From $x > 0$ (below its bounds), $z > 0$ and $y$. `z` also starts the upper bounds'
    /// multipliers.
    pub fn new(program: P, data: ProblemData, x: Vec<f64>, z: Vec<f64>, y: Vec<f64>) -> Self {
        let (n, m) = (x.len(), y.len());
        let bounded = x[data.bounded.clone()].iter();
        let upper_slack: Vec<f64> = bounded.map(|x| data.cap - x).collect();
        let v = z[data.bounded.clone()].to_vec();
        InteriorPoint {
            upper_rhs: vec![0.0; v.len()],
            upper_slack,
            data,
            fixed: vec![false; n],
            free: vec![1.0; n],
            linear: true,
            theta: vec![0.0; n],
            complementarity_rhs: vec![0.0; n],
            dual_residual: vec![0.0; n],
            primal_residual: vec![0.0; m],
            dx: vec![0.0; n],
            dy: vec![0.0; m],
            dz: vec![0.0; n],
            dv: vec![0.0; v.len()],
            rx: vec![0.0; n],
            error_x: vec![0.0; n],
            error_y: vec![0.0; m],
            correction_x: vec![0.0; n],
            correction_y: vec![0.0; m],
            program,
            x,
            z,
            y,
            v,
        }
    }

    /// What the next steps depend on: variables, multipliers, and what is fixed.
    pub fn iterate(&self) -> ([Vec<f64>; 5], Vec<bool>) {
        let kept = [&self.x, &self.z, &self.y, &self.upper_slack, &self.v];
        (kept.map(Vec::clone), self.fixed.clone())
    }

    /// Goes back to an iterate.
    pub fn restore(&mut self, (kept, fixed): ([Vec<f64>; 5], Vec<bool>)) {
        [self.x, self.z, self.y, self.upper_slack, self.v] = kept;
        self.fixed = fixed;
    }

    /// Holds these variables where they are. No other one may have an upper bound.
    pub fn fix(&mut self, range: Range<usize>) {
        debug_assert!(self.data.bounded.is_empty() || self.data.bounded == range);
        self.fixed[range.clone()].fill(true);
        self.z[range].fill(0.0);
        self.v.fill(0.0);
    }

    /// Whether a variable is held where it is.
    pub fn is_fixed(&self, i: usize) -> bool {
        self.fixed[i]
    }

    /// Variables that are at a bound at every optimum, as seen from an accurate one. The method's
    /// limit is maximally complementary (Güler and Ye 1993, *Math. Program.* 60, 129-152): a
    /// variable that vanishes there vanishes on the whole optimal face. In linear programs its
    /// multiplier is then positive (Goldman and Tucker 1956). In quadratic ones both may vanish,
    /// and such a variable may be told either way: to fix it is right, and not to fix it changes
    /// nothing, as the face's other constraints hold it.
    pub fn active_bounds(&self) -> Vec<bool> {
        let mut fixed: Vec<bool> = self.x.iter().zip(&self.z).map(|(x, z)| z > x).collect();
        for (j, i) in self.data.bounded.clone().enumerate() {
            fixed[i] |= self.v[j] > self.upper_slack[j];
        }
        fixed
    }

    /// Whether of each complementary pair one member is far larger than the other.
    pub fn is_strictly_complementary(&self) -> bool {
        let far = |(a, b): (&f64, &f64)| a.min(*b) <= STRICTLY * a.max(*b);
        self.x.iter().zip(&self.z).all(far) && self.upper_slack.iter().zip(&self.v).all(far)
    }

    /// Begins again from the point at hand for another objective, with some variables fixed at the
    /// bound they lie next to. `centre` is the complementarity product of all others.
    pub fn start_on_face(&mut self, fixed: Vec<bool>, centre: f64) {
        for (i, fixed) in fixed.iter().enumerate() {
            let (upper_slack, full) = self.side(i);
            if *fixed {
                if full {
                    self.x[i] = self.data.cap;
                } else if self.x[i] <= self.z[i] || upper_slack.is_some() {
                    self.x[i] = 0.0;
                }
                self.z[i] = 0.0;
                if let Some(j) = upper_slack {
                    (self.upper_slack[j], self.v[j]) = (self.data.cap - self.x[i], 0.0);
                }
            } else {
                self.z[i] = centre / self.x[i];
                if let Some(j) = upper_slack {
                    self.v[j] = centre / self.upper_slack[j];
                }
            }
        }
        self.y.fill(0.0);
        self.fixed = fixed;
    }

    /// The place of a variable among the bounded ones, and whether it is nearer to its upper bound
    /// than to zero.
    fn side(&self, i: usize) -> (Option<usize>, bool) {
        let range = &self.data.bounded;
        let upper_slack = range.contains(&i).then(|| i - range.start);
        (
            upper_slack,
            upper_slack.is_some_and(|j| self.upper_slack[j] < self.x[i]),
        )
    }

    /// The sum of the complementarity products: the gap, as far as both sides are feasible.
    pub fn gap(&self) -> f64 {
        dot(&self.x, &self.z) + dot(&self.upper_slack, &self.v)
    }

    /// The mean of the complementarity products, $\mu$.
    pub fn mu(&self) -> f64 {
        self.gap() / self.n_complementary()
    }

    /// The most by which a row's equation was violated before the last step.
    pub fn primal_infeasibility(&self) -> f64 {
        largest(&self.primal_residual)
    }

    /// Whether all rows' equations hold as far as what is fixed lets them.
    pub fn is_feasible(&mut self) -> bool {
        self.residuals();
        self.primal_infeasibility() <= FACE_TOLERANCE
    }

    fn n_complementary(&self) -> f64 {
        let fixed = self.fixed.iter().filter(|f| **f).count();
        (self.x.len() - fixed + self.upper_slack.len()) as f64
    }

    /// $r_d = c + Qx - A^\top y - z + v$ and $r_p = b - Ax$.
    fn residuals(&mut self) {
        self.program
            .transpose_times(&self.y, &mut self.dual_residual);
        let inputs = [&self.data.cost[..], &self.z];
        map(&mut self.dual_residual, inputs, |r, [c, z]| c - r - z);
        self.linear = !self
            .program
            .add_hessian_times(&self.x, &mut self.dual_residual);
        let bounded = &mut self.dual_residual[self.data.bounded.clone()];
        map(bounded, [&self.v], |r, [v]| r + v);
        self.program.times(&self.x, &mut self.primal_residual);
        for (r, b) in self.primal_residual.iter_mut().zip(&self.data.right) {
            *r = b - *r;
        }
    }

    /// One predictor-corrector step; false when no progress is possible.
    pub fn step(&mut self) -> bool {
        self.residuals();
        self.set_barrier(0.0);
        let bounded = self.data.bounded.clone();
        let inputs = [&self.free[bounded.clone()], &self.upper_slack, &self.v];
        map(
            &mut self.theta[bounded],
            inputs,
            |theta, [free, upper_slack, v]| {
                if free > 0.0 {
                    theta + v / upper_slack
                } else {
                    theta
                }
            },
        );
        if !self.program.factorize(&self.theta) {
            return false;
        }
        let (gap, count) = (self.gap(), self.n_complementary());
        let mu = gap / count;
        // predictor: the direction to zero complementarity; it only tells how far the corrector
        // should go and need not be exact
        self.complementarity_rhs.fill(0.0);
        self.upper_rhs.fill(0.0);
        self.solve();
        self.multiplier_steps();
        let (primal, dual) = self.largest_steps();
        let centre = (self.gap_after(primal, dual) / gap).clamp(0.0, 1.0).powi(3) * mu;
        // corrector: the direction to the central path, less the predictor's second-order term
        let changes = [&self.dx[..], &self.dz];
        map(&mut self.complementarity_rhs, changes, |_, [dx, dz]| {
            centre - dx * dz
        });
        let changes = [&self.dx[self.data.bounded.clone()], &self.dv];
        map(&mut self.upper_rhs, changes, |_, [dx, dv]| centre + dx * dv);
        if !self.direction(ROW_TOLERANCE.max(ROW_TOLERANCE_SHARE * mu)) {
            return false;
        }
        let (primal, dual) = self.largest_steps();
        let (primal, dual) = (
            (BOUNDARY_SHARE * primal).min(1.0),
            (BOUNDARY_SHARE * dual).min(1.0),
        );
        if !(primal.max(dual) > 1e-10) {
            return false;
        }
        self.advance(primal, dual);
        true
    }

    /// Longest steps, up to one, that keep both sides non-negative. With curvature the two sides
    /// depend on each other and take the same.
    fn largest_steps(&self) -> (f64, f64) {
        let longest = 1.0 / BOUNDARY_SHARE;
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
        let mut primal = up_to(&self.x, &self.dx, 1.0).min(up_to(&self.upper_slack, moved, -1.0));
        let mut dual = up_to(&self.z, &self.dz, 1.0).min(up_to(&self.v, &self.dv, 1.0));
        if !self.linear {
            (primal, dual) = (primal.min(dual), primal.min(dual));
        }
        (primal, dual)
    }

    fn gap_after(&self, primal: f64, dual: f64) -> f64 {
        let (primal, dual) = (primal.min(1.0), dual.min(1.0));
        // a fixed variable has no multiplier and takes no part
        let n_complementary = |x: &[f64], dx: &[f64], sign: f64, z: &[f64], dz: &[f64]| {
            let product =
                |sum, [x, dx, z, dz]: [f64; 4]| sum + (x + sign * primal * dx) * (z + dual * dz);
            fold([x, dx, z, dz], 0.0, product, |sum, part| sum + part)
        };
        let moved = &self.dx[self.data.bounded.clone()];
        n_complementary(&self.x, &self.dx, 1.0, &self.z, &self.dz)
            + n_complementary(&self.upper_slack, moved, -1.0, &self.v, &self.dv)
    }

    fn advance(&mut self, primal: f64, dual: f64) {
        add(&mut self.v, dual, &self.dv);
        add(
            &mut self.upper_slack,
            -primal,
            &self.dx[self.data.bounded.clone()],
        );
        add(&mut self.x, primal, &self.dx);
        add(&mut self.z, dual, &self.dz);
        add(&mut self.y, dual, &self.dy);
    }
}

#[cfg(test)]
mod tests;
