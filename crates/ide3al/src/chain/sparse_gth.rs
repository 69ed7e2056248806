//! Subtraction-free elimination for sparse chains.
//!
//! The same censoring as in [`gth`](super::gth), on the nonzero pattern only: states leave in
//! an approximate minimum degree order (Amestoy, Davis and Duff 1996), the pattern of what
//! remains is found beforehand from the elimination tree, and the work is abandoned *before*
//! it starts when it would exceed a limit. Chains with small separators (grids, corridors)
//! need little more than $O(n \log n)$ memory; expanders do not, but those mix fast and are
//! served by [`power`](super::power).

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::sparse::SymbolicSparseColMatRef;
use faer::sparse::linalg::amd;

use super::gth::normalise;
use super::wide::{self, FAINT, Number, Wide};
use ide3al_numerics::groups::transposed;

/// Unnormalised weights beyond this are scaled down on the way.
const LARGE: f64 = 1e200;

/// A square nonnegative matrix in compressed rows without uniform shares.
pub(crate) struct Rows {
    pub(crate) offsets: Vec<usize>,
    pub(crate) indices: Vec<u32>,
    pub(crate) values: Vec<f64>,
}

impl Rows {
    pub(crate) fn n(&self) -> usize {
        self.offsets.len() - 1
    }

    pub(crate) fn nnz(&self) -> usize {
        self.indices.len()
    }

    pub(crate) fn row(&self, i: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let range = self.offsets[i]..self.offsets[i + 1];
        self.indices[range.clone()]
            .iter()
            .zip(&self.values[range])
            .map(|(&j, &v)| (j as usize, v))
    }

    fn transpose(&self) -> Rows {
        let stored = (&self.offsets[..], &self.indices[..], &self.values[..]);
        let (offsets, indices, values) = transposed(self.n(), stored);
        Rows {
            offsets,
            indices,
            values,
        }
    }
}

/// Rows whose entries arrive in any order.
pub(crate) struct RowBuilder {
    pub(crate) rows: Rows,
    open: Vec<(u32, f64)>,
}

impl Default for RowBuilder {
    fn default() -> Self {
        RowBuilder {
            rows: Rows {
                offsets: vec![0],
                indices: Vec::new(),
                values: Vec::new(),
            },
            open: Vec::new(),
        }
    }
}

impl RowBuilder {
    pub(crate) fn push(&mut self, column: u32, value: f64) {
        self.open.push((column, value));
    }

    pub(crate) fn close(&mut self) {
        self.open.sort_by_key(|e| e.0);
        let rows = &mut self.rows;
        let first = rows.indices.len();
        for (column, value) in self.open.drain(..) {
            match rows.values.last_mut() {
                Some(last)
                    if rows.indices.len() > first && rows.indices.last() == Some(&column) =>
                {
                    *last += value;
                }
                _ => {
                    rows.indices.push(column);
                    rows.values.push(value);
                }
            }
        }
        rows.offsets.push(rows.indices.len());
    }
}

/// How much elimination is affordable.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct FillLimit {
    /// Entries of the eliminated matrix above the diagonal (20 bytes each).
    pub(crate) entries: usize,
    /// Multiplications.
    pub(crate) operations: f64,
}

impl Default for FillLimit {
    /// 640 MiB and some ten seconds.
    fn default() -> Self {
        FillLimit {
            entries: 32 << 20,
            operations: 2e10,
        }
    }
}

/// Stationary distribution of an irreducible chain, or `None` when elimination would exceed
/// the limit. Diagonal entries are not read.
pub(crate) fn stationary(rows: &Rows, limit: FillLimit) -> Option<Vec<f64>> {
    let n = rows.n();
    if n == 1 {
        return Some(vec![1.0]);
    }
    if n > 20_000 && !has_separators(rows) {
        return None;
    }
    let place = order(rows)?;
    let columns = rows.transpose();
    let structure = Structure::of(rows, &columns, &place, limit)?;
    let x = in_doubles(rows, &columns, &place, &structure)
        .unwrap_or_else(|| in_wide(rows, &columns, &place, &structure));
    Some((0..n).map(|s| x[place.position[s] as usize]).collect())
}

