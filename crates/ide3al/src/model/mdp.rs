//! The sparse Markov decision process.

use std::ops::Range;

use super::builder::{Builder, check_index, check_probability, check_sizes, normalise};
use super::{Kernel, Layout, Row};
use crate::error::{Error, Result};

/// A finite Markov decision process $(S, A, P, d_0)$, with the [rewards](Mdp::rewards) that it came
/// with, if any.
///
/// One sparse row $P(\cdot \mid s,a)$ per state-action *pair*; the pairs of a state are
/// consecutive, and states may have different numbers of them. Each pair remembers the
/// action it stands for, so that a model in which state 3 lacks action 0 keeps its labels.
///
/// ```
/// use ide3al::model::Mdp;
/// // two states, two actions: stay or hop
/// let mdp = Mdp::from_triplets(2, 2, [(0, 0, 0, 1.0), (0, 1, 1, 1.0), (1, 0, 1, 1.0), (1, 1, 0, 1.0)])?;
/// assert_eq!((mdp.n_states(), mdp.n_pairs()), (2, 4));
/// # Ok::<(), ide3al::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Mdp {
    first_pair: Vec<usize>,
    actions: Vec<u32>,
    pub(super) kernel: Kernel,
    start: Vec<f64>,
    state_names: Option<Vec<String>>,
    action_names: Option<Vec<String>>,
    layout: Option<Layout>,
    pub(super) times: Option<Vec<f64>>,
    pub(super) rewards: Option<Vec<f64>>,
    pub(super) terminal: Vec<usize>,
}

impl Mdp {
    /// From `(state, action, next state, probability)` in any order. Duplicate successors
    /// add up; entries of probability zero are dropped; a pair that never occurs is an
    /// action that the state does not have. The start is uniform until
    /// [`with_start`](Self::with_start).
    pub fn from_triplets(
        n_states: usize,
        n_actions: usize,
        triplets: impl IntoIterator<Item = (usize, usize, usize, f64)>,
    ) -> Result<Self> {
        check_sizes(n_states, n_actions)?;
        let mut entries = Vec::new();
        for (state, action, next, value) in triplets {
            let place = || format!(" (transition {state}, {action}, {next})");
            check_index("state", state, n_states, place)?;
            check_index("action", action, n_actions, place)?;
            check_index("next state", next, n_states, place)?;
            check_probability(state, action, next, value)?;
            entries.push((state as u32, action as u32, next as u32, value));
        }
        // stable, so that duplicates add up in the order given
        entries.sort_by_key(|&(s, a, t, _)| (s, a, t));
        let mut builder = Builder::new(n_states, entries.len());
        let mut rest = entries.as_slice();
        while let Some(&(s, a, _, _)) = rest.first() {
            let length = rest.partition_point(|e| (e.0, e.1) <= (s, a));
            let (row, after) = rest.split_at(length);
            builder.push_row(s as usize, a, row.iter().map(|&(_, _, t, p)| (t, p)), 0.0)?;
            rest = after;
        }
        builder.finish()
    }

    /// From a closure that writes the successors of `(state, action)` into a buffer and
    /// returns whether the state has that action. Rows go straight into place, so that a
    /// model of $10^7$ transitions is built without a second copy.
    pub fn from_fn(
        n_states: usize,
        n_actions: usize,
        mut successors: impl FnMut(usize, usize, &mut Vec<(usize, f64)>) -> bool,
    ) -> Result<Self> {
        check_sizes(n_states, n_actions)?;
        let mut builder = Builder::new(n_states, 0);
        let (mut buffer, mut row) = (Vec::new(), Vec::new());
        for state in 0..n_states {
            for action in 0..n_actions {
                buffer.clear();
                if !successors(state, action, &mut buffer) {
                    continue;
                }
                row.clear();
                for &(next, value) in &buffer {
                    check_index("next state", next, n_states, || {
                        format!(" (state {state}, action {action})")
                    })?;
                    check_probability(state, action, next, value)?;
                    row.push((next as u32, value));
                }
                row.sort_by_key(|entry| entry.0);
                builder.push_row(state, action as u32, row.iter().copied(), 0.0)?;
            }
        }
        builder.finish()
    }

    /// From a dense array `P[s][a][t]` in row-major order. A row of zeros is an action that
    /// the state does not have.
    pub fn from_dense(n_states: usize, n_actions: usize, array: &[f64]) -> Result<Self> {
        check_sizes(n_states, n_actions)?;
        let expected = n_states
            .checked_mul(n_states)
            .and_then(|n| n.checked_mul(n_actions));
        if expected != Some(array.len()) {
            return Err(Error::Size {
                what: "dense transition array".into(),
                expected: format!("{n_states} x {n_actions} x {n_states} numbers"),
                found: array.len().to_string(),
            });
        }
        Mdp::from_fn(n_states, n_actions, |s, a, row| {
            let first = (s * n_actions + a) * n_states;
            let dense = array[first..first + n_states].iter().enumerate();
            row.extend(dense.filter(|(_, p)| **p != 0.0).map(|(t, &p)| (t, p)));
            !row.is_empty()
        })
    }

