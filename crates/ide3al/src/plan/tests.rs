//! Against every deterministic policy, against linear programs, and by hand.

use clarabel::algebra::CscMatrix;
use clarabel::solver::SupportedConeT::NonnegativeConeT;
use clarabel::solver::{DefaultSettingsBuilder, DefaultSolver, IPSolver};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::chain::stationary::long_run;
use crate::model::Rewards;

fn quiet(mdp: &Mdp, reward: &[f64], criterion: Criterion) -> Planned {
    let found = plan(mdp, reward, criterion, &Options::default(), &mut ()).unwrap();
    assert_eq!(found.certificate.status, Status::Optimal, "{criterion:?}");
    found
}

/// Sparse rows of `least` to two successors, several components, now and then a trap.
fn random_rows(n: usize, actions: usize, least: usize, seed: u64) -> (Mdp, Vec<f64>) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mdp = Mdp::from_fn(n, actions, |s, a, row| {
        if a > 0 && rng.random_bool(0.2) {
            return false;
        }
        for _ in 0..rng.random_range(least..=2) {
            // mostly to states not far, so that there are parts that are never left
            let t = if rng.random_bool(0.3) {
                s
            } else {
                rng.random_range(0..n)
            };
            row.push((t, rng.random_range(0.1..1.0)));
        }
        let sum: f64 = row.iter().map(|x| x.1).sum();
        row.iter_mut().for_each(|x| x.1 /= sum);
        true
    });
    let mdp = mdp.unwrap().with_start_state(0).unwrap();
    let reward = (0..mdp.n_pairs())
        .map(|_| rng.random_range(-1.0..1.0))
        .collect();
    (mdp, reward)
}

fn random(n: usize, actions: usize, seed: u64) -> (Mdp, Vec<f64>) {
    random_rows(n, actions, 1, seed)
}

/// Every deterministic policy, as the pair of each state.
fn policies(mdp: &Mdp) -> Vec<Vec<u32>> {
    let mut all: Vec<Vec<u32>> = vec![Vec::new()];
    for s in 0..mdp.n_states() {
        let longer = all.iter().flat_map(|policy| {
            mdp.pairs(s)
                .map(move |pair| [&policy[..], &[pair as u32]].concat())
        });
        all = longer.collect();
    }
    all
}

/// The discounted value of one policy, by long iteration.
fn discounted_value(mdp: &Mdp, reward: &[f64], choice: &[u32], gamma: f64) -> Vec<f64> {
    let mut values = vec![0.0; mdp.n_states()];
    for _ in 0..2_000 {
        let of = |pair: u32| reward[pair as usize] + gamma * expected(mdp, pair, &values);
        values = choice.iter().map(|pair| of(*pair)).collect();
    }
    values
}

fn expected(mdp: &Mdp, pair: u32, values: &[f64]) -> f64 {
    mdp.row(pair as usize)
        .entries()
        .map(|(t, p)| p * values[t])
        .sum()
}

#[test]
fn nothing_beats_the_discounted_plan_and_it_is_a_policys_own() {
    for seed in 0..20 {
        let (mdp, reward) = random(4, 3, seed);
        let found = quiet(&mdp, &reward, Criterion::Discounted(0.95));
        let mut best = vec![f64::NEG_INFINITY; 4];
        for policy in policies(&mdp) {
            let values = discounted_value(&mdp, &reward, &policy, 0.95);
            for (best, value) in best.iter_mut().zip(values) {
                *best = best.max(value);
            }
        }
        for (value, best) in found.values.iter().zip(&best) {
            assert!((value - best).abs() < 1e-8, "seed {seed}: {value} {best}");
        }
        let Plan::Stationary(policy) = &found.policy else {
            panic!()
        };
        let choice: Vec<u32> = (0..4)
            .map(|s| {
                mdp.pairs(s)
                    .find(|k| policy.probabilities()[*k] == 1.0)
                    .unwrap() as u32
            })
            .collect();
        let own = discounted_value(&mdp, &reward, &choice, 0.95)[0];
        let certificate = found.certificate;
        assert!(own >= certificate.objective - 1e-12 && own <= certificate.bound + 1e-12);
    }
}

