//! Visit states in given proportions, while the average cost of the actions stays within a budget.
#![allow(clippy::print_stdout)]

use ide3al::domains;
use ide3al::formulation::occupancy_spec::{Limit, OccupancySpec};
use ide3al::formulation::{Formulation, Problem};
use ide3al::solve::{Options, solve_visits};

pub(crate) fn main() -> ide3al::Result<()> {
    let mdp = domains::load("river-swim")?;
    let n = mdp.n_states();
    // the last state twice as often as any other
    let weight = |state: usize| if state + 1 == n { 2.0 } else { 1.0 };
    let target = (0..n).map(|s| weight(s) / (n as f64 + 1.0)).collect();
    // swimming up the river costs 1 a step, drifting nothing
    let cost = (0..n)
        .flat_map(|s| (0..mdp.n_actions(s)).map(|action| action as f64))
        .collect();
    let visits = OccupancySpec {
        target,
        limits: vec![Limit { cost, budget: 0.8 }],
        ..OccupancySpec::default()
    };
    let problem = Problem::new(Formulation::Target);
    let solution = solve_visits(&mdp, &problem, &visits, &Options::default(), None, &mut ())?;
    let limit = solution.limits[0];
    println!(
        "divergence {:.4} nats; cost {:.3} of {:.3}, whose price is {:.4} nats per unit",
        solution.certificate.objective, limit.value, limit.budget, limit.price
    );
    Ok(())
}
