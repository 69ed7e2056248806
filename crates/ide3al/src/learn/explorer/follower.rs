//! One of the environments that are explored together: its plan at hand and its memory of the
//! episode.

use super::chase::{Chase, ChaseParameters, Quota};
use super::receding_horizon::RecedingHorizon;
use super::rule::{Otherwise, Rule};
use super::view::View;

/// Steps that a chase may take beyond its estimate, and the share of the steps since the last try
/// of something new that is added to them. With 5 and 2 % (20 and 10 %, 0 and 0) of them effective
/// states of the data are 61 (56, 61) on CartPole's cells, 439 (422, 427) on DoorKey 8x8, 254 (247,
/// 258) on Blackjack; a share of zero would never try again (`benches/worlds.py`).
const PATIENCE: f64 = 5.0;
const PATIENCE_GROWTH: f64 = 0.02;

/// What the last plan of a follower is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Chase,
    Otherwise,
}

/// One of the environments that are explored together.
#[derive(Debug, Clone)]
pub(super) struct Follower {
    pub(super) mode: Mode,
    pub(super) chase: Chase,
    /// Steps since the plan was made, or `None` where it must be made anew.
    pub(super) age: Option<u32>,
    /// Steps of chases, and of the third rule, since the last try of something new, and the
    /// estimate of the first chase since.
    pub(super) chased: u64,
    pub(super) followed: u64,
    pub(super) estimate: Option<f64>,
    /// Whether the episode is over, so that the next action has no effect.
    pub(super) over: bool,
    /// Last outcomes in the episode at hand, by pair; up to date while another follower is active.
    pub(super) outcomes: Vec<(u32, u32)>,
}

impl Follower {
    pub(super) fn new(parameters: ChaseParameters) -> Self {
        Follower {
            mode: Mode::Otherwise,
            chase: Chase::new(parameters),
            age: None,
            chased: 0,
            followed: 0,
            estimate: None,
            over: false,
            outcomes: Vec::new(),
        }
    }

    /// After a try of something new.
    pub(super) fn begin_anew(&mut self) {
        (self.age, self.chased, self.followed, self.estimate) = (None, 0, 0, None);
    }

    /// Makes a plan, and says how many outcomes were looked at.
    pub(super) fn plan(
        &mut self,
        rule: Rule,
        horizon: &mut RecedingHorizon,
        view: &View<'_>,
        node: usize,
        most: usize,
    ) -> usize {
        self.age = Some(0);
        let mut spent = 0;
        // Where several samples of every pair are wanted, a chase that takes long is a reason to
        // give up only as far as observations hide a part of the state; elsewhere the outcome it
        // waits for is rare. Without this, 50 samples of every pair of FrozenLake 8x8 took 2.4
        // times the certified least number of steps in vector environments, with it 1.2 times.
        let memory = match rule.quota {
            Quota::Pairs(1) => 1.0,
            _ => view.memory(),
        };
        let patience = (PATIENCE + PATIENCE_GROWTH * self.followed as f64) / memory;
        let is_over = |estimate| rule.uses_statistics && self.chased as f64 > estimate + patience;
        if !self.estimate.is_some_and(is_over) {
            let (value, cost) = self.chase.plan(view, node, rule.quota, most);
            spent += cost;
            if value > 0.0 {
                self.mode = Mode::Chase;
                let steps = value.ln() / rule.chase.discount.ln();
                self.estimate.get_or_insert(steps);
                return spent;
            }
        }
        self.mode = Mode::Otherwise;
        if let Otherwise::Follow(_) = rule.otherwise {
            // of many followers one plans for all
            spent += horizon.plan(view, most.saturating_sub(spent));
        }
        spent
    }
}
