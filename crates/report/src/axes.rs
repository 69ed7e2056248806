//! Axes: from data to a range, from a range to round ticks with short labels.

/// How values lie along an axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scale {
    /// Equal steps for equal differences.
    Linear,
    /// Equal steps for equal ratios; values that are not positive cannot be shown.
    Log,
}

/// One axis of a figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Axis {
    /// What is shown, with its unit.
    pub label: String,
    /// Linear or logarithmic.
    pub scale: Scale,
    /// Fixed limits; from the data where `None`.
    pub range: Option<(f64, f64)>,
}

impl Axis {
    /// A linear axis with limits from the data.
    pub fn linear(label: impl Into<String>) -> Self {
        Axis {
            label: label.into(),
            scale: Scale::Linear,
            range: None,
        }
    }

    /// A logarithmic axis with limits from the data.
    pub fn log(label: impl Into<String>) -> Self {
        Axis {
            scale: Scale::Log,
            ..Axis::linear(label)
        }
    }

    /// With fixed limits.
    #[must_use]
    pub fn with_range(mut self, low: f64, high: f64) -> Self {
        self.range = Some((low, high));
        self
    }

    /// Whether a value has a place on this axis.
    pub(crate) fn shows(&self, value: f64) -> bool {
        value.is_finite() && (self.scale == Scale::Linear || value > 0.0)
    }

    /// The limits to draw: the fixed ones where they make sense, else those of the data, widened
    /// to round numbers if `round`.
    pub(crate) fn limits(&self, values: impl Iterator<Item = f64>, round: bool) -> Limits {
        let fixed = self
            .range
            .filter(|&(low, high)| self.shows(low) && self.shows(high) && low < high);
        let (low, high) = fixed.unwrap_or_else(|| {
            let (low, high) = values
                .filter(|&v| self.shows(v))
                .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), v| {
                    (low.min(v), high.max(v))
                });
            widen(self.scale, low, high, round)
        });
        Limits {
            scale: self.scale,
            low,
            high,
        }
    }
}

/// Limits that hold the data; never empty, never without width.
fn widen(scale: Scale, low: f64, high: f64, round: bool) -> (f64, f64) {
    if low > high {
        return match scale {
            Scale::Linear => (0.0, 1.0),
            Scale::Log => (1.0, 10.0),
        };
    }
    match scale {
        Scale::Linear => {
            let size = low.abs().max(high.abs());
            let (mut low, mut high) = if high - low <= 1e-12 * size.max(f64::MIN_POSITIVE) {
                let half = if size > 0.0 { 0.1 * size } else { 0.5 };
                (low - half, high + half)
            } else {
                (low, high)
            };
            if round {
                // Zero belongs on the axis where it is near anyway.
                if low > 0.0 && low < 0.4 * high {
                    low = 0.0;
                }
                let step = nice_step(high - low, 10);
                low = (low / step + 1e-9).floor() * step;
                high = (high / step - 1e-9).ceil() * step;
            }
            (low, high)
        }
        Scale::Log => {
            let (low, high) = if high / low < 1.0 + 1e-9 {
                (low / 2.0, high * 2.0)
            } else {
                (low, high)
            };
            if round {
                (log_floor(low), -log_floor(-high))
            } else {
                (low, high)
            }
        }
    }
}

/// The next 1, 2 or 5 times a power of ten at or below a positive value; for a negative value,
/// minus the next at or above its modulus.
fn log_floor(value: f64) -> f64 {
    let size = value.abs();
    let decade = 10f64.powi(size.log10().floor() as i32);
    let steps = [1.0, 2.0, 5.0, 10.0];
    if value > 0.0 {
        steps
            .iter()
            .rev()
            .map(|m| m * decade)
            .find(|&v| v <= size * (1.0 + 1e-9))
            .unwrap_or(size)
    } else {
        -steps
            .iter()
            .map(|m| m * decade)
            .find(|&v| v >= size * (1.0 - 1e-9))
            .unwrap_or(size)
    }
}

/// The range an axis really shows.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Limits {
    pub(crate) scale: Scale,
    pub(crate) low: f64,
    pub(crate) high: f64,
}

impl Limits {
    /// Place of a value, 0 at the low end, 1 at the high end.
    pub(crate) fn share(&self, value: f64) -> f64 {
        match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => {
                (value.max(f64::MIN_POSITIVE) / self.low).ln() / (self.high / self.low).ln()
            }
        }
    }

    /// About `target` round ticks with labels.
    pub(crate) fn ticks(&self, target: usize) -> Vec<Tick> {
        match self.scale {
            Scale::Linear => linear_ticks(self.low, self.high, target),
            Scale::Log => log_ticks(self.low, self.high, target),
        }
    }
}

