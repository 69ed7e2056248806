//! What is to be visited: every finite value of the reference file by the methods of the library,
//! which ask nobody, and by the conic solver.

#![allow(clippy::unwrap_used)]

use ide3al::formulation::occupancy_spec::{Limit, OccupancySpec};
use ide3al::formulation::{Formulation, Problem};
use ide3al::model::Mdp;
use ide3al::solve::{Options, SolverChoice, Status, solve_visits};
use serde_json::Value;

fn numbers(value: &Value) -> Vec<f64> {
    value
        .as_array()
        .unwrap()
        .iter()
        .flat_map(|x| match x.as_f64() {
            Some(x) => vec![x],
            None => numbers(x),
        })
        .collect()
}

/// The models of the file with their cases.
fn reference() -> Vec<(String, Mdp, Vec<Value>)> {
    let path = std::env::var("OCCUPANCY_REFERENCE").unwrap_or_else(|_| {
        concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/occupancy.json").into()
    });
    let text = std::fs::read_to_string(path).unwrap();
    let models: Vec<Value> = serde_json::from_str(&text).unwrap();
    let of = |model: &Value| {
        let count = |key: &str| model[key].as_u64().unwrap() as usize;
        let triplets = model["transitions"].as_array().unwrap().iter().map(|t| {
            let place = |k: usize| t[k].as_u64().unwrap() as usize;
            (place(0), place(1), place(2), t[3].as_f64().unwrap())
        });
        let mdp = Mdp::from_triplets(count("states"), count("actions"), triplets)
            .unwrap()
            .with_start_state(0)
            .unwrap();
        let cases = model["cases"].as_array().unwrap().clone();
        (model["name"].as_str().unwrap().to_owned(), mdp, cases)
    };
    models.iter().map(of).collect()
}

/// The problem behind a value of a case.
fn problem(case: &Value, key: &str) -> (Problem, OccupancySpec) {
    let formulation = match key {
        "limited" => Formulation::StateEntropy,
        other => Formulation::from_name(other).unwrap(),
    };
    let mut visits = OccupancySpec {
        restart: case["restart"].as_f64().unwrap(),
        ..OccupancySpec::default()
    };
    match key {
        "target" => visits.target = numbers(&case["target_distribution"]),
        "coverage" => visits.wanted = numbers(&case["wanted"]),
        "limited" => visits.limits.push(Limit {
            cost: numbers(&case["cost"]),
            budget: case["budget"].as_f64().unwrap(),
        }),
        _ => {}
    }
    let problem = Problem {
        xi: case["xi"].as_f64().unwrap(),
        ..Problem::new(formulation)
    };
    (problem, visits)
}

fn check(solver: SolverChoice) {
    let (mut failures, mut checked) = (Vec::new(), 0);
    let options = Options {
        solver,
        ..Options::default()
    };
    for (name, mdp, cases) in reference() {
        for case in &cases {
            for key in [
                "state_entropy",
                "dual",
                "target",
                "coverage",
                "model_error",
                "limited",
            ] {
                let Some(expected) = case["optima"][key].as_f64() else {
                    continue;
                };
                checked += 1;
                let (problem, visits) = problem(case, key);
                let found = solve_visits(&mdp, &problem, &visits, &options, None, &mut ());
                let what = format!("{name} {key} xi {} restart {}", problem.xi, visits.restart);
                let solution = match found {
                    Ok(solution) => solution,
                    Err(e) => {
                        failures.push(format!("{what}: {e}"));
                        continue;
                    }
                };
                let c = solution.certificate;
                let size = if key == "model_error" {
                    expected.max(1.0)
                } else {
                    1.0
                };
                if !(c.gap <= 1e-6 * size && (c.objective - expected).abs() <= 1e-6 * size) {
                    failures.push(format!("{what}: {c:?}, reference {expected}"));
                }
                for limit in &solution.limits {
                    if limit.value > limit.budget + 1e-9 || limit.price < 0.0 {
                        failures.push(format!("{what}: {limit:?}"));
                    }
                }
                // "none": every policy has the same value
                let own = solver == SolverChoice::Auto;
                let right = solution.solver == "none" || (solution.solver != "conic") == own;
                if !right || (own && c.status != Status::Optimal) {
                    failures.push(format!("{what}: {:?} by {}", c.status, solution.solver));
                }
            }
        }
    }
    assert!(checked > 300, "{checked}");
    assert!(
        failures.is_empty(),
        "{}\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn reference_values_by_the_own_methods() {
    check(SolverChoice::Auto);
}

#[test]
fn reference_values_by_the_conic_solver() {
    check(SolverChoice::Conic);
}
