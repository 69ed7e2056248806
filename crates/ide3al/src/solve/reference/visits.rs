//! Functions of what is visited, with limits and restarts, over second-order and exponential cones.

use std::ops::Range;

use super::program::{Answer, Program};
use super::{column_sums, least_shares};
use crate::error::Result;
use crate::formulation::Problem;
use crate::formulation::entropy::EntropyWeights;
use crate::formulation::occupancy::{Dual, Occupancies};
use crate::formulation::occupancy_spec::Limit;
use crate::formulation::utility::{Conjugate, Form};
use crate::model::Mdp;
use crate::solve::driver::Driver;

/// Maximises $H(\omega)$ (the paper's (10)) or $H(d)$ (its (3)) for [`EntropyWeights`]: weights of
/// states, and $\tau$ times the conditional entropy $H(\omega) - H(d)$ in the latter case. Returns
/// $\omega$ and the potentials $V$, the multipliers of the flows.
pub(in crate::solve) fn entropy(
    mdp: &Mdp,
    problem: &Problem,
    target: &EntropyWeights,
    driver: &mut Driver<'_>,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let states = 0..mdp.n_states();
    let log_weights = states.flat_map(|s| mdp.pairs(s).map(move |_| target.log_weight(s)));
    let log_weights: Vec<f64> = log_weights.collect();
    let tau = target.temperature(problem.formulation);
    let form = Form::Entropies(&log_weights, tau);
    let (omega, dual) = maximise(mdp, (problem.xi, 0.0), form, &[], driver)?;
    Ok((omega, dual.v))
}

/// Returns an occupancy and a dual point.
pub(in crate::solve) fn solve(
    part: &Occupancies,
    utility: &dyn Conjugate,
    limits: &[Limit],
    driver: &mut Driver<'_>,
) -> Result<(Vec<f64>, Dual)> {
    let chances = (part.xi(), part.restart());
    maximise(part.mdp(), chances, utility.form(), limits, driver)
}

/// Maximises one of the standard functions. Inside, occupancies are scaled to a mean of one, which
/// suits the solver's tolerances.
fn maximise(
    mdp: &Mdp,
    (xi, restart): (f64, f64),
    form: Form<'_>,
    limits: &[Limit],
    driver: &mut Driver<'_>,
) -> Result<(Vec<f64>, Dual)> {
    let pairs = mdp.n_pairs();
    let units = pairs as f64;
    let mut program = Program::default();
    let flow = Flow::add(&mut program, mdp, (xi, restart), limits, units);
    let mut floors = None;
    // what the program's objective and its prices have to be multiplied by to be in the utility's
    // units
    let (mut scale, mut price_scale) = (1.0, 1.0);
    match form {
        Form::Average(reward) => program.maximise(reward.iter().copied().enumerate()),
        Form::Entropies(log_weights, tau) => {
            program.maximise(log_weights.iter().copied().enumerate());
            if tau > 0.0 {
                (0..pairs).for_each(|pair| program.entropy(pair, -tau));
            }
            if tau < 1.0 {
                let visits = program.variables(mdp.n_states(), 0.0);
                program.equal((0..mdp.n_states()).map(|s| {
                    let own = mdp.pairs(s).map(|pair| (pair, -1.0));
                    (own.chain([(visits + s, 1.0)]), 0.0)
                }));
                (0..mdp.n_states()).for_each(|s| program.entropy(visits + s, tau - 1.0));
            }
        }
        Form::Floor(wanted) => {
            let mean = wanted.iter().sum::<f64>() / units;
            let level = program.variables(1, -1.0);
            let floor = |(pair, b): (usize, &f64)| ([(level, b / mean), (pair, -1.0)], 0.0);
            floors = Some(program.at_most(wanted.iter().enumerate().map(floor)));
            price_scale = 1.0 / mean;
        }
        Form::Inverse(c, had) => {
            let mean = c.iter().sum::<f64>() / units;
            for (pair, c) in c.iter().enumerate().filter(|(_, c)| **c > 0.0) {
                let height = program.variables(1, c / mean);
                let tries = program.variables(1, 0.0);
                program.equal([([(tries, 1.0), (pair, -1.0)], had[pair] * units)]);
                program.inverse(height, tries);
            }
            scale = mean * units * units;
        }
    }
    let answer = program.solve(driver)?;
    let occupancy = answer.x[..pairs].iter();
    let occupancy = occupancy.map(|x| (x / units).max(0.0)).collect();
    let times = |numbers: &[f64]| -> Vec<f64> { numbers.iter().map(|x| x * scale).collect() };
    let r = match floors {
        Some(rows) => positive(&answer, &rows),
        None => {
            let gradient = flow.gradient(mdp, (xi, restart), limits, &answer);
            let gradient = gradient.iter().map(|r| (r * scale).max(0.0));
            gradient.collect()
        }
    };
    let dual = Dual {
        r,
        v: times(&answer.multipliers[flow.balance]),
        prices: times(&positive(&answer, &flow.limits)),
        price_scale,
    };
    Ok((occupancy, dual))
}

