//! Infinity by restarted primal-dual steps on the sparse linear program in kept mass.
//!
//! $$\min_{\pi \in \Delta_\xi,\, 0 \le k \le \zeta} \max_{\lambda, y, \rho, \mu} \; \sum_s \lambda_s \Big(1 - \sum_t k_{st}\Big) +
//!   \sum_t y_t \Big(\sum_s k_{st} - 1\Big) + \sum_{st} \rho_{st} (k_{st} - M_{st}(\pi)) + \sum_c \mu_c \Big(\sum_{R_c \times C_c} k_{st} - b_c\Big)$$
//!
//! with $\lambda$ in the simplex and $y$, $\rho$, $\mu$ between zero and one (an optimal dual has none above $\max
//! \lambda$). The primal vector is $(\pi, k)$, the dual one $(\lambda, y, \rho, \mu)$. Blocks $c$ are added as they are met.

use super::equal_shares::EqualShares;
use super::primal_dual::{Judged, PrimalDual, begin, policy_step};
use crate::formulation::infinity::{Block, DualPoint, bound, full_mass, repair};
use crate::formulation::support::Support;
use crate::formulation::{Problem, simplex};
use crate::linalg::parallel::update;
use crate::model::Mdp;
use crate::solve::Solution;
use crate::solve::driver::{Candidate, Driver, Step};
use crate::solve::methods::halpern_primal_dual::{Iteration, Saddle};
use crate::solve::value::completion::objective;

/// States from which on rows are first asked to share what is missing equally, by trial.
const SHARED: usize = 64;

struct Infinity<'a> {
    mdp: &'a Mdp,
    support: &'a Support,
    problem: Problem,
    /// Uniform share per pair, divided by the number of states.
    shares: Vec<f64>,
    blocks: Vec<Block>,
    /// The slots of each block.
    inside: Vec<Vec<usize>>,
    /// Primal step of the kept mass (that of the policy is one) and dual steps.
    tau_kept: f64,
    sigma: Vec<f64>,
}

impl<'a> Infinity<'a> {
    fn new(mdp: &'a Mdp, problem: &Problem, support: &'a Support, blocks: Vec<Block>) -> Self {
        let n = mdp.n_states();
        let kernel = mdp.kernel();
        let shares: Vec<f64> = (0..mdp.n_pairs())
            .map(|r| kernel.spread_of(r) / n as f64)
            .collect();
        let inside: Vec<Vec<usize>> = blocks
            .iter()
            .map(|block| {
                (0..n)
                    .filter(|s| block.rows[*s])
                    .flat_map(|s| support.offsets[s]..support.offsets[s + 1])
                    .filter(|k| block.columns[support.columns[*k] as usize])
                    .collect()
            })
            .collect();
        // Pock and Chambolle's steps: one over the absolute row and column sums of K. A kept mass
        // appears in a row, a column, a cap and every block; the policy only in caps.
        let mut column_counts = vec![0.0; n];
        let mut longest = 1usize;
        let mut cap_sums = vec![1.0; support.len()];
        for s in 0..n {
            let slots = support.offsets[s]..support.offsets[s + 1];
            longest = longest.max(slots.len());
            let share: f64 = shares[mdp.pairs(s)].iter().sum();
            for k in slots {
                column_counts[support.columns[k] as usize] += 1.0;
                cap_sums[k] += share;
            }
            for pair in mdp.pairs(s) {
                for e in kernel.offsets()[pair]..kernel.offsets()[pair + 1] {
                    cap_sums[support.slots[e] as usize] += kernel.values()[e];
                }
            }
        }
        let columns = column_counts.iter().map(|c| 1.0 / f64::max(*c, 1.0));
        Infinity {
            mdp,
            support,
            problem: *problem,
            shares,
            tau_kept: 1.0 / (3.0 + blocks.len() as f64),
            sigma: std::iter::repeat_n(1.0 / longest as f64, n)
                .chain(columns)
                .chain(cap_sums.iter().map(|c| 1.0 / c))
                .chain(inside.iter().map(|slots| 1.0 / slots.len().max(1) as f64))
                .collect(),
            blocks,
            inside,
        }
    }

