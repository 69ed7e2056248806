//! Intervals hold as often as they say, and narrow as the data grow.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::*;
use crate::model::Rewards;

/// Random rows with two to four outcomes; every state can be reached.
fn truth(n: usize, actions: usize, rng: &mut ChaCha8Rng) -> Mdp {
    let mdp = Mdp::from_fn(n, actions, |s, _, row| {
        row.push(((s + 1) % n, rng.random_range(0.1..0.5)));
        for _ in 0..rng.random_range(1..=3) {
            row.push((rng.random_range(0..n), rng.random_range(0.1..1.0)));
        }
        let sum: f64 = row.iter().map(|x| x.1).sum();
        row.iter_mut().for_each(|x| x.1 /= sum);
        true
    });
    mdp.unwrap().with_start_state(0).unwrap()
}

fn drawn(row: impl Iterator<Item = (usize, f64)>, rng: &mut ChaCha8Rng) -> usize {
    let mut x: f64 = rng.random();
    let mut last = 0;
    for (t, p) in row {
        last = t;
        x -= p;
        if x < 0.0 {
            break;
        }
    }
    last
}

/// Explores at random, and says what came of it. Rewards are known, or `sampled`: one with the
/// probability that is given, else nothing.
fn explored(
    mdp: &Mdp,
    reward: &[f64],
    steps: usize,
    sampled: bool,
    rng: &mut ChaCha8Rng,
) -> Evidence {
    let n = mdp.n_states();
    let mut counts: Vec<std::collections::BTreeMap<u32, (u64, f64)>> =
        vec![Default::default(); mdp.n_pairs()];
    let (mut state, mut starts) = (0, 1);
    for step in 0..steps {
        if step % 25 == 24 {
            (state, starts) = (0, starts + 1);
        }
        let pair = mdp.pairs(state).start + rng.random_range(0..mdp.n_actions(state));
        state = drawn(mdp.row(pair).entries(), rng);
        let entry = counts[pair].entry(state as u32).or_default();
        entry.0 += 1;
        if sampled && rng.random_bool(reward[pair]) {
            entry.1 += 1.0;
        }
    }
    let mut found = Evidence {
        first_pair: vec![0],
        offsets: vec![0],
        ended: vec![false; n],
        starts: vec![(0, starts)],
        n_actions: mdp.max_actions(),
        declared: Some(n),
        ..Evidence::default()
    };
    for s in 0..n {
        for pair in mdp.pairs(s).filter(|pair| !counts[*pair].is_empty()) {
            found.actions.push(mdp.actions()[pair]);
            for (&t, &(c, sum)) in &counts[pair] {
                found.next.push(t);
                found.counts.push(c);
                let mean = sum / c as f64;
                if sampled {
                    found.reward.push(mean);
                    found.variance.push(mean * (1.0 - mean));
                } else {
                    found.reward.push(reward[pair]);
                }
            }
            found.offsets.push(found.next.len());
        }
        found.first_pair.push(found.actions.len());
    }
    found
}

/// The best policy in the model of the counts, by long iteration: the pair of each state.
fn planned_in(evidence: &Evidence, discount: f64) -> Vec<Option<usize>> {
    let n = evidence.ended.len();
    let (mut values, mut choice) = (vec![0.0; n], vec![None; n]);
    for _ in 0..400 {
        for s in 0..n {
            let of = |pair: usize| {
                let outcomes = evidence.offsets[pair]..evidence.offsets[pair + 1];
                let total: u64 = evidence.counts[outcomes.clone()].iter().sum();
                let worth =
                    |k: usize| evidence.reward[k] + discount * values[evidence.next[k] as usize];
                outcomes
                    .map(|k| evidence.counts[k] as f64 / total as f64 * worth(k))
                    .sum::<f64>()
            };
            let pairs = evidence.first_pair[s]..evidence.first_pair[s + 1];
            choice[s] = pairs.max_by(|a, b| of(*a).total_cmp(&of(*b)));
            values[s] = choice[s].map_or(0.0, of);
        }
    }
    choice
}

/// What a policy over the pairs of the evidence is worth in the true model from state 0.
fn worth(
    mdp: &Mdp,
    reward: &[f64],
    evidence: &Evidence,
    choice: &[Option<usize>],
    discount: f64,
) -> f64 {
    let mut values = vec![0.0; mdp.n_states()];
    for _ in 0..600 {
        values = (0..mdp.n_states())
            .map(|s| {
                // where nothing was tried any action may be taken: the first
                let action = choice[s].map_or(0, |k| evidence.actions[k] as usize);
                let pair = mdp.pairs(s).start + action;
                reward[pair]
                    + discount
                        * mdp
                            .row(pair)
                            .entries()
                            .map(|(t, p)| p * values[t])
                            .sum::<f64>()
            })
            .collect();
    }
    values[0]
}

const HOW: Bounding = Bounding {
    discount: 0.9,
    rewards: (0.0, 1.0),
    values: None,
    confidence: 0.9,
};

