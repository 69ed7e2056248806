//! Infinity by restarted primal-dual steps on the sparse linear program in kept mass.
//!
//! $$\min_{\pi \in \Delta_\xi,\, 0 \le k \le \zeta} \max_{\lambda, y, \rho, \mu} \; \sum_s \lambda_s \Big(1 - \sum_t k_{st}\Big) +
//!   \sum_t y_t \Big(\sum_s k_{st} - 1\Big) + \sum_{st} \rho_{st} (k_{st} - M_{st}(\pi)) + \sum_c
//!   \mu_c \Big(\sum_{R_c \times C_c} k_{st} - b_c\Big)$$
//!
//! with $\lambda$ in the simplex and $y$, $\rho$, $\mu$ between zero and one (an optimal dual has
//! none above $\max \lambda$). The primal vector is $(\pi, k)$, the dual one
//! $(\lambda, y, \rho, \mu)$. Blocks $c$ are added as they are met.

use crate::formulation::infinity::{Block, DualPoint, bound, full_mass, repair};
use crate::formulation::support::Support;
use crate::formulation::{Problem, simplex};
use crate::model::Mdp;
use crate::solve::Solution;
use crate::solve::birkhoff::completion::objective_while;
use crate::solve::distance::first_order::{
    BALANCE, CertifiedSaddlePoint, PrimalDual, project_policy,
};
use crate::solve::driver::{Candidate, Driver, Step};
use ide3al_numerics::parallel::{blocks, gather, update};
use ide3al_numerics::primal_dual::{Iteration, SaddlePoint, Side};

struct Infinity<'a> {
    mdp: &'a Mdp,
    support: &'a Support,
    problem: Problem,
    blocks: Vec<Block>,
}

impl Infinity<'_> {
    /// Where columns, caps and blocks begin in the dual vector; rows come first.
    fn offsets(&self) -> (usize, usize, usize) {
        let n = self.mdp.n_states();
        (n, 2 * n, 2 * n + self.support.len())
    }

    /// What a pair adds in every column.
    fn share(&self, pair: usize) -> f64 {
        self.mdp.kernel().spread_of(pair) / self.mdp.n_states() as f64
    }

    /// The iteration from a policy, of which as much is kept as can be, and `[rows, columns]`
    /// prices.
    fn begin(&self, policy: &[f64], dual: &[f64]) -> Iteration {
        let (support, n) = (self.support, self.mdp.n_states());
        let mass = full_mass(self.mdp, support, policy);
        let mut kept = mass.clone();
        repair(support, &self.blocks, self.problem.zeta, &mass, &mut kept);
        let (columns, caps, first_block) = self.offsets();
        let mut y = vec![0.0; first_block + self.blocks.len()];
        y[..columns].fill(1.0 / n as f64);
        if dual.len() == 2 * n {
            y[..caps].copy_from_slice(dual);
            for s in 0..n {
                for k in support.row(s) {
                    let t = support.columns[k] as usize;
                    y[caps + k] = (y[s] - y[columns + t]).clamp(0.0, 1.0);
                }
            }
        }
        let (tau, sigma) = self.scales();
        let primal = Side::new([policy, &kept].concat(), tau);
        Iteration::new(primal, Side::new(y, sigma), BALANCE)
    }

    /// Pock and Chambolle's steps: one over the absolute row and column sums of $K$. A kept mass
    /// appears in a row, a column, a cap and every block; the policy only in caps. Rows are given
    /// the step of the longest, as their prices are projected together.
    fn scales(&self) -> (Vec<f64>, Vec<f64>) {
        let (mdp, support, kernel) = (self.mdp, self.support, self.mdp.kernel());
        let (columns, caps, first_block) = self.offsets();
        let mut sums = vec![0.0; first_block + self.blocks.len()];
        let longest = (0..columns).map(|s| support.row(s).len()).max();
        sums[..columns].fill(longest.unwrap_or(1) as f64);
        sums[caps..first_block].fill(1.0);
        for s in 0..columns {
            let share: f64 = mdp.pairs(s).map(|pair| self.share(pair)).sum();
            for k in support.row(s) {
                sums[columns + support.columns[k] as usize] += 1.0;
                sums[caps + k] += share;
            }
        }
        for (slot, value) in support.slots.iter().zip(kernel.values()) {
            sums[caps + *slot as usize] += value;
        }
        for (sum, block) in sums[first_block..].iter_mut().zip(&self.blocks) {
            *sum = block.slots(support).count() as f64;
        }
        let mut tau = vec![1.0; mdp.n_pairs()];
        let kept = 1.0 / (3.0 + self.blocks.len() as f64);
        tau.resize(mdp.n_pairs() + support.len(), kept);
        (tau, sums.iter().map(|sum| 1.0 / sum.max(1.0)).collect())
    }
}

