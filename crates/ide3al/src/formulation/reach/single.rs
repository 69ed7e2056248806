//! How soon one state can be seen, if nothing else is wanted.
//!
//! $V_j = \max_\pi E\, g^{\tau_j}$, or $\min_\pi E \tau_j$: a first-passage problem for each state
//! (Puterman, *Markov Decision Processes*, 1994, chapter 7). Value iteration begins with what it
//! would be if every move could be chosen, a bound that value iteration moves towards the truth
//! without crossing it, so that it may be stopped anywhere.

use ide3al_numerics::parallel::share;

use super::super::simplex;
use super::world::World;

/// Work, in transitions looked at, beyond which only distances are used.
const WORK: usize = 400_000_000;
/// Sweeps over the states for one target at most.
const SWEEPS: usize = 2_000;
/// Largest relative change of a sweep at which it ends.
const SETTLED: f64 = 1e-12;

/// One number for each state: an upper bound of $E_\mu\, g^{\tau_j}$, or a lower one of
/// $E_\mu \tau_j$, for all policies.
pub fn single(world: &World) -> Vec<f64> {
    let n = world.n_states();
    let back = Backwards::new(world);
    let sweeps = WORK / (n * world.entries.len()).max(1);
    if sweeps == 0 {
        return by_distance_from_the_origin(world);
    }
    let mut out = vec![0.0; n];
    let tasks = out.chunks_mut(8).enumerate();
    share(tasks, |(chunk, out)| {
        let mut room = Room::new(world);
        for (k, out) in out.iter_mut().enumerate() {
            *out = back.first_passage(8 * chunk + k, sweeps.min(SWEEPS), &mut room);
        }
    });
    out
}

/// Vertices in the place of a hub's successors take no time.
fn by_distance_from_the_origin(world: &World) -> Vec<f64> {
    let n = world.n_states();
    if world.has_times || world.has_hubs || !world.origin.contains(&1.0) {
        return vec![if world.is_hitting() { 0.0 } else { 1.0 }; n];
    }
    let mut first = vec![0usize; n + 1];
    for &s in &world.rows {
        first[s as usize + 1] += 1;
    }
    for s in 0..n {
        first[s + 1] += first[s];
    }
    let mut steps = vec![f64::INFINITY; n];
    let begins = (0..n).filter(|s| world.origin[*s] > 0.0);
    let mut now: Vec<usize> = begins.collect();
    now.iter().for_each(|s| steps[*s] = 0.0);
    let mut at = 0.0;
    while !now.is_empty() {
        at += 1.0;
        let mut next = Vec::new();
        for s in now {
            // transitions are listed state by state
            for &t in &world.columns[first[s]..first[s + 1]] {
                if steps[t as usize].is_infinite() {
                    steps[t as usize] = at;
                    next.push(t as usize);
                }
            }
        }
        now = next;
    }
    if world.is_hitting() {
        return steps;
    }
    steps.iter().map(|k| world.discount().powf(*k)).collect()
}

/// The world against its arrows.
struct Backwards<'a> {
    world: &'a World,
    first: Vec<usize>,
    /// Where a transition comes from and the least time it takes.
    from: Vec<(u32, f64)>,
}

struct Room {
    values: Vec<f64>,
    order: Vec<u32>,
    q: Vec<f64>,
}

impl Room {
    fn new(world: &World) -> Self {
        Room {
            values: vec![0.0; world.size()],
            order: Vec::new(),
            q: Vec::new(),
        }
    }
}

impl<'a> Backwards<'a> {
    fn new(world: &'a World) -> Self {
        let mut least = vec![f64::INFINITY; world.rows.len()];
        for k in 0..world.pair.len() {
            for &(edge, _) in &world.entries[world.offsets[k]..world.offsets[k + 1]] {
                least[edge as usize] = least[edge as usize].min(world.time[k]);
            }
        }
        for &(edge, _) in &world.fixed {
            least[edge as usize] = 0.0;
        }
        let mut first = vec![0usize; world.size() + 1];
        for &t in &world.columns {
            first[t as usize + 1] += 1;
        }
        for t in 0..world.size() {
            first[t + 1] += first[t];
        }
        let mut next = first.clone();
        let mut from = vec![(0, 0.0); world.rows.len()];
        for (edge, &t) in world.columns.iter().enumerate() {
            from[next[t as usize]] = (world.rows[edge], least[edge]);
            next[t as usize] += 1;
        }
        Backwards { world, first, from }
    }

