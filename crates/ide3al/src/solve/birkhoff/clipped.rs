//! $U_{st} = \mathrm{clip}(M_{st} + \alpha_s + \beta_t, 0, \zeta)$, a full matrix that is never
//! stored.
//!
//! Off the sparse support of $M$ (where $M_{st}$ is the row's uniform share $o_s$) that is a
//! function of $a_s + \beta_t$ with $a_s = \alpha_s + o_s$, so row and column sums need only sorted
//! $a$ and $\beta$ and prefix sums: one evaluation costs $O(\text{nnz} + S \log S)$ time and
//! $O(\text{nnz} + S)$ memory. Everything is first summed up as if no row had a slot of the
//! support; then the slots' entries are put right.
//!
//! An entry strictly between its bounds is *free*: it follows the multipliers. $N$ is the 0/1
//! matrix of free entries.

use std::sync::Arc;

use crate::formulation::support::Support;
use ide3al_numerics::groups::{Groups, owners};
use ide3al_numerics::parallel::gather;
use ide3al_numerics::sorted::{Sorted, within};

/// Sums and free entries of $U$.
#[derive(Debug, Clone)]
pub(in crate::solve) struct Clipped<'a> {
    support: &'a Support,
    columns_first: Arc<ColumnsFirst>,
    pub(in crate::solve) zeta: f64,
    /// $a$.
    pub(super) shifted: Vec<f64>,
    pub(in crate::solve) rows: Side,
    pub(in crate::solve) columns: Side,
    /// Whether each slot's entry is free.
    pub(in crate::solve) free: Vec<bool>,
    /// Whether it is, less whether it would be without the slot's mass: what the slot changes in
    /// $N$.
    correction: Vec<i8>,
    /// The same by column, once it was asked for since $U$ was summed up: products take what they
    /// need in the order in which it lies.
    by_column: Vec<i8>,
    in_order: bool,
    prefix: Vec<f64>,
}

/// The slots by column, and in that order the rows that they lie in: as large as the model, so that
/// copies share it.
#[derive(Debug)]
struct ColumnsFirst {
    slots: Groups,
    rows: Vec<u32>,
}

/// The rows, or the columns.
#[derive(Debug, Clone)]
pub(in crate::solve) struct Side {
    /// $a$, or $\beta$.
    pub(in crate::solve) sorted: Sorted,
    /// For each row the positions in the sorted $\beta$ that are free if it has no slot; for each
    /// column those in the sorted $a$.
    pub(super) ranges: Vec<(u32, u32)>,
    /// Number of free entries.
    pub(in crate::solve) counts: Vec<f64>,
    /// Sums of $U$.
    pub(in crate::solve) sums: Vec<f64>,
}

impl Side {
    fn new(n: usize) -> Self {
        Side {
            sorted: Sorted::new(n),
            ranges: vec![(0, 0); n],
            counts: vec![0.0; n],
            sums: vec![0.0; n],
        }
    }

    /// Ranges, counts and sums at the numbers `own` as if there were no slots.
    fn sum_up(&mut self, own: &[f64], other: &Sorted, zeta: f64) {
        other.between(&self.sorted, zeta, &mut self.ranges);
        for (i, &range) in self.ranges.iter().enumerate() {
            let (low, high) = (range.0 as usize, range.1 as usize);
            self.counts[i] = (high - low) as f64;
            let above = (own.len() - high) as f64;
            self.sums[i] = other.sum_shifted(own[i], (low, high)) + zeta * above;
        }
    }
}

impl<'a> Clipped<'a> {
    pub(super) fn new(support: &'a Support, zeta: f64) -> Self {
        let n = support.offsets.len() - 1;
        let slots = Groups::new(n, &support.columns);
        let mut rows = Vec::new();
        slots.sort(&owners(&support.offsets), &mut rows);
        Clipped {
            support,
            columns_first: Arc::new(ColumnsFirst { slots, rows }),
            zeta,
            shifted: vec![0.0; n],
            rows: Side::new(n),
            columns: Side::new(n),
            free: vec![false; support.len()],
            correction: vec![0; support.len()],
            by_column: Vec::new(),
            in_order: false,
            prefix: vec![0.0; n + 1],
        }
    }

