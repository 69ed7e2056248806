//! Models whose parts hang together by next to nothing: what a policy visits in the long run then
//! hangs on probabilities that rounding decides, so that the policy of a good occupancy need not be
//! a good policy.

#![allow(clippy::unwrap_used)]

use ide3al::chain::stationary::long_run;
use ide3al::formulation::occupancy_spec::{Limit, OccupancySpec};
use ide3al::formulation::{Formulation, Problem};
use ide3al::model::Mdp;
use ide3al::solve::{Options, Solution, Status, solve_visits};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Small random graphs in a ring, each with one way out of 1e-4.
fn clusters(count: usize, size: usize, rng: &mut ChaCha8Rng) -> Mdp {
    let mdp = Mdp::from_fn(count * size, 3, |s, a, next| {
        let cluster = s / size;
        let out = s % size == 0 && a == 0;
        let inside = if out { 1.0 - 1e-4 } else { 1.0 };
        for _ in 0..3 {
            next.push((cluster * size + rng.random_range(0..size), inside / 3.0));
        }
        if out {
            next.push(((cluster + 1) % count * size, 1e-4));
        }
        true
    });
    mdp.unwrap().with_start_state(0).unwrap()
}

/// A binary tree: to one child or the other with a slip, or back; from the leaves to the root or
/// back.
fn tree(depth: u32) -> Mdp {
    let n = 2usize.pow(depth) - 1;
    let mdp = Mdp::from_fn(n, 3, |s, a, next| {
        let (child, parent) = (2 * s + 1, s.saturating_sub(1) / 2);
        match a {
            2 => next.push((parent, 1.0)),
            _ if child >= n => next.push((0, 1.0)),
            _ => next.extend([(child + a, 0.9), (child + 1 - a, 0.1)]),
        }
        true
    });
    mdp.unwrap().with_start_state(0).unwrap()
}

/// A lift: state `2 f` is floor `f` with its door closed, `2 f + 1` with its door open.
fn lift(floors: usize) -> Mdp {
    let mdp = Mdp::from_fn(2 * floors, 3, |s, a, next| {
        let (floor, open) = (s / 2, s % 2);
        match (a, open) {
            (0, _) => next.extend([(2 * floor + 1 - open, 0.95), (s, 0.05)]),
            (_, 1) => next.push((s, 1.0)),
            (1, _) if floor + 1 < floors => next.extend([(s + 2, 0.9), (s, 0.1)]),
            (2, _) if floor > 0 => next.extend([(s - 2, 0.9), (s, 0.1)]),
            _ => next.push((s, 1.0)),
        }
        true
    });
    mdp.unwrap().with_start_state(0).unwrap()
}

fn solved(mdp: &Mdp, formulation: Formulation, xi: f64, visits: &OccupancySpec) -> Solution {
    let problem = Problem {
        xi,
        ..Problem::new(formulation)
    };
    solve_visits(mdp, &problem, visits, &Options::default(), None, &mut ()).unwrap()
}

/// A random cost per state with a budget a little below what is spent without a limit.
fn tight_limit(mdp: &Mdp, free: &Solution, rng: &mut ChaCha8Rng) -> Limit {
    let costs: Vec<f64> = (0..mdp.n_states()).map(|_| rng.random()).collect();
    let states = (0..mdp.n_states()).flat_map(|s| mdp.pairs(s).map(move |_| s));
    let d = long_run(&mdp.chain(&free.policy)).distribution;
    Limit {
        cost: states.map(|s| costs[s]).collect(),
        budget: 0.97 * d.iter().zip(&costs).map(|(d, c)| d * c).sum::<f64>(),
    }
}

#[test]
fn limits_on_models_that_hardly_hang_together() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    let models = [clusters(5, 10, &mut rng), lift(100), tree(8)];
    for (k, mdp) in models.iter().enumerate() {
        for round in 0..4 {
            let shares: Vec<f64> = (0..mdp.n_states())
                .map(|_| rng.random::<f64>() + 0.1)
                .collect();
            let sum: f64 = shares.iter().sum();
            let target = shares.iter().map(|x| x / sum).collect();
            let plain = OccupancySpec {
                target,
                ..OccupancySpec::default()
            };
            let free = solved(mdp, Formulation::Target, 0.0, &plain);
            assert_eq!(free.certificate.status, Status::Optimal, "{k} {round}");
            let limit = tight_limit(mdp, &free, &mut rng);
            let limited = OccupancySpec {
                limits: vec![limit],
                ..plain
            };
            let found = solved(mdp, Formulation::Target, 0.0, &limited);
            assert_eq!(found.certificate.status, Status::Optimal, "{k} {round}");
            let report = found.limits[0];
            assert!(report.value <= report.budget + 1e-9);
            // a policy that keeps to separate parts says so; any other spends from its start what
            // was promised
            let d = long_run(&mdp.chain(&found.policy)).distribution;
            let of = |s: usize| d[s] * limited.limits[0].cost[mdp.pairs(s).start];
            let spent: f64 = (0..mdp.n_states()).map(of).sum();
            let apart = found
                .notes
                .iter()
                .any(|note| note.contains("separate parts"));
            assert!(apart || (spent - report.value).abs() < 1e-6, "{k} {round}");
        }
    }
}

/// Rewards that follow from potentials are small differences of large numbers; those of the method
/// itself prove more in the end.
#[test]
fn model_errors_of_trees() {
    for depth in [6, 7, 8] {
        let found = solved(
            &tree(depth),
            Formulation::ModelError,
            0.1,
            &OccupancySpec::default(),
        );
        assert_eq!(found.certificate.status, Status::Optimal, "{depth}");
    }
}
