//! Infinity by restarted primal-dual steps on the sparse linear program in kept mass.
//!
//! $$\min_{\pi \in \Delta_\xi,\, 0 \le k \le \zeta} \max_{\lambda, y, \rho} \; \sum_s \lambda_s \Big(1 - \sum_t k_{st}\Big) +
//!   \sum_t y_t \Big(\sum_s k_{st} - 1\Big) + \sum_{st} \rho_{st} (k_{st} - M_{st}(\pi))$$
//!
//! with $\lambda$ in the simplex, $0 \le y \le 1$ and $0 \le \rho \le 1$ (an optimal dual has $y, \rho \le \max
//! \lambda$).

use super::saddle::{Iteration, Saddle};
use super::{Limits, Outcome, sharing};
use crate::formulation::infinity::{DualPoint, bound, objective, repair};
use crate::formulation::support::Support;
use crate::formulation::transport::Block;
use crate::formulation::{Problem, simplex};
use crate::model::{Mdp, Policy};
use crate::parallel::{blocks, update};

/// States from which on primal-dual steps begin where sharing ended.
const LARGE: usize = 2_000;

struct Infinity<'a> {
    mdp: &'a Mdp,
    support: &'a Support,
    problem: Problem,
    /// Uniform share per pair, divided by the number of states.
    shares: Vec<f64>,
    blocks: &'a [Block],
    sigma_rows: f64,
    sigma_columns: Vec<f64>,
    sigma_caps: Vec<f64>,
    sigma_blocks: Vec<f64>,
    tau_policy: Vec<f64>,
    tau_kept: f64,
    pull: f64,
}

