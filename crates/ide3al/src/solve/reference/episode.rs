//! Evenness within an episode over the exponential cone, one flow per step.

use super::program::Program;
use crate::error::Result;
use crate::formulation::episode::Episode;
use crate::model::Mdp;
use crate::solve::driver::Driver;

/// The least average that a logarithm is taken of, where rounding leaves zero or less of a state
/// that is reached.
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
    let arrivals = super::arrivals(mdp, 0..pairs, flow);
    for t in 0..steps {
        let at = |pair: usize| flow + t * pairs + pair;
        // what leaves a state is what came there a step earlier
        program.equal((0..n).map(|s| {
            let before = if t == 0 { &[][..] } else { &arrivals[s] };
            let before = before
                .iter()
                .map(move |(pair, p)| (pair + t * pairs - pairs, -p));
            let own = mdp.pairs(s).map(move |pair| (at(pair), 1.0));
            let started = if t == 0 { mdp.start()[s] } else { 0.0 };
            (own.chain(before), started)
        }));
        super::least_shares(&mut program, mdp, episode.xi, at(0));
    }
    let average = program.variables(n, 0.0);
    let visits =
        |s: usize| (0..steps).flat_map(move |t| mdp.pairs(s).map(move |pair| t * pairs + pair));
    program.equal((0..n).map(|s| {
        let visits = visits(s).map(|k| (flow + k, share));
        (visits.chain([(average + s, -1.0)]), 0.0)
    }));
    for s in (0..n).filter(|&s| reached[s]) {
        program.entropy(average + s, -1.0);
    }
    let answer = program.solve(driver)?;
    let averages = answer.x[average..average + n].iter().zip(reached);
    let u = averages.map(|(d, here)| if *here { -d.max(LEAST).ln() } else { 0.0 });
    Ok((answer.x[..pairs * steps].to_vec(), u.collect()))
}
