//! One action at a time: the explorer's rule.
//!
//! 1. An action of this state that was tried too little is tried, one of them at random.
//! 2. Otherwise the [nearest such pair](super::chase) is chased. A chase that takes longer than its
//!    own estimate $\ln V / \ln 0.95$, 5 steps and a fiftieth of the steps of the third rule since
//!    the last such pair is given up: where observations do not determine the state, a chase might
//!    otherwise never end. Where more than one sample is wanted, both are divided by the
//!    [memory](super::transitions), so that nothing is given up where states are Markov.
//! 3. Otherwise the [gradient of the utility of all visits](super::receding_horizon), by default
//!    their entropy, is followed.
//!
//! Plans are made anew every 10 steps, after a try of the first kind and when an episode began in a
//! state where none did before. Several followers, one for each of many environments that are
//! stepped together, share all counts; each has a chase, and a memory of its episode, of its own.

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::chase::Quota;
use super::follower::{Follower, Mode};
use super::receding_horizon::{Gradient, RecedingHorizon, uniform};
use super::rule::{Otherwise, Rule};
use super::transitions::{NONE, Transitions};
use super::view::View;
use crate::error::{Error, Result};
use crate::learn::codec::{Damage, Reader, Writer};
use crate::learn::environment::End;
use crate::model::Counts;

/// Steps after which a plan is made anew. From 3 to 10 nothing changes by more than 2 % on
/// FrozenLake and 8 % on DoorKey.
const REPLAN_EVERY: u32 = 10;
/// Outcomes that planning may look at per step on average, which bounds the time of a step. With
/// 10,000, 3,000 and 1,000 of them effective states of the data are 2,151, 2,121 and 2,017 in
/// KeyCorridor, 1,728, 1,738 and 1,686 in MultiRoom, 950, 953 and 953 in FourRooms, where 40,000
/// steps take 4.2, 1.7 and 1.5 s (`benches/worlds.py --runs 3`). On Knight Quest the model error is
/// 4.4 with 10,000 (20 runs) and 4.7 with 3,000 (4 runs). What a step does not use is saved for
/// later plans, at most that of so many steps.
const OUTCOMES_PER_STEP: f64 = 10_000.0;
const MOST_STEPS_SAVED: f64 = 1_000.0;
/// Values closer than this are equal.
const TIE: f64 = 1e-9;

/// Chooses actions and learns from each step.
#[derive(Debug, Clone)]
pub struct OnlinePlanner {
    seen: Transitions,
    rule: Rule,
    horizon: RecedingHorizon,
    followers: Vec<Follower>,
    /// Last outcomes in the episode of one follower, by pair.
    last: Vec<u32>,
    active: usize,
    /// Pairs, or states, met and tried too little.
    n_undersampled: usize,
    /// Outcomes that may still be looked at.
    allowance: f64,
    qualities: Vec<f64>,
}

impl OnlinePlanner {
    /// With nothing seen.
    pub fn new(rule: Rule) -> Self {
        let gradient = match rule.otherwise {
            Otherwise::Follow(gradient) => gradient,
            _ => Gradient::default(),
        };
        OnlinePlanner {
            seen: Transitions::new(),
            rule,
            horizon: RecedingHorizon::new(gradient),
            followers: Vec::new(),
            last: Vec::new(),
            active: 0,
            n_undersampled: 0,
            allowance: 0.0,
            qualities: Vec::new(),
        }
    }

