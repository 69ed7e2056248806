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
//! Reference for end components: de Alfaro (1997), *Formal Verification of Probabilistic Systems*, section 3.3.

use crate::chain::classes;
use crate::model::{Kernel, Mdp};

/// One component: a model of its own, and where its states and pairs come from.
#[derive(Debug, Clone)]
pub struct Component {
    /// The submodel.
    pub mdp: Mdp,
    /// State of the whole model for each state of the part.
    pub states: Vec<usize>,
    /// Pair of the whole model for each pair of the part.
    pub pairs: Vec<usize>,
}

/// The components for a given $\xi$, ordered by their smallest state. `None` when the
/// whole model is one component with every action, the usual case.
pub fn components(mdp: &Mdp, xi: f64) -> Option<Vec<Component>> {
    let (allowed, component) = recurrent(mdp, xi, vec![true; mdp.n_pairs()]);
    let whole = allowed.iter().all(|a| *a) && component.iter().all(|c| *c == component[0]);
    (!whole).then(|| collect(mdp, &allowed, &component))
}

/// The pairs that can be played for ever when only those `allowed` may be, and a number per state: states with the
/// same number are one component.
pub(crate) fn recurrent(mdp: &Mdp, xi: f64, mut allowed: Vec<bool>) -> (Vec<bool>, Vec<u32>) {
    let n = mdp.n_states();
    if xi > 0.0 {
        // no action can be left out: a state that may not play all of them is not visited for ever
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
                    // with xi > 0 no action can be left out: the state itself is transient
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

fn collect(mdp: &Mdp, allowed: &[bool], component: &[u32]) -> Vec<Component> {
    let n = mdp.n_states();
    let mut order: Vec<u32> = Vec::new();
    let mut members: std::collections::HashMap<u32, Vec<usize>> = std::collections::HashMap::new();
    for s in 0..n {
        if mdp.pairs(s).any(|pair| allowed[pair]) {
            let list = members.entry(component[s]).or_default();
            if list.is_empty() {
                order.push(component[s]);
            }
            list.push(s);
        }
    }
    let mut local = vec![u32::MAX; n];
    order
        .into_iter()
        .map(|id| {
            let states = members.remove(&id).unwrap_or_default();
            for (i, &s) in states.iter().enumerate() {
                local[s] = i as u32;
            }
            submodel(mdp, allowed, states, &local)
        })
        .collect()
}

fn submodel(mdp: &Mdp, allowed: &[bool], states: Vec<usize>, local: &[u32]) -> Component {
    let (mut first_pair, mut actions, mut pairs) = (vec![0], Vec::new(), Vec::new());
    let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
    let mut spread = Vec::new();
    for &s in &states {
        for pair in mdp.pairs(s).filter(|pair| allowed[*pair]) {
            let row = mdp.row(pair);
            indices.extend(row.indices.iter().map(|t| local[*t as usize]));
            values.extend_from_slice(row.values);
            spread.push(row.spread);
            offsets.push(indices.len());
            actions.push(mdp.actions()[pair]);
            pairs.push(pair);
        }
        first_pair.push(pairs.len());
    }
    // a uniform row reaches every state, so it stays only where the part is the whole
    if spread.iter().all(|c| *c == 0.0) {
        spread.clear();
    }
    let n = states.len();
    let kernel = Kernel::from_raw(n, offsets, indices, values, spread);
    let mdp = Mdp::from_parts(first_pair, actions, kernel, vec![1.0 / n as f64; n]);
    Component { mdp, states, pairs }
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
