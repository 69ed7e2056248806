//! Solutions of the [normal equations](super::normal) by conjugate gradients, mended by what they lack of the flow.

use super::normal::Normal;
use crate::linalg::parallel::{add, dot};
use crate::solve::driver::Driver;

/// Rounds of conjugate gradients with a factor, which needs one or two, and how many without progress end them.
const ROUNDS: usize = 40;
const WITHOUT_PROGRESS: usize = 4;
/// Progress is a residual whose square is this share of the best before.
const PROGRESS: f64 = 0.25;
/// Rounds between two questions whether to stop.
const ASK_EVERY: usize = 16;
/// Solutions for one right-hand side, each for what those before lack of the flow.
const MOST_MENDED: usize = 3;

impl Normal<'_> {
    /// Potentials and the change of the occupancy for one right-hand side: $K x + A^\top v = G$, $A x = f$. Returns $v$ and $x$.
    pub(super) fn solve(
        &mut self,
        right: &[f64],
        flow: &[f64],
        driver: &mut Driver<'_>,
    ) -> (Vec<f64>, Vec<f64>) {
        let mut v = vec![0.0; flow.len()];
        let mut x = right.to_vec();
        self.blocks.divide(&mut x);
        let (mut lacks, mut columns) = (vec![0.0; flow.len()], vec![0.0; right.len()]);
        // weights range widely: with a factor at hand further rounds take back what rounding has added to the flow, the first of them
        // without asking how well it did
        let mut asked = 0.0;
        for round in 0..MOST_MENDED {
            self.rows(&x, &mut lacks);
            add(&mut lacks, -1.0, flow);
            self.hold_potentials(&v, -1.0, &mut lacks);
            let left: f64 = lacks.iter().map(|x| x.abs()).sum();
            if left <= self.flow_left * asked {
                break;
            }
            if round == 0 {
                asked = left;
            }
            let mut change = vec![0.0; flow.len()];
            if round == 0 && self.factored {
                self.precondition(&lacks, &mut change);
            } else {
                self.potentials(&lacks, &mut change, driver);
            }
            self.columns(&change, &mut columns);
            self.blocks.divide(&mut columns);
            add(&mut x, -1.0, &columns);
            add(&mut v, 1.0, &change);
            if !self.factored {
                break;
            }
        }
        (v, x)
    }

    /// Solves $A K^{-1} A^\top v = b$; by a factor where the diagonal does not do.
    fn potentials(&mut self, right: &[f64], v: &mut [f64], driver: &mut Driver<'_>) {
        let there = self.conjugate_gradients(right, v, driver);
        if there || self.factored || !self.factors() || !driver.alive() {
            return;
        }
        self.sum_squares(true);
        if self.factor_sum() {
            self.conjugate_gradients(right, v, driver);
        }
    }

    /// Returns whether it came as close as wanted.
    fn conjugate_gradients(
        &mut self,
        right: &[f64],
        x: &mut [f64],
        driver: &mut Driver<'_>,
    ) -> bool {
        let n = right.len();
        x.fill(0.0);
        let mut residual = right.to_vec();
        let mut left = self.square(&residual);
        let enough = self.accuracy * self.accuracy * left;
        let (mut scaled, mut product) = (vec![0.0; n], vec![0.0; n]);
        let mut conjugate = vec![0.0; n];
        let mut rho = 0.0;
        let rounds = if self.factored { ROUNDS } else { self.patience };
        let (mut best, mut worse) = (f64::INFINITY, 0);
        for round in 0..rounds {
            if !(left > enough) {
                return true;
            }
            // with a factor all but rounding is gone after a round or two: without progress no further rounds
            if left < PROGRESS * best {
                (best, worse) = (left, 0);
            } else {
                worse += 1;
                if self.factored && worse > WITHOUT_PROGRESS {
                    break;
                }
            }
            if round % ASK_EVERY == ASK_EVERY - 1 && !driver.alive() {
                break;
            }
            self.precondition(&residual, &mut scaled);
            let next = dot(&residual, &scaled);
            let momentum = if round > 0 { next / rho } else { 0.0 };
            rho = next;
            for (c, s) in conjugate.iter_mut().zip(&scaled) {
                *c = s + momentum * *c;
            }
            self.apply(&conjugate, &mut product);
            let curvature = dot(&product, &conjugate);
            if !(curvature > 0.0) {
                break;
            }
            let step = rho / curvature;
            add(x, step, &conjugate);
            add(&mut residual, -step, &product);
            left = self.square(&residual);
        }
        !(left > enough)
    }

    /// $A K^{-1} A^\top v$, with what holds the potentials.
    fn apply(&mut self, v: &[f64], out: &mut [f64]) {
        let mut pairs = std::mem::take(&mut self.pairs);
        self.columns(v, &mut pairs);
        self.blocks.divide(&mut pairs);
        self.rows(&pairs, out);
        self.pairs = pairs;
        self.hold_potentials(v, 1.0, out);
    }

    /// By the factor, or by the diagonal where there is none yet.
    fn precondition(&mut self, residual: &[f64], out: &mut [f64]) {
        out.copy_from_slice(residual);
        match &mut self.matrix {
            Some(matrix) if self.factored => matrix.solve(out),
            _ => {
                for (x, d) in out.iter_mut().zip(&self.diagonal) {
                    *x /= d.max(f64::MIN_POSITIVE);
                }
            }
        }
    }

    /// The square of a residual, by the diagonal: it tells when to stop without another solution by the factor.
    fn square(&self, residual: &[f64]) -> f64 {
        let squares = residual.iter().zip(&self.diagonal);
        squares.map(|(r, d)| r * r / d.max(f64::MIN_POSITIVE)).sum()
    }
}
