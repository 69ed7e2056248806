//! Actions that do the same.
//!
//! Moves against a wall, orders that cannot be carried out, pairs of an estimate that were never
//! tried: in many models several actions of a state have the same row. No formulation tells them
//! apart but by the floor $\xi$ that each has, and by how their joint probability is shared among
//! them, which is evenly. A solver may take them for one action with a number of *copies*.

use std::cmp::Ordering;

use super::ReducedModel;
use crate::model::{Mdp, Row};

/// A smaller model is worth making where at least this share of the pairs goes.
const WORTHWHILE: f64 = 0.1;

/// The distinct actions of each state, in the order in which they first come, with all their
/// copies.
#[derive(Debug, Clone)]
pub struct Distinct {
    /// Those of state `s` are `first[s]..first[s + 1]`.
    pub first: Vec<usize>,
    /// The model's pairs, distinct action by distinct action, and where each of these begins.
    pairs: Vec<usize>,
    offsets: Vec<usize>,
}

/// An order of rows in which equal ones follow each other.
pub(super) fn compare_rows(one: Row<'_>, other: Row<'_>) -> Ordering {
    let values = one.values.iter().zip(other.values);
    let values = values.map(|(x, y)| x.total_cmp(y)).find(|o| o.is_ne());
    (one.indices.cmp(other.indices))
        .then(values.unwrap_or(Ordering::Equal))
        .then(one.spread.total_cmp(&other.spread))
}

impl Distinct {
    /// Pairs of a state are copies of each other where their rows are equal and they have the same
    /// `mark`, which is whatever else matters.
    pub fn new(mdp: &Mdp, mark: impl Fn(usize) -> u64) -> Self {
        let mut distinct = Distinct {
            first: vec![0],
            pairs: Vec::with_capacity(mdp.n_pairs()),
            offsets: vec![0],
        };
        let compare = |a: &usize, b: &usize| {
            compare_rows(mdp.row(*a), mdp.row(*b)).then_with(|| mark(*a).cmp(&mark(*b)))
        };
        // a state's pairs in an order in which copies follow each other, and each one's first copy
        let (mut order, mut firsts) = (Vec::new(), Vec::new());
        for s in 0..mdp.n_states() {
            order.clear();
            order.extend(mdp.pairs(s));
            order.sort_by(compare);
            firsts.clear();
            for copies in order.chunk_by(|a, b| compare(a, b).is_eq()) {
                firsts.extend(copies.iter().map(|pair| (copies[0], *pair)));
            }
            firsts.sort_unstable();
            for copies in firsts.chunk_by(|a, b| a.0 == b.0) {
                distinct.pairs.extend(copies.iter().map(|copy| copy.1));
                distinct.offsets.push(distinct.pairs.len());
            }
            distinct.first.push(distinct.offsets.len() - 1);
        }
        distinct
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.offsets.len() - 1
    }

    /// The copies of one among the model's pairs.
    pub fn copies(&self, i: usize) -> &[usize] {
        &self.pairs[self.offsets[i]..self.offsets[i + 1]]
    }
}

/// A model without copies, for one that has many.
#[derive(Debug, Clone)]
pub struct WithoutCopies {
    /// The model, each of whose pairs stands for copies of it.
    pub model: ReducedModel,
    /// How many copies each of its pairs has.
    pub copies: Vec<f64>,
}

impl WithoutCopies {
    /// Nothing where it would hardly be smaller.
    pub fn new(mdp: &Mdp) -> Option<Self> {
        let distinct = Distinct::new(mdp, |_| 0);
        let repeated = mdp.n_pairs() - distinct.count();
        if (repeated as f64) < WORTHWHILE * mdp.n_pairs() as f64 {
            return None;
        }
        let (states, start) = ((0..mdp.n_states()).collect(), mdp.start().to_vec());
        let model = ReducedModel::new(mdp, states, start, false, |s, pairs, first| {
            for i in distinct.first[s]..distinct.first[s + 1] {
                pairs.extend_from_slice(distinct.copies(i));
                first.push(pairs.len());
            }
        });
        let count = |i: usize| distinct.copies(i).len() as f64;
        Some(WithoutCopies {
            copies: (0..distinct.count()).map(count).collect(),
            model,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two states; of four actions the first and the last stay, the second and the third swap.
    fn model() -> Mdp {
        Mdp::from_fn(2, 4, |s, a, next| {
            next.push((if a % 3 == 0 { s } else { 1 - s }, 1.0));
            true
        })
        .unwrap()
    }

    #[test]
    fn copies_are_found_in_order() {
        let mdp = model();
        let distinct = Distinct::new(&mdp, |_| 0);
        assert_eq!(distinct.first, [0, 2, 4]);
        let copies: Vec<&[usize]> = (0..4).map(|i| distinct.copies(i)).collect();
        assert_eq!(copies, [[0, 3], [1, 2], [4, 7], [5, 6]]);
        // what is not the same in other respects stays apart
        let apart = Distinct::new(&mdp, |pair| u64::from(pair == 3));
        assert_eq!((apart.count(), apart.copies(2)), (5, &[3][..]));
    }

    #[test]
    fn a_smaller_model_stands_for_the_whole() {
        let small = WithoutCopies::new(&model()).unwrap();
        let pairs = small.model.mdp.n_pairs();
        assert_eq!((pairs, &small.copies[..]), (4, &[2.0; 4][..]));
        let mut shared = [0.0; 8];
        small.model.share(&[0.4, 0.6, 1.0, 0.0], &mut shared);
        assert_eq!(shared, [0.2, 0.3, 0.3, 0.2, 0.5, 0.0, 0.0, 0.5]);
        let ring = Mdp::from_fn(3, 2, |s, a, next| {
            next.push(((s + 1 + a) % 3, 1.0));
            true
        });
        assert!(WithoutCopies::new(&ring.unwrap()).is_none());
    }
}
