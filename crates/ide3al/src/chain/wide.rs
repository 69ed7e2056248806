//! Numbers whose exponent has no end, for chains in which products of probabilities underflow.
//!
//! Elimination multiplies along paths. Where a way out of a group of states is a product of
//! several probabilities of 1e-300, doubles know nothing of it, although the weights that follow
//! from it are ordinary numbers: of two such groups, each left by `1e-600`, both have half of
//! the time. The same operations in these numbers have the same relative accuracy as in doubles
//! without a range, at several times the price, so they are used only where doubles have failed.

use std::ops::{Add, Div, Mul};

/// Where every way out of a state, among those not yet eliminated, is fainter than this, doubles
/// are not trusted: what has underflowed (1e-308) might have mattered. Above it, it weighs less
/// than 1e-200 of the rest, and no quotient exceeds 1e100.
pub(super) const FAINT: f64 = 1e-100;

/// What elimination computes with.
pub(super) trait Number:
    Copy + Default + From<f64> + Add<Output = Self> + Mul<Output = Self> + Div<Output = Self>
{
}

impl Number for f64 {}
impl Number for Wide {}

/// $m \cdot 2^{512 e}$ with $m = 0$ or $2^{-256} \le m < 2^{256}$; never negative. Scaling is by
/// powers of two, so only the operations on $m$ round.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Wide {
    mantissa: f64,
    exponent: i64,
}

/// $2^{512}$ and $2^{256}$.
const STEP: f64 = f64::from_bits((1023 + 512) << 52);
const HALF: f64 = f64::from_bits((1023 + 256) << 52);

impl Wide {
    const ONE: Wide = Wide {
        mantissa: 1.0,
        exponent: 0,
    };

    fn new(mantissa: f64, exponent: i64) -> Self {
        if mantissa == 0.0 {
            Wide::default()
        } else if !mantissa.is_finite() {
            // only where the caller's chain is not irreducible
            Wide { mantissa, exponent }
        } else if mantissa >= HALF {
            Wide::new(mantissa / STEP, exponent + 1)
        } else if mantissa < 1.0 / HALF {
            Wide::new(mantissa * STEP, exponent - 1)
        } else {
            Wide { mantissa, exponent }
        }
    }

    fn is_zero(self) -> bool {
        self.mantissa == 0.0
    }

    fn less_than(self, other: Self) -> bool {
        if self.is_zero() || other.is_zero() {
            self.mantissa < other.mantissa
        } else {
            (self.exponent, self.mantissa) < (other.exponent, other.mantissa)
        }
    }
}

impl From<f64> for Wide {
    fn from(value: f64) -> Self {
        Wide::new(value, 0)
    }
}

impl Add for Wide {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        if self.is_zero() {
            return other;
        }
        if other.is_zero() {
            return self;
        }
        let (large, small) = if self.exponent >= other.exponent {
            (self, other)
        } else {
            (other, self)
        };
        match large.exponent - small.exponent {
            0 => Wide::new(large.mantissa + small.mantissa, large.exponent),
            1 => Wide::new(large.mantissa + small.mantissa / STEP, large.exponent),
            // at most 2^-512 of the larger one
            _ => large,
        }
    }
}

impl Mul for Wide {
    type Output = Self;

    fn mul(self, other: Self) -> Self {
        Wide::new(
            self.mantissa * other.mantissa,
            self.exponent + other.exponent,
        )
    }
}

impl Div for Wide {
    type Output = Self;

    fn div(self, other: Self) -> Self {
        Wide::new(
            self.mantissa / other.mantissa,
            self.exponent - other.exponent,
        )
    }
}

/// Weights as shares of their sum. What is below every double next to the largest is zero.
pub(super) fn shares(weights: &[Wide]) -> Vec<f64> {
    let most = weights
        .iter()
        .fold(Wide::default(), |m, w| if m.less_than(*w) { *w } else { m });
    let mut shares: Vec<f64> = weights
        .iter()
        .map(|w| {
            let share = *w / most;
            match share.exponent {
                _ if w.is_zero() => 0.0,
                0 => share.mantissa,
                -1 => share.mantissa / STEP,
                // at most 2^-768, and a double ends at 2^-1074
                -2 => share.mantissa / STEP / STEP,
                _ => 0.0,
            }
        })
        .collect();
    super::gth::normalise(&mut shares);
    shares
}

/// Stationary distribution of an irreducible dense chain, one state after the other
/// (Grassmann, Taksar and Heyman 1985). Diagonal entries are not read.
pub(super) fn stationary_dense(n: usize, matrix: &[f64]) -> Vec<f64> {
    let mut m: Vec<Wide> = matrix.iter().map(|p| Wide::from(*p)).collect();
    for k in (1..n).rev() {
        let (upper, lower) = m.split_at_mut(k * n);
        let pivot = &lower[..k];
        let scale = pivot.iter().fold(Wide::default(), |sum, p| sum + *p);
        for row in upper.chunks_exact_mut(n) {
            row[k] = row[k] / scale;
            let factor = row[k];
            if !factor.is_zero() {
                for (entry, p) in row[..k].iter_mut().zip(pivot) {
                    *entry = *entry + factor * *p;
                }
            }
        }
    }
    let mut weights = vec![Wide::default(); n];
    weights[0] = Wide::ONE;
    for k in 1..n {
        weights[k] = (0..k).fold(Wide::default(), |sum, i| sum + weights[i] * m[i * n + k]);
    }
    shares(&weights)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::needless_range_loop)]
mod tests {
    use super::*;
    use rand::{RngExt, SeedableRng};

    #[test]
    fn the_arithmetic_is_that_of_doubles_where_both_reach() {
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(1);
        for _ in 0..10_000 {
            let mut draw = || 2f64.powf(500.0 * (rng.random::<f64>() - 0.5));
            let (a, b, c) = (draw(), draw(), draw());
            let wide = |x: f64| Wide::from(x);
            assert_eq!(wide(a) + wide(b), wide(a + b));
            assert_eq!(wide(a) * wide(b), wide(a * b));
            assert_eq!(wide(a) / wide(b), wide(a / b));
            assert_eq!(wide(a).less_than(wide(b)), a < b);
            // far beyond doubles and back
            let mut power = wide(a);
            for _ in 0..20 {
                power = power * wide(b);
            }
            for _ in 0..20 {
                power = power / wide(b);
            }
            let back = power.mantissa * STEP.powi(power.exponent as i32);
            assert!((back / a - 1.0).abs() < 1e-14);
            assert_eq!(wide(c) + Wide::default(), wide(c));
        }
    }

    #[test]
    fn ends_of_the_range_are_kept() {
        for x in [f64::MIN_POSITIVE, 5e-324, f64::MAX, 1.0, 0.0] {
            let wide = Wide::from(x);
            assert!(wide.is_zero() == (x == 0.0));
            let share = wide * Wide::from(3.0) / Wide::from(3.0);
            assert_eq!(share, wide, "{x}");
        }
        assert!(Wide::from(5e-324).less_than(Wide::from(1e-323)));
        assert!(Wide::default().less_than(Wide::from(5e-324)));
        let list = [1e-300, 1.0, 1e-320].map(Wide::from);
        let found = shares(&list);
        assert!((found[0] / 1e-300 - 1.0).abs() < 1e-15, "{found:?}");
        assert!((found[2] / 1e-320 - 1.0).abs() < 1e-3, "{found:?}");
    }
}