    /// An action of `state` for one of the followers.
    pub fn act(
        &mut self,
        follower: usize,
        state: usize,
        n_actions: usize,
        rng: &mut ChaCha8Rng,
    ) -> usize {
        self.turn_to(follower);
        if self.followers[follower].over {
            return self.restart_action(state, n_actions, rng);
        }
        let node = self.meet(state, n_actions);
        self.allowance =
            (self.allowance + OUTCOMES_PER_STEP).min(MOST_STEPS_SAVED * OUTCOMES_PER_STEP);
        loop {
            let view = View::new(&self.seen, &self.last, self.rule.uses_statistics);
            let quota = self.rule.quota;
            let one = &mut self.followers[follower];
            let pairs = self.seen.pairs(node);
            self.qualities.clear();
            let wanted = |pair| f64::from(u8::from(quota.needs(&view, node, pair)));
            self.qualities.extend(pairs.clone().map(wanted));
            if self.qualities.contains(&1.0) {
                one.begin_anew();
                // what is left behind has to be fetched where more samples are wanted: 3 of every
                // pair of DoorKey 6x6 took 14,300 steps with this preference, 9,700 without
                if self.rule.uses_statistics && quota == Quota::Pairs(1) {
                    for (action, wanted) in self.qualities.iter_mut().enumerate() {
                        *wanted *= self.seen.novelty_of_action(action);
                    }
                }
                return draw(&self.qualities, rng);
            }
            let known = match (one.mode, self.rule.otherwise) {
                (Mode::Chase, _) => one.chase.knows(node),
                (_, Otherwise::Follow(_)) => self.horizon.knows(node),
                _ => true,
            };
            if !known || one.age.is_none_or(|age| age >= REPLAN_EVERY) {
                // a plan may look at the outcomes of one step, whatever the allowance
                let most = self.allowance.max(OUTCOMES_PER_STEP) as usize;
                let spent = one.plan(self.rule, &mut self.horizon, &view, node, most);
                self.allowance = (self.allowance - spent as f64).max(0.0);
            }
            one.age = one.age.map(|age| age + 1);
            self.qualities.clear();
            match (one.mode, self.rule.otherwise) {
                (Mode::Chase, _) => {
                    one.chased += 1;
                    let worth = |pair| one.chase.worth(&view, node, pair, quota);
                    self.qualities.extend(pairs.map(worth));
                }
                (_, Otherwise::Follow(_)) => {
                    one.followed += 1;
                    self.horizon
                        .evaluate_actions(&view, node, &mut self.qualities);
                    self.horizon.perturb(&mut self.qualities, rng);
                }
                (_, Otherwise::RaiseQuota) => {
                    self.set_quota(quota.raised());
                    continue;
                }
                (_, Otherwise::Random) => self.qualities.resize(n_actions, 0.0),
            }
            return best(&self.qualities, rng);
        }
    }

    /// An action for the step that leaves a terminal state, which has no effect: drawn as often as
    /// it was tried where the same observation was not terminal, so that a model which cannot tell
    /// the two apart sees all actions end alike.
    fn restart_action(&self, state: usize, n_actions: usize, rng: &mut ChaCha8Rng) -> usize {
        let Some(node) = self.seen.node(state) else {
            return below(n_actions, rng);
        };
        let visits = self
            .seen
            .pairs(node)
            .map(|pair| self.seen.tries(pair) as usize);
        let whole: usize = visits.clone().sum();
        if whole == 0 {
            return below(n_actions, rng);
        }
        let mut drawn = below(whole, rng);
        for (action, n) in visits.enumerate() {
            if drawn < n {
                return action;
            }
            drawn -= n;
        }
        0
    }

    /// The actions that a state has, by what is known now: of others nothing is wanted until they
    /// turn out to be allowed.
    pub fn restrict(&mut self, state: usize, allowed: &[bool]) {
        let node = self.meet(state, allowed.len());
        for (action, &is_allowed) in allowed.iter().enumerate() {
            match is_allowed {
                true => self.permit(node, action),
                false => self.forbid(node, action),
            }
        }
    }

    fn forbid(&mut self, node: usize, action: usize) {
        if self.seen.forbid(node, action)
            && let Quota::Pairs(_) = self.rule.quota
        {
            self.n_undersampled = self.n_undersampled.saturating_sub(1);
        }
    }

    fn permit(&mut self, node: usize, action: usize) {
        if self.seen.permit(node, action)
            && let Quota::Pairs(_) = self.rule.quota
        {
            self.n_undersampled += 1;
        }
    }

