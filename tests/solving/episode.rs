//! Evenness within an episode: reference values by two solvers, bounds against random policies and
//! random dual points, simulation.

#![allow(clippy::unwrap_used)]

use ide3al::chain::entropy::entropy;
use ide3al::chain::horizon::average_distribution;
use ide3al::domains;
use ide3al::formulation::episode::{Episode, bound, reached, value};
use ide3al::model::{Counts, Mdp, Policy, TimedPolicy, Unvisited};
use ide3al::solve::episode::{EpisodeSolution, solve};
use ide3al::solve::{Options, SolverChoice, Status};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::Value;

fn solved(mdp: &Mdp, steps: usize, xi: f64) -> EpisodeSolution {
    solve(mdp, &Episode { steps, xi }, &Options::default(), &mut ()).unwrap()
}

/// Models, settings and optima of the reference file that have an episode.
fn references() -> Vec<(String, Mdp, Episode, f64)> {
    let text = std::fs::read_to_string("tests/data/occupancy.json").unwrap();
    let models: Value = serde_json::from_str(&text).unwrap();
    let mut cases = Vec::new();
    for model in models.as_array().unwrap() {
        let triplets = model["transitions"].as_array().unwrap().iter().map(|e| {
            let index = |i: usize| e[i].as_u64().unwrap() as usize;
            (index(0), index(1), index(2), e[3].as_f64().unwrap())
        });
        let size = |key: &str| model[key].as_u64().unwrap() as usize;
        let mdp = Mdp::from_triplets(size("states"), size("actions"), triplets).unwrap();
        let mdp = mdp.with_start_state(0).unwrap();
        for case in model["cases"].as_array().unwrap() {
            if let Some(optimum) = case["optima"]["episode"].as_f64() {
                let episode = Episode {
                    steps: case["steps"].as_u64().unwrap() as usize,
                    xi: case["xi"].as_f64().unwrap(),
                };
                let name = model["name"].as_str().unwrap().to_owned();
                cases.push((name, mdp.clone(), episode, optimum));
            }
        }
    }
    cases
}

#[test]
fn reference_values_by_two_solvers() {
    let cases = references();
    assert!(cases.len() >= 15, "only {} cases", cases.len());
    for solver in [SolverChoice::Auto, SolverChoice::Conic] {
        for (name, mdp, episode, expected) in &cases {
            let options = Options {
                solver,
                ..Options::default()
            };
            let found = solve(mdp, episode, &options, &mut ()).unwrap();
            let c = found.certificate;
            assert!(
                (c.objective - expected).abs() <= 1e-6 && c.gap <= 1e-6,
                "{name} {solver:?}: {c:?}, reference {expected}"
            );
            if solver == SolverChoice::Auto {
                assert_eq!(c.status, Status::Optimal, "{name}: {c:?}");
            }
        }
    }
}

/// A random model: few states, several actions, sometimes a part that is hard to reach.
fn random_model(rng: &mut ChaCha8Rng) -> Mdp {
    let (n, actions) = (rng.random_range(2..9usize), rng.random_range(1..4usize));
    let mdp = Mdp::from_fn(n, actions, |s, a, next| {
        if a > 0 && rng.random::<f64>() < 0.2 {
            return false;
        }
        let mut sum = 0.0;
        for _ in 0..rng.random_range(1..4) {
            let weight = 10f64.powf(-6.0 * rng.random::<f64>() * f64::from(s == 0));
            next.push((rng.random_range(0..n), weight));
            sum += weight;
        }
        next.iter_mut().for_each(|entry| entry.1 /= sum);
        true
    });
    mdp.unwrap().with_start_state(0).unwrap()
}

/// A policy with every action at least `xi`, near a corner as often as inside.
pub(crate) fn random_rows(mdp: &Mdp, xi: f64, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut rows = Vec::with_capacity(mdp.n_pairs());
    for s in 0..mdp.n_states() {
        let n = mdp.n_actions(s);
        let sharp = 10f64.powf(2.0 * rng.random::<f64>() - 1.0);
        let weights: Vec<f64> = (0..n)
            .map(|_| (rng.random::<f64>() + 1e-12).powf(sharp))
            .collect();
        let sum: f64 = weights.iter().sum();
        rows.extend(weights.iter().map(|w| xi + (1.0 - n as f64 * xi) * w / sum));
    }
    rows
}

