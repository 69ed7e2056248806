//! A utility of the user's own, solved by Frank-Wolfe: the family given as such, and functions that
//! are not what they should be.

#![allow(clippy::unwrap_used)]

use ide3al::domains;
use ide3al::formulation::occupancy_spec::{Limit, OccupancySpec};
use ide3al::formulation::utility::{Coverage, Entropies, ModelError, Utility, errors};
use ide3al::formulation::{Formulation, Problem};
use ide3al::model::Mdp;
use ide3al::solve::{Options, SolverChoice, Status, solve_utility, solve_visits};

fn options(tolerance: f64) -> Options {
    Options {
        tolerance: if tolerance.is_finite() {
            tolerance
        } else {
            0.0
        },
        max_iterations: 20_000,
        ..Options::default()
    }
}

/// The same problem by name and as a function: values agree to the Frank-Wolfe gap, which is closed
/// unless the tolerance is infinite.
fn agrees(
    mdp: &Mdp,
    formulation: Formulation,
    utility: &dyn Utility,
    xi: f64,
    visits: &OccupancySpec,
    tolerance: f64,
) {
    let problem = Problem {
        xi,
        ..Problem::new(formulation)
    };
    let named = solve_visits(mdp, &problem, visits, &Options::default(), None, &mut ()).unwrap();
    let sign = if formulation.maximises() { 1.0 } else { -1.0 };
    let best = sign * named.certificate.objective;
    let plain = OccupancySpec {
        target: Vec::new(),
        wanted: Vec::new(),
        ..visits.clone()
    };
    let own = solve_utility(mdp, utility, xi, &plain, &options(tolerance), &mut ()).unwrap();
    let found = own.certificate;
    let rounding = 1e-7 * (1.0 + best.abs());
    assert!(found.objective <= best + rounding, "{found:?} {best}");
    assert!(found.bound >= best - rounding, "{found:?} {best}");
    for (limit, given) in own.limits.iter().zip(&visits.limits) {
        assert!(limit.value <= given.budget + 1e-9);
    }
    if tolerance.is_finite() {
        assert_eq!(found.status, Status::Optimal, "{formulation:?} {found:?}");
    }
}

#[test]
fn the_family_given_as_functions() {
    let mdp = domains::load("double-chain").unwrap();
    let n = mdp.n_states();
    let plain = OccupancySpec::default();
    let even = Entropies::new(&mdp, 0.0);
    agrees(&mdp, Formulation::StateEntropy, &even, 0.1, &plain, 1e-6);
    let pairs = Entropies::new(&mdp, 1.0);
    agrees(&mdp, Formulation::Dual, &pairs, 0.0, &plain, 1e-6);
    let q: Vec<f64> = (0..n).map(|s| (1 + s % 3) as f64).collect();
    let sum: f64 = q.iter().sum();
    let target = OccupancySpec {
        target: q.iter().map(|x| x / sum).collect(),
        restart: 0.05,
        ..OccupancySpec::default()
    };
    let towards = Entropies::towards(&mdp, &target.target);
    agrees(&mdp, Formulation::Target, &towards, 0.05, &target, 1e-6);
    let limited = OccupancySpec {
        limits: vec![Limit {
            cost: (0..mdp.n_pairs())
                .map(|pair| f64::from(pair < 10))
                .collect(),
            budget: 0.1,
        }],
        ..OccupancySpec::default()
    };
    agrees(&mdp, Formulation::StateEntropy, &even, 0.1, &limited, 1e-6);
    let error = ModelError::new(errors(&mdp));
    agrees(&mdp, Formulation::ModelError, &error, 0.1, &plain, 1.0);
}

