//! The transitions between states that an explorer has observed.
//!
//! States are nodes in the order in which they were met, so that nothing depends on how the
//! environment numbers them and memory grows with the samples only. Node 0 is the *restart*, which
//! leads to the start states as observed. Terminal states are nodes without actions, which lead to
//! the restart; where the same observation is terminal at one time and not at another there are two
//! nodes of it, which share their visits.
//!
//! *Novelty.* $h_N$ is the frequency with which a try of a pair tried $N$ times before met a state
//! never seen, pooled over pairs, with a forgetting factor.
//!
//! By action, the same of first tries alone: some actions lead on to other states, some do not.
//!
//! *Missing mass.* The frequency with which a try of a pair that was tried $N \le 4$ times, always
//! with the same outcome, had another one, pooled over pairs. It is 0 where nothing is random.
//!
//! *Memory.* Where states alias, the outcomes of a pair repeat within an episode more often than
//! its frequencies say: a door that was found locked stays locked. With $y$ the frequency of the
//! last outcome and $x$ whether it came again, $w = \sum (x - y) / \sum (1 - y)$ is the share of
//! tries that repeat it. $w$ is 0 where states are Markov.

mod saved;
#[cfg(test)]
mod tests;

use crate::model::Counts;

/// Node of the restart.
pub(super) const RESTART: usize = 0;
/// Stands for no node.
pub(super) const NONE: u32 = u32::MAX;
/// Pairs tried this often or more are one class of novelty.
const CLASSES: usize = 64;
/// In place of the logarithm of the tries of a pair that is not allowed.
const FORBIDDEN: f64 = 1e9;
/// Tries up to which a pair whose outcomes were all the same may have had bad luck. Effective
/// states of Acrobot's cells after 40,000 steps 352, 350, 352, 287 with 0, 2, 4, 16 of them, of
/// CartPole's 54, 54, 58, 54 with 1, 2, 4, 8; runs on Double Chain that go wrong 7, 1, 0, 0 of 200
/// with 0, 2, 4, 8.
pub(super) const FEW: usize = 4;
/// What a try weighs after another one, in the frequency of novelty.
const FORGETTING: f64 = 0.99;

/// Outcomes of a pair and how often each was seen, in the order in which they came. Most pairs have
/// one, which needs no memory of its own. Counts stop at $2^{32} - 1$.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Row {
    pub(super) first: (u32, u32),
    pub(super) others: Vec<(u32, u32)>,
}

impl Row {
    fn iter(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let first = (self.first.1 > 0).then_some(self.first);
        first.into_iter().chain(self.others.iter().copied())
    }

    fn add(&mut self, node: u32, count: u32) {
        if self.first.1 == 0 || self.first.0 == node {
            self.first = (node, self.first.1.saturating_add(count));
            return;
        }
        match self.others.iter_mut().find(|entry| entry.0 == node) {
            Some(entry) => entry.1 = entry.1.saturating_add(count),
            None => self.others.push((node, count)),
        }
    }

    fn count(&self, node: u32) -> u32 {
        let found = self.iter().find(|entry| entry.0 == node);
        found.map_or(0, |entry| entry.1)
    }
}

/// Counts of transitions between nodes.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Transitions {
    /// By state of the environment: its node where actions are taken, and where it is terminal.
    node_of: Vec<[u32; 2]>,
    /// By node; the restart is no state.
    state_of: Vec<u32>,
    first_pair: Vec<u32>,
    pub(super) rows: Vec<Row>,
    pub(super) tries: Vec<u32>,
    visits: Vec<u32>,
    /// $\ln (N + 1 / A)$ per pair and $\ln (n + 1)$ per node, kept so that no plan computes them.
    log_tries: Vec<f64>,
    log_visits: Vec<f64>,
    /// Number of episodes that began in each node, and the nodes in which any did.
    begun: Vec<u32>,
    starts: Vec<u32>,
    episodes: u64,
    steps: u64,
    /// Steps, and visits of terminal states.
    all_visits: u64,
    truncations: u64,
    /// By the number of tries of a pair before: discounted tries, and those that met a new state.
    class_tries: [f64; CLASSES],
    class_new_states: [f64; CLASSES],
    /// Of pairs whose outcomes were all the same, by their number from 1 to [`FEW`]: further tries,
    /// and those with another outcome.
    single_outcome_tries: [f64; FEW],
    single_outcome_changes: [f64; FEW],
    /// By action: first tries of a pair, and those that led to a state never seen.
    first_tries_by_action: Vec<(u32, u32)>,
    /// By how much outcomes repeated within an episode more often than their frequencies say, and
    /// the most that this could have been: the quotient is the memory.
    repeat_excess: f64,
    repeat_excess_most: f64,
}

