//! Each problem as a cone program for the interior-point solver Clarabel: the reference that our
//! own methods are tested against.
//!
//! Every function returns a policy (or what it visits) and a dual point; value and bound are then
//! computed from the model by [`crate::formulation`].

mod distances;
mod episode;
mod program;
mod visits;

pub(super) use distances::{column_sum, frobenius, infinity};
pub(super) use episode::solve as episode;
pub(super) use visits::{entropy, solve as visits};

use std::ops::Range;

use crate::model::Mdp;
use program::{Program, Term};

/// Terms of the mass that some pairs, played as much as the variables from `first` on say, send to
/// each state. For the pairs of one state these are the cells of its row of $M(\pi)$.
fn arrivals(mdp: &Mdp, pairs: Range<usize>, first: usize) -> Vec<Vec<Term>> {
    let n = mdp.n_states();
    let mut terms = vec![Vec::new(); n];
    for pair in pairs {
        let row = mdp.row(pair);
        for (t, p) in row.entries() {
            terms[t].push((first + pair, p));
        }
        if row.spread > 0.0 {
            for list in &mut terms {
                list.push((first + pair, row.spread / n as f64));
            }
        }
    }
    terms
}

/// Terms of the column sums $c_t = \sum_{s,a} \pi(a|s) P(t|s,a)$: the [`arrivals`] from all pairs,
/// but with the mass on uniform rows as one more variable, so that these rows do not fill the
/// matrix.
fn column_sums(program: &mut Program, mdp: &Mdp, first: usize) -> Vec<Vec<Term>> {
    let n = mdp.n_states();
    let mut terms = vec![Vec::new(); n];
    for pair in 0..mdp.n_pairs() {
        for (t, p) in mdp.row(pair).entries() {
            terms[t].push((first + pair, p));
        }
    }
    if mdp.kernel().has_spread() {
        let uniform = program.variables(1, 0.0);
        let shares = mdp.kernel().spread().iter().enumerate();
        let shares = shares.filter(|(_, share)| **share > 0.0);
        let shares = shares.map(|(pair, share)| (first + pair, -share));
        program.equal([(shares.chain([(uniform, 1.0)]), 0.0)]);
        for list in &mut terms {
            list.push((uniform, 1.0 / n as f64));
        }
    }
    terms
}

/// $\omega(s,a) \ge \xi \sum_{a'} \omega(s,a')$ for every pair, the variables of $\omega$ being
/// those from `first` on.
fn least_shares(program: &mut Program, mdp: &Mdp, xi: f64, first: usize) -> Range<usize> {
    let states = 0..mdp.n_states();
    let pairs = states.flat_map(|s| mdp.pairs(s).map(move |pair| (s, pair)));
    program.at_most(pairs.map(|(s, pair)| {
        let share = mdp.pairs(s).map(move |other| (first + other, xi));
        (share.chain([(first + pair, -1.0)]), 0.0)
    }))
}
