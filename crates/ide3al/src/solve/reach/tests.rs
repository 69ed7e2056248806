//! The method on models whose best policies are known, and the promises that it makes.

use std::ops::ControlFlow;
use std::time::Duration;

use super::super::{Observer, Options, Progress, Status, solve as solve_problem};
use super::*;
use crate::domains::{self, Garnet};
use crate::formulation::Problem;
use crate::formulation::reach::Origin;

fn ring(n: usize) -> Mdp {
    Mdp::from_fn(n, 2, |s, a, next| {
        next.push(((s + if a == 0 { 1 } else { n - 1 }) % n, 1.0));
        true
    })
    .unwrap()
    .with_start_state(0)
    .unwrap()
}

fn asked(within: f64, xi: f64) -> Reach {
    Reach {
        within: Some(within),
        ..Reach::with_xi(xi)
    }
}

fn solved(mdp: &Mdp, reach: &Reach) -> Solution {
    solve(mdp, reach, &Options::default(), None, &mut ()).unwrap()
}

#[test]
fn tours_that_see_a_new_state_with_every_step_are_optimal() {
    for within in [4.0, 60.0, f64::INFINITY] {
        for origin in [Origin::Start, Origin::Anywhere] {
            let reach = Reach {
                origin: Some(origin),
                ..asked(within, 0.0)
            };
            let solution = solved(&ring(9), &reach);
            let expected = if within.is_infinite() {
                4.0
            } else {
                let g: f64 = 1.0 - 1.0 / within;
                (0..9).map(|i| g.powi(i)).sum::<f64>() / 9.0
            };
            let certificate = solution.certificate;
            assert!(
                (certificate.objective - expected).abs() < 1e-7,
                "{certificate:?}"
            );
            assert_eq!(certificate.status, Status::Optimal);
        }
    }
}

#[test]
fn four_rooms_are_seen_soon() {
    let mdp = domains::load("four-rooms").unwrap();
    let found = solved(&mdp, &Reach::default()).certificate;
    // the random walk sees 0.452
    assert!(found.objective > 0.87, "{found:?}");
    assert!(found.bound >= found.objective && found.bound < 0.886);
    assert_eq!(found.status, Status::LocalOptimum);
    let found = solved(&mdp, &asked(f64::INFINITY, 0.0)).certificate;
    assert!(
        found.objective < 59.0 && found.objective > found.bound,
        "{found:?}"
    );
    assert!(found.bound >= 51.49);
}

#[test]
fn the_bits_do_not_depend_on_the_number_of_threads() {
    let mdp = Garnet {
        states: 30,
        ..Garnet::default()
    }
    .build()
    .unwrap();
    let of = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        pool.build().unwrap().install(|| {
            let solution = solved(&mdp, &asked(60.0, 0.01));
            let bits = solution.policy.probabilities().iter().map(|p| p.to_bits());
            (
                bits.collect::<Vec<u64>>(),
                solution.certificate.bound.to_bits(),
            )
        })
    };
    assert_eq!(of(1), of(3));
}

#[test]
fn limits_and_warm_starts_are_kept() {
    let mdp = domains::load("double-chain").unwrap();
    let best = solved(&mdp, &Reach::with_xi(0.02));
    let again = solve(
        &mdp,
        &Reach::with_xi(0.02),
        &Options::default(),
        Some(&best),
        &mut (),
    );
    let again = again.unwrap().certificate.objective;
    assert!(again >= best.certificate.objective * (1.0 - 1e-9));
    let rows = best.policy.probabilities();
    assert!(rows.iter().all(|p| *p >= 0.02 - 1e-12));
    struct Hasty;
    impl Observer for Hasty {
        fn on(&mut self, _: &Progress) -> ControlFlow<()> {
            ControlFlow::Break(())
        }
    }
    let stopped = solve(
        &mdp,
        &Reach::with_xi(0.02),
        &Options::default(),
        None,
        &mut Hasty,
    );
    let stopped = stopped.unwrap().certificate;
    assert_eq!(stopped.status, Status::Interrupted);
    assert!(stopped.objective > 0.0 && stopped.bound >= stopped.objective);
    let options = Options {
        time_limit: Some(Duration::from_nanos(1)),
        ..Options::default()
    };
    let stopped = solve(&mdp, &Reach::with_xi(0.02), &options, None, &mut ()).unwrap();
    assert_eq!(stopped.certificate.status, Status::TimeLimit);
    // by its name alone
    let problem = Problem {
        xi: 0.02,
        ..Problem::new(Formulation::Reach)
    };
    let plain = solve_problem(&mdp, &problem, &Options::default(), None, &mut ()).unwrap();
    assert_eq!(plain.certificate.objective, best.certificate.objective);
}

