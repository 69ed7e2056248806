//! Column Sum as the linear program of the paper's appendix B.2, with $\xi$ beside it.

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
    let mut program = Program::default();
    let policy = super::policy_variables(&mut program, mdp, problem.xi);
    let columns = super::column_sums(&mut program, mdp, policy);
    let height = program.variables(mdp.n_states(), 1.0);
    let mut rows = Vec::with_capacity(columns.len());
    for (t, terms) in columns.iter().enumerate() {
        let height = [(height + t, -1.0)];
        let negative = terms.iter().map(|&(j, v)| (j, -v));
        let lacking = program.at_most(negative.chain(height), -1.0);
        let too_much = program.at_most(terms.iter().copied().chain(height), 1.0);
        rows.push((lacking, too_much));
    }
    let mut answer = program.solve(driver)?;
    let z = &answer.at_most;
    let y = rows.iter().map(|&(lacking, over)| z[lacking] - z[over]);
    let y = y.collect();
    answer.x.truncate(mdp.n_pairs());
    Ok((answer.x, y))
}
