//! Presolve: the smaller model that a solver works on, and the way back to the whole one.
//!
//! A stationary state-action distribution $\omega$ puts mass only where the process can stay for
//! ever ([`end_components`]). On each component alone the entropy problems have an interior optimum
//! and a finite dual; the best mixture over components $c$ with optima $H_c$ weighs them by
//! $e^{H_c}$ and reaches $\ln \sum_c e^{H_c}$. Several pairs of a state may stand in it as one,
//! which is played for all of them evenly: those that $\xi$ fixes, and [`copies`] of each other.

pub mod copies;
pub mod end_components;

use std::collections::HashMap;

use crate::model::{Kernel, Mdp, Policy};
use copies::compare_rows;
use end_components::end_components;

/// From here on $A_s \xi$ counts as one: $\xi$ may be $1/A_s$ as rounded.
const FIXED: f64 = 1.0 - 1e-12;

/// The components for a given $\xi$, ordered by their smallest state. `None` when the
/// whole model is one component with every action, the usual case.
pub fn components(mdp: &Mdp, xi: f64) -> Option<Vec<ReducedModel>> {
    let (allowed, component) = end_components(mdp, xi, vec![true; mdp.n_pairs()]);
    if allowed.iter().all(|a| *a) && component.iter().all(|c| *c == component[0]) {
        return None;
    }
    let (mut members, mut places) = (Vec::<Vec<usize>>::new(), HashMap::new());
    for s in visited(mdp, &allowed) {
        let place = *places.entry(component[s]).or_insert(members.len());
        if place == members.len() {
            members.push(Vec::new());
        }
        members[place].push(s);
    }
    let parts = members.into_iter();
    let parts = parts.map(|states| ReducedModel::of_pairs(mdp, &allowed, states, (0.0, 0.0)));
    Some(parts.collect())
}

/// The states that have an allowed pair.
pub(super) fn visited(mdp: &Mdp, allowed: &[bool]) -> impl Iterator<Item = usize> {
    (0..mdp.n_states()).filter(|s| allowed[mdp.pairs(*s)].contains(&true))
}

/// A model on some of the states of another one, each of whose pairs stands for a group of that
/// model's pairs, played evenly.
#[derive(Debug, Clone)]
pub struct ReducedModel {
    /// The smaller model.
    pub mdp: Mdp,
    /// State of the whole model for each state, ascending.
    pub states: Vec<usize>,
    /// The pairs of the whole model, group by group, and where each group begins.
    pairs: Vec<usize>,
    first: Vec<usize>,
}

impl ReducedModel {
    /// The `allowed` pairs of some `states`, which must not lead elsewhere. Where $\xi$ leaves no
    /// choice ($A_s \xi = 1$) all pairs of a state are one group. With a restart at every step the
    /// rows have no effect, and a loop stands for each.
    pub(crate) fn of_pairs(
        mdp: &Mdp,
        allowed: &[bool],
        states: Vec<usize>,
        (xi, restart): (f64, f64),
    ) -> Self {
        // where nothing starts over the start has no effect, and much of it may lie outside
        let start = if restart > 0.0 {
            states.iter().map(|s| mdp.start()[*s]).collect()
        } else {
            vec![1.0 / states.len() as f64; states.len()]
        };
        Self::new(mdp, states, start, restart >= 1.0, |s, pairs, first| {
            let before = pairs.len();
            pairs.extend(mdp.pairs(s).filter(|pair| allowed[*pair]));
            if xi * (pairs.len() - before) as f64 >= FIXED {
                first.push(pairs.len());
            } else {
                first.extend(before + 1..=pairs.len());
            }
        })
    }

