//! Passes through an episode: backwards for values, forwards for visits, and both for how they change.

use rayon::prelude::*;

use crate::formulation::episode::Episode;
use crate::formulation::simplex::free_mass;
use crate::model::{Kernel, Mdp};

/// States handed to one task. Fixed, so that results never depend on the number of threads.
const CHUNK: usize = 512;
/// Work of one step below which it is not shared.
const SMALL: usize = 1 << 14;

/// A model seen step by step, with the free part of a policy:
/// $\pi_t(a|s) = \xi + (1 - A_s \xi)\,\sigma_t(a|s)$.
pub(super) struct Passes<'a> {
    pub(super) mdp: &'a Mdp,
    pub(super) steps: usize,
    xi: f64,
    transposed: Kernel,
    shared: bool,
    /// Two value functions, or one distribution and one list of flows, by turns.
    now: Vec<f64>,
    next: Vec<f64>,
    flow: Vec<f64>,
}

/// What a policy does: $\sigma$ for every step but the last, and the distribution of states at every step.
#[derive(Debug, Clone, Default)]
pub(super) struct Visits {
    pub(super) sigma: Vec<f64>,
    pub(super) at: Vec<f64>,
    /// $\bar d$.
    pub(super) average: Vec<f64>,
}

impl<'a> Passes<'a> {
    pub(super) fn new(mdp: &'a Mdp, episode: &Episode) -> Self {
        let n = mdp.n_states();
        Passes {
            mdp,
            steps: episode.steps,
            xi: episode.xi,
            transposed: mdp.kernel().transpose(),
            shared: mdp.kernel().nnz() + mdp.n_pairs() >= SMALL,
            now: vec![0.0; n],
            next: vec![0.0; n],
            flow: vec![0.0; mdp.n_pairs()],
        }
    }

    /// Steps after which something is still visited.
    pub(super) fn decisions(&self) -> usize {
        self.steps - 1
    }

    /// The soft backward induction
    /// $V_t(s) = u(s) + \xi \sum_a q_a + (1 - A_s \xi)\,\tau \ln \sum_a \rho_t(a|s)\, e^{q_a / \tau}$ with $q = P V_{t+1}$
    /// and the prior $\rho$ (its logarithms are given), writing the maximiser to `sigma`. Returns
    /// $\frac1T \langle d_1, V_1\rangle$.
    pub(super) fn soft(
        &mut self,
        u: &[f64],
        log_prior: &[f64],
        tau: f64,
        sigma: &mut [f64],
    ) -> f64 {
        let (mdp, xi, pairs) = (self.mdp, self.xi, self.mdp.n_pairs());
        self.next.copy_from_slice(u);
        for t in (0..self.decisions()).rev() {
            let rows = Rows::new(mdp.kernel(), &self.next);
            let log_prior = &log_prior[t * pairs..(t + 1) * pairs];
            let table = &mut sigma[t * pairs..(t + 1) * pairs];
            each_state(mdp, self.shared, &mut self.now, table, |s, v, sigma| {
                let range = mdp.pairs(s);
                let (mut sum, mut top) = (0.0, f64::NEG_INFINITY);
                for (pair, x) in range.clone().zip(sigma.iter_mut()) {
                    *x = rows.product(pair);
                    sum += *x;
                    top = f64::max(top, *x);
                }
                let mut largest = f64::NEG_INFINITY;
                for (x, prior) in sigma.iter_mut().zip(&log_prior[range.clone()]) {
                    *x = prior + (*x - top) / tau;
                    largest = f64::max(largest, *x);
                }
                let mut total = 0.0;
                for x in sigma.iter_mut() {
                    *x = (*x - largest).exp();
                    total += *x;
                }
                sigma.iter_mut().for_each(|x| *x /= total);
                let soft = top + tau * (largest + total.ln());
                *v = u[s] + xi * sum + free_mass(range.len(), xi) * soft;
            });
            std::mem::swap(&mut self.now, &mut self.next);
        }
        self.started(&self.next)
    }

    /// $\frac1T \langle d_1, V\rangle$.
    fn started(&self, v: &[f64]) -> f64 {
        let start = self.mdp.start().iter().zip(v);
        let total: f64 = start.filter(|(p, _)| **p > 0.0).map(|(p, v)| p * v).sum();
        total / self.steps as f64
    }

    /// Distributions at every step and their average, for the policy in `visits`.
    pub(super) fn forward(&mut self, visits: &mut Visits) {
        let (mdp, n, pairs) = (self.mdp, self.mdp.n_states(), self.mdp.n_pairs());
        visits.at.resize(n * self.steps, 0.0);
        visits.average.clear();
        visits.average.extend_from_slice(mdp.start());
        visits.at[..n].copy_from_slice(mdp.start());
        for t in 0..self.decisions() {
            let (before, after) = visits.at.split_at_mut((t + 1) * n);
            let d = &before[t * n..];
            let sigma = &visits.sigma[t * pairs..(t + 1) * pairs];
            let xi = self.xi;
            each_block(mdp, self.shared, &mut self.flow, |s, flow| {
                let free = free_mass(flow.len(), xi);
                for (x, sigma) in flow.iter_mut().zip(&sigma[mdp.pairs(s)]) {
                    *x = d[s] * (xi + free * sigma);
                }
            });
            let next = &mut after[..n];
            mdp.kernel().arrivals(&self.transposed, &self.flow, next);
            visits
                .average
                .iter_mut()
                .zip(next)
                .for_each(|(sum, d)| *sum += *d);
        }
        let steps = self.steps as f64;
        visits.average.iter_mut().for_each(|x| *x /= steps);
    }