impl Transitions {
    pub(super) fn new() -> Self {
        Transitions {
            node_of: Vec::new(),
            state_of: vec![NONE],
            first_pair: vec![0, 0],
            rows: Vec::new(),
            tries: Vec::new(),
            visits: vec![0],
            log_tries: Vec::new(),
            log_visits: vec![0.0],
            begun: vec![0],
            starts: Vec::new(),
            episodes: 0,
            steps: 0,
            all_visits: 0,
            truncations: 0,
            first_tries_by_action: Vec::new(),
            class_tries: [0.0; CLASSES],
            class_new_states: [0.0; CLASSES],
            single_outcome_tries: [0.0; FEW],
            single_outcome_changes: [0.0; FEW],
            repeat_excess: 0.0,
            repeat_excess_most: 0.0,
        }
    }

    /// Counts anew for states that were defined anew, as when the cells of a continuous environment
    /// are split. What is known of novelty and memory stays: it is a property of the environment.
    pub(super) fn recount(&mut self, counts: &Counts) {
        let before = std::mem::replace(self, Transitions::new());
        (
            self.class_tries,
            self.class_new_states,
            self.first_tries_by_action,
        ) = (
            before.class_tries,
            before.class_new_states,
            before.first_tries_by_action,
        );
        (self.single_outcome_tries, self.single_outcome_changes) =
            (before.single_outcome_tries, before.single_outcome_changes);
        (self.repeat_excess, self.repeat_excess_most) =
            (before.repeat_excess, before.repeat_excess_most);
        let terminal =
            |s: usize| counts.ends()[s] > 0 && counts.ends()[s] == counts.state_totals()[s];
        for s in 0..counts.n_states() {
            let begun = counts.starts()[s];
            if begun > 0 {
                let node = self.meet(s, counts.pairs(s).len());
                self.starts.push(node as u32);
                self.begun[node] = small(begun);
                self.episodes += begun;
            }
            if terminal(s) {
                continue;
            }
            for (action, pair) in counts.pairs(s).enumerate() {
                for &(next, count) in counts.seen(pair) {
                    let from = self.meet(s, counts.pairs(s).len());
                    let next = next as usize;
                    let to = match terminal(next) {
                        true => self.meet(next, 0),
                        false => self.meet(next, counts.pairs(next).len()),
                    };
                    self.add(from, action, to, count);
                }
            }
        }
        self.truncations = counts.cuts();
    }

    /// The node of a state, which is made where the state is met for the first time. A terminal
    /// one has no actions.
    pub(super) fn meet(&mut self, state: usize, n_actions: usize) -> usize {
        let kind = usize::from(n_actions == 0);
        if self.node_of.len() <= state {
            self.node_of.resize(state + 1, [NONE; 2]);
        }
        if self.node_of[state][kind] != NONE {
            return self.node_of[state][kind] as usize;
        }
        let node = self.state_of.len();
        self.node_of[state][kind] = node as u32;
        self.state_of.push(state as u32);
        let twin = self.node_of[state][1 - kind];
        let visits = if twin == NONE {
            0
        } else {
            self.visits[twin as usize]
        };
        self.visits.push(visits);
        self.log_visits.push((f64::from(visits) + 1.0).ln());
        self.begun.push(0);
        let pairs = self.rows.len() + n_actions;
        self.rows.resize(pairs, Row::default());
        self.tries.resize(pairs, 0);
        self.log_tries.resize(pairs, -(n_actions as f64).ln());
        self.first_pair.push(pairs as u32);
        node
    }

    /// The node of a state in which actions were taken.
    pub(super) fn node(&self, state: usize) -> Option<usize> {
        let nodes = self.node_of.get(state)?;
        (nodes[0] != NONE).then_some(nodes[0] as usize)
    }

    /// Whether the action of a pair is not allowed.
    #[inline]
    pub(super) fn is_forbidden(&self, pair: usize) -> bool {
        self.log_tries[pair] >= FORBIDDEN
    }

