//! Many runs in a few numbers.

use serde::{Deserialize, Serialize};

/// Mean over runs with its 95 % interval, and the interquartile mean.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Arithmetic mean.
    pub mean: Option<f64>,
    /// Lower end of the 95 % interval of the mean (Student's t).
    pub low: Option<f64>,
    /// Upper end.
    pub high: Option<f64>,
    /// Mean of the runs between the quartiles: robust against single runs that failed.
    pub interquartile_mean: Option<f64>,
}

impl Estimate {
    /// From one value per run; NaN (not computed) is left out. With one run the interval is
    /// the value itself.
    pub fn of(values: &[f64]) -> Self {
        let mut sorted: Vec<f64> = values.iter().copied().filter(|v| v.is_finite()).collect();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        if n == 0 {
            return Estimate {
                mean: None,
                low: None,
                high: None,
                interquartile_mean: None,
            };
        }
        // equal values have a mean without rounding and no spread
        let mean = if sorted[0] == sorted[n - 1] {
            sorted[0]
        } else {
            average(&sorted)
        };
        let half = if n > 1 {
            let squares: f64 = sorted.iter().map(|v| (v - mean) * (v - mean)).sum();
            let deviation = (squares / (n - 1) as f64).sqrt();
            student_quantile(n - 1) * deviation / (n as f64).sqrt()
        } else {
            0.0
        };
        let cut = n / 4;
        Estimate {
            mean: Some(mean),
            low: Some(mean - half),
            high: Some(mean + half),
            interquartile_mean: Some(
                average(&sorted[cut..n - cut]).clamp(sorted[0], sorted[n - 1]),
            ),
        }
    }
}

fn average(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

/// The $t$ with $P(|X| \le t) = 0.95$ for Student's distribution, by bisection on its
/// closed form for whole degrees of freedom.
///
/// Reference: Abramowitz and Stegun (1964), 26.7.3 and 26.7.4.
pub fn student_quantile(degrees: usize) -> f64 {
    // beyond this the series is long and the normal distribution is near: the first term of
    // its expansion in 1 / degrees is exact to 1e-7 there
    if degrees > 2000 {
        let z: f64 = 1.959_963_984_540_054;
        return z + (z.powi(3) + z) / (4.0 * degrees as f64);
    }
    let (mut low, mut high) = (0.0f64, 16.0f64);
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if within(middle, degrees) < 0.95 {
            low = middle;
        } else {
            high = middle;
        }
    }
    0.5 * (low + high)
}

/// $P(|X| \le t)$.
fn within(t: f64, degrees: usize) -> f64 {
    let angle = (t / (degrees as f64).sqrt()).atan();
    let (sine, cosine) = angle.sin_cos();
    let mut sum = 0.0;
    if degrees % 2 == 1 {
        let mut term = cosine;
        for k in 1..=degrees / 2 {
            sum += term;
            term *= cosine * cosine * (2 * k) as f64 / (2 * k + 1) as f64;
        }
        2.0 / std::f64::consts::PI * (angle + sine * sum)
    } else {
        let mut term = 1.0;
        for k in 1..=degrees / 2 {
            sum += term;
            term *= cosine * cosine * (2 * k - 1) as f64 / (2 * k) as f64;
        }
        sine * sum
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_match_the_tables() {
        for (degrees, expected) in [
            (1, 12.7062),
            (2, 4.3027),
            (3, 3.1824),
            (4, 2.7764),
            (9, 2.2622),
            (19, 2.0930),
            (99, 1.9842),
            (1999, 1.9612),
            (1_000_000, 1.9600),
        ] {
            let found = student_quantile(degrees);
            assert!((found - expected).abs() < 6e-5, "{degrees}: {found}");
        }
        // the two branches meet
        assert!((student_quantile(2000) - student_quantile(2001)).abs() < 2e-6);
    }

    #[test]
    fn estimates_of_known_samples() {
        let estimate = Estimate::of(&[1.0, 2.0, 3.0, 4.0, f64::NAN, 100.0]);
        assert_eq!(estimate.mean, Some(22.0));
        // five values: one is cut at each end
        assert_eq!(estimate.interquartile_mean, Some(3.0));
        let equal = Estimate::of(&[0.1; 7]);
        assert_eq!((equal.low, equal.high), (Some(0.1), Some(0.1)));
        let single = Estimate::of(&[0.5]);
        assert_eq!((single.low, single.high), (Some(0.5), Some(0.5)));
        assert_eq!(Estimate::of(&[f64::NAN]).mean, None);
        let pair = Estimate::of(&[0.0, 2.0]);
        // deviation sqrt(2), half width 12.706 * sqrt(2) / sqrt(2)
        assert!((pair.high.unwrap() - 13.7062).abs() < 1e-4);
    }
}