/// A tick.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// Where.
    pub value: f64,
    /// What is written there.
    pub label: String,
}

/// The least of 1, 2, 5 times a power of ten that cuts `span` into at most `target` steps.
fn nice_step(span: f64, target: usize) -> f64 {
    let rough = span / target.max(1) as f64;
    let decade = 10f64.powf(rough.log10().floor());
    for multiple in [1.0, 2.0, 5.0] {
        if multiple * decade >= rough * (1.0 - 1e-9) {
            return multiple * decade;
        }
    }
    10.0 * decade
}

/// At most `target` + 1 ticks at multiples of a round step.
pub fn linear_ticks(low: f64, high: f64, target: usize) -> Vec<Tick> {
    let valid = low.is_finite() && high.is_finite() && high > low && (high - low).is_finite();
    if !valid {
        return Vec::new();
    }
    let step = nice_step(high - low, target);
    let first = (low / step - 1e-9).ceil();
    let last = (high / step + 1e-9).floor();
    // No multiple inside, or too narrow for its size: multiples are no longer exact numbers.
    if last < first || !(first.abs() < 1e15 && last.abs() < 1e15) {
        return Vec::new();
    }
    let values: Vec<f64> = (0..=(last - first) as usize)
        .map(|i| (first + i as f64) * step)
        .collect();
    values
        .iter()
        .map(|&value| Tick {
            value,
            label: step_label(
                value,
                step,
                values.iter().fold(0.0, |m, v| f64::max(m, v.abs())),
            ),
        })
        .collect()
}

/// Decades where the range spans several; 1, 2, 5 between them where few; linear ticks in a range
/// narrower than a factor of about three.
pub fn log_ticks(low: f64, high: f64, target: usize) -> Vec<Tick> {
    if !(low > 0.0 && high > low && high.is_finite()) {
        return Vec::new();
    }
    if high / low < 3.0 {
        return linear_ticks(low, high, target);
    }
    let (first, last) = (low.log10().floor() as i32, high.log10().ceil() as i32);
    let inside = |v: f64| v >= low * (1.0 - 1e-9) && v <= high * (1.0 + 1e-9);
    let pick = |multiples: &[f64], stride: i32| -> Vec<f64> {
        (first..=last)
            .filter(|e| e.rem_euclid(stride) == 0)
            .flat_map(|e| multiples.iter().map(move |m| m * 10f64.powi(e)))
            .filter(|&v| inside(v))
            .collect()
    };
    let target = target.max(2);
    let mut values = pick(&[1.0, 2.0, 5.0], 1);
    let mut stride = 1;
    if values.len() > target + 1 {
        values = pick(&[1.0], stride);
    }
    while values.len() > target + 1 {
        stride += 1;
        values = pick(&[1.0], stride);
    }
    values
        .into_iter()
        .map(|value| Tick {
            value,
            label: number(value),
        })
        .collect()
}

/// A label with as many decimals as the step between ticks needs.
fn step_label(value: f64, step: f64, largest: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    if largest >= 1e6 || step < 1e-4 {
        // Digits of the mantissa that tell neighbours apart.
        let exponent = value.abs().log10().floor();
        let digits = (exponent - step.log10().floor()).max(0.0) as usize;
        return scientific(value, digits);
    }
    let decimals = (-step.log10().floor()).max(0.0) as usize;
    grouped(&format!("{value:.decimals$}"))
}

/// A number on its own, short: four significant digits, powers of ten beyond the usual sizes.
pub fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".into();
    }
    if !value.is_finite() {
        return if value.is_nan() {
            "–".into()
        } else if value > 0.0 {
            "∞".into()
        } else {
            "−∞".into()
        };
    }
    let size = value.abs();
    if !(1e-3..1e6).contains(&size) {
        return scientific(value, 3);
    }
    let decimals = (3 - size.log10().floor() as i32).max(0) as usize;
    let text = format!("{value:.decimals$}");
    let trimmed = if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.')
    } else {
        &text
    };
    grouped(trimmed)
}

/// `1.5·10⁶`; the mantissa's trailing zeros are left out, and a mantissa of one too.
fn scientific(value: f64, digits: usize) -> String {
    let text = format!("{value:.digits$e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let mantissa = if mantissa.contains('.') {
        mantissa.trim_end_matches('0').trim_end_matches('.')
    } else {
        mantissa
    };
    let raised: String = exponent
        .chars()
        .map(|c| match c {
            '-' => '⁻',
            '1' => '¹',
            '2' => '²',
            '3' => '³',
            c => c
                .to_digit(10)
                .and_then(|d| char::from_u32(0x2070 + d))
                .unwrap_or(c),
        })
        .collect();
    match mantissa {
        "1" => format!("10{raised}"),
        "-1" => format!("−10{raised}"),
        _ => format!("{}·10{raised}", mantissa.replace('-', "−")),
    }
}

