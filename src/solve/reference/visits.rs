//! Utilities of what is visited, with limits and restarts, over second-order and exponential cones.

use super::program::Program;
use crate::error::Result;
use crate::formulation::occupancy::Occupancies;
use crate::formulation::utility::{Conjugate, Form};
use crate::formulation::visits::Limit;
use crate::solve::driver::Driver;
use crate::solve::occupancy::Dual;

/// Returns an occupancy and a dual point. Occupancies are scaled to a mean of one.
pub(in crate::solve) fn solve(
    part: &Occupancies,
    utility: &dyn Conjugate,
    limits: &[Limit],
    driver: &mut Driver<'_>,
) -> Result<(Vec<f64>, Dual)> {
    let mdp = part.mdp();
    let (n, pairs) = (mdp.n_states(), mdp.n_pairs());
    let units = pairs as f64;
    let mut program = Program::default();
    let flow = program.variables(pairs, 0.0);
    let spread = super::spread_variable(&mut program, mdp, flow);
    let arrivals = super::column_terms(mdp, flow, spread);
    let stay = 1.0 - part.restart();
    let mut first = 0;
    for (t, terms) in arrivals.into_iter().enumerate() {
        let arriving = terms.into_iter().map(|(j, p)| (j, -stay * p));
        let leaving = mdp.pairs(t).map(|pair| (flow + pair, 1.0));
        let inflow = part.restart() * mdp.start()[t] * units;
        let row = program.equal(arriving.chain(leaving), inflow);
        if t == 0 {
            first = row;
        }
    }
    let mut whole = None;
    if part.restart() == 0.0 {
        let row = program.equal((0..pairs).map(|pair| (flow + pair, 1.0)), units);
        whole = Some(row);
    }
    let mut first_limit = 0;
    for (j, limit) in limits.iter().enumerate() {
        let terms = limit.cost.iter().enumerate();
        let terms = terms.map(|(pair, c)| (flow + pair, *c));
        let row = program.at_most(terms, limit.budget * units);
        if j == 0 {
            first_limit = row;
        }
    }
    let first_least = limits.len();
    for s in 0..n {
        for pair in mdp.pairs(s) {
            let share = mdp.pairs(s).map(|other| (flow + other, part.xi()));
            program.at_most(share.chain([(flow + pair, -1.0)]), 0.0);
        }
    }
    let (mut first_floor, mut scale, mut price_scale) = (0, 1.0, 1.0);
    match utility.form() {
        Form::Entropies(log_weights, tau) => {
            for (pair, w) in log_weights.iter().enumerate() {
                program.cost(flow + pair, -w);
            }
            if tau > 0.0 {
                for pair in 0..pairs {
                    let height = program.variables(1, -tau);
                    program.entropy(height, flow + pair);
                }
            }
            if tau < 1.0 {
                for s in 0..n {
                    let visits = program.variables(1, 0.0);
                    let terms = mdp.pairs(s).map(|pair| (flow + pair, -1.0));
                    program.equal(terms.chain([(visits, 1.0)]), 0.0);
                    let height = program.variables(1, tau - 1.0);
                    program.entropy(height, visits);
                }
            }
        }
        Form::Floor(wanted) => {
            let mean = wanted.iter().sum::<f64>() / units;
            let level = program.variables(1, -1.0);
            for (pair, b) in wanted.iter().enumerate() {
                let row = program.at_most([(level, b / mean), (flow + pair, -1.0)], 0.0);
                if pair == 0 {
                    first_floor = row;
                }
            }
            price_scale = 1.0 / mean;
        }
        Form::Inverse(c, had) => {
            let mean = c.iter().sum::<f64>() / units;
            for (pair, c) in c.iter().enumerate().filter(|(_, c)| **c > 0.0) {
                let height = program.variables(1, c / mean);
                let tries = program.variables(1, 0.0);
                program.equal([(tries, 1.0), (flow + pair, -1.0)], had[pair] * units);
                program.inverse(height, tries);
            }
            scale = mean * units * units;
        }
        Form::Average(reward) => {
            for (pair, w) in reward.iter().enumerate() {
                program.cost(flow + pair, -w);
            }
        }
    }
    let answer = program.solve(driver)?;
    let omega: Vec<f64> = answer.x[flow..flow + pairs]
        .iter()
        .map(|x| (x / units).max(0.0))
        .collect();
    let mut r = vec![0.0; pairs];
    if let Form::Floor(_) = utility.form() {
        let multipliers = &answer.at_most[first_floor..first_floor + pairs];
        for (r, m) in r.iter_mut().zip(multipliers) {
            *r = m.max(0.0);
        }
    } else {
        // rewards follow from the other multipliers, so that no equation is left to be met
        let v = &answer.equal[first..first + n];
        let shift = whole.map_or(0.0, |row| answer.equal[row]);
        let moved = advantage(part, v);
        let least = &answer.at_most[first_least..first_least + pairs];
        for s in 0..n {
            let sum: f64 = least[mdp.pairs(s)].iter().map(|z| z.max(0.0)).sum();
            for pair in mdp.pairs(s) {
                r[pair] = shift - moved[pair] - least[pair].max(0.0) + part.xi() * sum;
            }
        }
        for (limit, y) in limits.iter().zip(&answer.at_most[first_limit..]) {
            for (r, c) in r.iter_mut().zip(&limit.cost) {
                *r += y.max(0.0) * c;
            }
        }
        r.iter_mut().for_each(|r| *r = (*r * scale).max(0.0));
    }
    let dual = Dual {
        r,
        v: answer.equal[first..first + n]
            .iter()
            .map(|v| v * scale)
            .collect(),
        prices: answer.at_most[first_limit..first_limit + limits.len()]
            .iter()
            .map(|y| y.max(0.0) * scale)
            .collect(),
        price_scale,
    };
    Ok((omega, dual))
}

/// $-A^\top V$: $(1 - \rho) P V - V$ per pair.
fn advantage(part: &Occupancies, v: &[f64]) -> Vec<f64> {
    let mdp = part.mdp();
    let mut out = vec![0.0; mdp.n_pairs()];
    mdp.kernel().times(v, &mut out);
    for (s, v) in v.iter().enumerate() {
        for pair in mdp.pairs(s) {
            out[pair] = (1.0 - part.restart()) * out[pair] - v;
        }
    }
    out
}