    /// $U$ for the $M$ with `mass` on the slots and the row's `share` added in every column.
    pub(super) fn evaluate(&mut self, alpha: &[f64], beta: &[f64], mass: &[f64], share: &[f64]) {
        let (support, zeta) = (self.support, self.zeta);
        self.in_order = false;
        for (s, a) in self.shifted.iter_mut().enumerate() {
            *a = alpha[s] + share[s];
        }
        let (rows, columns) = (&mut self.rows, &mut self.columns);
        rows.sorted.sort(&self.shifted);
        columns.sorted.sort(beta);
        rows.sum_up(&self.shifted, &columns.sorted, zeta);
        columns.sum_up(beta, &rows.sorted, zeta);
        let is_free = |x: f64| x > 0.0 && x < zeta;
        for (s, &a) in self.shifted.iter().enumerate() {
            let (mut row_change, mut count_change) = (0.0, 0i32);
            for k in support.offsets[s]..support.offsets[s + 1] {
                let t = support.columns[k] as usize;
                let (plain, with) = (a + beta[t], mass[k] + a + beta[t]);
                let change = with.clamp(0.0, zeta) - plain.clamp(0.0, zeta);
                let correction = i8::from(is_free(with)) - i8::from(is_free(plain));
                self.free[k] = is_free(with);
                self.correction[k] = correction;
                count_change += i32::from(correction);
                row_change += change;
                columns.sums[t] += change;
                columns.counts[t] += f64::from(correction);
            }
            rows.sums[s] += row_change;
            rows.counts[s] += f64::from(count_change);
        }
    }

    /// Largest violation of a row or column sum.
    pub(in crate::solve) fn violation(&self) -> f64 {
        let sums = self.rows.sums.iter().chain(&self.columns.sums);
        sums.fold(0.0, |worst, sum| f64::max(worst, (sum - 1.0).abs()))
    }

    /// $N v$: the sum of `v` over the free entries of each row.
    pub(in crate::solve) fn times(&mut self, v: &[f64], out: &mut [f64]) {
        self.columns.sorted.accumulate(v, &mut self.prefix);
        let support = self.support;
        let (prefix, ranges, correction) = (&self.prefix, &self.rows.ranges, &self.correction);
        gather(out, |s| {
            let mut sum = within(prefix, ranges[s]);
            for k in support.offsets[s]..support.offsets[s + 1] {
                sum += f64::from(correction[k]) * v[support.columns[k] as usize];
            }
            sum
        });
    }

    /// $N^\top w$.
    pub(in crate::solve) fn transpose_times(&mut self, w: &[f64], out: &mut [f64]) {
        let ColumnsFirst { slots, rows } = &*self.columns_first;
        if !self.in_order {
            slots.sort(&self.correction, &mut self.by_column);
            self.in_order = true;
        }
        self.rows.sorted.accumulate(w, &mut self.prefix);
        let (prefix, ranges, correction) = (&self.prefix, &self.columns.ranges, &self.by_column);
        gather(out, |t| {
            let mut sum = within(prefix, ranges[t]);
            let range = slots.range(t);
            for (s, c) in rows[range.clone()].iter().zip(&correction[range]) {
                sum += f64::from(*c) * w[*s as usize];
            }
            sum
        });
    }

    /// Column sums of the matrix that has `w[s]` in each entry of row $s$ that would be free if
    /// there were no slots, and on each slot what `on_slots` adds to that.
    pub(in crate::solve) fn column_sums(&mut self, w: &[f64], on_slots: &[f64], out: &mut [f64]) {
        self.rows.sorted.accumulate(w, &mut self.prefix);
        let (prefix, ranges) = (&self.prefix, &self.columns.ranges);
        let slots = &self.columns_first.slots;
        gather(out, |t| {
            let mut sum = within(prefix, ranges[t]);
            for &k in slots.of(t) {
                sum += on_slots[k as usize];
            }
            sum
        });
    }
}
