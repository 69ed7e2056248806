//! Utilities of what is visited, with limits and restarts, over second-order and exponential cones.

use super::Flow;
use super::program::{Answer, Program, pick};
use crate::error::Result;
use crate::formulation::occupancy::Occupancies;
use crate::formulation::utility::{Conjugate, Form};
use crate::formulation::visits::Limit;
use crate::solve::driver::Driver;
use crate::solve::occupancy::Dual;

/// Returns an occupancy and a dual point. Inside, occupancies are scaled to a mean of one, which suits the solver's tolerances.
pub(in crate::solve) fn solve(
    part: &Occupancies,
    utility: &dyn Conjugate,
    limits: &[Limit],
    driver: &mut Driver<'_>,
) -> Result<(Vec<f64>, Dual)> {
    let mdp = part.mdp();
    let units = mdp.n_pairs() as f64;
    let mut program = Program::default();
    let chances = (part.xi(), part.restart());
    let flow = Flow::add(&mut program, mdp, chances, limits, units);
    let mut floors = None;
    // what the program's objective and its prices have to be multiplied by to be in the utility's units
    let (mut scale, mut price_scale) = (1.0, 1.0);
    match utility.form() {
        Form::Entropies(log_weights, tau) => {
            flow.maximise_entropies(&mut program, mdp, log_weights, tau);
        }
        Form::Floor(wanted) => {
            let mean = wanted.iter().sum::<f64>() / units;
            let level = program.variables(1, -1.0);
            let rows = wanted.iter().enumerate().map(|(pair, b)| {
                program.at_most([(level, b / mean), (flow.first + pair, -1.0)], 0.0)
            });
            floors = Some(rows.collect::<Vec<_>>());
            price_scale = 1.0 / mean;
        }
        Form::Inverse(c, had) => {
            let mean = c.iter().sum::<f64>() / units;
            for (pair, c) in c.iter().enumerate().filter(|(_, c)| **c > 0.0) {
                let height = program.variables(1, c / mean);
                let tries = program.variables(1, 0.0);
                let visits = [(tries, 1.0), (flow.first + pair, -1.0)];
                program.equal(visits, had[pair] * units);
                program.inverse(height, tries);
            }
            scale = mean * units * units;
        }
        Form::Average(reward) => flow.maximise_average(&mut program, reward),
    }
    let answer = program.solve(driver)?;
    let occupancy = answer.x[..mdp.n_pairs()].iter();
    let occupancy = occupancy.map(|x| (x / units).max(0.0)).collect();
    let r = match floors {
        Some(rows) => positive(&answer.at_most, &rows),
        None => {
            let gradient = gradient(part, limits, &flow, &answer).into_iter();
            gradient.map(|r| (r * scale).max(0.0)).collect()
        }
    };
    let times = |numbers: Vec<f64>| numbers.iter().map(|x| x * scale).collect();
    let dual = Dual {
        r,
        v: times(pick(&answer.equal, &flow.balance)),
        prices: times(positive(&answer.at_most, &flow.limits)),
        price_scale,
    };
    Ok((occupancy, dual))
}

/// The multipliers of some inequalities; rounding may have left them below zero.
fn positive(multipliers: &[f64], rows: &[usize]) -> Vec<f64> {
    rows.iter().map(|row| multipliers[*row].max(0.0)).collect()
}

/// The gradient of the utility, from the condition that the Lagrangian is stationary in $\omega$: with $\lambda$ the multiplier of the
/// sum, $z$ those of $\omega \ge \xi d$ and $y$ those of the limits it is
/// $r = \lambda + V - (1 - \rho) P V - z + \xi \sum_a z + \sum_j y_j c_j$. So that condition holds exactly.
fn gradient(part: &Occupancies, limits: &[Limit], flow: &Flow, answer: &Answer) -> Vec<f64> {
    let mdp = part.mdp();
    let v = pick(&answer.equal, &flow.balance);
    let total = flow.total.map_or(0.0, |row| answer.equal[row]);
    let least = positive(&answer.at_most, &flow.least);
    let mut r = vec![0.0; mdp.n_pairs()];
    mdp.kernel().times(&v, &mut r);
    for (s, v) in v.iter().enumerate() {
        let sum: f64 = least[mdp.pairs(s)].iter().sum();
        for pair in mdp.pairs(s) {
            let moved = (1.0 - part.restart()) * r[pair] - v;
            r[pair] = total - moved - least[pair] + part.xi() * sum;
        }
    }
    for (limit, y) in limits.iter().zip(positive(&answer.at_most, &flow.limits)) {
        for (r, c) in r.iter_mut().zip(&limit.cost) {
            *r += y * c;
        }
    }
    r
}
