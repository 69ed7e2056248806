//! Frobenius over the second-order cone with all $S^2$ entries of the target: small models only.

use super::program::Program;
use crate::error::Result;
use crate::formulation::Problem;
use crate::formulation::frobenius::bound;
use crate::model::Mdp;
use crate::solve::driver::Driver;

/// Minimises $\|U - M(\pi)\|_F$; returns a policy and the bound that the program's own dual point proves.
pub(in crate::solve) fn solve(
    mdp: &Mdp,
    problem: &Problem,
    driver: &mut Driver<'_>,
) -> Result<(Vec<f64>, f64)> {
    let n = mdp.n_states();
    let mut program = Program::default();
    let policy = super::policy_variables(&mut program, mdp, problem.xi);
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
    let answer = program.solve(driver)?;
    let multipliers = |kind: usize| -> Vec<f64> {
        (0..n)
            .map(|i| -answer.equal[first + 2 * i + kind])
            .collect()
    };
    let g: Vec<f64> = answer.norm[1..].iter().map(|z| -z).collect();
    Ok((
        answer.x[policy..policy + mdp.n_pairs()].to_vec(),
        bound(
            mdp,
            (problem.xi, problem.zeta),
            &g,
            &multipliers(0),
            &multipliers(1),
        ),
    ))
}
