//! Reaching a goal: with the largest probability, and among the policies that have it, soonest.
//!
//! 1. States from which some policy reaches the goal for sure are found on the graph, without
//!    rounding.
//! 2. From the others the largest probability $h$ is a matter of [stopping](super::stopping): at
//!    the goal for one, elsewhere for nothing.
//! 3. Actions that keep the largest probability, $\sum_t P(t|s,a) h(t) = h(s)$, are left. *Given
//!    that the goal will be reached* the next state is $t$ with probability
//!    $P(t|s,a)\, h(t) / h(s)$, and the mean time to the goal satisfies
//!    $m(s) = 1 + \min_a \sum_t P(t|s,a)\, h(t)\, m(t) / h(s)$, iterated from zero.
//!
//! Reference for the first step: de Alfaro (1997), *Formal Verification of Probabilistic Systems*,
//! section 3.3; for sure wins before speed Kolobov, Mausam and Weld (2012), *UAI*, 438-447.

use super::clock::Clock;
use super::stopping::{Parts, lead_to_exits, stop_best};
use crate::error::{Error, Result};
use crate::model::{Mdp, Row};
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
const KEEPS: f64 = 1e-10;
/// Mean times are iterated until their relative error is at most this.
const TIMES: f64 = 1e-9;

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

/// Whether every successor of a row is in a set.
fn within(row: Row<'_>, inside: &[bool], all: bool) -> bool {
    row.entries().all(|(t, p)| p == 0.0 || inside[t]) && (row.spread == 0.0 || all)
}

/// States from which some policy reaches the goal with probability one, and the pairs of one such
/// policy: each leads nearer with positive probability and nowhere else than to such states.
fn certain(mdp: &Mdp, over: &[Option<bool>]) -> (Vec<bool>, Vec<Option<u32>>) {
    let n = mdp.n_states();
    let mut inside = vec![true; n];
    loop {
        let all = inside.iter().all(|x| *x);
        let mut near: Vec<bool> = over.iter().map(|o| *o == Some(true)).collect();
        let mut choice = vec![None; n];
        let mut forward = true;
        loop {
            let mut grown = false;
            let any = near.contains(&true);
            for k in 0..n {
                let s = if forward { k } else { n - 1 - k };
                if near[s] || over[s].is_some() || !inside[s] {
                    continue;
                }
                let nearer = mdp.pairs(s).find(|pair| {
                    let row = mdp.row(*pair);
                    let enters = row.entries().any(|(t, p)| p > 0.0 && near[t]);
                    (enters || row.spread > 0.0 && any) && within(row, &inside, all)
                });
                if let Some(pair) = nearer {
                    (near[s], choice[s]) = (true, Some(pair as u32));
                    grown = true;
                }
            }
            forward = !forward;
            if !grown {
                break;
            }
        }
        if near == inside {
            return (inside, choice);
        }
        inside = near;
    }
}

/// The largest probability of reaching the goal, soonest.
pub(super) fn reach(mdp: &Mdp, goal: &Goal, tolerance: f64, clock: &mut Clock<'_>) -> Reached {
    let n = mdp.n_states();
    let over = ends(mdp, goal);
    let (sure, approach) = certain(mdp, &over);
    // nothing has to be decided where it is over, or where the goal is certain
    let mut allowed = vec![false; mdp.n_pairs()];
    for s in (0..n).filter(|s| over[*s].is_none() && !sure[*s]) {
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
    let mut status = match (found.met, clock.stopped) {
        (true, _) => Status::Optimal,
        (false, stopped) => stopped.unwrap_or(Status::Stalled),
    };
    let of_state =
        |bound: &[f64]| -> Vec<f64> { parts.place.iter().map(|p| bound[*p as usize]).collect() };
    let (mut lower, upper) = (of_state(&found.lower), of_state(&found.upper));
    let mut choice: Vec<u32> = (0..n).map(|s| mdp.pairs(s).start as u32).collect();
    lead_to_exits(mdp, &parts, &found.exit, &mut choice);
    for (choice, pair) in choice.iter_mut().zip(&approach) {
        *choice = pair.unwrap_or(*choice);
    }
    // pairs that keep the probability
    let mut keeps = vec![false; mdp.n_pairs()];
    let everywhere = sure.iter().all(|x| *x);
    for s in (0..n).filter(|s| over[*s].is_none() && lower[*s] > 0.0) {
        for pair in mdp.pairs(s) {
            keeps[pair] = if sure[s] {
                within(mdp.row(pair), &sure, everywhere)
            } else {
                expected(mdp.row(pair), &lower) >= lower[s] - KEEPS * lower[s]
            };
        }
    }
    let times = Times {
        mdp,
        over: &over,
        keeps: &keeps,
        weight: &lower,
    };
    let soonest = times.least(clock);
    if soonest.met {
        let mut quick = choice.clone();
        for (quick, pair) in quick.iter_mut().zip(&soonest.choice) {
            *quick = pair.unwrap_or(*quick);
        }
        let has = times.probability(&quick, &sure, clock);
        let lost = lower.iter().zip(&has).map(|(l, h)| l - h);
        if lost.fold(0.0, f64::max) <= tolerance {
            (choice, lower) = (quick, has);
        } else {
            status = clock.stopped.unwrap_or(Status::Stalled);
        }
    } else {
        // certain to arrive, but not known to do so soonest
        status = clock.stopped.unwrap_or(Status::Stalled);
    }
    let mut steps = soonest.steps;
    for s in 0..n {
        if lower[s] <= 0.0 {
            steps[s] = f64::INFINITY;
        }
    }
    Reached {
        lower,
        upper,
        steps,
        choice,
        status,
    }
}

fn expected(row: Row<'_>, values: &[f64]) -> f64 {
    let listed: f64 = row.entries().map(|(t, p)| p * values[t]).sum();
    if row.spread > 0.0 {
        listed + row.spread * values.iter().sum::<f64>() / values.len() as f64
    } else {
        listed
    }
}

/// Mean times under the condition that the goal is reached.
struct Times<'a> {
    mdp: &'a Mdp,
    over: &'a [Option<bool>],
    keeps: &'a [bool],
    /// The probability of reaching the goal.
    weight: &'a [f64],
}

