//! Values against the definition by dense inverses and by simulation, gradients against
//! differences.

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::hitting::Hitting;
use super::seen::Seen;
use super::world::World;
use super::{Origin, Reach};
use crate::domains::Garnet;
use crate::model::{Counts, Mdp, Unvisited};

/// A value of a policy, and its gradient where asked for.
type Value<'a> = dyn FnMut(&[f64], Option<&mut [f64]>) -> f64 + 'a;

pub(super) fn random_policy(world: &World, rng: &mut ChaCha8Rng) -> Vec<f64> {
    let mut policy = vec![0.0; world.pair.len()];
    for s in 0..world.n_states() {
        let row = &mut policy[world.pairs(s)];
        row.iter_mut()
            .for_each(|p| *p = -rng.random::<f64>().max(1e-9).ln());
        let sum: f64 = row.iter().sum();
        let n = row.len() as f64;
        row.iter_mut()
            .for_each(|p| *p = world.xi + (1.0 - n * world.xi) * *p / sum);
    }
    policy
}

/// A line with moves to both sides that slip, a way back to the start at its end, and travel times
/// on demand.
pub(super) fn line(n: usize, slip: f64, times: bool) -> Mdp {
    let mdp = Mdp::from_fn(n, 3, |s, a, next| {
        let to = match a {
            0 => s.saturating_sub(1),
            1 => (s + 1) % n,
            _ => s / 2,
        };
        next.push((to, 1.0 - slip));
        if slip > 0.0 {
            next.push((s, slip));
        }
        true
    })
    .unwrap()
    .with_start_state(0)
    .unwrap();
    if !times {
        return mdp;
    }
    let times = (0..3 * n).map(|k| 0.5 + (k % 5) as f64).collect();
    mdp.with_times(times).unwrap()
}

/// Every kind of model that the formulation is defined for, small.
pub(super) fn models() -> Vec<Mdp> {
    let mut counts = Counts::new(&[3; 7]);
    for k in 0..9u32 {
        counts.record((k % 7) as usize, (k % 3) as usize, ((k * 5) % 7) as usize);
    }
    let start: Vec<f64> = (0..7).map(|s| if s < 2 { 0.5 } else { 0.0 }).collect();
    vec![
        line(6, 0.1, false),
        line(7, 0.0, true),
        Garnet {
            states: 9,
            actions: 2,
            branching: 3,
            seed: 4,
        }
        .build()
        .unwrap(),
        counts.estimate(Unvisited::Uniform, &start),
    ]
}

#[test]
fn gradients_are_those_of_differences() {
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    for mdp in models() {
        for (within, restart, origin) in [
            (Some(9.0), 0.0, Origin::Start),
            (Some(40.0), 0.2, Origin::Anywhere),
            (Some(f64::INFINITY), 0.0, Origin::Anywhere),
            (Some(f64::INFINITY), 0.1, Origin::Start),
        ] {
            let weights = (0..mdp.n_states()).map(|s| 1.0 + (s % 3) as f64).collect();
            let reach = Reach {
                within,
                restart,
                origin: Some(origin),
                weights,
                ..Reach::with_xi(0.02)
            };
            let world = World::new(&mdp, &reach).unwrap();
            let policy = random_policy(&world, &mut rng);
            let direction = random_policy(&world, &mut rng);
            let moved = |step: f64| -> Vec<f64> {
                let both = policy.iter().zip(&direction);
                both.map(|(p, d)| p + step * (d - p)).collect()
            };
            let mut gradient = vec![0.0; policy.len()];
            let (mut seen, mut hitting);
            let value: &mut Value<'_> = if world.is_hitting() {
                hitting = Hitting::new(&world);
                &mut |policy, gradient| hitting.value(policy, gradient)
            } else {
                seen = Seen::new(&world);
                &mut |policy, gradient| seen.value(policy, gradient)
            };
            value(&policy, Some(&mut gradient));
            let along: f64 = (0..policy.len())
                .map(|k| gradient[k] * (direction[k] - policy[k]))
                .sum();
            let step = 1e-5;
            let differences =
                (value(&moved(step), None) - value(&moved(-step), None)) / (2.0 * step);
            let size = differences.abs().max(1e-3);
            assert!(
                (along - differences).abs() < 2e-6 * size,
                "{within:?} {restart}: {along} {differences}"
            );
        }
    }
}

/// Walks of random length, and walks until all has been seen.
#[test]
fn values_are_what_walks_see() {
    let mut rng = ChaCha8Rng::seed_from_u64(8);
    for (case, mdp) in models().iter().enumerate() {
        for within in [12.0, f64::INFINITY] {
            let reach = Reach {
                within: Some(within),
                restart: 0.05,
                ..Reach::with_xi(0.05)
            };
            let world = World::new(mdp, &reach).unwrap();
            let policy = random_policy(&world, &mut rng);
            let value = if world.is_hitting() {
                Hitting::new(&world).value(&policy, None)
            } else {
                Seen::new(&world).value(&policy, None)
            };
            let walks = 4_000;
            let (mut sum, mut squares) = (0.0, 0.0);
            for _ in 0..walks {
                let x = walk(&world, &policy, &mut rng);
                sum += x;
                squares += x * x;
            }
            let mean = sum / f64::from(walks);
            let error = ((squares / f64::from(walks) - mean * mean) / f64::from(walks)).sqrt();
            assert!(
                (mean - value).abs() < 4.5 * error + 1e-9,
                "model {case}, {within}: {value}, walks {mean} with error {error}"
            );
        }
    }
}

/// What one walk sees, by weight, each state discounted by when; or the mean time of first visits.
fn walk(world: &World, policy: &[f64], rng: &mut ChaCha8Rng) -> f64 {
    let n = world.n_states();
    let draw = |weights: &mut dyn Iterator<Item = f64>, rng: &mut ChaCha8Rng| {
        let mut left: f64 = rng.random();
        let mut last = 0;
        for (i, w) in weights.enumerate() {
            if w > 0.0 {
                last = i;
                left -= w;
                if left < 0.0 {
                    break;
                }
            }
        }
        last
    };
    let mut at = draw(&mut world.origin.iter().copied(), rng);
    let mut seen = vec![false; n];
    let (mut time, mut worth, mut value) = (0.0, 1.0, 0.0);
    loop {
        if at < n && !seen[at] {
            seen[at] = true;
            value += world.weights[at] * if world.is_hitting() { time } else { worth };
        }
        let missing = (0..n).any(|s| !seen[s] && world.weights[s] > 0.0);
        if !missing || worth < 1e-12 {
            return value;
        }
        at = if at < n {
            let pairs = world.pairs(at);
            let k = pairs.start + draw(&mut policy[pairs].iter().copied(), rng);
            time += world.time[k];
            worth *= world.discount_of(k);
            let entries = &world.entries[world.offsets[k]..world.offsets[k + 1]];
            let chosen = draw(&mut entries.iter().map(|(_, p)| *p), rng);
            world.columns[entries[chosen].0 as usize] as usize
        } else {
            let own = world.fixed.iter();
            let own: Vec<_> = own
                .filter(|(e, _)| world.rows[*e as usize] as usize == at)
                .collect();
            let chosen = draw(&mut own.iter().map(|(_, p)| *p), rng);
            world.columns[own[chosen].0 as usize] as usize
        };
    }
}
