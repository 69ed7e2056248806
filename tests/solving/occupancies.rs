//! What is to be visited, by its properties: dual points bound policies, limits and their prices,
//! and the borders of the family.

#![allow(clippy::unwrap_used)]

use ide3al::domains;
use ide3al::formulation::occupancy::Occupancies;
use ide3al::formulation::occupancy_spec::{Limit, OccupancySpec};
use ide3al::formulation::utility::{Conjugate, Coverage, Entropies, ModelError, errors};
use ide3al::formulation::{Formulation, Problem};
use ide3al::model::Mdp;
use ide3al::solve::{Options, Solution, Status, TieBreak, solve, solve_visits};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::episode::random_rows;

/// Up to nine states and three actions, rows of random length; a way round, so that all states are
/// visited for ever.
fn random_model(rng: &mut ChaCha8Rng) -> Mdp {
    let (n, actions) = (rng.random_range(2..10usize), rng.random_range(2..4usize));
    let mdp = Mdp::from_fn(n, actions, |s, a, next| {
        if a == 0 {
            next.push(((s + 1) % n, 0.5 + rng.random::<f64>()));
        }
        for _ in 0..rng.random_range(1..4) {
            next.push((rng.random_range(0..n), rng.random::<f64>()));
        }
        let sum: f64 = next.iter().map(|entry| entry.1).sum();
        next.iter_mut().for_each(|entry| entry.1 /= sum);
        true
    });
    mdp.unwrap().with_start_state(0).unwrap()
}

fn spent(limit: &Limit, omega: &[f64]) -> f64 {
    limit.cost.iter().zip(omega).map(|(c, x)| c * x).sum()
}

fn random_limit(mdp: &Mdp, rng: &mut ChaCha8Rng) -> Limit {
    Limit {
        cost: (0..mdp.n_pairs()).map(|_| rng.random()).collect(),
        budget: 0.0,
    }
}

#[test]
fn any_dual_point_bounds_every_policy() {
    let mut rng = ChaCha8Rng::seed_from_u64(16);
    let (mut compared, mut near) = (0, 0);
    for round in 0..40 {
        let mdp = random_model(&mut rng);
        let n = mdp.n_pairs();
        let (xi, restart) = ([0.0, 0.05][round % 2], [0.0, 0.1, 0.6][round % 3]);
        let part = Occupancies::new(&mdp, xi, restart, vec![true; n]).unwrap();
        let m = part.mdp();
        let near_all = vec![1.0; m.n_states()];
        let omegas: Vec<Vec<f64>> = (0..60)
            .map(|_| part.of_policy(&random_rows(m, xi, &mut rng), &near_all))
            .collect();
        let mut limit = random_limit(&mdp, &mut rng);
        let mut limits = part.limits(&[limit.clone()]);
        // some of the policies keep to the limit, some do not
        limit.budget = spent(&limits[0], &omegas[0]);
        limits[0].budget = limit.budget;
        let q: Vec<f64> = (0..mdp.n_states())
            .map(|_| rng.random::<f64>() + 0.01)
            .collect();
        let wanted: Vec<f64> = (0..n).map(|_| f64::from(rng.random_range(1..5))).collect();
        let utilities: [Box<dyn Conjugate>; 5] = [
            Box::new(Entropies::new(&mdp, 0.0)),
            Box::new(Entropies::new(&mdp, 1.0)),
            Box::new(Entropies::towards(&mdp, &q)),
            Box::new(Coverage::new(wanted)),
            Box::new(ModelError::new(errors(&mdp))),
        ];
        for utility in &utilities {
            let utility = utility.within(&part);
            for k in 0..12 {
                // dual points near those of a policy are the ones that could prove too much
                let size = if k % 2 == 0 { 1.0 } else { 0.01 };
                let mut r = vec![0.0; m.n_pairs()];
                utility.gradient(&omegas[k], &mut r);
                let scale = r.iter().fold(1e-3, |x: f64, r| x.max(r.abs()));
                for r in &mut r {
                    *r += size * scale * rng.random::<f64>();
                }
                let v: Vec<f64> = (0..m.n_states())
                    .map(|_| size * scale * (rng.random::<f64>() - 0.5))
                    .collect();
                let prices = [size * scale * rng.random::<f64>()];
                // with the reward as it is, and with the one that the utility prefers
                let mut advantage = vec![0.0; m.n_pairs()];
                part.advantage(&limits, &v, &prices, &mut advantage);
                let level = part.level(&advantage, &r) + prices[0] * limits[0].budget;
                let plain = utility
                    .at_most(&r, level)
                    .min(level - utility.conjugate(&r));
                let best = part.bound(utility.as_ref(), &limits, &r, &v, &prices);
                for omega in &omegas {
                    if spent(&limits[0], omega) > limits[0].budget {
                        continue;
                    }
                    let value = utility.value(omega);
                    let rounding = 1e-9 * (1.0 + value.abs());
                    assert!(value <= plain + rounding, "{value} > {plain}");
                    assert!(value <= best + rounding, "{value} > {best}");
                    compared += 1;
                    near += u32::from(best - value < 0.5 * (1.0 + value.abs()));
                }
            }
        }
    }
    // bounds that are far from everything would hold, too
    assert!(compared > 20_000 && near > 1_000, "{compared} {near}");
}

