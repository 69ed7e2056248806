//! Infinity by restarted primal-dual steps on the sparse linear program in kept mass.
//!
//! $$\min_{\pi \in \Delta_\xi,\, 0 \le k \le \zeta} \max_{\lambda, y, \rho} \; \sum_s \lambda_s \Big(1 - \sum_t k_{st}\Big) +
//!   \sum_t y_t \Big(\sum_s k_{st} - 1\Big) + \sum_{st} \rho_{st} (k_{st} - M_{st}(\pi))$$
//!
//! with $\lambda$ in the simplex, $0 \le y \le 1$ and $0 \le \rho \le 1$ (an optimal dual has $y, \rho \le \max
//! \lambda$).

use super::equal_shares::EqualShares;
use crate::formulation::infinity::Block;
use crate::formulation::infinity::{DualPoint, bound, full_mass, repair};
use crate::formulation::support::Support;
use crate::formulation::{Problem, simplex};
use crate::linalg::parallel::{blocks, update};
use crate::model::Mdp;
use crate::solve::Solution;
use crate::solve::driver::{Candidate, Driver, Method, Step};
use crate::solve::methods::halpern_primal_dual::{Iteration, Saddle};
use crate::solve::value::completion::objective;

/// Steps between two certificates.
const BETWEEN_LOOKS: usize = 40;
/// States from which on rows are first asked to share what is missing equally.
const SHARED: usize = 64;

struct Infinity<'a> {
    mdp: &'a Mdp,
    support: &'a Support,
    problem: Problem,
    /// Uniform share per pair, divided by the number of states.
    shares: Vec<f64>,
    blocks: Vec<Block>,
    sigma_rows: f64,
    sigma_columns: Vec<f64>,
    sigma_caps: Vec<f64>,
    sigma_blocks: Vec<f64>,
    tau_kept: f64,
}

impl<'a> Infinity<'a> {
    fn new(mdp: &'a Mdp, problem: &Problem, support: &'a Support, blocks: Vec<Block>) -> Self {
        let n = mdp.n_states();
        let kernel = mdp.kernel();
        let shares: Vec<f64> = (0..mdp.n_pairs())
            .map(|r| kernel.spread_of(r) / n as f64)
            .collect();
        // Pock and Chambolle's steps: one over the absolute row and column sums of K. A kept mass
        // appears in a row, a column, a cap and every block; the policy only in caps.
        let mut column_counts = vec![0.0; n];
        let mut longest = 1usize;
        let mut cap_sums = vec![1.0; support.len()];
        for s in 0..n {
            let slots = support.offsets[s]..support.offsets[s + 1];
            longest = longest.max(slots.len());
            for k in slots.clone() {
                column_counts[support.columns[k] as usize] += 1.0;
                cap_sums[k] += mdp.pairs(s).map(|r| shares[r]).sum::<f64>();
            }
            for pair in mdp.pairs(s) {
                for e in kernel.offsets()[pair]..kernel.offsets()[pair + 1] {
                    cap_sums[support.slots[e] as usize] += kernel.values()[e];
                }
            }
        }
        let block_sizes = blocks.iter().map(|block| {
            let inside: usize = (0..n)
                .filter(|s| block.rows[*s])
                .map(|s| {
                    support.columns[support.offsets[s]..support.offsets[s + 1]]
                        .iter()
                        .filter(|t| block.columns[**t as usize])
                        .count()
                })
                .sum();
            1.0 / (inside.max(1) as f64)
        });
        let sigma_blocks: Vec<f64> = block_sizes.collect();
        let tau_kept = 1.0 / (3.0 + blocks.len() as f64);
        Infinity {
            mdp,
            support,
            problem: *problem,
            shares,
            blocks,
            sigma_rows: 1.0 / longest as f64,
            sigma_columns: column_counts
                .iter()
                .map(|c| 1.0 / f64::max(*c, 1.0))
                .collect(),
            sigma_caps: cap_sums.iter().map(|c| 1.0 / c).collect(),
            sigma_blocks,
            tau_kept,
        }
    }

    fn n(&self) -> usize {
        self.mdp.n_states()
    }

    /// The steps' start from a policy and `[rows, columns]` prices; `mass` and `kept` are left with what the policy
    /// puts on the slots and what can be kept of it.
    fn begin(
        &self,
        policy: Vec<f64>,
        dual: &[f64],
        mass: &mut [f64],
        kept: &mut [f64],
    ) -> Iteration {
        let (support, n) = (self.support, self.n());
        full_mass(self.mdp, support, &policy, mass);
        kept.copy_from_slice(mass);
        repair(support, &self.blocks, self.problem.zeta, mass, kept);
        let x = [&policy[..], kept].concat();
        let (columns, caps, first_block) = self.places();
        let mut y = vec![0.0; first_block + self.blocks.len()];
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
        Iteration::new(self, x, y, 0.5)
    }

