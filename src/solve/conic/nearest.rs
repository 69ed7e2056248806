//! The optimal Frobenius policy nearest to uniform, given one optimal policy.
//!
//! At an optimum the residual $G = U - M(\pi^*)$ is unique although the policy may not be. A policy is
//! optimal exactly when $M(\pi) + G \in B_\zeta$, that is
//!
//! $$\sum_s M_{st}(\pi) = \sum_s M_{st}(\pi^*), \qquad 0 \le M_{st}(\pi) - M_{st}(\pi^*) + U_{st} \le \zeta$$
//!
//! (off the support nothing changes). The nearest point of this polytope to uniform is a
//! strictly convex quadratic program; $\pi^*$ itself is feasible, so rounding cannot make it
//! empty.

use super::program::Program;
use crate::error::Result;
use crate::formulation::Problem;
use crate::formulation::support::Support;
use crate::model::Mdp;

/// Moves an optimal `policy` to the optimal one nearest to uniform. `target` is $U$ on the
/// slots. Returns the policy and the iterations.
pub(in crate::solve) fn solve(
    mdp: &Mdp,
    problem: &Problem,
    support: &Support,
    policy: &[f64],
    target: &[f64],
    seconds: f64,
) -> Result<(Vec<f64>, usize)> {
    let mut program = Program::default();
    let first = super::policy_variables(&mut program, mdp, problem.xi);
    let mut columns = vec![0.0; mdp.n_states()];
    mdp.kernel().transpose_times(policy, &mut columns);
    for (terms, sum) in super::column_terms(mdp, first, None)
        .into_iter()
        .zip(columns)
    {
        program.equal(terms, sum);
    }
    let mut slots: Vec<Vec<(usize, f64)>> = vec![Vec::new(); support.len()];
    let mut mass = vec![0.0; support.len()];
    for s in 0..mdp.n_states() {
        let uniform = 1.0 / mdp.n_actions(s) as f64;
        for pair in mdp.pairs(s) {
            program.quadratic(first + pair, 1.0, -uniform);
            let kernel = mdp.kernel();
            for e in kernel.offsets()[pair]..kernel.offsets()[pair + 1] {
                let slot = support.slots[e] as usize;
                slots[slot].push((first + pair, kernel.values()[e]));
                mass[slot] += policy[pair] * kernel.values()[e];
            }
        }
    }
    for (k, terms) in slots.into_iter().enumerate() {
        let total: f64 = terms.iter().map(|(_, p)| p).sum();
        // M(pi) lies in [0, total]: leave out what cannot bind
        let (low, high) = (mass[k] - target[k], mass[k] - target[k] + problem.zeta);
        if low > 0.0 {
            program.at_most(terms.iter().map(|&(j, p)| (j, -p)), -low);
        }
        if high < total {
            program.at_most(terms, high);
        }
    }
    let answer = program.solve(1e-12, seconds)?;
    Ok((
        answer.x[first..first + mdp.n_pairs()].to_vec(),
        answer.iterations,
    ))
}
