//! Models that some policy visits evenly: all distances vanish there, and one policy is the
//! nearest.

#![allow(clippy::unwrap_used)]

use super::estimated::estimate;
use ide3al::domains;
use ide3al::formulation::{Formulation, Problem};
use ide3al::model::{Mdp, Policy};
use ide3al::solve::{Options, Solution, SolverChoice, Status, TieBreak, solve};

const DISTANCES: [Formulation; 3] = [
    Formulation::ColumnSum,
    Formulation::Infinity,
    Formulation::Frobenius,
];

fn by(mdp: &Mdp, formulation: Formulation, xi: f64, zeta: f64, solver: SolverChoice) -> Solution {
    let zeta = if formulation.takes_zeta() { zeta } else { 1.0 };
    let problem = Problem {
        formulation,
        xi,
        zeta,
    };
    let options = Options {
        solver,
        tie_break: TieBreak::Uniform,
        ..Options::default()
    };
    let found = solve(mdp, &problem, &options, None, &mut ()).unwrap();
    assert_eq!(found.certificate.status, Status::Optimal, "{problem:?}");
    found
}

fn apart(a: &Policy, b: &Policy) -> f64 {
    let pairs = a.probabilities().iter().zip(b.probabilities());
    pairs.fold(0.0, |most: f64, (a, b)| most.max((a - b).abs()))
}

/// Without entries above zeta the even policies are the same for all distances, so the nearest one
/// is, too; and it is the one that the tie-break finds on the optimal face that it is led to by
/// another solver.
#[test]
fn one_policy_for_all_distances_and_both_solvers() {
    for (spec, every, floors) in [
        (
            "garnet:states=60,actions=6,branching=2,seed=21",
            None,
            &[0.0, 0.03][..],
        ),
        (
            "garnet:states=40,actions=4,branching=5,seed=3",
            None,
            &[0.0, 0.01],
        ),
        (
            "garnet:states=40,actions=6,branching=3,seed=3",
            Some(2),
            &[0.0],
        ),
    ] {
        let mdp = every.map_or_else(
            || domains::load(spec).unwrap(),
            |every| estimate(spec, every),
        );
        for &xi in floors {
            let first = by(&mdp, Formulation::ColumnSum, xi, 1.0, SolverChoice::Auto);
            for formulation in DISTANCES {
                for solver in [SolverChoice::Auto, SolverChoice::Conic] {
                    let found = by(&mdp, formulation, xi, 1.0, solver);
                    assert!(found.certificate.objective < 1e-7, "{spec} {formulation:?}");
                    let apart = apart(&found.policy, &first.policy);
                    assert!(apart < 1e-4, "{spec} {formulation:?} {solver:?}: {apart}");
                }
                let exact = by(&mdp, formulation, xi, 1.0, SolverChoice::Auto);
                assert!(
                    exact.certificate.objective < 1e-11,
                    "{spec} {formulation:?}"
                );
                assert!(apart(&exact.policy, &first.policy) < 1e-9);
            }
        }
    }
}

/// Where zeta forbids entries that the nearest even policy has, another even one is found, and
/// where it forbids all of them the distance is what the other solver says.
#[test]
fn entries_above_zeta_are_avoided() {
    let spec = "garnet:states=60,actions=6,branching=2,seed=21";
    let mdp = domains::load(spec).unwrap();
    let free = by(&mdp, Formulation::Frobenius, 0.0, 1.0, SolverChoice::Auto);
    let largest = |policy: &Policy| {
        let dense = mdp.chain(policy).kernel().to_dense();
        dense.into_iter().flatten().fold(0.0, f64::max)
    };
    let zeta = largest(&free.policy) - 0.05;
    for formulation in [Formulation::Infinity, Formulation::Frobenius] {
        let found = by(&mdp, formulation, 0.0, zeta, SolverChoice::Auto);
        assert!(found.certificate.objective < 1e-11);
        assert!(largest(&found.policy) <= zeta + 1e-9);
        assert!(apart(&found.policy, &free.policy) > 1e-3);
        let tight = by(&mdp, formulation, 0.0, 0.2, SolverChoice::Auto);
        let other = by(&mdp, formulation, 0.0, 0.2, SolverChoice::Conic);
        let gap = tight.certificate.objective - other.certificate.objective;
        assert!(gap.abs() < 1e-6, "{formulation:?}: {gap}");
        assert!(tight.certificate.objective > 1e-3);
    }
}

/// A warm start that is even but not the nearest such policy is good enough to be optimal; the
/// tie-break goes on from there.
#[test]
fn an_even_warm_start_is_not_the_end() {
    let mdp = domains::load("garnet:states=40,actions=4,branching=5,seed=3").unwrap();
    let problem = Problem::new(Formulation::Frobenius);
    let options = Options::default();
    let cold = solve(&mdp, &problem, &options, None, &mut ()).unwrap();
    // even, too, but with another floor
    let other = Problem {
        xi: 0.01,
        ..problem
    };
    let other = solve(&mdp, &other, &options, None, &mut ()).unwrap();
    assert!(apart(&other.policy, &cold.policy) > 1e-3);
    for warm in [&cold, &other] {
        let again = solve(&mdp, &problem, &options, Some(warm), &mut ()).unwrap();
        assert!(apart(&again.policy, &cold.policy) < 1e-9);
        assert!(again.notes.iter().all(|n| !n.contains("tie-break")));
    }
}

/// The search counts, and ends, as all other steps do.
#[test]
fn no_more_steps_than_allowed() {
    let mdp = domains::load("garnet:states=40,actions=4,branching=5,seed=3").unwrap();
    for formulation in DISTANCES {
        for most in [1, 3] {
            let options = Options {
                max_iterations: most,
                tie_break: TieBreak::None,
                ..Options::default()
            };
            let problem = Problem::new(formulation);
            let found = solve(&mdp, &problem, &options, None, &mut ()).unwrap();
            assert!(found.certificate.iterations <= most, "{formulation:?}");
            assert_ne!(found.certificate.status, Status::Optimal, "{formulation:?}");
        }
    }
}
