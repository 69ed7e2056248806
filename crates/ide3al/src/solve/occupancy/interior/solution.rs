//! Solutions of the [normal equations](super::normal) by conjugate gradients, mended by what they
//! lack of the flow.

use super::normal::Normal;
use crate::solve::driver::Driver;
use ide3al_numerics::conjugate_gradients::ConjugateGradients;
use ide3al_numerics::parallel::{add, dot, map};

/// Rounds of conjugate gradients with a factor, which needs one or two; more where uniform rows are
/// missing from it.
const ROUNDS: usize = 10;
/// Rounds between two questions whether to stop.
const ASK_EVERY: usize = 16;
/// Solutions for one right-hand side, each for what those before lack of the flow.
const MOST_MENDED: usize = 3;

impl Normal<'_> {
    /// Potentials and the change of the occupancy for one right-hand side: $K x + A^\top v = G$,
    /// $A x = f$. Returns $v$ and $x$.
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
        // weights range widely: with a factor at hand further rounds take back what rounding has
        // added to the flow, the first of them without asking how well it did
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
            match &mut self.matrix {
                Some(factor) if round == 0 && self.factored => {
                    change.copy_from_slice(&lacks);
                    factor.solve(&mut change);
                }
                _ => self.potentials(&lacks, &mut change, driver),
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
        let most = if self.factored { ROUNDS } else { self.patience };
        let mut gradients = ConjugateGradients::new(right.len());
        gradients.residual.copy_from_slice(right);
        let (mut matrix, mut pairs) = (self.matrix.take(), std::mem::take(&mut self.pairs));
        let mut factor = matrix.as_mut().filter(|_| self.factored);
        let mut rounds = 0;
        // A K^-1 A' v, with what holds the potentials
        let times = |v: &[f64], out: &mut [f64]| {
            rounds += 1;
            self.columns(v, &mut pairs);
            self.blocks.divide(&mut pairs);
            self.rows(&pairs, out);
            self.hold_potentials(v, 1.0, out);
            rounds % ASK_EVERY != 0 || driver.alive()
        };
        let precondition = |residual: &[f64], out: &mut [f64]| {
            out.copy_from_slice(residual);
            match &mut factor {
                Some(factor) => factor.solve(out),
                None => map(out, [&self.diagonal], |x, [d]| x / d.max(f64::MIN_POSITIVE)),
            }
            dot(residual, out)
        };
        let there = gradients.solve_by(x, (self.accuracy, most), times, precondition);
        (self.matrix, self.pairs) = (matrix, pairs);
        there
    }
}