#[test]
fn the_true_value_lies_inside_as_often_as_stated() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let (mut outside, runs, mut width) = (0, 300, 0.0);
    for run in 0..runs {
        let mdp = truth(6, 2, &mut rng);
        let reward: Vec<f64> = (0..mdp.n_pairs()).map(|_| rng.random()).collect();
        let evidence = explored(&mdp, &reward, 100 << (run % 8), run % 2 == 0, &mut rng);
        let choice = planned_in(&evidence, HOW.discount);
        let [lower, upper, most] = evidence.value_interval(&choice, HOW).unwrap();
        let value = worth(&mdp, &reward, &evidence, &choice, HOW.discount);
        let table = mdp.expected_rewards(Rewards::Pairs(&reward)).unwrap();
        let best = plan(
            &mdp,
            &table,
            Criterion::Discounted(0.9),
            &Options::default(),
            &mut (),
        );
        let best = best.unwrap().certificate.objective;
        outside +=
            usize::from(!(lower <= value + 1e-9 && value <= upper + 1e-9 && best <= most + 1e-9));
        width += upper - lower;
    }
    assert!(outside * 10 <= runs, "{outside} of {runs} outside");
    // an interval as wide as all values would hold, too
    assert!(width / f64::from(runs as u32) < 7.0, "{width}");
}

#[test]
fn four_times_the_data_halve_the_width() {
    let mut rng = ChaCha8Rng::seed_from_u64(2);
    let mut ratio = 0.0;
    for _ in 0..4 {
        let mdp = truth(4, 2, &mut rng);
        let reward: Vec<f64> = (0..mdp.n_pairs()).map(|_| rng.random()).collect();
        let mut width = |steps: usize| {
            let evidence = explored(&mdp, &reward, steps, false, &mut rng);
            let choice = planned_in(&evidence, HOW.discount);
            let [lower, upper, _] = evidence.value_interval(&choice, HOW).unwrap();
            upper - lower
        };
        ratio += width(300_000) / width(1_200_000) / 4.0;
    }
    // the error of means falls with the root of the samples, unseen outcomes with the samples
    assert!((1.9..3.2).contains(&ratio), "{ratio}");
}

#[test]
fn every_reward_can_be_planned_for_as_well_as_stated() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let how = Bounding {
        discount: 0.7,
        ..HOW
    };
    let (mut failures, runs) = (0, 40);
    for _ in 0..runs {
        let mdp = truth(4, 2, &mut rng);
        let evidence = explored(&mdp, &[0.0; 8], 20_000, false, &mut rng);
        let (error, pairs) = evidence.reward_free_error(how).unwrap();
        assert!(error < 0.7 && pairs.len() == 8, "{error}");
        for _ in 0..5 {
            let reward: Vec<f64> = (0..8).map(|_| rng.random()).collect();
            let mut told = evidence.clone();
            for pair in 0..8 {
                told.reward[evidence.offsets[pair]..evidence.offsets[pair + 1]].fill(reward[pair]);
            }
            let choice = planned_in(&told, how.discount);
            let value = worth(&mdp, &reward, &told, &choice, how.discount);
            let best = plan(
                &mdp,
                &reward,
                Criterion::Discounted(0.7),
                &Options::default(),
                &mut (),
            );
            let lost = best.unwrap().certificate.objective - value;
            failures += usize::from(lost * 0.3 > 2.0 * error);
        }
    }
    assert!(failures * 10 <= 5 * runs, "{failures}");
}

#[test]
fn a_reward_that_was_always_the_same_may_be_another() {
    // two hundred times from 0 to 0 for nothing: the environment may pay now and then
    let evidence = Evidence {
        first_pair: vec![0, 1],
        actions: vec![0],
        offsets: vec![0, 1],
        next: vec![0],
        counts: vec![200],
        reward: vec![0.0],
        variance: vec![0.0],
        ended: vec![false],
        starts: vec![(0, 500)],
        n_actions: 1,
        declared: Some(1),
    };
    let [lower, upper, _] = evidence.value_interval(&[Some(0)], HOW).unwrap();
    assert!(lower == 0.0 && upper > 0.2, "{upper}");
    // a reward that is known to be nothing there leaves only what was never seen
    let known = Evidence {
        variance: vec![],
        ..evidence
    };
    let [_, known, _] = known.value_interval(&[Some(0)], HOW).unwrap();
    assert!(known < upper, "{known} {upper}");
}

#[test]
fn what_was_never_tried_is_no_evidence() {
    let evidence = Evidence {
        first_pair: vec![0, 0],
        offsets: vec![0],
        ended: vec![false],
        starts: vec![(0, 5)],
        n_actions: 2,
        declared: None,
        ..Evidence::default()
    };
    let [lower, upper, most] = evidence.value_interval(&[None], HOW).unwrap();
    assert!(lower == 0.0 && (upper - 10.0).abs() < 1e-9 && (most - 10.0).abs() < 1e-9);
    assert_eq!(evidence.reward_free_error(HOW).unwrap().0, 1.0);
    for bad in [
        Bounding {
            discount: 1.0,
            ..HOW
        },
        Bounding {
            confidence: 1.0,
            ..HOW
        },
        Bounding {
            rewards: (1.0, 0.0),
            ..HOW
        },
    ] {
        assert!(evidence.value_interval(&[None], bad).is_err());
    }
}
