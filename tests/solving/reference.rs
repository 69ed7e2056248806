//! Every instance of the reference file, solved by each solver, and the solvers' agreement.

#![allow(clippy::unwrap_used)]

use crate::common::reference;
use ide3al::chain::{entropy, stationary::long_run};
use ide3al::formulation::{Formulation, Problem};
use ide3al::model::Policy;
use ide3al::solve::{Options, Solution, SolverChoice, TieBreak, solve};

/// The reference file, and ten seeds (101 to 110) that nobody developed on.
fn instances() -> Vec<crate::common::Case> {
    let mut cases = reference("optima.json");
    let fresh = reference("optima-fresh.json").into_iter();
    cases.extend(fresh.filter(|case| case.name.starts_with("garnet")));
    cases
}

fn problem(formulation: Formulation, setting: &serde_json::Value) -> Problem {
    Problem {
        formulation,
        xi: setting["xi"].as_f64().unwrap(),
        zeta: setting["zeta"].as_f64().unwrap(),
    }
}

fn options(solver: SolverChoice, tie_break: TieBreak) -> Options {
    Options {
        solver,
        tie_break,
        ..Options::default()
    }
}

/// Gap at most 1e-7 and objective within 1e-6 of the reference, cold and from a random point.
fn check(formulation: Formulation, solver: SolverChoice) {
    let key = formulation.name().replace('-', "_");
    let mut failures = Vec::new();
    for case in instances() {
        for setting in &case.optima {
            let problem = problem(formulation, setting);
            let options = options(solver, TieBreak::None);
            let expected = setting[&key].as_f64().unwrap();
            let mut warm: Option<Solution> = None;
            for round in 0..2 {
                let solution =
                    solve(&case.mdp, &problem, &options, warm.as_ref(), &mut ()).unwrap();
                let c = solution.certificate;
                if c.gap > 1e-7 || (c.objective - expected).abs() > 1e-6 {
                    failures.push(format!(
                        "{} {problem:?} round {round}: {c:?}, reference {expected}",
                        case.name
                    ));
                }
                if solver == SolverChoice::Conic {
                    break;
                }
                // an irregular policy and dual point to start from
                let mut start = solution;
                let mut weights: Vec<f64> = (0..case.mdp.n_pairs())
                    .map(|i| (i as f64 * 0.618).fract() + 0.01)
                    .collect();
                for s in 0..case.mdp.n_states() {
                    let row = &mut weights[case.mdp.pairs(s)];
                    let sum: f64 = row.iter().sum();
                    row.iter_mut().for_each(|w| *w /= sum);
                }
                start.policy = Policy::new(&case.mdp, weights).unwrap();
                for (i, y) in start.dual.iter_mut().enumerate() {
                    *y = (i as f64 * 0.377).fract() - 0.5;
                }
                warm = Some(start);
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// With the tie-break both solvers give the same steady-state entropy.
fn agree(formulation: Formulation) {
    let mut failures = Vec::new();
    for case in instances() {
        for setting in &case.optima {
            let problem = problem(formulation, setting);
            let entropy_of = |solver| {
                let options = options(solver, TieBreak::Uniform);
                let solution = solve(&case.mdp, &problem, &options, None, &mut ()).unwrap();
                let d = long_run(&case.mdp.chain(&solution.policy)).distribution;
                (entropy::entropy(&d), solution)
            };
            let (first, a) = entropy_of(SolverChoice::Conic);
            let (second, b) = entropy_of(SolverChoice::Auto);
            let apart = a.policy.distance(&b.policy);
            if (first - second).abs() > 1e-6 || a.certificate.gap > 1e-7 || b.certificate.gap > 1e-7
            {
                failures.push(format!(
                    "{} {problem:?}: H {first} against {second}, policies apart {apart:e}, {:?} {:?}",
                    case.name, a.certificate, b.certificate
                ));
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

macro_rules! each {
    ($($formulation:ident: $conic:ident $structured:ident $agree:ident;)*) => {$(
        #[test]
        fn $conic() {
            check(Formulation::$formulation, SolverChoice::Conic);
        }
        #[test]
        fn $structured() {
            check(Formulation::$formulation, SolverChoice::Auto);
        }
        #[test]
        fn $agree() {
            agree(Formulation::$formulation);
        }
    )*};
}

each! {
    Infinity: infinity_conic infinity_structured infinity_methods_agree;
    Frobenius: frobenius_conic frobenius_structured frobenius_methods_agree;
    ColumnSum: column_sum_conic column_sum_structured column_sum_methods_agree;
    Dual: dual_conic dual_structured dual_methods_agree;
    StateEntropy: state_entropy_conic state_entropy_structured state_entropy_methods_agree;
}
