//! What no policy can exceed, by counting.
//!
//! For every policy, with memory or without: first visits of different states happen at different
//! times, so that $k$ states contribute at most $1 + g + \dots + g^{k-1}$ to
//! $\sum_j E\, g^{\tau_j}$; and one state contributes at most $V_j = \max_\pi E\, g^{\tau_j}$
//! ([`single`](super::single)). The contributions $y$ of the states therefore lie in
//!
//! $$\Big\\{ y : \sum_{j \in K} y_j \le f(K) \text{ for all } K \Big\\}, \qquad
//! f(K) = \min_{J \subseteq K} \Big[ \sum_{j \in J} V_j + \sum_{i < |K \setminus J|} g^i \Big] ,$$
//!
//! a polymatroid: a concave function of the size of a set is submodular, and cutting it off at
//! $y \le V$ leaves it so (Fujishige, *Submodular Functions and Optimization*, 2005, section 3.1).
//! $\max \sum w_j y_j$ is found greedily: with the states by falling weight and $K_i$ the first $i$
//! of them it is $\sum_i (w_i - w_{i+1}) f(K_i)$. $J$ are those of $K$ with the smallest $V$. With
//! travel times the $i$-th of a set is first visited no sooner than after the sum of the $i - 1$
//! smallest times in which any state can be entered.
//!
//! The same holds of hitting times from below, with $i$ in the place of $g^i$, the least mean time
//! to each state in the place of $V_j$, and the largest of them in $J$.

use super::world::World;

/// Most different weights that the bound tells apart; more are rounded up in steps.
const LEVELS: usize = 512;

/// A bound of the objective of every policy: from above of the share seen, from below of the mean
/// hitting time. `single` has a number per state, what [`single`](super::single) finds.
pub fn bound(world: &World, single: &[f64]) -> f64 {
    let n = world.n_states();
    let mut arrival = arrivals(world);
    if (0..n).any(|s| world.origin[s] == 1.0 && world.weights[s] == 0.0) {
        // no state that counts is there at the first moment
        arrival.remove(0);
    }
    // by falling weight
    let mut order: Vec<usize> = (0..n).filter(|j| world.weights[*j] > 0.0).collect();
    order.sort_by(|a, b| world.weights[*b].total_cmp(&world.weights[*a]));
    let levels = levels(world, &order);
    let mut sum = 0.0;
    let mut chosen: Vec<f64> = Vec::with_capacity(n);
    let mut from = 0;
    for (i, &(weight, end)) in levels.iter().enumerate() {
        chosen.extend(order[from..end].iter().map(|j| single[*j]));
        from = end;
        let next = levels.get(i + 1).map_or(0.0, |level| level.0);
        sum += (weight - next) * most(world.is_hitting(), &mut chosen, &arrival);
    }
    sum
}

/// Weights with the number of states that have at least as much, rounded so that the bound stays
/// one.
fn levels(world: &World, order: &[usize]) -> Vec<(f64, usize)> {
    let mut levels: Vec<(f64, usize)> = Vec::new();
    for (i, &j) in order.iter().enumerate() {
        let weight = world.weights[j];
        match levels.last_mut() {
            Some(last) if last.0 <= weight * (1.0 + 1e-12) => last.1 = i + 1,
            _ => levels.push((weight, i + 1)),
        }
    }
    if levels.len() <= LEVELS {
        return levels;
    }
    // the first of a group stands for all of it where more is worse, else the last
    let size = levels.len().div_ceil(LEVELS);
    let groups = levels.chunks(size);
    groups
        .map(|group| {
            let (first, last) = (group[0], group[group.len() - 1]);
            (if world.is_hitting() { last.0 } else { first.0 }, last.1)
        })
        .collect()
}

/// $f$ of a set of states with these single values, which it sorts.
fn most(hitting: bool, single: &mut [f64], arrival: &[f64]) -> f64 {
    let sign = if hitting { -1.0 } else { 1.0 };
    single.sort_by(|a, b| (sign * a).total_cmp(&(sign * b)));
    let k = single.len();
    let mut by_counting: f64 = arrival[..k].iter().sum();
    let mut by_single = 0.0;
    let mut best = by_counting;
    for m in 0..k {
        by_single += single[m];
        by_counting -= arrival[k - 1 - m];
        let sum = by_single + by_counting.max(0.0);
        if sign * sum < sign * best {
            best = sum;
        }
    }
    best
}

/// What the first, second, ... state that is seen contributes at most (at least, for times).
fn arrivals(world: &World) -> Vec<f64> {
    let n = world.n_states();
    // the least time in which each state is entered
    let mut enter = vec![1.0; n];
    if world.has_times || world.has_hubs {
        enter.fill(f64::INFINITY);
        let mut shortest = f64::INFINITY;
        for k in 0..world.pair.len() {
            shortest = shortest.min(world.time[k]);
            for &(edge, _) in &world.entries[world.offsets[k]..world.offsets[k + 1]] {
                let (s, t) = (world.rows[edge as usize], world.columns[edge as usize]);
                if s != t && (t as usize) < n {
                    enter[t as usize] = world.time[k].min(enter[t as usize]);
                }
            }
        }
        // a hub may be entered by any step
        for &(edge, _) in &world.fixed {
            enter[world.columns[edge as usize] as usize] = shortest;
        }
        enter.sort_by(f64::total_cmp);
    }
    let mut time = 0.0;
    let at = enter.iter().map(|step| {
        let now = time;
        time += step;
        now
    });
    if world.is_hitting() {
        at.collect()
    } else {
        at.map(|t| world.discount().powf(t)).collect()
    }
}
