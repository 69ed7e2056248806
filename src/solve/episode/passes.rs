//! Passes through an episode: backwards for values, forwards for visits, and both for how they change.

use crate::formulation::episode::Episode;
use crate::formulation::simplex::free_mass;
use crate::linalg::parallel::{self, share};
use crate::model::{Kernel, Mdp};

/// States handed to one task. Fixed, so that results never depend on the number of threads; large enough that handing over a task costs
/// little beside its work.
const CHUNK: usize = 512;
/// Transitions and pairs below which one step of a pass takes less time than it takes to share it among threads.
const SMALL: usize = 1 << 14;

/// A model seen step by step, with the free part of a policy:
/// $\pi_t(a|s) = \xi + (1 - A_s \xi)\,\sigma_t(a|s)$.
pub(super) struct Passes<'a> {
    pub(super) mdp: &'a Mdp,
    steps: usize,
    xi: f64,
    transposed: Kernel,
    /// Room: value functions or distributions of two neighbouring steps, and the flow between them.
    now: Vec<f64>,
    next: Vec<f64>,
    flow: Vec<f64>,
}

/// What a policy does: $\sigma$ for every step but the last, after which nothing is visited, and the distribution of states at every step.
#[derive(Debug, Clone, Default)]
pub(super) struct Visits {
    pub(super) sigma: Vec<f64>,
    at: Vec<f64>,
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
            now: vec![0.0; n],
            next: vec![0.0; n],
            flow: vec![0.0; mdp.n_pairs()],
        }
    }

    /// The policy that plays all actions alike, and what it visits.
    pub(super) fn even(&mut self) -> Visits {
        let mdp = self.mdp;
        let mut even = vec![0.0; mdp.n_pairs()];
        for s in 0..mdp.n_states() {
            even[mdp.pairs(s)].fill(1.0 / mdp.n_actions(s) as f64);
        }
        let mut visits = Visits {
            sigma: even.repeat(self.steps - 1),
            ..Visits::default()
        };
        self.follow(&mut visits);
        visits
    }

    /// The soft backward induction
    /// $V_t(s) = u(s) + \xi \sum_a q_a + (1 - A_s \xi)\,\tau \ln \sum_a \rho_t(a|s)\, e^{q_a / \tau}$ with $q = P V_{t+1}$
    /// and the prior $\rho$ (its logarithms are given): its maximiser, and what that visits, are written to `visits`.
    pub(super) fn soft(&mut self, u: &[f64], log_prior: &[f64], tau: f64, visits: &mut Visits) {
        let largest_of = (f64::NEG_INFINITY, |top: f64, q: f64, _: f64| top.max(q));
        let sigma = &mut visits.sigma;
        self.backward(u, log_prior, sigma, largest_of, |_, top, log_prior, row| {
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
    fn follow(&mut self, visits: &mut Visits) {
        let Visits { sigma, at, average } = visits;
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
    /// $\frac1T \langle d_1, V_1\rangle$ times `x`, one pass each way. `change` is room for one number per step and pair.
    pub(super) fn response(
        &mut self,
        visits: &Visits,
        tau: f64,
        x: &[f64],
        change: &mut [f64],
        out: &mut [f64],
    ) {
        let (xi, n, sigma) = (self.xi, self.mdp.n_states(), &visits.sigma);
        let mean_of = (0.0, |mean: f64, q: f64, p: f64| mean + p * q);
        self.backward(x, sigma, change, mean_of, |(t, s), mean, sigma, row| {
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

    /// The backward induction $V_t(s) = u(s) + \xi \sum_a q_a + (1 - A_s \xi) f(q)$ with $q = P V_{t+1}$ and $V_T = u$.
    /// `f((t, s), gathered, given, row)` finds $q$ in `row`, a part of `table`, and puts there what is to be kept of the step; `given` is the same
    /// part of another table. What it needs of all $q$ is gathered on the way, from a first number by `gather(number, q, given)`: rows are
    /// short, and another loop over them would cost a fifth of the time.
    fn backward(
        &mut self,
        u: &[f64],
        given: &[f64],
        table: &mut [f64],
        (first, gather): (f64, impl Fn(f64, f64, f64) -> f64 + Sync),
        f: impl Fn((usize, usize), f64, &[f64], &mut [f64]) -> f64 + Sync,
    ) {
        let (mdp, xi, pairs) = (self.mdp, self.xi, self.mdp.n_pairs());
        let kernel = mdp.kernel();
        let (offsets, spread) = (kernel.offsets(), kernel.spread());
        let (indices, values) = (kernel.indices(), kernel.values());
        self.next.copy_from_slice(u);
        let steps = table.chunks_exact_mut(pairs).zip(given.chunks_exact(pairs));
        for (t, (table, given)) in steps.enumerate().rev() {
            let v = self.next.as_slice();
            let mean = if kernel.has_spread() {
                v.iter().sum::<f64>() / v.len() as f64
            } else {
                0.0
            };
            each_state(mdp, &mut self.now, table, |s, row| {
                let given = &given[mdp.pairs(s)];
                let (mut sum, mut gathered) = (0.0, first);
                for ((pair, q), given) in mdp.pairs(s).zip(row.iter_mut()).zip(given) {
                    let stored = offsets[pair]..offsets[pair + 1];
                    let entries = indices[stored.clone()].iter().zip(&values[stored]);
                    let own: f64 = entries.map(|(&j, p)| p * v[j as usize]).sum();
                    let value = own + spread.get(pair).map_or(0.0, |share| share * mean);
                    sum += value;
                    gathered = gather(gathered, value, *given);
                    *q = value;
                }
                let free = free_mass(row.len(), xi);
                u[s] + xi * sum + free * f((t, s), gathered, given, row)
            });
            std::mem::swap(&mut self.now, &mut self.next);
        }
    }

    /// From the numbers of states in `now` step by step to the last, by the policy of the free part `sigma`: `change` is added to what flows
    /// through each pair, and `arrived` is told what comes to every state.
    fn forward(&mut self, sigma: &[f64], change: Option<&[f64]>, mut arrived: impl FnMut(&[f64])) {
        let (mdp, xi, pairs) = (self.mdp, self.xi, self.mdp.n_pairs());
        for (t, sigma) in sigma.chunks_exact(pairs).enumerate() {
            let (d, change) = (&self.now, change.map(|c| &c[t * pairs..][..pairs]));
            parallel::blocks(mdp.first_pair(), &mut self.flow, |s, row| {
                let (range, free, d) = (mdp.pairs(s), free_mass(row.len(), xi), d[s]);
                let flows = row.iter_mut().zip(&sigma[range.clone()]);
                match change {
                    // one loop over each short row
                    Some(change) => flows
                        .zip(&change[range])
                        .for_each(|((x, p), c)| *x = d * (xi + free * p) + c),
                    None => flows.for_each(|(x, p)| *x = d * (xi + free * p)),
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

/// `v[s] = f(s, block of s in table)` for every state, on all threads where that pays.
fn each_state(
    mdp: &Mdp,
    v: &mut [f64],
    table: &mut [f64],
    f: impl Fn(usize, &mut [f64]) -> f64 + Sync,
) {
    let first = mdp.first_pair();
    let run = |from: usize, v: &mut [f64], table: &mut [f64]| {
        let base = first[from];
        for (s, v) in (from..).zip(v) {
            *v = f(s, &mut table[first[s] - base..first[s + 1] - base]);
        }
    };
    if mdp.kernel().nnz() + mdp.n_pairs() < SMALL {
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
    share(tasks.into_iter(), |(from, v, table)| run(from, v, table));
}
