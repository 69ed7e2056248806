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

/// Objective $2 \max_s (1 - \sum_t k_{st})$ of repaired `kept`, and the block it violates if it cannot be completed
/// to a matrix of $B_\zeta$.
pub fn objective(support: &Support, zeta: f64, kept: &[f64]) -> (f64, Option<Block>) {
    let worst = shortfall(support, kept);
    if zeta >= 1.0 {
        // the product plan r c / D never exceeds one minus what is kept
        return (2.0 * worst, None);
    }
    let plan = Kept {
        offsets: &support.offsets,
        columns: &support.columns,
        mass: kept,
        zeta,
    };
    let (left, block) = ship(&plan, 1e-10);
    // what could not be shipped (rounding) is given up by some row
    (2.0 * (worst + left), block)
}

/// $\max_s (1 - \sum_t k_{st})$.
pub(in crate::solve) fn shortfall(support: &Support, kept: &[f64]) -> f64 {
    let rows = support.offsets.windows(2);
    rows.map(|w| 1.0 - kept[w[0]..w[1]].iter().sum::<f64>())
        .fold(0.0, f64::max)
}

/// Kept mass on a sparse pattern.
#[derive(Debug, Clone, Copy)]
pub struct Kept<'a> {
    /// Entries of row `s` are `offsets[s]..offsets[s + 1]`.
    pub offsets: &'a [usize],
    /// Columns of the entries.
    pub columns: &'a [u32],
    /// The mass.
    pub mass: &'a [f64],
    /// The capacity of every cell.
    pub zeta: f64,
}

/// Ships the deficits. Returns the mass that could not be shipped (0 when $U$ exists) and,
/// if some is left beyond `tolerance`, the violated block.
pub fn ship(kept: &Kept<'_>, tolerance: f64) -> (f64, Option<Block>) {
    let n = kept.offsets.len() - 1;
    let mut supply = vec![1.0; n];
    let mut demand = vec![1.0; n];
    for (s, left) in supply.iter_mut().enumerate() {
        for k in kept.offsets[s]..kept.offsets[s + 1] {
            *left -= kept.mass[k];
            demand[kept.columns[k] as usize] -= kept.mass[k];
        }
        *left = left.max(0.0);
    }
    demand.iter_mut().for_each(|d| *d = d.max(0.0));
    if product_plan_fits(kept, &supply, &demand) {
        return (0.0, None);
    }
    flow(kept, supply, demand, tolerance)
}

/// The plan $r_s c_t / D$ is feasible when it respects every capacity: an $O(\text{nnz} + S)$
/// check that settles nearly every instance.
fn product_plan_fits(kept: &Kept<'_>, supply: &[f64], demand: &[f64]) -> bool {
    let total: f64 = supply.iter().sum();
    if total <= 0.0 {
        return true;
    }
    let largest = |list: &[f64]| list.iter().copied().fold(0.0, f64::max);
    if largest(supply) * largest(demand) / total > kept.zeta {
        return false;
    }
    (0..supply.len()).all(|s| {
        (kept.offsets[s]..kept.offsets[s + 1]).all(|k| {
            let t = kept.columns[k] as usize;
            supply[s] * demand[t] / total <= kept.zeta - kept.mass[k]
        })
    })
}

