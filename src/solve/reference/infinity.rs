//! Infinity as the sparse linear program in kept mass; blocks are added until the answer can
//! be completed to a doubly stochastic matrix.

use super::program::Program;
use crate::error::Result;
use crate::formulation::Problem;
use crate::formulation::infinity::Block;
use crate::formulation::infinity::DualPoint;
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

    let mut cap_terms: Vec<Vec<(usize, f64)>> = vec![Vec::new(); slots];
    let mut column_terms: Vec<Vec<(usize, f64)>> = vec![Vec::new(); n];
    for s in 0..n {
        let own = support.offsets[s]..support.offsets[s + 1];
        for k in own.clone() {
            column_terms[support.columns[k] as usize].push((kept + k, 1.0));
        }
        for pair in mdp.pairs(s) {
            let kernel = mdp.kernel();
            for e in kernel.offsets()[pair]..kernel.offsets()[pair + 1] {
                cap_terms[support.slots[e] as usize].push((policy + pair, -kernel.values()[e]));
            }
            let share = kernel.spread_of(pair) / n as f64;
            if share > 0.0 {
                for terms in &mut cap_terms[own.clone()] {
                    terms.push((policy + pair, -share));
                }
            }
        }
    }
    let mut first_row = 0;
    for s in 0..n {
        let own = support.offsets[s]..support.offsets[s + 1];
        let row = program.at_most(own.map(|k| (kept + k, -1.0)).chain([(height, -1.0)]), -1.0);
        if s == 0 {
            first_row = row;
        }
    }
    let mut first_column = 0;
    for (t, terms) in column_terms.into_iter().enumerate() {
        let row = program.at_most(terms, 1.0);
        if t == 0 {
            first_column = row;
        }
    }
    let mut first_cap = 0;
    for (k, terms) in cap_terms.into_iter().enumerate() {
        let row = program.at_most(terms.into_iter().chain([(kept + k, 1.0)]), 0.0);
        if k == 0 {
            first_cap = row;
        }
    }
    let mut first_block = 0;
    for (i, block) in blocks.iter().enumerate() {
        let inside = (0..n).filter(|s| block.rows[*s]).flat_map(|s| {
            (support.offsets[s]..support.offsets[s + 1])
                .filter(|k| block.columns[support.columns[*k] as usize])
        });
        let row = program.at_most(
            inside.map(|k| (kept + k, 1.0)).collect::<Vec<_>>(),
            block.right,
        );
        if i == 0 {
            first_block = row;
        }
    }
    for k in 0..slots {
        program.at_most([(kept + k, -1.0)], 0.0);
        if problem.zeta < 1.0 {
            program.at_most([(kept + k, 1.0)], problem.zeta);
        }
    }
    let answer = program.solve(driver)?;
    let z = &answer.at_most;
    let dual = DualPoint {
        rows: z[first_row..first_row + n].to_vec(),
        columns: z[first_column..first_column + n].to_vec(),
        caps: z[first_cap..first_cap + slots].to_vec(),
        blocks: blocks
            .iter()
            .cloned()
            .zip(z[first_block..].iter().copied())
            .collect(),
    };
    Ok((
        answer.x[policy..policy + mdp.n_pairs()].to_vec(),
        answer.x[kept..kept + slots].to_vec(),
        dual,
    ))
}