/// Weights by step, or `None` where products of probabilities may have underflowed.
fn in_doubles(
    rows: &Rows,
    columns: &Rows,
    order: &Order,
    structure: &Structure,
) -> Option<Vec<f64>> {
    let n = rows.n();
    let (factors, scale) = eliminate::<f64>(rows, columns, order, structure);
    // negated, so that what is not a number counts as well
    if !scale[..n - 1].iter().all(|s| *s >= FAINT) {
        return None;
    }
    let mut x = vec![0.0; n];
    x[n - 1] = 1.0;
    for k in (0..n - 1).rev() {
        let range = structure.range(k);
        // no factor exceeds 1 / FAINT, so that no sum of products overflows
        x[k] = structure.indices[range.clone()]
            .iter()
            .zip(&factors[range])
            .map(|(&i, f)| x[i as usize] * f[1])
            .sum();
        if x[k] > LARGE {
            x.iter_mut().for_each(|v| *v /= LARGE);
        }
    }
    normalise(&mut x);
    Some(x)
}

/// The same in numbers that do not underflow: slower several times, and twice the memory.
fn in_wide(rows: &Rows, columns: &Rows, order: &Order, structure: &Structure) -> Vec<f64> {
    let n = rows.n();
    let (factors, _) = eliminate::<Wide>(rows, columns, order, structure);
    let mut x = vec![Wide::default(); n];
    x[n - 1] = Wide::from(1.0);
    for k in (0..n - 1).rev() {
        let range = structure.range(k);
        x[k] = structure.indices[range.clone()]
            .iter()
            .zip(&factors[range])
            .fold(Wide::default(), |sum, (&i, f)| sum + x[i as usize] * f[1]);
    }
    wide::shares(&x)
}

/// The order in which states leave.
struct Order {
    /// State that leaves at each step.
    state: Vec<u32>,
    /// Step at which each state leaves.
    position: Vec<u32>,
}

fn order(rows: &Rows) -> Option<Order> {
    let n = rows.n();
    // the ordering works with signed 32-bit numbers and needs room for both triangles
    if rows.nnz() + n > (i32::MAX / 3) as usize {
        return None;
    }
    let offsets: Vec<u32> = rows.offsets.iter().map(|&o| o as u32).collect();
    let pattern = SymbolicSparseColMatRef::new_checked(n, n, &offsets, None, &rows.indices);
    let (mut state, mut position) = (vec![0u32; n], vec![0u32; n]);
    let mut memory = MemBuffer::new(amd::order_scratch::<u32>(n, rows.nnz()));
    amd::order(
        &mut state,
        &mut position,
        pattern,
        amd::Control::default(),
        MemStack::new(&mut memory),
    )
    .ok()?;
    Some(Order { state, position })
}

/// For each step, the later states that the leaving one is tied to, ascending.
struct Structure {
    offsets: Vec<usize>,
    indices: Vec<u32>,
}

impl Structure {
    fn range(&self, k: usize) -> std::ops::Range<usize> {
        self.offsets[k]..self.offsets[k + 1]
    }

    /// What step $k$ ties together: its own later neighbours, and those of its children in
    /// the elimination tree.
    fn of(rows: &Rows, columns: &Rows, order: &Order, limit: FillLimit) -> Option<Self> {
        const NONE: u32 = u32::MAX;
        let n = rows.n();
        let mut offsets = Vec::with_capacity(n + 1);
        offsets.push(0usize);
        let mut indices: Vec<u32> = Vec::with_capacity(2 * rows.nnz());
        let mut mark = vec![NONE; n];
        let (mut child, mut sibling) = (vec![NONE; n], vec![NONE; n]);
        let mut operations = 0.0;
        for k in 0..n {
            let first = indices.len();
            mark[k] = k as u32;
            let state = order.state[k] as usize;
            for (other, _) in rows.row(state).chain(columns.row(state)) {
                let i = order.position[other];
                if i as usize > k && mark[i as usize] != k as u32 {
                    mark[i as usize] = k as u32;
                    indices.push(i);
                }
            }
            let mut c = child[k];
            while c != NONE {
                for p in offsets[c as usize]..offsets[c as usize + 1] {
                    let i = indices[p];
                    if mark[i as usize] != k as u32 {
                        mark[i as usize] = k as u32;
                        indices.push(i);
                    }
                }
                c = sibling[c as usize];
            }
            indices[first..].sort_unstable();
            let length = (indices.len() - first) as f64;
            operations += length * length;
            if indices.len() > limit.entries || operations > limit.operations {
                return None;
            }
            if let Some(&parent) = indices.get(first) {
                sibling[k] = child[parent as usize];
                child[parent as usize] = k as u32;
            }
            offsets.push(indices.len());
        }
        Some(Structure { offsets, indices })
    }
}

