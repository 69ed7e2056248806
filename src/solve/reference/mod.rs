//! The reference road: each problem as a cone program for the interior-point solver Clarabel.
//!
//! Every function returns a policy and a dual point; value and bound are then computed from
//! the model by [`crate::formulation`].

mod column_sum;
mod entropy;
mod episode;
mod frobenius;
mod infinity;
mod program;
mod visits;

pub(super) use column_sum::solve as column_sum;
pub(super) use entropy::solve as entropy;
pub(super) use episode::solve as episode;
pub(super) use frobenius::solve as frobenius;
pub(super) use infinity::solve as infinity;
pub(super) use visits::solve as visits;

use crate::model::Mdp;
use program::Program;

/// Variables of a policy in $\Delta_\xi$.
fn policy_variables(program: &mut Program, mdp: &Mdp, xi: f64) -> usize {
    let first = program.variables(mdp.n_pairs(), 0.0);
    for s in 0..mdp.n_states() {
        let pairs = mdp.pairs(s);
        for pair in pairs.clone() {
            program.at_most([(first + pair, -1.0)], -xi);
        }
        program.equal(pairs.map(|pair| (first + pair, 1.0)), 1.0);
    }
    first
}

/// A variable equal to the mass that the policy puts on uniform rows, if there are any.
fn spread_variable(program: &mut Program, mdp: &Mdp, policy: usize) -> Option<usize> {
    if !mdp.kernel().has_spread() {
        return None;
    }
    let variable = program.variables(1, 0.0);
    let spread = mdp.kernel().spread().iter().enumerate();
    let terms = spread
        .filter(|(_, share)| **share > 0.0)
        .map(|(pair, share)| (policy + pair, -share))
        .chain([(variable, 1.0)]);
    program.equal(terms.collect::<Vec<_>>(), 0.0);
    Some(variable)
}

/// Terms of the column sums $c_t(\pi)$, one list per state.
fn column_terms(mdp: &Mdp, policy: usize, spread: Option<usize>) -> Vec<Vec<(usize, f64)>> {
    let n = mdp.n_states();
    let mut terms = vec![Vec::new(); n];
    for pair in 0..mdp.n_pairs() {
        for (t, p) in mdp.row(pair).entries() {
            terms[t].push((policy + pair, p));
        }
    }
    if let Some(variable) = spread {
        for list in &mut terms {
            list.push((variable, 1.0 / n as f64));
        }
    }
    terms
}