    /// From compressed rows: `first_pair[s]..first_pair[s + 1]` are the pairs of state `s`,
    /// `actions` the action each stands for (ascending within a state), `offsets`,
    /// `indices`, `values` the rows. Everything is checked; duplicates within a row add up.
    pub fn from_rows(
        n_states: usize,
        first_pair: &[usize],
        actions: &[u32],
        offsets: &[usize],
        indices: &[u32],
        values: &[f64],
    ) -> Result<Self> {
        Mdp::from_rows_and_spread(n_states, first_pair, actions, offsets, indices, values, &[])
    }

    /// [`from_rows`](Self::from_rows), with the uniform share of each row (or none at all).
    pub fn from_rows_and_spread(
        n_states: usize,
        first_pair: &[usize],
        actions: &[u32],
        offsets: &[usize],
        indices: &[u32],
        values: &[f64],
        spread: &[f64],
    ) -> Result<Self> {
        check_sizes(n_states, 1)?;
        let sizes = |what: &str, expected: usize, found: usize| {
            if expected == found {
                return Ok(());
            }
            Err(Error::Size {
                what: what.to_owned(),
                expected: expected.to_string(),
                found: found.to_string(),
            })
        };
        sizes("first pair of each state", n_states + 1, first_pair.len())?;
        sizes("row offsets", actions.len() + 1, offsets.len())?;
        sizes("transition values", indices.len(), values.len())?;
        if !spread.is_empty() {
            sizes("uniform shares", actions.len(), spread.len())?;
        }
        let ascending = |list: &[usize], end: usize, what: &str| {
            if list.first() == Some(&0) && list.last() == Some(&end) && list.is_sorted() {
                return Ok(());
            }
            Err(Error::Size {
                what: what.to_owned(),
                expected: format!("ascending from 0 to {end}"),
                found: "something else".into(),
            })
        };
        ascending(first_pair, actions.len(), "first pair of each state")?;
        ascending(offsets, indices.len(), "row offsets")?;
        let mut builder = Builder::new(n_states, indices.len());
        let mut row: Vec<(u32, f64)> = Vec::new();
        for state in 0..n_states {
            let pairs = first_pair[state]..first_pair[state + 1];
            if actions[pairs.clone()].windows(2).any(|w| w[0] >= w[1]) {
                return Err(Error::Unsupported(format!(
                    "state {state}: action numbers must be ascending and distinct"
                )));
            }
            for pair in pairs {
                row.clear();
                for k in offsets[pair]..offsets[pair + 1] {
                    check_index("next state", indices[k] as usize, n_states, || {
                        format!(" (state {state}, action {})", actions[pair])
                    })?;
                    check_probability(
                        state,
                        actions[pair] as usize,
                        indices[k] as usize,
                        values[k],
                    )?;
                    row.push((indices[k], values[k]));
                }
                row.sort_by_key(|entry| entry.0);
                let share = spread.get(pair).copied().unwrap_or(0.0);
                builder.push_row(state, actions[pair], row.iter().copied(), share)?;
            }
        }
        builder.finish()
    }

    /// Assembles parts that are known to be consistent (an estimate, a submodel).
    pub(crate) fn from_parts(
        first_pair: Vec<usize>,
        actions: Vec<u32>,
        kernel: Kernel,
        start: Vec<f64>,
    ) -> Self {
        debug_assert_eq!(first_pair.last(), Some(&kernel.n_rows()));
        Mdp {
            first_pair,
            actions,
            kernel,
            start,
            state_names: None,
            action_names: None,
            layout: None,
            times: None,
            rewards: None,
            terminal: Vec::new(),
        }
    }

    /// Sets the start distribution $d_0$: one probability per state, summing to one.
    pub fn with_start(mut self, mut start: Vec<f64>) -> Result<Self> {
        let problem = if start.len() == self.n_states() {
            if let Some(state) = start.iter().position(|p| !p.is_finite() || *p < 0.0) {
                Some(format!("state {state} has {}", start[state]))
            } else {
                normalise(&mut start, 1.0)
                    .err()
                    .map(|sum| format!("it sums to {sum}"))
            }
        } else {
            Some(format!(
                "it has {} entries for {} states",
                start.len(),
                self.n_states()
            ))
        };
        match problem {
            Some(problem) => Err(Error::BadStart { problem }),
            None => {
                self.start = start;
                Ok(self)
            }
        }
    }

    /// Starts in one state.
    pub fn with_start_state(self, state: usize) -> Result<Self> {
        check_index("start state", state, self.n_states(), String::new)?;
        let mut start = vec![0.0; self.n_states()];
        start[state] = 1.0;
        self.with_start(start)
    }

