//! The strategies of the solvers: the page that shows them, and the names that solves report.

use std::collections::BTreeMap;

use ide3al::domains;
use ide3al::formulation::{Formulation, Problem};
use ide3al::solve::{Options, solve, strategies};

/// `docs/explanation/solvers.md` shows every strategy as the code states it.
#[test]
fn the_page_shows_the_strategies() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/explanation/solvers.md");
    let page = std::fs::read_to_string(page).unwrap();
    for strategy in strategies() {
        let table = strategy.to_string();
        assert!(page.contains(&table), "solvers.md lacks:\n\n{table}");
    }
    let tables = page.matches("\n### ").count();
    assert_eq!(tables, strategies().len(), "solvers.md has other tables");
}

/// What a solve reports as its solver is an engine of its problem's strategy.
#[test]
fn solves_report_engines_of_their_strategy() {
    let mut engines = BTreeMap::<&str, Vec<&str>>::new();
    for strategy in strategies() {
        for problem in &strategy.problems {
            let names = strategy.stages.iter().map(|stage| stage.engine);
            engines.entry(problem).or_default().extend(names);
        }
    }
    for name in ["river-swim", "double-chain", "single-chain"] {
        let mdp = domains::load(name).unwrap();
        for formulation in [Formulation::Dual, Formulation::StateEntropy] {
            let problem = Problem {
                xi: 0.01,
                ..Problem::new(formulation)
            };
            let solution = solve(&mdp, &problem, &Options::default(), None, &mut ()).unwrap();
            let known = &engines[formulation.name()];
            assert!(known.contains(&solution.solver), "{}", solution.solver);
        }
    }
}
