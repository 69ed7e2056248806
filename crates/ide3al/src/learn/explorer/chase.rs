//! The nearest pair that was tried too little, nearest by discounted steps.
//!
//! With the discount 0.95 a pair that was tried fewer than `quota` times is worth 1, any other
//! $0.95 ((1 - h_N) E[V] + h_N)$, where $h_N$ is the chance that a try meets a state never seen.
//! Value iteration starts from $V = 0$ and takes in states breadth first, those that can be reached
//! soonest first: a pair $k$ steps away is worth at most $0.95^k$, so that nothing farther matters
//! once $0.95^k \le V$.

use super::transitions::{NONE, RESTART};
use super::view::View;
use crate::learn::codec::{Damage, Reader, Writer};

/// Change of the value, as a share of it, at which the sweeps end, and the most sweeps.
const TOLERANCE: f64 = 1e-4;
const SWEEPS: usize = 400;
/// A probability of a new state below this counts as zero.
const NOTHING: f64 = 1e-9;

/// What counts as tried too little.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quota {
    /// Every pair is wanted so often.
    Pairs(u32),
    /// Every state is wanted so often, whatever the action.
    States(u32),
}

impl Quota {
    /// One sample more.
    pub(super) fn raised(self) -> Quota {
        match self {
            Quota::Pairs(n) => Quota::Pairs(n.saturating_add(1)),
            Quota::States(n) => Quota::States(n.saturating_add(1)),
        }
    }

    /// Whether a try of the pair is wanted.
    #[inline]
    pub(super) fn needs(self, view: &View<'_>, node: usize, pair: usize) -> bool {
        match self {
            Quota::Pairs(n) => view.transitions.tries(pair) < n,
            Quota::States(n) => {
                let seen = view.transitions;
                seen.visits()[node] < n && !seen.is_forbidden(pair)
            }
        }
    }

    /// Whether a try of any pair of a state is wanted.
    #[inline]
    fn wants_any(self, view: &View<'_>, node: usize) -> bool {
        match self {
            Quota::Pairs(_) => view
                .transitions
                .pairs(node)
                .any(|p| self.needs(view, node, p)),
            Quota::States(n) => {
                let seen = view.transitions;
                seen.visits()[node] < n && !seen.pairs(node).is_empty()
            }
        }
    }
}

/// Parameters of the value iteration of a chase.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct ChaseParameters {
    /// Discount of a step.
    pub(super) discount: f64,
    /// Whether a try is expected to lead to a state never seen with the measured frequency.
    pub(super) expects_novelty: bool,
    /// A pair whose value is below this is not pursued.
    pub(super) least: f64,
}

/// Values of the states around the place where a chase began.
#[derive(Debug, Clone)]
pub(super) struct Chase {
    parameters: ChaseParameters,
    values: Vec<f64>,
    /// By node: `2 * number` where it was met in the chase of that number, and 1 more where its
    /// successors were.
    marks: Vec<u32>,
    number: u32,
    /// Nodes met, nearest first.
    order: Vec<u32>,
}

impl Chase {
    pub(super) fn new(parameters: ChaseParameters) -> Self {
        Chase {
            parameters,
            values: Vec::new(),
            marks: Vec::new(),
            number: 0,
            order: Vec::new(),
        }
    }

    /// $h_N$ by the number of tries.
    fn novelty(&self, view: &View<'_>) -> [f64; 64] {
        match self.parameters.expects_novelty {
            true => view.transitions.novelty(),
            false => [0.0; 64],
        }
    }