/// Commas between thousands from five digits on, and a true minus sign.
fn grouped(text: &str) -> String {
    let (sign, plain) = match text.strip_prefix('-') {
        Some(rest) => ("−", rest),
        None => ("", text),
    };
    let (whole, rest) = match plain.find('.') {
        Some(dot) => plain.split_at(dot),
        None => (plain, ""),
    };
    if whole.len() < 5 {
        return format!("{sign}{plain}");
    }
    let mut out = String::from(sign);
    for (i, digit) in whole.chars().enumerate() {
        if i > 0 && (whole.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn labels(ticks: &[Tick]) -> Vec<&str> {
        ticks.iter().map(|t| t.label.as_str()).collect()
    }

    #[test]
    fn round_linear_ticks() {
        assert_eq!(
            labels(&linear_ticks(0.0, 1.0, 5)),
            ["0", "0.2", "0.4", "0.6", "0.8", "1.0"]
        );
        assert_eq!(
            labels(&linear_ticks(0.0, 3000.0, 6)),
            ["0", "500", "1000", "1500", "2000", "2500", "3000"]
        );
        assert_eq!(labels(&linear_ticks(-1.3, 1.3, 3)), ["−1", "0", "1"]);
        assert_eq!(
            labels(&linear_ticks(0.0, 40_000.0, 4)),
            ["0", "10,000", "20,000", "30,000", "40,000"]
        );
        assert_eq!(labels(&linear_ticks(0.0, 2e-5, 2)), ["0", "10⁻⁵", "2·10⁻⁵"]);
    }

    #[test]
    fn logarithmic_ticks() {
        assert_eq!(
            labels(&log_ticks(1.0, 1e4, 5)),
            ["1", "10", "100", "1000", "10,000"]
        );
        assert_eq!(labels(&log_ticks(3.0, 60.0, 5)), ["5", "10", "20", "50"]);
        assert_eq!(
            labels(&log_ticks(1e-9, 1.0, 4)),
            ["10⁻⁸", "10⁻⁶", "10⁻⁴", "0.01", "1"]
        );
        assert_eq!(
            labels(&log_ticks(10.0, 12.0, 4)),
            ["10.0", "10.5", "11.0", "11.5", "12.0"]
        );
    }

    #[test]
    fn limits_hold_odd_data() {
        let axis = Axis::linear("x");
        for data in [
            vec![],
            vec![f64::NAN],
            vec![3.0],
            vec![0.0],
            vec![-2.0, -2.0],
            vec![f64::INFINITY, 1.0],
        ] {
            let limits = axis.limits(data.iter().copied(), true);
            assert!(limits.low < limits.high, "{data:?}");
            assert!(!limits.ticks(5).is_empty(), "{data:?}");
        }
        let limits = Axis::log("y").limits([0.0, -1.0, 30.0, 700.0].into_iter(), true);
        assert_eq!((limits.low, limits.high), (20.0, 1000.0));
        assert!((limits.share(20.0)).abs() < 1e-12 && (limits.share(1000.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn short_numbers() {
        assert_eq!(number(0.123_456), "0.1235");
        assert_eq!(number(12_345.6), "12,346");
        assert_eq!(number(-1e-7), "−10⁻⁷");
        assert_eq!(number(f64::INFINITY), "∞");
        assert_eq!(number(1.5e6), "1.5·10⁶");
    }

    proptest! {
        #[test]
        fn ticks_are_few_distinct_and_inside(low in -1e9f64..1e9, width in 1e-6f64..1e9, target in 1usize..12) {
            let high = low + width;
            prop_assume!(high > low);
            let ticks = linear_ticks(low, high, target);
            prop_assert!(ticks.len() <= target + 1);
            let margin = 1e-6 * width;
            for pair in ticks.windows(2) {
                prop_assert!(pair[0].value < pair[1].value);
                prop_assert_ne!(&pair[0].label, &pair[1].label);
            }
            for tick in &ticks {
                prop_assert!(tick.value >= low - margin && tick.value <= high + margin);
            }
        }

        #[test]
        fn log_ticks_are_few_and_inside(low in 1e-12f64..1e6, factor in 1.01f64..1e12, target in 2usize..10) {
            let high = low * factor;
            let ticks = log_ticks(low, high, target);
            prop_assert!(ticks.len() <= target + 1);
            for tick in &ticks {
                prop_assert!(tick.value >= low * 0.999_999 && tick.value <= high * 1.000_001);
            }
        }
    }
}
