//! Places of a list grouped by what stands there: the columns of a matrix that is stored by rows.

/// The places `k` of a list of numbers below `n` at which number `t` stands, ascending, for every `t`.
#[derive(Debug, Clone)]
pub(crate) struct Groups {
    starts: Vec<usize>,
    places: Vec<u32>,
}

impl Groups {
    pub(crate) fn new(n: usize, list: &[u32]) -> Self {
        let mut starts = vec![0usize; n + 1];
        for t in list {
            starts[*t as usize + 1] += 1;
        }
        for t in 0..n {
            starts[t + 1] += starts[t];
        }
        let mut next = starts.clone();
        let mut places = vec![0u32; list.len()];
        for (k, t) in list.iter().enumerate() {
            places[next[*t as usize]] = k as u32;
            next[*t as usize] += 1;
        }
        Groups { starts, places }
    }

    /// The places of number `t`.
    pub(crate) fn of(&self, t: usize) -> &[u32] {
        &self.places[self.starts[t]..self.starts[t + 1]]
    }
}