struct Soonest {
    steps: Vec<f64>,
    choice: Vec<Option<u32>>,
    met: bool,
}

impl Times<'_> {
    /// $1 + \sum_t P(t|s,a) h(t) m(t) / \sum_t P(t|s,a) h(t)$.
    fn after(&self, pair: usize, steps: &[f64]) -> f64 {
        let row = self.mdp.row(pair);
        let (mut time, mut mass) = (0.0, 0.0);
        for (t, p) in row.entries() {
            let weight = p * self.weight[t];
            if weight > 0.0 {
                time += weight * steps[t];
                mass += weight;
            }
        }
        if row.spread > 0.0 {
            let each = row.spread / steps.len() as f64;
            for (w, m) in self.weight.iter().zip(steps).filter(|(w, _)| **w > 0.0) {
                time += each * w * m;
                mass += each * w;
            }
        }
        1.0 + time / mass
    }

    fn least(&self, clock: &mut Clock<'_>) -> Soonest {
        let n = self.mdp.n_states();
        let (mut steps, mut choice) = (vec![0.0; n], vec![None; n]);
        let mut forward = true;
        loop {
            let mut change = 0.0f64;
            for k in 0..n {
                let s = if forward { k } else { n - 1 - k };
                let mut best = (f64::INFINITY, None);
                for pair in self.mdp.pairs(s).filter(|pair| self.keeps[*pair]) {
                    let time = self.after(pair, &steps);
                    if time < best.0 {
                        best = (time, Some(pair as u32));
                    }
                }
                if let (time, Some(pair)) = best {
                    change = change.max((time - steps[s]) / time);
                    steps[s] = time;
                    choice[s] = Some(pair);
                }
            }
            forward = !forward;
            // if T m - m <= x then the policy takes no longer than m / (1 - x)
            let met = change <= TIMES && self.proven(&choice, &steps) <= TIMES;
            if met || !clock.tick(0.0, change) {
                return Soonest { steps, choice, met };
            }
        }
    }

    /// Largest $1 + P_\pi m - m$ of the choice at hand.
    fn proven(&self, choice: &[Option<u32>], steps: &[f64]) -> f64 {
        let more = choice.iter().zip(steps).map(|(choice, m)| match choice {
            Some(pair) => self.after(*pair as usize, steps) - m,
            None => 0.0,
        });
        more.fold(0.0, f64::max)
    }

    /// A lower bound of what a policy's probability of reaching the goal is, nearly it.
    fn probability(&self, choice: &[u32], sure: &[bool], clock: &mut Clock<'_>) -> Vec<f64> {
        let n = self.mdp.n_states();
        let mut has: Vec<f64> = sure.iter().map(|x| f64::from(u8::from(*x))).collect();
        let mut forward = true;
        loop {
            let mut change = 0.0f64;
            for k in 0..n {
                let s = if forward { k } else { n - 1 - k };
                if self.over[s].is_none() && !sure[s] {
                    let value = expected(self.mdp.row(choice[s] as usize), &has);
                    change = change.max(value - has[s]);
                    has[s] = has[s].max(value);
                }
            }
            forward = !forward;
            if change <= 1e-15 || !clock.tick(0.0, change) {
                return has;
            }
        }
    }
}
