//! Every instance of the reference file, solved by each road.

use ide3al::formulation::{Formulation, Problem};
use ide3al::model::Mdp;
use ide3al::solve::{Options, SolverChoice, TieBreak, solve};

fn check(formulation: Formulation, solver: SolverChoice) {
    let text = std::fs::read_to_string("tests/data/optima.json").unwrap();
    let cases: serde_json::Value = serde_json::from_str(&text).unwrap();
    let key = formulation.name().replace('-', "_");
    let mut worst = (0.0f64, 0.0f64);
    for case in cases.as_array().unwrap() {
        let triplets = case["transitions"].as_array().unwrap().iter().map(|e| {
            (
                e[0].as_u64().unwrap() as usize,
                e[1].as_u64().unwrap() as usize,
                e[2].as_u64().unwrap() as usize,
                e[3].as_f64().unwrap(),
            )
        });
        let mdp = Mdp::from_triplets(
            case["states"].as_u64().unwrap() as usize,
            case["actions"].as_u64().unwrap() as usize,
            triplets,
        )
        .unwrap();
        for setting in case["optima"].as_array().unwrap() {
            let problem = Problem {
                formulation,
                xi: setting["xi"].as_f64().unwrap(),
                zeta: setting["zeta"].as_f64().unwrap(),
            };
            let options = Options {
                solver,
                tie_break: TieBreak::None,
                max_iterations: 100_000,
                ..Options::default()
            };
            let solution = solve(&mdp, &problem, &options, None, &mut ()).unwrap();
            let c = solution.certificate;
            let expected = setting[&key].as_f64().unwrap();
            let error = (c.objective - expected).abs();
            worst = (worst.0.max(c.gap), worst.1.max(error));
            if c.gap > 1e-7 || error > 1e-6 {
                println!("{} {problem:?}: {c:?}, reference {expected}", case["name"]);
            }
        }
    }
    println!(
        "{formulation:?} {solver:?}: worst gap {:e}, worst error {:e}",
        worst.0, worst.1
    );
    assert!(worst.0 <= 1e-7 && worst.1 <= 1e-6);
}

#[test]
fn column_sum_conic() {
    check(Formulation::ColumnSum, SolverChoice::Conic);
}
#[test]
fn infinity_conic() {
    check(Formulation::Infinity, SolverChoice::Conic);
}
#[test]
fn frobenius_conic() {
    check(Formulation::Frobenius, SolverChoice::Conic);
}
#[test]
fn frobenius_structured() {
    check(Formulation::Frobenius, SolverChoice::Structured);
}
#[test]
fn dual_conic() {
    check(Formulation::Dual, SolverChoice::Conic);
}
#[test]
fn dual_structured() {
    check(Formulation::Dual, SolverChoice::Structured);
}
#[test]
fn state_entropy_conic() {
    check(Formulation::StateEntropy, SolverChoice::Conic);
}
#[test]
fn state_entropy_structured() {
    check(Formulation::StateEntropy, SolverChoice::Structured);
}
#[test]
fn column_sum_structured() {
    check(Formulation::ColumnSum, SolverChoice::Structured);
}
#[test]
fn infinity_structured() {
    check(Formulation::Infinity, SolverChoice::Structured);
}
