//! Assembling a model row by row, with every entry checked.

use super::{Kernel, Mdp};
use crate::error::{Error, Result};

/// Row sums this close to one are accepted as rounding and renormalised.
pub const ROW_SUM_TOLERANCE: f64 = 1e-9;

/// Rescales `values` to sum to `target`, or returns the sum if it is off by more than
/// [`ROW_SUM_TOLERANCE`].
///
/// Idempotent, so that a model stays the same, bit for bit, through any number of
/// conversions: a compensated sum within four units of rounding is left alone, and dividing
/// by a compensated sum always lands within that, however long the row.
pub(crate) fn normalise(values: &mut [f64], target: f64) -> std::result::Result<(), f64> {
    let sum = compensated_sum(values);
    // an overflow makes the sum infinite or NaN
    if !sum.is_finite() || (sum - target).abs() > ROW_SUM_TOLERANCE {
        return Err(sum);
    }
    if (sum - target).abs() > 4.0 * f64::EPSILON && sum > 0.0 {
        let factor = target / sum;
        for p in values {
            *p *= factor;
        }
    }
    Ok(())
}

/// Neumaier's sum: the error is a unit of rounding or two, whatever the length.
fn compensated_sum(values: &[f64]) -> f64 {
    let (mut sum, mut lost) = (0.0f64, 0.0f64);
    for &value in values {
        let total = sum + value;
        lost += if sum >= value.abs() {
            (sum - total) + value
        } else {
            (value - total) + sum
        };
        sum = total;
    }
    // an infinite total would make the correction NaN
    if sum.is_finite() { sum + lost } else { sum }
}

pub(super) fn check_sizes(n_states: usize, n_actions: usize) -> Result<()> {
    if n_states == 0 || n_actions == 0 {
        return Err(Error::Empty);
    }
    for (what, size) in [("states", n_states), ("actions", n_actions)] {
        if size >= u32::MAX as usize {
            return Err(Error::Parameter {
                name: what.into(),
                value: size.to_string(),
                problem: format!("at most {} are supported", u32::MAX - 1),
            });
        }
    }
    Ok(())
}

pub(super) fn check_index(
    what: &'static str,
    index: usize,
    limit: usize,
    place: impl FnOnce() -> String,
) -> Result<()> {
    if index < limit {
        return Ok(());
    }
    Err(Error::OutOfRange {
        what,
        index,
        limit,
        place: place(),
    })
}

pub(super) fn check_probability(
    state: usize,
    action: usize,
    next: usize,
    value: f64,
) -> Result<()> {
    if value.is_finite() && value >= 0.0 {
        return Ok(());
    }
    Err(Error::BadProbability {
        state,
        action,
        next,
        value,
    })
}

/// In rows shorter than this there is nothing to be gained by a uniform share.
const WORTH_A_SHARE: usize = 32;

/// Appends rows state by state, merging duplicates, dropping zeros and renormalising.
pub(super) struct Builder {
    n_states: usize,
    first_pair: Vec<usize>,
    actions: Vec<u32>,
    offsets: Vec<usize>,
    indices: Vec<u32>,
    values: Vec<f64>,
    spread: Vec<f64>,
}

impl Builder {
    pub(super) fn new(n_states: usize, entries: usize) -> Self {
        Builder {
            n_states,
            first_pair: vec![0],
            actions: Vec::new(),
            offsets: vec![0],
            indices: Vec::with_capacity(entries),
            values: Vec::with_capacity(entries),
            spread: Vec::new(),
        }
    }

    /// `row` has ascending next states; states must come in ascending order.
    pub(super) fn push_row(
        &mut self,
        state: usize,
        action: u32,
        row: impl Iterator<Item = (u32, f64)>,
        spread: f64,
    ) -> Result<()> {
        while self.first_pair.len() <= state {
            self.first_pair.push(self.actions.len());
        }
        let first = self.indices.len();
        for (t, p) in row {
            if p == 0.0 {
                continue;
            }
            if self.indices.len() > first && self.indices.last() == Some(&t) {
                let last = self.values.len() - 1;
                self.values[last] += p;
            } else {
                self.indices.push(t);
                self.values.push(p);
            }
        }
        // NaN lies in no range
        if !(0.0..=1.0).contains(&spread) {
            return Err(Error::Parameter {
                name: format!("uniform share of state {state}, action {action}"),
                value: spread.to_string(),
                problem: "it must lie in [0, 1]; correct that entry".into(),
            });
        }
        if let Err(sum) = normalise(&mut self.values[first..], 1.0 - spread) {
            return Err(Error::NotStochastic {
                state,
                action: action as usize,
                sum: sum + spread,
            });
        }
        let spread = if spread == 0.0 {
            self.common_share(first)
        } else {
            spread
        };
        if spread > 0.0 {
            // rows before this one had no uniform share
            self.spread.resize(self.actions.len(), 0.0);
            self.spread.push(spread);
        }
        self.offsets.push(self.indices.len());
        self.actions.push(action);
        Ok(())
    }

