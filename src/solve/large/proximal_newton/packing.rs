//! Vectors laid out for the Newton system: by row, by column, packed, sorted; and loops over rows.

use rayon::prelude::*;

use super::row::RowWork;
use crate::formulation::support::Support;
use crate::model::Mdp;

/// Rows handed to one task.
const CHUNK: usize = 512;
/// Fewer rows than this stay on the calling thread.
const SHORT: usize = 4096;

/// Position of each row's block (its pairs, then one number for the row) in packed vectors.
pub(super) fn block(first_pair: &[usize], s: usize) -> usize {
    first_pair[s] + s
}

/// Slots and kernel entries column by column.
pub(super) struct ByColumn {
    pub(super) slot_offsets: Vec<usize>,
    pub(super) slot: Vec<u32>,
    /// Packed position of the slot's row.
    pub(super) slot_row: Vec<u32>,
    pub(super) entry_offsets: Vec<usize>,
    pub(super) entry: Vec<u32>,
    /// Packed position of the entry's pair.
    pub(super) entry_pair: Vec<u32>,
}

/// Values in ascending order with prefix sums.
pub(super) struct Sorted {
    pub(super) order: Vec<u32>,
    pub(super) values: Vec<f64>,
    pub(super) prefix: Vec<f64>,
}

impl ByColumn {
    pub(super) fn new(mdp: &Mdp, support: &Support) -> Self {
        let n = mdp.n_states();
        let kernel = mdp.kernel();
        let first = mdp.first_pair();
        let starts = |columns: &[u32]| {
            let mut offsets = vec![0usize; n + 1];
            for t in columns {
                offsets[*t as usize + 1] += 1;
            }
            for t in 0..n {
                offsets[t + 1] += offsets[t];
            }
            offsets
        };
        let slot_offsets = starts(&support.columns);
        let entry_offsets = starts(kernel.indices());
        let mut slot = vec![0u32; support.len()];
        let mut slot_row = vec![0u32; support.len()];
        let mut entry = vec![0u32; kernel.nnz()];
        let mut entry_pair = vec![0u32; kernel.nnz()];
        let mut next_slot = slot_offsets.clone();
        let mut next_entry = entry_offsets.clone();
        for s in 0..n {
            for k in support.offsets[s]..support.offsets[s + 1] {
                let place = &mut next_slot[support.columns[k] as usize];
                slot[*place] = k as u32;
                slot_row[*place] = (first[s + 1] + s) as u32;
                *place += 1;
            }
            for pair in mdp.pairs(s) {
                for e in kernel.offsets()[pair]..kernel.offsets()[pair + 1] {
                    let place = &mut next_entry[kernel.indices()[e] as usize];
                    entry[*place] = e as u32;
                    entry_pair[*place] = (pair + s) as u32;
                    *place += 1;
                }
            }
        }
        ByColumn {
            slot_offsets,
            slot,
            slot_row,
            entry_offsets,
            entry,
            entry_pair,
        }
    }
}

impl Sorted {
    pub(super) fn new(n: usize) -> Self {
        Sorted {
            order: (0..n as u32).collect(),
            values: vec![0.0; n],
            prefix: vec![0.0; n + 1],
        }
    }

    pub(super) fn sort(&mut self, value: impl Fn(usize) -> f64) {
        self.order
            .sort_by(|&i, &j| value(i as usize).total_cmp(&value(j as usize)));
        for (k, &i) in self.order.iter().enumerate() {
            let x = value(i as usize);
            self.values[k] = x;
            self.prefix[k + 1] = self.prefix[k] + x;
        }
    }
}

/// Calls `f` for chunks of rows on all threads; the chunk's parts of the three vectors come
/// along. Rows do not depend on each other, so the result is the same however they are shared.
pub(super) fn each_row<A: Send, B: Send, C: Send>(
    a: (&mut [A], impl Fn(usize) -> usize),
    b: (&mut [B], impl Fn(usize) -> usize),
    c: &mut [C],
    work: &mut RowWork,
    f: impl Fn(usize, &mut [A], &mut [B], &mut C, &mut RowWork) + Sync,
) {
    let n = c.len();
    let (mut rest_a, place_a) = a;
    let (mut rest_b, place_b) = b;
    let mut rest_c = c;
    if n < SHORT {
        for s in 0..n {
            let (x, after) = rest_a.split_at_mut(place_a(s + 1) - place_a(s));
            rest_a = after;
            let (y, after) = rest_b.split_at_mut(place_b(s + 1) - place_b(s));
            rest_b = after;
            f(s, x, y, &mut rest_c[s], work);
        }
        return;
    }
    let mut tasks = Vec::with_capacity(n / CHUNK + 1);
    for from in (0..n).step_by(CHUNK) {
        let to = (from + CHUNK).min(n);
        let (x, after) = rest_a.split_at_mut(place_a(to) - place_a(from));
        rest_a = after;
        let (y, after) = rest_b.split_at_mut(place_b(to) - place_b(from));
        rest_b = after;
        let (z, after) = rest_c.split_at_mut(to - from);
        rest_c = after;
        let sizes: Vec<(usize, usize)> = (from..to)
            .map(|s| (place_a(s + 1) - place_a(s), place_b(s + 1) - place_b(s)))
            .collect();
        tasks.push((from, x, y, z, sizes));
    }
    tasks.into_par_iter().for_each_init(
        RowWork::default,
        |work, (from, mut x, mut y, z, sizes)| {
            for (i, (a, b)) in sizes.into_iter().enumerate() {
                let (part, after) = x.split_at_mut(a);
                x = after;
                let (other, after) = y.split_at_mut(b);
                y = after;
                f(from + i, part, other, &mut z[i], work);
            }
        },
    );
}

/// Calls `f(s, block)` for every row's block of a packed vector on all threads.
pub(super) fn each_block(
    packed: &mut [f64],
    first: &[usize],
    f: impl Fn(usize, &mut [f64]) + Sync,
) {
    let n = first.len() - 1;
    let run = |from: usize, to: usize, part: &mut [f64]| {
        let base = block(first, from);
        for s in from..to {
            f(
                s,
                &mut part[block(first, s) - base..block(first, s + 1) - base],
            );
        }
    };
    if n < SHORT {
        run(0, n, packed);
        return;
    }
    let mut tasks = Vec::with_capacity(n / CHUNK + 1);
    let mut rest = packed;
    for from in (0..n).step_by(CHUNK) {
        let to = (from + CHUNK).min(n);
        let (part, after) = rest.split_at_mut(block(first, to) - block(first, from));
        tasks.push((from, to, part));
        rest = after;
    }
    tasks
        .into_par_iter()
        .for_each(|(from, to, part)| run(from, to, part));
}
