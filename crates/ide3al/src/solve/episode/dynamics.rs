//! Passes through an episode: backwards for values, forwards for visits, and both for how they
//! change.

use crate::formulation::episode::Episode;
use crate::formulation::simplex::free_mass;
use crate::model::{Kernel, Mdp, Policy};
use ide3al_numerics::parallel::{blocks, blocks_to};

/// A model seen step by step, with the free part of a policy:
/// $\pi_t(a|s) = \xi + (1 - A_s \xi)\,\sigma_t(a|s)$.
pub(super) struct EpisodeDynamics<'a> {
    pub(super) mdp: &'a Mdp,
    steps: usize,
    xi: f64,
    transposed: Kernel,
    /// Room: a value function, or distributions of two neighbouring steps and the flow between
    /// them.
    now: Vec<f64>,
    next: Vec<f64>,
    flow: Vec<f64>,
}

/// What a policy does: $\sigma$ for every step but the last, after which nothing is visited, and
/// the distribution of states at every step.
#[derive(Debug, Clone, Default)]
pub(super) struct EpisodeOccupancy {
    pub(super) sigma: Vec<f64>,
    at: Vec<f64>,
    /// $\bar d$.
    pub(super) average: Vec<f64>,
}

impl<'a> EpisodeDynamics<'a> {
    pub(super) fn new(mdp: &'a Mdp, episode: &Episode) -> Self {
        let n = mdp.n_states();
        EpisodeDynamics {
            mdp,
            steps: episode.steps,
            xi: episode.xi,
            transposed: mdp.kernel().transpose(),
            now: vec![0.0; n],
            next: vec![0.0; n],
            flow: vec![0.0; mdp.n_pairs()],
        }
    }

    /// The policy that plays all actions alike, and what it visits.
    pub(super) fn even(&mut self) -> EpisodeOccupancy {
        let even = Policy::uniform(self.mdp);
        let mut visits = EpisodeOccupancy {
            sigma: even.probabilities().repeat(self.steps - 1),
            ..EpisodeOccupancy::default()
        };
        self.follow(&mut visits);
        visits
    }

    /// The soft backward induction
    /// $V_t(s) = u(s) + \xi \sum_a q_a + (1 - A_s \xi)\,\tau \ln \sum_a \rho_t(a|s)\, e^{q_a /
    /// \tau}$ with $q = P V_{t+1}$ and the prior $\rho$ (its logarithms are given): its maximiser,
    /// and what that visits, are written to `visits`.
    pub(super) fn soft(
        &mut self,
        u: &[f64],
        log_prior: &[f64],
        tau: f64,
        visits: &mut EpisodeOccupancy,
    ) {
        self.backward(u, log_prior, &mut visits.sigma, |_, log_prior, row| {
            let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let mut largest = f64::NEG_INFINITY;
            for (x, prior) in row.iter_mut().zip(log_prior) {
                *x = prior + (*x - top) / tau;
                largest = f64::max(largest, *x);
            }
            let mut total = 0.0;
            for x in row.iter_mut() {
                *x = (*x - largest).exp();
                total += *x;
            }
            row.iter_mut().for_each(|x| *x /= total);
            top + tau * (largest + total.ln())
        });
        self.follow(visits);
    }

    /// Distributions at every step and their average, for the policy in `visits`.
    fn follow(&mut self, visits: &mut EpisodeOccupancy) {
        let EpisodeOccupancy { sigma, at, average } = visits;
        self.now.copy_from_slice(self.mdp.start());
        at.clear();
        at.extend_from_slice(&self.now);
        average.clone_from(&self.now);
        self.forward(sigma, None, |d| {
            at.extend_from_slice(d);
            average.iter_mut().zip(d).for_each(|(sum, d)| *sum += d);
        });
        let steps = self.steps as f64;
        average.iter_mut().for_each(|x| *x /= steps);
    }

    /// How $\bar d$ of the soft policy changes when $u$ changes along `x`: the Hessian of
    /// $\frac1T \langle d_1, V_1\rangle$ times `x`, one pass each way. `change` is room for one
    /// number per step and pair.
    pub(super) fn response(
        &mut self,
        visits: &EpisodeOccupancy,
        tau: f64,
        x: &[f64],
        change: &mut [f64],
        out: &mut [f64],
    ) {
        let (xi, n, sigma) = (self.xi, self.mdp.n_states(), &visits.sigma);
        self.backward(x, sigma, change, |(t, s), sigma, row| {
            let mean: f64 = row.iter().zip(sigma).map(|(q, p)| p * q).sum();
            let scale = visits.at[t * n + s] * free_mass(row.len(), xi) / tau;
            for (q, p) in row.iter_mut().zip(sigma) {
                *q = scale * p * (*q - mean);
            }
            mean
        });
        self.now.fill(0.0);
        out.fill(0.0);
        self.forward(sigma, Some(change), |d| {
            out.iter_mut().zip(d).for_each(|(o, d)| *o += d);
        });
        let steps = self.steps as f64;
        out.iter_mut().for_each(|o| *o /= steps);
    }

    /// The backward induction $V_t(s) = u(s) + \xi \sum_a q_a + (1 - A_s \xi) f(q)$ with
    /// $q = P V_{t+1}$ and $V_T = u$. `f((t, s), given, row)` finds $q$ in `row`, a part of
    /// `table`, and puts there what is to be kept of the step; `given` is the same part of another
    /// table.
    fn backward(
        &mut self,
        u: &[f64],
        given: &[f64],
        table: &mut [f64],
        f: impl Fn((usize, usize), &[f64], &mut [f64]) -> f64 + Sync,
    ) {
        let (mdp, xi, pairs) = (self.mdp, self.xi, self.mdp.n_pairs());
        self.now.copy_from_slice(u);
        let steps = table.chunks_exact_mut(pairs).zip(given.chunks_exact(pairs));
        for (t, (table, given)) in steps.enumerate().rev() {
            mdp.kernel().times(&self.now, table);
            blocks_to(&mut self.now, mdp.first_pair(), table, |s, row| {
                let sum: f64 = row.iter().sum();
                let free = free_mass(row.len(), xi);
                u[s] + xi * sum + free * f((t, s), &given[mdp.pairs(s)], row)
            });
        }
    }

