//! Each problem as a cone program for the interior-point solver Clarabel: the reference that our own methods are tested against.
//!
//! Every function returns a policy (or what it visits) and a dual point; value and bound are then computed from
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

use std::ops::Range;

use crate::formulation::visits::Limit;
use crate::model::Mdp;
use program::{Program, Term};

/// Adds a policy in $\Delta_\xi$: one variable per pair, at least $\xi$ (the paper's (7)), with sum one in every state. Returns the
/// first variable.
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

/// $0 \le x \le \zeta$ for some variables. An upper bound of one follows from other rows and is left out.
fn between_zero_and(program: &mut Program, variables: Range<usize>, zeta: f64) {
    for variable in variables {
        program.at_most([(variable, -1.0)], 0.0);
        if zeta < 1.0 {
            program.at_most([(variable, 1.0)], zeta);
        }
    }
}

/// Terms of the mass that some pairs, played as much as the variables from `first` on say, send to each state. For the pairs of one
/// state these are the cells of its row of $M(\pi)$.
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

/// Terms of the column sums $c_t = \sum_{s,a} \pi(a|s) P(t|s,a)$: the [`arrivals`] from all pairs, but with the mass on uniform rows
/// as one more variable, so that these rows do not fill the matrix.
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
        program.equal(shares.chain([(uniform, 1.0)]), 0.0);
        for list in &mut terms {
            list.push((uniform, 1.0 / n as f64));
        }
    }
    terms
}

/// A stationary state-action distribution $\omega$ as variables, and the rows that make it one.
struct Flow {
    /// The first of the variables, one per pair.
    first: usize,
    /// The equation of each state's flow: what leaves it less what arrives.
    balance: Vec<usize>,
    /// The equation $\sum \omega = 1$, which with restarts follows from the others.
    total: Option<usize>,
    /// The inequality of each limit.
    limits: Vec<usize>,
    /// The inequality $\omega(s,a) \ge \xi d(s)$ of each pair.
    least: Vec<usize>,
}

impl Flow {
    /// Adds $\Omega_\xi$ of [`formulation::visits`](crate::formulation::visits), scaled to a sum of `units`, and limits.
    fn add(
        program: &mut Program,
        mdp: &Mdp,
        (xi, restart): (f64, f64),
        limits: &[Limit],
        units: f64,
    ) -> Self {
        let first = program.variables(mdp.n_pairs(), 0.0);
        let all = |pairs: Range<usize>, factor: f64| pairs.map(move |pair| (first + pair, factor));
        let columns = column_sums(program, mdp, first).into_iter().enumerate();
        let balance = columns.map(|(t, terms)| {
            let arriving = terms.into_iter().map(|(j, p)| (j, -(1.0 - restart) * p));
            let started = restart * mdp.start()[t] * units;
            program.equal(arriving.chain(all(mdp.pairs(t), 1.0)), started)
        });
        let balance = balance.collect();
        let total = (restart == 0.0).then(|| program.equal(all(0..mdp.n_pairs(), 1.0), units));
        let limits = limits.iter().map(|limit| {
            let costs = limit.cost.iter().enumerate();
            let costs = costs.map(|(pair, c)| (first + pair, *c));
            program.at_most(costs, limit.budget * units)
        });
        let limits = limits.collect();
        let mut least = Vec::with_capacity(mdp.n_pairs());
        for s in 0..mdp.n_states() {
            for pair in mdp.pairs(s) {
                let share = all(mdp.pairs(s), xi).chain([(first + pair, -1.0)]);
                least.push(program.at_most(share, 0.0));
            }
        }
        Flow {
            first,
            balance,
            total,
            limits,
            least,
        }
    }

    /// Maximises $\sum \omega\, w$ with $w$ per pair.
    fn maximise_average(&self, program: &mut Program, reward: &[f64]) {
        let worth = reward.iter().enumerate();
        program.maximise(worth.map(|(pair, w)| (self.first + pair, *w)));
    }

    /// Maximises $(1 - \tau) H(d) + \tau H(\omega) + \sum \omega \ln w$.
    fn maximise_entropies(&self, program: &mut Program, mdp: &Mdp, log_weights: &[f64], tau: f64) {
        self.maximise_average(program, log_weights);
        if tau > 0.0 {
            for pair in 0..mdp.n_pairs() {
                program.entropy(self.first + pair, -tau);
            }
        }
        if tau < 1.0 {
            for s in 0..mdp.n_states() {
                let visits = program.variables(1, 0.0);
                let terms = mdp.pairs(s).map(|pair| (self.first + pair, -1.0));
                program.equal(terms.chain([(visits, 1.0)]), 0.0);
                program.entropy(visits, tau - 1.0);
            }
        }
    }
}
