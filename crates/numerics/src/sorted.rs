//! Numbers in ascending order with prefix sums: sums over all those between two bounds without
//! visiting them.

use super::twofold::Twofold;

/// The `k`-th smallest number is `values[k]`, and it is number `order[k]` of those that were
/// sorted.
#[derive(Debug, Clone)]
pub struct Sorted {
    /// Positions of the numbers, from the least to the greatest.
    pub order: Vec<u32>,
    /// The numbers in that order.
    pub values: Vec<f64>,
    /// Sums of the first `k` values, to twice the digits: a difference of two of them may be less
    /// than either by many orders.
    prefix: Vec<Twofold>,
}

impl Sorted {
    /// Room for `n` numbers.
    pub fn new(n: usize) -> Self {
        Sorted {
            order: (0..n as u32).collect(),
            values: vec![0.0; n],
            prefix: vec![Twofold::default(); n + 1],
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
            self.prefix[k + 1] = self.prefix[k].plus_number(x);
        }
    }

    /// $\sum_x (x + c)$ over a range of positions, accurate to its own last digits.
    #[inline]
    pub fn sum_shifted(&self, c: f64, (low, high): (usize, usize)) -> f64 {
        let sum = self.prefix[high].minus(self.prefix[low]);
        sum.plus(Twofold::product(c, (high - low) as f64)).value()
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

    /// Prefix sums of the squares, for [`Self::squares_shifted`].
    pub fn squares(&self) -> Vec<Twofold> {
        let mut sums = vec![Twofold::default(); self.values.len() + 1];
        for (k, x) in self.values.iter().enumerate() {
            sums[k + 1] = sums[k].plus(Twofold::product(*x, *x));
        }
        sums
    }

    /// $\sum_x (x + c)^2$ over a range of positions, accurate to its own last digits.
    pub fn squares_shifted(&self, squares: &[Twofold], c: f64, (low, high): (usize, usize)) -> f64 {
        let sum = self.prefix[high].minus(self.prefix[low]);
        let constant = Twofold::product(c, c).times((high - low) as f64);
        let linear = sum.times(2.0 * c);
        let square = squares[high].minus(squares[low]);
        square.plus(linear).plus(constant).value()
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
            let range = (range.0 as usize, range.1 as usize);
            assert!((here.sum_shifted(0.0, range) - expected).abs() < 1e-13);
        }
    }

    /// What is left of large numbers that cancel is what adding the small differences gives.
    #[test]
    fn shifted_sums_keep_their_digits() {
        let step = |k: usize| 1e6 + 0.001 * (k as f64 * 0.618_033_988_75).fract() * k as f64;
        let numbers: Vec<f64> = (0..1_000).map(step).collect();
        let mut sorted = Sorted::new(numbers.len());
        sorted.sort(&numbers);
        let squares = sorted.squares();
        for range in [(0, 1_000), (100, 130), (700, 701), (5, 5)] {
            let c = -1e6 - 0.01;
            let inside = || sorted.values[range.0..range.1].iter().map(|x| x + c);
            let (sum, square): (f64, f64) = (inside().sum(), inside().map(|x| x * x).sum());
            let found = sorted.sum_shifted(c, range);
            assert!((found - sum).abs() <= 1e-14 * inside().map(f64::abs).sum::<f64>());
            let found = sorted.squares_shifted(&squares, c, range);
            assert!((found - square).abs() <= 1e-13 * square, "{found} {square}");
        }
    }
}
