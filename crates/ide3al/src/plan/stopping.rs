//! The largest expected payoff where one may stop for ever: the probability of reaching a goal, and
//! the long-run average of a model of several parts.
//!
//! A policy that never stops ends up in an *end component*, a set of states that some actions never
//! leave. All states of a maximal end component can reach each other for sure, and so have the same
//! value; they are taken as one place, which is left by the pairs that lead out of it, or stopped
//! in for its payoff. Then every policy ends, and iterating from below and from above comes
//! together (interval iteration). Both are bounds at any time.
//!
//! Reference: Haddad and Monmege (2018), *Theoretical Computer Science* 735, 111-131.

use super::clock::Clock;
use crate::formulation::reduction::end_components::end_components;
use crate::model::Mdp;

/// Sweeps between two looks at the clock.
const SWEEPS: usize = 8;

/// The maximal end components of a model, and the pairs that stay in them.
pub(super) struct Parts {
    /// Place of each state: component or state of its own.
    pub(super) place: Vec<u32>,
    /// Whether a pair stays in its component for sure.
    pub(super) stays: Vec<bool>,
    /// States of each place, place by place, and where each begins.
    pub(super) members: Vec<u32>,
    pub(super) first: Vec<usize>,
}

impl Parts {
    /// Of the `allowed` pairs.
    pub(super) fn of(mdp: &Mdp, allowed: Vec<bool>) -> Self {
        let n = mdp.n_states();
        let (stays, component) = end_components(mdp, 0.0, allowed);
        let inside = |s: usize| mdp.pairs(s).any(|pair| stays[pair]);
        // states outside of components are places of their own, whatever number they were given
        let numbers = component.iter().max().map_or(0, |c| *c as usize + 1);
        let mut number = vec![u32::MAX; numbers];
        let mut place = vec![0; n];
        let mut places = 0u32;
        for s in 0..n {
            let known = &mut number[component[s] as usize];
            if inside(s) && *known != u32::MAX {
                place[s] = *known;
            } else {
                place[s] = places;
                if inside(s) {
                    *known = places;
                }
                places += 1;
            }
        }
        let mut first = vec![0; places as usize + 1];
        for &p in &place {
            first[p as usize + 1] += 1;
        }
        for k in 1..first.len() {
            first[k] += first[k - 1];
        }
        let mut at = first.clone();
        let mut members = vec![0; n];
        for (s, &p) in place.iter().enumerate() {
            members[at[p as usize]] = s as u32;
            at[p as usize] += 1;
        }
        Parts {
            place,
            stays,
            members,
            first,
        }
    }

    pub(super) fn n_places(&self) -> usize {
        self.first.len() - 1
    }

    pub(super) fn states(&self, place: usize) -> &[u32] {
        &self.members[self.first[place]..self.first[place + 1]]
    }

    /// Whether one can stay in a place for ever.
    pub(super) fn is_component(&self, mdp: &Mdp, place: usize) -> bool {
        let state = self.states(place)[0] as usize;
        mdp.pairs(state).any(|pair| self.stays[pair])
    }
}

/// Bounds of the best expected payoff from each place, and how to get the lower one: the pair to
/// leave by, or `None` to stop.
pub(super) struct Stopped {
    pub(super) lower: Vec<f64>,
    pub(super) upper: Vec<f64>,
    pub(super) exit: Vec<Option<u32>>,
    /// Whether the bounds met.
    pub(super) met: bool,
}

