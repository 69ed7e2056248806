//! Transitions as they come from a file, kept small.

use crate::error::{Error, Result};
use crate::model::Mdp;

/// Transitions grouped into runs of equal (state, action): twelve bytes each plus one run per
/// row when they come sorted, as every file that we write is.
#[derive(Default)]
pub(super) struct Transitions {
    /// `(state, action, first entry)` of each run.
    runs: Vec<(u32, u32, usize)>,
    next: Vec<u32>,
    values: Vec<f64>,
    /// Uniform share `(state, action, share)` of rows that have one.
    pub(super) shares: Vec<(u32, u32, f64)>,
}

impl Transitions {
    /// Appends a transition.
    pub(super) fn push(&mut self, state: u32, action: u32, next: u32, value: f64) {
        if self
            .runs
            .last()
            .is_none_or(|r| (r.0, r.1) != (state, action))
        {
            self.runs.push((state, action, self.next.len()));
        }
        self.next.push(next);
        self.values.push(value);
    }

    /// One more than the largest state mentioned.
    pub(super) fn n_states(&self) -> usize {
        let from = self.runs.iter().map(|r| r.0);
        let largest = from.chain(self.next.iter().copied()).max();
        largest.map_or(0, |s| s as usize + 1)
    }

    fn entries(&self) -> impl Iterator<Item = (usize, u32, u32, u32, f64)> + '_ {
        let mut run = 0;
        (0..self.next.len()).map(move |k| {
            while self.runs.get(run + 1).is_some_and(|r| r.2 <= k) {
                run += 1;
            }
            let (state, action, _) = self.runs[run];
            (k, state, action, self.next[k], self.values[k])
        })
    }

    /// Checks every index and value, naming the entry by its place in the list.
    pub(super) fn check(&self, n_states: usize, n_actions: usize, list: &str) -> Result<()> {
        let out_of_range = |what, index: u32, limit, k: usize| Error::OutOfRange {
            what,
            index: index as usize,
            limit,
            place: format!(" ({list}[{k}])"),
        };
        for (k, state, action, next, value) in self.entries() {
            if state as usize >= n_states {
                return Err(out_of_range("state", state, n_states, k));
            }
            if action as usize >= n_actions {
                return Err(out_of_range("action", action, n_actions, k));
            }
            if next as usize >= n_states {
                return Err(out_of_range("next state", next, n_states, k));
            }
            if !(value.is_finite() && value >= 0.0) {
                return Err(Error::BadProbability {
                    state: state as usize,
                    action: action as usize,
                    next: next as usize,
                    value,
                });
            }
        }
        for &(state, action, value) in &self.shares {
            let uniform = |what, index: u32, limit| Error::OutOfRange {
                what,
                index: index as usize,
                limit,
                place: format!(" ('uniform', state {state}, action {action})"),
            };
            if state as usize >= n_states {
                return Err(uniform("state", state, n_states));
            }
            if action as usize >= n_actions {
                return Err(uniform("action", action, n_actions));
            }
            if !(0.0..=1.0).contains(&value) {
                return Err(Error::Unsupported(format!(
                    "'uniform', state {state}, action {action}: {value} is not a share in [0, 1]; correct that entry"
                )));
            }
        }
        Ok(())
    }

    /// The model. A claim of more states than there are rows is refused before anything of
    /// that size is allocated.
    pub(super) fn build(self, n_states: usize, n_actions: usize) -> Result<Mdp> {
        if n_states == 0 || n_actions == 0 {
            return Err(Error::Empty);
        }
        self.check_every_state_acts(n_states)?;
        let ascending = self
            .runs
            .windows(2)
            .all(|w| (w[0].0, w[0].1) < (w[1].0, w[1].1));
        if !ascending && self.shares.is_empty() {
            let triplets = self
                .entries()
                .map(|(_, s, a, t, p)| (s as usize, a as usize, t as usize, p));
            return Mdp::from_triplets(n_states, n_actions, triplets);
        }
        let sorted = if ascending { self } else { self.sorted() };
        sorted.build_sorted(n_states)
    }

    fn check_every_state_acts(&self, n_states: usize) -> Result<()> {
        let runs = self.runs.iter().map(|r| r.0);
        let mut states: Vec<u32> = runs.chain(self.shares.iter().map(|r| r.0)).collect();
        if !states.is_sorted() {
            states.sort_unstable();
        }
        states.dedup();
        if states.len() >= n_states {
            return Ok(());
        }
        let gap = states.iter().enumerate().find(|(k, s)| **s as usize != *k);
        let state = gap.map_or(states.len(), |(k, _)| k);
        Err(Error::NoAction { state })
    }

    fn sorted(self) -> Self {
        let mut entries: Vec<_> = self.entries().map(|(_, s, a, t, p)| (s, a, t, p)).collect();
        // stable, so that duplicates add up in the order given
        entries.sort_by_key(|e| (e.0, e.1));
        let mut sorted = Transitions {
            shares: self.shares,
            ..Transitions::default()
        };
        for (state, action, next, value) in entries {
            sorted.push(state, action, next, value);
        }
        sorted
    }

    fn build_sorted(mut self, n_states: usize) -> Result<Mdp> {
        self.shares.sort_by_key(|r| (r.0, r.1));
        let mut first_pair = vec![0usize];
        let mut actions = Vec::with_capacity(self.runs.len());
        let mut offsets = vec![0usize];
        let mut spread = Vec::new();
        let (mut run, mut share) = (0, 0);
        while run < self.runs.len() || share < self.shares.len() {
            let in_runs = self.runs.get(run).map(|r| (r.0, r.1));
            let in_shares = self.shares.get(share).map(|r| (r.0, r.1));
            let pair = match (in_runs, in_shares) {
                (Some(a), Some(b)) => a.min(b),
                (Some(pair), None) | (None, Some(pair)) => pair,
                (None, None) => break,
            };
            while first_pair.len() <= pair.0 as usize {
                first_pair.push(actions.len());
            }
            actions.push(pair.1);
            if in_runs == Some(pair) {
                run += 1;
            }
            let end = self.runs.get(run).map_or(self.next.len(), |r| r.2);
            offsets.push(end);
            if in_shares == Some(pair) {
                spread.resize(actions.len() - 1, 0.0);
                spread.push(self.shares[share].2);
                share += 1;
            }
        }
        if !spread.is_empty() {
            spread.resize(actions.len(), 0.0);
        }
        while first_pair.len() <= n_states {
            first_pair.push(actions.len());
        }
        Mdp::from_rows_and_spread(
            n_states,
            &first_pair,
            &actions,
            &offsets,
            &self.next,
            &self.values,
            &spread,
        )
    }
}
