//! Build a model, find the policy that visits its states most evenly, and read the certificate.
#![allow(clippy::print_stdout)]

use ide3al::formulation::{Formulation, Problem};
use ide3al::model::Mdp;
use ide3al::solve::{Options, solve};

pub(crate) fn main() -> ide3al::Result<()> {
    // a ring of six states: action 0 stays, action 1 goes on, but slips one time in ten
    let mdp = Mdp::from_fn(6, 2, |state, action, successors| {
        let next = (state + 1) % 6;
        match action {
            0 => successors.push((state, 1.0)),
            _ => successors.extend([(next, 0.9), (state, 0.1)]),
        }
        true
    })?;
    let problem = Problem {
        xi: 0.1,
        ..Problem::new(Formulation::StateEntropy)
    };
    let solution = solve(&mdp, &problem, &Options::default(), None, &mut ())?;
    let certificate = solution.certificate;
    println!(
        "{:.4} nats; no policy has more than {:.4} ({})",
        certificate.objective,
        certificate.bound,
        certificate.status.name()
    );
    for (state, row) in solution.policy.rows(&mdp).iter().enumerate() {
        println!("state {state}: {row:.3?}");
    }
    Ok(())
}