    /// Names the states, one name each.
    pub fn with_state_names(mut self, names: Vec<String>) -> Result<Self> {
        if names.len() != self.n_states() {
            return Err(Error::Size {
                what: "state names".into(),
                expected: format!("{}, one per state", self.n_states()),
                found: names.len().to_string(),
            });
        }
        self.state_names = Some(names);
        Ok(self)
    }

    /// Names the actions, one name per action number.
    pub fn with_action_names(mut self, names: Vec<String>) -> Result<Self> {
        if names.len() < self.n_action_labels() {
            return Err(Error::Size {
                what: "action names".into(),
                expected: format!("{}, one per action", self.n_action_labels()),
                found: names.len().to_string(),
            });
        }
        self.action_names = Some(names);
        Ok(self)
    }

    /// Places the states on a map, for heat maps.
    #[must_use]
    pub fn with_layout(mut self, layout: Layout) -> Self {
        assert_eq!(layout.cells.len(), self.n_states(), "one cell per state");
        self.layout = Some(layout);
        self
    }

    /// Number of states $S$.
    pub fn n_states(&self) -> usize {
        self.first_pair.len() - 1
    }

    /// Number of state-action pairs.
    pub fn n_pairs(&self) -> usize {
        self.actions.len()
    }

    /// Number of actions of a state.
    pub fn n_actions(&self, state: usize) -> usize {
        self.first_pair[state + 1] - self.first_pair[state]
    }

    /// Largest number of actions of any state.
    pub fn max_actions(&self) -> usize {
        (0..self.n_states())
            .map(|s| self.n_actions(s))
            .max()
            .unwrap_or(0)
    }

    /// One more than the largest action number in use.
    pub fn n_action_labels(&self) -> usize {
        self.actions.iter().max().map_or(0, |&a| a as usize + 1)
    }

    /// The pairs of a state, as row numbers of the kernel and places in a
    /// [`Policy`](super::Policy).
    pub fn pairs(&self, state: usize) -> Range<usize> {
        self.first_pair[state]..self.first_pair[state + 1]
    }

    /// First pair of each state, and the number of pairs at the end.
    pub fn first_pair(&self) -> &[usize] {
        &self.first_pair
    }

    /// Action number of each pair.
    pub fn actions(&self) -> &[u32] {
        &self.actions
    }

    /// $P$, one row per pair.
    pub fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    /// $P(\cdot \mid s,a)$ of one pair.
    pub fn row(&self, pair: usize) -> Row<'_> {
        self.kernel.row(pair)
    }

    /// $d_0$.
    pub fn start(&self) -> &[f64] {
        &self.start
    }

    /// Names of the states, if any.
    pub fn state_names(&self) -> Option<&[String]> {
        self.state_names.as_deref()
    }

    /// Names of the actions, if any.
    pub fn action_names(&self) -> Option<&[String]> {
        self.action_names.as_deref()
    }

    /// The name of a state, or its number.
    pub fn state_name(&self, state: usize) -> String {
        match &self.state_names {
            Some(names) => names[state].clone(),
            None => state.to_string(),
        }
    }

    /// The map the states lie on, if any.
    pub fn layout(&self) -> Option<&Layout> {
        self.layout.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_add_up_and_rounding_is_renormalised() {
        let mdp = Mdp::from_triplets(
            2,
            1,
            [
                (0, 0, 1, 0.25),
                (0, 0, 0, 0.5),
                (0, 0, 1, 0.25 + 1e-10),
                (1, 0, 1, 1.0),
            ],
        )
        .unwrap();
        let row = mdp.row(0);
        assert_eq!(row.indices, [0, 1]);
        assert!((row.values.iter().sum::<f64>() - 1.0).abs() < 1e-15);
    }

    #[test]
    fn every_bad_entry_is_named() {
        let build = |t: &[(usize, usize, usize, f64)]| {
            Mdp::from_triplets(2, 1, t.iter().copied())
                .unwrap_err()
                .to_string()
        };
        assert!(build(&[(0, 0, 0, 0.5), (1, 0, 1, 1.0)]).contains("state 0, action 0"));
        assert!(build(&[(0, 0, 0, f64::NAN)]).contains("NaN"));
        assert!(build(&[(0, 0, 0, -0.5)]).contains("-0.5"));
        assert!(build(&[(0, 0, 0, f64::INFINITY)]).contains("inf"));
        assert!(build(&[(0, 0, 7, 1.0)]).contains("next state 7"));
        assert!(build(&[(0, 3, 0, 1.0)]).contains("action 3"));
        assert!(build(&[(0, 0, 0, 1.0)]).contains("state 1 has no action"));
        assert!(Mdp::from_triplets(0, 1, []).is_err());
    }

    #[test]
    fn states_may_have_different_actions() {
        let mdp =
            Mdp::from_triplets(2, 3, [(0, 1, 0, 1.0), (1, 0, 0, 1.0), (1, 2, 1, 1.0)]).unwrap();
        assert_eq!((mdp.n_actions(0), mdp.n_actions(1)), (1, 2));
        assert_eq!(mdp.actions(), [1, 0, 2]);
    }
}
