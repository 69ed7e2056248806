//! The steps of the [interior-point method](super): predictor, corrector, and how far to go.

use super::Interior;
use super::equations::Equations;
use super::point::{Point, max_step};
use crate::formulation::utility::Form;
use crate::solve::driver::Driver;

/// A mu this small is rounding: below the last digit of occupancies and multipliers, which are
/// scaled to about one.
const LEAST: f64 = 1e-17;
/// The centring parameter is at least this, however well the predictor does: eight digits in one
/// step are enough.
const LEAST_CENTRE: f64 = 1e-8;
/// If the corrected step is shorter than this, a pure centring step to `LESS` times mu is tried,
/// too: from a point on the central path, centring at mu itself would lead nowhere.
const TOO_SHORT: f64 = 0.1;
const LESS: f64 = 0.5;
/// The method ends after so many steps in a row that are shorter than this.
const SHORT: (f64, usize) = (1e-6, 4);
/// The method ends after so many steps with a mu below rounding: they are Newton's method for the
/// utility alone, which needs some ten.
const MOST_ROUNDING_STEPS: usize = 60;
/// The method ends after so many steps; some tens are usual.
const MOST_STEPS: usize = 300;
/// A step goes at most this share of the way to the boundary, as usual with Mehrotra's method.
const TO_THE_BOUNDARY: f64 = 0.995;
/// No complementarity product may fall below this share of mu, the neighbourhood of the central
/// path (S. Wright 1997, *Primal-Dual Interior-Point Methods*, chapter 5). Values from 0.01 to 0.05
/// take about equally many steps.
const CENTRAL: f64 = 0.02;
/// A step that leaves the neighbourhood is shortened by this factor, at most so many times: to 4 %
/// of its length at least.
const SHORTEN: (f64, usize) = (0.9, 30);

impl Interior<'_> {
    /// One step; false where there is none left.
    pub(super) fn advance(&mut self, driver: &mut Driver<'_>) -> bool {
        self.steps += 1;
        let mu = self.mu();
        let rounding = !(mu > 10.0 * LEAST);
        self.rounding_steps = if rounding { self.rounding_steps + 1 } else { 0 };
        if self.rounding_steps > MOST_ROUNDING_STEPS
            || self.steps > MOST_STEPS
            || self.short >= SHORT.1
        {
            return false;
        }
        if self.floor.is_none() {
            self.linearise();
        }
        let Some(equations) = Equations::new(self, driver) else {
            return false;
        };
        let mut taken = if std::mem::take(&mut self.keep_complementarity) {
            let unchanged = self.at.complementary().map(|(a, _)| vec![0.0; a.len()]);
            equations.direction(self, &unchanged, driver)
        } else {
            let predictor =
                equations.direction(self, &self.at.complementarity_rhs(0.0, None), driver);
            self.corrected(&equations, &predictor, mu, driver)
        };
        if !taken.is_finite() {
            return false;
        }
        let mut lengths = self.central_lengths(&taken, mu);
        if shorter(lengths) < TOO_SHORT {
            let centred =
                equations.direction(self, &self.at.complementarity_rhs(LESS * mu, None), driver);
            let others = self.central_lengths(&centred, mu);
            if centred.is_finite() && shorter(others) > shorter(lengths) {
                (taken, lengths) = (centred, others);
            }
        }
        let short = shorter(lengths) < SHORT.0;
        self.short = if short { self.short + 1 } else { 0 };
        self.at.add_step(&taken, lengths);
        let mdp = self.part.mdp();
        for s in 0..self.d.len() {
            // omega from x keeps its digits near zero: omega = x + xi d, d = sum x / (1 - A xi)
            let pairs = mdp.pairs(s);
            let free = 1.0 - self.xi() * pairs.len() as f64;
            self.d[s] = self.at.x[pairs.clone()].iter().sum::<f64>() / free;
            for pair in pairs {
                self.at.omega[pair] = self.at.x[pair] + self.part.xi() * self.d[s];
            }
        }
        true
    }

    /// Mehrotra's corrector: the direction corrected for the second-order terms of the predictor.
    fn corrected(
        &mut self,
        equations: &Equations,
        predictor: &Point,
        mu: f64,
        driver: &mut Driver<'_>,
    ) -> Point {
        let reached = self.lengths(predictor, 1.0);
        let mean = self.at.complementarity_after(predictor, reached).1;
        let share = if mu > 0.0 {
            (mean / mu).clamp(0.0, 1.0)
        } else {
            0.0
        };
        let centre = (mu * share.powi(3).max(LEAST_CENTRE)).max(LEAST);
        let rhs = self.at.complementarity_rhs(centre, Some(predictor));
        equations.direction(self, &rhs, driver)
    }

    /// How far to go along a step, primal and dual, by a share of the way to the boundary.
    fn lengths(&self, step: &Point, share: f64) -> (f64, f64) {
        let (primal, mut dual) = self.at.max_step(step);
        if let Form::Inverse(..) = self.utility.form() {
            // the rewards of the model error are positive
            dual = dual.min(max_step(&self.at.r, &step.r));
        }
        ((share * primal).min(1.0), (share * dual).min(1.0))
    }

    /// The step lengths that stay in the neighbourhood of the central path.
    fn central_lengths(&self, step: &Point, mu: f64) -> (f64, f64) {
        let (mut primal, mut dual) = self.lengths(step, TO_THE_BOUNDARY);
        for _ in 0..SHORTEN.1 {
            let (least, mean) = self.at.complementarity_after(step, (primal, dual));
            if least >= CENTRAL * mean.min(mu) {
                break;
            }
            primal *= SHORTEN.0;
            dual *= SHORTEN.0;
        }
        (primal, dual)
    }
}

/// The shorter of two lengths.
fn shorter((primal, dual): (f64, f64)) -> f64 {
    primal.min(dual)
}
