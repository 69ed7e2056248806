//! The best long-run average of a reward, $\max \langle r, \omega \rangle$ over occupancies: the linear problem inside Frank-Wolfe.
//!
//! Without limits by value iteration from the potentials of the problem before, which differs little:
//! $V(s) \leftarrow V(s) + \tfrac12 \max_{p \in \Delta_\xi} p \cdot (r + P_\rho V - V)_s$ (half a step, so that periodic chains settle, too). Whatever $V$ is, the
//! largest of these maxima bounds every policy, and the smallest bounds the greedy policy from below. With limits, and
//! where value iteration is slow on a model that the conic solver can hold, that one is asked.

use super::visits::conic_average;
use crate::error::Result;
use crate::formulation::occupancy::Occupancies;
use crate::formulation::simplex;
use crate::formulation::utility::Average;
use crate::formulation::visits::Limit;
use crate::solve::driver::Driver;

/// Sweeps between two looks at the clock, until the conic solver is asked, and at most.
const SWEEPS: (usize, usize, usize) = (25, 1_000, 1_000_000);

/// Pairs up to which the conic solver is asked.
const MOST_CONIC: usize = 20_000;

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
    pub(super) fn solve(&mut self, r: &[f64], gap: f64, driver: &mut Driver<'_>) -> Result<Best> {
        let mut best = Best {
            omega: Vec::new(),
            bound: f64::INFINITY,
            prices: vec![0.0; self.limits.len()],
        };
        let small = self.part.mdp().n_pairs() <= MOST_CONIC;
        if self.limits.is_empty() {
            let most = if small { SWEEPS.1 } else { SWEEPS.2 };
            let mut alive = true;
            let mut span = f64::INFINITY;
            for _ in 0..most / SWEEPS.0 {
                let (bound, rest) = self.sweep(r);
                (best.bound, span) = (best.bound.min(bound), rest);
                alive = driver.alive();
                if span <= gap || !alive {
                    break;
                }
            }
            best.omega = self.greedy(r);
            if span <= gap || !alive {
                return Ok(best);
            }
        }
        if !self.limits.is_empty() || small {
            let reward = Average::new(r.to_vec());
            let (omega, bound, prices) = conic_average(self.part, &reward, self.limits, driver)?;
            best.bound = best.bound.min(bound);
            best.prices = prices;
            if !omega.is_empty() {
                best.omega = omega;
            }
        }
        Ok(best)
    }

    /// The best of $r + P_\rho V - V$ in each state.
    fn maxima(&self, r: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let mdp = self.part.mdp();
        let mut advantage = vec![0.0; mdp.n_pairs()];
        self.part.advantage(&[], &self.v, &[], &mut advantage);
        advantage.iter_mut().zip(r).for_each(|(x, r)| *x += r);
        let of = |s: usize| {
            let row = mdp.pairs(s).map(|pair| advantage[pair]);
            simplex::support(row, self.part.xi())
        };
        let maxima = (0..mdp.n_states()).map(of).collect();
        (advantage, maxima)
    }

    /// Some sweeps: the least bound on the way, and by how much the greedy policy may fall short of the last one. Its average is at
    /// least the smallest maximum of the part of the model that promises most.
    fn sweep(&mut self, r: &[f64]) -> (f64, f64) {
        let (mut bound, mut span) = (f64::INFINITY, f64::INFINITY);
        for _ in 0..SWEEPS.0 {
            let (_, maxima) = self.maxima(r);
            let top = largest(&maxima);
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

    /// What the greedy policy visits in the part of the model that promises most.
    fn greedy(&self, r: &[f64]) -> Vec<f64> {
        let mdp = self.part.mdp();
        let (advantage, maxima) = self.maxima(r);
        let mut policy = vec![self.part.xi(); mdp.n_pairs()];
        for s in 0..mdp.n_states() {
            let by = |a: &usize, b: &usize| advantage[*a].total_cmp(&advantage[*b]);
            if let Some(pair) = mdp.pairs(s).max_by(by) {
                policy[pair] += 1.0 - self.part.xi() * mdp.n_actions(s) as f64;
            }
        }
        let top = largest(&maxima);
        let component = self.part.component();
        let near: Vec<f64> = component
            .iter()
            .map(|c| f64::from(*c == component[top]))
            .collect();
        self.part.of_policy(&policy, &near)
    }
}

fn largest(numbers: &[f64]) -> usize {
    let by = |a: &usize, b: &usize| numbers[*a].total_cmp(&numbers[*b]);
    (0..numbers.len()).max_by(by).unwrap_or(0)
}
