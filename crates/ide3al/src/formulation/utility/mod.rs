//! What visits are worth: concave functions of the occupancy $\omega$, one per file.
//!
//! For any reward $r$ on pairs, $f(\omega) \le \langle r, \omega \rangle - f^*(r)$ with the concave
//! conjugate $f^*(r) = \inf_\omega \langle r, \omega \rangle - f(\omega)$. If
//! $\langle r, \omega \rangle \le L$ for all occupancies of a model (a fact about the model, see
//! [`Occupancies::level`](super::occupancy::Occupancies::level)), then $L - f^*(r)$ bounds the
//! utility of every policy. A utility is therefore three functions: value, gradient, conjugate. A
//! fourth, its curvature, is what Newton's method asks for.

mod average;
mod coverage;
mod entropies;
mod model_error;

pub use average::Average;
pub use coverage::Coverage;
pub use entropies::Entropies;
pub use model_error::{ModelError, errors};

use super::occupancy::Occupancies;
use ide3al_numerics::parallel::dot;

/// A concave function of the occupancy. A user's own needs no more than this: it is solved by
/// Frank-Wolfe steps, and certified by their gap.
pub trait Utility {
    /// $f(\omega)$, one entry of $\omega$ per state-action pair.
    fn value(&self, omega: &[f64]) -> f64;
    /// A supergradient of $f$ at $\omega$.
    fn gradient(&self, omega: &[f64], out: &mut [f64]);
}

/// A utility of the family: with a conjugate, so that every dual point proves a bound.
pub trait Conjugate: Utility {
    /// $f^*(r)$ over $\omega \ge 0$, $\sum \omega = 1$; $-\infty$ where there is none.
    fn conjugate(&self, r: &[f64]) -> f64;

    /// The best bound on $f$ where $\langle r, \omega \rangle \le$ `level`:
    /// $\inf_{\kappa \ge 0} \kappa\, \text{level} - f^*(\kappa r)$, or any value above it.
    fn at_most(&self, r: &[f64], level: f64) -> f64 {
        level - self.conjugate(r)
    }

    /// What a dual point proves of the utility on a part of the model: `advantage` is
    /// $P_\rho V - V - \sum_j y_j c_j$ per pair, `budgets` is $\sum_j y_j b_j$. Where the reward
    /// that proves most beside these is known it takes the place of `r`.
    fn bound(&self, part: &Occupancies, advantage: &[f64], budgets: f64, r: &[f64]) -> f64 {
        self.at_most(r, part.level(advantage, r) + budgets)
    }

    /// The $\omega \ge 0$, $\sum \omega = 1$ with the greatest utility, stationary or not: where
    /// the interior-point method begins.
    fn preferred(&self, out: &mut [f64]);

    /// The same utility of the occupancies of a part of the model.
    fn within(&self, part: &Occupancies) -> Box<dyn Conjugate>;

    /// Linearises the gradient at $\omega$, with $d$ its state marginal: to first order it is
    /// `pair - pair_slope * change` in the occupancy of a pair plus `state - state_slope * change`
    /// in that of its state. The reward `r` at hand is close to the gradient; a utility whose
    /// gradient is far from linear may use it to linearise another equation with the same solution.
    fn linearise(&self, omega: &[f64], d: &[f64], r: &[f64], out: &mut Linear);

    /// The standard function that it is.
    fn form(&self) -> Form<'_>;
}

/// The standard functions that utilities are, for stating them to a general solver.
#[derive(Debug, Clone, Copy)]
pub enum Form<'a> {
    /// $(1 - \tau) H(d) + \tau H(\omega) + \sum \omega \ln w$: $\ln w$ and $\tau$.
    Entropies(&'a [f64], f64),
    /// $\max t$ subject to $\omega \ge t\, b$, which is not smooth: $b$.
    Floor(&'a [f64]),
    /// $-\sum c / (\omega + m)$: $c$ and $m$.
    Inverse(&'a [f64], &'a [f64]),
    /// $\sum \omega\, w$: $w$.
    Average(&'a [f64]),
}

/// A linearised gradient; see [`Conjugate::linearise`].
#[derive(Debug, Clone, Default)]
pub struct Linear {
    /// The gradient's part of each pair.
    pub pair: Vec<f64>,
    /// Minus its slope.
    pub pair_slope: Vec<f64>,
    /// The gradient's part of each state.
    pub state: Vec<f64>,
    /// Minus its slope.
    pub state_slope: Vec<f64>,
}

#[cfg(test)]
mod tests;
