//! Frobenius over the second-order cone with all $S^2$ entries of the target: small models only.

use super::program::{Program, pick};
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
    super::between_zero_and(&mut program, target..target + n * n, problem.zeta);
    let (mut rows, mut columns) = (Vec::new(), Vec::new());
    for i in 0..n {
        rows.push(program.equal((0..n).map(|j| (target + i * n + j, 1.0)), 1.0));
        columns.push(program.equal((0..n).map(|j| (target + j * n + i, 1.0)), 1.0));
    }
    let length = program.variables(1, 1.0);
    let differences = (0..n).flat_map(|s| {
        let mut cells = super::arrivals(mdp, mdp.pairs(s), policy);
        for (t, terms) in cells.iter_mut().enumerate() {
            terms.iter_mut().for_each(|term| term.1 = -term.1);
            terms.push((target + s * n + t, 1.0));
        }
        cells
    });
    program.norm(length, differences);
    let answer = program.solve(driver)?;
    let multipliers = |rows| -> Vec<f64> {
        let all = pick(&answer.equal, rows);
        all.iter().map(|z| -z).collect()
    };
    let (alpha, beta) = (multipliers(&rows), multipliers(&columns));
    let g: Vec<f64> = answer.conic[1..].iter().map(|z| -z).collect();
    let proven = bound(mdp, (problem.xi, problem.zeta), &g, &alpha, &beta);
    Ok((answer.x[..mdp.n_pairs()].to_vec(), proven))
}
