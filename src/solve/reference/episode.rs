//! Evenness within an episode over the exponential cone, one flow per step.

use super::program::Program;
use crate::error::Result;
use crate::formulation::episode::Episode;
use crate::model::Mdp;
use crate::solve::driver::Driver;

/// The least average that a logarithm is taken of, where rounding leaves zero or less of a state that is reached.
const LEAST: f64 = 1e-300;

/// Returns the flows, one per step and pair (zero where nothing is visited), and $u = -\ln \bar d$.
pub(in crate::solve) fn solve(
    mdp: &Mdp,
    episode: &Episode,
    reached: &[bool],
    driver: &mut Driver<'_>,
) -> Result<(Vec<f64>, Vec<f64>)> {
    let (n, pairs, steps) = (mdp.n_states(), mdp.n_pairs(), episode.steps);
    let share = 1.0 / steps as f64;
    let mut program = Program::default();
    let flow = program.variables(pairs * steps, 0.0);
    let arrivals = super::arrivals(mdp, 0..pairs, 0);
    for t in 0..steps {
        let at = |pair: usize| flow + t * pairs + pair;
        for s in 0..n {
            let own = mdp.pairs(s).map(|pair| (at(pair), 1.0));
            if t == 0 {
                program.equal(own, mdp.start()[s]);
            } else {
                let before = arrivals[s].iter();
                let before = before.map(|&(pair, p)| (at(pair) - pairs, -p));
                program.equal(own.chain(before), 0.0);
            }
            // omega_t(s,a) >= xi d_t(s)
            for pair in mdp.pairs(s) {
                let others = mdp.pairs(s).map(|other| {
                    let own = if other == pair { -1.0 } else { 0.0 };
                    (at(other), episode.xi + own)
                });
                program.at_most(others.filter(|(_, v)| *v != 0.0), 0.0);
            }
        }
    }
    let average = program.variables(n, 0.0);
    for s in (0..n).filter(|&s| reached[s]) {
        let visits = (0..steps).flat_map(|t| mdp.pairs(s).map(move |pair| t * pairs + pair));
        let visits = visits.map(|k| (flow + k, share));
        program.equal(visits.chain([(average + s, -1.0)]), 0.0);
        program.entropy(average + s, -1.0);
    }
    for s in (0..n).filter(|&s| !reached[s]) {
        program.equal([(average + s, 1.0)], 0.0);
    }
    let answer = program.solve(driver)?;
    let averages = answer.x[average..average + n].iter().zip(reached);
    let u = averages.map(|(d, here)| if *here { -d.max(LEAST).ln() } else { 0.0 });
    Ok((answer.x[..pairs * steps].to_vec(), u.collect()))
}
