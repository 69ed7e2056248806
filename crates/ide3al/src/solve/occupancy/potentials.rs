//! Dual and State Entropy by Newton's method on the unconstrained dual.
//!
//! $F_\tau(V) = \ln \sum_s e^{\psi_s(V) - V_s}$ with
//! $\psi_s = \max_{p \in \Delta_\xi} p \cdot (PV)_s + \tau H(p)$ is convex and smooth for
//! $\tau > 0$. With $d$ the softmax of $\psi - V$, $p_s$ the maximisers, $g_s = p_s P_s - e_s$ and
//! $J_s / \tau$ the derivative of $p_s$,
//!
//! $$\nabla F = \sum_s d_s g_s, \qquad \nabla^2 F = \sum_s d_s \Big( \tfrac1\tau P_s^\top J_s P_s
//!   + g_s g_s^\top \Big) - \nabla F \nabla F^\top .$$
//!
//! The gradient is the violation of the flow constraint by $\omega = d \cdot p$. Dual is
//! $\tau = 1$. State Entropy is the limit $\tau \to 0$, followed along a falling sequence of
//! $\tau$, with the entropy of what $\xi$ leaves free of $p$ in place of $H(p)$, which is smooth at
//! $\xi$, too ([`smoothed_support`](crate::formulation::simplex::smoothed_support)); the limit
//! policy is, of all that reach the optimal $d$, the one with the highest entropy of that. The
//! steps are [`newton`](super::newton)'s.
//!
//! What $V_\tau$ proves falls short by about $\tau$. But $V$ is smooth in $\tau$, and from two
//! values of it the limit is known to the second order, as the value of the policy is: $V_0$ so
//! found proves what a far smaller $\tau$ would. A policy is valued, which takes a stationary
//! distribution, once that is expected to do.
//!
//! A *loose* gap, as learning asks for after each batch, is reached by fewer means: State Entropy
//! stops at the $\tau$ whose smoothing costs no more than the gap, and a policy is valued by a few
//! steps of its chain from the $d$ at hand.

use super::newton::Newton;
use crate::formulation::Problem;
use crate::formulation::entropy::{self, EntropyWeights};
use crate::formulation::reduction::copies::WithoutCopies;
use crate::model::{Mdp, Policy};
use crate::solve::driver::{Candidate, Driver, Method, Step};

/// Newton needs some ten steps; where it has not converged after this many, floating point
/// has given out (chains that hardly hang together) and the certificate says how far it got.
const MOST_STEPS: usize = 500;
/// Each smoothing step multiplies $\tau$ by this: the extrapolated $V$ is then a few Newton steps
/// from the next. From 0.3 to 0.5 the time hardly changes; by 0.2, which factors least often where
/// all goes well, it doubles on garnets.
const SHRINK: f64 = 0.4;
/// Relative gaps from here on are loose.
const LOOSE: f64 = 5e-4;
/// A policy is valued once the gap is expected to be no more than so many times what is wanted: $d$
/// is not quite stationary yet.
const EXPECTED: f64 = 3.0;
/// Steps of the chain that valuing a policy may take under a loose gap.
const POWER_STEPS: usize = 400;

/// Newton steps inside one smoothing step.
const MOST_INNER: usize = 60;

/// The steps on a model that is one component. The dual point is $V$.
pub(super) struct Potentials<'a> {
    mdp: &'a Mdp,
    /// Stands for the model where that has many actions with copies.
    without_copies: Option<&'a WithoutCopies>,
    problem: &'a Problem,
    target: &'a EntropyWeights,
    newton: Newton<'a>,
    /// True if the problem is smooth as it is, so that there is no path of $\tau$ to follow.
    smooth: bool,
    loose: bool,
    /// A certificate is computed once the violation of the flow constraints is below this; along
    /// the path, once $\tau$ is.
    near: f64,
    /// $\tau$ and $V$ of the smoothing step before this one.
    previous: Option<(f64, Vec<f64>)>,
    steps: usize,
    /// Whether the method may end where Newton steps come to next to nothing, and whether it did so
    /// before the problem of the $\tau$ at hand was solved.
    may_stop_early: bool,
    unfinished: bool,
    /// Whether the current iterate has been offered.
    offered: bool,
    ended: bool,
}

