//! Whether kept mass can be completed to a doubly stochastic matrix with entries at most $\zeta$.
//!
//! Given $0 \le k \le \zeta$ with row and column sums at most one, a $U \in B_\zeta$ with
//! $U \ge k$ exists iff the rest, row deficits $1 - \sum_t k_{st}$ to column deficits
//! $1 - \sum_s k_{st}$, can be shipped with capacities $\zeta - k_{st}$. By max-flow min-cut
//! that fails iff some block $R \times C$ holds too much:
//!
//! $$\sum_{R \times C} k_{st} \;>\; |R| + |C| - S + \zeta (S - |R|)(S - |C|).$$
//!
//! The blocks' right-hand sides are the largest mass any matrix of $B_\zeta$ can have there, so
//! each inequality is valid for every feasible $k$ and can be added to the linear program.

use std::collections::BTreeMap;

use crate::formulation::infinity::Block;
use crate::formulation::support::Support;

/// What may be left unshipped without a block being at fault: rounding of sums over all rows.
const TOLERANCE: f64 = 1e-10;
/// Below this a cell counts as full and a deficit as settled: rounding must not create paths.
const TINY: f64 = 1e-15;

/// Objective $2 \max_s (1 - \sum_t k_{st})$ of repaired `kept`, and the block it violates if it
/// cannot be completed to a matrix of $B_\zeta$.
pub fn objective(support: &Support, zeta: f64, kept: &[f64]) -> (f64, Option<Block>) {
    objective_while(support, zeta, kept, || true)
}

/// The same as long as it may `go_on`, which is asked once per row: a search that is cut short
/// finds no block, and what it has not shipped yet counts as given up by some row.
pub(in crate::solve) fn objective_while(
    support: &Support,
    zeta: f64,
    kept: &[f64],
    mut go_on: impl FnMut() -> bool,
) -> (f64, Option<Block>) {
    let worst = shortfall(support, kept);
    if zeta >= 1.0 {
        // the product plan r c / D never exceeds one minus what is kept
        return (2.0 * worst, None);
    }
    let (left, block) = transport(support, zeta, kept, &mut go_on);
    // what could not be shipped is given up by some row
    (2.0 * (worst + left), block)
}

/// $\max_s (1 - \sum_t k_{st})$.
pub(in crate::solve) fn shortfall(support: &Support, kept: &[f64]) -> f64 {
    let rows = support.offsets.windows(2);
    rows.map(|w| 1.0 - kept[w[0]..w[1]].iter().sum::<f64>())
        .fold(0.0, f64::max)
}

/// Ships the deficits. Returns the mass that could not be shipped (0 when $U$ exists) and,
/// if that is more than rounding, the violated block.
fn transport(
    support: &Support,
    zeta: f64,
    kept: &[f64],
    go_on: &mut dyn FnMut() -> bool,
) -> (f64, Option<Block>) {
    let n = support.offsets.len() - 1;
    let mut supply = vec![1.0; n];
    let mut demand = vec![1.0; n];
    for (s, left) in supply.iter_mut().enumerate() {
        for k in support.row(s) {
            *left -= kept[k];
            demand[support.columns[k] as usize] -= kept[k];
        }
        *left = left.max(0.0);
    }
    demand.iter_mut().for_each(|d| *d = d.max(0.0));
    let mut flow = Flow {
        support,
        zeta,
        kept,
        supply,
        demand,
        flows: vec![BTreeMap::new(); n],
    };
    if flow.product_plan_fits() {
        return (0.0, None);
    }
    flow.transport_greedily(go_on);
    let reached = flow.augment(go_on);
    let left: f64 = flow.supply.iter().sum();
    let Some((reached_rows, reached_columns)) = reached.filter(|_| left > TOLERANCE) else {
        return (left, None);
    };
    // capacity is short from the rows that a path reaches to the columns that none does: the others
    // hold too much
    let rows: Vec<bool> = reached_rows.iter().map(|r| !r).collect();
    let count = |list: &[bool]| list.iter().filter(|x| **x).count() as f64;
    let (r, c, size) = (count(&rows), count(&reached_columns), n as f64);
    let block = Block {
        rows,
        columns: reached_columns,
        right: r + c - size + zeta * (size - r) * (size - c),
    };
    (left, Some(block))
}

