//! The rules that turn a measurement into a verdict.
//!
//! Nothing here knows what is measured: a rule sees a number, its interval and what the paper
//! says, and answers with one of three words and the reason. No verdict is written by hand.

use serde::{Deserialize, Serialize};

use ide3al::learn::Estimate;

/// What became of a claim.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Verdict {
    /// The measurement agrees, its whole interval included.
    #[serde(rename = "holds")]
    Holds,
    /// It agrees in part: near, or too uncertain to tell.
    #[serde(rename = "holds in part")]
    HoldsInPart,
    /// It does not agree.
    #[serde(rename = "not reproduced")]
    NotReproduced,
}

impl Verdict {
    /// In words, as in `results.json`.
    pub fn name(self) -> &'static str {
        match self {
            Verdict::Holds => "holds",
            Verdict::HoldsInPart => "holds in part",
            Verdict::NotReproduced => "not reproduced",
        }
    }
}

/// A number with the interval it is known to; the ends are the number itself where it is exact.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Measurement {
    /// The number.
    pub value: f64,
    /// Low end.
    pub low: f64,
    /// High end.
    pub high: f64,
    /// Number of independent runs behind it; `None` for a computed number.
    pub runs: Option<u64>,
}

impl Measurement {
    /// A computed number.
    pub fn exact(value: f64) -> Self {
        Measurement {
            value,
            low: value,
            high: value,
            runs: None,
        }
    }

    /// The mean over runs with its 95 % interval; NaN where nothing was measured.
    pub fn of_runs(values: &[f64]) -> Self {
        let estimate = Estimate::of(values);
        let or_nan = |x: Option<f64>| x.unwrap_or(f64::NAN);
        Measurement {
            value: or_nan(estimate.mean),
            low: or_nan(estimate.low),
            high: or_nan(estimate.high),
            runs: Some(values.len() as u64),
        }
    }

    /// The difference of two independent means: the half widths add in squares.
    #[must_use]
    pub fn minus(&self, other: &Measurement) -> Self {
        let half = |m: &Measurement| (m.high - m.low) / 2.0;
        let value = self.value - other.value;
        let width = half(self).hypot(half(other));
        Measurement {
            value,
            low: value - width,
            high: value + width,
            runs: match (self.runs, other.runs) {
                (Some(a), Some(b)) => Some(a.min(b)),
                (a, b) => a.or(b),
            },
        }
    }

    fn is_single_run(&self) -> bool {
        self.runs.is_some_and(|n| n < 2)
    }
}

/// What a claim says about a number.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Rule {
    /// It is above this.
    Above(f64),
    /// It is below this.
    Below(f64),
    /// It is within this of zero.
    Within(f64),
}

impl Rule {
    /// Judges a measurement. An interval that lies wholly on the right side *holds*; one that
    /// straddles the limit *holds in part*; one wholly on the wrong side is *not reproduced*. A
    /// single run has no interval, so on the right side it holds in part only.
    pub fn judge(&self, m: &Measurement) -> (Verdict, String) {
        if !(m.value.is_finite() && m.low.is_finite() && m.high.is_finite()) {
            return (Verdict::NotReproduced, "nothing was measured".into());
        }
        let (inside, outside) = match *self {
            Rule::Above(limit) => (m.low > limit, m.high <= limit),
            Rule::Below(limit) => (m.high < limit, m.low >= limit),
            Rule::Within(limit) => (
                m.low >= -limit && m.high <= limit,
                m.low > limit || m.high < -limit,
            ),
        };
        match (inside, outside) {
            (true, _) if m.is_single_run() => (
                Verdict::HoldsInPart,
                "as claimed, but a single run has no interval".into(),
            ),
            (true, _) => (Verdict::Holds, String::new()),
            (_, true) => (Verdict::NotReproduced, String::new()),
            _ => (
                Verdict::HoldsInPart,
                "the 95 % interval leaves both open".into(),
            ),
        }
    }
}

/// Share of a printed value within which a number that misses its digits holds in part.
pub const NEAR: f64 = 0.02;

/// Judges a number against digits the paper prints, such as `0.984` or `4.1e-2`: it *holds*
/// when it gives these digits by truncation (the paper's habit) or by rounding, *in part* within
/// [`NEAR`] of it.
pub fn printed(text: &str, measured: f64) -> (Verdict, String) {
    let Some((value, unit)) = digits(text) else {
        return (
            Verdict::NotReproduced,
            format!("the printed value '{text}' is no number"),
        );
    };
    if !measured.is_finite() {
        return (Verdict::NotReproduced, "nothing was measured".into());
    }
    // a hair for numbers such as 0.0410000 that miss their digit by rounding
    let hair = 1e-6 * unit;
    if measured >= value - hair && measured < value + unit - hair {
        (
            Verdict::Holds,
            "the printed digits, by truncation".to_owned(),
        )
    } else if (measured - value).abs() <= unit / 2.0 {
        (Verdict::Holds, "the printed digits, by rounding".into())
    } else if (measured - value).abs() <= NEAR * value.abs() {
        (
            Verdict::HoldsInPart,
            format!("within {} % of the printed value", 100.0 * NEAR),
        )
    } else {
        (
            Verdict::NotReproduced,
            format!("differs by {:.2e}", measured - value),
        )
    }
}