    /// Least times to a state if every move could be chosen, by Dijkstra's algorithm, and the order
    /// in which they were found.
    fn distances(&self, target: usize, room: &mut Room) {
        room.values.fill(f64::INFINITY);
        room.order.clear();
        room.values[target] = 0.0;
        let mut queue = std::collections::BinaryHeap::new();
        queue.push((std::cmp::Reverse(0.0f64.to_bits()), target as u32));
        while let Some((std::cmp::Reverse(bits), t)) = queue.pop() {
            // bits of numbers that are not negative are in their order
            let time = f64::from_bits(bits);
            if time > room.values[t as usize] {
                continue;
            }
            room.order.push(t);
            for &(s, least) in &self.from[self.first[t as usize]..self.first[t as usize + 1]] {
                if time + least < room.values[s as usize] {
                    room.values[s as usize] = time + least;
                    queue.push((std::cmp::Reverse((time + least).to_bits()), s));
                }
            }
        }
    }

    fn first_passage(&self, target: usize, sweeps: usize, room: &mut Room) -> f64 {
        let world = self.world;
        self.distances(target, room);
        let hitting = world.is_hitting();
        if !hitting {
            let g = world.discount();
            for x in &mut room.values {
                *x = if x.is_infinite() { 0.0 } else { g.powf(*x) };
            }
        }
        for sweep in 0..sweeps {
            let mut change = 0.0f64;
            let mut update = |s: u32, values: &mut [f64], q: &mut Vec<f64>| {
                let s = s as usize;
                if s == target || values[s].is_infinite() {
                    return;
                }
                let new = self.backup(s, values, q);
                // only ever towards the truth: rounding must not undo it
                let new = if hitting {
                    new.max(values[s])
                } else {
                    new.min(values[s])
                };
                change = change.max((new - values[s]).abs() / values[s].abs().max(1e-300));
                values[s] = new;
            };
            let (values, q) = (&mut room.values, &mut room.q);
            // away from the target, then back
            if sweep % 2 == 0 {
                room.order.iter().for_each(|s| update(*s, values, q));
            } else {
                room.order.iter().rev().for_each(|s| update(*s, values, q));
            }
            if change <= SETTLED {
                break;
            }
        }
        let origin = world.origin.iter().zip(&room.values);
        origin
            .map(|(mu, v)| if *mu > 0.0 { mu * v } else { 0.0 })
            .sum()
    }

    /// The best of one step, the values of what follows being known.
    fn backup(&self, s: usize, values: &[f64], q: &mut Vec<f64>) -> f64 {
        let world = self.world;
        let n = world.n_states();
        if s >= n {
            // a hub: its transitions stand at the end
            let fixed = world.fixed.iter();
            let own = fixed.filter(|(e, _)| world.rows[*e as usize] as usize == s);
            return own
                .map(|(e, p)| p * values[world.columns[*e as usize] as usize])
                .sum();
        }
        let sign = if world.is_hitting() { -1.0 } else { 1.0 };
        q.clear();
        for k in world.pairs(s) {
            let entries = &world.entries[world.offsets[k]..world.offsets[k + 1]];
            let next = |(e, p): &(u32, f64)| p * values[world.columns[*e as usize] as usize];
            let next: f64 = entries.iter().map(next).sum();
            let value = if world.is_hitting() {
                world.time[k] + next
            } else {
                world.discount_of(k) * next
            };
            q.push(sign * value);
        }
        sign * simplex::support(q.iter().copied(), world.xi)
    }
}