#[test]
fn no_policy_exceeds_the_optimum_and_no_dual_point_proves_less() {
    let mut rng = ChaCha8Rng::seed_from_u64(7);
    for round in 0..60 {
        let mdp = random_model(&mut rng);
        let xi = [0.0, 0.05, 1.0 / mdp.max_actions() as f64][round % 3];
        let steps = rng.random_range(1..12usize);
        let episode = Episode { steps, xi };
        let found = solved(&mdp, steps, xi);
        let c = found.certificate;
        assert!(c.gap <= 5e-8, "{c:?}");
        let here = reached(&mdp, steps);
        for _ in 0..40 {
            let stationary = Policy::new(&mdp, random_rows(&mdp, xi, &mut rng)).unwrap();
            let d = average_distribution(&mdp.chain(&stationary), steps as u64);
            assert!(entropy(&d) <= c.bound + 1e-9, "{} {}", entropy(&d), c.bound);
            let tables: Vec<f64> = (0..steps)
                .flat_map(|_| random_rows(&mdp, xi, &mut rng))
                .collect();
            let timed = TimedPolicy::new(&mdp, tables).unwrap();
            let of_random = value(&mdp, &timed).0;
            assert!(of_random <= c.bound + 1e-9);
            let u: Vec<f64> = (0..mdp.n_states())
                .map(|_| 6.0 * (rng.random::<f64>() - 0.5))
                .collect();
            let proven = bound(&mdp, &episode, &here, &u);
            assert!(proven >= c.objective - 1e-9, "{proven} {}", c.objective);
            assert!(proven >= of_random - 1e-9);
        }
        // what is handed over is what was promised, and within its floor
        assert!((value(&mdp, &found.policy).0 - c.objective).abs() < 1e-12);
        assert!((bound(&mdp, &episode, &here, &found.dual) - c.bound).abs() < 1e-9);
        assert!(
            found
                .policy
                .probabilities()
                .iter()
                .all(|p| *p >= xi - 1e-12)
        );
    }
}

#[test]
fn simulated_episodes_attain_the_optimum() {
    let mdp = domains::load("double-chain:states=11").unwrap();
    let mdp = mdp.with_start_state(5).unwrap();
    let steps = 12;
    let found = solved(&mdp, steps, 0.02);
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let draw = |weights: &mut dyn Iterator<Item = f64>, rng: &mut ChaCha8Rng| {
        let mut left = rng.random::<f64>();
        let mut last = 0;
        for (k, w) in weights.enumerate() {
            last = k;
            left -= w;
            if left < 0.0 {
                break;
            }
        }
        last
    };
    let episodes = 20_000;
    let mut visits = vec![0.0; mdp.n_states()];
    for _ in 0..episodes {
        let mut s = draw(&mut mdp.start().iter().copied(), &mut rng);
        for t in 0..steps {
            visits[s] += 1.0 / (episodes * steps) as f64;
            let row = &found.policy.at(t)[mdp.pairs(s)];
            let pair = mdp.pairs(s).start + draw(&mut row.iter().copied(), &mut rng);
            let row = mdp.row(pair);
            s = row.indices[draw(&mut row.values.iter().copied(), &mut rng)] as usize;
        }
    }
    let seen = entropy(&visits);
    assert!(
        (seen - found.certificate.objective).abs() < 2e-3,
        "{seen} {}",
        found.certificate.objective
    );
    for (a, b) in visits.iter().zip(&found.distribution) {
        assert!((a - b).abs() < 3e-3, "{visits:?} {:?}", found.distribution);
    }
}