    /// Where columns, caps and blocks begin in the dual vector; rows come first.
    fn places(&self) -> (usize, usize, usize) {
        let n = self.mdp.n_states();
        (n, 2 * n, 2 * n + self.support.len())
    }

    /// A primal and a dual point from a policy, of which as much is kept as can be, and `[rows, columns]` prices.
    fn start(&self, policy: &[f64], dual: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let (support, n) = (self.support, self.mdp.n_states());
        let mut mass = vec![0.0; support.len()];
        full_mass(self.mdp, support, policy, &mut mass);
        let mut kept = mass.clone();
        repair(support, &self.blocks, self.problem.zeta, &mass, &mut kept);
        let (columns, caps, _) = self.places();
        let mut y = vec![0.0; self.sigma.len()];
        y[..columns].fill(1.0 / n as f64);
        if dual.len() == 2 * n {
            y[..caps].copy_from_slice(dual);
            for s in 0..n {
                for k in support.offsets[s]..support.offsets[s + 1] {
                    let t = support.columns[k] as usize;
                    y[caps + k] = (y[s] - y[columns + t]).clamp(0.0, 1.0);
                }
            }
        }
        ([policy, &kept].concat(), y)
    }
}

impl Saddle for Infinity<'_> {
    fn primal_gradient(&self, dual: &[f64], out: &mut [f64]) {
        let (columns, caps, first_block) = self.places();
        let (kernel, support) = (self.mdp.kernel(), self.support);
        let (policy, kept) = out.split_at_mut(self.mdp.n_pairs());
        for s in 0..columns {
            let mut all = 0.0;
            for k in support.offsets[s]..support.offsets[s + 1] {
                let t = support.columns[k] as usize;
                kept[k] = dual[columns + t] - dual[s] + dual[caps + k];
                all += dual[caps + k];
            }
            for pair in self.mdp.pairs(s) {
                let mut sum = self.shares[pair] * all;
                for e in kernel.offsets()[pair]..kernel.offsets()[pair + 1] {
                    sum += kernel.values()[e] * dual[caps + support.slots[e] as usize];
                }
                policy[pair] = -sum;
            }
        }
        for (slots, price) in self.inside.iter().zip(&dual[first_block..]) {
            slots.iter().for_each(|k| kept[*k] += price);
        }
    }

    fn dual_gradient(&self, x: &[f64], out: &mut [f64]) {
        let (columns, caps, first_block) = self.places();
        let (kernel, support) = (self.mdp.kernel(), self.support);
        let (policy, kept) = x.split_at(self.mdp.n_pairs());
        out[columns..caps].fill(-1.0);
        for s in 0..columns {
            let pairs = self.mdp.pairs(s);
            let share: f64 = pairs.clone().map(|r| self.shares[r] * policy[r]).sum();
            let mut sum = 0.0;
            for k in support.offsets[s]..support.offsets[s + 1] {
                sum += kept[k];
                out[columns + support.columns[k] as usize] += kept[k];
                out[caps + k] = kept[k] - share;
            }
            out[s] = 1.0 - sum;
            for pair in pairs {
                for e in kernel.offsets()[pair]..kernel.offsets()[pair + 1] {
                    out[caps + support.slots[e] as usize] -= kernel.values()[e] * policy[pair];
                }
            }
        }
        for (b, (block, slots)) in self.blocks.iter().zip(&self.inside).enumerate() {
            let held = |sum: f64, k: &usize| sum + kept[*k];
            out[first_block + b] = slots.iter().fold(-block.right, held);
        }
    }

    fn primal_step(&self, x: &[f64], gradient: &[f64], step: f64, out: &mut [f64]) {
        let base = self.mdp.n_pairs();
        let (policy, kept) = out.split_at_mut(base);
        policy_step(self.mdp, self.problem.xi, (x, gradient, step), policy);
        update(kept, |k, _| {
            let moved = x[base + k] - step * self.tau_kept * gradient[base + k];
            moved.clamp(0.0, self.problem.zeta)
        });
    }

    fn dual_step(&self, y: &[f64], gradient: &[f64], step: f64, out: &mut [f64]) {
        let (rows, others) = out.split_at_mut(self.mdp.n_states());
        let moved = |i: usize| y[i] + step * self.sigma[i] * gradient[i];
        update(rows, |s, _| moved(s));
        simplex::project(rows, 0.0);
        let first = rows.len();
        update(others, |i, _| moved(first + i).clamp(0.0, 1.0));
    }

    fn scale_primal(&self, v: &[f64], out: &mut [f64]) {
        let pairs = self.mdp.n_pairs();
        out[..pairs].copy_from_slice(&v[..pairs]);
        update(&mut out[pairs..], |k, _| v[pairs + k] * self.tau_kept);
    }

    fn scale_dual(&self, v: &[f64], out: &mut [f64]) {
        update(out, |i, _| v[i] * self.sigma[i]);
    }

    fn primal_norm(&self, v: &[f64]) -> f64 {
        let (policy, kept) = v.split_at(self.mdp.n_pairs());
        let squares = |v: &[f64]| v.iter().map(|x| x * x).sum::<f64>();
        squares(policy) + squares(kept) / self.tau_kept
    }

    fn dual_norm(&self, v: &[f64]) -> f64 {
        let (columns, caps, blocks) = self.places();
        let weighted = |from: usize, to: usize| -> f64 {
            let terms = v[from..to].iter().zip(&self.sigma[from..to]);
            terms.map(|(x, s)| x * x / s).sum()
        };
        // all rows have the same step
        v[..columns].iter().map(|x| x * x).sum::<f64>() / self.sigma[0]
            + weighted(columns, caps)
            + weighted(caps, blocks)
            + weighted(blocks, v.len())
    }
}

