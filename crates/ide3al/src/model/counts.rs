//! Observed transitions and the model they suggest.

use super::{Kernel, Mdp};
use crate::error::{Error, Result};

/// What the estimate says of a pair that was never tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unvisited {
    /// Uniform over all states, as IDE3AL and CountBased assume (the paper's Algorithm 1).
    Uniform,
    /// A self-loop, as MaxEnt assumes.
    SelfLoop,
}

/// Transition counts $C(s' \mid s,a)$, sparse: memory grows with distinct transitions seen,
/// never with $S^2 A$.
#[derive(Debug, Clone, PartialEq)]
pub struct Counts {
    n_states: usize,
    first_pair: Vec<usize>,
    actions: Vec<u32>,
    /// Per pair, `(next state, count)` with next states ascending.
    seen: Vec<Vec<(u32, u64)>>,
    pair_totals: Vec<u64>,
    /// How often each state was left by some action.
    state_totals: Vec<u64>,
    total: u64,
    /// How often an episode began in each state, and how often one ended there.
    starts: Vec<u64>,
    ends: Vec<u64>,
    /// How many episodes were cut short (a time limit).
    cuts: u64,
}

impl Counts {
    /// No observation yet, for `actions[s]` actions in each state.
    pub fn new(actions_per_state: &[usize]) -> Self {
        let mut first_pair = vec![0];
        let mut actions = Vec::new();
        for &n in actions_per_state {
            actions.extend(0..n as u32);
            first_pair.push(actions.len());
        }
        Counts {
            n_states: actions_per_state.len(),
            seen: vec![Vec::new(); actions.len()],
            pair_totals: vec![0; actions.len()],
            state_totals: vec![0; actions_per_state.len()],
            first_pair,
            actions,
            total: 0,
            starts: vec![0; actions_per_state.len()],
            ends: vec![0; actions_per_state.len()],
            cuts: 0,
        }
    }

    /// Adds a state that nobody knew of, after all others.
    pub fn add_state(&mut self, n_actions: usize) {
        self.actions.extend(0..n_actions as u32);
        self.first_pair.push(self.actions.len());
        self.seen.resize(self.actions.len(), Vec::new());
        self.pair_totals.resize(self.actions.len(), 0);
        self.state_totals.push(0);
        self.starts.push(0);
        self.ends.push(0);
        self.n_states += 1;
    }

    /// Number of states.
    pub fn n_states(&self) -> usize {
        self.n_states
    }

    /// Number of state-action pairs.
    pub fn n_pairs(&self) -> usize {
        self.actions.len()
    }

    /// The pairs of a state.
    pub fn pairs(&self, state: usize) -> std::ops::Range<usize> {
        self.first_pair[state]..self.first_pair[state + 1]
    }

    /// Records that an episode began in a state.
    pub fn record_start(&mut self, state: usize) {
        self.starts[state] += 1;
    }

    /// Records that an episode ended in a terminal state; the step that leaves it is recorded
    /// apart.
    pub fn record_end(&mut self, state: usize) {
        self.ends[state] += 1;
    }

    /// Records that an episode was cut short.
    pub fn record_truncation(&mut self) {
        self.cuts += 1;
    }

    /// How often an episode began in each state.
    pub fn starts(&self) -> &[u64] {
        &self.starts
    }

    /// How often an episode ended in each state.
    pub fn ends(&self) -> &[u64] {
        &self.ends
    }

    /// Number of episodes cut short.
    pub fn cuts(&self) -> u64 {
        self.cuts
    }

    /// Takes over what a checkpoint says of episodes: how often they began and ended in each state,
    /// and how many were cut short.
    pub fn set_episodes(&mut self, starts: Vec<u64>, ends: Vec<u64>, cuts: u64) -> Result<()> {
        if (starts.len(), ends.len()) != (self.n_states, self.n_states) {
            return Err(Error::Size {
                what: "episodes".into(),
                expected: format!("{} states", self.n_states),
                found: format!("{} and {}", starts.len(), ends.len()),
            });
        }
        (self.starts, self.ends, self.cuts) = (starts, ends, cuts);
        Ok(())
    }

    /// Records that `action` in `state` led to `next`.
    pub fn record(&mut self, state: usize, action: usize, next: usize) {
        let pair = self.first_pair[state] + action;
        let seen = &mut self.seen[pair];
        match seen.binary_search_by_key(&(next as u32), |entry| entry.0) {
            Ok(k) => seen[k].1 += 1,
            Err(k) => seen.insert(k, (next as u32, 1)),
        }
        self.pair_totals[pair] += 1;
        self.state_totals[state] += 1;
        self.total += 1;
    }

    /// Adds `count` observations at once (reading a checkpoint).
    pub fn add(&mut self, pair: usize, next: usize, count: u64) -> Result<()> {
        if pair >= self.n_pairs() || next >= self.n_states {
            return Err(Error::OutOfRange {
                what: "transition count",
                index: pair.max(next),
                limit: self.n_pairs(),
                place: String::new(),
            });
        }
        let seen = &mut self.seen[pair];
        match seen.binary_search_by_key(&(next as u32), |entry| entry.0) {
            Ok(k) => seen[k].1 += count,
            Err(k) => seen.insert(k, (next as u32, count)),
        }
        let state = self.first_pair.partition_point(|&first| first <= pair) - 1;
        self.pair_totals[pair] += count;
        self.state_totals[state] += count;
        self.total += count;
        Ok(())
    }

