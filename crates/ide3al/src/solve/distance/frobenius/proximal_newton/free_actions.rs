//! The actions that can move while the multipliers do, with their rows on the free entries: all
//! that products with the policy's part of [Newton's system](super::newton) need.

use super::row::ProximalProblem;
use ide3al_numerics::parallel::{blocks, share, update};

/// Most vectors that arrivals are summed up in, each by one thread, and how many entries one is
/// worth for each of its numbers.
const PARTS: usize = 4;
const WORTH: usize = 2;
/// Entries from which on sharing pays.
const MANY: usize = 1 << 16;

/// Kept from one Newton step to the next, as it may be as large as the model.
#[derive(Default)]
pub(super) struct FreeActions {
    /// Those of state `s` are `first[s]..first[s + 1]`, and which pairs they are.
    pub(super) first: Vec<usize>,
    pub(super) pairs: Vec<u32>,
    /// Their $P_F$ without uniform shares, in compressed rows.
    offsets: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
    /// $P_F\, d\beta$, and $N_s P_F\, d\beta - \tau_s l_s$: how the policy moves.
    pub(super) products: Vec<f64>,
    pub(super) moved: Vec<f64>,
    parts: Vec<Vec<f64>>,
}

impl FreeActions {
    /// Takes the actions of which `moves(s, a)` is true, on the slots that are `free`.
    pub(super) fn collect(
        &mut self,
        problem_data: &ProximalProblem<'_>,
        free: &[bool],
        moves: impl Fn(usize, usize) -> bool,
    ) {
        let (mdp, slots) = (problem_data.mdp, &problem_data.support.slots);
        let kernel = mdp.kernel();
        for list in [&mut self.first, &mut self.offsets] {
            list.clear();
            list.push(0);
        }
        self.pairs.clear();
        self.indices.clear();
        self.values.clear();
        if self.values.capacity() == 0 {
            // at first nearly all can move
            self.indices.reserve_exact(kernel.nnz());
            self.values.reserve_exact(kernel.nnz());
            self.pairs.reserve_exact(mdp.n_pairs());
        }
        for s in 0..mdp.n_states() {
            let begin = mdp.pairs(s).start;
            for pair in mdp.pairs(s).filter(|pair| moves(s, pair - begin)) {
                self.pairs.push(pair as u32);
                for e in kernel.offsets()[pair]..kernel.offsets()[pair + 1] {
                    if free[slots[e] as usize] {
                        self.indices.push(kernel.indices()[e]);
                        self.values.push(kernel.values()[e]);
                    }
                }
                self.offsets.push(self.indices.len());
            }
            self.first.push(self.pairs.len());
        }
        self.products.clear();
        self.products.resize(self.pairs.len(), 0.0);
        self.moved.clone_from(&self.products);
        let (n, entries) = (mdp.n_states(), self.values.len());
        let worth = if entries < MANY {
            1
        } else {
            entries / (WORTH * n)
        };
        self.parts.resize(worth.clamp(1, PARTS), Vec::new());
        self.parts.iter_mut().for_each(|part| part.resize(n, 0.0));
    }

    /// `products` for a step `x` of the columns' multipliers, of which `all` is the sum over the
    /// free entries of each row.
    pub(super) fn times(&mut self, problem_data: &ProximalProblem<'_>, x: &[f64], all: &[f64]) {
        let (kernel, n) = (
            problem_data.mdp.kernel(),
            problem_data.mdp.n_states() as f64,
        );
        let (first, pairs, offsets) = (&self.first, &self.pairs, &self.offsets);
        let (indices, values) = (&self.indices, &self.values);
        blocks(first, &mut self.products, |s, part| {
            for (i, y) in (first[s]..).zip(part) {
                let mut sum = kernel.spread_of(pairs[i] as usize) / n * all[s];
                let row = offsets[i]..offsets[i + 1];
                for (t, value) in indices[row.clone()].iter().zip(&values[row]) {
                    sum += value * x[*t as usize];
                }
                *y = sum;
            }
        });
    }

    /// Adds what arrives in each column as the policy moves, uniform shares left out. Which rows a
    /// part has does not depend on the number of threads.
    pub(super) fn add_arrivals(&mut self, out: &mut [f64]) {
        let (count, parts) = (self.pairs.len(), self.parts.len());
        let (offsets, moved) = (&self.offsets, &self.moved);
        let (indices, values) = (&self.indices, &self.values);
        share(self.parts.iter_mut().enumerate(), |(k, part)| {
            part.fill(0.0);
            for i in count * k / parts..count * (k + 1) / parts {
                let row = offsets[i]..offsets[i + 1];
                for (t, value) in indices[row.clone()].iter().zip(&values[row]) {
                    part[*t as usize] += value * moved[i];
                }
            }
        });
        let parts = &self.parts;
        update(out, |t, x| parts.iter().fold(x, |sum, part| sum + part[t]));
    }
}
