//! `coverage`: $\max t$ subject to $\omega \ge t\, b$, that is $\min_i \omega_i / b_i$. With $b$
//! samples wanted of each pair about $1/t$ steps are needed, and no policy needs fewer in the long
//! run.
//!
//! *Conjugate.* $\inf_\omega \langle r, \omega \rangle - \min_i \omega_i / b_i$ is 0 where
//! $r \ge 0$ and $\sum r b = 1$ (put $\omega = t b +$ anything positive), so that $t \le L$; any
//! $r \ge 0$ may be scaled to it, and $t \le L / \sum r b$.

use super::{Conjugate, Form, Linear, Utility, dot};
use crate::formulation::occupancy::Occupancies;

/// The least share of what is wanted.
#[derive(Debug, Clone)]
pub struct Coverage {
    wanted: Vec<f64>,
}

impl Coverage {
    /// With $b$ per pair, none negative, some positive.
    pub fn new(wanted: Vec<f64>) -> Self {
        Coverage { wanted }
    }

    /// The pair with the least $\omega_i / b_i$, and that share.
    fn least(&self, omega: &[f64]) -> (usize, f64) {
        let shares = omega.iter().zip(&self.wanted).enumerate();
        shares
            .filter(|(_, (_, b))| **b > 0.0)
            .map(|(pair, (x, b))| (pair, x / b))
            .fold((0, f64::INFINITY), |a, b| if b.1 < a.1 { b } else { a })
    }
}

impl Utility for Coverage {
    fn value(&self, omega: &[f64]) -> f64 {
        self.least(omega).1
    }

    fn gradient(&self, omega: &[f64], out: &mut [f64]) {
        let (pair, _) = self.least(omega);
        out.fill(0.0);
        out[pair] = 1.0 / self.wanted[pair];
    }
}

impl Conjugate for Coverage {
    fn conjugate(&self, r: &[f64]) -> f64 {
        if r.iter().all(|r| *r >= 0.0) && dot(r, &self.wanted) >= 1.0 {
            0.0
        } else {
            f64::NEG_INFINITY
        }
    }

    fn at_most(&self, r: &[f64], level: f64) -> f64 {
        let sum = dot(r, &self.wanted);
        if sum > 0.0 && r.iter().all(|r| *r >= 0.0) {
            (level / sum).max(0.0)
        } else {
            f64::INFINITY
        }
    }

    fn preferred(&self, out: &mut [f64]) {
        let sum: f64 = self.wanted.iter().sum();
        for (x, b) in out.iter_mut().zip(&self.wanted) {
            *x = b / sum;
        }
    }

    fn within(&self, part: &Occupancies) -> Box<dyn Conjugate> {
        // merged pairs are played evenly: the one wanted most decides
        let of = |pair: usize| {
            let group = part.reduced().group(pair);
            let most = group.iter().map(|p| self.wanted[*p]).fold(0.0, f64::max);
            most * group.len() as f64
        };
        Box::new(Coverage::new((0..part.mdp().n_pairs()).map(of).collect()))
    }

    fn linearise(&self, _omega: &[f64], _d: &[f64], _r: &[f64], out: &mut Linear) {
        out.pair.fill(0.0);
        out.pair_slope.fill(0.0);
    }

    fn form(&self) -> Form<'_> {
        Form::Floor(&self.wanted)
    }
}
