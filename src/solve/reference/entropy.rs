//! Dual and State Entropy over the exponential cone.

use super::Flow;
use super::program::{Program, pick};
use crate::error::Result;
use crate::formulation::Problem;
use crate::formulation::entropy::Target;
use crate::model::Mdp;
use crate::solve::driver::Driver;

/// Maximises $H(\omega)$ (the paper's (10)) or $H(d)$ (its (3)), for a [`Target`]: weights of states, and $\tau$ times the
/// conditional entropy $H(\omega) - H(d)$ in the latter case. Returns $\omega$ and the potentials $V$, the multipliers of the flows.
pub(in crate::solve) fn solve(
    mdp: &Mdp,
    problem: &Problem,
    target: &Target,
    driver: &mut Driver<'_>,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let mut program = Program::default();
    let flow = Flow::add(&mut program, mdp, (problem.xi, 0.0), &[], 1.0);
    let states = 0..mdp.n_states();
    let log_weights = states.flat_map(|s| mdp.pairs(s).map(move |_| target.log_weight(s)));
    let log_weights: Vec<f64> = log_weights.collect();
    let tau = target.temperature(problem.formulation);
    flow.maximise_entropies(&mut program, mdp, &log_weights, tau);
    let mut answer = program.solve(driver)?;
    let potentials = pick(&answer.equal, &flow.balance);
    answer.x.truncate(mdp.n_pairs());
    Ok((answer.x, potentials))
}
