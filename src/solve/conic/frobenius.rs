//! Frobenius over the second-order cone with all $S^2$ entries of the target: small models only.

use super::program::Program;
use crate::error::Result;
use crate::formulation::{Problem, simplex};
use crate::model::Mdp;

/// A policy and the bound that the program's own dual point proves.
pub(in crate::solve) struct Found {
    pub(in crate::solve) policy: Vec<f64>,
    pub(in crate::solve) bound: f64,
    pub(in crate::solve) iterations: usize,
}

/// Minimises $\|U - M(\pi)\|_F$ plus `weight / 2` times the squared distance to uniform.
pub(in crate::solve) fn solve(
    mdp: &Mdp,
    problem: &Problem,
    weight: f64,
    tolerance: f64,
    seconds: f64,
) -> Result<Found> {
    let n = mdp.n_states();
    let mut program = Program::default();
    let policy = super::policy_variables(&mut program, mdp, problem.xi, weight);
    let target = program.variables(n * n, 0.0);
    for entry in target..target + n * n {
        program.at_most([(entry, -1.0)], 0.0);
        if problem.zeta < 1.0 {
            program.at_most([(entry, 1.0)], problem.zeta);
        }
    }
    let mut first = 0;
    for i in 0..n {
        let row = program.equal((0..n).map(|j| (target + i * n + j, 1.0)), 1.0);
        program.equal((0..n).map(|j| (target + j * n + i, 1.0)), 1.0);
        if i == 0 {
            first = row;
        }
    }
    let length = program.variables(1, 1.0);
    program.norm([(length, 1.0)]);
    for s in 0..n {
        let mut terms: Vec<Vec<(usize, f64)>> =
            (0..n).map(|t| vec![(target + s * n + t, 1.0)]).collect();
        for pair in mdp.pairs(s) {
            let row = mdp.row(pair);
            for (t, p) in row.entries() {
                terms[t].push((policy + pair, -p));
            }
            if row.spread > 0.0 {
                for list in &mut terms {
                    list.push((policy + pair, -row.spread / n as f64));
                }
            }
        }
        for list in terms {
            program.norm(list);
        }
    }
    let answer = program.solve(tolerance, seconds)?;
    let multipliers = |kind: usize| -> Vec<f64> {
        (0..n)
            .map(|i| -answer.equal[first + 2 * i + kind])
            .collect()
    };
    let g: Vec<f64> = answer.norm[1..].iter().map(|z| -z).collect();
    Ok(Found {
        policy: answer.x[policy..policy + mdp.n_pairs()].to_vec(),
        bound: bound(mdp, problem, &g, &multipliers(0), &multipliers(1)),
        iterations: answer.iterations,
    })
}

/// $\frac{1}{\|G\|_F} \big(\sum\alpha + \sum\beta + \zeta \sum \min(G - \alpha - \beta, 0) -
/// \sum_s \max_p p \cdot (PG^\top)_s\big)$, valid for any $G$, $\alpha$ and $\beta$; with the
/// cap $\zeta$ replaced by 1 where it is not smaller.
fn bound(mdp: &Mdp, problem: &Problem, g: &[f64], alpha: &[f64], beta: &[f64]) -> f64 {
    let n = mdp.n_states();
    let norm = g.iter().map(|x| x * x).sum::<f64>().sqrt();
    if !(norm > 0.0) {
        return 0.0;
    }
    let mut value = alpha.iter().sum::<f64>() + beta.iter().sum::<f64>();
    for s in 0..n {
        let row = &g[s * n..(s + 1) * n];
        for t in 0..n {
            value += problem.zeta * (row[t] - alpha[s] - beta[t]).min(0.0);
        }
        let total: f64 = row.iter().sum();
        let gains = mdp.pairs(s).map(|pair| {
            let source = mdp.row(pair);
            source.entries().map(|(t, p)| p * row[t]).sum::<f64>()
                + source.spread / n as f64 * total
        });
        value -= simplex::support(gains, problem.xi);
    }
    (value / norm).max(0.0)
}
