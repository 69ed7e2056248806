//! Numbers as colours: a ramp that grows evenly in lightness, dark to light.

use super::palette::Rgb;

/// Stops of a ramp of the viridis family, evenly spaced from 0 to 1: lightness rises in equal
/// steps, so that order survives every kind of colour blindness and a grey print.
const STOPS: [Rgb; 11] = [
    Rgb(68, 1, 84),
    Rgb(72, 36, 117),
    Rgb(65, 68, 135),
    Rgb(53, 95, 141),
    Rgb(42, 120, 142),
    Rgb(33, 145, 140),
    Rgb(34, 168, 132),
    Rgb(68, 191, 112),
    Rgb(122, 209, 81),
    Rgb(189, 223, 38),
    Rgb(253, 231, 37),
];

/// Colour at `share` of the ramp; outside 0 to 1 the nearest end.
pub fn ramp(share: f64) -> Rgb {
    let last = STOPS.len() - 1;
    let place = if share.is_nan() {
        0.0
    } else {
        share.clamp(0.0, 1.0)
    } * last as f64;
    let below = (place as usize).min(last - 1);
    let rest = place - below as f64;
    let mix = |a: u8, b: u8| (f64::from(a) + rest * (f64::from(b) - f64::from(a))).round() as u8;
    let (a, b) = (STOPS[below], STOPS[below + 1]);
    Rgb(mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}

/// Colour of one of `count` ordered classes (the actions of a policy).
pub fn class(index: usize, count: usize) -> Rgb {
    // The two ends are too close to black and to white paper.
    let share = if count < 2 {
        0.3
    } else {
        index as f64 / (count - 1) as f64
    };
    ramp(0.22 + 0.68 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lightness_rises_in_even_steps() {
        let lightness: Vec<f64> = (0..=20)
            .map(|i| ramp(f64::from(i) / 20.0).oklab()[0])
            .collect();
        let mean = (lightness[20] - lightness[0]) / 20.0;
        for pair in lightness.windows(2) {
            let step = pair[1] - pair[0];
            assert!(
                step > 0.35 * mean && step < 1.8 * mean,
                "{step} against {mean}"
            );
        }
    }

    #[test]
    fn out_of_range_takes_the_ends() {
        assert_eq!(ramp(-3.0), STOPS[0]);
        assert_eq!(ramp(f64::NAN), STOPS[0]);
        assert_eq!(ramp(7.0), STOPS[10]);
    }
}