/// Samples had beside those to come: the interior-point method, the conic solver and Frank-Wolfe
/// agree.
#[test]
fn samples_had_count_by_three_solvers() {
    let mdp = domains::load("double-chain").unwrap();
    let n = mdp.n_pairs();
    let visits = OccupancySpec {
        errors: (0..n).map(|pair| 0.1 + 0.01 * pair as f64).collect(),
        had: (0..n).map(|pair| 0.02 * (pair % 4) as f64).collect(),
        ..OccupancySpec::default()
    };
    let problem = Problem {
        xi: 0.05,
        ..Problem::new(Formulation::ModelError)
    };
    let values: Vec<f64> = [SolverChoice::Auto, SolverChoice::Conic]
        .map(|solver| {
            let options = Options {
                solver,
                ..Options::default()
            };
            let found = solve_visits(&mdp, &problem, &visits, &options, None, &mut ()).unwrap();
            let certificate = found.certificate;
            assert!(
                certificate.gap <= 1e-6 * certificate.objective,
                "{certificate:?}"
            );
            certificate.objective
        })
        .to_vec();
    let error = ModelError::beside(visits.errors.clone(), visits.had.clone());
    let plain = OccupancySpec::default();
    let own = solve_utility(&mdp, &error, 0.05, &plain, &options(1e-4), &mut ()).unwrap();
    assert!(
        (values[0] - values[1]).abs() <= 1e-5 * values[0],
        "{values:?}"
    );
    assert!(-own.certificate.objective >= values[0] - 1e-4);
    assert!(-own.certificate.bound <= values[0] + 1e-4);
    // what is had makes the error smaller
    let none = OccupancySpec {
        had: Vec::new(),
        ..visits.clone()
    };
    let more = solve_visits(&mdp, &problem, &none, &Options::default(), None, &mut ()).unwrap();
    assert!(more.certificate.objective > 1.2 * values[0]);
}

/// Coverage has corners, where Frank-Wolfe stops short; what it proves holds all the same.
#[test]
fn a_function_with_corners_is_bounded() {
    let mdp = domains::load("double-chain").unwrap();
    let least = Coverage::new(vec![1.0; mdp.n_pairs()]);
    let plain = OccupancySpec::default();
    agrees(
        &mdp,
        Formulation::Coverage,
        &least,
        0.0,
        &plain,
        f64::INFINITY,
    );
}

/// A utility made of two closures.
struct Made<V, G>(V, G);

impl<V: Fn(&[f64]) -> f64, G: Fn(f64) -> f64> Utility for Made<V, G> {
    fn value(&self, omega: &[f64]) -> f64 {
        (self.0)(omega)
    }
    fn gradient(&self, omega: &[f64], out: &mut [f64]) {
        for (out, x) in out.iter_mut().zip(omega) {
            *out = (self.1)(*x);
        }
    }
}

fn refused(utility: &dyn Utility, expected: &str) {
    let mdp = domains::load("single-chain").unwrap();
    let found = solve_utility(
        &mdp,
        utility,
        0.1,
        &OccupancySpec::default(),
        &options(1e-6),
        &mut (),
    );
    let error = found.unwrap_err().to_string();
    assert!(error.contains(expected), "{error}");
}

#[test]
fn what_is_not_concave_or_no_number_is_refused() {
    let squares = |omega: &[f64]| omega.iter().map(|x| x * x).sum::<f64>();
    refused(&Made(squares, |x| 2.0 * x), "not concave");
    // the gradient of another function
    let roots = |omega: &[f64]| omega.iter().map(|x| x.sqrt()).sum::<f64>();
    refused(&Made(roots, |x: f64| 0.1 / x.sqrt()), "not concave");
    refused(&Made(|_: &[f64]| f64::NAN, |_| 0.0), "utility = NaN");
    refused(&Made(roots, |_| f64::NAN), "gradient NaN");
    // fine where it is looked at first, no number further on
    let half = |x: f64| if x > 0.08 { f64::NAN } else { 1.0 - x };
    refused(&Made(roots, half), "gradient NaN");
}

#[test]
fn limits_that_cannot_be_met_say_by_how_much() {
    let mdp = domains::load("double-chain").unwrap();
    let visits = OccupancySpec {
        limits: vec![Limit {
            cost: (0..mdp.n_pairs())
                .map(|pair| f64::from(pair % 2 == 0))
                .collect(),
            budget: 0.05,
        }],
        ..OccupancySpec::default()
    };
    let even = Entropies::new(&mdp, 0.0);
    let found = solve_utility(&mdp, &even, 0.1, &visits, &options(1e-6), &mut ());
    let error = found.unwrap_err().to_string();
    assert!(error.contains("least attainable value is 0.1"), "{error}");
}

#[test]
fn a_time_limit_leaves_a_policy_and_a_bound() {
    let mdp = domains::load("garnet:states=3000,actions=4,branching=5,seed=3").unwrap();
    let even = Entropies::new(&mdp, 0.0);
    let options = Options {
        time_limit: Some(std::time::Duration::from_millis(300)),
        ..Options::default()
    };
    let found = solve_utility(
        &mdp,
        &even,
        0.05,
        &OccupancySpec::default(),
        &options,
        &mut (),
    )
    .unwrap();
    assert_eq!(found.certificate.status, Status::TimeLimit);
    assert!(found.certificate.objective > 7.0, "{found:?}");
    assert!(found.certificate.bound >= found.certificate.objective);
}