#[test]
fn nothing_beats_the_average_from_any_state() {
    for seed in 0..30 {
        let (mdp, reward) = random(4, 2, seed);
        let found = quiet(&mdp, &reward, Criterion::Average);
        for s in 0..4 {
            let from = mdp.clone().with_start_state(s).unwrap();
            let gain = |probabilities: &[f64]| {
                let policy = Policy::of_rows(probabilities.to_vec());
                let d = long_run(&from.chain(&policy)).distribution;
                let of = |t: usize| {
                    mdp.pairs(t)
                        .map(|k| probabilities[k] * reward[k])
                        .sum::<f64>()
                };
                (0..4).map(|t| d[t] * of(t)).sum::<f64>()
            };
            let all = policies(&mdp).into_iter().map(|choice| {
                let mut probabilities = vec![0.0; mdp.n_pairs()];
                choice.iter().for_each(|k| probabilities[*k as usize] = 1.0);
                gain(&probabilities)
            });
            let best = all.fold(f64::NEG_INFINITY, f64::max);
            assert!(
                (found.values[s] - best).abs() < 1e-8,
                "seed {seed}, state {s}: {} {best}",
                found.values[s]
            );
            let Plan::Stationary(policy) = &found.policy else {
                panic!()
            };
            let own = gain(policy.probabilities());
            assert!(
                (own - best).abs() < 1e-8,
                "seed {seed}, state {s}: {own} {best}"
            );
        }
    }
}

/// The least $x$ with $x \ge$ every row: `rows` are lists of terms of $Ax \le b$.
fn linear_program(cost: &[f64], rows: &[(Vec<(usize, f64)>, f64)]) -> f64 {
    let (m, n) = (rows.len(), cost.len());
    let (mut i, mut j, mut v, mut b) = (vec![], vec![], vec![], vec![]);
    for (row, (terms, right)) in rows.iter().enumerate() {
        for (column, value) in terms {
            i.push(row);
            j.push(*column);
            v.push(*value);
        }
        b.push(*right);
    }
    let a = CscMatrix::new_from_triplets(m, n, i, j, v);
    let p = CscMatrix::zeros((n, n));
    let settings = DefaultSettingsBuilder::default()
        .verbose(false)
        .tol_gap_abs(1e-11)
        .tol_gap_rel(1e-11)
        .tol_feas(1e-11)
        .build()
        .unwrap();
    let mut solver =
        DefaultSolver::new(&p, cost, &a, &b, &[NonnegativeConeT(m)], settings).unwrap();
    solver.solve();
    solver.solution.obj_val
}

#[test]
fn linear_programs_agree() {
    for seed in 0..6 {
        let n = 12;
        let (mdp, reward) = random(n, 3, 100 + seed);
        // discounted: V >= r + gamma P V, the least sum
        let gamma = 0.9;
        let (mut value, mut average) = (Vec::new(), Vec::new());
        for s in 0..n {
            for pair in mdp.pairs(s) {
                let row = || mdp.row(pair).entries();
                let terms = row().map(|(t, p)| (t, gamma * p)).chain([(s, -1.0)]);
                value.push((terms.collect(), -reward[pair]));
                // average: g >= P g and g + h >= r + P h
                let terms = row().chain([(s, -1.0)]);
                average.push((terms.collect(), 0.0));
                let terms = row()
                    .map(|(t, p)| (n + t, p))
                    .chain([(s, -1.0), (n + s, -1.0)]);
                average.push((terms.collect(), -reward[pair]));
            }
        }
        let ours: f64 = quiet(&mdp, &reward, Criterion::Discounted(gamma))
            .values
            .iter()
            .sum();
        let theirs = linear_program(&vec![1.0; n], &value);
        assert!((ours - theirs).abs() < 1e-6, "seed {seed}: {ours} {theirs}");
        let cost: Vec<f64> = (0..2 * n).map(|k| f64::from(u8::from(k < n))).collect();
        let ours: f64 = quiet(&mdp, &reward, Criterion::Average).values.iter().sum();
        let theirs = linear_program(&cost, &average);
        assert!((ours - theirs).abs() < 1e-5, "seed {seed}: {ours} {theirs}");
    }
}

