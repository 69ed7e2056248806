//! The most even visits within an episode of some steps, by a policy that depends on the step.
#![allow(clippy::print_stdout)]

use ide3al::domains;
use ide3al::formulation::episode::Episode;
use ide3al::solve::{Options, episode};

pub(crate) fn main() -> ide3al::Result<()> {
    let mdp = domains::load("single-chain")?.with_start_state(0)?;
    for steps in [5, 10, 20] {
        let asked = Episode { steps, xi: 0.0 };
        let solution = episode::solve(&mdp, &asked, &Options::default(), &mut ())?;
        println!(
            "{steps} steps: {:.4} nats, no policy has more than {:.4}",
            solution.certificate.objective, solution.certificate.bound
        );
    }
    Ok(())
}
