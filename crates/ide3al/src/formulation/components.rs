//! The parts of a model that a stationary distribution can live on.
//!
//! A stationary state-action distribution $\omega$ puts mass only where the process can stay
//! for ever. With $\xi > 0$ every action is taken, so these are the closed classes of the full
//! graph. With $\xi = 0$ actions can be left out, and they are the *maximal end components*:
//! largest sets of states with actions that never leave the set and connect it. On each
//! component alone the entropy problems have an interior optimum and a finite dual; the best
//! mixture over components $c$ with optima $H_c$ weighs them by $e^{H_c}$ and reaches
//! $\ln \sum_c e^{H_c}$.
//!
//! Reference for end components: de Alfaro (1997), *Formal Verification of Probabilistic Systems*,
//! section 3.3.

use std::collections::HashMap;

use crate::chain::classes;
use crate::model::{Kernel, Mdp};

/// From here on $A_s \xi$ counts as one: $\xi$ may be $1/A_s$ as rounded.
const FIXED: f64 = 1.0 - 1e-12;

/// The components for a given $\xi$, ordered by their smallest state. `None` when the
/// whole model is one component with every action, the usual case.
pub fn components(mdp: &Mdp, xi: f64) -> Option<Vec<Submodel>> {
    let (allowed, component) = recurrent(mdp, xi, vec![true; mdp.n_pairs()]);
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
    let parts = parts.map(|states| Submodel::new(mdp, &allowed, states, (0.0, 0.0)));
    Some(parts.collect())
}

/// The states that have an allowed pair.
pub(super) fn visited(mdp: &Mdp, allowed: &[bool]) -> impl Iterator<Item = usize> {
    (0..mdp.n_states()).filter(|s| allowed[mdp.pairs(*s)].contains(&true))
}

/// The pairs that can be played for ever when only those `allowed` may be, and a number per state:
/// states with the same number are one component. Removes pairs that leave their strongly connected
/// component until none does.
pub(crate) fn recurrent(mdp: &Mdp, xi: f64, mut allowed: Vec<bool>) -> (Vec<bool>, Vec<u32>) {
    let n = mdp.n_states();
    if xi > 0.0 {
        // every action is played: a state that may not play all of its own is not visited for ever
        for s in 0..n {
            if mdp.pairs(s).any(|pair| !allowed[pair]) {
                allowed[mdp.pairs(s)].fill(false);
            }
        }
    }
    loop {
        let weights: Vec<f64> = allowed.iter().map(|a| f64::from(u8::from(*a))).collect();
        let (mut component, _) = classes::components(&mdp.mix(&weights));
        component.truncate(n);
        let single = component.iter().all(|c| *c == component[0]);
        let leaves = |s: usize, pair: usize| {
            let row = mdp.row(pair);
            row.entries().any(|(t, _)| component[t] != component[s])
                || (row.spread > 0.0 && !single)
        };
        let mut changed = false;
        for s in 0..n {
            let pairs = mdp.pairs(s);
            if pairs.clone().any(|pair| allowed[pair] && leaves(s, pair)) {
                changed = true;
                for pair in pairs {
                    // with xi > 0 the action that leaves is played, so that the state is transient
                    if xi > 0.0 || leaves(s, pair) {
                        allowed[pair] = false;
                    }
                }
            }
        }
        if !changed {
            return (allowed, component);
        }
    }
}

/// A part of a model: a model of its own on some of the states, and where its states and pairs come
/// from.
#[derive(Debug, Clone)]
pub struct Submodel {
    /// The model of the part.
    pub mdp: Mdp,
    /// State of the whole model for each state of the part, ascending.
    pub states: Vec<usize>,
    /// The pairs of the whole model, group by group: each group is one pair of the part.
    pub pairs: Vec<usize>,
    /// Where each group begins, and where the last one ends.
    pub(super) first: Vec<usize>,
}

impl Submodel {
    /// The `allowed` pairs of some `states`, which must not lead elsewhere. Where $\xi$ leaves no
    /// choice ($A_s \xi = 1$) all pairs of a state are one group. With a restart at every step the
    /// rows have no effect, and a loop stands for each.
    pub(crate) fn new(
        mdp: &Mdp,
        allowed: &[bool],
        states: Vec<usize>,
        (xi, restart): (f64, f64),
    ) -> Self {
        let local = |t: usize| states.partition_point(|s| *s < t) as u32;
        let (mut first_pair, mut actions) = (vec![0], Vec::new());
        let (mut pairs, mut first) = (Vec::new(), vec![0]);
        let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        let mut spread = Vec::new();
        let mut row: Vec<(u32, f64)> = Vec::new();
        for &s in &states {
            let here: Vec<usize> = mdp.pairs(s).filter(|pair| allowed[*pair]).collect();
            let fixed = xi * here.len() as f64 >= FIXED;
            let size = if fixed { here.len() } else { 1 };
            for group in here.chunks(size) {
                let share = 1.0 / size as f64;
                let mut uniform = 0.0;
                row.clear();
                if restart >= 1.0 {
                    row.push((local(s), 1.0));
                } else {
                    for &pair in group {
                        let source = mdp.row(pair);
                        row.extend(source.entries().map(|(t, p)| (local(t), share * p)));
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
                pairs.extend_from_slice(group);
                first.push(pairs.len());
            }
            first_pair.push(actions.len());
        }
        // a uniform row reaches every state, so it stays only where the part is the whole
        if spread.iter().all(|c| *c == 0.0) {
            spread.clear();
        }
        let kernel = Kernel::from_raw(states.len(), offsets, indices, values, spread);
        // where nothing starts over the start has no effect, and much of it may lie outside
        let start = if restart > 0.0 {
            states.iter().map(|s| mdp.start()[*s]).collect()
        } else {
            vec![1.0 / states.len() as f64; states.len()]
        };
        Submodel {
            mdp: Mdp::from_parts(first_pair, actions, kernel, start),
            states,
            pairs,
            first,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_components_depend_on_xi() {
        // 0 can stay or go to 1; 1 can stay or go back; 2 only enters 0
        let mdp = Mdp::from_triplets(
            3,
            2,
            [
                (0, 0, 0, 1.0),
                (0, 1, 1, 1.0),
                (1, 0, 1, 1.0),
                (2, 0, 0, 0.5),
                (2, 0, 2, 0.5),
            ],
        )
        .unwrap();
        // without xi: {0} by staying, {1}; with xi only {1} is closed
        let free = components(&mdp, 0.0).unwrap();
        assert_eq!(free.len(), 2);
        assert_eq!(
            (&free[0].states[..], &free[0].pairs[..]),
            (&[0][..], &[0][..])
        );
        let forced = components(&mdp, 0.1).unwrap();
        assert_eq!(forced.len(), 1);
        assert_eq!(forced[0].states, [1]);
    }
}