    /// How $\bar d$ of the soft policy changes when $u$ changes along `x`: the Hessian of
    /// $\frac1T \langle d_1, V_1\rangle$ times `x`, one pass each way. `change` is room for one number per step and pair.
    pub(super) fn response(
        &mut self,
        visits: &Visits,
        tau: f64,
        x: &[f64],
        change: &mut [f64],
        out: &mut [f64],
    ) {
        let (mdp, xi) = (self.mdp, self.xi);
        let (n, pairs) = (mdp.n_states(), mdp.n_pairs());
        self.next.copy_from_slice(x);
        for t in (0..self.decisions()).rev() {
            let rows = Rows::new(mdp.kernel(), &self.next);
            let d = &visits.at[t * n..(t + 1) * n];
            let sigma = &visits.sigma[t * pairs..(t + 1) * pairs];
            let table = &mut change[t * pairs..(t + 1) * pairs];
            each_state(mdp, self.shared, &mut self.now, table, |s, v, change| {
                let range = mdp.pairs(s);
                let free = free_mass(range.len(), xi);
                let sigma = &sigma[range.clone()];
                let (mut sum, mut mean) = (0.0, 0.0);
                for ((pair, c), p) in range.zip(change.iter_mut()).zip(sigma) {
                    *c = rows.product(pair);
                    sum += *c;
                    mean += p * *c;
                }
                let scale = d[s] * free / tau;
                for (c, p) in change.iter_mut().zip(sigma) {
                    *c = scale * p * (*c - mean);
                }
                *v = x[s] + xi * sum + free * mean;
            });
            std::mem::swap(&mut self.now, &mut self.next);
        }
        self.now.fill(0.0);
        out.fill(0.0);
        for t in 0..self.decisions() {
            let sigma = &visits.sigma[t * pairs..(t + 1) * pairs];
            let change = &change[t * pairs..(t + 1) * pairs];
            let d = &self.now;
            each_block(mdp, self.shared, &mut self.flow, |s, flow| {
                let free = free_mass(flow.len(), xi);
                let range = mdp.pairs(s);
                for ((x, sigma), c) in flow
                    .iter_mut()
                    .zip(&sigma[range.clone()])
                    .zip(&change[range])
                {
                    *x = d[s] * (xi + free * sigma) + c;
                }
            });
            mdp.kernel()
                .arrivals(&self.transposed, &self.flow, &mut self.next);
            std::mem::swap(&mut self.now, &mut self.next);
            out.iter_mut().zip(&self.now).for_each(|(o, d)| *o += d);
        }
        let steps = self.steps as f64;
        out.iter_mut().for_each(|o| *o /= steps);
    }

    /// The whole policy of a free part; uniform in the last step, after which nothing is visited.
    pub(super) fn policy(&self, sigma: &[f64]) -> Vec<f64> {
        let (mdp, pairs) = (self.mdp, self.mdp.n_pairs());
        let mut policy = vec![0.0; self.steps * pairs];
        for (t, table) in policy.chunks_exact_mut(pairs).enumerate() {
            for s in 0..mdp.n_states() {
                let range = mdp.pairs(s);
                let free = free_mass(range.len(), self.xi);
                let even = 1.0 / range.len() as f64;
                for pair in range {
                    let sigma = sigma.get(t * pairs + pair).copied().unwrap_or(even);
                    table[pair] = self.xi + free * sigma;
                }
            }
        }
        policy
    }
}

/// Products of rows with one vector.
struct Rows<'a> {
    kernel: &'a Kernel,
    v: &'a [f64],
    mean: f64,
}

impl<'a> Rows<'a> {
    fn new(kernel: &'a Kernel, v: &'a [f64]) -> Self {
        let mean = if kernel.has_spread() {
            v.iter().sum::<f64>() / v.len() as f64
        } else {
            0.0
        };
        Rows { kernel, v, mean }
    }

    fn product(&self, pair: usize) -> f64 {
        let row = self.kernel.row(pair);
        let entries = row.indices.iter().zip(row.values);
        let sum: f64 = entries.map(|(&j, p)| p * self.v[j as usize]).sum();
        sum + row.spread * self.mean
    }
}

/// Calls `f` for every state with its number in `v` and its block in `table`, on all threads where that pays.
fn each_state(
    mdp: &Mdp,
    shared: bool,
    v: &mut [f64],
    table: &mut [f64],
    f: impl Fn(usize, &mut f64, &mut [f64]) + Sync,
) {
    let first = mdp.first_pair();
    let run = |from: usize, v: &mut [f64], table: &mut [f64]| {
        let base = first[from];
        for (k, v) in v.iter_mut().enumerate() {
            let s = from + k;
            f(s, v, &mut table[first[s] - base..first[s + 1] - base]);
        }
    };
    if !shared {
        run(0, v, table);
        return;
    }
    let mut tasks = Vec::with_capacity(v.len().div_ceil(CHUNK));
    let mut rest = table;
    for (c, v) in v.chunks_mut(CHUNK).enumerate() {
        let from = c * CHUNK;
        let (part, after) = rest.split_at_mut(first[from + v.len()] - first[from]);
        tasks.push((from, v, part));
        rest = after;
    }
    tasks
        .into_par_iter()
        .for_each(|(from, v, table)| run(from, v, table));
}

/// [`each_state`] without a number per state.
fn each_block(mdp: &Mdp, shared: bool, table: &mut [f64], f: impl Fn(usize, &mut [f64]) + Sync) {
    if shared {
        crate::linalg::parallel::blocks(mdp.first_pair(), table, f);
    } else {
        for s in 0..mdp.n_states() {
            f(s, &mut table[mdp.pairs(s)]);
        }
    }
}
