//! Estimated models: uniform rows kept as one number give the same optima as the same rows
//! written out.

#![allow(clippy::unwrap_used)]

use ide3al::domains;
use ide3al::formulation::{Formulation, Problem};
use ide3al::model::{Counts, Mdp, Unvisited};
use ide3al::solve::{Options, SolverChoice, TieBreak, solve};

/// Counts some transitions of a domain, state by state, leaving many pairs unvisited.
fn estimate(spec: &str, every: usize) -> Mdp {
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