    /// Places of columns, caps and blocks in the dual vector (rows come first).
    fn places(&self) -> (usize, usize, usize) {
        let columns = self.n();
        let caps = columns + self.n();
        (columns, caps, caps + self.support.len())
    }
}

impl Saddle for Infinity<'_> {
    fn primal_gradient(&self, dual: &[f64], out: &mut [f64]) {
        let (columns, caps, blocks) = self.places();
        let kernel = self.mdp.kernel();
        let pairs = self.mdp.n_pairs();
        for s in 0..self.n() {
            let slots = self.support.offsets[s]..self.support.offsets[s + 1];
            let mut all = 0.0;
            for k in slots {
                let t = self.support.columns[k] as usize;
                out[pairs + k] = dual[columns + t] - dual[s] + dual[caps + k];
                all += dual[caps + k];
            }
            for pair in self.mdp.pairs(s) {
                let mut sum = self.shares[pair] * all;
                for e in kernel.offsets()[pair]..kernel.offsets()[pair + 1] {
                    sum += kernel.values()[e] * dual[caps + self.support.slots[e] as usize];
                }
                out[pair] = -sum;
            }
            for (b, block) in self.blocks.iter().enumerate() {
                if block.rows[s] {
                    for k in self.support.offsets[s]..self.support.offsets[s + 1] {
                        if block.columns[self.support.columns[k] as usize] {
                            out[pairs + k] += dual[blocks + b];
                        }
                    }
                }
            }
        }
    }

    fn dual_gradient(&self, x: &[f64], out: &mut [f64]) {
        let (columns, caps, blocks) = self.places();
        let kernel = self.mdp.kernel();
        let pairs = self.mdp.n_pairs();
        out[columns..caps].fill(-1.0);
        for (b, block) in self.blocks.iter().enumerate() {
            out[blocks + b] = -block.right;
        }
        for s in 0..self.n() {
            let slots = self.support.offsets[s]..self.support.offsets[s + 1];
            let share: f64 = self.mdp.pairs(s).map(|r| self.shares[r] * x[r]).sum();
            let mut sum = 0.0;
            for k in slots.clone() {
                let kept = x[pairs + k];
                sum += kept;
                out[columns + self.support.columns[k] as usize] += kept;
                out[caps + k] = kept - share;
            }
            out[s] = 1.0 - sum;
            for pair in self.mdp.pairs(s) {
                for e in kernel.offsets()[pair]..kernel.offsets()[pair + 1] {
                    out[caps + self.support.slots[e] as usize] -= kernel.values()[e] * x[pair];
                }
            }
            for (b, block) in self.blocks.iter().enumerate() {
                if block.rows[s] {
                    for k in slots.clone() {
                        if block.columns[self.support.columns[k] as usize] {
                            out[blocks + b] += x[pairs + k];
                        }
                    }
                }
            }
        }
    }

    fn primal_step(&self, x: &[f64], gradient: &[f64], step: f64, out: &mut [f64]) {
        let first = self.mdp.first_pair();
        let (policy, kept) = out.split_at_mut(self.mdp.n_pairs());
        blocks(first, policy, |s, row| {
            for (r, p) in (first[s]..).zip(row.iter_mut()) {
                *p = x[r] - step * gradient[r];
            }
            simplex::project(row, self.problem.xi);
        });
        let base = self.mdp.n_pairs();
        update(kept, |k, _| {
            let moved = x[base + k] - step * self.tau_kept * gradient[base + k];
            moved.clamp(0.0, self.problem.zeta)
        });
    }

    fn dual_step(&self, y: &[f64], gradient: &[f64], step: f64, out: &mut [f64]) {
        let (columns, caps, blocks) = self.places();
        for s in 0..columns {
            out[s] = y[s] + step * self.sigma_rows * gradient[s];
        }
        simplex::project(&mut out[..columns], 0.0);
        for t in columns..caps {
            out[t] = (y[t] + step * self.sigma_columns[t - columns] * gradient[t]).clamp(0.0, 1.0);
        }
        update(&mut out[caps..blocks], |k, _| {
            let moved = y[caps + k] + step * self.sigma_caps[k] * gradient[caps + k];
            moved.clamp(0.0, 1.0)
        });
        for b in blocks..y.len() {
            out[b] = (y[b] + step * self.sigma_blocks[b - blocks] * gradient[b]).clamp(0.0, 1.0);
        }
    }

    fn scale_primal(&self, v: &[f64], out: &mut [f64]) {
        let pairs = self.mdp.n_pairs();
        out[..pairs].copy_from_slice(&v[..pairs]);
        for r in pairs..v.len() {
            out[r] = v[r] * self.tau_kept;
        }
    }

    fn scale_dual(&self, v: &[f64], out: &mut [f64]) {
        let (columns, caps, blocks) = self.places();
        for i in 0..v.len() {
            out[i] = v[i]
                * if i < columns {
                    self.sigma_rows
                } else if i < caps {
                    self.sigma_columns[i - columns]
                } else if i < blocks {
                    self.sigma_caps[i - caps]
                } else {
                    self.sigma_blocks[i - blocks]
                };
        }
    }

    fn primal_norm(&self, v: &[f64]) -> f64 {
        let pairs = self.mdp.n_pairs();
        let policy: f64 = v[..pairs].iter().map(|x| x * x).sum();
        policy + v[pairs..].iter().map(|x| x * x).sum::<f64>() / self.tau_kept
    }

    fn dual_norm(&self, v: &[f64]) -> f64 {
        let (columns, caps, blocks) = self.places();
        let weighted =
            |v: &[f64], sigma: &[f64]| -> f64 { v.iter().zip(sigma).map(|(x, s)| x * x / s).sum() };
        v[..columns].iter().map(|x| x * x).sum::<f64>() / self.sigma_rows
            + weighted(&v[columns..caps], &self.sigma_columns)
            + weighted(&v[caps..blocks], &self.sigma_caps)
            + weighted(&v[blocks..], &self.sigma_blocks)
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
    let mut method = PrimalDual::new(mdp, problem, support, warm, driver);
    driver.run(&mut method);
}

