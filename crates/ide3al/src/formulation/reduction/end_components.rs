//! What can be played for ever: maximal end components, and the states from which a forbidden one
//! can be avoided.
//!
//! With $\xi = 0$ actions can be left out, and a stationary distribution lives on the *maximal end
//! components*: largest sets of states with actions that never leave the set and connect it. With
//! $\xi > 0$ every action is taken, so these are the closed classes of the full graph.
//!
//! The first components are the strongly connected components of all pairs. A pair that leaves its
//! component is lost, and a state without pairs is lost with all pairs that lead to it, by a
//! worklist. What is left of a component need not be connected: it may fall into pieces, and any
//! piece that cannot be left has a state that lost a pair. So these states are searched from, with
//! growing budgets, until the first search ends: the states that it found cannot be left, reach
//! each other (a smaller closed set would have been found before), and are done with. Where many
//! states have lost pairs strongly connected components are computed anew instead. With $m$
//! transitions and $n$ states all of it takes $O(m \sqrt n)$ steps, and as a rule $O(m)$.
//!
//! Reference: Chatterjee and Henzinger (2014), *Journal of the ACM* 61(3), section 3.

use crate::chain::classes;
use crate::model::{Kernel, Mdp};

/// Transitions that the first searches may look at; a round number, not measured.
const FIRST_BUDGET: usize = 64;

/// The pairs that can be played for ever when only those `allowed` may be, and a number per state:
/// states that keep a pair and have the same number are one component.
pub(crate) fn end_components(mdp: &Mdp, xi: f64, allowed: Vec<bool>) -> (Vec<bool>, Vec<u32>) {
    let n = mdp.n_states();
    let mut playable = Playable::new(mdp, xi, allowed);
    let mut components = Vec::new();
    let mut next = 0;
    loop {
        let changed = std::mem::take(&mut playable.changed);
        let changed: Vec<usize> = (changed.into_iter())
            .filter(|s| playable.pairs_left[*s] > 0)
            .collect();
        if components.is_empty() || changed.len() * changed.len() > n {
            let (found, count) = playable.strongly_connected();
            (components, next) = (found, count as u32);
            playable.lose_leaving(&components);
        } else if changed.is_empty() {
            return (playable.allowed, components);
        } else {
            let closed = playable.smallest_closed_set(&changed);
            for s in &closed {
                components[*s] = next;
            }
            next += 1;
            let outside = |s: &usize| components[*s] != next - 1;
            playable.changed = changed.into_iter().filter(outside).collect();
            playable.lose_entering(&closed, &components);
        }
    }
}

/// The pairs with which states that have none left can be avoided for ever; each state that keeps
/// a pair can do so.
pub(crate) fn avoiding(mdp: &Mdp, xi: f64, allowed: Vec<bool>) -> Vec<bool> {
    Playable::new(mdp, xi, allowed).allowed
}

/// The pairs that may still be played. A pair that leads to a state without pairs is lost.
struct Playable<'a> {
    mdp: &'a Mdp,
    /// Whether a state needs all of its pairs, because $\xi > 0$.
    needs_all: bool,
    allowed: Vec<bool>,
    /// How many pairs each state has left.
    pairs_left: Vec<usize>,
    state_of: Vec<u32>,
    /// The pairs that lead to each state.
    arriving: Kernel,
    /// States that lost pairs since the components were known.
    changed: Vec<usize>,
    is_changed: Vec<bool>,
    /// States that lost their last pair, while the pairs that lead to them are not lost yet.
    lost: Vec<usize>,
    /// The number of the last search that came to each state, and of the last of all.
    seen: Vec<u32>,
    search: u32,
}

impl<'a> Playable<'a> {
    fn new(mdp: &'a Mdp, xi: f64, allowed: Vec<bool>) -> Self {
        let n = mdp.n_states();
        let mut state_of = vec![0; mdp.n_pairs()];
        for s in 0..n {
            state_of[mdp.pairs(s)].fill(s as u32);
        }
        let forbidden: Vec<usize> = (0..allowed.len()).filter(|p| !allowed[*p]).collect();
        let mut playable = Playable {
            mdp,
            needs_all: xi > 0.0,
            allowed: vec![true; mdp.n_pairs()],
            pairs_left: (0..n).map(|s| mdp.n_actions(s)).collect(),
            state_of,
            arriving: mdp.kernel().transpose(),
            changed: Vec::new(),
            is_changed: vec![false; n],
            lost: Vec::new(),
            seen: vec![0; n],
            search: 0,
        };
        forbidden.into_iter().for_each(|pair| playable.lose(pair));
        playable.spread_losses();
        playable
    }

