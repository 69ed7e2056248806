//! Estimated models: uniform rows kept as one number give the same optima as the same rows
//! written out.

#![allow(clippy::unwrap_used)]

use ide3al::domains;
use ide3al::formulation::{Formulation, Problem};
use ide3al::model::{Counts, Mdp, Unvisited};
use ide3al::solve::{Options, SolverChoice, TieBreak, solve};

/// Counts some transitions of a domain, state by state, leaving many pairs unvisited.
pub(super) fn estimate(spec: &str, every: usize) -> Mdp {
    let mdp = domains::load(spec).unwrap();
    let actions: Vec<usize> = (0..mdp.n_states()).map(|s| mdp.n_actions(s)).collect();
    let mut counts = Counts::new(&actions);
    for s in 0..mdp.n_states() {
        for (a, pair) in mdp.pairs(s).enumerate() {
            if (s * 7 + a * 3) % every != 0 {
                for (k, (t, _)) in mdp.row(pair).entries().enumerate() {
                    (0..=k).for_each(|_| counts.record(s, a, t));
                }
            }
        }
    }
    counts.estimate(Unvisited::Uniform, mdp.start())
}

fn written_out(mdp: &Mdp) -> Mdp {
    let dense = mdp.kernel().to_dense().concat();
    Mdp::from_dense(mdp.n_states(), mdp.max_actions(), &dense).unwrap()
}

#[test]
fn uniform_rows_need_no_filling_in() {
    let mut failures = Vec::new();
    for (spec, every) in [
        ("double-chain", 2),
        ("river-swim", 3),
        ("garnet:states=15,actions=3,branching=2,seed=4", 2),
        ("garnet:states=12,actions=2,branching=3,seed=5", 5),
    ] {
        let sparse = estimate(spec, every);
        assert!(sparse.kernel().has_spread());
        let full = written_out(&sparse);
        assert!(!full.kernel().has_spread());
        for formulation in Formulation::ALL {
            for (xi, zeta) in [(0.0, 1.0), (0.1, 0.6)] {
                let problem = Problem {
                    formulation,
                    xi,
                    zeta: if formulation.takes_zeta() { zeta } else { 1.0 },
                };
                let value = |mdp: &Mdp, solver| {
                    let options = Options {
                        solver,
                        tie_break: TieBreak::None,
                        ..Options::default()
                    };
                    let c = solve(mdp, &problem, &options, None, &mut ())
                        .unwrap()
                        .certificate;
                    (c.objective, c.gap)
                };
                let (expected, _) = value(&full, SolverChoice::Conic);
                for solver in [SolverChoice::Conic, SolverChoice::Auto] {
                    let (found, gap) = value(&sparse, solver);
                    if (found - expected).abs() > 1e-6 || gap > 1e-7 {
                        failures.push(format!(
                            "{spec} {problem:?} {solver:?}: {found} (gap {gap:e}), written out {expected}"
                        ));
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Whole states that were never left, and one untried action everywhere: either made the
/// interior-point method of Column Sum break down, and thousands of steps of first order took its
/// place.
#[test]
fn column_sum_needs_few_steps_on_half_known_models() {
    for (spec, every) in [
        ("garnet:states=40,actions=4,branching=5,seed=3", 3),
        ("garnet:states=60,actions=3,branching=5,seed=4", 3),
        ("garnet:states=80,actions=4,branching=3,seed=5", 4),
    ] {
        let mdp = estimate(spec, every);
        for xi in [0.0, 0.02] {
            let problem = Problem {
                xi,
                ..Problem::new(Formulation::ColumnSum)
            };
            let found = solve(&mdp, &problem, &Options::default(), None, &mut ()).unwrap();
            assert_eq!(found.solver, "interior-point", "{spec} {xi}");
            assert!(found.certificate.iterations < 60, "{spec} {xi}");
        }
    }
}
