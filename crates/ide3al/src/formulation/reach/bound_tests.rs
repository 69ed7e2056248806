//! Bounds against everything that can be tried: random policies, and on small models the best tour
//! that remembers what it has seen, by dynamic programming over (state, set of states seen).

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::arrivals::Arrivals;
use super::counting;
use super::hitting::Hitting;
use super::seen::Seen;
use super::single::single;
use super::tests::{line, models, random_policy};
use super::world::World;
use super::{Origin, Reach};
use crate::domains::Garnet;
use crate::formulation::simplex;
use crate::model::Mdp;

/// The most that a policy with memory sees, or the least mean time of its first visits.
fn best_with_memory(world: &World) -> f64 {
    let n = world.n_states();
    let hitting = world.is_hitting();
    let sign = if hitting { -1.0 } else { 1.0 };
    // what is still to come, by set seen (the current state in it) and state; larger sets first
    let mut value = vec![0.0; (1 << n) * n];
    let mut q = Vec::new();
    for set in (0..1usize << n).rev() {
        let missing: f64 = (0..n)
            .filter(|j| set & (1 << j) == 0)
            .map(|j| world.weights[j])
            .sum();
        if missing == 0.0 {
            continue;
        }
        for _ in 0..20_000 {
            let mut change = 0.0f64;
            for s in (0..n).filter(|s| set & (1 << s) != 0) {
                q.clear();
                for k in world.pairs(s) {
                    let entries = &world.entries[world.offsets[k]..world.offsets[k + 1]];
                    let mut next = 0.0;
                    for &(e, p) in entries {
                        let t = world.columns[e as usize] as usize;
                        let fresh = set & (1 << t) == 0;
                        let gain = if fresh && !hitting {
                            world.weights[t]
                        } else {
                            0.0
                        };
                        next += p * (gain + value[(set | 1 << t) * n + t]);
                    }
                    let worth = if hitting {
                        world.time[k] * missing + next
                    } else {
                        world.discount_of(k) * next
                    };
                    q.push(sign * worth);
                }
                let new = sign * simplex::support(q.iter().copied(), world.xi);
                change = change.max((new - value[set * n + s]).abs());
                value[set * n + s] = new;
            }
            if change < 1e-12 {
                break;
            }
        }
    }
    (0..n)
        .map(|s| {
            let gain = if hitting { 0.0 } else { world.weights[s] };
            world.origin[s] * (gain + value[(1 << s) * n + s])
        })
        .sum()
}

fn garnet(seed: u64) -> Mdp {
    Garnet {
        states: 7,
        actions: 2,
        branching: 2,
        seed,
    }
    .build()
    .unwrap()
}

#[test]
fn no_policy_with_memory_exceeds_any_bound() {
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let mut close = 0;
    for case in 0..30u64 {
        let mdp = match case % 3 {
            0 => line(6, 0.2 * (case % 2) as f64, false),
            1 => line(6, 0.3, case % 2 == 0),
            _ => garnet(case),
        };
        let weights = match case % 4 {
            0 => Vec::new(),
            _ => (0..mdp.n_states())
                .map(|_| rng.random_range(0..4) as f64 + 0.1)
                .collect(),
        };
        let within = [1.0, 4.0, 9.0, 30.0, f64::INFINITY][case as usize % 5];
        let reach = Reach {
            within: Some(within),
            origin: Some([Origin::Start, Origin::Anywhere][case as usize % 2]),
            weights,
            ..Reach::with_xi([0.0, 0.1][(case / 2) as usize % 2])
        };
        let Ok(world) = World::new(&mdp, &reach) else {
            continue;
        };
        let best = best_with_memory(&world);
        let sign = if world.is_hitting() { -1.0 } else { 1.0 };
        let single = single(&world);
        let counted = counting::bound(&world, &single);
        let slack = 1e-9 * (1.0 + best.abs());
        assert!(
            sign * counted >= sign * best - slack,
            "{case}: {counted} {best}"
        );
        close += usize::from((counted - best).abs() < 0.05 * best);
        let Some(mut arrivals) = Arrivals::new(&world, 40) else {
            continue;
        };
        let n = world.n_states();
        for trial in 0..20 {
            let lambda: Vec<f64> = (0..n)
                .map(|j| {
                    let limit = arrivals.limit(j);
                    if world.is_hitting() {
                        limit * rng.random::<f64>().powi(trial % 3 + 1)
                    } else {
                        limit + world.weights[j] * rng.random::<f64>().powi(trial % 3 + 1)
                    }
                })
                .collect();
            let nu: Vec<f64> = (0..n)
                .map(|j| world.weights[j] * rng.random::<f64>() * f64::from(trial % 2))
                .collect();
            for temperature in [0.0, 0.01] {
                let found = arrivals.value((&lambda, &nu), &single, temperature, None);
                assert!(
                    sign * found >= sign * best - slack,
                    "{case}: {found} {best}"
                );
            }
        }
    }
    assert!(
        close > 5,
        "the bounds are close to the truth in {close} cases only"
    );
}

#[test]
fn no_random_policy_exceeds_the_count() {
    let mut rng = ChaCha8Rng::seed_from_u64(5);
    for mdp in models() {
        for (within, restart) in [(3.0, 0.0), (20.0, 0.3), (f64::INFINITY, 0.0)] {
            let reach = Reach {
                within: Some(within),
                restart,
                ..Reach::with_xi(0.01)
            };
            let Ok(world) = World::new(&mdp, &reach) else {
                continue;
            };
            let single = single(&world);
            let bound = counting::bound(&world, &single);
            for _ in 0..30 {
                let policy = random_policy(&world, &mut rng);
                if world.is_hitting() {
                    assert!(Hitting::new(&world).value(&policy, None) >= bound * (1.0 - 1e-9));
                    continue;
                }
                let mut seen = Seen::new(&world);
                assert!(seen.value(&policy, None) <= bound + 1e-9);
                for j in 0..world.n_states() {
                    assert!(seen.share_of(j) <= single[j] + 1e-9);
                }
            }
        }
    }
}

/// The derivatives of the smooth bound, against differences.
#[test]
fn the_bound_by_arrivals_has_this_gradient() {
    let world = World::new(&line(6, 0.2, false), &Reach::with_xi(0.01)).unwrap();
    let single = single(&world);
    let mut arrivals = Arrivals::new(&world, 30).unwrap();
    let n = world.n_states();
    let mut x: Vec<f64> = (0..2 * n)
        .map(|k| 0.06 + 0.004 * (k as f64).sin())
        .collect();
    let (mut by_lambda, mut by_nu) = (vec![0.0; n], vec![0.0; n]);
    let gradients = Some((&mut by_lambda[..], &mut by_nu[..]));
    arrivals.value((&x[..n], &x[n..]), &single, 0.02, gradients);
    for k in 0..2 * n {
        let mut at = |step: f64| {
            x[k] += step;
            let value = arrivals.value((&x[..n], &x[n..]), &single, 0.02, None);
            x[k] -= step;
            value
        };
        let differences = (at(1e-6) - at(-1e-6)) / 2e-6;
        let slope = if k < n { by_lambda[k] } else { by_nu[k - n] };
        assert!(
            (slope - differences).abs() < 1e-5,
            "{k}: {slope} {differences}"
        );
    }
}