/// The rows that make the first variables, one per pair, a stationary state-action distribution
/// $\omega$ within limits.
struct Flow {
    /// The equation of each state's flow: what leaves it less what arrives.
    balance: Range<usize>,
    /// The equation $\sum \omega = 1$.
    total: Range<usize>,
    /// The inequality of each limit.
    limits: Range<usize>,
    /// The inequality $\omega(s,a) \ge \xi d(s)$ of each pair.
    least: Range<usize>,
}

impl Flow {
    /// Adds $\Omega_\xi$ of [`formulation::occupancy_spec`](crate::formulation::occupancy_spec),
    /// scaled to a sum of `units`, and limits.
    fn add(
        program: &mut Program,
        mdp: &Mdp,
        (xi, restart): (f64, f64),
        limits: &[Limit],
        units: f64,
    ) -> Self {
        let first = program.variables(mdp.n_pairs(), 0.0);
        let all = |pairs: Range<usize>| pairs.map(move |pair| (pair, 1.0));
        let columns = column_sums(program, mdp, first).into_iter().enumerate();
        let balance = program.equal(columns.map(|(t, terms)| {
            let arriving = terms.into_iter().map(|(j, p)| (j, -(1.0 - restart) * p));
            let started = restart * mdp.start()[t] * units;
            (arriving.chain(all(mdp.pairs(t))), started)
        }));
        // with restarts it follows from the others
        let total = (restart == 0.0).then(|| (all(0..mdp.n_pairs()), units));
        let costs = |limit: &Limit| limit.cost.clone().into_iter().enumerate();
        Flow {
            balance,
            total: program.equal(total),
            limits: program.at_most(limits.iter().map(|l| (costs(l), l.budget * units))),
            least: least_shares(program, mdp, xi, first),
        }
    }

    /// The gradient of the utility, from the condition that the Lagrangian is stationary in
    /// $\omega$: with $\lambda$ the multiplier of the sum, $z$ those of $\omega \ge \xi d$ and $y$
    /// those of the limits it is
    /// $r = \lambda + V - (1 - \rho) P V - z + \xi \sum_a z + \sum_j y_j c_j$. So that condition
    /// holds exactly.
    fn gradient(
        &self,
        mdp: &Mdp,
        (xi, restart): (f64, f64),
        limits: &[Limit],
        answer: &Answer,
    ) -> Vec<f64> {
        let v = &answer.multipliers[self.balance.clone()];
        let total: f64 = answer.multipliers[self.total.clone()].iter().sum();
        let least = positive(answer, &self.least);
        let mut r = vec![0.0; mdp.n_pairs()];
        mdp.kernel().times(v, &mut r);
        for (s, v) in v.iter().enumerate() {
            let sum: f64 = least[mdp.pairs(s)].iter().sum();
            for pair in mdp.pairs(s) {
                let moved = (1.0 - restart) * r[pair] - v;
                r[pair] = total - moved - least[pair] + xi * sum;
            }
        }
        for (limit, y) in limits.iter().zip(positive(answer, &self.limits)) {
            for (r, c) in r.iter_mut().zip(&limit.cost) {
                *r += y * c;
            }
        }
        r
    }
}

/// The multipliers of some inequalities; rounding may have left them below zero.
fn positive(answer: &Answer, rows: &Range<usize>) -> Vec<f64> {
    let multipliers = answer.multipliers[rows.clone()].iter();
    multipliers.map(|z| z.max(0.0)).collect()
}
