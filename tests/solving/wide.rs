//! Rows that reach many states.

#![allow(clippy::unwrap_used)]

use ide3al::formulation::{Formulation, Problem};
use ide3al::model::Mdp;
use ide3al::solve::{Options, SolverChoice, Status, solve};

/// Rings that nothing joins but a state in each from which one starts over in any of half of all
/// states. Stays are more likely on some rings than on others, so that no policy is even.
fn islands(rings: usize, length: usize) -> Mdp {
    let n = rings * length;
    Mdp::from_fn(n, 3, |s, a, next| {
        let (ring, place) = (s / length, s % length);
        if place == 0 && a == 2 {
            next.extend((0..n / 2).map(|k| ((2 * k + ring) % n, 2.0 / n as f64)));
        } else {
            let stay = 0.1 + 0.2 * ((3 * ring + place) % 4) as f64;
            let step = if a == 0 { 1 } else { length - 1 };
            next.push((s, stay));
            next.push((ring * length + (place + step) % length, 1.0 - stay));
        }
        true
    })
    .unwrap()
}

/// The wide rows are all that holds the columns together, and without them the equations of a
/// Newton step are singular. Objectives are those of the conic solver; the nearest optimal policy
/// is found, or a note would say that it was not.
#[test]
fn wide_rows_that_hold_everything_together() {
    // the rows of the second are wide enough to be cut into pieces
    for mdp in [islands(4, 20), islands(3, 80)] {
        hold_together(&mdp);
    }
}

fn hold_together(mdp: &Mdp) {
    for (formulation, xi, zeta) in [
        (Formulation::Frobenius, 0.01, 1.0),
        (Formulation::Frobenius, 0.05, 0.5),
        (Formulation::Infinity, 0.01, 1.0),
        (Formulation::Infinity, 0.05, 0.7),
        (Formulation::ColumnSum, 0.0, 1.0),
        (Formulation::ColumnSum, 0.05, 1.0),
    ] {
        let problem = Problem {
            formulation,
            xi,
            zeta,
        };
        // the conic solver takes seconds for all entries of a larger target
        if formulation == Formulation::Frobenius && mdp.n_states() > 100 {
            continue;
        }
        let by = |solver| {
            let options = Options {
                solver,
                ..Options::default()
            };
            solve(mdp, &problem, &options, None, &mut ()).unwrap()
        };
        let found = by(SolverChoice::Auto);
        let reference = by(SolverChoice::Conic);
        assert_eq!(found.certificate.status, Status::Optimal, "{problem:?}");
        assert!(found.notes.is_empty(), "{problem:?}: {:?}", found.notes);
        let away = found.certificate.objective - reference.certificate.objective;
        assert!(away.abs() < 1e-6, "{problem:?}: {away}");
        assert!(found.certificate.objective > 1e-4, "{problem:?}");
    }
}

/// A state with a wide row and, beside it, actions that lead anywhere evenly: as a share of the
/// row, and written out. These have no cells of their own, and differ by rounding alone.
#[test]
fn wide_rows_beside_uniform_ones() {
    let n = 196;
    let (mut first, mut actions) = (vec![0], Vec::new());
    let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    let mut spread = Vec::new();
    for s in 0..n {
        let rows = if s == 0 {
            let even: Vec<(u32, f64)> = (0..n as u32).map(|t| (t, 1.0 / n as f64)).collect();
            let wide = (0..150).map(|t| (t + 20, 1.0 / 150.0)).collect();
            vec![(Vec::new(), 1.0), (even, 0.0), (wide, 0.0)]
        } else {
            let step = |k: usize| (vec![(((s + k) % n) as u32, 1.0)], 0.0);
            vec![step(1), step(7)]
        };
        for (a, (row, share)) in rows.into_iter().enumerate() {
            actions.push(a as u32);
            for (t, p) in row {
                indices.push(t);
                values.push(p);
            }
            offsets.push(indices.len());
            spread.push(share);
        }
        first.push(actions.len());
    }
    let mdp = Mdp::from_rows_and_spread(n, &first, &actions, &offsets, &indices, &values, &spread);
    let mdp = mdp.unwrap();
    for formulation in [Formulation::ColumnSum, Formulation::Infinity] {
        let problem = Problem {
            xi: 0.0,
            ..Problem::new(formulation)
        };
        let found = solve(&mdp, &problem, &Options::default(), None, &mut ()).unwrap();
        assert_eq!(found.certificate.status, Status::Optimal, "{problem:?}");
    }
}