/// The steps, with what is needed to judge them.
struct PrimalDual<'a> {
    saddle: Infinity<'a>,
    iteration: Iteration,
    mass: Vec<f64>,
    kept: Vec<f64>,
}

impl<'a> PrimalDual<'a> {
    fn new(
        mdp: &'a Mdp,
        problem: &Problem,
        support: &'a Support,
        warm: Option<&Solution>,
        driver: &Driver<'_>,
    ) -> Self {
        let best = driver.best();
        let (policy, dual) = match warm {
            Some(warm) if best.bound == 0.0 => (warm.policy.probabilities().to_vec(), &warm.dual),
            _ => (best.policy.clone(), &best.dual),
        };
        let policy = simplex::feasible(mdp, problem.xi, policy);
        let saddle = Infinity::new(mdp, problem, support, Vec::new());
        let (mut mass, mut kept) = (vec![0.0; support.len()], vec![0.0; support.len()]);
        PrimalDual {
            iteration: saddle.begin(policy, dual, &mut mass, &mut kept),
            mass,
            kept,
            saddle,
        }
    }
}

impl Method for PrimalDual<'_> {
    fn name(&self) -> &'static str {
        "primal-dual"
    }

    fn step(&mut self, driver: &mut Driver<'_>) -> Step {
        for _ in 0..BETWEEN_LOOKS {
            if !driver.alive() {
                break;
            }
            self.iteration.advance(&self.saddle);
        }
        driver.count(BETWEEN_LOOKS - 1);
        let saddle = &self.saddle;
        let (mdp, support, problem) = (saddle.mdp, saddle.support, &saddle.problem.clone());
        let (policy, kept) = self.iteration.x.split_at(mdp.n_pairs());
        full_mass(mdp, support, policy, &mut self.mass);
        self.kept.copy_from_slice(kept);
        repair(
            support,
            &saddle.blocks,
            problem.zeta,
            &self.mass,
            &mut self.kept,
        );
        let (columns, caps, first_block) = saddle.places();
        let y = &self.iteration.y;
        let prices = y[first_block..].iter().copied();
        let point = DualPoint {
            rows: y[..columns].to_vec(),
            columns: y[columns..caps].to_vec(),
            caps: if problem.zeta < 1.0 {
                y[caps..first_block].to_vec()
            } else {
                Vec::new()
            },
            blocks: saddle.blocks.iter().cloned().zip(prices).collect(),
        };
        let proven = bound(mdp, support, problem.xi, problem.zeta, &point);
        let (value, block) = objective(support, problem.zeta, &self.kept);
        let policy = policy.to_vec();
        if let Some(block) = block.filter(|b| !saddle.blocks.contains(b)) {
            let mut blocks = self.saddle.blocks.clone();
            blocks.push(block);
            let dual = y[..caps].to_vec();
            self.saddle = Infinity::new(mdp, problem, support, blocks);
            let (mass, kept) = (&mut self.mass, &mut self.kept);
            self.iteration = self.saddle.begin(policy, &dual, mass, kept);
            return Step::Going;
        }
        Step::Offer(Candidate {
            policy,
            objective: value,
            bound: proven,
            dual: [point.rows, point.columns].concat(),
        })
    }
}
