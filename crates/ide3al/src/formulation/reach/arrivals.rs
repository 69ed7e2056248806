//! What no policy can exceed, by the first arrivals.
//!
//! Let $y_{jt} = P(\tau_j = t)$ under any policy, with memory or without. It is at most the
//! probability of an arrival in $j$ from another state at $t$ (or of beginning there);
//! $\sum_t y_{jt} \le 1$, since a first visit happens once; and $\sum_t g^t y_{jt} \le V_j$. With
//! multipliers $\lambda \ge 0$ and $0 \le \nu \le w$ of the last two,
//!
//! $$\operatorname{seen}_T \le \sum_j \lambda_j + \sum_j \nu_j V_j + \max_\pi E \sum_t
//! \big(g^t (w_j - \nu_j) - \lambda_j\big)^+ [x_t = j \text{ is entered from another state}] ,$$
//!
//! a finite-horizon problem: nothing is paid once $g^t w_j \le \lambda_j$. For mean hitting times,
//! with $\sum_t y_{jt} = 1$, it is
//! $\sum_j w_j E \tau_j \ge \sum_j \lambda_j - \max_\pi E \sum_t (\lambda_j - w_j t)^+ [\dots]$.
//! Steps of one duration and no hubs only.

use super::super::simplex;
use super::world::World;

/// Evaluates the bound at one pair of multipliers after another.
#[derive(Debug, Clone)]
pub struct Arrivals<'a> {
    world: &'a World,
    /// Times looked at: $0, \dots, H$.
    horizon: usize,
    /// $g^t$, or $t$.
    clock: Vec<f64>,
    /// What an arrival is paid, by time and state.
    paid: Vec<f64>,
    /// What is still to come after time $t$, by time and state.
    later: Vec<f64>,
    q: Vec<f64>,
    p: Vec<f64>,
}

impl<'a> Arrivals<'a> {
    /// For arrivals up to a horizon; `None` where the bound does not apply.
    pub fn new(world: &'a World, horizon: usize) -> Option<Self> {
        if world.has_times || world.has_hubs {
            return None;
        }
        let n = world.n_states();
        let clock = (0..=horizon).map(|t| {
            if world.is_hitting() {
                t as f64
            } else {
                world.discount().powf(t as f64)
            }
        });
        let most = (0..n).map(|s| world.pairs(s).len()).max().unwrap_or(0);
        Some(Arrivals {
            world,
            horizon,
            clock: clock.collect(),
            paid: vec![0.0; (horizon + 1) * n],
            later: vec![0.0; (horizon + 1) * n],
            q: vec![0.0; most],
            p: vec![0.0; most],
        })
    }

    /// Least (share seen) or largest (hitting times) $\lambda_j$ for which nothing is paid after
    /// the horizon.
    pub fn limit(&self, state: usize) -> f64 {
        let w = self.world.weights[state];
        let end = (self.horizon + 1) as f64;
        if self.world.is_hitting() {
            w * end
        } else {
            w * self.world.discount().powf(end)
        }
    }

    /// The bound at $(\lambda, \nu)$; `single` are the $V$. For hitting times $\nu$ and $V$ may be
    /// empty. With a temperature above zero the maximum over actions is a soft one, never below the
    /// hard one: a worse bound, but a smooth one. With gradients, the derivatives by $\lambda$ and
    /// $\nu$.
    pub fn value(
        &mut self,
        (lambda, nu): (&[f64], &[f64]),
        single: &[f64],
        temperature: f64,
        gradients: Option<(&mut [f64], &mut [f64])>,
    ) -> f64 {
        let world = self.world;
        let n = world.n_states();
        self.pay(lambda, nu);
        let (mut q, mut p) = (std::mem::take(&mut self.q), std::mem::take(&mut self.p));
        self.later[self.horizon * n..].fill(0.0);
        for t in (0..self.horizon).rev() {
            for s in 0..n {
                let k = self.gains(s, t, &mut q);
                self.later[t * n + s] =
                    simplex::soft_maximum(&q[..k], world.xi, temperature, &mut p[..k]);
            }
        }
        let worth = (0..n).map(|j| world.origin[j] * (self.later[j] + self.paid[j]));
        let worth: f64 = worth.sum();
        let sum: f64 = lambda.iter().sum();
        let value = if world.is_hitting() {
            sum - worth
        } else {
            let singles: f64 = nu.iter().zip(single).map(|(nu, v)| nu * v).sum();
            sum + singles + worth
        };
        if let Some((by_lambda, by_nu)) = gradients {
            by_lambda.fill(1.0);
            by_nu.copy_from_slice(&single[..by_nu.len()]);
            let mut now = world.origin[..n].to_vec();
            let mut arrived = now.clone();
            let mut next = vec![0.0; n];
            for t in 0..=self.horizon {
                for j in (0..n).filter(|j| self.paid[t * n + *j] > 0.0) {
                    by_lambda[j] -= arrived[j];
                    if let Some(slope) = by_nu.get_mut(j) {
                        *slope -= self.clock[t] * arrived[j];
                    }
                }
                if t == self.horizon {
                    break;
                }
                next.fill(0.0);
                arrived.fill(0.0);
                for s in (0..n).filter(|s| now[*s] > 0.0) {
                    let k = self.gains(s, t, &mut q);
                    simplex::soft_maximum(&q[..k], world.xi, temperature, &mut p[..k]);
                    for (a, pair) in world.pairs(s).enumerate() {
                        let mass = now[s] * p[a];
                        let range = world.offsets[pair]..world.offsets[pair + 1];
                        for &(e, share) in &world.entries[range] {
                            let to = world.columns[e as usize] as usize;
                            next[to] += mass * share;
                            if to != s {
                                arrived[to] += mass * share;
                            }
                        }
                    }
                }
                std::mem::swap(&mut now, &mut next);
            }
        }
        (self.q, self.p) = (q, p);
        value
    }

    fn pay(&mut self, lambda: &[f64], nu: &[f64]) {
        let n = self.world.n_states();
        for (t, clock) in self.clock.iter().enumerate() {
            for j in 0..n {
                let w = self.world.weights[j];
                let surplus = if self.world.is_hitting() {
                    lambda[j] - w * clock
                } else {
                    clock * (w - nu.get(j).copied().unwrap_or(0.0)) - lambda[j]
                };
                self.paid[t * n + j] = surplus.max(0.0);
            }
        }
    }

    /// What each action of a state at time $t$ leads to; returns their number.
    fn gains(&self, s: usize, t: usize, q: &mut [f64]) -> usize {
        let world = self.world;
        let n = world.n_states();
        let (later, paid) = (&self.later[(t + 1) * n..], &self.paid[(t + 1) * n..]);
        let pairs = world.pairs(s);
        for (q, pair) in q.iter_mut().zip(pairs.clone()) {
            let entries = &world.entries[world.offsets[pair]..world.offsets[pair + 1]];
            let gain = |&(e, share): &(u32, f64)| {
                let to = world.columns[e as usize] as usize;
                let here = if to == s { 0.0 } else { paid[to] };
                share * (later[to] + here)
            };
            *q = entries.iter().map(gain).sum();
        }
        pairs.len()
    }
}