/// Left-looking elimination. Entry `[u, l]` of step $k$ at later state $i$ holds
/// $u = M_{ki}$ and $l = M_{ik} / s_k$ of the chain without the states before $k$.
fn eliminate<T: Number>(
    rows: &Rows,
    columns: &Rows,
    order: &Order,
    structure: &Structure,
) -> (Vec<[T; 2]>, Vec<T>) {
    const NONE: u32 = u32::MAX;
    let n = rows.n();
    let mut factors = vec![[T::default(); 2]; structure.indices.len()];
    let mut scale = vec![T::default(); n];
    let mut work = vec![[T::default(); 2]; n];
    // steps whose next tied state is k, as linked lists
    let (mut head, mut link) = (vec![NONE; n], vec![NONE; n]);
    let mut at = structure.offsets.clone();
    for k in 0..n {
        let state = order.state[k] as usize;
        for (other, value) in rows.row(state) {
            let entry = &mut work[order.position[other] as usize][0];
            *entry = *entry + T::from(value);
        }
        for (other, value) in columns.row(state) {
            let entry = &mut work[order.position[other] as usize][1];
            *entry = *entry + T::from(value);
        }
        let mut j = head[k];
        while j != NONE {
            let step = j as usize;
            j = link[step];
            let end = structure.offsets[step + 1];
            let here = at[step];
            let [u, l] = factors[here];
            for (&i, f) in structure.indices[here + 1..end]
                .iter()
                .zip(&factors[here + 1..end])
            {
                let w = &mut work[i as usize];
                w[0] = w[0] + l * f[0];
                w[1] = w[1] + u * f[1];
            }
            at[step] = here + 1;
            if here + 1 < end {
                let next = structure.indices[here + 1] as usize;
                link[step] = head[next];
                head[next] = step as u32;
            }
        }
        let range = structure.range(k);
        let mut sum = T::default();
        for (&i, f) in structure.indices[range.clone()]
            .iter()
            .zip(&mut factors[range.clone()])
        {
            *f = std::mem::take(&mut work[i as usize]);
            sum = sum + f[0];
        }
        scale[k] = sum;
        for f in &mut factors[range.clone()] {
            f[1] = f[1] / sum;
        }
        // the diagonal and what pointed back were scattered too
        work[k] = [T::default(); 2];
        for (other, _) in rows.row(state).chain(columns.row(state)) {
            work[order.position[other] as usize] = [T::default(); 2];
        }
        if let Some(&next) = structure.indices.get(range.start)
            && !range.is_empty()
        {
            link[k] = head[next as usize];
            head[next as usize] = k as u32;
        }
    }
    (factors, scale)
}

/// Whether the graph can have small separators: breadth-first search from a far state sees
/// many levels. In an expander everything lies within a few steps and elimination fills in
/// completely. Busy states (hubs) are ignored, since eliminating them last costs little.
fn has_separators(rows: &Rows) -> bool {
    let n = rows.n();
    let mut degree: Vec<u32> = (0..n)
        .map(|i| (rows.offsets[i + 1] - rows.offsets[i]) as u32)
        .collect();
    for &j in &rows.indices {
        degree[j as usize] += 1;
    }
    let busy = (16 * 2 * rows.nnz() / n) as u32;
    let columns = rows.transpose();
    let Some(start) = (0..n).find(|&i| degree[i] <= busy) else {
        return true;
    };
    let search = |start: usize| -> (usize, usize, usize) {
        let mut level = vec![0u32; n];
        let mut queue = vec![start as u32];
        level[start] = 1;
        let (mut position, mut last) = (0, start);
        while position < queue.len() {
            last = queue[position] as usize;
            position += 1;
            for (v, _) in rows.row(last).chain(columns.row(last)) {
                if level[v] == 0 && degree[v] <= busy {
                    level[v] = level[last] + 1;
                    queue.push(v as u32);
                }
            }
        }
        (last, level[last] as usize, queue.len())
    };
    let (far, _, reached) = search(start);
    // hubs alone hold the graph together
    reached < n / 2 || search(far).1 as f64 > 3.0 * (n as f64).log2()
}

#[cfg(test)]
#[path = "sparse_gth_tests.rs"]
mod tests;
