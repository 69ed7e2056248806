//! Line search for the maximum of a concave function, by slopes alone.
//!
//! The slope of a concave function falls along a line. Slopes are compared instead of values
//! because near the maximum values differ by less than their rounding, and slopes do not.

/// Searches along a line with slope `first` at its start, from the full step on and with at most so
/// many looks, until at most half of the first slope is left, on either side of the maximum.
/// `slope(size)` goes there, or ends the search. Returns how far it came.
///
/// Before the maximum is passed steps grow by three; then the zero of the slope is interpolated, a
/// twentieth of the bracket or more away from its ends. Where that comes out on the same side
/// twice, as it does in front of a kink, the bracket is halved instead.
pub fn search(first: f64, most: usize, mut slope: impl FnMut(f64) -> Option<f64>) -> f64 {
    // the farthest place before the maximum with its slope, and the last place seen beyond it
    let (mut below, mut above) = ((0.0, first), None);
    let (mut size, mut side) = (1.0, false);
    for _ in 0..most {
        let before = side;
        match slope(size) {
            Some(slope) if slope.abs() > 0.5 * first => {
                side = slope > 0.0;
                if side {
                    below = (size, slope);
                } else {
                    above = Some((size, slope));
                }
            }
            _ => break,
        }
        size = match (below, above) {
            (_, None) => 3.0 * size,
            // from the start itself a share of the bracket is quicker, however small the step is to
            // be
            ((near, _), Some((far, _))) if side == before && near > 0.0 => 0.5 * (near + far),
            ((near, positive), Some((far, negative))) => {
                near + (far - near) * f64::clamp(positive / (positive - negative), 0.05, 0.95)
            }
        };
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
            let mut looks = 0;
            let size = search(slope(0.0), 30, |size| {
                looks += 1;
                Some(slope(size))
            });
            assert!(looks <= 20);
            assert!((size - c).abs() <= 0.5 * c + 1e-15, "{size} {c}");
        }
    }

    /// Beyond a kink the slope is so steep that its zero is always expected next to the near end.
    #[test]
    fn does_not_creep_up_to_a_kink() {
        let mut looks = 0;
        let slope = |x: f64| if x < 0.7 { 1.0 - x } else { -1e3 };
        let size = search(1.0, 30, |size| {
            looks += 1;
            Some(slope(size))
        });
        assert!((0.5..0.7).contains(&size) && looks <= 6, "{size} {looks}");
    }
}
