//! A utility of the user's own, solved by Frank-Wolfe: the family given as such, and functions that are not what they should be.

#![allow(clippy::unwrap_used)]

use ide3al::domains;
use ide3al::formulation::utility::{Coverage, Entropies, ModelError, Utility, errors};
use ide3al::formulation::visits::{Limit, Visits};
use ide3al::formulation::{Formulation, Problem};
use ide3al::model::Mdp;
use ide3al::solve::{Options, Status, solve_utility, solve_visits};

fn options(tolerance: f64) -> Options {
    Options {
        tolerance,
        max_iterations: 20_000,
        ..Options::default()
    }
}

/// The same problem by name and as a function: values agree to the Frank-Wolfe gap, and the gap is closed.
fn agrees(
    mdp: &Mdp,
    formulation: Formulation,
    utility: &dyn Utility,
    xi: f64,
    visits: &Visits,
    tolerance: f64,
) {
    let problem = Problem {
        xi,
        ..Problem::new(formulation)
    };
    let named = solve_visits(mdp, &problem, visits, &Options::default(), None, &mut ()).unwrap();
    let sign = if formulation.maximises() { 1.0 } else { -1.0 };
    let best = sign * named.certificate.objective;
    let plain = Visits {
        target: Vec::new(),
        wanted: Vec::new(),
        ..visits.clone()
    };
    let own = solve_utility(mdp, utility, xi, &plain, &options(tolerance), &mut ()).unwrap();
    let found = own.certificate;
    eprintln!(
        "{formulation:?}: {best} {} .. {} gap {:.1e} in {} steps, {:.2} s {:?}",
        found.objective, found.bound, found.gap, found.iterations, found.seconds, found.status
    );
    let rounding = 1e-7 * (1.0 + best.abs());
    assert!(found.objective <= best + rounding, "{found:?} {best}");
    assert!(found.bound >= best - rounding, "{found:?} {best}");
    for (limit, given) in own.limits.iter().zip(&visits.limits) {
        assert!(limit.value <= given.budget + 1e-9);
    }
    assert_eq!(found.status, Status::Optimal, "{formulation:?} {found:?}");
}

#[test]
fn the_family_given_as_functions() {
    let mdp = domains::load("double-chain").unwrap();
    let n = mdp.n_states();
    let plain = Visits::default();
    let even = Entropies::new(&mdp, 0.0);
    agrees(&mdp, Formulation::StateEntropy, &even, 0.1, &plain, 1e-6);
    let pairs = Entropies::new(&mdp, 1.0);
    agrees(&mdp, Formulation::Dual, &pairs, 0.0, &plain, 1e-6);
    let q: Vec<f64> = (0..n).map(|s| (1 + s % 3) as f64).collect();
    let sum: f64 = q.iter().sum();
    let target = Visits {
        target: q.iter().map(|x| x / sum).collect(),
        restart: 0.05,
        ..Visits::default()
    };
    let towards = Entropies::towards(&mdp, &target.target);
    agrees(&mdp, Formulation::Target, &towards, 0.05, &target, 1e-6);
    let limited = Visits {
        limits: vec![Limit {
            cost: (0..mdp.n_pairs())
                .map(|pair| f64::from(pair < 10))
                .collect(),
            budget: 0.1,
        }],
        ..Visits::default()
    };
    agrees(&mdp, Formulation::StateEntropy, &even, 0.1, &limited, 1e-6);
    let error = ModelError::new(errors(&mdp));
    agrees(&mdp, Formulation::ModelError, &error, 0.1, &plain, 1.0);
}
