//! The occupancies of a model: what can be visited for ever, and what no policy exceeds.
//!
//! Pairs that no stationary distribution visits are left out, and so are those that must not be
//! visited (of states with a target of zero, or that a limit without slack forbids). What remains,
//! *the part*, has occupancies with every pair positive: without restarts it is a union of
//! [components](super::reduction), with them what the start reaches.
//!
//! States whose action probabilities $\xi$ fixes ($A_s \xi = 1$) have one pair in the part, which
//! stands for all of theirs.
//!
//! *One certificate.* For any potentials $V$ and prices $y \ge 0$ of the limits, every occupancy
//! satisfies
//!
//! $$\langle r, \omega \rangle \le L(r, V, y) = \max_s \max_{p \in \Delta_\xi} p \cdot \Big(r - \sum_j y_j c_j + P_\rho V\Big)_s - V(s)
//!   + \sum_j y_j b_j ,$$
//!
//! because $\langle P_\rho V, \omega \rangle = \langle V, d \rangle$ and
//! $\langle c_j, \omega \rangle \le b_j$. A [utility](super::utility) turns that into a bound on
//! its value.

use super::occupancy_spec::Limit;
use super::reduction::end_components::{avoiding, end_components};
use super::reduction::{ReducedModel, visited};
use super::utility::Conjugate;
use super::{episode, simplex};
use crate::chain::Chain;
use crate::chain::stationary::long_run;
use crate::model::{Kernel, Mdp};

/// The part of a model that occupancies can live on.
#[derive(Debug, Clone)]
pub struct Occupancies {
    part: ReducedModel,
    xi: f64,
    restart: f64,
    component: Vec<u32>,
}

impl Occupancies {
    /// The part of a model on which only `allowed` pairs are played; nothing if none can be visited
    /// for ever. With restarts the start is that of the model.
    pub fn new(mdp: &Mdp, xi: f64, restart: f64, allowed: Vec<bool>) -> Option<Self> {
        let (allowed, component) = if restart > 0.0 {
            let allowed = reached(mdp, xi, restart, allowed)?;
            (allowed, vec![0; mdp.n_states()])
        } else {
            end_components(mdp, xi, allowed)
        };
        let states: Vec<usize> = visited(mdp, &allowed).collect();
        if states.is_empty() {
            return None;
        }
        Some(Occupancies {
            component: states.iter().map(|s| component[*s]).collect(),
            part: ReducedModel::of_pairs(mdp, &allowed, states, (xi, restart)),
            xi,
            restart,
        })
    }

    /// The part as a model.
    pub fn mdp(&self) -> &Mdp {
        &self.part.mdp
    }

    /// Least probability of every action.
    pub fn xi(&self) -> f64 {
        self.xi
    }

    /// $\rho$.
    pub fn restart(&self) -> f64 {
        self.restart
    }

    /// The states of the whole model that are visited.
    pub fn states(&self) -> &[usize] {
        &self.part.states
    }

    /// Component of each state of the part; without restarts occupancies can be mixed between
    /// components at will.
    pub fn component(&self) -> &[u32] {
        &self.component
    }

    /// How many components there are.
    pub fn components(&self) -> usize {
        let mut components = self.component.clone();
        components.sort_unstable();
        components.dedup();
        components.len()
    }

    /// The part with the way back to the whole model.
    pub fn reduced(&self) -> &ReducedModel {
        &self.part
    }

    /// Whether a pair of the whole model is visited.
    pub fn visited(&self, n_pairs: usize) -> Vec<bool> {
        let mut visited = vec![false; n_pairs];
        self.part.pairs().iter().for_each(|p| visited[*p] = true);
        visited
    }

    /// Limits on the part.
    pub fn limits(&self, limits: &[Limit]) -> Vec<Limit> {
        let within = |limit: &Limit| Limit {
            cost: self.part.means(&limit.cost),
            budget: limit.budget,
        };
        limits.iter().map(within).collect()
    }

    /// The occupancy of a policy of the part. Where its chain has several recurrent classes they
    /// share the mass as it is when the process starts from `near`.
    pub fn of_policy(&self, policy: &[f64], near: &[f64]) -> Vec<f64> {
        let mdp = self.mdp();
        let mixed = mdp.mix(policy);
        let d = if self.restart >= 1.0 {
            mdp.start().to_vec()
        } else if self.restart > 0.0 {
            self.restarted(&mixed)
        } else {
            let total: f64 = near.iter().sum();
            let start = near.iter().map(|x| x / total).collect();
            long_run(&Chain::from_parts(mixed, start)).distribution
        };
        let mut omega = policy.to_vec();
        for (s, d) in d.iter().enumerate() {
            omega[mdp.pairs(s)].iter_mut().for_each(|x| *x *= d);
        }
        omega
    }