/// Interval iteration until the bounds are within `tolerance`. Of the payoffs, one number per place
/// and $-\infty$ where one cannot stop, bounds from below and from above are known.
pub(super) fn stop_best(
    mdp: &Mdp,
    parts: &Parts,
    allowed: &[bool],
    payoff: (&[f64], &[f64]),
    tolerance: f64,
    clock: &mut Clock<'_>,
) -> Stopped {
    let places = parts.n_places();
    let (low, high) = payoff;
    let finite = low.iter().copied().filter(|g| g.is_finite());
    let least = finite.fold(f64::INFINITY, f64::min);
    let most = high.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let mut lower: Vec<f64> = low.iter().map(|g| g.max(least)).collect();
    let mut upper = vec![most; places];
    let mut exit = vec![None; places];
    let worth = |pair: usize, values: &[f64], mean: f64| -> f64 {
        let row = mdp.row(pair);
        let listed = row
            .entries()
            .map(|(t, p)| p * values[parts.place[t] as usize]);
        listed.sum::<f64>() + row.spread * mean
    };
    let mean = |values: &[f64]| -> f64 {
        if !mdp.kernel().has_spread() {
            return 0.0;
        }
        let sum: f64 = parts.place.iter().map(|p| values[*p as usize]).sum();
        sum / parts.place.len() as f64
    };
    let best = |payoff: &[f64], place: usize, values: &[f64], mean: f64| -> (f64, Option<u32>) {
        let mut best = (payoff[place], None);
        for &s in parts.states(place) {
            for pair in mdp.pairs(s as usize) {
                if allowed[pair] && !parts.stays[pair] {
                    let worth = worth(pair, values, mean);
                    if worth > best.0 {
                        best = (worth, Some(pair as u32));
                    }
                }
            }
        }
        best
    };
    let mut width;
    let mut forward = false;
    loop {
        for _ in 0..SWEEPS {
            // in turn from either end, each place with the values just found
            forward = !forward;
            let (below, above) = (mean(&lower), mean(&upper));
            for k in 0..places {
                let place = if forward { k } else { places - 1 - k };
                let (value, _) = best(low, place, &lower, below);
                lower[place] = lower[place].max(value);
                let (value, _) = best(high, place, &upper, above);
                upper[place] = upper[place].min(value);
            }
        }
        let gaps = lower.iter().zip(&upper).map(|(l, u)| u - l);
        width = gaps.fold(0.0, f64::max);
        if width <= tolerance || !clock.tick(lower[0], width) {
            break;
        }
    }
    let below = mean(&lower);
    for (place, exit) in exit.iter_mut().enumerate() {
        *exit = best(low, place, &lower, below).1;
    }
    Stopped {
        lower,
        upper,
        exit,
        met: width <= tolerance,
    }
}

/// In each component that is left, the way to the state it is left from: a pair that stays inside
/// and leads a step nearer with positive probability, so that the exit is reached for sure. States
/// that stop keep the pair they have in `choice`.
pub(super) fn lead_to_exits(mdp: &Mdp, parts: &Parts, exit: &[Option<u32>], choice: &mut [u32]) {
    let n = mdp.n_states();
    let mut owner = vec![u32::MAX; mdp.n_pairs()];
    for s in 0..n {
        owner[mdp.pairs(s)].fill(s as u32);
    }
    // predecessors by pairs that stay
    let transposed = mdp.kernel().transpose();
    let mut near = vec![false; n];
    let mut line: Vec<u32> = Vec::new();
    for (place, exit) in exit.iter().enumerate() {
        let Some(pair) = *exit else { continue };
        let door = owner[pair as usize];
        choice[door as usize] = pair;
        if parts.states(place).len() == 1 {
            continue;
        }
        line.clear();
        line.push(door);
        near[door as usize] = true;
        let mut head = 0;
        while let Some(&t) = line.get(head) {
            head += 1;
            let row = transposed.row(t as usize);
            for (pair, _) in row.entries().filter(|(pair, _)| parts.stays[*pair]) {
                let s = owner[pair] as usize;
                if !near[s] && parts.place[s] as usize == place {
                    near[s] = true;
                    choice[s] = pair as u32;
                    line.push(s as u32);
                }
            }
        }
        // a row that is uniform over a component which is the whole model leads everywhere
        for &s in parts.states(place) {
            if !near[s as usize] {
                let inside = mdp.pairs(s as usize).find(|pair| parts.stays[*pair]);
                if let Some(pair) = inside {
                    choice[s as usize] = pair as u32;
                }
            }
        }
    }
}