    /// Looks for what is nearest to `from`, at most at so many outcomes (it stops a little later):
    /// the value there, 0 if there is nothing, and the number of outcomes looked at.
    pub(super) fn plan(
        &mut self,
        view: &View<'_>,
        from: usize,
        quota: Quota,
        allowance: usize,
    ) -> (f64, usize) {
        let novelty = self.novelty(view);
        let largest_novelty = novelty.iter().fold(0.0f64, |most, h| most.max(*h));
        self.begin(view.transitions.n_nodes());
        let mut found = self.meet(view, from, quota);
        let (mut cost, mut expanded, mut most_beyond, mut swept) = (0, 0, 1.0, 1);
        loop {
            let level = self.order.len();
            while expanded < level && cost < allowance {
                cost += self.expand(view, self.order[expanded] as usize, quota, &mut found);
                expanded += 1;
            }
            most_beyond *= self.parameters.discount;
            let complete = expanded == self.order.len() || cost >= allowance;
            // where nothing was found yet only a much larger part can tell more
            if found || complete || (largest_novelty > NOTHING && expanded >= 2 * swept) {
                swept = expanded;
                cost += self.sweep(view, expanded, quota, &novelty);
            }
            let value = self.values[from];
            if complete || (value > 0.0 && most_beyond <= value) {
                break;
            }
        }
        for _ in 0..SWEEPS {
            let before = self.values[from];
            if cost >= 2 * allowance || (!found && largest_novelty <= NOTHING) {
                break;
            }
            cost += self.sweep(view, expanded, quota, &novelty);
            if self.values[from] - before <= TOLERANCE * self.values[from] {
                break;
            }
        }
        let value = self.values[from];
        (
            if value > self.parameters.least {
                value
            } else {
                0.0
            },
            cost,
        )
    }

    /// Whether the plan at hand says what to do in a node.
    pub(super) fn knows(&self, node: usize) -> bool {
        self.marks.get(node) == Some(&(2 * self.number + 1))
    }

    /// What an action is worth by the plan at hand, in a node that it [knows](Self::knows).
    pub(super) fn worth(&self, view: &View<'_>, node: usize, pair: usize, quota: Quota) -> f64 {
        if quota.needs(view, node, pair) {
            return 1.0;
        }
        let novelty = self.novelty(view);
        let h = view.transitions.novelty_of(pair, &novelty);
        // an outcome that the plan did not know of is worth nothing to it
        let value = |t: usize| match self.marks.get(t) {
            Some(mark) if mark / 2 == self.number => self.values[t],
            _ => 0.0,
        };
        self.parameters.discount * ((1.0 - h) * view.expect(pair, value).0 + h)
    }

    pub(super) fn save(&self, writer: &mut Writer) {
        writer.number(self.order.len() as u64);
        for &node in &self.order {
            writer.number(u64::from(node));
            writer.byte(u8::from(self.knows(node as usize)));
            writer.real(self.values[node as usize]);
        }
    }

    /// Takes back what [`save`](Self::save) wrote, of so many nodes.
    pub(super) fn load(&mut self, reader: &mut Reader<'_>, n_nodes: usize) -> Result<(), Damage> {
        self.begin(n_nodes);
        for _ in 0..reader.length(17)? {
            let node = reader.index(n_nodes, "node")?;
            self.order.push(node as u32);
            self.marks[node] = 2 * self.number + u32::from(reader.byte()? != 0);
            self.values[node] = reader.real()?;
        }
        Ok(())
    }

    fn begin(&mut self, n_nodes: usize) {
        self.values.resize(n_nodes, 0.0);
        self.marks.resize(n_nodes, 0);
        self.order.clear();
        self.number += 1;
        if self.number == NONE / 2 {
            self.marks.fill(0);
            self.number = 1;
        }
    }

    /// Takes a node in; whether it is a place to go to.
    fn meet(&mut self, view: &View<'_>, node: usize, quota: Quota) -> bool {
        if self.marks[node] / 2 == self.number {
            return false;
        }
        self.marks[node] = 2 * self.number;
        self.order.push(node as u32);
        let wanted = quota.wants_any(view, node);
        self.values[node] = if wanted { 1.0 } else { 0.0 };
        wanted
    }