/// A flow from row deficits to column deficits through all $S^2$ cells, of capacity $\zeta - k$.
/// Only cells with kept mass or with flow are stored: the others have the same capacity.
struct Flow<'a> {
    support: &'a Support,
    zeta: f64,
    kept: &'a [f64],
    /// What rows and columns still lack.
    supply: Vec<f64>,
    demand: Vec<f64>,
    /// What flows into each column, by the row that it comes from.
    flows: Vec<BTreeMap<u32, f64>>,
}

impl Flow<'_> {
    /// The plan $r_s c_t / D$ is feasible when it respects every capacity: an $O(\text{nnz} + S)$
    /// check that settles nearly every instance.
    fn product_plan_fits(&self) -> bool {
        let (support, supply, demand) = (self.support, &self.supply, &self.demand);
        let total: f64 = supply.iter().sum();
        if total <= 0.0 {
            return true;
        }
        let largest = |list: &[f64]| list.iter().copied().fold(0.0, f64::max);
        if largest(supply) * largest(demand) / total > self.zeta {
            return false;
        }
        (0..supply.len()).all(|s| {
            support.row(s).all(|k| {
                let t = support.columns[k] as usize;
                supply[s] * demand[t] / total <= self.zeta - self.kept[k]
            })
        })
    }

    /// What still fits into a cell.
    fn room(&self, s: usize, t: usize) -> f64 {
        let slots = self.support.row(s);
        let place = self.support.columns[slots.clone()].binary_search(&(t as u32));
        let held = place.map_or(0.0, |place| self.kept[slots][place]);
        (self.zeta - held).max(0.0) - self.flowing(s, t)
    }

    fn flowing(&self, s: usize, t: usize) -> f64 {
        self.flows[t].get(&(s as u32)).copied().unwrap_or(0.0)
    }

    fn push(&mut self, s: usize, t: usize, amount: f64) {
        *self.flows[t].entry(s as u32).or_default() += amount;
    }

    /// Every row ships to whichever columns it has room for. Mostly that is all.
    fn transport_greedily(&mut self, go_on: &mut dyn FnMut() -> bool) {
        let n = self.supply.len();
        let mut open: Vec<usize> = (0..n).filter(|t| self.demand[*t] > TINY).collect();
        for s in 0..n {
            if !go_on() {
                return;
            }
            let mut place = open.len();
            while self.supply[s] > TINY && place > 0 {
                place -= 1;
                let t = open[place];
                let amount = self.room(s, t).min(self.supply[s]).min(self.demand[t]);
                if amount > TINY {
                    self.push(s, t, amount);
                    self.supply[s] -= amount;
                    self.demand[t] -= amount;
                }
                if self.demand[t] <= TINY {
                    // what takes its place was passed over
                    open.swap_remove(place);
                }
            }
        }
    }

    /// Ships the rest along shortest augmenting paths until none is left. Returns the rows and the
    /// columns that can still be reached from rows with a deficit; nothing if it was cut short.
    fn augment(&mut self, go_on: &mut dyn FnMut() -> bool) -> Option<(Vec<bool>, Vec<bool>)> {
        let n = self.supply.len();
        let (mut reached_rows, mut reached_columns) = (vec![false; n], vec![false; n]);
        let (mut from_row, mut from_column) = (vec![0; n], vec![None; n]);
        let mut waiting = Vec::with_capacity(n);
        let mut queue = Vec::with_capacity(2 * n);
        let mut path = Vec::new();
        loop {
            for (reached, left) in reached_rows.iter_mut().zip(&self.supply) {
                *reached = *left > TINY;
            }
            reached_columns.fill(false);
            from_column.fill(None);
            queue.clear();
            queue.extend((0..n).filter(|s| reached_rows[*s]));
            // each column waits until a row with room for it is met
            waiting.clear();
            waiting.extend(0..n);
            let mut end = None;
            let mut head = 0;
            'search: while head < queue.len() {
                let node = queue[head];
                head += 1;
                if !go_on() {
                    return None;
                }
                if node >= n {
                    // a column passes on to the rows that send mass to it and may send it elsewhere
                    // instead
                    for (&s, &amount) in &self.flows[node - n] {
                        let s = s as usize;
                        if !reached_rows[s] && amount > TINY {
                            reached_rows[s] = true;
                            from_column[s] = Some(node - n);
                            queue.push(s);
                        }
                    }
                    continue;
                }
                let mut place = 0;
                while place < waiting.len() {
                    let t = waiting[place];
                    if self.room(node, t) > TINY {
                        reached_columns[t] = true;
                        from_row[t] = node;
                        if self.demand[t] > TINY {
                            end = Some(t);
                            break 'search;
                        }
                        queue.push(n + t);
                        waiting.swap_remove(place);
                    } else {
                        place += 1;
                    }
                }
            }
            let Some(end) = end else {
                return Some((reached_rows, reached_columns));
            };
            // back from the end: each row ships more to one column and less to the one it was
            // reached from
            path.clear();
            let mut next = Some(end);
            while let Some(t) = next {
                let s = from_row[t];
                next = from_column[s];
                path.push((s, t, next));
            }
            let origin = path[path.len() - 1].0;
            let mut amount = self.demand[end].min(self.supply[origin]);
            for &(s, t, less) in &path {
                let given_up = less.map_or(f64::INFINITY, |t| self.flowing(s, t));
                amount = amount.min(self.room(s, t)).min(given_up);
            }
            for &(s, t, less) in &path {
                self.push(s, t, amount);
                if let Some(t) = less {
                    self.push(s, t, -amount);
                }
            }
            self.supply[origin] -= amount;
            self.demand[end] -= amount;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What cannot be shipped is what the worst of all blocks holds too much, and a block that
        /// is named holds as much.
        #[test]
        fn what_is_left_is_the_worst_blocks_excess(
            cells in prop::collection::vec(prop_oneof![Just(0.0), Just(1.0), 0.0..1.0f64], 25),
            zeta in 0.2..1.0f64,
        ) {
            let n = 5;
            // rows and columns within one, cells within zeta, many of them full
            let mut mass: Vec<f64> = cells.iter().map(|x| x * zeta).collect();
            for s in 0..n {
                let row: f64 = mass[s * n..(s + 1) * n].iter().sum();
                mass[s * n..(s + 1) * n].iter_mut().for_each(|x| *x /= row.max(1.0));
            }
            for t in 0..n {
                let column: f64 = (0..n).map(|s| mass[s * n + t]).sum();
                (0..n).for_each(|s| mass[s * n + t] /= column.max(1.0));
            }
            let offsets: Vec<usize> = (0..=n).map(|s| s * n).collect();
            let columns: Vec<u32> = (0..n * n).map(|k| (k % n) as u32).collect();
            let excess = |rows: &dyn Fn(usize) -> bool, columns: &dyn Fn(usize) -> bool| {
                let (r, c) = ((0..n).filter(|s| rows(*s)).count(), (0..n).filter(|t| columns(*t)).count());
                let inside: f64 = (0..n * n).filter(|k| rows(k / n) && columns(k % n)).map(|k| mass[k]).sum();
                inside - (r as f64 + c as f64 - n as f64 + zeta * ((n - r) * (n - c)) as f64)
            };
            let worst = (0..1usize << (2 * n))
                .map(|bits| excess(&|s| bits >> s & 1 == 1, &|t| bits >> (n + t) & 1 == 1))
                .fold(0.0, f64::max);
            let support = Support { offsets, columns, slots: Vec::new() };
            let (left, block) = transport(&support, zeta, &mass, &mut || true);
            prop_assert!((left - worst).abs() < 1e-12, "{left} of {worst}");
            prop_assert_eq!(block.is_some(), worst > 1e-10);
            if let Some(block) = block {
                prop_assert!((excess(&|s| block.rows[s], &|t| block.columns[t]) - worst).abs() < 1e-12);
            }
            // a search that is cut short leaves more behind, and accuses no block
            let (exact, _) = objective(&support, zeta, &mass);
            for rows in [0, 3, 7] {
                let mut asked = 0;
                let (value, block) = objective_while(&support, zeta, &mass, || {
                    asked += 1;
                    asked <= rows
                });
                prop_assert!(value >= exact - 1e-12);
                prop_assert!(block.is_none() || asked <= rows);
            }
        }
    }
}