    /// `groups_of` appends the pairs of a state, group by group, and where each group ends;
    /// `loops` says that a loop stands for each row.
    fn new(
        mdp: &Mdp,
        states: Vec<usize>,
        start: Vec<f64>,
        loops: bool,
        mut groups_of: impl FnMut(usize, &mut Vec<usize>, &mut Vec<usize>),
    ) -> Self {
        let mut local = vec![u32::MAX; mdp.n_states()];
        (0..).zip(&states).for_each(|(i, s)| local[*s] = i);
        let (mut first_pair, mut actions) = (vec![0], Vec::new());
        let (mut pairs, mut first) = (Vec::new(), vec![0]);
        let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        let mut spread = Vec::new();
        let mut row: Vec<(u32, f64)> = Vec::new();
        for &s in &states {
            let before = first.len();
            groups_of(s, &mut pairs, &mut first);
            for ends in first[before - 1..].windows(2) {
                let group = &pairs[ends[0]..ends[1]];
                // equal rows are taken as they are: their mean would be rounded
                let row_of = |pair: &usize| mdp.row(*pair);
                let equal = |pair: &usize| compare_rows(row_of(&group[0]), row_of(pair)).is_eq();
                let size = if group.iter().all(equal) {
                    1
                } else {
                    group.len()
                };
                let share = 1.0 / size as f64;
                let mut uniform = 0.0;
                row.clear();
                if loops {
                    row.push((local[s], 1.0));
                } else {
                    for source in group[..size].iter().map(row_of) {
                        // an entry of probability 0 may lie outside the states that are kept
                        let entries = source.entries().filter(|(_, p)| *p > 0.0);
                        row.extend(entries.map(|(t, p)| (local[t], share * p)));
                        uniform += share * source.spread;
                    }
                }
                row.sort_by_key(|entry| entry.0);
                for same in row.chunk_by(|a, b| a.0 == b.0) {
                    indices.push(same[0].0);
                    values.push(same.iter().map(|entry| entry.1).sum());
                }
                offsets.push(indices.len());
                spread.push(uniform);
                actions.push(mdp.actions()[group[0]]);
            }
            first_pair.push(actions.len());
        }
        // a uniform row reaches every state, so it stays only where no state is left out
        if spread.iter().all(|c| *c == 0.0) {
            spread.clear();
        }
        let kernel = Kernel::from_raw(states.len(), offsets, indices, values, spread);
        ReducedModel {
            mdp: Mdp::from_parts(first_pair, actions, kernel, start),
            states,
            pairs,
            first,
        }
    }

    /// The pairs of the whole model that a pair stands for.
    pub fn group(&self, pair: usize) -> &[usize] {
        &self.pairs[self.first[pair]..self.first[pair + 1]]
    }

    /// All pairs of the whole model that some pair stands for.
    pub(super) fn pairs(&self) -> &[usize] {
        &self.pairs
    }

    /// Numbers per pair of the whole model, averaged over each group.
    pub fn means(&self, numbers: &[f64]) -> Vec<f64> {
        let mean = |group: &[usize]| {
            group.iter().map(|pair| numbers[*pair]).sum::<f64>() / group.len() as f64
        };
        let pairs = 0..self.mdp.n_pairs();
        pairs.map(|pair| mean(self.group(pair))).collect()
    }

    /// Writes numbers per pair to those of the `whole` model, shared evenly within each group.
    pub fn share(&self, numbers: &[f64], whole: &mut [f64]) {
        for (pair, x) in numbers.iter().enumerate() {
            let group = self.group(pair);
            let each = x / group.len() as f64;
            group.iter().for_each(|member| whole[*member] = each);
        }
    }

    /// Writes a policy to the states of one of the `whole` model.
    pub fn share_policy(&self, mdp: &Mdp, policy: &[f64], whole: &mut [f64]) {
        for &s in &self.states {
            whole[mdp.pairs(s)].fill(0.0);
        }
        self.share(policy, whole);
    }

    /// A policy as one of the whole model, uniform in the states that are left out.
    pub fn whole_policy(&self, mdp: &Mdp, policy: &[f64]) -> Vec<f64> {
        let mut whole = Policy::uniform(mdp).probabilities().to_vec();
        self.share_policy(mdp, policy, &mut whole);
        whole
    }
}

#[cfg(test)]
mod tests;