fn solved(mdp: &Mdp, formulation: Formulation, xi: f64, visits: &OccupancySpec) -> Solution {
    let problem = Problem {
        xi,
        ..Problem::new(formulation)
    };
    let options = Options::default();
    let found = solve_visits(mdp, &problem, visits, &options, None, &mut ()).unwrap();
    assert_eq!(found.certificate.status, Status::Optimal, "{formulation:?}");
    found
}

#[test]
fn limits_are_met_and_have_prices() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for round in 0..24 {
        let mdp = random_model(&mut rng);
        let restart = [0.0, 0.2][round % 2];
        let formulation = [
            Formulation::StateEntropy,
            Formulation::Coverage,
            Formulation::Dual,
            Formulation::ModelError,
        ][round % 4];
        let mut visits = OccupancySpec {
            restart,
            ..OccupancySpec::default()
        };
        let free = solved(&mdp, formulation, 0.01, &visits);
        let part = Occupancies::new(&mdp, 0.01, restart, vec![true; mdp.n_pairs()]).unwrap();
        let even = vec![1.0; mdp.n_states()];
        let omega = part.of_policy(free.policy.probabilities(), &even);
        // a little less than the free optimum spends, beside one that nobody feels
        let mut tight = random_limit(&mdp, &mut rng);
        let own = |policy: &[f64]| spent(&tight, &part.of_policy(policy, &even));
        let least = (0..300)
            .map(|_| own(&random_rows(&mdp, 0.01, &mut rng)))
            .fold(f64::INFINITY, f64::min);
        let most = spent(&tight, &omega);
        if least > most - 1e-3 {
            continue;
        }
        tight.budget = 0.5 * (least + most);
        let slack = Limit {
            cost: vec![1.0; mdp.n_pairs()],
            budget: 1.5,
        };
        visits.limits = vec![tight.clone(), slack];
        let found = solved(&mdp, formulation, 0.01, &visits);
        let value = found.certificate.objective;
        for limit in &found.limits {
            assert!(limit.value <= limit.budget + 1e-9, "{limit:?}");
        }
        assert_eq!(found.limits[1].price, 0.0, "{formulation:?}");
        let price = found.limits[0].price;
        // the price is the slope of the optimum in the budget
        let change = 1e-3 * (most - least);
        visits.limits[0].budget = tight.budget + change;
        let wider = solved(&mdp, formulation, 0.01, &visits);
        let slope = (wider.certificate.objective - value).abs() / change;
        assert!(
            (price - slope).abs() <= 0.1 * slope + 1e-4,
            "{formulation:?} restart {restart}: price {price}, slope {slope}"
        );
        visits.limits[0].budget = most + 0.1;
        let loose = solved(&mdp, formulation, 0.01, &visits);
        assert_eq!(loose.limits[0].price, 0.0, "{formulation:?}");
    }
}

