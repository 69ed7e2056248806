//! Reaching a goal: with the largest probability, and among the policies that have it, soonest.
//!
//! 1. States from which some policy reaches the goal, or does so for sure, are found on the graph,
//!    without rounding.
//! 2. From the others the largest probability $h$ is one of [stopping](super::optimal_stopping): at
//!    the goal for one, elsewhere for nothing.
//! 3. Actions that keep the largest probability, $\sum_t P(t|s,a) h(t) = h(s)$, are left. *Given
//!    that the goal will be reached* the next state is $t$ with probability
//!    $P(t|s,a)\, h(t) / h(s)$, so that the mean time $m$ to the goal, times $h$, is the least
//!    [total](super::total) of costs $h$: $u(s) = h(s) + \min_a \sum_t P(t|s,a)\, u(t)$.
//!
//! Reference for the first step: de Alfaro (1997), *Formal Verification of Probabilistic Systems*,
//! section 3.3; for sure wins before speed Kolobov, Mausam and Weld (2012), *UAI*, 438-447.

use super::clock::Clock;
use super::optimal_stopping::{Parts, lead_to_exits, stop_best};
use super::sweep::Sweeper;
use super::total::{longest, total};
use crate::error::{Error, Result};
use crate::model::{Kernel, Mdp, Row};
use crate::solve::Status;

/// What is to be reached, and what is never to be entered.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Goal {
    /// Reaching any of these states is what is wanted.
    pub reach: Vec<usize>,
    /// Entering any of these ends it without success.
    pub avoid: Vec<usize>,
}

impl Goal {
    pub(super) fn validate(&self, mdp: &Mdp) -> Result<()> {
        let n = mdp.n_states();
        if self.reach.is_empty() {
            return Err(Error::Unsupported(
                "goal: give at least one state to reach".into(),
            ));
        }
        for (what, list) in [("goal state", &self.reach), ("state to avoid", &self.avoid)] {
            if let Some(&index) = list.iter().find(|s| **s >= n) {
                return Err(Error::OutOfRange {
                    what,
                    index,
                    limit: n,
                    place: String::new(),
                });
            }
        }
        let mut reached = vec![false; n];
        self.reach.iter().for_each(|s| reached[*s] = true);
        match self.avoid.iter().find(|s| reached[**s]) {
            Some(both) => Err(Error::Unsupported(format!(
                "state {} is both the goal and to be avoided; leave it out of one",
                mdp.state_name(*both)
            ))),
            None => Ok(()),
        }
    }
}

/// An action that loses no more of the probability than this counts as keeping it.
const PROBABILITY_TOLERANCE: f64 = 1e-10;
/// Mean times are improved until their relative error is about this, or some units of rounding.
const MEAN_TIME_TOLERANCE: f64 = 1e-9;

/// Bounds of the probability from every state, a policy that has the lower ones, and the mean
/// number of steps to the goal when it is reached (infinite where it cannot be).
pub(super) struct Reached {
    pub(super) lower: Vec<f64>,
    pub(super) upper: Vec<f64>,
    pub(super) steps: Vec<f64>,
    pub(super) choice: Vec<u32>,
    pub(super) status: Status,
}

/// Which states are over, with one (the goal) or nothing.
fn ends(mdp: &Mdp, goal: &Goal) -> Vec<Option<bool>> {
    let mut over = vec![None; mdp.n_states()];
    for &s in mdp.terminal().iter().chain(&goal.avoid) {
        over[s] = Some(false);
    }
    for &s in &goal.reach {
        over[s] = Some(true);
    }
    over
}

/// The ways of a model, backwards.
struct Ways {
    /// Pairs that lead to each state.
    arriving: Kernel,
    /// State of each pair.
    owner: Vec<u32>,
    /// Pairs that lead to all states.
    anywhere: Vec<usize>,
}

impl Ways {
    fn of(mdp: &Mdp) -> Self {
        let mut owner = vec![0; mdp.n_pairs()];
        for s in 0..mdp.n_states() {
            owner[mdp.pairs(s)].fill(s as u32);
        }
        let anywhere = |pair: &usize| mdp.kernel().spread_of(*pair) > 0.0;
        Ways {
            arriving: mdp.kernel().transpose(),
            owner,
            anywhere: (0..mdp.n_pairs()).filter(anywhere).collect(),
        }
    }