    /// Takes a pair out of all plans: an action that is not allowed, as if it had been tried so
    /// often that it is never wanted again, and led nowhere. Returns whether it was in the plans.
    pub(super) fn forbid(&mut self, node: usize, action: usize) -> bool {
        let pair = self.first_pair[node] as usize + action;
        let was_allowed = !self.is_forbidden(pair) && self.tries[pair] == 0;
        if was_allowed {
            self.rows[pair].first = (node as u32, 0);
            self.tries[pair] = u32::MAX;
            self.log_tries[pair] = FORBIDDEN;
        }
        was_allowed
    }

    /// Puts a pair that was taken out back, as never tried. Returns whether it had been taken out.
    pub(super) fn permit(&mut self, node: usize, action: usize) -> bool {
        let pair = self.first_pair[node] as usize + action;
        let was_forbidden = self.is_forbidden(pair);
        if was_forbidden {
            self.rows[pair] = Row::default();
            self.tries[pair] = 0;
            self.log_tries[pair] = -(self.n_actions(node) as f64).ln();
        }
        was_forbidden
    }

    /// Counts visits of a node, for all nodes of the state.
    fn visit(&mut self, node: usize, count: u64) {
        for node in self.node_of[self.state_of[node] as usize] {
            if node != NONE {
                let visits = &mut self.visits[node as usize];
                *visits = visits.saturating_add(small(count));
                self.log_visits[node as usize] = (f64::from(*visits) + 1.0).ln();
            }
        }
        self.all_visits += count;
    }

    /// Counts the start of an episode; whether none began there before.
    pub(super) fn start(&mut self, node: usize) -> bool {
        if self.begun[node] == 0 {
            self.starts.push(node as u32);
        }
        self.begun[node] = self.begun[node].saturating_add(1);
        self.episodes += 1;
        self.begun[node] == 1
    }

    /// Counts a transition. `last`: the outcome of the same pair before, in the same episode.
    pub(super) fn record(
        &mut self,
        from: usize,
        action: usize,
        to: usize,
        is_new: bool,
        last: Option<u32>,
        truncated: bool,
    ) {
        let pair = self.first_pair[from] as usize + action;
        if self.tries[pair] == 0 {
            if self.first_tries_by_action.len() <= action {
                self.first_tries_by_action.resize(action + 1, (0, 0));
            }
            let (tries, new) = &mut self.first_tries_by_action[action];
            *tries = tries.saturating_add(1);
            *new = new.saturating_add(u32::from(is_new));
        }
        let class = (self.tries[pair] as usize).min(CLASSES - 1);
        self.class_tries[class] = FORGETTING * self.class_tries[class] + 1.0;
        self.class_new_states[class] =
            FORGETTING * self.class_new_states[class] + f64::from(u8::from(is_new));
        if let Some(few) = self.single_outcome_class(pair) {
            let is_other = self.rows[pair].first.0 as usize != to;
            self.single_outcome_tries[few] += 1.0;
            self.single_outcome_changes[few] += f64::from(u8::from(is_other));
        }
        if let Some(last) = last {
            let share = f64::from(self.rows[pair].count(last)) / f64::from(self.tries[pair]);
            let again = f64::from(u8::from(last as usize == to));
            // a pair with one outcome so far says nothing while it repeats it
            if share < 1.0 || again == 0.0 {
                self.repeat_excess += again - share;
                self.repeat_excess_most += if share < 1.0 { 1.0 - share } else { 1.0 };
            }
        }
        self.truncations += u64::from(truncated);
        self.add(from, action, to, 1);
    }

    fn add(&mut self, from: usize, action: usize, to: usize, count: u64) {
        let pair = self.first_pair[from] as usize + action;
        let actions = self.n_actions(from) as f64;
        self.rows[pair].add(to as u32, small(count));
        self.tries[pair] = self.tries[pair].saturating_add(small(count));
        self.log_tries[pair] = (f64::from(self.tries[pair]) + 1.0 / actions).ln();
        self.visit(from, count);
        if self.is_terminal(to) {
            self.visit(to, count);
        }
        self.steps += count;
    }

    pub(super) fn n_nodes(&self) -> usize {
        self.state_of.len()
    }

    pub(super) fn n_pairs(&self) -> usize {
        self.rows.len()
    }

    pub(super) fn n_actions(&self, node: usize) -> usize {
        self.pairs(node).len()
    }