impl Judged for Infinity<'_> {
    /// A certificate costs as much as several steps, with a flow where $\zeta < 1$.
    const BETWEEN_LOOKS: usize = 40;

    fn judge(&mut self, iteration: &mut Iteration) -> Step {
        let (mdp, support, problem) = (self.mdp, self.support, self.problem);
        let (columns, caps, first_block) = self.places();
        let (policy, kept) = iteration.x.split_at(mdp.n_pairs());
        let (policy, mut kept) = (policy.to_vec(), kept.to_vec());
        let mut mass = vec![0.0; support.len()];
        full_mass(mdp, support, &policy, &mut mass);
        repair(support, &self.blocks, problem.zeta, &mass, &mut kept);
        let (value, block) = objective(support, problem.zeta, &kept);
        let y = &iteration.y;
        if let Some(block) = block.filter(|b| !self.blocks.contains(b)) {
            let mut blocks = std::mem::take(&mut self.blocks);
            blocks.push(block);
            *self = Infinity::new(mdp, &problem, support, blocks);
            let (x, y) = self.start(&policy, &y[..caps]);
            *iteration = begin(self, x, y);
            return Step::Going;
        }
        let prices = y[first_block..].iter().copied();
        let point = DualPoint {
            rows: y[..columns].to_vec(),
            columns: y[columns..caps].to_vec(),
            // without a cap below one the best prices follow from the others
            caps: if problem.zeta < 1.0 {
                y[caps..first_block].to_vec()
            } else {
                Vec::new()
            },
            blocks: self.blocks.iter().cloned().zip(prices).collect(),
        };
        Step::Offer(Candidate {
            policy,
            objective: value,
            bound: bound(mdp, support, problem.xi, problem.zeta, &point),
            dual: [point.rows, point.columns].concat(),
        })
    }
}

/// Solves from the best policy at hand: equal shares first where no cap asks for more than them, then
/// primal-dual steps.
pub(in crate::solve) fn solve(
    mdp: &Mdp,
    problem: &Problem,
    support: &Support,
    warm: Option<&Solution>,
    driver: &mut Driver<'_>,
) {
    if mdp.n_states() >= SHARED && problem.zeta >= 1.0 {
        let mut shares = EqualShares::new(mdp, problem, support, driver);
        if driver.run(&mut shares) || !driver.alive() {
            return;
        }
    }
    let best = driver.best();
    let (policy, dual) = match warm {
        Some(warm) if best.bound == 0.0 => (warm.policy.probabilities().to_vec(), &warm.dual),
        _ => (best.policy.clone(), &best.dual),
    };
    let policy = simplex::feasible(mdp, problem.xi, policy);
    let saddle = Infinity::new(mdp, problem, support, Vec::new());
    let (x, y) = saddle.start(&policy, dual);
    driver.run(&mut PrimalDual::from(saddle, x, y));
}
