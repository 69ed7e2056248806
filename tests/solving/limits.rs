//! A time limit and a stop reach every part of a solve, the tie-break included, on models of ten
//! thousand states.

#![allow(clippy::unwrap_used)]

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use ide3al::domains;
use ide3al::formulation::occupancy_spec::OccupancySpec;
use ide3al::formulation::{Formulation, Problem};
use ide3al::model::{Counts, Mdp, Unvisited};
use ide3al::solve::{
    Observer, Options, Progress, SolverChoice, Status, TieBreak, solve, solve_visits,
};

/// What a machine under load may add to the second that is promised.
const SLACK: Duration = Duration::from_secs(8);

/// Stops after a while, and sees whether progress is a number throughout.
struct Stop {
    at: Instant,
    asked: usize,
}

impl Observer for Stop {
    fn on(&mut self, progress: &Progress) -> ControlFlow<()> {
        self.asked += 1;
        assert!(
            !progress.objective.is_nan() && !progress.gap.is_nan(),
            "{progress:?}"
        );
        if Instant::now() >= self.at {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

fn problems() -> impl Iterator<Item = Problem> {
    Formulation::ALL.into_iter().map(|formulation| Problem {
        formulation,
        xi: 0.01,
        zeta: if formulation.takes_zeta() { 0.5 } else { 1.0 },
    })
}

#[test]
fn a_time_limit_is_kept() {
    let mdp = domains::load("garnet:states=10000,actions=4,branching=5,seed=3").unwrap();
    for problem in problems() {
        let limit = Duration::from_secs(1);
        let options = Options {
            time_limit: Some(limit),
            ..Options::default()
        };
        let began = Instant::now();
        let found = solve(&mdp, &problem, &options, None, &mut ()).unwrap();
        let took = began.elapsed();
        assert!(took < limit + SLACK, "{problem:?}: {took:?}");
        let status = found.certificate.status;
        assert!(
            matches!(status, Status::TimeLimit | Status::Optimal),
            "{problem:?}: {status:?}"
        );
    }
}

#[test]
fn a_stop_is_answered() {
    let mdp = domains::load("garnet:states=10000,actions=4,branching=5,seed=4").unwrap();
    for problem in problems() {
        let began = Instant::now();
        let mut stop = Stop {
            at: began + Duration::from_secs(1),
            asked: 0,
        };
        let found = solve(&mdp, &problem, &Options::default(), None, &mut stop).unwrap();
        let took = began.elapsed();
        assert!(
            took < Duration::from_secs(1) + SLACK,
            "{problem:?}: {took:?}"
        );
        assert!(stop.asked > 0, "{problem:?}");
        let status = found.certificate.status;
        assert!(
            matches!(status, Status::Interrupted | Status::Optimal),
            "{problem:?}: {status:?}"
        );
    }
}

/// A warm start of another formulation, or of another model, is an error that says so.
#[test]
fn a_warm_start_knows_what_it_solves() {
    let mdp = domains::load("single-chain").unwrap();
    let other = domains::load("double-chain").unwrap();
    let column_sum = Problem::new(Formulation::ColumnSum);
    let warm = solve(&mdp, &column_sum, &Options::default(), None, &mut ()).unwrap();
    let again = solve(&mdp, &column_sum, &Options::default(), Some(&warm), &mut ()).unwrap();
    assert_eq!(again.certificate.status, Status::Optimal);
    let infinity = Problem::new(Formulation::Infinity);
    let error = solve(&mdp, &infinity, &Options::default(), Some(&warm), &mut ()).unwrap_err();
    assert!(error.to_string().contains("column-sum"), "{error}");
    let error = solve(
        &other,
        &column_sum,
        &Options::default(),
        Some(&warm),
        &mut (),
    )
    .unwrap_err();
    assert!(error.to_string().contains("40"), "{error}");
    // three pairs both times, in other states
    let with = |rich: usize| {
        Mdp::from_fn(2, 2, |s, a, next| {
            next.push(((s + a) % 2, 1.0));
            s == rich || a == 1
        })
        .unwrap()
    };
    let warm = solve(&with(0), &column_sum, &Options::default(), None, &mut ()).unwrap();
    let error = solve(
        &with(1),
        &column_sum,
        &Options::default(),
        Some(&warm),
        &mut (),
    )
    .unwrap_err();
    assert!(error.to_string().contains("other pairs"), "{error}");
}

/// A large model of which nothing is known would take a number for each pair of states.
#[test]
fn infinity_refuses_what_would_fill_the_memory() {
    let n = 6_000;
    let mdp = Counts::new(&vec![2; n]).estimate(Unvisited::Uniform, &vec![1.0 / n as f64; n]);
    let infinity = Problem::new(Formulation::Infinity);
    let error = solve(&mdp, &infinity, &Options::default(), None, &mut ()).unwrap_err();
    let text = error.to_string();
    assert!(
        text.contains("6000 states") && text.contains("column-sum"),
        "{text}"
    );
}

/// The conic solver keeps its own clock; that it ended because of it is no fault of floating point.
#[test]
fn a_conic_solve_out_of_time_says_so() {
    let mdp = domains::load("garnet:states=60,actions=3,branching=4,seed=4").unwrap();
    for problem in problems() {
        let options = Options {
            solver: SolverChoice::Conic,
            tie_break: TieBreak::None,
            time_limit: Some(Duration::from_micros(1)),
            ..Options::default()
        };
        let found = solve(&mdp, &problem, &options, None, &mut ()).unwrap();
        assert_eq!(
            found.certificate.status,
            Status::TimeLimit,
            "{problem:?}: {:?}",
            found.notes
        );
    }
}

/// A target of zero at the last state of a long chain, where $\xi > 0$ leads from every state to
/// it: what is left of the model is found in time proportional to its size.
#[test]
fn what_cannot_be_visited_is_found_in_time() {
    for n in [10_000, 100_000] {
        let mdp = domains::load(&format!("river-swim:states={n}")).unwrap();
        let mut target = vec![1.0 / (n - 1) as f64; n];
        target[n - 1] = 0.0;
        let visits = OccupancySpec {
            target,
            ..OccupancySpec::default()
        };
        let limit = Duration::from_secs(1);
        let options = Options {
            time_limit: Some(limit),
            ..Options::default()
        };
        for (xi, answers) in [(0.01, false), (0.0, true)] {
            let problem = Problem {
                xi,
                ..Problem::new(Formulation::Target)
            };
            let began = Instant::now();
            let found = solve_visits(&mdp, &problem, &visits, &options, None, &mut ());
            let took = began.elapsed();
            assert!(took < limit + SLACK, "{n} states, xi {xi}: {took:?}");
            match found {
                Ok(found) => assert!(answers && found.certificate.gap.is_finite()),
                Err(error) => assert!(!answers && error.to_string().contains("target"), "{error}"),
            }
        }
    }
}
