//! Column Sum as a linear program (the paper's appendix).

use super::program::Program;
use crate::error::Result;
use crate::formulation::Problem;
use crate::model::Mdp;
use crate::solve::driver::Driver;

/// Returns the policy and the dual point $y$.
pub(in crate::solve) fn solve(
    mdp: &Mdp,
    problem: &Problem,
    driver: &mut Driver<'_>,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let n = mdp.n_states();
    let mut program = Program::default();
    let policy = super::policy_variables(&mut program, mdp, problem.xi);
    let spread = super::spread_variable(&mut program, mdp, policy);
    let height = program.variables(n, 1.0);
    let columns = super::column_terms(mdp, policy, spread);
    let mut first = 0;
    for (t, terms) in columns.iter().enumerate() {
        let negative = terms.iter().map(|&(j, v)| (j, -v));
        let row = program.at_most(negative.chain([(height + t, -1.0)]), -1.0);
        if t == 0 {
            first = row;
        }
        program.at_most(terms.iter().copied().chain([(height + t, -1.0)]), 1.0);
    }
    let answer = program.solve(driver)?;
    let y = (0..n)
        .map(|t| answer.at_most[first + 2 * t] - answer.at_most[first + 2 * t + 1])
        .collect();
    Ok((answer.x[policy..policy + mdp.n_pairs()].to_vec(), y))
}