/// Maximum flow, with capacities $\zeta - k$ on all $S^2$ cells. Cells without kept mass and without flow have the same
/// capacity, so that only the others are stored. Rows first ship to whichever columns they have room for, each passing
/// over its own full cells only, and shortest augmenting paths see to what is left after that, which is mostly nothing.
fn flow(
    kept: &Kept<'_>,
    mut supply: Vec<f64>,
    mut demand: Vec<f64>,
    tolerance: f64,
) -> (f64, Option<Block>) {
    let n = supply.len();
    // below this a cell counts as full: rounding must not create paths
    let tiny = 1e-15;
    let held: Vec<BTreeMap<u32, f64>> = (0..n)
        .map(|s| {
            let cells = kept.offsets[s]..kept.offsets[s + 1];
            let cells = kept.columns[cells.clone()].iter().zip(&kept.mass[cells]);
            cells.map(|(t, k)| (*t, *k)).collect()
        })
        .collect();
    // what flows, by row and by column
    let mut shipped: Vec<BTreeMap<u32, f64>> = vec![BTreeMap::new(); n];
    let mut senders: Vec<BTreeMap<u32, f64>> = vec![BTreeMap::new(); n];
    let of = |list: &BTreeMap<u32, f64>, t: usize| list.get(&(t as u32)).copied().unwrap_or(0.0);
    let mut open: Vec<usize> = (0..n).filter(|t| demand[*t] > tiny).collect();
    for s in 0..n {
        let mut place = open.len();
        while supply[s] > tiny && place > 0 {
            place -= 1;
            let t = open[place];
            let free = (kept.zeta - of(&held[s], t)).max(0.0);
            let amount = free.min(supply[s]).min(demand[t]);
            if amount > tiny {
                shipped[s].insert(t as u32, amount);
                senders[t].insert(s as u32, amount);
                supply[s] -= amount;
                demand[t] -= amount;
            }
            if demand[t] <= tiny {
                // what takes its place was passed over
                open.swap_remove(place);
            }
        }
    }
    let mut reached_rows = vec![false; n];
    let mut reached_columns = vec![false; n];
    let mut from_row = vec![0usize; n];
    let mut from_column = vec![usize::MAX; n];
    let mut queue = Vec::with_capacity(2 * n);
    let mut waiting: Vec<usize> = Vec::with_capacity(n);
    loop {
        reached_rows.fill(false);
        reached_columns.fill(false);
        queue.clear();
        waiting.clear();
        waiting.extend(0..n);
        for s in 0..n {
            if supply[s] > tiny {
                reached_rows[s] = true;
                from_column[s] = usize::MAX;
                queue.push(s);
            }
        }
        let mut sink = None;
        let mut head = 0;
        'search: while head < queue.len() {
            let node = queue[head];
            head += 1;
            if node < n {
                // each column waits until a row with room for it is met
                let mut place = 0;
                while place < waiting.len() {
                    let t = waiting[place];
                    let free = (kept.zeta - of(&held[node], t)).max(0.0) - of(&shipped[node], t);
                    if free > tiny {
                        reached_columns[t] = true;
                        from_row[t] = node;
                        if demand[t] > tiny {
                            sink = Some(t);
                            break 'search;
                        }
                        queue.push(n + t);
                        waiting.swap_remove(place);
                    } else {
                        place += 1;
                    }
                }
            } else {
                for (&s, &amount) in &senders[node - n] {
                    let s = s as usize;
                    if !reached_rows[s] && amount > tiny {
                        reached_rows[s] = true;
                        from_column[s] = node - n;
                        queue.push(s);
                    }
                }
            }
        }
        let Some(end) = sink else { break };
        // bottleneck, then push
        let mut amount = demand[end];
        let mut t = end;
        let origin = loop {
            let s = from_row[t];
            let free = (kept.zeta - of(&held[s], t)).max(0.0) - of(&shipped[s], t);
            amount = amount.min(free);
            if from_column[s] == usize::MAX {
                break s;
            }
            let before = from_column[s];
            amount = amount.min(of(&shipped[s], before));
            t = before;
        };
        amount = amount.min(supply[origin]);
        let mut push = |s: usize, t: usize, amount: f64| {
            *shipped[s].entry(t as u32).or_default() += amount;
            *senders[t].entry(s as u32).or_default() += amount;
        };
        let mut t = end;
        loop {
            let s = from_row[t];
            push(s, t, amount);
            if from_column[s] == usize::MAX {
                break;
            }
            let before = from_column[s];
            push(s, before, -amount);
            t = before;
        }
        supply[origin] -= amount;
        demand[end] -= amount;
    }
    let left: f64 = supply.iter().sum();
    if left <= tolerance {
        return (left, None);
    }
    // the cut: A = reached rows, B = unreached columns is where capacity is short; the
    // violated block is the complement of A times the complement of B
    let rows: Vec<bool> = reached_rows.iter().map(|r| !r).collect();
    let columns: Vec<bool> = reached_columns;
    let count = |list: &[bool]| list.iter().filter(|x| **x).count() as f64;
    let (r, c, size) = (count(&rows), count(&columns), n as f64);
    let right = r + c - size + kept.zeta * (size - r) * (size - c);
    (
        left,
        Some(Block {
            rows,
            columns,
            right,
        }),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// What cannot be shipped is what the worst of all blocks holds too much, and a block that is named holds as much.
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
            let kept = Kept { offsets: &offsets, columns: &columns, mass: &mass, zeta };
            let (left, block) = ship(&kept, 1e-10);
            prop_assert!((left - worst).abs() < 1e-12, "{left} of {worst}");
            prop_assert_eq!(block.is_some(), worst > 1e-10);
            if let Some(block) = block {
                prop_assert!((excess(&|s| block.rows[s], &|t| block.columns[t]) - worst).abs() < 1e-12);
            }
        }
    }
}