    /// Whether a node is a terminal state.
    #[inline]
    pub(super) fn is_terminal(&self, node: usize) -> bool {
        node != RESTART && self.pairs(node).is_empty()
    }

    #[inline]
    pub(super) fn pairs(&self, node: usize) -> std::ops::Range<usize> {
        self.first_pair[node] as usize..self.first_pair[node + 1] as usize
    }

    #[inline]
    pub(super) fn tries(&self, pair: usize) -> u32 {
        self.tries[pair]
    }

    /// $n_s$.
    pub(super) fn visits(&self) -> &[u32] {
        &self.visits
    }

    /// $\ln (N + 1 / A)$.
    #[inline]
    pub(super) fn log_tries(&self, pair: usize) -> f64 {
        self.log_tries[pair]
    }

    /// $\ln (n + 1)$.
    pub(super) fn log_visits(&self) -> &[f64] {
        &self.log_visits
    }

    /// Mean of $\ln (n_s + 1)$ over all visits, those of terminal states included.
    pub(super) fn mean_log_visits(&self) -> f64 {
        // the two nodes of a state share their visits, which count once
        let counts_again = |node: usize| {
            self.is_terminal(node) && self.node(self.state_of[node] as usize).is_some()
        };
        let sum: f64 = (1..self.n_nodes())
            .filter(|node| !counts_again(*node))
            .map(|node| f64::from(self.visits[node]) * self.log_visits[node])
            .sum();
        sum / self.all_visits.max(1) as f64
    }

    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// Nodes in which episodes began, with their shares.
    pub(super) fn starts(&self) -> impl Iterator<Item = (usize, f64)> + '_ {
        let whole = self.episodes.max(1) as f64;
        let share = move |s: &u32| (*s as usize, f64::from(self.begun[*s as usize]) / whole);
        self.starts.iter().map(share)
    }

    pub(super) fn n_starts(&self) -> usize {
        self.starts.len()
    }

    /// Share of the starts that were never seen, as many as were seen once (Good 1953).
    pub(super) fn new_starts(&self) -> f64 {
        let once = self.starts.iter().filter(|s| self.begun[**s as usize] == 1);
        once.count() as f64 / (self.episodes as f64 + 1.0)
    }

    /// $h_N$ by the number of tries.
    pub(super) fn novelty(&self) -> [f64; CLASSES] {
        std::array::from_fn(|class| self.class_new_states[class] / (self.class_tries[class] + 1.0))
    }

    /// $h$ of a pair, from [`novelty`](Self::novelty).
    #[inline]
    pub(super) fn novelty_of(&self, pair: usize, novelty: &[f64; CLASSES]) -> f64 {
        novelty[(self.tries[pair] as usize).min(CLASSES - 1)]
    }

    /// One less than the number of tries, where these are few and all outcomes were the same.
    #[inline]
    pub(super) fn single_outcome_class(&self, pair: usize) -> Option<usize> {
        let few = (self.tries[pair] as usize).wrapping_sub(1);
        (few < FEW && self.rows[pair].others.is_empty()).then_some(few)
    }

    /// Chance that the next outcome of such a pair is another one.
    pub(super) fn missing_mass(&self) -> [f64; FEW] {
        std::array::from_fn(|few| {
            self.single_outcome_changes[few] / (self.single_outcome_tries[few] + 1.0)
        })
    }

    /// Chance that the first try of an action in a state meets a state never seen, by the rule of
    /// succession.
    pub(super) fn novelty_of_action(&self, action: usize) -> f64 {
        let (tries, new) = self
            .first_tries_by_action
            .get(action)
            .copied()
            .unwrap_or_default();
        (f64::from(new) + 1.0) / (f64::from(tries) + 2.0)
    }

    /// $w$.
    pub(super) fn memory(&self) -> f64 {
        if self.repeat_excess_most > 0.0 {
            (self.repeat_excess / self.repeat_excess_most).clamp(0.0, 1.0)
        } else {
            0.0
        }
    }

    /// $\rho$: share of the steps after which an episode was truncated.
    pub(super) fn truncation(&self) -> f64 {
        self.truncations as f64 / self.steps.max(1) as f64
    }

    /// Every outcome of a pair and its count.
    pub(super) fn outcomes(&self, pair: usize) -> impl Iterator<Item = (u32, u32)> + '_ {
        self.rows[pair].iter()
    }
}

fn small(count: u64) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}