    /// Learns from a step of one of the followers. `actions`: numbers of actions of both states.
    pub fn record(
        &mut self,
        follower: usize,
        (from, action, next): (usize, usize, usize),
        end: End,
        actions: (usize, usize),
    ) {
        self.turn_to(follower);
        let from = self.meet(from, actions.0);
        let known = self.seen.n_nodes();
        let is_terminal = end == End::Terminal;
        let to = match end {
            End::Terminal => self.meet(next, 0),
            _ => self.meet(next, actions.1),
        };
        let pair = self.seen.pairs(from).start + action;
        let last = Some(self.last[pair]).filter(|last| *last != NONE);
        let truncated = end == End::Truncated;
        self.permit(from, action);
        let is_new = to >= known && !is_terminal;
        self.seen.record(from, action, to, is_new, last, truncated);
        let now = match self.rule.quota {
            Quota::Pairs(n) => self.seen.tries(pair) == n,
            Quota::States(n) => self.seen.visits()[from] == n,
        };
        self.n_undersampled = self.n_undersampled.saturating_sub(usize::from(now));
        let one = &mut self.followers[follower];
        if last.is_none() {
            one.outcomes.push((pair as u32, to as u32));
        }
        self.last[pair] = to as u32;
        one.over = end != End::Continues;
        if one.over {
            for (pair, _) in one.outcomes.drain(..) {
                self.last[pair as usize] = NONE;
            }
        }
    }

    /// Learns where an episode of one of the followers begins.
    pub fn start(&mut self, follower: usize, state: usize, n_actions: usize) {
        self.turn_to(follower);
        let node = self.meet(state, n_actions);
        let one = &mut self.followers[follower];
        // an episode that was going on has been abandoned
        for (pair, _) in one.outcomes.drain(..) {
            self.last[pair as usize] = NONE;
        }
        one.over = false;
        if self.seen.start(node) {
            one.age = None;
        }
    }

    /// The share of tries that repeat the outcome before in their episode: 0 where states are
    /// Markov.
    pub(super) fn memory(&self) -> f64 {
        self.seen.memory()
    }

    /// Number of pairs, or states, that were met and tried too little.
    pub fn n_undersampled(&self) -> usize {
        self.n_undersampled
    }

    /// What has to be sampled from now on.
    pub fn set_quota(&mut self, quota: Quota) {
        self.rule.quota = quota;
        self.followers.iter_mut().for_each(Follower::begin_anew);
        self.count_undersampled();
    }

    /// Takes over counts of other states, as when cells are cut anew: episodes at hand go on
    /// without a memory.
    pub fn recount(&mut self, counts: &Counts) {
        self.seen.recount(counts);
        self.horizon.clear();
        self.last = vec![NONE; self.seen.n_pairs()];
        for one in &mut self.followers {
            let over = one.over;
            *one = Follower::new(self.rule.chase);
            one.over = over;
        }
        self.count_undersampled();
    }

    fn count_undersampled(&mut self) {
        let seen = &self.seen;
        let nodes = 1..seen.n_nodes();
        self.n_undersampled = match self.rule.quota {
            Quota::Pairs(n) => (0..seen.n_pairs()).filter(|p| seen.tries(*p) < n).count(),
            Quota::States(n) => nodes
                .filter(|k| !seen.is_terminal(*k) && seen.visits()[*k] < n)
                .count(),
        };
    }

    /// The node of a state, with room for what is remembered of it.
    fn meet(&mut self, state: usize, n_actions: usize) -> usize {
        let before = self.seen.n_nodes();
        let node = self.seen.meet(state, n_actions);
        if self.seen.n_nodes() > before {
            self.last.resize(self.seen.n_pairs(), NONE);
            self.n_undersampled += match self.rule.quota {
                Quota::Pairs(_) => n_actions,
                Quota::States(_) => usize::from(n_actions > 0),
            };
        }
        node
    }

    /// Makes `follower` the one whose memory is used.
    fn turn_to(&mut self, follower: usize) {
        while self.followers.len() <= follower {
            self.followers.push(Follower::new(self.rule.chase));
        }
        if self.active == follower {
            return;
        }
        for (pair, last) in &mut self.followers[self.active].outcomes {
            *last = std::mem::replace(&mut self.last[*pair as usize], NONE);
        }
        for &(pair, last) in &self.followers[follower].outcomes {
            self.last[pair as usize] = last;
        }
        self.active = follower;
    }

