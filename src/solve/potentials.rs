//! Dual and State Entropy by Newton's method on the unconstrained dual.
//!
//! $F_\tau(V) = \ln \sum_s e^{\psi_s(V) - V_s}$ with $\psi_s = \max_{p \in \Delta_\xi} p \cdot
//! (PV)_s + \tau H(p)$ is convex and smooth for $\tau > 0$. With $d$ the softmax of
//! $\psi - V$, $p_s$ the maximisers, $g_s = p_s P_s - e_s$ and $J_s$ the derivative of $p_s$,
//!
//! $$\nabla F = \sum_s d_s g_s, \qquad \nabla^2 F = \sum_s d_s \Big( \tfrac1\tau P_s^\top J_s P_s
//!   + g_s g_s^\top \Big) - \nabla F \nabla F^\top .$$
//!
//! The gradient is the violation of the flow constraint by $\omega = d \cdot p$. Dual is
//! $\tau = 1$. State Entropy is the limit $\tau \to 0$, followed along a falling sequence of
//! $\tau$; the limit policy is, of all that reach the optimal $d$, the one with the highest
//! entropy of actions. The steps are [`newton`](super::newton)'s.
//!
//! A *loose* gap, as learning asks for after each batch, is reached by fewer means: State Entropy stops at the
//! $\tau$ whose smoothing costs no more than the gap, and a policy is valued by a few steps of its chain from the
//! $d$ at hand.

use super::newton::Newton;
use super::{Limits, Outcome};
use crate::formulation::Problem;
use crate::formulation::entropy::{self, Target};
use crate::model::{Mdp, Policy};

/// Newton needs some ten steps; where it has not converged after this many, floating point
/// has given out (chains that hardly hang together) and the certificate says how far it got.
const MOST_STEPS: usize = 500;
/// Each smoothing step divides $\tau$ by this at most.
const SHRINK: f64 = 0.2;
/// Relative gaps from here on are loose.
const LOOSE: f64 = 5e-4;
/// Steps of the chain that valuing a policy may take under a loose gap.
const SETTLE: usize = 400;