impl Infinity<'_> {
    fn n(&self) -> usize {
        self.mdp.n_states()
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
            let uniform = 1.0 / row.len() as f64;
            let length = step * self.tau_policy[s];
            let shrink = 1.0 / (1.0 + length * self.pull);
            for (r, p) in (first[s]..).zip(row.iter_mut()) {
                *p = (x[r] - length * (gradient[r] - self.pull * uniform)) * shrink;
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
        for s in 0..self.n() {
            for r in self.mdp.pairs(s) {
                out[r] = v[r] * self.tau_policy[s];
            }
        }
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
        let policy: f64 = (0..self.n())
            .map(|s| {
                let sum: f64 = v[self.mdp.pairs(s)].iter().map(|x| x * x).sum();
                sum / self.tau_policy[s]
            })
            .sum();
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

/// Solves from a policy and, if given, `[rows, columns]` prices; adds blocks until the kept mass
/// can be completed. `pull` is the tie-break's weight; with one the run goes on until the
/// iterates stand still.
pub(super) fn solve(
    mdp: &Mdp,
    problem: &Problem,
    limits: &mut Limits<'_>,
    start: &Policy,
    dual: Option<&[f64]>,
    pull: f64,
) -> Outcome {
    let support = Support::filled(mdp);
    let mut blocks: Vec<Block> = Vec::new();
    // with a cap every look would take a maximum flow
    let shared = (mdp.n_states() >= sharing::FEWEST && problem.zeta >= 1.0 && pull == 0.0)
        .then(|| sharing::solve(mdp, problem, &support, limits, start));
    let (start, dual) = match &shared {
        Some((found, true)) => return found.clone(),
        // on small models the uniform policy is the better start for primal-dual steps
        Some((found, false)) if dual.is_none() && mdp.n_states() >= LARGE => (
            &Policy::cleaned(mdp, found.policy.clone()),
            Some(found.dual.as_slice()),
        ),
        _ => (start, dual),
    };
    loop {
        let run = with_blocks(mdp, problem, &support, &blocks, limits, start, dual, pull);
        match run.block.filter(|b| !blocks.contains(b)) {
            Some(block) => blocks.push(block),
            None => return run.outcome,
        }
    }
}

/// A run's result, with the block it violates if there is one.
struct Run {
    outcome: Outcome,
    block: Option<Block>,
}

#[allow(clippy::too_many_arguments)]
fn with_blocks(
    mdp: &Mdp,
    problem: &Problem,
    support: &Support,
    blocks: &[Block],
    limits: &mut Limits<'_>,
    start: &Policy,
    dual: Option<&[f64]>,
    pull: f64,
) -> Run {
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
    let mut tau_policy = vec![1.0; n];
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
        tau_policy[s] = 1.0;
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
    let saddle = Infinity {
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
        sigma_blocks: block_sizes.collect(),
        tau_policy,
        tau_kept: 1.0 / (3.0 + blocks.len() as f64),
        pull,
    };
    let mut policy = start.probabilities().to_vec();
    for s in 0..n {
        simplex::project(&mut policy[mdp.pairs(s)], problem.xi);
    }
    let mut mass = vec![0.0; support.len()];
    let mut spread = vec![0.0; n];
    full_mass(mdp, support, &policy, &mut mass, &mut spread);
    let mut kept = mass.clone();
    repair(support, blocks, problem.zeta, &mass, &mut kept);
    let x = [policy, kept.clone()].concat();
    let (columns, caps, first_block) = saddle.places();
    let mut y = vec![0.0; first_block + blocks.len()];
    y[..columns].fill(1.0 / n as f64);
    if let Some(dual) = dual.filter(|d| d.len() == 2 * n) {
        y[..caps].copy_from_slice(dual);
        for s in 0..n {
            for k in support.offsets[s]..support.offsets[s + 1] {
                let t = support.columns[k] as usize;
                y[caps + k] = (y[s] - y[columns + t]).clamp(0.0, 1.0);
            }
        }
    }
    let mut iteration = Iteration::new(&saddle, x, y, 0.5);
    let mut best = Outcome {
        policy: Vec::new(),
        objective: f64::INFINITY,
        bound: 0.0,
        dual: vec![0.0; 2 * n],
        iterations: 0,
    };
    let mut violated = None;
    let mut best_kept = kept.clone();
    loop {
        for _ in 0..40 {
            iteration.advance(&saddle);
        }
        let policy = &iteration.x[..mdp.n_pairs()];
        full_mass(mdp, support, policy, &mut mass, &mut spread);
        kept.copy_from_slice(&iteration.x[mdp.n_pairs()..]);
        repair(support, blocks, problem.zeta, &mass, &mut kept);
        let worst = 2.0
            * support
                .offsets
                .windows(2)
                .map(|w| 1.0 - kept[w[0]..w[1]].iter().sum::<f64>())
                .fold(0.0, f64::max);
        if worst < best.objective || pull > 0.0 {
            best.objective = worst;
            best.policy = policy.to_vec();
            best_kept.copy_from_slice(&kept);
        }
        let point = DualPoint {
            rows: iteration.y[..columns].to_vec(),
            columns: iteration.y[columns..caps].to_vec(),
            caps: if problem.zeta < 1.0 {
                iteration.y[caps..first_block].to_vec()
            } else {
                Vec::new()
            },
            blocks: blocks
                .iter()
                .cloned()
                .zip(iteration.y[first_block..].iter().copied())
                .collect(),
        };
        let proven = bound(mdp, support, problem.xi, problem.zeta, &point);
        if proven > best.bound {
            best.bound = proven;
            best.dual.copy_from_slice(&iteration.y[..caps]);
        }
        best.iterations = iteration.total();
        let stop = if pull > 0.0 {
            iteration.residual < 1e-11 || iteration.total() >= 200_000
        } else {
            limits.reached(&best)
        };
        if stop {
            // only now is it worth asking whether the kept mass can be completed
            if problem.zeta < 1.0 {
                let (value, block) = objective(support, problem.zeta, &best_kept);
                best.objective = best.objective.max(value);
                violated = block;
            }
            break;
        }
    }
    Run {
        outcome: best,
        block: violated,
    }
}

/// $M(\pi)$ on the slots of a [filled](Support::filled) pattern, uniform shares included.
pub(super) fn full_mass(
    mdp: &Mdp,
    support: &Support,
    policy: &[f64],
    mass: &mut [f64],
    spread: &mut [f64],
) {
    support.assemble(mdp, policy, mass, spread);
    if mdp.kernel().has_spread() {
        let n = mdp.n_states() as f64;
        for (s, share) in spread.iter().enumerate() {
            for m in &mut mass[support.offsets[s]..support.offsets[s + 1]] {
                *m += share / n;
            }
        }
    }
}
