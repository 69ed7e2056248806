//! A long-run average reward, $\sum \omega\, w$: what limits are measured by.
//!
//! *Conjugate.* $\inf_\omega \langle r - w, \omega \rangle$ over $\omega \ge 0$, $\sum \omega = 1$
//! is the least entry of $r - w$.

use super::{Conjugate, Form, Linear, Utility, dot};
use crate::formulation::occupancy::Occupancies;

/// A reward per pair.
#[derive(Debug, Clone)]
pub struct Average {
    reward: Vec<f64>,
}

impl Average {
    /// With $w$ per pair.
    pub fn new(reward: Vec<f64>) -> Self {
        Average { reward }
    }
}

impl Utility for Average {
    fn value(&self, omega: &[f64]) -> f64 {
        dot(omega, &self.reward)
    }

    fn gradient(&self, _omega: &[f64], out: &mut [f64]) {
        out.copy_from_slice(&self.reward);
    }
}

impl Conjugate for Average {
    fn conjugate(&self, r: &[f64]) -> f64 {
        let differences = r.iter().zip(&self.reward).map(|(r, w)| r - w);
        differences.fold(f64::INFINITY, f64::min)
    }

    fn bound(&self, part: &Occupancies, advantage: &[f64], budgets: f64, _r: &[f64]) -> f64 {
        part.level(advantage, &self.reward) + budgets
    }

    fn preferred(&self, out: &mut [f64]) {
        // the best pair alone, which is the maximiser, is a boundary point: no place to begin for
        // an interior-point method
        out.fill(1.0 / self.reward.len() as f64);
    }

    fn within(&self, part: &Occupancies) -> Box<dyn Conjugate> {
        Box::new(Average::new(part.reduced().means(&self.reward)))
    }

    fn linearise(&self, _omega: &[f64], _d: &[f64], _r: &[f64], out: &mut Linear) {
        out.pair.copy_from_slice(&self.reward);
        out.pair_slope.fill(0.0);
    }

    fn form(&self) -> Form<'_> {
        Form::Average(&self.reward)
    }
}