    /// States from which pairs that are `allowed` lead to a target with positive probability, the
    /// targets among them, and a pair for each that leads a step nearer.
    fn towards(
        &self,
        target: Vec<bool>,
        allowed: impl Fn(usize) -> bool,
    ) -> (Vec<bool>, Vec<Option<u32>>) {
        let mut near = target;
        let mut choice = vec![None; near.len()];
        let mut line: Vec<usize> = (0..near.len()).filter(|s| near[*s]).collect();
        let mut reach = |pair: usize, near: &mut [bool], line: &mut Vec<usize>| {
            let s = self.owner[pair] as usize;
            if !near[s] && allowed(pair) {
                (near[s], choice[s]) = (true, Some(pair as u32));
                line.push(s);
            }
        };
        if !line.is_empty() {
            for &pair in &self.anywhere {
                reach(pair, &mut near, &mut line);
            }
        }
        let mut head = 0;
        while let Some(&t) = line.get(head) {
            head += 1;
            for (pair, p) in self.arriving.row(t).entries() {
                if p > 0.0 {
                    reach(pair, &mut near, &mut line);
                }
            }
        }
        (near, choice)
    }
}

/// Whether every successor of a row is in a set.
fn within(row: Row<'_>, inside: &[bool], all: bool) -> bool {
    row.entries().all(|(t, p)| p == 0.0 || inside[t]) && (row.spread == 0.0 || all)
}

/// States from which some policy reaches the goal with probability one, and the pairs of one such
/// policy: each leads nearer with positive probability and nowhere else than to such states.
fn certain(mdp: &Mdp, ways: &Ways, over: &[Option<bool>]) -> (Vec<bool>, Vec<Option<u32>>) {
    let mut inside = vec![true; mdp.n_states()];
    loop {
        let all = inside.iter().all(|x| *x);
        let (near, choice) = ways.towards(reached(over), |pair| {
            let s = ways.owner[pair] as usize;
            over[s].is_none() && inside[s] && within(mdp.row(pair), &inside, all)
        });
        if near == inside {
            return (inside, choice);
        }
        inside = near;
    }
}

fn reached(over: &[Option<bool>]) -> Vec<bool> {
    over.iter().map(|o| *o == Some(true)).collect()
}

/// The largest probability of reaching the goal, soonest.
pub(super) fn reach(mdp: &Mdp, goal: &Goal, tolerance: f64, clock: &mut Clock<'_>) -> Reached {
    let n = mdp.n_states();
    let over = ends(mdp, goal);
    let ways = Ways::of(mdp);
    let (sure, approach) = certain(mdp, &ways, &over);
    let open = |s: usize| over[s].is_none() && !sure[s];
    // nothing has to be decided where it is over, or where the goal is certain
    let mut allowed = vec![false; mdp.n_pairs()];
    for s in (0..n).filter(|s| open(*s)) {
        allowed[mdp.pairs(s)].fill(true);
    }
    let parts = Parts::of(mdp, allowed.clone());
    let payoff: Vec<f64> = (0..parts.n_places())
        .map(|place| {
            let s = parts.states(place)[0] as usize;
            let lost = over[s] == Some(false) || parts.is_component(mdp, place);
            match (sure[s], lost) {
                (true, _) => 1.0,
                (false, true) => 0.0,
                _ => f64::NEG_INFINITY,
            }
        })
        .collect();
    let found = stop_best(mdp, &parts, &allowed, (&payoff, &payoff), tolerance, clock);
    let mut met = found.met;
    let of_state =
        |bound: &[f64]| -> Vec<f64> { parts.place.iter().map(|p| bound[*p as usize]).collect() };
    let (mut lower, mut upper) = (of_state(&found.lower), of_state(&found.upper));
    let mut chance: Vec<f64> = (of_state(&found.values).iter().zip(&sure))
        .map(|(h, sure)| if *sure { 1.0 } else { h.clamp(0.0, 1.0) })
        .collect();
    let mut choice: Vec<u32> = (0..n).map(|s| mdp.pairs(s).start as u32).collect();
    lead_to_exits(mdp, &parts, &found.exit, &mut choice);
    for (choice, pair) in choice.iter_mut().zip(&approach) {
        *choice = pair.unwrap_or(*choice);
    }
    // where the goal cannot be reached at all
    let (can, _) = ways.towards(reached(&over), |pair| {
        over[ways.owner[pair] as usize].is_none()
    });
    for s in (0..n).filter(|s| !can[*s]) {
        (chance[s], lower[s], upper[s]) = (0.0, 0.0, 0.0);
    }
    // pairs that keep the probability
    let mut keeps = vec![false; mdp.n_pairs()];
    let everywhere = sure.iter().all(|x| *x);
    let mean = chance.iter().sum::<f64>() / n as f64;
    for s in (0..n).filter(|s| over[*s].is_none() && chance[*s] > 0.0) {
        for pair in mdp.pairs(s) {
            let row = mdp.row(pair);
            keeps[pair] = if sure[s] {
                within(row, &sure, everywhere)
            } else {
                let listed: f64 = row.entries().map(|(t, p)| p * chance[t]).sum();
                let least = (1.0 - PROBABILITY_TOLERANCE) * chance[s] - 8.0 * f64::EPSILON;
                listed + row.spread * mean >= least
            };
        }
    }
    let soonest = soonest(mdp, &ways, &over, &keeps, &chance, clock);
    let mut quick = choice.clone();
    for s in (0..n).filter(|s| soonest.steps[*s].is_finite() && over[*s].is_none()) {
        quick[s] = soonest.choice[s];
    }
    let has = probability(mdp, &quick, &soonest.steps, &sure, clock);
    let lost = has.iter().zip(&chance).map(|(has, h)| h - has.0);
    if soonest.met && lost.fold(0.0, f64::max) <= tolerance {
        choice = quick;
        for (lower, (nearly, error)) in lower.iter_mut().zip(has) {
            *lower = (nearly - error).max(0.0);
        }
    } else {
        // as likely to arrive, but not known to do so soonest
        met = false;
    }
    let status = match clock.stopped {
        _ if met => Status::Optimal,
        stopped => stopped.unwrap_or(Status::Stalled),
    };
    Reached {
        lower,
        upper,
        steps: soonest.steps,
        choice,
        status,
    }
}

