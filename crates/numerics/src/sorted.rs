//! Numbers in ascending order with prefix sums: sums over all those between two bounds without
//! visiting them.

/// The `k`-th smallest number is `values[k]`, and it is number `order[k]` of those that were
/// sorted.
#[derive(Debug, Clone)]
pub struct Sorted {
    /// Positions of the numbers, from the least to the greatest.
    pub order: Vec<u32>,
    /// The numbers in that order.
    pub values: Vec<f64>,
    /// Sums of the first `k` values.
    pub prefix: Vec<f64>,
}

impl Sorted {
    /// Room for `n` numbers.
    pub fn new(n: usize) -> Self {
        Sorted {
            order: (0..n as u32).collect(),
            values: vec![0.0; n],
            prefix: vec![0.0; n + 1],
        }
    }

    /// Sorts `numbers`, from the order of last time: that makes it nearly linear where they have
    /// moved a little.
    pub fn sort(&mut self, numbers: &[f64]) {
        self.order
            .sort_by(|&i, &j| numbers[i as usize].total_cmp(&numbers[j as usize]));
        for (k, &i) in self.order.iter().enumerate() {
            let x = numbers[i as usize];
            self.values[k] = x;
            self.prefix[k + 1] = self.prefix[k] + x;
        }
    }

    /// For each number `y` of `other` the positions here of all `x` with `0 < x + y < most`. The
    /// `y` are visited in ascending order, so that both ends of the range only move down.
    pub fn between(&self, other: &Sorted, most: f64, ranges: &mut [(u32, u32)]) {
        let (mut low, mut high) = (self.values.len(), self.values.len());
        for (&i, y) in other.order.iter().zip(&other.values) {
            while low > 0 && self.values[low - 1] + y > 0.0 {
                low -= 1;
            }
            while high > 0 && self.values[high - 1] + y >= most {
                high -= 1;
            }
            ranges[i as usize] = (low as u32, high.max(low) as u32);
        }
    }

    /// Prefix sums of other numbers, taken in this order.
    pub fn accumulate(&self, numbers: &[f64], prefix: &mut [f64]) {
        prefix[0] = 0.0;
        for (k, &i) in self.order.iter().enumerate() {
            prefix[k + 1] = prefix[k] + numbers[i as usize];
        }
    }
}

/// The sum of what lies in a range of positions, from prefix sums.
pub fn within(prefix: &[f64], (low, high): (u32, u32)) -> f64 {
    prefix[high as usize] - prefix[low as usize]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_hold_exactly_what_lies_between() {
        let number = |i: usize| (i as f64 * 0.618_033_988_75).fract();
        let rows: Vec<f64> = (0..40).map(|i| 2.0 * number(i) - 1.0).collect();
        let columns: Vec<f64> = (0..40).map(|i| number(7 * i + 3) - 0.5).collect();
        let (mut here, mut other) = (Sorted::new(40), Sorted::new(40));
        here.sort(&columns);
        other.sort(&rows);
        let mut ranges = vec![(0, 0); 40];
        here.between(&other, 0.3, &mut ranges);
        for (y, range) in rows.iter().zip(ranges) {
            let expected: f64 = columns
                .iter()
                .filter(|x| **x + y > 0.0 && **x + y < 0.3)
                .sum();
            assert!((within(&here.prefix, range) - expected).abs() < 1e-13);
        }
    }
}
