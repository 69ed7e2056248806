//! The best long-run average of a reward, $\max \langle r, \omega \rangle$ over occupancies: the
//! linear problem inside Frank-Wolfe.
//!
//! Without limits by value iteration from the potentials of the problem before, which differs
//! little: $V(s) \leftarrow V(s) + \tfrac12 \max_{p \in \Delta_\xi} p \cdot (r + P_\rho V - V)_s$
//! (half a step, so that periodic chains settle, too). Whatever $V$ is, the largest of these maxima
//! bounds every policy, and the smallest bounds the greedy policy from below. With limits, and
//! where value iteration is slow on a model that is not large, by the interior-point method.

use super::certifier::Certifier;
use super::interior::Interior;
use crate::formulation::occupancy::Occupancies;
use crate::formulation::occupancy_spec::Limit;
use crate::formulation::simplex;
use crate::formulation::utility::Average;
use crate::solve::cost::LINEAR_BY_INTERIOR_POINT;
use crate::solve::driver::{Candidate, Comparison, Driver};

/// Sweeps between two looks at the clock.
const SWEEPS: usize = 25;
/// Sweeps until the interior-point method takes over, and sweeps at most where the model is too
/// large for it. Round numbers, not measured.
const MOST_SWEEPS: (usize, usize) = (1_000, 1_000_000);

/// An answer.
pub(super) struct Best {
    /// An occupancy within the limits; empty if none was found.
    pub(super) omega: Vec<f64>,
    /// No occupancy has more.
    pub(super) bound: f64,
    /// Of the limits.
    pub(super) prices: Vec<f64>,
}

/// The problem, for one reward after another.
pub(super) struct Linear<'a> {
    part: &'a Occupancies,
    limits: &'a [Limit],
    v: Vec<f64>,
}

impl<'a> Linear<'a> {
    pub(super) fn new(part: &'a Occupancies, limits: &'a [Limit]) -> Self {
        Linear {
            part,
            limits,
            v: vec![0.0; part.mdp().n_states()],
        }
    }

    /// Solves to an absolute gap, or as far as the driver lets it.
    pub(super) fn solve(&mut self, r: &[f64], gap: f64, driver: &mut Driver<'_>) -> Best {
        if !self.limits.is_empty() {
            return within_limits(self.part, r.to_vec(), self.limits, gap, driver);
        }
        let small = r.len() <= LINEAR_BY_INTERIOR_POINT;
        let most = if small { MOST_SWEEPS.0 } else { MOST_SWEEPS.1 };
        let (mut bound, mut close, mut alive) = (f64::INFINITY, false, true);
        for _ in 0..most / SWEEPS {
            let (proven, span) = self.sweep(r);
            bound = bound.min(proven);
            close = span <= gap;
            alive = driver.should_continue();
            if close || !alive {
                break;
            }
        }
        let mut best = Best {
            omega: self.greedy(r),
            bound,
            prices: Vec::new(),
        };
        if !close && alive && small {
            let other = within_limits(self.part, r.to_vec(), &[], gap, driver);
            best.bound = bound.min(other.bound);
            if !other.omega.is_empty() {
                best.omega = other.omega;
            }
        }
        best
    }

    /// $r + P_\rho V - V$, its best in each state, and the state where that is largest.
    fn maxima(&self, r: &[f64]) -> (Vec<f64>, Vec<f64>, usize) {
        let mdp = self.part.mdp();
        let mut advantage = vec![0.0; mdp.n_pairs()];
        self.part.advantage(&[], &self.v, &[], &mut advantage);
        advantage.iter_mut().zip(r).for_each(|(x, r)| *x += r);
        let of = |s: usize| {
            let row = mdp.pairs(s).map(|pair| advantage[pair]);
            simplex::support(row, self.part.xi())
        };
        let maxima: Vec<f64> = (0..mdp.n_states()).map(of).collect();
        let by = |a: &usize, b: &usize| maxima[*a].total_cmp(&maxima[*b]);
        let top = (0..maxima.len()).max_by(by).unwrap_or(0);
        (advantage, maxima, top)
    }

    /// Some sweeps: the least bound on the way, and by how much the greedy policy may fall short of
    /// the last one. Its average is at least the smallest maximum of the component that promises
    /// most.
    fn sweep(&mut self, r: &[f64]) -> (f64, f64) {
        let (mut bound, mut span) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..SWEEPS {
            let (_, maxima, top) = self.maxima(r);
            let component = self.part.component();
            let inside = maxima.iter().zip(component);
            let inside = inside.filter(|(_, c)| **c == component[top]);
            let least = inside.map(|(m, _)| *m).fold(f64::INFINITY, f64::min);
            bound = bound.min(maxima[top]);
            span = maxima[top] - least;
            let first = maxima[0];
            for (v, m) in self.v.iter_mut().zip(&maxima) {
                *v += 0.5 * (m - first);
            }
        }
        (bound, span)
    }