struct Soonest {
    steps: Vec<f64>,
    choice: Vec<u32>,
    met: bool,
}

/// The least mean time under the condition that the goal is reached, where that has a `chance`, by
/// pairs that keep it; infinite elsewhere.
fn soonest(
    mdp: &Mdp,
    ways: &Ways,
    over: &[Option<bool>],
    keeps: &[bool],
    chance: &[f64],
    clock: &mut Clock<'_>,
) -> Soonest {
    let n = mdp.n_states();
    let (near, nearer) = ways.towards(reached(over), |pair| keeps[pair]);
    let open = |s: &usize| over[*s].is_none() && near[*s];
    let choice: Vec<u32> = nearer.iter().map(|pair| pair.unwrap_or(u32::MAX)).collect();
    let mut cost = vec![0.0; mdp.n_pairs()];
    for s in (0..n).filter(open) {
        cost[mdp.pairs(s)].fill(-chance[s]);
    }
    let ended: Vec<bool> = (0..n).map(|s| !open(&s)).collect();
    let sweeper = Sweeper {
        mdp,
        reward: &cost,
        discount: 1.0,
        ended: &ended,
        allowed: keeps,
    };
    // a change of x in units of a step is an error of a share x
    let longest_of = |values: &[f64]| {
        let times = values.iter().zip(chance).map(|(u, h)| (u / h).abs());
        times.filter(|m| m.is_finite()).fold(0.0, f64::max)
    };
    let enough = |values: &[f64]| MEAN_TIME_TOLERANCE.max(16.0 * f64::EPSILON * longest_of(values));
    let found = total(sweeper, choice, chance, enough, clock);
    let steps = (0..n)
        .map(|s| match over[s] {
            Some(true) => 0.0,
            None if near[s] => -found.values[s] / chance[s],
            _ => f64::INFINITY,
        })
        .collect();
    Soonest {
        steps,
        choice: found.choice,
        met: found.met,
    }
}

/// What a policy's probability of reaching the goal is, nearly, and by how much it may be less.
fn probability(
    mdp: &Mdp,
    choice: &[u32],
    steps: &[f64],
    sure: &[bool],
    clock: &mut Clock<'_>,
) -> Vec<(f64, f64)> {
    let n = mdp.n_states();
    let ended: Vec<bool> = (0..n).map(|s| sure[s] || steps[s].is_infinite()).collect();
    let (mut arrival, mut allowed) = (vec![0.0; mdp.n_pairs()], vec![false; mdp.n_pairs()]);
    let share = sure.iter().filter(|x| **x).count() as f64 / n as f64;
    for s in (0..n).filter(|s| !ended[*s]) {
        let pair = choice[s] as usize;
        let row = mdp.row(pair);
        let listed = row.entries().filter(|(t, _)| sure[*t]).map(|(_, p)| p);
        arrival[pair] = listed.sum::<f64>() + row.spread * share;
        allowed[pair] = true;
    }
    let sweeper = Sweeper {
        mdp,
        reward: &arrival,
        discount: 1.0,
        ended: &ended,
        allowed: &allowed,
    };
    let longest = longest(sweeper, choice.to_vec(), clock);
    let found = total(sweeper, choice.to_vec(), &vec![1.0; n], |_| 0.0, clock);
    (0..n)
        .map(|s| match (sure[s], ended[s]) {
            (true, _) => (1.0, 0.0),
            (false, true) => (0.0, 0.0),
            _ => (found.values[s], found.errors(longest[s]).0),
        })
        .collect()
}