    /// Takes what every state has in common out of a row that reaches all, where most have nothing
    /// else: pairs never tried that somebody wrote out as uniform, counts smoothed by a constant.
    /// What is left is as sparse as what is known of the pair.
    fn common_share(&mut self, first: usize) -> f64 {
        let row = &mut self.values[first..];
        let n = row.len();
        if n < self.n_states || n < WORTH_A_SHARE {
            return 0.0;
        }
        let least = row.iter().copied().fold(f64::INFINITY, f64::min);
        if 2 * row.iter().filter(|p| **p == least).count() < n {
            return 0.0;
        }
        let mut kept = first;
        for at in first..first + n {
            let more = self.values[at] - least;
            if more > 0.0 {
                (self.indices[kept], self.values[kept]) = (self.indices[at], more);
                kept += 1;
            }
        }
        self.indices.truncate(kept);
        self.values.truncate(kept);
        (least * n as f64).min(1.0)
    }

    pub(super) fn finish(mut self) -> Result<Mdp> {
        while self.first_pair.len() <= self.n_states {
            self.first_pair.push(self.actions.len());
        }
        if let Some(state) = self.first_pair.windows(2).position(|w| w[0] == w[1]) {
            return Err(Error::NoAction { state });
        }
        let n = self.n_states;
        if !self.spread.is_empty() {
            self.spread.resize(self.actions.len(), 0.0);
        }
        let kernel = Kernel::from_raw(n, self.offsets, self.indices, self.values, self.spread);
        Ok(Mdp::from_parts(
            self.first_pair,
            self.actions,
            kernel,
            vec![1.0 / n as f64; n],
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn normalising_twice_changes_nothing_even_in_long_rows() {
        for n in [1usize, 3, 7, 1000, 100_003] {
            let mut row: Vec<f64> = (0..n).map(|k| ((k * 7919) % 104_729 + 1) as f64).collect();
            let sum: f64 = row.iter().sum();
            row.iter_mut().for_each(|p| *p /= sum * (1.0 + 1e-10));
            normalise(&mut row, 1.0).unwrap();
            let once = row.clone();
            normalise(&mut row, 1.0).unwrap();
            assert_eq!(once, row);
        }
    }

    #[test]
    fn what_all_states_have_in_common_becomes_a_share() {
        let n = 40;
        let counts = |k: usize| if k % 8 == 3 { 2.0 } else { 0.0 };
        let smoothed: Vec<f64> = (0..n).map(|k| (counts(k) + 0.1) / 14.0).collect();
        let even = vec![1.0 / n as f64; n];
        let rising: Vec<f64> = (0..n).map(|k| (k + 1) as f64 / 820.0).collect();
        let rows = [smoothed, even, rising];
        let mut builder = Builder::new(n, 0);
        for s in 0..n {
            let row = rows[s % 3].iter().enumerate();
            let row = row.map(|(t, p)| (t as u32, *p));
            builder.push_row(s, 0, row, 0.0).unwrap();
        }
        let mdp = builder.finish().unwrap();
        let entries: Vec<usize> = (0..3).map(|s| mdp.row(s).entries().count()).collect();
        assert_eq!(entries, [5, 0, n]);
        for (s, expected) in rows.iter().enumerate() {
            let row = mdp.row(s);
            let mut dense = vec![row.spread / n as f64; n];
            row.entries().for_each(|(t, p)| dense[t] += p);
            for (x, y) in dense.iter().zip(expected) {
                assert!((x - y).abs() < 1e-15, "{x} {y}");
            }
        }
    }

    #[test]
    fn uniform_shares_count_towards_the_row() {
        let build = |value: f64, share: f64| {
            Mdp::from_rows_and_spread(
                2,
                &[0, 1, 2],
                &[0, 0],
                &[0, 1, 2],
                &[0, 1],
                &[1.0, value],
                &[0.0, share],
            )
        };
        assert_eq!(build(0.75, 0.25).unwrap().row(1).spread, 0.25);
        assert!(
            build(0.75, 0.5)
                .unwrap_err()
                .to_string()
                .contains("state 1")
        );
        assert!(build(0.75, -0.25).is_err() && build(1.0, f64::NAN).is_err());
    }
}