#[test]
fn the_steady_state_is_as_even_as_asked_for() {
    let mdp = domains::load("double-chain").unwrap();
    let mut last = f64::INFINITY;
    for evenness in [0.0, 0.92, 0.96] {
        let reach = Reach {
            evenness,
            ..Reach::with_xi(0.01)
        };
        let found = solved(&mdp, &reach);
        let d = crate::chain::stationary::long_run(&mdp.chain(&found.policy)).distribution;
        let share = crate::chain::entropy::entropy(&d) / (mdp.n_states() as f64).ln();
        assert!(share >= evenness - 1e-6, "{share}");
        let value = found.certificate.objective;
        assert!(value <= last + 1e-6 && found.certificate.bound >= value);
        last = value;
    }
    let reach = Reach {
        evenness: 1.0,
        ..Reach::with_xi(0.1)
    };
    let told = solve(&mdp, &reach, &Options::default(), None, &mut ()).unwrap_err();
    assert!(told.to_string().contains("the most is 0."), "{told}");
}

#[test]
fn where_factors_fill_in_the_share_seen_is_estimated() {
    let garnet = Garnet {
        states: 6_000,
        ..Garnet::default()
    };
    let mdp = garnet.build().unwrap();
    let options = Options {
        max_iterations: 1,
        ..Options::default()
    };
    let found = solve(&mdp, &Reach::with_xi(0.2), &options, None, &mut ()).unwrap();
    let estimate = |note: &String| note.contains("standard error");
    assert!(found.notes.iter().any(estimate), "{:?}", found.notes);
    assert!(found.certificate.objective > 0.5);
    let told = solve(&mdp, &asked(f64::INFINITY, 0.2), &options, None, &mut ()).unwrap_err();
    assert!(told.to_string().contains("fill in"), "{told}");
}

#[test]
fn what_makes_no_sense_is_refused() {
    let mdp = ring(5);
    let told = |reach: Reach| {
        let found = solve(&mdp, &reach, &Options::default(), None, &mut ());
        found.unwrap_err().to_string()
    };
    for within in [0.5, f64::NAN, -3.0] {
        assert!(told(asked(within, 0.0)).contains("1 or more"));
    }
    assert!(told(asked(9.0, 0.7)).contains("xi can be at most 0.5"));
    for evenness in [-0.1, 1.5, f64::NAN] {
        let reach = Reach {
            evenness,
            ..Reach::default()
        };
        assert!(told(reach).contains("from 0 to 1"));
    }
    let weighted = |weights: Vec<f64>| Reach {
        weights,
        ..Reach::default()
    };
    assert!(told(weighted(vec![0.0; 5])).contains("some state must have a weight"));
    assert!(told(weighted(vec![1.0; 4])).contains("5 numbers"));
    assert!(told(weighted(vec![-1.0; 5])).contains("0 or more"));
    // a door that shuts behind the walker, and a room behind a wall
    let mdp = Mdp::from_triplets(
        4,
        2,
        [
            (0, 0, 1, 1.0),
            (0, 1, 0, 1.0),
            (1, 0, 2, 1.0),
            (2, 0, 1, 1.0),
            (2, 1, 2, 1.0),
            (3, 0, 0, 1.0),
        ],
    )
    .unwrap()
    .with_start_state(0)
    .unwrap();
    let found = solved(&mdp, &asked(8.0, 0.0));
    assert!(
        found
            .notes
            .iter()
            .any(|note| note.contains("1 of 4 states") && note.ends_with(": 3"))
    );
    // the start is seen at once, the others in steps 1 and 2
    let reach = Reach {
        origin: Some(Origin::Start),
        ..asked(f64::INFINITY, 0.0)
    };
    let found = solved(&mdp, &reach).certificate;
    assert!((found.objective - 1.0).abs() < 1e-9 && found.status == Status::Optimal);
    let reach = Reach {
        origin: Some(Origin::Anywhere),
        ..asked(f64::INFINITY, 0.0)
    };
    let told = solve(&mdp, &reach, &Options::default(), None, &mut ()).unwrap_err();
    assert!(
        told.to_string().contains("there is no way from 0 to 1, 2"),
        "{told}"
    );
}
