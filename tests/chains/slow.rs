//! Chains that mix slowly: their mixing time and second eigenvalue come from their slow part.

use ide3al::chain::{AnalyzeOptions, analyze};
use ide3al::model::{Mdp, Policy};

/// A path of 200 states: the mixing time and the second eigenvalue come from the slow part of the
/// chain.
#[test]
fn slow_chains_do_not_depend_on_threads() {
    let n = 200;
    let mdp = Mdp::from_fn(n, 2, |s, a, next| {
        let to = if a == 0 {
            s.saturating_sub(1)
        } else {
            (s + 1).min(n - 1)
        };
        next.extend([(to, 0.7), (s, 0.3)]);
        true
    })
    .unwrap();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
        let policy = Policy::uniform(&mdp);
        pool.unwrap()
            .install(|| analyze(&mdp, &policy, &AnalyzeOptions::default()).unwrap())
    };
    let one = run(1);
    assert_eq!(one, run(3));
    assert_eq!(
        (one.mixing_time_kind, one.spectral_gap_kind),
        ("exact", "converged")
    );
    // reflected at both ends: 0.3 + 0.7 cos(pi / n)
    let expected = 0.7 * (1.0 - (std::f64::consts::PI / n as f64).cos());
    assert!(
        (one.spectral_gap - expected).abs() < 1e-13,
        "{}",
        one.spectral_gap
    );
}
