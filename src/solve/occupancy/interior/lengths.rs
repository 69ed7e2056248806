//! How far a step of the [interior-point method](super) goes, and what makes it go further.

use super::Interior;
use super::direction::{Direction, Products, Step};
use crate::formulation::utility::Form;
use crate::solve::driver::Driver;

/// The share of the way to the boundary that a step may go.
const TO_THE_BOUNDARY: f64 = 0.995;
/// No product may fall below this share of their mean: products that run ahead stop all others (S. Wright 1997, *Primal-Dual
/// Interior-Point Methods*, chapter 5). Values from 0.01 to 0.05 take about equally many steps.
const CENTRAL: f64 = 0.02;
/// By how much a step is shortened to keep to that, and how often.
const SHORTEN: (f64, usize) = (0.9, 30);
/// Corrections of one direction at most, by how much each is to lengthen the step, and the least share of that which pays for it; a step
/// this long needs none. (J. Gondzio 1996, *Multiple centrality corrections in a primal-dual method for linear programming*,
/// Comput. Optim. Appl. 6. He lengthens by 0.1; 0.15 and 0.3 saved about as many steps on chains, grids, garnets and Knight Quest.)
const CORRECTIONS: usize = 2;
const LONGER: f64 = 0.3;
const PAYS: f64 = 0.1;
const LONG: f64 = 0.95;
/// Products beyond these shares of the centre are brought back to them (Gondzio's values).
const AROUND: (f64, f64) = (0.1, 10.0);

impl Interior<'_> {
    /// How far one can go, primal and dual.
    pub(super) fn lengths(&self, step: &Step, share: f64) -> (f64, f64) {
        let room = |values: &[f64], changes: &[f64]| {
            let mut most = f64::INFINITY;
            for (x, dx) in values.iter().zip(changes) {
                if *dx < 0.0 {
                    most = most.min(-x / dx);
                }
            }
            most
        };
        let mut primal = room(&self.x, &step.x).min(room(&self.s, &step.s));
        let mut dual = room(&self.z, &step.z).min(room(&self.y, &step.y));
        if !self.u.is_empty() {
            primal = primal.min(room(&self.u, &step.u));
        }
        if !matches!(self.utility.form(), Form::Entropies(..) | Form::Average(_)) {
            // rewards of coverage and model error are positive
            dual = dual.min(room(&self.r, &step.r));
        }
        ((share * primal).min(1.0), (share * dual).min(1.0))
    }

    /// How far to go towards the boundary without letting some products fall behind.
    pub(super) fn central(&self, step: &Step, mu: f64) -> (f64, f64) {
        let (mut primal, mut dual) = self.lengths(step, TO_THE_BOUNDARY);
        for _ in 0..SHORTEN.1 {
            let (least, mean) = self.products_after(step, primal, dual);
            if least >= CENTRAL * mean.min(mu) {
                break;
            }
            primal *= SHORTEN.0;
            dual *= SHORTEN.0;
        }
        (primal, dual)
    }

    /// The least product and the mean of all after a step.
    pub(super) fn products_after(&self, step: &Step, primal: f64, dual: f64) -> (f64, f64) {
        let (mut least, mut total, mut count) = (f64::INFINITY, 0.0, 0);
        let mut add = |a: f64, da: f64, b: f64, db: f64| {
            let product = (a + primal * da) * (b + dual * db);
            least = least.min(product);
            total += product;
            count += 1;
        };
        for i in 0..self.x.len() {
            if self.bounded[i] {
                add(self.x[i], step.x[i], self.z[i], step.z[i]);
            }
        }
        for j in 0..self.s.len() {
            add(self.s[j], step.s[j], self.y[j], step.y[j]);
        }
        for i in 0..self.u.len() {
            add(self.u[i], step.u[i], self.r[i], step.r[i]);
        }
        (least, total / f64::from(count.max(1)))
    }

    /// The direction, corrected so that a longer step would leave no product far from the centre, as long as that pays and another
    /// right-hand side is cheap beside the factor.
    pub(super) fn corrected(
        &mut self,
        equations: &mut Direction,
        predictor: &Step,
        mut step: Step,
        centre: f64,
        driver: &mut Driver<'_>,
    ) -> Step {
        if !self.normal.dear() {
            return step;
        }
        let mut aims = Products::default();
        let (mut primal, mut dual) = self.lengths(&step, TO_THE_BOUNDARY);
        for _ in 0..CORRECTIONS {
            if primal.min(dual) > LONG {
                break;
            }
            let far = ((primal + LONGER).min(1.0), (dual + LONGER).min(1.0));
            self.aim(&step, far, centre, &mut aims);
            let next = equations.solve(self, centre, Some(predictor), &aims, driver);
            let (p, d) = self.lengths(&next, TO_THE_BOUNDARY);
            if !next.is_finite() || p.min(d) < primal.min(dual) + PAYS * LONGER {
                break;
            }
            (step, primal, dual) = (next, p, d);
        }
        step
    }

    /// Adds to the products that are aimed at what brings those back that such a step would leave far from the centre.
    fn aim(&self, step: &Step, far: (f64, f64), centre: f64, aims: &mut Products) {
        let (least, most) = (AROUND.0 * centre, AROUND.1 * centre);
        let back = |a: f64, da: f64, b: f64, db: f64| {
            let product = (a + far.0 * da) * (b + far.1 * db);
            (product.clamp(least, most) - product).max(-most)
        };
        aims.x.resize(self.x.len(), 0.0);
        aims.u.resize(self.u.len(), 0.0);
        aims.s.resize(self.s.len(), 0.0);
        for i in 0..self.x.len() {
            aims.x[i] += back(self.x[i], step.x[i], self.z[i], step.z[i]);
        }
        for i in 0..self.u.len() {
            aims.u[i] += back(self.u[i], step.u[i], self.r[i], step.r[i]);
        }
        for j in 0..self.s.len() {
            aims.s[j] += back(self.s[j], step.s[j], self.y[j], step.y[j]);
        }
    }
}
