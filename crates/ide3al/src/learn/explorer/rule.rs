//! Rules for choosing actions: the explorer's, and R-MAX's.

use super::chase::{Foresight, Quota};
use super::receding_horizon::Gradient;

/// What is done where no pair that was tried too little can be chased.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Otherwise {
    /// The gradient of a utility of all visits is followed.
    Follow(Gradient),
    /// One more sample of every pair is wanted from then on.
    RaiseQuota,
    /// Any action.
    Random,
}

/// A rule for choosing actions.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rule {
    /// What counts as tried too little.
    pub quota: Quota,
    /// What is done where there is nothing to chase.
    pub otherwise: Otherwise,
    pub(super) ahead: Foresight,
    /// Whether a chase is given up at some time, and what repeats within an episode is expected to.
    pub(super) is_wary: bool,
}

impl Rule {
    /// The explorer's: see the [module](self).
    pub fn explorer(gradient: Gradient, quota: Quota) -> Self {
        Rule {
            quota,
            otherwise: Otherwise::Follow(gradient),
            ahead: Foresight {
                // from 0.9 on as good
                discount: 0.95,
                expects_novelty: true,
                least: 1e-9,
            },
            is_wary: true,
        }
    }

    /// R-MAX (Brafman and Tennenholtz 2002) without rewards: pairs tried fewer than `known` times
    /// are worth most, the others what the estimated model says. By levels, `known` grows by one
    /// where no such pair can be reached.
    pub fn r_max(known: u32, by_levels: bool) -> Self {
        Rule {
            quota: Quota::Pairs(known),
            otherwise: match by_levels {
                true => Otherwise::RaiseQuota,
                false => Otherwise::Random,
            },
            ahead: Foresight {
                discount: 0.98,
                expects_novelty: false,
                least: 1e-3,
            },
            is_wary: false,
        }
    }
}
