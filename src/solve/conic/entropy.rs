//! Dual and State Entropy over the exponential cone.

use super::program::Program;
use crate::error::Result;
use crate::formulation::Problem;
use crate::formulation::entropy::Target;
use crate::model::Mdp;

/// Maximises $H(\omega)$ or $H(d)$, for a [`Target`]: weights of states, and $\tau$ times the conditional entropy
/// $H(\omega) - H(d)$ in the latter case. Returns the policy of $\omega$, the potentials $V$ and the iterations.
pub(in crate::solve) fn solve(
    mdp: &Mdp,
    problem: &Problem,
    target: &Target,
    tolerance: f64,
    seconds: f64,
) -> Result<(Vec<f64>, Vec<f64>, usize)> {
    let n = mdp.n_states();
    let mut program = Program::default();
    let flow = program.variables(mdp.n_pairs(), 0.0);
    for s in 0..n {
        for pair in mdp.pairs(s) {
            program.quadratic(flow + pair, 0.0, -target.log_weight(s));
        }
    }
    let spread = super::spread_variable(&mut program, mdp, flow);
    let arrivals = super::column_terms(mdp, flow, spread);
    let mut first = 0;
    for (t, mut terms) in arrivals.into_iter().enumerate() {
        terms.extend(mdp.pairs(t).map(|pair| (flow + pair, -1.0)));
        let row = program.equal(terms, 0.0);
        if t == 0 {
            first = row;
        }
    }
    program.equal((0..mdp.n_pairs()).map(|pair| (flow + pair, 1.0)), 1.0);
    for s in 0..n {
        for pair in mdp.pairs(s) {
            let share = mdp.pairs(s).map(|other| (flow + other, problem.xi));
            program.at_most(share.chain([(flow + pair, -1.0)]), 0.0);
        }
    }
    // H(d) + tau (H(omega) - H(d))
    let tau = target.temperature(problem.formulation);
    if tau > 0.0 {
        for pair in 0..mdp.n_pairs() {
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
    let answer = program.solve(tolerance, seconds)?;
    let omega = &answer.x[flow..flow + mdp.n_pairs()];
    // minimising -H: stationarity reads ln omega + 1 + ... + V(arrivals) - V(s) = 0, so the
    // potentials of the maximisation are the negated multipliers
    let potentials = (0..n).map(|t| -answer.equal[first + t]).collect();
    Ok((omega.to_vec(), potentials, answer.iterations))
}