/// Solves on a model that is one component. `dual` of the outcome holds $V$.
pub(super) fn solve(
    mdp: &Mdp,
    problem: &Problem,
    target: &Target,
    limits: &mut Limits<'_>,
    start: Option<&[f64]>,
) -> Outcome {
    let n = mdp.n_states();
    let loose = limits.relative >= LOOSE;
    let mut newton = Newton::new(mdp, problem.xi, target, loose);
    // smooth as it is: no path to follow
    let smooth = target.temperature(problem.formulation);
    let dual = smooth > 0.0;
    // what the smoothing may cost: tau H(actions) <= tau ln A
    let most_actions = (mdp.max_actions() as f64).ln().max(0.1);
    let rough = 0.3 * limits.wanted((n as f64).ln()) / most_actions;
    // a warm start is near the limit already, but its tau is not known: begin lower
    newton.tau = match (dual, loose) {
        (true, _) => smooth,
        (_, true) => rough.clamp(1e-3, 0.1),
        _ => 1e-3,
    };
    let warm = start
        .filter(|v| v.len() == n && v.iter().all(|x| x.is_finite()))
        .is_some_and(|v| {
            newton.v.copy_from_slice(v);
            newton.evaluate();
            // V = 0 is worth ln S at tau = 0; a start above that has been overtaken by what
            // was learnt since, and Newton's method takes long to come back from there
            let whole = if target.log_weights.is_empty() {
                (n as f64).ln()
            } else {
                entropy::log_sum_exp(target.log_weights.iter().copied())
            };
            newton.value < whole + newton.tau * (mdp.max_actions() as f64).ln()
        });
    if !warm {
        newton.v.fill(0.0);
        newton.tau = if dual { smooth } else { 0.5 };
        newton.evaluate();
    }
    let mut best = None;
    let mut iterations = 0;
    if dual {
        // the gap is about the square of the violation; a certificate costs a stationary
        // distribution, so ask for one when it can be expected to do
        let near = (0.3 * limits.wanted(1.0).sqrt()).clamp(1e-9, if loose { 1e-2 } else { 1e-3 });
        loop {
            let before = newton.violation();
            let mut improved = newton.step(&mut || limits.expired());
            iterations += 1;
            if newton.violation() < near && newton.factors() && !loose {
                // convergence is quadratic here: one or two steps more give the policy the
                // digits that its value already has
                for _ in 0..2 {
                    if !improved || newton.violation() < 1e-12 {
                        break;
                    }
                    improved = newton.step(&mut || limits.expired());
                    iterations += 1;
                }
            }
            if (newton.violation() < near || !improved || iterations % 20 == 0 || limits.expired())
                && certify(problem, target, &mut newton, iterations, &mut best, limits)
            {
                break;
            }
            if !improved
                || (newton.violation() >= before && before < 1e-13)
                || iterations >= MOST_STEPS
            {
                break;
            }
        }
    } else {
        let mut previous: Option<(f64, Vec<f64>)> = None;
        let sharp = if loose { (4.0 * rough).max(1e-2) } else { 1e-2 };
        let nearly = if loose { 1e-2 } else { 1e-3 };
        loop {
            for inner in 0..60 {
                let improved = newton.step(&mut || limits.expired());
                iterations += 1;
                if newton.violation() <= (0.1 * newton.tau).clamp(1e-13, nearly) {
                    break;
                }
                if !improved || inner == 59 || limits.expired() {
                    break;
                }
            }
            if (newton.tau < sharp || limits.expired())
                && certify(problem, target, &mut newton, iterations, &mut best, limits)
            {
                break;
            }
            if newton.tau <= 1e-12 || iterations >= MOST_STEPS {
                break;
            }
            // V is smooth in tau: extrapolate to the next value
            let next = newton.tau * SHRINK;
            let here = newton.v.clone();
            if let Some((tau, v)) = previous.as_ref() {
                let share = (next - newton.tau) / (newton.tau - tau);
                for (x, old) in newton.v.iter_mut().zip(v) {
                    *x += share * (*x - old);
                }
            }
            previous = Some((newton.tau, here));
            newton.tau = next;
            newton.evaluate();
        }
    }
    if best.is_none() {
        certify(problem, target, &mut newton, iterations, &mut best, limits);
    }
    best.unwrap_or_else(|| unreachable!("certify always stores an outcome"))
}

/// Values the policy at hand, keeps it if it is the best so far, and says whether to stop.
fn certify(
    problem: &Problem,
    target: &Target,
    newton: &mut Newton<'_>,
    iterations: usize,
    best: &mut Option<Outcome>,
    limits: &mut Limits<'_>,
) -> bool {
    let (mdp, formulation) = (newton.mdp, problem.formulation);
    let policy = Policy::cleaned(mdp, newton.p.clone());
    let settled = if limits.relative >= LOOSE {
        newton.settle(SETTLE, 1e-3 * limits.relative)
    } else {
        None
    };
    let objective = match settled {
        Some(d) => entropy::worth(mdp, formulation, target, &policy, &d),
        None => entropy::value_towards(mdp, formulation, target, &policy).0,
    };
    let bound = entropy::bound_towards(mdp, formulation, target, problem.xi, &newton.v);
    let least = best.as_ref().map_or(bound, |b| b.bound.min(bound));
    match best {
        Some(best) if best.objective > objective + 1e-12 => {
            best.bound = least;
            best.iterations = iterations;
        }
        _ => {
            *best = Some(Outcome {
                policy: policy.probabilities().to_vec(),
                objective,
                bound: least,
                dual: newton.v.clone(),
                iterations,
            });
        }
    }
    best.as_ref().is_some_and(|b| limits.reached(b))
}