#[test]
fn a_horizon_is_the_best_of_all_sequences() {
    let (mdp, reward) = random(4, 3, 7);
    let found = quiet(&mdp, &reward, Criterion::Within(3));
    // by recursion over all that can happen
    fn best(mdp: &Mdp, reward: &[f64], s: usize, left: usize) -> f64 {
        if left == 0 {
            return 0.0;
        }
        let worth = |pair: usize| {
            let row = mdp.row(pair).entries();
            reward[pair]
                + row
                    .map(|(t, p)| p * best(mdp, reward, t, left - 1))
                    .sum::<f64>()
        };
        mdp.pairs(s).map(worth).fold(f64::NEG_INFINITY, f64::max)
    }
    for s in 0..4 {
        assert!((found.values[s] - best(&mdp, &reward, s, 3)).abs() < 1e-12);
    }
    let Plan::Timed(policy) = &found.policy else {
        panic!()
    };
    assert_eq!(policy.steps(), 3);
}

/// Probability of reaching the goal and mean number of steps when it is reached, by walking.
fn walk(mdp: &Mdp, goal: &Goal, choice: &[u32], from: usize) -> (f64, f64) {
    let mut mass = vec![0.0; mdp.n_states()];
    mass[from] = 1.0;
    let (mut reached, mut time, mut idle) = (0.0, 0.0, 0);
    for step in 0..10_000 {
        let more: f64 = goal.reach.iter().map(|s| mass[*s]).sum();
        idle = if more < 1e-17 { idle + 1 } else { 0 };
        if idle > 20 {
            break;
        }
        for &s in &goal.reach {
            reached += mass[s];
            time += mass[s] * f64::from(step);
            mass[s] = 0.0;
        }
        goal.avoid.iter().for_each(|s| mass[*s] = 0.0);
        let mut next = vec![0.0; mass.len()];
        for (s, m) in mass.iter().enumerate().filter(|(_, m)| **m > 0.0) {
            mdp.row(choice[s] as usize)
                .entries()
                .for_each(|(t, p)| next[t] += m * p);
        }
        mass = next;
    }
    (reached, time / reached)
}

#[test]
fn goals_are_reached_as_often_as_any_policy_does_and_then_soonest() {
    let mut partial = 0;
    for seed in 0..60 {
        let (mdp, _) = random_rows(5, 2, 2, 200 + seed);
        let goal = Goal {
            reach: vec![4],
            avoid: if seed % 2 == 0 { vec![2, 3] } else { vec![] },
        };
        let found = plan_goal(&mdp, &goal, None, &Options::default(), &mut ()).unwrap();
        assert_eq!(found.certificate.status, Status::Optimal, "seed {seed}");
        let Plan::Stationary(policy) = &found.policy else {
            panic!()
        };
        let own: Vec<u32> = (0..5)
            .map(|s| {
                mdp.pairs(s)
                    .find(|k| policy.probabilities()[*k] == 1.0)
                    .unwrap() as u32
            })
            .collect();
        for s in 0..5 {
            let all: Vec<_> = policies(&mdp)
                .iter()
                .map(|c| walk(&mdp, &goal, c, s))
                .collect();
            let most = all.iter().map(|x| x.0).fold(0.0, f64::max);
            let best = all.iter().filter(|x| x.0 > most - 1e-9);
            let least = best.map(|x| x.1).fold(f64::INFINITY, f64::min);
            assert!(
                (found.values[s] - most).abs() < 1e-8,
                "seed {seed}, state {s}: {} {most}",
                found.values[s]
            );
            let (reached, time) = walk(&mdp, &goal, &own, s);
            assert!(
                (reached - most).abs() < 1e-8,
                "seed {seed}, state {s}: {reached} {most}"
            );
            partial += usize::from(most > 1e-3 && most < 0.999);
            if most > 0.0 {
                let said = found.steps.as_ref().unwrap()[s];
                assert!(
                    (said - least).abs() < 1e-6,
                    "seed {seed}, state {s}: {said} {least}"
                );
                assert!(
                    (time - least).abs() < 1e-6,
                    "seed {seed}, state {s}: {time} {least}"
                );
            }
        }
    }
    assert!(partial >= 15, "only {partial} states were uncertain");
}