impl SaddlePoint for Infinity<'_> {
    fn primal_gradient(&self, dual: &[f64], out: &mut [f64]) {
        let (columns, caps, first_block) = self.offsets();
        let (mdp, kernel, support) = (self.mdp, self.mdp.kernel(), self.support);
        let (policy, kept) = out.split_at_mut(mdp.n_pairs());
        blocks(&support.offsets, kept, |s, row| {
            for (k, x) in support.row(s).zip(row) {
                let t = support.columns[k] as usize;
                *x = dual[columns + t] - dual[s] + dual[caps + k];
            }
        });
        let spread = kernel.has_spread();
        blocks(mdp.first_pair(), policy, |s, row| {
            let all = if spread {
                dual[caps..][support.row(s)].iter().sum()
            } else {
                0.0
            };
            for (pair, x) in mdp.pairs(s).zip(row) {
                let mut sum = self.share(pair) * all;
                for e in kernel.offsets()[pair]..kernel.offsets()[pair + 1] {
                    sum += kernel.values()[e] * dual[caps + support.slots[e] as usize];
                }
                *x = -sum;
            }
        });
        for (block, price) in self.blocks.iter().zip(&dual[first_block..]) {
            block.slots(support).for_each(|k| kept[k] += price);
        }
    }

    fn dual_gradient(&self, x: &[f64], out: &mut [f64]) {
        let (columns, caps, first_block) = self.offsets();
        let (mdp, kernel, support) = (self.mdp, self.mdp.kernel(), self.support);
        let (policy, kept) = x.split_at(mdp.n_pairs());
        let (sums, others) = out.split_at_mut(caps);
        let (of_rows, of_columns) = sums.split_at_mut(columns);
        let (of_caps, of_blocks) = others.split_at_mut(first_block - caps);
        gather(of_rows, |s| 1.0 - kept[support.row(s)].iter().sum::<f64>());
        of_columns.fill(-1.0);
        for (t, k) in support.columns.iter().zip(kept) {
            of_columns[*t as usize] += k;
        }
        blocks(&support.offsets, of_caps, |s, row| {
            let slots = support.row(s);
            let pairs = mdp.pairs(s);
            let share: f64 = pairs.clone().map(|r| self.share(r) * policy[r]).sum();
            for (x, kept) in row.iter_mut().zip(&kept[slots.clone()]) {
                *x = kept - share;
            }
            for pair in pairs {
                for e in kernel.offsets()[pair]..kernel.offsets()[pair + 1] {
                    row[support.slots[e] as usize - slots.start] -=
                        kernel.values()[e] * policy[pair];
                }
            }
        });
        for (out, block) in of_blocks.iter_mut().zip(&self.blocks) {
            *out = block.slots(support).map(|k| kept[k]).sum::<f64>() - block.right;
        }
    }

    fn project_primal(&self, x: &mut [f64]) {
        let (policy, kept) = x.split_at_mut(self.mdp.n_pairs());
        project_policy(self.mdp, self.problem.xi, policy);
        update(kept, |_, k| k.clamp(0.0, self.problem.zeta));
    }

    fn project_dual(&self, y: &mut [f64]) {
        let (rows, others) = y.split_at_mut(self.mdp.n_states());
        simplex::project(rows, 0.0);
        update(others, |_, y| y.clamp(0.0, 1.0));
    }
}

impl CertifiedSaddlePoint for Infinity<'_> {
    /// A certificate costs as much as several steps, with a flow where $\zeta < 1$.
    const CERTIFY_EVERY: usize = 40;

    fn certify(&mut self, iteration: &mut Iteration, driver: &mut Driver<'_>) -> Step {
        let (mdp, support, problem) = (self.mdp, self.support, self.problem);
        let (columns, caps, first_block) = self.offsets();
        let (policy, kept) = iteration.primal.point.split_at(mdp.n_pairs());
        let (policy, mut kept) = (policy.to_vec(), kept.to_vec());
        let mass = full_mass(mdp, support, &policy);
        repair(support, &self.blocks, problem.zeta, &mass, &mut kept);
        let (value, block) =
            objective_while(support, problem.zeta, &kept, || driver.should_continue());
        let y = &iteration.dual.point;
        if let Some(block) = block.filter(|b| !self.blocks.contains(b)) {
            self.blocks.push(block);
            *iteration = self.begin(&policy, &y[..caps]);
            return Step::Going;
        }
        let prices = y[first_block..].iter().copied();
        let point = DualPoint {
            rows: y[..columns].to_vec(),
            columns: y[columns..caps].to_vec(),
            caps: y[caps..first_block].to_vec(),
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

/// Solves from the best policy at hand and its prices; from a warm start where nothing is proven.
pub(in crate::solve) fn solve(
    mdp: &Mdp,
    problem: &Problem,
    support: &Support,
    warm: Option<&Solution>,
    driver: &mut Driver<'_>,
) {
    let best = driver.best();
    let (policy, dual) = match warm {
        Some(warm) if best.bound == 0.0 => (warm.policy.probabilities().to_vec(), &warm.dual),
        _ => (best.policy.clone(), &best.dual),
    };
    let policy = simplex::feasible(mdp, problem.xi, policy);
    let problem = Infinity {
        mdp,
        support,
        problem: *problem,
        blocks: Vec::new(),
    };
    let iteration = problem.begin(&policy, dual);
    driver.run(&mut PrimalDual { problem, iteration });
}
