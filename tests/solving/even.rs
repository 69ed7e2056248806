//! Models that some policy visits evenly: all distances vanish there, and one policy is the nearest.

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

/// Without entries above zeta the even policies are the same for all distances, so the nearest one is, too; and it is the one
/// that the tie-break finds on the optimal face that it is led to by another solver.
#[test]
fn one_policy_for_all_distances_and_both_roads() {
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

/// Where zeta forbids entries that the nearest even policy has, another even one is found, and where it forbids all of them the
/// distance is what the other solver says.
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
