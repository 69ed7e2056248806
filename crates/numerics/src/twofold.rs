//! Sums and products to twice the digits of a number.
//!
//! A number is kept as the unevaluated sum of two, the second one less than half a unit in the last
//! place of the first (Dekker 1971, *A floating-point technique for extending the available
//! precision*, Numer. Math. 18). Differences of long sums keep their digits that way, where plain
//! ones would cancel.

/// The unevaluated sum of two numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Twofold {
    high: f64,
    low: f64,
}

/// $2^{27} + 1$: splits a number into two halves of 26 digits.
const SPLITTER: f64 = 134_217_729.0;

/// The sum of two numbers and its rounding error.
fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let of_b = sum - a;
    (sum, (a - (sum - of_b)) + (b - of_b))
}

/// The upper and the lower half of a number's digits.
fn split(a: f64) -> (f64, f64) {
    let c = SPLITTER * a;
    let high = c - (c - a);
    (high, a - high)
}

impl Twofold {
    /// $a b$, exactly.
    pub fn product(a: f64, b: f64) -> Self {
        let high = a * b;
        let ((a1, a2), (b1, b2)) = (split(a), split(b));
        let low = ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2;
        Twofold { high, low }
    }

    /// The sum of both.
    pub fn plus(self, other: Twofold) -> Self {
        let (sum, error) = two_sum(self.high, other.high);
        let low = error + (self.low + other.low);
        let high = sum + low;
        Twofold {
            high,
            low: low - (high - sum),
        }
    }

    /// The sum with a number.
    pub fn plus_number(self, x: f64) -> Self {
        self.plus(Twofold { high: x, low: 0.0 })
    }

    /// The difference of both.
    pub fn minus(self, other: Twofold) -> Self {
        self.plus(Twofold {
            high: -other.high,
            low: -other.low,
        })
    }

    /// The product with a number.
    pub fn times(self, x: f64) -> Self {
        let exact = Twofold::product(self.high, x);
        exact.plus_number(self.low * x)
    }

    /// Rounded to one number.
    pub fn value(self) -> f64 {
        self.high + self.low
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Integers of up to 100 bits are an oracle: all operations are exact as long as what is left
    /// has no more digits than two numbers hold.
    #[test]
    fn agrees_with_integers() {
        let number = |i: i64| (i * 7_919 + 13) % 1_000_003 * 4_096 + i * 977;
        for i in 0..200 {
            let (a, b, c) = (number(i), number(i + 7), number(3 * i + 1));
            let exact = i128::from(a) * i128::from(b) - i128::from(c) * i128::from(a - 1);
            let products = Twofold::product(a as f64, b as f64)
                .minus(Twofold::product(c as f64, (a - 1) as f64));
            assert_eq!(products.high as i128 + products.low as i128, exact, "{i}");
            let scaled = products.times(12_345.0).plus_number(-17.0);
            let exact = exact * 12_345 - 17;
            assert_eq!(scaled.high as i128 + scaled.low as i128, exact, "{i}");
        }
    }

    /// One and $10^{-17}$ a thousand times, less one.
    #[test]
    fn small_numbers_are_not_lost_beside_large_ones() {
        let mut sum = Twofold::default().plus_number(1.0);
        for _ in 0..1_000 {
            sum = sum.plus_number(1e-17);
        }
        let left = sum.plus_number(-1.0).value();
        assert!((left - 1e-14).abs() < 1e-28, "{left}");
    }
}
