//! Rules for choosing actions: the explorer's, and R-MAX's.

use super::chase::{ChaseParameters, Quota};
use super::receding_horizon::Gradient;

/// How to act where no pair that was tried too little can be reached.
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
    /// How to act where there is nothing to chase.
    pub otherwise: Otherwise,
    pub(super) chase: ChaseParameters,
    /// Whether statistics of earlier steps are used: a chase that takes longer than estimated is
    /// given up, outcomes are expected to repeat within an episode and unseen ones to occur as
    /// often as they did so far, and actions whose first tries met new states are tried first.
    pub(super) uses_statistics: bool,
}

impl Rule {
    /// The explorer's: see the head of `online.rs`.
    pub fn explorer(gradient: Gradient, quota: Quota) -> Self {
        Rule {
            quota,
            otherwise: Otherwise::Follow(gradient),
            chase: ChaseParameters {
                // 0.9 does about as well, see docs/explanation/learning.md
                discount: 0.95,
                expects_novelty: true,
                least: 1e-9,
            },
            uses_statistics: true,
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
            chase: ChaseParameters {
                discount: 0.98,
                expects_novelty: false,
                least: 1e-3,
            },
            uses_statistics: false,
        }
    }
}