impl<'a> Potentials<'a> {
    pub(super) fn new(
        mdp: &'a Mdp,
        without_copies: Option<&'a WithoutCopies>,
        problem: &'a Problem,
        target: &'a EntropyWeights,
        start: Option<&[f64]>,
        driver: &Driver<'_>,
    ) -> Self {
        let n = mdp.n_states();
        let loose = driver.relative >= LOOSE;
        let temperature = target.temperature(problem.formulation);
        let smooth = temperature > 0.0;
        let (smaller, copies) = without_copies.map_or((mdp, &[][..]), |small| {
            (&small.model.mdp, &small.copies[..])
        });
        let mut newton = Newton::new(smaller, copies, problem.xi, !smooth, target);
        // what the smoothing may cost: tau H(actions) <= tau ln A
        let most_actions = (mdp.max_actions() as f64).ln().max(0.1);
        let rough = 0.3 * driver.wanted((n as f64).ln()) / most_actions;
        // a warm start is near the limit already, but its tau is not known: begin lower
        newton.tau = match (smooth, loose) {
            (true, _) => temperature,
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
                let whole = entropy::log_sum_exp((0..n).map(|s| target.log_weight(s)));
                newton.value < whole + newton.tau * (mdp.max_actions() as f64).ln()
            });
        if !warm {
            newton.v.fill(0.0);
            newton.tau = if smooth { temperature } else { 0.5 };
            newton.evaluate();
        }
        let near = if smooth {
            // the gap is about the square of the violation; a certificate costs a stationary
            // distribution, so ask for one when it can be expected to do
            let most = if loose { 1e-2 } else { 1e-3 };
            (0.3 * driver.wanted(1.0).sqrt()).clamp(1e-9, most)
        } else if loose {
            (4.0 * rough).max(1e-2)
        } else {
            1e-2
        };
        Potentials {
            mdp,
            without_copies,
            problem,
            target,
            newton,
            smooth,
            loose,
            near,
            previous: None,
            steps: 0,
            may_stop_early: target.is_plain(),
            unfinished: false,
            offered: false,
            ended: false,
        }
    }

    /// The policy at hand.
    fn policy(&self) -> Policy {
        let p = &self.newton.p;
        let mut whole = p.clone();
        if let Some(small) = self.without_copies {
            whole = vec![0.0; self.mdp.n_pairs()];
            small.model.share(p, &mut whole);
        }
        Policy::cleaned(self.mdp, whole)
    }

    /// The policy at hand, valued, and what the potentials prove.
    fn certified(&mut self, driver: &Driver<'_>) -> Candidate {
        self.offered = true;
        let policy = self.policy();
        let newton = &mut self.newton;
        let (mdp, formulation) = (self.mdp, self.problem.formulation);
        let stationary = if self.loose {
            newton.power_iterate(POWER_STEPS, 1e-3 * driver.relative)
        } else {
            None
        };
        let target = self.target;
        let (bound, dual) = self.proven();
        let objective = stationary
            .map(|d| entropy::worth(mdp, formulation, target, &policy, &d))
            // no policy is worth more than the bound: a few steps of the chain were too few to tell
            .filter(|worth| *worth <= bound)
            .unwrap_or_else(|| entropy::value_towards(mdp, formulation, target, &policy).0);
        Candidate {
            policy: policy.probabilities().to_vec(),
            objective,
            bound,
            dual,
        }
    }

    /// The least bound that potentials at hand prove: these, or where they lead as $\tau$ vanishes.
    fn proven(&self) -> (f64, Vec<f64>) {
        let newton = &self.newton;
        let bound = |v: &[f64]| {
            let (formulation, xi) = (self.problem.formulation, self.problem.xi);
            entropy::bound_towards(self.mdp, formulation, self.target, xi, v)
        };
        let mut best = (bound(&newton.v), newton.v.clone());
        if let Some((tau, before)) = &self.previous {
            let mut limit = newton.v.clone();
            extrapolate(&mut limit, before, -newton.tau / (newton.tau - tau));
            let proven = bound(&limit);
            if proven < best.0 {
                best = (proven, limit);
            }
        }
        best
    }

    /// Whether the policy at hand can be expected to be close enough.
    fn is_promising(&self, driver: &Driver<'_>) -> bool {
        let (policy, formulation) = (self.policy(), self.problem.formulation);
        let worth = entropy::worth(self.mdp, formulation, self.target, &policy, &self.newton.d);
        self.proven().0 - worth <= EXPECTED * driver.wanted(worth)
    }

    /// Goes on until the answer is close enough, or nothing is left to do.
    pub(super) fn run(&mut self, driver: &mut Driver<'_>) {
        driver.run(self);
        if !self.offered {
            // stopped before the first certificate: what is at hand is better than nothing
            let candidate = self.certified(driver);
            driver.offer(candidate, self.name());
        }
    }

    /// Goes on where it ended because steps had come to next to nothing, as no other method got
    /// there either.
    pub(super) fn go_on(&mut self, driver: &mut Driver<'_>) {
        if self.unfinished {
            (self.may_stop_early, self.ended) = (false, false);
            self.run(driver);
        }
    }

    /// One Newton step where the problem is smooth.
    fn smooth_step(&mut self, driver: &mut Driver<'_>) -> Step {
        let newton = &mut self.newton;
        let before = newton.violation();
        let mut improved = newton.step(&mut || !driver.should_continue());
        self.steps += 1;
        if newton.violation() < self.near && newton.is_cheap() && !self.loose {
            // convergence is quadratic here: one or two steps more give the policy the
            // digits that its value already has
            for _ in 0..2 {
                if !improved || newton.violation() < 1e-12 {
                    break;
                }
                improved = newton.step(&mut || !driver.should_continue());
                self.steps += 1;
            }
        }
        self.ended = !improved
            || (newton.violation() >= before && before < 1e-13)
            || self.steps >= MOST_STEPS;
        if newton.violation() < self.near || self.ended || self.steps.is_multiple_of(20) {
            Step::Offer(self.certified(driver))
        } else {
            Step::Going
        }
    }

    /// Newton steps for one $\tau$, then on to the next.
    fn path_step(&mut self, driver: &mut Driver<'_>) -> Step {
        let first = self.newton.tau >= self.near;
        self.offered = false;
        let newton = &mut self.newton;
        if self.steps > 0 && !std::mem::take(&mut self.unfinished) {
            let (here, reached, value) = (newton.v.clone(), newton.tau, newton.value);
            newton.tau *= SHRINK;
            if let Some((tau, v)) = &self.previous {
                // V is smooth in tau: extrapolate to the next value
                extrapolate(&mut newton.v, v, (newton.tau - reached) / (reached - tau));
            }
            newton.evaluate();
            if !(newton.value <= value) {
                // F falls with tau where V stays: the last two potentials do not tell where they
                // lead
                newton.v.copy_from_slice(&here);
                newton.evaluate();
            }
            self.previous = Some((reached, here));
        }
        newton.short = 0;
        for _ in 0..MOST_INNER {
            let improved = newton.step(&mut || !driver.should_continue());
            self.steps += 1;
            let there = newton.violation() <= (0.1 * newton.tau).clamp(1e-13, 1e-2);
            self.unfinished = self.may_stop_early && !there && newton.is_stuck();
            if there || !improved || self.unfinished || !driver.should_continue() {
                break;
            }
        }
        self.ended = self.unfinished || newton.tau <= 1e-12 || self.steps >= MOST_STEPS;
        // the first policy is valued in any case, so that there is one
        let near = newton.tau < self.near;
        if self.ended || (near && (first || self.is_promising(driver))) {
            Step::Offer(self.certified(driver))
        } else {
            Step::Going
        }
    }
}

/// Goes on along the line through `before` and `v`, by so many times their distance.
fn extrapolate(v: &mut [f64], before: &[f64], share: f64) {
    for (x, old) in v.iter_mut().zip(before) {
        *x += share * (*x - old);
    }
}

impl Method for Potentials<'_> {
    fn name(&self) -> &'static str {
        "newton"
    }

    fn step(&mut self, driver: &mut Driver<'_>) -> Step {
        if self.ended {
            return Step::End;
        }
        if self.smooth {
            self.smooth_step(driver)
        } else {
            self.path_step(driver)
        }
    }
}
