//! Places of a list grouped by what stands there: the columns of a matrix that is stored by rows.

use std::ops::Range;

/// The row that each entry of a matrix belongs to, whose rows begin at `offsets` (one more entry
/// than rows).
pub fn owners(offsets: &[usize]) -> Vec<u32> {
    let rows = (0u32..).zip(offsets.windows(2));
    let repeated = rows.flat_map(|(s, w)| std::iter::repeat_n(s, w[1] - w[0]));
    repeated.collect()
}

/// Offsets, indices and values of the transpose of a matrix with so many columns that is stored by
/// rows.
pub fn transposed(
    columns: usize,
    (offsets, indices, values): (&[usize], &[u32], &[f64]),
) -> (Vec<usize>, Vec<u32>, Vec<f64>) {
    let starts = starts(columns, indices);
    let mut next = starts.clone();
    let (mut rows, mut moved) = (vec![0u32; indices.len()], vec![0.0; indices.len()]);
    for (s, w) in offsets.windows(2).enumerate() {
        for k in w[0]..w[1] {
            let place = &mut next[indices[k] as usize];
            (rows[*place], moved[*place]) = (s as u32, values[k]);
            *place += 1;
        }
    }
    (starts, rows, moved)
}

/// Where the places of each number below `n` begin if a list is sorted by what stands there (one
/// more entry than numbers).
fn starts(n: usize, list: &[u32]) -> Vec<usize> {
    let mut starts = vec![0usize; n + 1];
    for t in list {
        starts[*t as usize + 1] += 1;
    }
    for t in 0..n {
        starts[t + 1] += starts[t];
    }
    starts
}

/// The places `k` of a list of numbers below `n` at which number `t` stands, ascending, for every
/// `t`.
#[derive(Debug, Clone)]
pub struct Groups {
    starts: Vec<usize>,
    places: Vec<u32>,
}

impl Groups {
    /// Groups the positions of `list` by their value, which is below `n`.
    pub fn new(n: usize, list: &[u32]) -> Self {
        let starts = starts(n, list);
        let mut next = starts.clone();
        let mut places = vec![0u32; list.len()];
        for (k, t) in list.iter().enumerate() {
            places[next[*t as usize]] = k as u32;
            next[*t as usize] += 1;
        }
        Groups { starts, places }
    }

    /// The places of number `t`.
    pub fn of(&self, t: usize) -> &[u32] {
        &self.places[self.range(t)]
    }

    /// Where the places of number `t` lie if all are listed group by group,
    pub fn range(&self, t: usize) -> Range<usize> {
        self.starts[t]..self.starts[t + 1]
    }

    /// and what stands at them in another list, in that order.
    pub fn sort<T: Copy>(&self, list: &[T], out: &mut Vec<T>) {
        out.clear();
        out.extend(self.places.iter().map(|k| list[*k as usize]));
    }
}