    /// Takes a pair away, and its state where that cannot do without.
    fn lose(&mut self, pair: usize) {
        if !self.allowed[pair] {
            return;
        }
        let s = self.state_of[pair] as usize;
        self.allowed[pair] = false;
        self.pairs_left[s] -= 1;
        if self.needs_all {
            self.allowed[self.mdp.pairs(s)].fill(false);
            self.pairs_left[s] = 0;
        }
        if self.pairs_left[s] == 0 {
            self.lost.push(s);
        } else if !std::mem::replace(&mut self.is_changed[s], true) {
            self.changed.push(s);
        }
    }

    /// Takes away the pairs that lead to states without pairs, until there is none.
    fn spread_losses(&mut self) {
        if !self.lost.is_empty() {
            self.lose_uniform_rows();
        }
        while let Some(t) = self.lost.pop() {
            for k in self.arriving.offsets()[t]..self.arriving.offsets()[t + 1] {
                if self.arriving.values()[k] > 0.0 {
                    self.lose(self.arriving.indices()[k] as usize);
                }
            }
        }
    }

    /// Uniform rows lead everywhere, so that they are lost as soon as one state is, or stands
    /// apart.
    fn lose_uniform_rows(&mut self) {
        if self.mdp.kernel().has_spread() {
            for pair in 0..self.allowed.len() {
                if self.mdp.kernel().spread_of(pair) > 0.0 {
                    self.lose(pair);
                }
            }
        }
    }

    /// Strongly connected components of the pairs left, and how many there are.
    fn strongly_connected(&mut self) -> (Vec<u32>, usize) {
        self.is_changed.fill(false);
        let weights = self.allowed.iter().map(|a| f64::from(u8::from(*a)));
        let weights: Vec<f64> = weights.collect();
        let (mut components, count) = classes::components(&self.mdp.mix(&weights));
        components.truncate(self.mdp.n_states());
        (components, count)
    }

    /// Takes away the pairs that leave their component.
    fn lose_leaving(&mut self, components: &[u32]) {
        if components.iter().any(|c| *c != components[0]) {
            self.lose_uniform_rows();
        }
        for pair in 0..self.allowed.len() {
            let own = components[self.state_of[pair] as usize];
            let mut row = self.mdp.row(pair).entries();
            if row.any(|(t, p)| p > 0.0 && components[t] != own) {
                self.lose(pair);
            }
        }
        self.spread_losses();
    }

    /// Takes away the pairs of other components that lead into one.
    fn lose_entering(&mut self, component: &[usize], components: &[u32]) {
        for &t in component {
            self.is_changed[t] = false;
            for k in self.arriving.offsets()[t]..self.arriving.offsets()[t + 1] {
                let pair = self.arriving.indices()[k] as usize;
                let from = self.state_of[pair] as usize;
                if self.arriving.values()[k] > 0.0 && components[from] != components[t] {
                    self.lose(pair);
                }
            }
        }
        self.spread_losses();
    }

    /// The smallest of the sets of states that are reached from one of those `from`.
    fn smallest_closed_set(&mut self, from: &[usize]) -> Vec<usize> {
        let mut budget = FIRST_BUDGET;
        loop {
            let found = from.iter().filter_map(|s| self.reached(*s, budget));
            if let Some((_, states)) = found.min_by_key(|(looked, _)| *looked) {
                return states;
            }
            budget *= 2;
        }
    }

    /// How many transitions a search from a state looks at, and the states that it finds; nothing
    /// where these are more than `budget`.
    fn reached(&mut self, from: usize, budget: usize) -> Option<(usize, Vec<usize>)> {
        self.search += 1;
        self.seen[from] = self.search;
        let (mut states, mut looked, mut next) = (vec![from], 0, 0);
        while let Some(&s) = states.get(next) {
            next += 1;
            for pair in self.mdp.pairs(s).filter(|pair| self.allowed[*pair]) {
                for (t, p) in self.mdp.row(pair).entries() {
                    looked += 1;
                    if p > 0.0 && std::mem::replace(&mut self.seen[t], self.search) != self.search {
                        states.push(t);
                    }
                }
            }
            if looked > budget {
                return None;
            }
        }
        Some((looked, states))
    }
}
