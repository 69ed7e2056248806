//! Actions that do the same are solved as one.

#![allow(clippy::unwrap_used)]

use ide3al::formulation::{Formulation, Problem};
use ide3al::model::Mdp;
use ide3al::solve::{Options, Status, solve};

/// A graph of forty states in which two of five actions do what others do, but for `apart` of their
/// probability.
fn with_copies(apart: f64) -> Mdp {
    let n = 40;
    Mdp::from_fn(n, 5, |s, a, next| {
        let original = if a < 3 { a } else { (a + s) % 3 };
        let stay = 0.03 + 0.08 * ((3 * s + original) % 5) as f64;
        let apart = if a < 3 { 0.0 } else { apart * a as f64 };
        let to = (7 * s + 11 * original + 1) % n;
        next.push((s, stay + apart));
        next.push((to, 0.6 - apart));
        next.push(((to + 5 + s % 3) % n, 0.4 - stay));
        true
    })
    .unwrap()
}

/// Told apart by less than any tolerance, copies are actions of their own to a solver, and the
/// answer is the same: also how much of the policy each of them has.
#[test]
fn copies_change_nothing() {
    let (copied, distinct) = (with_copies(0.0), with_copies(1e-13));
    for formulation in Formulation::ALL {
        for (xi, zeta) in [(0.0, 1.0), (0.03, 0.6)] {
            let problem = Problem {
                formulation,
                xi,
                zeta,
            };
            let by = |mdp| solve(mdp, &problem, &Options::default(), None, &mut ()).unwrap();
            let (one, other) = (by(&copied), by(&distinct));
            for found in [&one, &other] {
                assert_eq!(found.certificate.status, Status::Optimal, "{problem:?}");
                assert!(found.notes.is_empty(), "{problem:?}: {:?}", found.notes);
            }
            let away = one.certificate.objective - other.certificate.objective;
            assert!(away.abs() < 1e-7, "{problem:?}: {away}");
            let policies = one.policy.probabilities().iter();
            for (p, q) in policies.zip(other.policy.probabilities()) {
                // State Entropy ends along its path of temperatures as soon as the value does
                let most = if formulation.is_entropy() { 2e-3 } else { 1e-5 };
                assert!((p - q).abs() < most, "{problem:?}: {p}, {q}");
            }
        }
    }
}
