//! Line search for the maximum of a concave function, by slopes alone.
//!
//! The slope of a concave function falls along a line. Slopes are compared instead of values because near the maximum values differ
//! by less than their rounding, and slopes do not.

/// Where the maximum lies, as far as it is known.
#[derive(Debug, Clone)]
pub(crate) struct Bracket {
    /// The slope at the start of the line.
    first: f64,
    /// The farthest place before the maximum, and its slope.
    below: (f64, f64),
    /// The last place seen beyond the maximum, and its slope.
    above: Option<(f64, f64)>,
}

impl Bracket {
    /// With the slope at the start of the line.
    pub(crate) fn new(first: f64) -> Self {
        Bracket {
            first,
            below: (0.0, first),
            above: None,
        }
    }

    /// Where to look after seeing `slope` at `size`; nothing if that is good enough: at most
    /// half of the first slope is left, on either side of the maximum. Before the maximum is passed steps grow by three; then the zero
    /// of the slope is interpolated, a twentieth of the bracket or more away from its ends.
    pub(crate) fn next(&mut self, size: f64, slope: f64) -> Option<f64> {
        if slope.abs() <= 0.5 * self.first {
            return None;
        }
        if slope > 0.0 {
            self.below = (size, slope);
        } else {
            self.above = Some((size, slope));
        }
        Some(match self.above {
            None => 3.0 * size,
            Some((far, negative)) => {
                let (near, positive) = self.below;
                near + (far - near) * (positive / (positive - negative)).clamp(0.05, 0.95)
            }
        })
    }
}

/// Searches along a line with slope `first` at its start, from the full step on and with at most so many looks. `slope(size)`
/// goes there, or ends the search. Returns how far it came.
pub(crate) fn search(first: f64, most: usize, mut slope: impl FnMut(f64) -> Option<f64>) -> f64 {
    let mut bracket = Bracket::new(first);
    let mut size = 1.0;
    for _ in 0..most {
        match slope(size).and_then(|slope| bracket.next(size, slope)) {
            Some(next) => size = next,
            None => break,
        }
    }
    size
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_near_the_maximum_from_either_side() {
        // maximum of -(x - c)^2 at c, seen from 0
        for c in [1e-6, 0.3, 1.0, 40.0] {
            let slope = |x: f64| 2.0 * (c - x);
            let mut bracket = Bracket::new(slope(0.0));
            let mut size = 1.0;
            let mut looks = 0;
            while let Some(next) = bracket.next(size, slope(size)) {
                size = next;
                looks += 1;
                assert!(looks < 20);
            }
            assert!((size - c).abs() <= 0.5 * c + 1e-15, "{size} {c}");
        }
    }
}
