//! Maximise a concave function of one's own of what is visited.
#![allow(clippy::print_stdout)]

use ide3al::domains;
use ide3al::formulation::occupancy_spec::OccupancySpec;
use ide3al::formulation::utility::Utility;
use ide3al::solve::{Options, solve_utility};

/// Minus the sum of squares: as even as possible over state-action pairs, in the Euclidean sense.
struct Spread;

impl Utility for Spread {
    fn value(&self, omega: &[f64]) -> f64 {
        -omega.iter().map(|share| share * share).sum::<f64>()
    }

    fn gradient(&self, omega: &[f64], out: &mut [f64]) {
        for (slope, share) in out.iter_mut().zip(omega) {
            *slope = -2.0 * share;
        }
    }
}

pub(crate) fn main() -> ide3al::Result<()> {
    let mdp = domains::load("double-chain")?;
    let options = Options {
        tolerance: 1e-4,
        ..Options::default()
    };
    let solution = solve_utility(
        &mdp,
        &Spread,
        0.05,
        &OccupancySpec::default(),
        &options,
        &mut (),
    )?;
    println!(
        "{:.5}, at most {:.1e} from the best",
        solution.certificate.objective, solution.certificate.gap
    );
    Ok(())
}
