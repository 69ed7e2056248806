//! Both solvers beyond the sizes of the references, where the structured one begins differently:
//! from evenly filled columns, and from Column Sum for Infinity.

#![allow(clippy::unwrap_used)]

use ide3al::domains;
use ide3al::formulation::{Formulation, Problem, column_sum};
use ide3al::model::{Mdp, Policy};
use ide3al::solve::{Options, Solution, SolverChoice, Status, TieBreak, solve};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

fn by(
    spec: &str,
    problem: &Problem,
    solver: SolverChoice,
    tolerance: f64,
    warm: Option<&Solution>,
) -> Solution {
    let options = Options {
        solver,
        tie_break: TieBreak::None,
        tolerance,
        ..Options::default()
    };
    let mdp = domains::load(spec).unwrap();
    solve(&mdp, problem, &options, warm, &mut ()).unwrap()
}

#[test]
fn both_methods_agree() {
    let mut failures = Vec::new();
    for spec in [
        "garnet:states=80,actions=3,branching=2,seed=7",
        "garnet:states=100,actions=4,branching=5,seed=1",
        "four-rooms",
    ] {
        for formulation in Formulation::ALL {
            for (xi, zeta) in [(0.01, 1.0), (0.05, 0.3)] {
                let problem = Problem {
                    formulation,
                    xi,
                    zeta: if formulation.takes_zeta() { zeta } else { 1.0 },
                };
                let expected = by(spec, &problem, SolverChoice::Conic, 5e-8, None).certificate;
                let found = by(spec, &problem, SolverChoice::Auto, 5e-8, None);
                let again = by(spec, &problem, SolverChoice::Auto, 5e-8, Some(&found));
                for certificate in [found.certificate, again.certificate] {
                    if (certificate.objective - expected.objective).abs() > 1e-6
                        || certificate.status != Status::Optimal
                    {
                        failures.push(format!("{spec} {problem:?}: {certificate:?}, {expected:?}"));
                    }
                }
            }
        }
    }
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// The bound of Infinity is Column Sum's, divided by the number of states, where all rows share
/// alike; it can never be below it.
#[test]
fn infinity_is_at_least_column_sum_per_state() {
    for seed in 1..4 {
        let spec = format!("garnet:states=600,actions=4,branching=5,seed={seed}");
        let problem = |formulation| Problem {
            formulation,
            xi: 0.01,
            zeta: 1.0,
        };
        let columns = by(
            &spec,
            &problem(Formulation::ColumnSum),
            SolverChoice::Auto,
            1e-6,
            None,
        );
        let rows = by(
            &spec,
            &problem(Formulation::Infinity),
            SolverChoice::Auto,
            1e-6,
            None,
        );
        assert_eq!(rows.certificate.status, Status::Optimal);
        assert!(rows.certificate.objective >= columns.certificate.bound / 600.0 - 1e-12);
        // and the certificate is the program's own statement about this policy
        assert!(rows.certificate.bound <= rows.certificate.objective + 1e-12);
    }
}

/// Large models begin with a model of the column sums; from another formulation's policy the solver
/// goes by proximal steps alone. What one proves the other must not undercut.
#[test]
fn frobenius_from_two_starts() {
    let spec = "garnet:states=2500,actions=4,branching=5,seed=2";
    let start = by(
        spec,
        &Problem {
            xi: 0.01,
            ..Problem::new(Formulation::ColumnSum)
        },
        SolverChoice::Auto,
        1e-2,
        None,
    );
    for zeta in [1.0, 0.5] {
        let problem = Problem {
            formulation: Formulation::Frobenius,
            xi: 0.01,
            zeta,
        };
        // another formulation's policy, handed over as if it were one of this
        let start = Solution {
            formulation: Formulation::Frobenius,
            dual: Vec::new(),
            ..start.clone()
        };
        let solved = |warm| by(spec, &problem, SolverChoice::Auto, 2e-5, warm).certificate;
        let (cold, warm) = (solved(None), solved(Some(&start)));
        for certificate in [&cold, &warm] {
            assert_eq!(certificate.status, Status::Optimal, "{certificate:?}");
        }
        assert!(cold.bound <= warm.objective, "{cold:?}, {warm:?}");
        assert!(warm.bound <= cold.objective, "{cold:?}, {warm:?}");
    }
}

/// Where uniform play visits everything evenly there is nothing to set up, whatever the start and
/// the size.
#[test]
fn an_even_uniform_policy_is_seen_at_once() {
    let spec = "open-grid:rows=40,columns=40,slip=0.1";
    let mdp = domains::load(spec).unwrap();
    let uniform = Policy::uniform(&mdp);
    for formulation in [
        Formulation::ColumnSum,
        Formulation::Infinity,
        Formulation::Frobenius,
    ] {
        let problem = Problem {
            formulation,
            xi: 0.01,
            zeta: 1.0,
        };
        let found = by(spec, &problem, SolverChoice::Auto, 5e-8, None);
        assert_eq!(found.certificate.status, Status::Optimal, "{formulation:?}");
        assert_eq!(found.certificate.iterations, 0, "{formulation:?}");
        let largest = (found.policy.probabilities().iter())
            .zip(uniform.probabilities())
            .fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
        assert!(largest < 1e-12, "{formulation:?}: {largest}");
        // and what was found can be begun from
        let again = by(spec, &problem, SolverChoice::Auto, 5e-8, Some(&found));
        assert_eq!(again.certificate.status, Status::Optimal, "{formulation:?}");
    }
}

/// A solve that is stopped before its first step gives back the policy it began with, not a uniform
/// one.
#[test]
fn a_warm_start_survives_a_stop() {
    let spec = "garnet:states=60,actions=3,branching=3,seed=5";
    let mdp = domains::load(spec).unwrap();
    for formulation in [Formulation::ColumnSum, Formulation::Infinity] {
        let problem = Problem {
            formulation,
            xi: 0.01,
            zeta: 1.0,
        };
        let found = by(spec, &problem, SolverChoice::Auto, 5e-8, None);
        let options = Options {
            time_limit: Some(std::time::Duration::ZERO),
            tolerance: 1e-12,
            ..Options::default()
        };
        let stopped = solve(&mdp, &problem, &options, Some(&found), &mut ()).unwrap();
        let largest = (stopped.policy.probabilities().iter())
            .zip(found.policy.probabilities())
            .fold(0.0, |m: f64, (a, b)| m.max((a - b).abs()));
        assert!(largest < 1e-9, "{formulation:?}: {largest}");
    }
}

/// Beyond what is held whole, on a chain that mixes slowly: the optimum asks for proximal weights
/// so small that what all slopes of a row have in common must not drown their differences.
#[test]
fn frobenius_reaches_the_optimum_of_a_long_chain() {
    let problem = Problem {
        xi: 0.02,
        zeta: 0.7,
        ..Problem::new(Formulation::Frobenius)
    };
    let spec = "river-swim:states=1600";
    let found = by(spec, &problem, SolverChoice::Auto, 5e-8, None);
    assert_eq!(
        found.certificate.status,
        Status::Optimal,
        "{:?}",
        found.certificate
    );
    assert_eq!(found.solver, "proximal Newton");
}

/// With a tight cap on such a chain a proximal step may take hundreds of Newton steps, which it is
/// given once fewer came to nothing.
#[test]
fn frobenius_of_a_long_chain_with_a_tight_cap() {
    let problem = Problem {
        xi: 0.05,
        zeta: 0.45,
        ..Problem::new(Formulation::Frobenius)
    };
    let found = by(
        "river-swim:states=1510",
        &problem,
        SolverChoice::Auto,
        1e-5,
        None,
    );
    let certificate = found.certificate;
    assert_eq!(certificate.status, Status::Optimal, "{certificate:?}");
}

/// An elevator: one floor up or down, on the way to the ground, and from every tenth floor to the
/// top. Newton's method on the potentials does not get along at low temperatures; the
/// interior-point method follows beyond the size up to which its system may be dense, too.
#[test]
fn state_entropy_of_an_elevator() {
    let floors = 1_600;
    let elevator = Mdp::from_fn(floors, 4, |s, a, next| {
        match a {
            0 => next.push(((s + 1).min(floors - 1), 1.0)),
            1 => next.push((s.saturating_sub(1), 1.0)),
            2 if s == 0 => next.push((0, 1.0)),
            2 => next.extend([(0, 0.5), (s, 0.5)]),
            _ if s % 10 == 0 => next.push((floors - 1, 1.0)),
            _ => return false,
        }
        true
    })
    .unwrap();
    let problem = Problem {
        xi: 0.05,
        ..Problem::new(Formulation::StateEntropy)
    };
    let found = solve(&elevator, &problem, &Options::default(), None, &mut ()).unwrap();
    assert_eq!(found.certificate.status, Status::Optimal);
    assert!(found.notes.is_empty(), "{:?}", found.notes);
}

/// Two queues of up to 39, of which the one or the other is served faster: with every action tried
/// they are full once in 1e20 steps or less, and Newton's method on the potentials goes no way; the
/// interior-point method takes over.
#[test]
fn state_entropy_of_queues_that_hardly_ever_fill() {
    let most = 39;
    let queues = Mdp::from_fn((most + 1) * (most + 1), 3, |s, a, next| {
        let (one, other) = (s / (most + 1), s % (most + 1));
        let (first, second) = [(0.6, 0.1), (0.1, 0.6), (0.35, 0.35)][a];
        let place = |one: usize, other: usize| one * (most + 1) + other;
        next.extend([
            (place((one + 1).min(most), other), 0.15),
            (place(one, (other + 1).min(most)), 0.15),
            (place(one.saturating_sub(1), other), first),
            (place(one, other.saturating_sub(1)), second),
        ]);
        true
    })
    .unwrap();
    let problem = Problem {
        xi: 0.1,
        ..Problem::new(Formulation::StateEntropy)
    };
    let found = solve(&queues, &problem, &Options::default(), None, &mut ()).unwrap();
    assert_eq!(found.certificate.status, Status::Optimal);
    assert!(found.notes.is_empty(), "{:?}", found.notes);
}

/// A random graph beyond the sizes of the interior-point method, with one to seven actions per
/// state and one to three successors each. Column Sum, which helps Infinity, is hard there;
/// Infinity is not.
fn uneven_graph() -> Mdp {
    let states = 5_200;
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut actions = 0;
    Mdp::from_fn(states, 7, |_, a, next| {
        if a == 0 {
            actions = rng.random_range(1..=7);
        }
        let count = rng.random_range(1..=3);
        let mut successors: Vec<usize> = (0..count).map(|_| rng.random_range(0..states)).collect();
        successors.sort_unstable();
        successors.dedup();
        let share = 1.0 / successors.len() as f64;
        next.extend(successors.into_iter().map(|t| (t, share)));
        a < actions
    })
    .unwrap()
}

/// Help takes no more steps than what it helps.
#[test]
fn infinity_does_not_wait_for_column_sum() {
    let problem = Problem::new(Formulation::Infinity);
    let options = Options {
        tie_break: TieBreak::None,
        ..Options::default()
    };
    let graph = uneven_graph();
    let found = solve(&graph, &problem, &options, None, &mut ()).unwrap();
    assert_eq!(found.certificate.status, Status::Optimal);
    assert!(found.certificate.iterations < 12_000);
}

/// Where the steps are used up by then, its policy is the answer.
#[test]
fn infinity_has_the_policy_of_column_sum_at_least() {
    let problem = Problem::new(Formulation::Infinity);
    let options = Options {
        max_iterations: 100,
        ..Options::default()
    };
    let found = solve(&uneven_graph(), &problem, &options, None, &mut ()).unwrap();
    let certificate = found.certificate;
    assert_eq!(certificate.status, Status::IterationLimit);
    assert_eq!(found.solver, "level sets");
    assert!(certificate.objective < 1.9, "{certificate:?}");
    assert!(certificate.iterations < 200, "{certificate:?}");
}

/// Policies by steps of first order are worth what the certificate says. Rows that added up to one
/// only up to 1e-12, after long steps, had been worth 4e-9 less than the optimum here: no bound
/// could meet that, and the solve never ended.
#[test]
fn values_by_steps_of_first_order_are_those_of_policies() {
    let spec = "garnet:states=4500,actions=4,branching=5,seed=7";
    let problem = Problem {
        xi: 0.01,
        ..Problem::new(Formulation::ColumnSum)
    };
    let found = by(spec, &problem, SolverChoice::Auto, 5e-8, None);
    assert_eq!(found.solver, "primal-dual");
    assert_eq!(found.certificate.status, Status::Optimal);
    let mdp = domains::load(spec).unwrap();
    let value = column_sum::value(&mdp, found.policy.probabilities());
    let off = value - found.certificate.objective;
    assert!(off.abs() < 1e-11, "{off:e}");
}

/// A solve that is stopped before the first step of first order has the policy that these would
/// have begun with, and what it is worth.
#[test]
fn a_start_that_is_stopped_is_worth_something() {
    let mdp = domains::load("garnet:states=6000,actions=3,branching=3,seed=1").unwrap();
    let problem = Problem {
        xi: 0.05,
        ..Problem::new(Formulation::ColumnSum)
    };
    let options = Options {
        max_iterations: 60,
        ..Options::default()
    };
    let found = solve(&mdp, &problem, &options, None, &mut ()).unwrap();
    assert_eq!(found.certificate.status, Status::IterationLimit);
    assert_eq!(found.solver, "primal-dual");
    let value = column_sum::value(&mdp, found.policy.probabilities());
    assert!((value - found.certificate.objective).abs() < 1e-9);
    let uniform = Policy::uniform(&mdp);
    assert!(value < 0.5 * column_sum::value(&mdp, uniform.probabilities()));
}

/// A random graph whose columns' system is too large to be factored at once, and on which steps of
/// first order take long: the interior-point method gets there after all, tie-break included.
#[test]
fn a_hard_graph_is_factored_at_last() {
    let mdp = domains::load("garnet:states=3100,actions=3,branching=4,seed=6").unwrap();
    let problem = Problem {
        xi: 0.1,
        ..Problem::new(Formulation::ColumnSum)
    };
    let found = solve(&mdp, &problem, &Options::default(), None, &mut ()).unwrap();
    assert_eq!(found.certificate.status, Status::Optimal);
    assert_eq!(found.solver, "interior-point");
    assert!(found.notes.is_empty(), "{:?}", found.notes);
}