#[test]
fn goals_that_are_left_to_rarely_are_no_trouble() {
    // to and fro between 0 and 1; each step leads to the goal and to the trap once in a million
    let rare = 1e-6;
    let model = |trap: f64| {
        let stay = 1.0 - rare - trap;
        let rows = [(0, 1), (1, 0)]
            .into_iter()
            .flat_map(|(s, t)| [(s, 0, t, stay), (s, 0, 2, rare), (s, 0, 3, trap)]);
        let ends = [(2, 0, 2, 1.0), (3, 0, 3, 1.0)];
        let rows: Vec<_> = rows.chain(ends).filter(|x| x.3 > 0.0).collect();
        let mdp = Mdp::from_triplets(4, 1, rows).unwrap();
        mdp.with_start_state(0).unwrap()
    };
    let goal = Goal {
        reach: vec![2],
        avoid: vec![],
    };
    for (trap, probability) in [(0.0, 1.0), (3.0 * rare, 0.25)] {
        let mdp = model(trap);
        let found = plan_goal(&mdp, &goal, None, &Options::default(), &mut ()).unwrap();
        let Certificate {
            objective,
            bound,
            status,
            iterations,
            ..
        } = found.certificate;
        assert_eq!(status, Status::Optimal);
        assert!(objective <= probability + 1e-10 && bound >= probability - 1e-10);
        assert!((found.values[0] - probability).abs() < 1e-8);
        let mean = 1.0 / (rare + trap);
        let said = found.steps.unwrap()[0];
        assert!((said / mean - 1.0).abs() < 1e-7, "{said} {mean}");
        assert!(iterations < 200, "{iterations}");
    }
}

#[test]
fn goals_within_a_number_of_steps() {
    // two ways: a sure one of three steps, a risky one of one step
    let rows = [
        (0, 0, 1, 1.0),
        (1, 0, 2, 1.0),
        (2, 0, 3, 1.0),
        (0, 1, 3, 0.5),
        (0, 1, 4, 0.5),
        (3, 0, 3, 1.0),
        (4, 0, 4, 1.0),
    ];
    let mdp = Mdp::from_triplets(5, 2, rows)
        .unwrap()
        .with_start_state(0)
        .unwrap();
    let goal = Goal {
        reach: vec![3],
        avoid: vec![],
    };
    let within = |steps| {
        let found = plan_goal(&mdp, &goal, steps, &Options::default(), &mut ()).unwrap();
        found.certificate.objective
    };
    assert_eq!(
        [within(Some(2)), within(Some(3)), within(None)],
        [0.5, 1.0, 1.0]
    );
    let found = plan_goal(&mdp, &goal, None, &Options::default(), &mut ()).unwrap();
    assert_eq!(found.steps.unwrap()[0], 3.0);
}

#[test]
fn nothing_is_earned_after_the_end() {
    let rows = [(0, 0, 1, 1.0), (1, 0, 0, 1.0)];
    let mdp = Mdp::from_triplets(2, 1, rows)
        .unwrap()
        .with_start_state(0)
        .unwrap();
    let reward = mdp.expected_rewards(Rewards::States(&[1.0, 5.0])).unwrap();
    let ends = mdp.clone().with_terminal(vec![1]).unwrap();
    let of = |mdp: &Mdp, criterion| quiet(mdp, &reward, criterion).certificate.objective;
    assert!((of(&ends, Criterion::Discounted(0.5)) - 1.0).abs() < 1e-8);
    assert!((of(&mdp, Criterion::Discounted(0.5)) - 14.0 / 3.0).abs() < 1e-8);
    assert_eq!(of(&ends, Criterion::Within(7)), 1.0);
    // the long run goes through the reset
    assert!((of(&ends, Criterion::Average) - 3.0).abs() < 1e-8);
}