    /// `(next state, count)` seen from a pair, next states ascending.
    pub fn seen(&self, pair: usize) -> &[(u32, u64)] {
        &self.seen[pair]
    }

    /// Observations per pair.
    pub fn pair_totals(&self) -> &[u64] {
        &self.pair_totals
    }

    /// Observations per state.
    pub fn state_totals(&self) -> &[u64] {
        &self.state_totals
    }

    /// All observations.
    pub fn total(&self) -> u64 {
        self.total
    }

    /// The maximum-likelihood model $\hat P(s'|s,a) = C(s'|s,a) / \sum_{s'} C(s'|s,a)$, with
    /// unvisited pairs filled as told. Costs $O(\text{distinct transitions} + \text{pairs})$.
    pub fn estimate(&self, unvisited: Unvisited, start: &[f64]) -> Mdp {
        self.estimate_with_prior(unvisited, 0.0, start)
    }

    /// With a prior of weight $\lambda$,
    /// $\hat P(s'|s,a) = (C(s'|s,a) + \lambda u(s')) / (\sum_{s'} C(s'|s,a) + \lambda)$ with $u$
    /// what the estimate says of an unvisited pair: no row is certain before it was seen for ever.
    /// A uniform $u$ stays one number per row.
    pub fn estimate_with_prior(&self, unvisited: Unvisited, prior: f64, start: &[f64]) -> Mdp {
        let mut offsets = Vec::with_capacity(self.n_pairs() + 1);
        offsets.push(0);
        let entries: usize = self.seen.iter().map(|seen| seen.len().max(1)).sum();
        let mut indices = Vec::with_capacity(entries);
        let mut values = Vec::with_capacity(entries);
        let mut spread = Vec::new();
        for s in 0..self.n_states {
            for pair in self.first_pair[s]..self.first_pair[s + 1] {
                let total = self.pair_totals[pair];
                if total > 0 {
                    let whole = total as f64 + prior;
                    let own = self.seen[pair].binary_search_by_key(&(s as u32), |e| e.0);
                    for (k, &(next, count)) in self.seen[pair].iter().enumerate() {
                        if prior > 0.0 && unvisited == Unvisited::SelfLoop && own == Err(k) {
                            indices.push(s as u32);
                            values.push(prior / whole);
                        }
                        let looped = unvisited == Unvisited::SelfLoop && own == Ok(k);
                        let more = if looped { prior } else { 0.0 };
                        indices.push(next);
                        values.push((count as f64 + more) / whole);
                    }
                    if prior > 0.0 && unvisited == Unvisited::SelfLoop {
                        if own == Err(self.seen[pair].len()) {
                            indices.push(s as u32);
                            values.push(prior / whole);
                        }
                    } else if prior > 0.0 {
                        if spread.is_empty() {
                            spread = vec![0.0; self.n_pairs()];
                        }
                        spread[pair] = prior / whole;
                    }
                } else if unvisited == Unvisited::SelfLoop {
                    indices.push(s as u32);
                    values.push(1.0);
                } else {
                    if spread.is_empty() {
                        spread = vec![0.0; self.n_pairs()];
                    }
                    spread[pair] = 1.0;
                }
                offsets.push(indices.len());
            }
        }
        let kernel = Kernel::from_raw(self.n_states, offsets, indices, values, spread);
        Mdp::from_parts(
            self.first_pair.clone(),
            self.actions.clone(),
            kernel,
            start.to_vec(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn estimates_frequencies_and_keeps_uniform_rows_implicit() {
        let mut counts = Counts::new(&[2, 1]);
        counts.record(0, 1, 0);
        counts.record(0, 1, 1);
        counts.record(0, 1, 1);
        let model = counts.estimate(Unvisited::Uniform, &[1.0, 0.0]);
        assert_eq!(model.kernel().nnz(), 2);
        let dense = model.kernel().to_dense();
        assert_eq!(dense[0], [0.5, 0.5]);
        assert_eq!(dense[1], [1.0 / 3.0, 2.0 / 3.0]);
        let looped = counts.estimate(Unvisited::SelfLoop, &[1.0, 0.0]);
        assert_eq!(looped.kernel().to_dense()[2], [0.0, 1.0]);
    }

    #[test]
    fn a_prior_leaves_no_row_certain() {
        let mut counts = Counts::new(&[2, 1]);
        counts.add_state(1);
        for next in [0, 1, 1] {
            counts.record(0, 1, next);
        }
        let model = counts.estimate_with_prior(Unvisited::Uniform, 0.6, &[1.0, 0.0, 0.0]);
        assert_eq!(model.kernel().nnz(), 2, "the prior is one number per row");
        let dense = model.kernel().to_dense();
        for (p, q) in dense[1].iter().zip([1.2 / 3.6, 2.2 / 3.6, 0.2 / 3.6]) {
            assert!((p - q).abs() < 1e-15);
        }
        assert_eq!(dense[3], [1.0 / 3.0; 3]);
        let looped = counts.estimate_with_prior(Unvisited::SelfLoop, 0.6, &[1.0, 0.0, 0.0]);
        let dense = looped.kernel().to_dense();
        for (p, q) in dense[1].iter().zip([1.6 / 3.6, 2.0 / 3.6, 0.0]) {
            assert!((p - q).abs() < 1e-15);
        }
        assert_eq!(dense[3], [0.0, 0.0, 1.0]);
    }
}