    /// From the numbers of states in `now` step by step to the last, by the policy of the free part
    /// `sigma`: `change` is added to what flows through each pair, and `arrived` is told what comes
    /// to every state.
    fn forward(&mut self, sigma: &[f64], change: Option<&[f64]>, mut arrived: impl FnMut(&[f64])) {
        let (mdp, xi, pairs) = (self.mdp, self.xi, self.mdp.n_pairs());
        for (t, sigma) in sigma.chunks_exact(pairs).enumerate() {
            let (d, change) = (&self.now, change.map(|c| &c[t * pairs..][..pairs]));
            blocks(mdp.first_pair(), &mut self.flow, |s, row| {
                let (d, free) = (d[s], free_mass(row.len(), xi));
                for (pair, x) in mdp.pairs(s).zip(row) {
                    let change = change.map_or(0.0, |change| change[pair]);
                    *x = d * (xi + free * sigma[pair]) + change;
                }
            });
            mdp.kernel()
                .arrivals(&self.transposed, &self.flow, &mut self.next);
            std::mem::swap(&mut self.now, &mut self.next);
            arrived(&self.now);
        }
    }

    /// The whole policy of a free part; uniform in the last step, after which nothing is visited.
    pub(super) fn policy(&self, sigma: &[f64]) -> Vec<f64> {
        let even = Policy::uniform(self.mdp);
        let mut policy = [sigma, even.probabilities()].concat();
        for table in policy.chunks_exact_mut(self.mdp.n_pairs()) {
            blocks(self.mdp.first_pair(), table, |_, row| {
                let free = free_mass(row.len(), self.xi);
                row.iter_mut().for_each(|p| *p = self.xi + free * *p);
            });
        }
        policy
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domains;

    /// $\langle d_1, V_1 \rangle / T$ of the soft backward induction, written out.
    fn soft_value(mdp: &Mdp, episode: &Episode, u: &[f64], prior: &[f64], tau: f64) -> f64 {
        let mut v = u.to_vec();
        for prior in prior.chunks_exact(mdp.n_pairs()).rev() {
            let mut next = u.to_vec();
            for (s, next) in next.iter_mut().enumerate() {
                let expected =
                    |pair: usize| -> f64 { mdp.row(pair).entries().map(|(t, p)| p * v[t]).sum() };
                let sum: f64 = mdp.pairs(s).map(expected).sum();
                let weight = |pair: usize| prior[pair].exp() * (expected(pair) / tau).exp();
                let soft = tau * mdp.pairs(s).map(weight).sum::<f64>().ln();
                *next += episode.xi * sum + free_mass(mdp.n_actions(s), episode.xi) * soft;
            }
            v = next;
        }
        let start = mdp.start().iter().zip(&v).map(|(p, v)| p * v);
        start.sum::<f64>() / episode.steps as f64
    }

    /// The average distribution is the derivative of the soft value, and what it changes by along
    /// a direction the second derivative, both by differences.
    #[test]
    fn derivatives_are_those_of_the_soft_value() {
        let mdp = domains::load("double-chain:states=7").unwrap();
        let n = mdp.n_states();
        for (xi, tau) in [(0.0, 1.0), (0.1, 0.4), (0.05, 0.1)] {
            let episode = Episode { steps: 6, xi };
            let mut dynamics = EpisodeDynamics::new(&mdp, &episode);
            let mut visits = dynamics.even();
            let prior: Vec<f64> = (visits.sigma.iter().enumerate())
                .map(|(i, p)| (p * (1.0 + 0.5 * (i as f64).sin())).ln())
                .collect();
            let u: Vec<f64> = (0..n).map(|s| (2.1 * s as f64).cos()).collect();
            let x: Vec<f64> = (0..n).map(|s| (0.9 * s as f64).sin()).collect();
            let moved = |x: &[f64], size: f64| -> Vec<f64> {
                u.iter().zip(x).map(|(u, x)| u + size * x).collect()
            };
            dynamics.soft(&u, &prior, tau, &mut visits);
            assert!((visits.average.iter().sum::<f64>() - 1.0).abs() < 1e-13);
            let h = 1e-5;
            for s in 0..n {
                let mut unit = vec![0.0; n];
                unit[s] = 1.0;
                let value =
                    |size: f64| soft_value(&mdp, &episode, &moved(&unit, size), &prior, tau);
                let slope = (value(h) - value(-h)) / (2.0 * h);
                assert!((slope - visits.average[s]).abs() < 1e-8, "{s}: {slope}");
            }
            let (mut change, mut out) = (visits.sigma.clone(), vec![0.0; n]);
            dynamics.response(&visits, tau, &x, &mut change, &mut out);
            let mut average = |size: f64| {
                dynamics.soft(&moved(&x, size), &prior, tau, &mut visits);
                visits.average.clone()
            };
            let (up, down) = (average(h), average(-h));
            for s in 0..n {
                let slope = (up[s] - down[s]) / (2.0 * h);
                assert!((slope - out[s]).abs() < 1e-7, "{s}: {slope} {}", out[s]);
            }
        }
    }
}
