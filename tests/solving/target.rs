//! Entropies towards a target: weights of states, and of the entropy of actions.
#![allow(clippy::unwrap_used)]

use ide3al::domains;
use ide3al::formulation::entropy::{self, EntropyWeights};
use ide3al::formulation::{Formulation, Problem};
use ide3al::model::Mdp;
use ide3al::solve::{Options, Solution, SolverChoice, solve, solve_towards};

fn weights(n: usize, seed: f64) -> Vec<f64> {
    (0..n)
        .map(|s| 2.0 * ((s as f64 + seed) * 0.618_033_988_75).fract() - 1.0)
        .collect()
}

fn solved(mdp: &Mdp, problem: &Problem, target: &EntropyWeights, solver: SolverChoice) -> Solution {
    let options = Options {
        solver,
        tolerance: 1e-7,
        ..Options::default()
    };
    solve_towards(mdp, problem, target, &options, None, &mut ()).unwrap()
}

#[test]
fn two_roads_agree_and_the_certificate_holds() {
    for name in [
        "river-swim",
        "single-chain",
        "double-chain",
        "garnet:states=12,seed=3",
    ] {
        let mdp = domains::load(name).unwrap();
        for (k, actions) in [0.0, 0.1, 0.6].into_iter().enumerate() {
            for formulation in [Formulation::Dual, Formulation::StateEntropy] {
                let problem = Problem {
                    xi: 0.02,
                    ..Problem::new(formulation)
                };
                let target = EntropyWeights {
                    log_weights: weights(mdp.n_states(), k as f64),
                    actions,
                };
                let own = solved(&mdp, &problem, &target, SolverChoice::Auto);
                let conic = solved(&mdp, &problem, &target, SolverChoice::Conic);
                let (a, b) = (own.certificate.objective, conic.certificate.objective);
                assert!(
                    (a - b).abs() < 1e-5,
                    "{name} {formulation:?} {actions}: {a} {b}"
                );
                assert!(own.certificate.gap < 1e-6, "{name}: {:?}", own.certificate);
                // the objective is that of the definition
                let (value, _) = entropy::value_towards(&mdp, formulation, &target, &own.policy);
                assert!((value - a).abs() < 1e-9);
                // any potentials bound it
                for seed in [0.5, 1.5, 2.5] {
                    let v = weights(mdp.n_states(), seed);
                    let bound = entropy::bound_towards(&mdp, formulation, &target, problem.xi, &v);
                    assert!(bound >= a - 1e-9, "{bound} {a}");
                }
            }
        }
    }
}

#[test]
fn a_state_of_weight_m_is_m_equal_states() {
    // from 0 to any of `m` twins and back; with one twin of weight m the plan is the same
    let split = |m: usize| {
        let twins = (1..=m).map(move |t| (0, t, t, 1.0));
        let back = (1..=m).map(|t| (t, 0, 0, 1.0));
        let stay = [(0, 0, 0, 1.0)];
        Mdp::from_triplets(m + 1, m + 1, stay.into_iter().chain(twins).chain(back)).unwrap()
    };
    let problem = Problem::new(Formulation::StateEntropy);
    let options = Options::default();
    let many = solve(&split(4), &problem, &options, None, &mut ()).unwrap();
    let target = EntropyWeights {
        log_weights: vec![0.0, 4f64.ln()],
        actions: 0.0,
    };
    let lumped = solved(&split(1), &problem, &target, SolverChoice::Auto);
    let (a, b) = (many.certificate.objective, lumped.certificate.objective);
    assert!((a - b).abs() < 1e-6, "{a} {b}");
    let go: f64 = many.policy.probabilities()[1..5].iter().sum();
    assert!((go - lumped.policy.probabilities()[1]).abs() < 1e-3);
}

#[test]
fn a_loose_gap_is_kept_warm_or_cold() {
    let mdp = domains::load("garnet:states=600,actions=3,branching=4,seed=2").unwrap();
    let target = EntropyWeights {
        log_weights: weights(600, 0.0),
        actions: 0.1,
    };
    let problem = Problem {
        xi: 0.01,
        ..Problem::new(Formulation::StateEntropy)
    };
    let rough = Options {
        relative_tolerance: 2e-3,
        ..Options::default()
    };
    let exact = solved(&mdp, &problem, &target, SolverChoice::Auto);
    let cold = solve_towards(&mdp, &problem, &target, &rough, None, &mut ()).unwrap();
    let warm = solve_towards(&mdp, &problem, &target, &rough, Some(&exact), &mut ()).unwrap();
    for found in [&cold, &warm] {
        let (value, _) = entropy::value_towards(&mdp, problem.formulation, &target, &found.policy);
        assert!(
            value >= exact.certificate.objective * (1.0 - 3e-3),
            "{value}"
        );
        assert!(found.certificate.bound >= exact.certificate.objective - 1e-9);
    }
    assert!(warm.certificate.iterations <= cold.certificate.iterations);
}

#[test]
fn targets_that_make_no_sense_are_refused() {
    let mdp = domains::load("river-swim").unwrap();
    let of = |target: EntropyWeights, formulation| {
        let problem = Problem::new(formulation);
        let options = Options::default();
        solve_towards(&mdp, &problem, &target, &options, None, &mut ())
            .unwrap_err()
            .to_string()
    };
    let target = |log_weights: Vec<f64>, actions| EntropyWeights {
        log_weights,
        actions,
    };
    let short = of(target(vec![0.0; 2], 0.0), Formulation::Dual);
    assert!(short.contains("6, one per state, are needed"), "{short}");
    let endless = of(target(vec![f64::NAN; 6], 0.0), Formulation::StateEntropy);
    assert!(endless.contains("must be positive and finite"), "{endless}");
    let distance = of(target(vec![0.0; 6], 0.0), Formulation::Frobenius);
    assert!(
        distance.contains("only dual and state-entropy"),
        "{distance}"
    );
    let heavy = of(target(Vec::new(), 2.0), Formulation::StateEntropy);
    assert!(heavy.contains("between 0 and 1"), "{heavy}");
}
