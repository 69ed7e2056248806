//! The largest expected payoff where one may stop for ever: the probability of reaching a goal, and
//! the long-run average of a model of several parts.
//!
//! A policy that never stops ends up in an *end component*, a set of states that some actions never
//! leave. All states of a maximal end component can reach each other for sure, and so have the same
//! value; they are taken as one place, which is left by the pairs that lead out of it, or stopped
//! in for its payoff. Then every policy ends, and the best one is found by [policy
//! iteration](super::total), however long it takes.
//!
//! Reference: de Alfaro (1997), *Formal Verification of Probabilistic Systems*, section 3.3 (the
//! places).

use super::clock::Clock;
use super::rounding;
use super::sweep::Sweeper;
use super::total::{longest, total};
use crate::formulation::reduction::end_components::end_components;
use crate::model::{Kernel, Mdp};

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
    /// The best payoff, nearly.
    pub(super) values: Vec<f64>,
    pub(super) lower: Vec<f64>,
    pub(super) upper: Vec<f64>,
    pub(super) exit: Vec<Option<u32>>,
    /// Whether the bounds met, but for rounding.
    pub(super) met: bool,
}

/// The places as a model: pairs that leave them, a pair to stop where that is possible, and at last
/// the place where all is over; before it, where rows have uniform shares, a place that leads to
/// all states alike.
struct Quotient {
    mdp: Mdp,
    ended: Vec<bool>,
    /// The pair of the model that each pair is, or the number of none where it stops.
    origin: Vec<u32>,
}

impl Quotient {
    fn of(mdp: &Mdp, parts: &Parts, allowed: &[bool], payoff: &[f64]) -> Self {
        let places = parts.n_places();
        let spreads = mdp.kernel().has_spread();
        let over = places + usize::from(spreads);
        let (mut first, mut offsets) = (vec![0], vec![0]);
        let (mut columns, mut shares) = (Vec::new(), Vec::new());
        let mut origin = Vec::new();
        let mut row: Vec<(u32, f64)> = Vec::new();
        let mut push = |pair: u32, row: &mut Vec<(u32, f64)>| {
            row.sort_unstable_by_key(|x| x.0);
            for (t, p) in row.drain(..) {
                if columns.len() > offsets[offsets.len() - 1] && columns.last() == Some(&t) {
                    *shares.last_mut().expect("as many as columns") += p;
                } else {
                    columns.push(t);
                    shares.push(p);
                }
            }
            offsets.push(columns.len());
            origin.push(pair);
            origin.len()
        };
        for (place, payoff) in payoff.iter().enumerate() {
            let mut end = *first.last().expect("begins with 0");
            for &s in parts.states(place) {
                let leaving = |pair: &usize| allowed[*pair] && !parts.stays[*pair];
                for pair in mdp.pairs(s as usize).filter(leaving) {
                    let entries = mdp.row(pair).entries().filter(|x| x.1 > 0.0);
                    row.extend(entries.map(|(t, p)| (parts.place[t], p)));
                    let spread = mdp.row(pair).spread;
                    if spread > 0.0 {
                        row.push((places as u32, spread));
                    }
                    end = push(pair as u32, &mut row);
                }
            }
            if payoff.is_finite() {
                row.push((over as u32, 1.0));
                end = push(u32::MAX, &mut row);
            }
            first.push(end);
        }
        if spreads {
            let each = 1.0 / mdp.n_states() as f64;
            let size = |place: usize| parts.states(place).len() as f64;
            row.extend((0..places).map(|place| (place as u32, each * size(place))));
            first.push(push(u32::MAX, &mut row));
        }
        row.push((over as u32, 1.0));
        first.push(push(u32::MAX, &mut row));
        let mut ended = vec![false; over + 1];
        ended[over] = true;
        let kernel = Kernel::from_raw(over + 1, offsets, columns, shares, Vec::new());
        let actions = vec![0; origin.len()];
        Quotient {
            mdp: Mdp::from_parts(first, actions, kernel, vec![0.0; over + 1]),
            ended,
            origin,
        }
    }

    /// The payoff with each pair that stops.
    fn reward(&self, payoff: &[f64]) -> Vec<f64> {
        let mut reward = vec![0.0; self.origin.len()];
        for (place, payoff) in payoff.iter().enumerate().filter(|x| x.1.is_finite()) {
            reward[self.mdp.pairs(place).end - 1] = *payoff;
        }
        reward
    }
}

/// The best payoff to within `tolerance`, by policy iteration. Of the payoffs, one number per place
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
    let quotient = Quotient::of(mdp, parts, allowed, low);
    let first = |s: usize| quotient.mdp.pairs(s).start as u32;
    let any: Vec<u32> = (0..quotient.mdp.n_states()).map(first).collect();
    let sweeper = |reward| Sweeper {
        mdp: &quotient.mdp,
        reward,
        discount: 1.0,
        ended: &quotient.ended,
        allowed: &[],
    };
    let ones = vec![1.0; any.len()];
    let rewards = (quotient.reward(low), quotient.reward(high));
    let steps = longest(sweeper(&rewards.0), any.clone(), clock);
    let most_steps = steps.iter().copied().fold(1.0, f64::max);
    let mut best = |reward| {
        let enough = |_: &[f64]| 0.5 * tolerance / most_steps;
        total(sweeper(reward), any.clone(), &ones, enough, clock)
    };
    let below = best(&rewards.0);
    let other = (low != high).then(|| best(&rewards.1));
    let above = other.as_ref().unwrap_or(&below);
    let least = low.iter().copied().filter(|g| g.is_finite());
    let least = least.fold(f64::INFINITY, f64::min);
    let most = high.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let (mut lower, mut upper) = (vec![0.0; places], vec![0.0; places]);
    let mut exit = vec![None; places];
    for place in 0..places {
        let pairs = quotient.mdp.pairs(place);
        if pairs.len() == 1 && low[place].is_finite() {
            // nothing to decide: it stops
            (lower[place], upper[place]) = (low[place], high[place]);
            continue;
        }
        let down = below.errors(steps[place]).0;
        let up = above.errors(steps[place]).1;
        lower[place] = (below.values[place] - down).max(least).max(low[place]);
        upper[place] = (above.values[place] + up).min(most);
        let pair = quotient.origin[below.choice[place] as usize];
        exit[place] = (pair != u32::MAX).then_some(pair);
    }
    let width = lower.iter().zip(&upper).zip(&steps).map(|((l, u), steps)| {
        let rounded = rounding(&below.values) + rounding(&above.values);
        u - l - rounded * steps
    });
    Stopped {
        met: width.fold(0.0, f64::max) <= tolerance,
        values: below.values[..places].to_vec(),
        lower,
        upper,
        exit,
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
