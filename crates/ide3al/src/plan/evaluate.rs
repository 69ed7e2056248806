//! The value of a policy, nearly: BiCGSTAB on $(I - \gamma P_\pi) V = r_\pi$ with
//! [incomplete factors](super::incomplete).
//!
//! How exact the answer is does not matter to the certificate, which comes from the next sweep over
//! all pairs.
//!
//! Reference: van der Vorst (1992), *SIAM Journal on Scientific and Statistical Computing* 13,
//! 631-644; in policy iteration Gargiani et al. (2024), *Inexact policy iteration methods for
//! large-scale Markov decision processes*.

use ide3al_numerics::parallel::{add, dot, largest, map};

use super::incomplete::Incomplete;
use super::sweep::Sweeper;

/// Most iterations; each multiplies with $P_\pi$ twice.
const MOST: usize = 60;
/// Share of the largest residual that is left at the end: the bounds are as wide as the largest,
/// and a small sum of squares may hide it in a few states.
const REDUCTION: f64 = 0.05;
/// Share that may be left for the answer to be of use.
const ENOUGH: f64 = 0.5;

/// Vectors that are used again from one solve to the next.
#[derive(Default)]
pub(super) struct Evaluator {
    factors: Incomplete,
    residual: Vec<f64>,
    shadow: Vec<f64>,
    direction: Vec<f64>,
    solved: Vec<f64>,
    image: Vec<f64>,
    half: Vec<f64>,
    change: Vec<f64>,
}

impl Evaluator {
    /// Moves `values` towards those of the policy that chooses the pairs `choice`, each reward less
    /// `average`. Whether the largest residual became much smaller.
    pub(super) fn approach(
        &mut self,
        sweeper: Sweeper<'_>,
        choice: &mut [u32],
        average: f64,
        values: &mut [f64],
    ) -> bool {
        let n = values.len();
        for vector in [
            &mut self.residual,
            &mut self.shadow,
            &mut self.direction,
            &mut self.solved,
            &mut self.image,
            &mut self.half,
            &mut self.change,
        ] {
            vector.resize(n, 0.0);
        }
        self.factors.factor(&sweeper, choice);
        let (r, shadow, p) = (&mut self.residual, &mut self.shadow, &mut self.direction);
        let (solved, image) = (&mut self.solved, &mut self.image);
        let (half, t) = (&mut self.half, &mut self.change);
        // what is missing: r + gamma P V - V
        sweeper.follow(values, r, choice);
        map(r, [values], |ahead, [v]| ahead - v - average);
        for (r, ended) in r.iter_mut().zip(sweeper.ended) {
            if *ended {
                *r = 0.0;
            }
        }
        let mut times = |y: &[f64], out: &mut [f64]| {
            sweeper.expect_next(y, out, choice);
            map(out, [y], |ahead, [y]| y - ahead);
        };
        shadow.copy_from_slice(r);
        p.copy_from_slice(r);
        let first = largest(r);
        let (mut rho, mut size) = (dot(r, r), first);
        for _ in 0..MOST {
            if size <= REDUCTION * first {
                break;
            }
            self.factors.solve(p, solved);
            times(solved, image);
            let alpha = rho / dot(shadow, image);
            if !alpha.is_finite() {
                break;
            }
            // r is now what is left after half a step
            add(r, -alpha, image);
            self.factors.solve(r, half);
            times(half, t);
            let omega = dot(t, r) / dot(t, t);
            let omega = if omega.is_finite() { omega } else { 0.0 };
            map(values, [solved, half], |v, [p, r]| {
                v + alpha * p + omega * r
            });
            add(r, -omega, t);
            size = largest(r);
            let next = dot(shadow, r);
            let beta = next / rho * (alpha / omega);
            if !beta.is_finite() || !size.is_finite() {
                break;
            }
            rho = next;
            map(p, [r, image], |p, [r, image]| {
                r + beta * (p - omega * image)
            });
        }
        size <= ENOUGH * first
    }
}