/// Judges printed digits of a problem with many optimal policies, between whose values `low` and
/// `high` every value belongs to an optimal policy (the optimal set is convex, and the long run
/// is continuous on it where there is one recurrent class): it also *holds* when one of them has
/// the printed digits, whichever of them is ours.
pub fn printed_among(text: &str, measured: &Measurement) -> (Verdict, String) {
    let own = printed(text, measured.value);
    let Some((value, unit)) = digits(text) else {
        return own;
    };
    let among = measured.low < measured.high
        && value + unit > measured.low
        && value - unit / 2.0 < measured.high;
    if own.0 == Verdict::Holds || !among {
        return own;
    }
    let reason = format!(
        "among the optimal policies, which reach from {:.4} to {:.4} at least",
        measured.low, measured.high
    );
    (Verdict::Holds, reason)
}

/// Judges printed digits of a problem with many optimal policies of which only some are known: it
/// also *holds* when one of those has the printed digits, whichever of them is ours.
pub fn printed_in(text: &str, own: f64, others: &[f64]) -> (Verdict, String) {
    let judged = printed(text, own);
    let has_them = |value: &&f64| printed(text, **value).0 == Verdict::Holds;
    match others.iter().find(has_them) {
        Some(value) if judged.0 != Verdict::Holds => (
            Verdict::Holds,
            format!("another optimal policy has {value:.4}"),
        ),
        _ => judged,
    }
}

/// The value of printed digits, and the weight of the last of them.
fn digits(text: &str) -> Option<(f64, f64)> {
    let value: f64 = text.parse().ok()?;
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let decimals = mantissa.split_once('.').map_or(0, |(_, after)| after.len()) as i32;
    value
        .is_finite()
        .then(|| (value, 10f64.powi(exponent - decimals)))
}

/// Judges a time against the paper's, on another machine with another solver: not slower
/// *holds*, slower by up to ten times *in part*.
pub fn time(paper: f64, measured: f64) -> (Verdict, String) {
    if !(measured.is_finite() && measured >= 0.0 && paper > 0.0) {
        (Verdict::NotReproduced, "nothing was measured".into())
    } else if measured <= paper {
        (
            Verdict::Holds,
            format!("{:.1} times faster", paper / measured.max(1e-9)),
        )
    } else if measured <= 10.0 * paper {
        (
            Verdict::HoldsInPart,
            format!("{:.1} times slower", measured / paper),
        )
    } else {
        (
            Verdict::NotReproduced,
            format!("{:.1} times slower", measured / paper),
        )
    }
}

/// How a sequence is said to run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// Upwards.
    Rises,
    /// Downwards.
    Falls,
    /// Up, then down.
    Peaks,
}