    /// Everything, plans at hand included, as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        self.save(&mut writer);
        writer.into_bytes()
    }

    /// Takes back what [`to_bytes`](Self::to_bytes) gave.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<()> {
        let mut reader = Reader::new(bytes);
        let damaged = |damage: Damage| {
            Error::Unsupported(format!("the explorer's state is damaged: {damage}"))
        };
        self.load(&mut reader)
            .and_then(|()| reader.end())
            .map_err(damaged)
    }

    /// Everything, plans at hand included.
    pub(crate) fn save(&self, writer: &mut Writer) {
        self.seen.save(writer);
        let (of_states, samples) = match self.rule.quota {
            Quota::Pairs(n) => (0, n),
            Quota::States(n) => (1, n),
        };
        writer.byte(of_states);
        writer.number(u64::from(samples));
        self.horizon.save(writer);
        writer.real(self.allowance);
        writer.number(self.active as u64);
        writer.number(self.followers.len() as u64);
        for (k, one) in self.followers.iter().enumerate() {
            writer.byte(u8::from(one.over));
            writer.byte(u8::from(one.mode == Mode::Chase));
            writer.number(one.age.map_or(u64::MAX, u64::from));
            one.chase.save(writer);
            writer.number(one.chased);
            writer.number(one.followed);
            writer.real(one.estimate.unwrap_or(f64::NAN));
            writer.number(one.outcomes.len() as u64);
            for &(pair, last) in &one.outcomes {
                let last = if k == self.active {
                    self.last[pair as usize]
                } else {
                    last
                };
                writer.number(u64::from(pair));
                writer.number(u64::from(last));
            }
        }
    }

    /// Takes back what [`save`](Self::save) wrote.
    pub(crate) fn load(&mut self, reader: &mut Reader<'_>) -> std::result::Result<(), Damage> {
        self.seen = Transitions::load(reader)?;
        let of_states = reader.byte()? != 0;
        let samples = reader.index(u32::MAX as usize, "quota")? as u32;
        self.rule.quota = match of_states {
            true => Quota::States(samples),
            false => Quota::Pairs(samples),
        };
        let nodes = self.seen.n_nodes();
        self.horizon.load(reader, nodes)?;
        self.allowance = reader.real()?;
        if !self.allowance.is_finite() {
            return Err("its allowance makes no sense".into());
        }
        let active = reader.number()? as usize;
        let n = reader.length(2 + 6 * 8)?;
        if active >= n.max(1) {
            return Err(format!("follower {active} is none of {n}"));
        }
        self.followers.clear();
        for _ in 0..n {
            let mut one = Follower::new(self.rule.chase);
            one.over = reader.byte()? != 0;
            if reader.byte()? != 0 {
                one.mode = Mode::Chase;
            }
            one.age = u32::try_from(reader.number()?).ok();
            one.chase.load(reader, nodes)?;
            (one.chased, one.followed) = (reader.number()?, reader.number()?);
            one.estimate = Some(reader.real()?).filter(|estimate| !estimate.is_nan());
            for _ in 0..reader.length(16)? {
                let pair = reader.index(self.seen.n_pairs(), "pair")?;
                let last = reader.index(nodes, "outcome")?;
                one.outcomes.push((pair as u32, last as u32));
            }
            self.followers.push(one);
        }
        self.count_undersampled();
        self.last = vec![NONE; self.seen.n_pairs()];
        self.active = active;
        if let Some(one) = self.followers.get(active) {
            for &(pair, last) in &one.outcomes {
                self.last[pair as usize] = last;
            }
        }
        Ok(())
    }
}

/// A number below `n`, all equally likely.
pub(in crate::learn) fn below(n: usize, rng: &mut ChaCha8Rng) -> usize {
    ((u128::from(rng.next_u64()) * n as u128) >> 64) as usize
}

/// A place, in proportion to its weight. A single one that has any costs no random number.
fn draw(weights: &[f64], rng: &mut ChaCha8Rng) -> usize {
    let mut open = (0..weights.len()).filter(|k| weights[*k] > 0.0);
    let first = open.next().unwrap_or(0);
    let Some(mut last) = open.next() else {
        return first;
    };
    let mut left = weights.iter().sum::<f64>() * uniform(rng) - weights[first];
    if left < 0.0 {
        return first;
    }
    loop {
        left -= weights[last];
        match open.next() {
            Some(next) if left >= 0.0 => last = next,
            _ => return last,
        }
    }
}

/// One of the best, each equally likely. A single best one costs no random number.
fn best(qualities: &[f64], rng: &mut ChaCha8Rng) -> usize {
    let most = qualities
        .iter()
        .fold(f64::NEG_INFINITY, |most, q| most.max(*q));
    let good = || (0..qualities.len()).filter(|k| qualities[*k] >= most - TIE);
    let n = good().count();
    let chosen = if n > 1 { below(n, rng) } else { 0 };
    good().nth(chosen).unwrap_or(0)
}