#[test]
fn restarting_always_is_the_start() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for _ in 0..10 {
        let mdp = random_model(&mut rng);
        let n = mdp.n_states();
        let weights: Vec<f64> = (0..n).map(|_| rng.random::<f64>() + 0.1).collect();
        let sum: f64 = weights.iter().sum();
        let start: Vec<f64> = weights.iter().map(|w| w / sum).collect();
        let mdp = mdp.with_start(start.clone()).unwrap();
        let visits = OccupancySpec {
            restart: 1.0,
            ..OccupancySpec::default()
        };
        let found = solved(&mdp, Formulation::StateEntropy, 0.0, &visits);
        let entropy: f64 = start.iter().map(|p| -p * p.ln()).sum();
        assert!((found.certificate.objective - entropy).abs() < 1e-9);
        // whoever is told to visit the start as often as it is started from does so
        let visits = OccupancySpec {
            target: start,
            ..visits
        };
        let found = solved(&mdp, Formulation::Target, 0.0, &visits);
        assert!(found.certificate.objective.abs() < 1e-7);
    }
}

#[test]
fn an_even_target_is_state_entropy() {
    let mut rng = ChaCha8Rng::seed_from_u64(6);
    for round in 0..12 {
        let mdp = random_model(&mut rng);
        let n = mdp.n_states();
        let visits = OccupancySpec {
            target: vec![1.0 / n as f64; n],
            restart: [0.0, 0.1][round % 2],
            ..OccupancySpec::default()
        };
        let plain = OccupancySpec {
            restart: visits.restart,
            ..OccupancySpec::default()
        };
        let target = solved(&mdp, Formulation::Target, 0.02, &visits);
        let even = solved(&mdp, Formulation::StateEntropy, 0.02, &plain);
        let (a, b) = (target.certificate.objective, even.certificate.objective);
        assert!((a - ((n as f64).ln() - b)).abs() < 2e-7, "{a} {b}");
    }
}

/// The method of the library and the conic solver find the same on models that were never written
/// to a file.
#[test]
fn two_methods_agree_on_random_models() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    for round in 0..30 {
        let mdp = random_model(&mut rng);
        let formulation = Formulation::VISITS[round % 3];
        let q: Vec<f64> = (0..mdp.n_states())
            .map(|_| rng.random::<f64>() + 0.01)
            .collect();
        let sum: f64 = q.iter().sum();
        let visits = OccupancySpec {
            target: match formulation {
                Formulation::Target => q.iter().map(|q| q / sum).collect(),
                _ => Vec::new(),
            },
            restart: [0.0, 0.02, 0.4, 0.0, 0.9][round % 5],
            ..OccupancySpec::default()
        };
        let xi = [0.0, 0.03][round % 2];
        let own = solved(&mdp, formulation, xi, &visits);
        assert_ne!(own.solver, "conic");
        let problem = Problem {
            xi,
            ..Problem::new(formulation)
        };
        let options = Options {
            solver: ide3al::solve::SolverChoice::Conic,
            ..Options::default()
        };
        let conic = solve_visits(&mdp, &problem, &visits, &options, None, &mut ()).unwrap();
        let (a, b) = (own.certificate.objective, conic.certificate.objective);
        assert!(
            (a - b).abs() <= 1e-6 * (1.0 + a.abs()),
            "{formulation:?} {a} {b}"
        );
    }
}

/// Where the equations are too large to factor, coverage is found by walking, and proven all the
/// same; with a floor under the actions, too.
#[test]
fn coverage_of_models_too_large_to_factor() {
    let mdp = ide3al::domains::load("garnet:states=3200,actions=3,branching=4,seed=2").unwrap();
    let options = Options {
        relative_tolerance: 1e-2,
        ..Options::default()
    };
    for (xi, restart) in [(0.0, 0.0), (0.1, 0.0), (0.0, 0.05)] {
        let problem = Problem {
            xi,
            ..Problem::new(Formulation::Coverage)
        };
        let visits = OccupancySpec {
            restart,
            ..OccupancySpec::default()
        };
        let found = solve_visits(&mdp, &problem, &visits, &options, None, &mut ()).unwrap();
        let c = found.certificate;
        assert_eq!(found.solver, "primal-dual");
        assert_eq!(
            c.status,
            Status::Optimal,
            "xi {xi} restart {restart}: {c:?}"
        );
        assert!(c.objective > 0.0 && c.bound >= c.objective, "{c:?}");
        assert!(
            found
                .policy
                .probabilities()
                .iter()
                .all(|p| *p >= xi - 1e-12)
        );
    }
}

