//! Wanted samples in the fewest steps, as a linear program.

use super::program::Program;
use crate::error::Result;
use crate::model::Mdp;
use crate::solve::driver::Driver;

/// Minimises the visits $\sum x$ over flows $x \ge b$ with $\sum_a x(t,a) = \sum P(t|s,a) x(s,a)$. Returns $x$ and the potentials $V$.
pub(in crate::solve) fn solve(
    mdp: &Mdp,
    wanted: &[f64],
    driver: &mut Driver<'_>,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let mut program = Program::default();
    let flow = program.variables(mdp.n_pairs(), 1.0);
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
    for (pair, b) in wanted.iter().enumerate() {
        program.at_most([(flow + pair, -1.0)], -b);
    }
    let answer = program.solve(driver)?;
    let x = answer.x[flow..flow + mdp.n_pairs()].to_vec();
    let n = mdp.n_states();
    Ok((x, answer.equal[first..first + n].to_vec()))
}
