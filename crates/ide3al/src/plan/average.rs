//! The largest long-run average reward from every state.
//!
//! Within a maximal end component every state can be reached for sure, so that the best average is
//! one number, found by [policy iteration](super::iterate) to bounds. Which component to end in is
//! a matter of [stopping](super::optimal_stopping) there with its average as the payoff.
//!
//! Reference: Ashok, Chatterjee, Daca, Kretinsky and Meggendorfer (2017), *Computer Aided
//! Verification*, LNCS 10426, 201-221.

use super::clock::Clock;
use super::iterate::iterate;
use super::optimal_stopping::{Parts, lead_to_exits, stop_best};
use super::rounding;
use super::sweep::Sweeper;
use crate::formulation::reduction::ReducedModel;
use crate::model::Mdp;
use crate::solve::Status;

/// Bounds of the average from every state, and a policy that has the lower ones.
pub(super) struct Averages {
    pub(super) lower: Vec<f64>,
    pub(super) upper: Vec<f64>,
    pub(super) choice: Vec<u32>,
    pub(super) status: Status,
}

/// The best averages, to bounds within the tolerance (absolute, and as a share of the largest
/// relative value).
pub(super) fn averages(
    mdp: &Mdp,
    reward: &[f64],
    (tolerance, relative): (f64, f64),
    clock: &mut Clock<'_>,
) -> Averages {
    let n = mdp.n_states();
    let allowed = vec![true; mdp.n_pairs()];
    let parts = Parts::of(mdp, allowed.clone());
    let places = parts.n_places();
    let whole = places == 1;
    let wanted = if whole { tolerance } else { 0.5 * tolerance };
    let mut choice: Vec<u32> = (0..n).map(|s| mdp.pairs(s).start as u32).collect();
    let (mut low, mut high) = (
        vec![f64::NEG_INFINITY; places],
        vec![f64::NEG_INFINITY; places],
    );
    let mut status = Status::Optimal;
    for place in 0..places {
        if !parts.is_component(mdp, place) {
            continue;
        }
        let states: Vec<usize> = parts.states(place).iter().map(|s| *s as usize).collect();
        if let &[s] = states.as_slice() {
            // one state: the best of its loops
            for pair in mdp.pairs(s).filter(|pair| parts.stays[*pair]) {
                if reward[pair] > low[place] {
                    (low[place], high[place]) = (reward[pair], reward[pair]);
                    choice[s] = pair as u32;
                }
            }
            continue;
        }
        let part = ReducedModel::of_pairs(mdp, &parts.stays, states, (0.0, 0.0));
        let own = part.means(reward);
        let ended = vec![false; part.states.len()];
        let sweeper = Sweeper {
            mdp: &part.mdp,
            reward: &own,
            discount: 1.0,
            ended: &ended,
            allowed: &[],
        };
        let start = vec![0.0; part.states.len()];
        let found = iterate(sweeper, start, (wanted, relative), clock);
        // of one sweep over relative values and rewards, whose differences the bounds are
        let rounded = rounding(&found.values) + rounding(&own);
        low[place] = found.change.least - rounded;
        high[place] = found.change.most + rounded;
        for (&s, &pair) in part.states.iter().zip(&found.choice) {
            choice[s] = part.group(pair as usize)[0] as u32;
        }
        if found.status != Status::Optimal {
            status = found.status;
        }
    }
    let (lower, upper) = if whole {
        (low, high)
    } else {
        let stopped = stop_best(mdp, &parts, &allowed, (&low, &high), tolerance, clock);
        lead_to_exits(mdp, &parts, &stopped.exit, &mut choice);
        if !stopped.met {
            status = clock.stopped.unwrap_or(Status::Stalled);
        }
        (stopped.lower, stopped.upper)
    };
    let of_state = |bound: &[f64]| parts.place.iter().map(|p| bound[*p as usize]).collect();
    Averages {
        lower: of_state(&lower),
        upper: of_state(&upper),
        choice,
        status,
    }
}