impl Shape {
    /// In a word.
    pub fn name(self) -> &'static str {
        match self {
            Shape::Rises => "rises",
            Shape::Falls => "falls",
            Shape::Peaks => "rises, then falls",
        }
    }

    /// Judges a sequence: every step as claimed *holds*, the right change from end to end (for a
    /// peak, a largest value above both ends) *in part*. `slack` is what counts as no change.
    pub fn judge(self, values: &[f64], slack: f64) -> (Verdict, String) {
        let nothing = (Verdict::NotReproduced, "nothing was measured".to_owned());
        let (Some(first), Some(last)) = (values.first(), values.last()) else {
            return nothing;
        };
        if values.iter().any(|v| v.is_nan()) {
            return nothing;
        }
        let top = (0..values.len())
            .max_by(|&i, &j| values[i].total_cmp(&values[j]))
            .unwrap_or(0);
        let rises = |i: usize| match self {
            Shape::Rises => true,
            Shape::Falls => false,
            Shape::Peaks => i < top,
        };
        let change = match self {
            Shape::Rises => last - first,
            Shape::Falls => first - last,
            Shape::Peaks => values[top] - first.max(*last),
        };
        if change <= slack {
            return (Verdict::NotReproduced, String::new());
        }
        let steps = values.len() - 1;
        let against = (0..steps)
            .filter(|&i| {
                let up = values[i + 1] - values[i];
                (if rises(i) { up } else { -up }) < -slack
            })
            .count();
        if against == 0 {
            (Verdict::Holds, format!("in each of {steps} steps"))
        } else {
            (
                Verdict::HoldsInPart,
                format!("from end to end, but not in {against} of {steps} steps"),
            )
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Verdict::{Holds, HoldsInPart, NotReproduced};

    fn interval(low: f64, high: f64) -> Measurement {
        Measurement {
            value: (low + high) / 2.0,
            low,
            high,
            runs: Some(20),
        }
    }

    #[test]
    fn a_wrong_measurement_is_not_reproduced() {
        assert_eq!(printed("0.984", 0.71).0, NotReproduced);
        assert_eq!(printed("0.984", f64::NAN).0, NotReproduced);
        assert_eq!(
            Rule::Above(0.0).judge(&interval(-0.2, -0.1)).0,
            NotReproduced
        );
        assert_eq!(Rule::Below(0.0).judge(&interval(0.1, 0.2)).0, NotReproduced);
        assert_eq!(
            Rule::Within(0.02).judge(&interval(0.1, 0.2)).0,
            NotReproduced
        );
        assert_eq!(
            Rule::Above(0.0).judge(&Measurement::of_runs(&[])).0,
            NotReproduced
        );
        assert_eq!(time(0.03, 1.0).0, NotReproduced);
        assert_eq!(Shape::Rises.judge(&[0.9, 0.8, 0.7], 1e-9).0, NotReproduced);
        assert_eq!(Shape::Rises.judge(&[0.9, 0.9], 1e-9).0, NotReproduced);
        assert_eq!(Shape::Rises.judge(&[], 1e-9).0, NotReproduced);
    }

    #[test]
    fn a_right_measurement_holds() {
        assert_eq!(printed("0.984", 0.98482).0, Holds);
        assert_eq!(printed("0.985", 0.98482).0, Holds);
        assert_eq!(printed("4.1e-2", 0.0410).0, Holds);
        assert_eq!(Rule::Above(0.0).judge(&interval(0.1, 0.2)).0, Holds);
        assert_eq!(Rule::Below(0.0).judge(&interval(-0.2, -0.1)).0, Holds);
        assert_eq!(Rule::Within(0.02).judge(&interval(-0.01, 0.01)).0, Holds);
        assert_eq!(time(3.0, 1.0).0, Holds);
        assert_eq!(Shape::Rises.judge(&[0.1, 0.2, 0.2, 0.3], 1e-9).0, Holds);
    }

    #[test]
    fn between_the_two_it_holds_in_part() {
        assert_eq!(printed("0.984", 0.98210).0, HoldsInPart);
        assert_eq!(Rule::Above(0.0).judge(&interval(-0.1, 0.2)).0, HoldsInPart);
        assert_eq!(
            Rule::Within(0.02).judge(&interval(0.01, 0.03)).0,
            HoldsInPart
        );
        assert_eq!(time(0.03, 0.1).0, HoldsInPart);
        assert_eq!(Shape::Rises.judge(&[0.1, 0.3, 0.2], 1e-9).0, HoldsInPart);
        let single = Measurement::of_runs(&[0.4]);
        assert_eq!(Rule::Above(0.0).judge(&single).0, HoldsInPart);
    }

    #[test]
    fn truncation_and_its_unit() {
        assert_eq!(digits("0.984"), Some((0.984, 1e-3)));
        let (value, unit) = digits("6.4e-2").unwrap();
        assert!((value - 0.064).abs() < 1e-15 && (unit - 1e-3).abs() < 1e-15);
        assert_eq!(
            printed("0.970", 0.97095).1,
            "the printed digits, by truncation"
        );
        assert_eq!(printed("0.983", 0.98249).0, HoldsInPart);
        assert_eq!(printed("nonsense", 1.0).0, NotReproduced);
    }

    #[test]
    fn shapes() {
        let hill = [0.1, 0.3, 0.2];
        assert_eq!(Shape::Peaks.judge(&hill, 1e-9).0, Holds);
        assert_eq!(Shape::Peaks.judge(&[0.1, 0.2, 0.3], 1e-9).0, NotReproduced);
        assert_eq!(
            Shape::Peaks.judge(&[0.1, 0.3, 0.2, 0.25], 1e-9).0,
            HoldsInPart
        );
        assert_eq!(Shape::Falls.judge(&[0.3, 0.2, 0.1], 1e-9).0, Holds);
        assert_eq!(
            Shape::Falls.judge(&[0.3, f64::NAN, 0.1], 1e-9).0,
            NotReproduced
        );
    }

    #[test]
    fn a_printed_value_among_many_optima() {
        let m = |low, high| Measurement {
            low,
            high,
            ..Measurement::exact(0.70)
        };
        assert_eq!(printed_among("0.720", &m(0.68, 0.81)).0, Holds);
        assert_eq!(printed_among("0.720", &m(0.70, 0.71)).0, NotReproduced);
        assert_eq!(printed_among("0.720", &m(0.70, 0.70)).0, NotReproduced);
        assert_eq!(printed_among("0.70", &m(0.70, 0.70)).0, Holds);
    }

    #[test]
    fn printed_digits_of_one_policy_among_several() {
        assert_eq!(printed_in("0.85", 0.7, &[0.6, 0.852]).0, Holds);
        assert_eq!(printed_in("0.85", 0.7, &[0.6, 0.9]).0, NotReproduced);
        assert_eq!(printed_in("0.85", 0.853, &[0.6]).0, Holds);
        assert_eq!(printed_in("0.85", 0.841, &[]).0, HoldsInPart);
    }

    #[test]
    fn differences_carry_both_intervals() {
        let a = interval(0.9 - 0.03, 0.9 + 0.03);
        let b = interval(0.8 - 0.04, 0.8 + 0.04);
        let d = a.minus(&b);
        assert!((d.value - 0.1).abs() < 1e-12);
        assert!((d.high - d.value - 0.05).abs() < 1e-12);
    }
}