/// States at the far end of a chain are reached so seldom that a Newton step may ask for a negative
/// coverage on its way; without a floor under the actions, too, occupancies stay positive then. The
/// limit of small floors is the answer.
#[test]
fn coverage_of_chains_whose_ends_are_hardly_reached() {
    for name in [
        "single-chain:states=30,slip=0.2",
        "single-chain:states=60,slip=0.2",
        "double-chain:states=81",
        "double-chain:states=201",
    ] {
        let mdp = ide3al::domains::load(name).unwrap();
        let value = |xi: f64| {
            let found = solved(&mdp, Formulation::Coverage, xi, &OccupancySpec::default());
            found.certificate.objective
        };
        let (without, with) = (value(0.0), value(1e-5));
        assert!(
            with <= without * (1.0 + 1e-7) && without <= with * 1.001,
            "{name}: {without} {with}"
        );
    }
}

/// Steps that aimed at the mean of the products from a point where these are alike went on for ever
/// without moving, and pairs without a multiplier of their own were where others ended. A random
/// graph of 2,000 states is factored.
#[test]
fn ordinary_models_get_there() {
    let restart = |restart: f64| OccupancySpec {
        restart,
        ..OccupancySpec::default()
    };
    for (name, formulation, xi, visits) in [
        (
            "knight-quest:rows=6,columns=6",
            Formulation::Coverage,
            0.01,
            restart(0.0),
        ),
        ("knight-quest", Formulation::Dual, 0.0, restart(0.02)),
        (
            "open-grid:rows=40,columns=40,slip=0.2",
            Formulation::ModelError,
            0.0,
            restart(0.2),
        ),
        (
            "garnet:states=2000,actions=3,branching=3,seed=5",
            Formulation::StateEntropy,
            0.01,
            restart(0.2),
        ),
    ] {
        let mdp = ide3al::domains::load(name).unwrap();
        let found = solved(&mdp, formulation, xi, &visits);
        assert!(found.certificate.iterations < 100, "{name}");
    }
}

/// Two random graphs that do not know each other: the potentials of each part are a start for it,
/// and the solver that is named is the one that ran.
#[test]
fn a_warm_start_serves_models_of_several_parts() {
    let garnet = domains::load("garnet:states=60,actions=3,branching=3,seed=5").unwrap();
    let n = garnet.n_states();
    let two = Mdp::from_fn(2 * n, 3, |s, a, next| {
        let (part, s) = (s / n, s % n);
        let row = garnet.row(garnet.pairs(s).start + a);
        next.extend(row.entries().map(|(t, p)| (part * n + t, p)));
        true
    })
    .unwrap();
    let problem = Problem {
        xi: 0.01,
        ..Problem::new(Formulation::StateEntropy)
    };
    let run = |warm| solve(&two, &problem, &Options::default(), warm, &mut ()).unwrap();
    let cold = run(None);
    let warm = run(Some(&cold));
    for found in [&cold, &warm] {
        assert_eq!(found.certificate.status, Status::Optimal);
        assert_eq!(found.solver, "newton");
        assert!(found.notes.iter().any(|note| note.contains("2 parts")));
    }
    let steps = [&cold, &warm].map(|found| found.certificate.iterations);
    assert!(steps[1] < steps[0], "{steps:?}");
}

/// With restarts or limits no tie is broken for State Entropy, which a note says.
#[test]
fn what_breaks_no_tie_says_so() {
    let mdp = domains::load("double-chain").unwrap();
    let restart = OccupancySpec {
        restart: 0.05,
        ..OccupancySpec::default()
    };
    let says = |visits: &OccupancySpec, tie_break| {
        let options = Options {
            tie_break,
            ..Options::default()
        };
        let problem = Problem::new(Formulation::StateEntropy);
        let found = solve_visits(&mdp, &problem, visits, &options, None, &mut ()).unwrap();
        found.notes.iter().any(|note| note.contains("tie-break"))
    };
    assert!(says(&restart, TieBreak::Uniform));
    assert!(!says(&restart, TieBreak::None));
    assert!(!says(&OccupancySpec::default(), TieBreak::Uniform));
}