    /// The stationary distribution with restarts: one more state leads to the start, and every
    /// state to it.
    fn restarted(&self, mixed: &Kernel) -> Vec<f64> {
        let n = self.part.mdp.n_states();
        let stay = 1.0 - self.restart;
        let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for s in 0..n {
            let row = mixed.row(s);
            // as a uniform share it would lead to the additional state, too: it is written out
            let share = stay * row.spread / n as f64;
            if share > 0.0 {
                indices.extend(0..n as u32);
                let dense = values.len();
                values.resize(dense + n, share);
                row.entries()
                    .for_each(|(t, p)| values[dense + t] += stay * p);
            } else {
                indices.extend_from_slice(row.indices);
                values.extend(row.values.iter().map(|p| stay * p));
            }
            indices.push(n as u32);
            values.push(self.restart);
            offsets.push(indices.len());
        }
        for (t, p) in self.part.mdp.start().iter().enumerate() {
            if *p > 0.0 {
                indices.push(t as u32);
                values.push(*p);
            }
        }
        offsets.push(indices.len());
        let kernel = Kernel::from_raw(n + 1, offsets, indices, values, Vec::new());
        let even = vec![1.0 / (n + 1) as f64; n + 1];
        let mut d = long_run(&Chain::from_parts(kernel, even)).distribution;
        d.truncate(n);
        let total: f64 = d.iter().sum();
        d.iter_mut().for_each(|x| *x /= total);
        d
    }

    /// $P_\rho V - V - \sum_j y_j c_j$ per pair.
    pub fn advantage(&self, limits: &[Limit], v: &[f64], prices: &[f64], out: &mut [f64]) {
        let mdp = self.mdp();
        expected_gains(mdp, v, out);
        if self.restart > 0.0 {
            let base = v[0];
            let started: f64 = mdp.start().iter().zip(v).map(|(p, v)| p * (v - base)).sum();
            for (s, v) in v.iter().enumerate() {
                for x in &mut out[mdp.pairs(s)] {
                    *x = (1.0 - self.restart) * *x + self.restart * (started - (v - base));
                }
            }
        }
        for (limit, y) in limits.iter().zip(prices) {
            for (x, c) in out.iter_mut().zip(&limit.cost) {
                *x -= y * c;
            }
        }
    }

    /// $L$ of the [module](self) without the budgets: no occupancy has a larger
    /// $\langle r, \omega \rangle - \sum_j y_j \langle c_j, \omega \rangle$. `advantage` is that of
    /// $V$ and $y$.
    pub fn level(&self, advantage: &[f64], r: &[f64]) -> f64 {
        let of = |s: usize| {
            let row = self.part.mdp.pairs(s).map(|pair| advantage[pair] + r[pair]);
            simplex::support(row, self.xi)
        };
        // a state whose value is no number proves nothing
        let proven = |x: f64| if x.is_nan() { f64::INFINITY } else { x };
        let states = (0..self.part.mdp.n_states()).map(|s| proven(of(s)));
        states.fold(f64::NEG_INFINITY, f64::max)
    }

    /// What `(r, V, y)` proves of a utility of the part: no policy that keeps to the limits has
    /// more. Negative prices count as zero.
    pub fn bound(
        &self,
        utility: &dyn Conjugate,
        limits: &[Limit],
        r: &[f64],
        v: &[f64],
        prices: &[f64],
    ) -> f64 {
        let prices: Vec<f64> = prices.iter().map(|y| y.max(0.0)).collect();
        let mut advantage = vec![0.0; self.part.mdp.n_pairs()];
        self.advantage(limits, v, &prices, &mut advantage);
        let budgets = limits.iter().zip(&prices).map(|(l, y)| l.budget * y).sum();
        utility.bound(self, &advantage, budgets, r)
    }
}

/// $(P V)(s,a) - V(s)$ per pair. Only differences of $V$ are formed: a constant in it means
/// nothing, and may be large.
pub(super) fn expected_gains(mdp: &Mdp, v: &[f64], out: &mut [f64]) {
    let mut state_of = vec![0u32; mdp.n_pairs()];
    for s in 0..mdp.n_states() {
        state_of[mdp.pairs(s)].fill(s as u32);
    }
    let here = |pair: usize| v[state_of[pair] as usize];
    mdp.kernel().times_relative(v, &here, out);
}

/// The pairs that are played when the process starts over with probability `restart` from the
/// model's start and only those `allowed` may be played; nothing if that cannot be.
fn reached(mdp: &Mdp, xi: f64, restart: f64, allowed: Vec<bool>) -> Option<Vec<bool>> {
    // with a restart at every step it does not matter where pairs lead
    let follows = restart < 1.0;
    let mut allowed = if follows {
        avoiding(mdp, xi, allowed)
    } else {
        allowed
    };
    let all_needed = xi > 0.0;
    for s in 0..mdp.n_states() {
        let mut here = mdp.pairs(s).map(|pair| allowed[pair]);
        let plays = if all_needed {
            here.all(|a| a)
        } else {
            here.any(|a| a)
        };
        if !plays {
            if mdp.start()[s] > 0.0 {
                return None;
            }
            allowed[mdp.pairs(s)].fill(false);
        }
    }
    let steps = if follows { usize::MAX } else { 1 };
    let seen = episode::reached_by(mdp, steps, |pair| allowed[pair]);
    for s in (0..mdp.n_states()).filter(|s| !seen[*s]) {
        allowed[mdp.pairs(s)].fill(false);
    }
    Some(allowed)
}

/// A dual point, up to a common factor where the utility's bound does not depend on one.
pub(crate) struct Dual {
    pub(crate) r: Vec<f64>,
    pub(crate) v: Vec<f64>,
    pub(crate) prices: Vec<f64>,
    /// What the prices are to be multiplied by to be in the units of the objective.
    pub(crate) price_scale: f64,
}