#[test]
fn a_far_end_is_no_trouble() {
    // a walk of 300 states with drift, ended at its end, where one is earned
    let n = 300;
    let mdp = Mdp::from_fn(n, 2, |s, a, row| {
        let (back, on) = (s.saturating_sub(1), (s + 1).min(n - 1));
        row.push((on, if a == 0 { 0.6 } else { 0.5 }));
        row.push((back, if a == 0 { 0.4 } else { 0.5 }));
        true
    });
    let mdp = mdp.unwrap().with_terminal(vec![n - 1]).unwrap();
    let goal = Goal {
        reach: vec![n - 1],
        avoid: vec![],
    };
    let found = quiet(
        &mdp,
        &arrival(&mdp, &goal).unwrap(),
        Criterion::Discounted(0.99),
    );
    let choice: Vec<u32> = (0..n).map(|s| 2 * s as u32).collect();
    let mut reward = arrival(&mdp, &goal).unwrap();
    reward[2 * (n - 1)] = 0.0;
    let mut values = vec![0.0; n];
    for _ in 0..4_000 {
        let of = |pair: u32| reward[pair as usize] + 0.99 * expected(&mdp, pair, &values);
        values = choice.iter().map(|pair| of(*pair)).collect();
        values[n - 1] = 0.0;
    }
    for s in 0..n {
        assert!(
            (found.values[s] - values[s]).abs() < 1e-8,
            "{s}: {} {}",
            found.values[s],
            values[s]
        );
    }
}

#[test]
fn slow_and_periodic_models_are_no_trouble() {
    // a ring of 2,000 states, once round: period 2,000, one reward
    let n = 2_000;
    let ring = Mdp::from_fn(n, 2, |s, a, row| {
        row.push((if a == 0 { (s + 1) % n } else { s }, 1.0));
        true
    });
    let ring = ring.unwrap();
    let mut reward = vec![0.0; ring.n_pairs()];
    reward[0] = 1.0;
    let found = quiet(&ring, &reward, Criterion::Average);
    assert!((found.values[5] - 1.0 / n as f64).abs() < 1e-9);
    // rounding counts
    let certificate = found.certificate;
    assert!(certificate.gap > 0.0);
    assert!(certificate.objective <= 1.0 / n as f64 && certificate.bound >= 1.0 / n as f64);
    let found = quiet(&ring, &reward, Criterion::Discounted(0.999));
    let once = 1.0 / (1.0 - 0.999f64.powi(n as i32));
    assert!(
        (found.values[0] - once).abs() < 1e-8,
        "{} {once}",
        found.values[0]
    );
}

#[test]
fn bad_questions_are_answered() {
    let (mdp, reward) = random(4, 2, 1);
    let told = |criterion| {
        let found = plan(&mdp, &reward, criterion, &Options::default(), &mut ());
        found.unwrap_err().to_string()
    };
    for discount in [1.0, -0.1, f64::NAN, f64::INFINITY] {
        assert!(told(Criterion::Discounted(discount)).contains("plan for the average"));
    }
    assert!(told(Criterion::Within(0)).contains("at least one step"));
    assert!(told(Criterion::Within(1 << 40)).contains("does not fit"));
    let goal = |reach: &[usize], avoid: &[usize]| {
        let goal = Goal {
            reach: reach.to_vec(),
            avoid: avoid.to_vec(),
        };
        plan_goal(&mdp, &goal, None, &Options::default(), &mut ())
            .unwrap_err()
            .to_string()
    };
    assert!(goal(&[], &[]).contains("at least one state"));
    assert!(goal(&[9], &[]).contains("goal state 9"));
    assert!(goal(&[1], &[1]).contains("both"));
    let far = Goal {
        reach: vec![9],
        avoid: vec![],
    };
    let told = arrival(&mdp, &far).unwrap_err().to_string();
    assert!(told.contains("goal state 9"), "{told}");
    let short = plan(
        &mdp,
        &reward[1..],
        Criterion::Average,
        &Options::default(),
        &mut (),
    );
    assert!(short.unwrap_err().to_string().contains("reward"));
}

/// The bounds stay above their first width for hundreds of improvements here, while the policy
/// still changes.
#[test]
fn a_discount_near_one_on_a_long_chain_is_planned_to_the_tolerance() {
    let mdp = crate::domains::load("river-swim:states=20000").unwrap();
    let reward: Vec<f64> = (0..mdp.n_pairs())
        .map(|pair| (pair * 7919 % 1000) as f64 / 1000.0)
        .collect();
    let options = Options {
        tolerance: 1e-2,
        ..Options::default()
    };
    let found = plan(
        &mdp,
        &reward,
        Criterion::Discounted(0.99999),
        &options,
        &mut (),
    )
    .unwrap();
    assert_eq!(found.certificate.status, Status::Optimal);
}