#[test]
fn one_step_is_the_start_and_many_are_the_long_run() {
    let mdp = domains::load("river-swim").unwrap();
    let one = solved(&mdp, 1, 0.0);
    assert!((one.certificate.objective - entropy(mdp.start())).abs() < 1e-12);
    assert!(one.certificate.gap < 1e-9);
    // with time to spare the share of the approach vanishes: T = 2,000 is within 1 % of the long
    // run
    let long = solve(
        &mdp,
        &Episode {
            steps: 2000,
            xi: 0.02,
        },
        &Options {
            tolerance: 1e-4,
            ..Options::default()
        },
        &mut (),
    )
    .unwrap();
    let problem = ide3al::formulation::Problem {
        xi: 0.02,
        ..ide3al::formulation::Problem::new(ide3al::formulation::Formulation::StateEntropy)
    };
    let stationary =
        ide3al::solve::solve(&mdp, &problem, &Options::default(), None, &mut ()).unwrap();
    let (a, b) = (long.certificate.objective, stationary.certificate.objective);
    assert!((a - b).abs() < 0.01 * b, "{a} {b}");
}

#[test]
fn estimated_models_with_uniform_rows_are_whole() {
    let mut counts = Counts::new(&[2; 6]);
    for (s, a, t) in [(0, 0, 1), (1, 0, 2), (2, 1, 0), (0, 1, 0), (1, 0, 0)] {
        counts.record(s, a, t);
    }
    let mdp = counts.estimate(Unvisited::Uniform, &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    assert!(mdp.kernel().has_spread());
    for solver in [SolverChoice::Auto, SolverChoice::Conic] {
        let options = Options {
            solver,
            ..Options::default()
        };
        let found = solve(&mdp, &Episode { steps: 7, xi: 0.1 }, &options, &mut ()).unwrap();
        assert!(found.certificate.gap <= 1e-6, "{:?}", found.certificate);
        assert_eq!(reached(&mdp, 3), [true; 6]);
    }
}

#[test]
fn the_same_bits_on_any_number_of_threads() {
    let mdp = domains::load("garnet:states=1500,actions=4,branching=4,seed=5").unwrap();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads);
        let options = Options {
            tolerance: 1e-2,
            ..Options::default()
        };
        let episode = Episode { steps: 12, xi: 0.0 };
        pool.build()
            .unwrap()
            .install(|| solve(&mdp, &episode, &options, &mut ()).unwrap())
    };
    let (one, three) = (run(1), run(3));
    assert_eq!(one.certificate.status, Status::Optimal);
    assert_eq!(one.policy, three.policy);
    assert_eq!(
        one.certificate.bound.to_bits(),
        three.certificate.bound.to_bits()
    );
}

#[test]
fn bad_parameters_are_refused() {
    let mdp = domains::load("double-chain").unwrap();
    let refused = |steps: usize, xi: f64| {
        solve(&mdp, &Episode { steps, xi }, &Options::default(), &mut ())
            .unwrap_err()
            .to_string()
    };
    assert!(refused(0, 0.0).contains("steps = 0: an episode has at least one step"));
    assert!(refused(usize::MAX, 0.0).contains("too large to hold"));
    assert!(refused(5, 0.6).contains("xi = 0.6"));
    assert!(refused(5, f64::NAN).contains("xi = NaN"));
    let wrong = TimedPolicy::new(&mdp, vec![0.5; mdp.n_pairs() + 1]).unwrap_err();
    assert!(wrong.to_string().contains("state-action pairs"), "{wrong}");
    let mut tables = vec![0.5; 3 * mdp.n_pairs()];
    tables[mdp.n_pairs()] = 0.9;
    let wrong = TimedPolicy::new(&mdp, tables).unwrap_err().to_string();
    assert!(
        wrong.contains("state 0") && wrong.contains("step 2"),
        "{wrong}"
    );
}

/// A gap without end would call any policy optimal.
#[test]
fn gaps_that_mean_nothing_are_refused() {
    let mdp = domains::load("single-chain").unwrap();
    let options = Options {
        tolerance: f64::INFINITY,
        ..Options::default()
    };
    let asked = Episode { steps: 5, xi: 0.0 };
    let error = solve(&mdp, &asked, &options, &mut ()).unwrap_err();
    assert!(error.to_string().contains("tolerance"), "{error}");
}
