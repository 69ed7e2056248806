//! The three distances: Column Sum as the linear program of the paper's appendix B.2, Infinity as
//! the sparse linear program in kept mass (see
//! [`formulation::infinity`](crate::formulation::infinity)), Frobenius over the second-order cone
//! with all $S^2$ entries of the target, for small models only.

use std::ops::Range;

use super::program::{Answer, Program, Term};
use super::{arrivals, column_sums};
use crate::error::Result;
use crate::formulation::Problem;
use crate::formulation::frobenius::bound;
use crate::formulation::infinity::{Block, DualPoint};
use crate::formulation::support::Support;
use crate::model::Mdp;
use crate::solve::driver::Driver;

/// Returns the policy and the dual point $y$.
pub(in crate::solve) fn column_sum(
    mdp: &Mdp,
    problem: &Problem,
    driver: &mut Driver<'_>,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let mut program = Program::default();
    let policy = policy_variables(&mut program, mdp, problem.xi);
    let columns = column_sums(&mut program, mdp, policy);
    let height = program.variables(mdp.n_states(), 1.0);
    // sign (c_t - 1) <= height
    let mut differ = |sign: f64| {
        program.at_most(columns.iter().enumerate().map(|(t, terms)| {
            let signed = terms.iter().map(move |(j, v)| (*j, sign * v));
            (signed.chain([(height + t, -1.0)]), sign)
        }))
    };
    let (lacking, over) = (differ(-1.0), differ(1.0));
    let mut answer = program.solve(driver)?;
    let z = &answer.multipliers;
    let y = z[lacking].iter().zip(&z[over]).map(|(l, o)| l - o);
    let y = y.collect();
    answer.x.truncate(mdp.n_pairs());
    Ok((answer.x, y))
}

/// With the given blocks. `support` has a slot for every cell that any policy can reach (all
/// columns of a state with a uniform row). Returns the policy, the kept mass and the dual point.
pub(in crate::solve) fn infinity(
    mdp: &Mdp,
    problem: &Problem,
    support: &Support,
    blocks: &[Block],
    driver: &mut Driver<'_>,
) -> Result<(Vec<f64>, Vec<f64>, DualPoint)> {
    let (n, slots) = (mdp.n_states(), support.len());
    let mut program = Program::default();
    let policy = policy_variables(&mut program, mdp, problem.xi);
    let height = program.variables(1, 1.0);
    let kept = program.variables(slots, 0.0);
    let keep = |slot: usize| (kept + slot, 1.0);
    let lacking = |s: usize| {
        let kept = support.row(s).map(|k| (kept + k, -1.0));
        (kept.chain([(height, -1.0)]), -1.0)
    };
    let rows = program.at_most((0..n).map(lacking));
    let mut columns: Vec<Vec<Term>> = vec![Vec::new(); n];
    for (k, t) in support.columns.iter().enumerate() {
        columns[*t as usize].push(keep(k));
    }
    let columns = program.at_most(columns.into_iter().map(|terms| (terms, 1.0)));
    let caps = program.at_most((0..n).flat_map(|s| {
        let mut cells = arrivals(mdp, mdp.pairs(s), policy);
        let cap = move |k: usize| {
            let mass = std::mem::take(&mut cells[support.columns[k] as usize]);
            let less = mass.into_iter().map(|(variable, p)| (variable, -p));
            (less.chain([keep(k)]), 0.0)
        };
        support.row(s).map(cap)
    }));
    let in_block = |block: &Block| {
        (
            block.slots(support).map(keep).collect::<Vec<_>>(),
            block.right,
        )
    };
    let block_rows = program.at_most(blocks.iter().map(in_block));
    between_zero_and(&mut program, kept..kept + slots, problem.zeta);

    let Answer { x, multipliers } = program.solve(driver)?;
    let prices = |rows: Range<usize>| multipliers[rows].to_vec();
    let dual = DualPoint {
        rows: prices(rows),
        columns: prices(columns),
        caps: prices(caps),
        blocks: blocks.iter().cloned().zip(prices(block_rows)).collect(),
    };
    let policy = x[..mdp.n_pairs()].to_vec();
    Ok((policy, x[kept..kept + slots].to_vec(), dual))
}

/// Returns a policy and the bound that the program's own dual point proves.
pub(in crate::solve) fn frobenius(
    mdp: &Mdp,
    problem: &Problem,
    driver: &mut Driver<'_>,
) -> Result<(Vec<f64>, f64)> {
    let n = mdp.n_states();
    let mut program = Program::default();
    let policy = policy_variables(&mut program, mdp, problem.xi);
    let target = program.variables(n * n, 0.0);
    between_zero_and(&mut program, target..target + n * n, problem.zeta);
    // every line of U sums to one: its cells are `apart` from each other, the next line begins a
    // `step` further
    let mut sums = |step: usize, apart: usize| {
        let line = |i: usize| (0..n).map(move |j| (target + i * step + j * apart, 1.0));
        program.equal((0..n).map(|i| (line(i), 1.0)))
    };
    let (rows, columns) = (sums(n, 1), sums(1, n));
    let length = program.variables(1, 1.0);
    // the cells of M - U
    let differences = (0..n).flat_map(|s| {
        let mut cells = arrivals(mdp, mdp.pairs(s), policy);
        for (t, terms) in cells.iter_mut().enumerate() {
            terms.push((target + s * n + t, -1.0));
        }
        cells
    });
    let cells = program.norm(length, differences);
    let Answer { x, multipliers } = program.solve(driver)?;
    let negative = |rows: Range<usize>| -> Vec<f64> {
        let all = multipliers[rows].iter();
        all.map(|z| -z).collect()
    };
    let (g, alpha, beta) = (negative(cells), negative(rows), negative(columns));
    let proven = bound(mdp, (problem.xi, problem.zeta), &g, &alpha, &beta);
    Ok((x[..mdp.n_pairs()].to_vec(), proven))
}

/// Adds a policy in $\Delta_\xi$: one variable per pair, at least $\xi$ (the paper's (7)), with sum
/// one in every state. Returns the first variable.
fn policy_variables(program: &mut Program, mdp: &Mdp, xi: f64) -> usize {
    let pairs = mdp.n_pairs();
    let first = program.variables(pairs, 0.0);
    program.at_most((first..first + pairs).map(|variable| ([(variable, -1.0)], -xi)));
    let actions = |s: usize| mdp.pairs(s).map(move |pair| (first + pair, 1.0));
    program.equal((0..mdp.n_states()).map(|s| (actions(s), 1.0)));
    first
}

/// $0 \le x \le \zeta$ for some variables. An upper bound of one follows from other rows and is
/// left out.
fn between_zero_and(program: &mut Program, variables: Range<usize>, zeta: f64) {
    program.at_most(variables.clone().map(|variable| ([(variable, -1.0)], 0.0)));
    if zeta < 1.0 {
        program.at_most(variables.map(|variable| ([(variable, 1.0)], zeta)));
    }
}
