//! Frobenius by accelerated projected gradients, the target $U$ never stored.
//!
//! $f(\pi) = \tfrac12 \mathrm{dist}_F(M(\pi), B_\zeta)^2$ is convex with a gradient that is
//! Lipschitz state by state with constant $\lambda_{\max}(P_s P_s^\top)$, because the distance
//! to a convex set has a 1-Lipschitz gradient and row $s$ of $M$ depends on $\pi_s$ only. So
//! every state takes its own step size. Nesterov's momentum restarts when it points uphill
//! (O'Donoghue and Candes 2015). A tie-break adds $\frac w2 \|\pi - \text{uniform}\|^2$.

use super::{Limits, Outcome};
use crate::formulation::Problem;
use crate::formulation::frobenius::Evaluator;
use crate::formulation::simplex;
use crate::formulation::support::Support;
use crate::model::{Mdp, Policy};

/// Steps between two certificates, each of which costs an accurate projection.
const CHECK_EVERY: usize = 20;

pub(super) fn solve(
    mdp: &Mdp,
    problem: &Problem,
    limits: &mut Limits<'_>,
    start: &Policy,
    multipliers: Option<&[f64]>,
    pull: f64,
) -> Outcome {
    let support = Support::new(mdp);
    let mut evaluator = Evaluator::new(mdp, &support, problem.zeta);
    let n = mdp.n_states();
    if let Some(multipliers) = multipliers.filter(|m| m.len() == 2 * n) {
        evaluator
            .projection
            .alpha
            .copy_from_slice(&multipliers[..n]);
        evaluator.projection.beta.copy_from_slice(&multipliers[n..]);
    }
    let mut curvatures = evaluator.curvatures();
    curvatures.iter_mut().for_each(|c| *c += pull);
    let mut x = start.probabilities().to_vec();
    for s in 0..n {
        simplex::project(&mut x[mdp.pairs(s)], problem.xi);
    }
    let mut y = x.clone();
    let mut next = x.clone();
    let mut descent = vec![0.0; mdp.n_pairs()];
    let mut best: Option<Outcome> = None;
    let mut momentum: f64 = 1.0;
    let mut accuracy = 1e-6;
    let mut moved = f64::INFINITY;
    for iteration in 0.. {
        if pull > 0.0 {
            if iteration > 20_000 || (iteration > 0 && moved < 1e-14) {
                evaluator.project(&x, 1e-13, 200);
                return Outcome {
                    policy: x,
                    objective: f64::NAN,
                    bound: 0.0,
                    dual: [
                        &evaluator.projection.alpha[..],
                        &evaluator.projection.beta[..],
                    ]
                    .concat(),
                    iterations: iteration,
                };
            }
            accuracy = 1e-13;
        } else if iteration % CHECK_EVERY == 0 {
            // a certificate's projection needs a few digits more than the gap asked for
            let wanted = best.as_ref().map_or(0.0, |b| limits.wanted(b.objective));
            evaluator.project(&x, (1e-4 * wanted).clamp(1e-12, 1e-8), 100);
            evaluator.descent(&mut descent);
            let found = evaluator.certify(problem.xi, &descent);
            let bound = best.as_ref().map_or(0.0, |b| b.bound).max(found.bound);
            if best.as_ref().is_none_or(|b| found.objective <= b.objective) {
                best = Some(Outcome {
                    policy: x.clone(),
                    objective: found.objective,
                    bound,
                    dual: [
                        &evaluator.projection.alpha[..],
                        &evaluator.projection.beta[..],
                    ]
                    .concat(),
                    iterations: iteration,
                });
            } else if let Some(best) = best.as_mut() {
                best.bound = bound;
            }
            if let Some(best) = best.as_mut() {
                best.iterations = iteration;
                if limits.reached(best) {
                    break;
                }
                accuracy = (1e-2 * (best.objective - best.bound)).clamp(1e-12, 1e-5);
            }
        }
        evaluator.project(&y, accuracy, 20);
        evaluator.descent(&mut descent);
        let mut uphill = 0.0;
        moved = 0.0f64;
        for s in 0..n {
            let pairs = mdp.pairs(s);
            let step = 1.0 / curvatures[s];
            let uniform = 1.0 / pairs.len() as f64;
            for r in pairs.clone() {
                next[r] = y[r] + step * (descent[r] - pull * (y[r] - uniform));
            }
            simplex::project(&mut next[pairs.clone()], problem.xi);
            for r in pairs {
                moved = moved.max((next[r] - x[r]).abs());
                uphill += (y[r] - next[r]) * (next[r] - x[r]) * curvatures[s];
            }
        }
        if uphill > 0.0 {
            momentum = 1.0;
        }
        let following = 0.5 * (1.0 + (1.0 + 4.0 * momentum * momentum).sqrt());
        let weight = (momentum - 1.0) / following;
        momentum = following;
        for r in 0..x.len() {
            y[r] = next[r] + weight * (next[r] - x[r]);
        }
        std::mem::swap(&mut x, &mut next);
    }
    best.unwrap_or_else(|| unreachable!("the first iteration always certifies"))
}