    /// Takes in where the actions of a node lead, unless it is a place to go to itself.
    fn expand(&mut self, view: &View<'_>, node: usize, quota: Quota, found: &mut bool) -> usize {
        self.marks[node] = 2 * self.number + 1;
        let mut cost = 1;
        if node == RESTART {
            for (start, _) in view.transitions.starts() {
                *found |= self.meet(view, start, quota);
            }
            return view.transitions.n_starts();
        }
        if self.values[node] == 1.0 {
            return cost;
        }
        for pair in view.transitions.pairs(node) {
            for (next, _) in view.transitions.outcomes(pair) {
                *found |= self.meet(view, next as usize, quota);
                cost += 1;
            }
        }
        if view.truncation > 0.0 || view.transitions.is_terminal(node) {
            *found |= self.meet(view, RESTART, quota);
        }
        cost
    }

    /// Value iteration in place, farthest first, over the nodes whose successors were met.
    fn sweep(
        &mut self,
        view: &View<'_>,
        expanded: usize,
        quota: Quota,
        novelty: &[f64; 64],
    ) -> usize {
        let mut cost = 0;
        for k in (0..expanded).rev() {
            let node = self.order[k] as usize;
            if node == RESTART {
                let new = match self.parameters.expects_novelty {
                    true => view.transitions.new_starts(),
                    false => 0.0,
                };
                let starts = view.transitions.starts();
                let known: f64 = starts.map(|(s, share)| share * self.values[s]).sum();
                self.values[node] = (1.0 - new) * known + new;
                cost += view.transitions.n_starts();
                continue;
            }
            if quota.wants_any(view, node) {
                cost += 1;
                continue;
            }
            if view.transitions.is_terminal(node) {
                cost += 1;
                self.values[node] = self.values[RESTART];
                continue;
            }
            let mut best = 0.0f64;
            for pair in view.transitions.pairs(node) {
                let h = view.transitions.novelty_of(pair, novelty);
                let (ahead, outcomes) = view.expect(pair, |t| self.values[t]);
                best = best.max(self.parameters.discount * ((1.0 - h) * ahead + h));
                cost += outcomes;
            }
            self.values[node] = best;
        }
        cost
    }
}

#[cfg(test)]
mod tests {
    use super::super::transitions::Transitions;
    use super::*;

    #[test]
    fn a_state_wanted_more_often_does_not_want_actions_that_are_not_allowed() {
        let mut seen = Transitions::new();
        let node = seen.meet(0, 2);
        let pairs = seen.pairs(node);
        assert!(seen.forbid(node, 1));
        let last = vec![NONE; seen.n_pairs()];
        let view = View::new(&seen, &last, true);
        let needed: Vec<bool> = pairs
            .map(|pair| Quota::States(1).needs(&view, node, pair))
            .collect();
        assert_eq!(needed, [true, false]);
    }

    #[test]
    fn the_nearer_of_two_untried_pairs_is_chased() {
        // a corridor 0..9; only the outer actions of both ends are untried
        let mut seen = Transitions::new();
        let nodes: Vec<usize> = (0..10).map(|s| seen.meet(s, 2)).collect();
        for k in 0..10 {
            if k > 0 {
                seen.record(nodes[k], 0, nodes[k - 1], false, None, false);
            }
            if k < 9 {
                seen.record(nodes[k], 1, nodes[k + 1], false, None, false);
            }
        }
        let last = vec![NONE; seen.n_pairs()];
        let view = View::new(&seen, &last, true);
        let ahead = ChaseParameters {
            discount: 0.95,
            expects_novelty: true,
            least: 1e-9,
        };
        let (quota, mut chase) = (Quota::Pairs(1), Chase::new(ahead));
        let (value, _) = chase.plan(&view, nodes[3], quota, 1_000_000);
        assert!((value - 0.95f64.powi(3)).abs() < 1e-12, "{value}");
        let pairs = seen.pairs(nodes[3]);
        let worth: Vec<f64> = pairs
            .map(|p| chase.worth(&view, nodes[3], p, quota))
            .collect();
        assert!(worth[0] > worth[1]);
        // the search ends before it reaches states that are too far to matter
        assert!(!chase.knows(nodes[9]));
        let (none, _) = chase.plan(&view, nodes[3], Quota::States(1), 1_000_000);
        assert_eq!(none, 0.0, "every state was visited");
    }
}