    /// What the greedy policy visits in the component that promises most.
    fn greedy(&self, r: &[f64]) -> Vec<f64> {
        let mdp = self.part.mdp();
        let (advantage, _, top) = self.maxima(r);
        let mut policy = vec![self.part.xi(); mdp.n_pairs()];
        for s in 0..mdp.n_states() {
            let by = |a: &usize, b: &usize| advantage[*a].total_cmp(&advantage[*b]);
            if let Some(pair) = mdp.pairs(s).max_by(by) {
                policy[pair] += 1.0 - self.part.xi() * mdp.n_actions(s) as f64;
            }
        }
        let component = self.part.component();
        let near = component.iter().map(|c| f64::from(*c == component[top]));
        self.part.of_policy(&policy, &near.collect::<Vec<f64>>())
    }
}

/// The best average of a reward within limits, to an absolute gap, by the interior-point method.
pub(super) fn within_limits(
    part: &Occupancies,
    reward: Vec<f64>,
    limits: &[Limit],
    gap: f64,
    driver: &mut Driver<'_>,
) -> Best {
    let reward = Average::new(reward);
    let nothing = Candidate {
        policy: Vec::new(),
        objective: f64::NEG_INFINITY,
        bound: f64::INFINITY,
        dual: Vec::new(),
    };
    let comparison = Comparison {
        maximises: true,
        dual_follows_policy: true,
    };
    driver.subproblem(comparison, (gap, 0.0), nothing, |inner| {
        let mut interior = Interior::new(Certifier::new(part, &reward, limits, None, 1.0));
        interior.run(inner);
        let kept = interior.certifier.best_feasible;
        Best {
            omega: kept.map_or_else(Vec::new, |visited| visited.omega),
            bound: inner.best().bound,
            prices: interior.certifier.prices,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domains;
    use crate::solve::Options;
    use ide3al_numerics::parallel::dot;

    /// The best average over all policies that play one action as often as they may, from the state
    /// from which it is best.
    fn by_enumeration(part: &Occupancies, r: &[f64]) -> f64 {
        let (mdp, xi) = (part.mdp(), part.xi());
        let n = mdp.n_states();
        let count: usize = (0..n).map(|s| mdp.n_actions(s)).product();
        let mut best = f64::NEG_INFINITY;
        for k in 0..count {
            let (mut policy, mut rest) = (vec![xi; mdp.n_pairs()], k);
            for s in 0..n {
                let actions = mdp.n_actions(s);
                policy[mdp.pairs(s).start + rest % actions] += simplex::free_mass(actions, xi);
                rest /= actions;
            }
            for s in 0..n {
                let near: Vec<f64> = (0..n).map(|t| f64::from(u8::from(s == t))).collect();
                best = best.max(dot(&part.of_policy(&policy, &near), r));
            }
        }
        best
    }

    #[test]
    fn the_best_average_is_that_of_a_deterministic_policy() {
        for seed in 0..40 {
            let spec = format!(
                "garnet:states={},actions=3,branching=2,seed={seed}",
                2 + seed % 4
            );
            let mdp = domains::load(&spec).unwrap();
            let reward = |pair: usize| ((pair * 37 + seed) as f64).sin();
            let whole: Vec<f64> = (0..mdp.n_pairs()).map(reward).collect();
            for (xi, restart) in [(0.0, 0.0), (0.05, 0.0), (0.0, 0.2)] {
                let all = vec![true; mdp.n_pairs()];
                let part = Occupancies::new(&mdp, xi, restart, all).unwrap();
                let r = part.reduced().means(&whole);
                let best = by_enumeration(&part, &r);
                let comparison = Comparison {
                    maximises: true,
                    dual_follows_policy: true,
                };
                let nothing = Candidate {
                    policy: Vec::new(),
                    objective: f64::NEG_INFINITY,
                    bound: f64::INFINITY,
                    dual: Vec::new(),
                };
                let (options, mut nobody) = (Options::default(), ());
                let mut driver = Driver::new(comparison, &options, nothing, &mut nobody);
                let found = Linear::new(&part, &[]).solve(&r, 1e-9, &mut driver);
                let value = dot(&found.omega, &r);
                assert!(
                    (value - best).abs() < 2e-9,
                    "{spec} {xi} {restart}: {value} {best}"
                );
                assert!(
                    found.bound >= best - 1e-12 && found.bound <= best + 2e-9,
                    "{spec}"
                );
            }
        }
    }
}
