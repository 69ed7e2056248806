//! Infinity as the sparse linear program in kept mass, see [`formulation::infinity`](crate::formulation::infinity).

use super::program::{Program, Term, pick};
use crate::error::Result;
use crate::formulation::Problem;
use crate::formulation::infinity::{Block, DualPoint};
use crate::formulation::support::Support;
use crate::model::Mdp;
use crate::solve::driver::Driver;

/// Solves with the given blocks. `support` has a slot for every cell that any policy can
/// reach (all columns of a state with a uniform row). Returns the policy, the kept mass and the
/// dual point.
pub(in crate::solve) fn solve(
    mdp: &Mdp,
    problem: &Problem,
    support: &Support,
    blocks: &[Block],
    driver: &mut Driver<'_>,
) -> Result<(Vec<f64>, Vec<f64>, DualPoint)> {
    let n = mdp.n_states();
    let slots = support.len();
    let mut program = Program::default();
    let policy = super::policy_variables(&mut program, mdp, problem.xi);
    let height = program.variables(1, 1.0);
    let kept = program.variables(slots, 0.0);
    let keep = |slot: usize| (kept + slot, 1.0);

    let lack = |s: usize| support.row(s).map(|k| (kept + k, -1.0));
    let rows: Vec<usize> = (0..n)
        .map(|s| program.at_most(lack(s).chain([(height, -1.0)]), -1.0))
        .collect();
    let mut column_terms: Vec<Vec<Term>> = vec![Vec::new(); n];
    for (k, t) in support.columns.iter().enumerate() {
        column_terms[*t as usize].push(keep(k));
    }
    let columns = column_terms.into_iter();
    let columns: Vec<usize> = columns.map(|terms| program.at_most(terms, 1.0)).collect();
    let mut caps = Vec::with_capacity(slots);
    for s in 0..n {
        let cells = super::arrivals(mdp, mdp.pairs(s), policy);
        for k in support.row(s) {
            let mass = cells[support.columns[k] as usize].iter();
            let mass = mass.map(|(variable, p)| (*variable, -p));
            caps.push(program.at_most(mass.chain([keep(k)]), 0.0));
        }
    }
    let block_rows: Vec<usize> = blocks
        .iter()
        .map(|block| program.at_most(block.slots(support).map(keep), block.right))
        .collect();
    super::between_zero_and(&mut program, kept..kept + slots, problem.zeta);

    let answer = program.solve(driver)?;
    let prices = |rows: &[usize]| pick(&answer.at_most, rows);
    let dual = DualPoint {
        rows: prices(&rows),
        columns: prices(&columns),
        caps: prices(&caps),
        blocks: blocks.iter().cloned().zip(prices(&block_rows)).collect(),
    };
    Ok((
        answer.x[..mdp.n_pairs()].to_vec(),
        answer.x[kept..kept + slots].to_vec(),
        dual,
    ))
}
