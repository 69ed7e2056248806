//! `model-error`: $-\sum c / \omega$ with $c(s,a) = 1 - \sum_t P(t|s,a)^2$.
//!
//! After $T$ steps the pair $(s,a)$ was tried about $T \omega(s,a)$ times, and the expected square
//! of the error of its estimated row is $c(s,a) / (T \omega(s,a))$ (the sum of $P (1 - P)$ over its
//! entries, per sample): $(\sum c / \omega) / T$ in all.
//!
//! *Conjugate.* $\inf_\omega \langle r, \omega \rangle + \sum c / \omega$ is attained at
//! $\omega = \sqrt{c / r}$: $f^*(r) = 2 \sum \sqrt{c r}$ for $r \ge 0$. Scaled by the best $\kappa$
//! the bound becomes $f \le -(\sum \sqrt{c r})^2 / L$.
//!
//! *Samples had.* Where $T m(s,a)$ samples are at hand before the $T$ steps begin, the error is
//! $\sum c / (\omega + m)$. Then $r \omega + c / (\omega + m)$ is least at
//! $\omega + m = \sqrt{c / r}$, or at $\omega = 0$ where that is less than $m$. Leaving
//! $\omega \ge 0$ out of account bounds it from below in either case:
//! $f^*(r) \ge 2 \sum \sqrt{c r} - \sum r m$, and $f \le -(\sum \sqrt{c r})^2 / (L + \sum r m)$.

use super::{Conjugate, Form, Linear, Utility, dot};
use crate::formulation::occupancy::Occupancies;
use crate::model::Mdp;

/// A row whose error is below this leads to one state for sure: its probability of one is rounded.
const ROUNDING: f64 = 1e-12;

/// The expected error of the estimated model, negated.
#[derive(Debug, Clone)]
pub struct ModelError {
    c: Vec<f64>,
    /// $m$ per pair.
    had: Vec<f64>,
}

impl ModelError {
    /// With $c$ per pair, none negative.
    pub fn new(c: Vec<f64>) -> Self {
        let had = vec![0.0; c.len()];
        ModelError { c, had }
    }

    /// With $c$ per pair beside samples had, $m$ per pair, none negative.
    pub fn beside(c: Vec<f64>, had: Vec<f64>) -> Self {
        ModelError { c, had }
    }

    /// $c$ and $\omega + m$ of every pair.
    fn terms<'a>(&'a self, omega: &'a [f64]) -> impl Iterator<Item = (f64, f64)> + 'a {
        let tries = omega.iter().zip(&self.had).map(|(x, m)| x + m);
        self.c.iter().copied().zip(tries)
    }
}

/// $c(s,a) = 1 - \sum_t P(t|s,a)^2$ of a model.
pub fn errors(mdp: &Mdp) -> Vec<f64> {
    let n = mdp.n_states() as f64;
    let of = |pair: usize| {
        let row = mdp.row(pair);
        let share = row.spread / n;
        let stored = row.entries().map(|(_, p)| p * (p + 2.0 * share));
        let error = 1.0 - n * share * share - stored.sum::<f64>();
        if error < ROUNDING { 0.0 } else { error }
    };
    (0..mdp.n_pairs()).map(of).collect()
}

impl Utility for ModelError {
    fn value(&self, omega: &[f64]) -> f64 {
        let terms = self.terms(omega).filter(|(c, _)| *c > 0.0);
        let terms = terms.map(|(c, x)| c / x.max(f64::MIN_POSITIVE));
        -terms.sum::<f64>()
    }

    fn gradient(&self, omega: &[f64], out: &mut [f64]) {
        for (out, (c, x)) in out.iter_mut().zip(self.terms(omega)) {
            *out = if c > 0.0 { c / (x * x) } else { 0.0 };
        }
    }
}

/// $\sum \sqrt{c r}$.
fn roots(c: &[f64], r: &[f64]) -> f64 {
    c.iter().zip(r).map(|(c, r)| (c * r).sqrt()).sum()
}

impl Conjugate for ModelError {
    fn conjugate(&self, r: &[f64]) -> f64 {
        if r.iter().all(|r| *r >= 0.0) {
            2.0 * roots(&self.c, r) - dot(r, &self.had)
        } else {
            f64::NEG_INFINITY
        }
    }

    fn at_most(&self, r: &[f64], level: f64) -> f64 {
        if !r.iter().all(|r| *r >= 0.0) {
            return f64::INFINITY;
        }
        let roots = roots(&self.c, r);
        let level = level + dot(r, &self.had);
        if level > 0.0 {
            -roots * roots / level
        } else if roots > 0.0 {
            // r >= 0 rewards every occupancy: one with <r, omega + m> <= 0 does not exist
            f64::NEG_INFINITY
        } else {
            0.0
        }
    }

    fn preferred(&self, out: &mut [f64]) {
        // without samples had the gradient c / x^2 is the same everywhere at the maximum; with them
        // this is near enough to begin
        let sum: f64 = self.c.iter().map(|c| c.sqrt()).sum();
        for (x, c) in out.iter_mut().zip(&self.c) {
            *x = c.sqrt() / sum;
        }
    }

    fn within(&self, part: &Occupancies) -> Box<dyn Conjugate> {
        // n merged pairs are played evenly, x / n each: sum c_i / (x / n + m_i) = n sum c_i / (x +
        // n m_i). With the mean m of the m_i, weighted by c_i, in their place it is n (sum c_i) /
        // (x + n m): the same where the m_i are equal, else less (Jensen)
        let (mut c, mut had) = (Vec::new(), Vec::new());
        for pair in 0..part.mdp().n_pairs() {
            let group = part.reduced().group(pair);
            let n = group.len() as f64;
            let sum: f64 = group.iter().map(|p| self.c[*p]).sum();
            let tries: f64 = group.iter().map(|p| self.c[*p] * self.had[*p]).sum();
            c.push(n * sum);
            had.push(if sum > 0.0 { n * tries / sum } else { 0.0 });
        }
        Box::new(ModelError { c, had })
    }

    fn linearise(&self, omega: &[f64], _d: &[f64], r: &[f64], out: &mut Linear) {
        // Let y = c / (r x^2), which is 1 where the reward r is the gradient. The equations y = 1
        // and ln y = 0 have the same solution; far from it Newton's step for y = 1 overshoots where
        // y > 1 (r grows too much), that for ln y = 0 where y < 1 (r falls below zero). So each is
        // used on the side where its step is the shorter one.
        for (pair, (c, x)) in self.terms(omega).enumerate() {
            if c > 0.0 {
                let r = r[pair].max(f64::MIN_POSITIVE);
                let y = c / (r * x * x);
                let lacks = if y > 1.0 { y.ln() } else { y - 1.0 };
                out.pair[pair] = r + r * lacks;
                out.pair_slope[pair] = 2.0 * r / x;
            }
        }
    }

    fn form(&self) -> Form<'_> {
        Form::Inverse(&self.c, &self.had)
    }
}
