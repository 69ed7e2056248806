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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::Numbers;

    /// Against looking for each number in the whole list.
    #[test]
    fn places_are_those_that_a_search_finds() {
        let mut numbers = Numbers(31);
        for _ in 0..20 {
            let n = 1 + numbers.below(7);
            let list: Vec<u32> = (0..numbers.below(30))
                .map(|_| numbers.below(n) as u32)
                .collect();
            let groups = Groups::new(n, &list);
            let names: Vec<usize> = (100..100 + list.len()).collect();
            let mut sorted = Vec::new();
            groups.sort(&names, &mut sorted);
            let mut all = Vec::new();
            for t in 0..n {
                let places: Vec<u32> = (0..list.len() as u32)
                    .filter(|k| list[*k as usize] == t as u32)
                    .collect();
                assert_eq!(groups.of(t), places);
                assert_eq!(groups.range(t), all.len()..all.len() + places.len());
                all.extend(places.iter().map(|k| 100 + *k as usize));
            }
            assert_eq!(sorted, all);
        }
    }

    /// A matrix of three rows, one of them empty, and its transpose.
    #[test]
    fn transposes_a_matrix() {
        let (offsets, indices, values) = ([0, 2, 2, 5], [1, 3, 0, 1, 3], [1.0, 2.0, 3.0, 4.0, 5.0]);
        assert_eq!(owners(&offsets), [0, 0, 2, 2, 2]);
        let (starts, rows, moved) = transposed(4, (&offsets, &indices, &values));
        assert_eq!(starts, [0, 1, 3, 3, 5]);
        assert_eq!(rows, [2, 0, 2, 0, 2]);
        assert_eq!(moved, [3.0, 1.0, 4.0, 2.0, 5.0]);
    }
}
