//! A map of where a policy spends its time, drawn with characters.

use ide3al::model::Layout;

/// How to draw.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ink {
    /// Five Unicode shades; walls are `#`.
    Shades,
    /// 256-colour background, from dark blue through green to yellow.
    Colour,
}

const SHADES: [&str; 5] = ["··", "░░", "▒▒", "▓▓", "██"];
/// A ramp of growing lightness that colour-blind readers can tell apart.
const RAMP: [u8; 12] = [17, 18, 19, 25, 31, 37, 36, 71, 107, 143, 185, 227];

/// Draws a quantity per state on the map the states lie on, two characters per cell, with a
/// legend. States that share a cell add up; a cell without states is a wall. The scale is
/// linear from zero to the largest cell. Empty for a map of more than `width` characters.
pub fn heat_map(layout: &Layout, per_state: &[f64], ink: Ink, width: usize) -> String {
    let cells = layout.per_cell(per_state);
    let largest = cells.iter().flatten().fold(0.0, |m: f64, v| m.max(*v));
    if 2 * layout.columns > width || cells.is_empty() || largest <= 0.0 {
        return String::new();
    }
    let step = |value: f64, steps: usize| {
        let place = (value / largest * steps as f64).ceil() as usize;
        place.clamp(1, steps) - 1
    };
    let mut text = String::new();
    for row in cells.chunks(layout.columns) {
        for cell in row {
            match (cell, ink) {
                (None, Ink::Shades) => text.push_str("##"),
                (None, Ink::Colour) => text.push_str("\u{1b}[48;5;238m  "),
                (Some(v), Ink::Shades) => text.push_str(SHADES[step(*v, SHADES.len())]),
                (Some(v), Ink::Colour) => {
                    let colour = RAMP[step(*v, RAMP.len())];
                    text.push_str(&format!("\u{1b}[48;5;{colour}m  "));
                }
            }
        }
        if ink == Ink::Colour {
            text.push_str("\u{1b}[0m");
        }
        text.push('\n');
    }
    let most = super::table::number(largest, 3);
    text.push_str(&match ink {
        Ink::Shades => format!(
            "share of time per cell: 0 {} {most}; ## wall\n",
            SHADES.concat()
        ),
        Ink::Colour => {
            let ramp: String = RAMP.iter().map(|c| format!("\u{1b}[48;5;{c}m ")).collect();
            format!("share of time per cell: 0 {ramp}\u{1b}[0m {most}; grey: wall\n")
        }
    });
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_and_walls() {
        let layout = Layout {
            rows: 2,
            columns: 2,
            cells: vec![0, 1, 3, 3],
        };
        let text = heat_map(&layout, &[0.0, 0.4, 0.3, 0.3], Ink::Shades, 80);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[0], "··▓▓");
        assert_eq!(lines[1], "##██");
        assert!(lines[2].contains("0.600"));
        assert!(!text.contains('\u{1b}'));
        let colour = heat_map(&layout, &[0.0, 0.4, 0.3, 0.3], Ink::Colour, 80);
        assert!(colour.contains("\u{1b}[48;5;227m"));
        assert_eq!(heat_map(&layout, &[0.25; 4], Ink::Shades, 3), "");
    }
}
