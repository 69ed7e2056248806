//! Column Sum by restarted primal-dual steps on its saddle point.
//!
//! $\min_{\pi \in \Delta_\xi} \max_{|y| \le 1} \sum_t y_t (1 - c_t(\pi))$: both projections are
//! closed form, each step is one product with $P$ and one with its transpose.

use super::saddle::{Iteration, Saddle};
use super::{Limits, Outcome};
use crate::formulation::{Problem, column_sum, simplex};
use crate::model::{Kernel, Mdp, Policy};
use crate::parallel::{blocks, sum, update};

struct ColumnSum<'a> {
    mdp: &'a Mdp,
    transposed: Kernel,
    xi: f64,
    /// Dual step per column: one over the mass all pairs together send there.
    sigma: Vec<f64>,
    /// Weight of the distance to uniform.
    pull: f64,
}

impl Saddle for ColumnSum<'_> {
    fn primal_gradient(&self, y: &[f64], out: &mut [f64]) {
        self.mdp.kernel().times(y, out);
        update(out, |_, g| -g);
    }

    fn dual_gradient(&self, x: &[f64], out: &mut [f64]) {
        self.transposed.times(x, out);
        let kernel = self.mdp.kernel();
        let mut spread = 0.0;
        if kernel.has_spread() {
            spread = kernel
                .spread()
                .iter()
                .zip(x)
                .map(|(c, x)| c * x)
                .sum::<f64>()
                / self.mdp.n_states() as f64;
        }
        update(out, |_, g| 1.0 - spread - g);
    }

    fn primal_step(&self, x: &[f64], gradient: &[f64], step: f64, out: &mut [f64]) {
        let first = self.mdp.first_pair();
        blocks(first, out, |s, row| {
            let uniform = 1.0 / row.len() as f64;
            let shrink = 1.0 / (1.0 + step * self.pull);
            let pairs = first[s]..first[s + 1];
            let old = x[pairs.clone()].iter().zip(&gradient[pairs]);
            for (p, (x, g)) in row.iter_mut().zip(old) {
                *p = (x - step * (g - self.pull * uniform)) * shrink;
            }
            simplex::project(row, self.xi);
        });
    }

    fn dual_step(&self, y: &[f64], gradient: &[f64], step: f64, out: &mut [f64]) {
        update(out, |t, _| {
            (y[t] + step * self.sigma[t] * gradient[t]).clamp(-1.0, 1.0)
        });
    }

    fn scale_primal(&self, v: &[f64], out: &mut [f64]) {
        out.copy_from_slice(v);
    }

    fn scale_dual(&self, v: &[f64], out: &mut [f64]) {
        for ((o, v), sigma) in out.iter_mut().zip(v).zip(&self.sigma) {
            *o = v * sigma;
        }
    }

    fn primal_norm(&self, v: &[f64]) -> f64 {
        sum(v.len(), |i| v[i] * v[i])
    }

    fn dual_norm(&self, v: &[f64]) -> f64 {
        sum(v.len(), |i| v[i] * v[i] / self.sigma[i])
    }
}

/// Solves from a policy and, if given, a dual point. `pull` is the tie-break's weight; with
/// one the run goes on until the iterates stand still.
pub(super) fn solve(
    mdp: &Mdp,
    problem: &Problem,
    limits: &mut Limits<'_>,
    start: &Policy,
    dual: Option<&[f64]>,
    pull: f64,
) -> Outcome {
    let n = mdp.n_states();
    let ones = vec![1.0; mdp.n_pairs()];
    let mut sigma = vec![0.0; n];
    mdp.kernel().transpose_times(&ones, &mut sigma);
    sigma.iter_mut().for_each(|s| *s = 1.0 / s.max(1e-6));
    let saddle = ColumnSum {
        mdp,
        transposed: mdp.kernel().transpose(),
        xi: problem.xi,
        sigma,
        pull,
    };
    let mut x = start.probabilities().to_vec();
    for s in 0..n {
        simplex::project(&mut x[mdp.pairs(s)], problem.xi);
    }
    let y = match dual {
        Some(y) if y.len() == n => y.iter().map(|v| v.clamp(-1.0, 1.0)).collect(),
        _ => vec![0.0; n],
    };
    let mut iteration = Iteration::new(&saddle, x, y, 0.5);
    let mut best = Outcome {
        policy: Vec::new(),
        objective: f64::INFINITY,
        bound: 0.0,
        dual: vec![0.0; n],
        iterations: 0,
    };
    let mut sums = vec![0.0; n];
    let mut products = vec![0.0; mdp.n_pairs()];
    loop {
        for _ in 0..10 {
            iteration.advance(&saddle);
        }
        saddle.dual_gradient(&iteration.x, &mut sums);
        let objective: f64 = sums.iter().map(|g| g.abs()).sum();
        mdp.kernel().times(&iteration.y, &mut products);
        let bound = column_sum::bound_from_products(mdp, problem.xi, &iteration.y, &products);
        if objective < best.objective || pull > 0.0 {
            best.objective = objective;
            best.policy.clone_from(&iteration.x);
        }
        if bound > best.bound {
            best.bound = bound;
            best.dual.clone_from(&iteration.y);
        }
        best.iterations = iteration.total();
        if pull > 0.0 {
            if iteration.residual < 1e-11 || iteration.total() >= 200_000 {
                break;
            }
        } else if limits.reached(&best) {
            break;
        }
    }
    best
}
