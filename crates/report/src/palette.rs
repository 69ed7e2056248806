//! One palette for all pictures: every algorithm and formulation keeps its colour, dash and
//! marker everywhere, and readers with any kind of colour vision can tell them apart.
//!
//! Starts from the palette of Okabe and Ito, moved so that every colour has a contrast of 3:1
//! on its background and stays apart from the others under simulated protanopia, deuteranopia
//! and tritanopia (Machado, Oliveira and Fernandes 2009); the tests measure both.

use std::fmt;

/// A colour, red, green, blue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rgb(pub u8, pub u8, pub u8);

impl fmt::Display for Rgb {
    /// As in CSS: `#0072b2`.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "#{:02x}{:02x}{:02x}", self.0, self.1, self.2)
    }
}

/// What a line stands for, and thereby how it looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// IDE3AL. Shares its colour with Frobenius, its formulation unless another is asked for.
    Ideal,
    /// The MaxEnt rival.
    MaxEnt,
    /// The count-based rival.
    CountBased,
    /// The uniformly random policy.
    Random,
    /// Formulation.
    Infinity,
    /// Formulation.
    Frobenius,
    /// Formulation.
    ColumnSum,
    /// Formulation.
    Dual,
    /// Formulation.
    StateEntropy,
    /// Anything else, by number; eight looks, then again from the first.
    Other(usize),
}

/// Shape drawn at points of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Marker {
    /// Filled circle.
    Circle,
    /// Filled square.
    Square,
    /// Filled triangle, tip up.
    Triangle,
    /// Diagonal cross.
    Cross,
    /// Filled diamond.
    Diamond,
    /// Upright cross.
    Plus,
    /// Filled triangle, tip down.
    Wedge,
    /// Star of six rays.
    Star,
}

/// A look: colour on white, colour on a dark page, dash pattern (empty: solid), marker.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Look {
    /// Colour on a light background.
    pub light: Rgb,
    /// Colour on a dark background.
    pub dark: Rgb,
    /// `stroke-dasharray`, empty for a solid line.
    pub dash: &'static str,
    /// Marker.
    pub marker: Marker,
}

const LOOKS: [Look; 8] = [
    Look {
        light: Rgb(0x00, 0x72, 0xB2),
        dark: Rgb(0x4D, 0x9D, 0xE0),
        dash: "",
        marker: Marker::Circle,
    },
    Look {
        light: Rgb(0xB5, 0x4A, 0x00),
        dark: Rgb(0xE8, 0x69, 0x2A),
        dash: "8 3",
        marker: Marker::Square,
    },
    Look {
        light: Rgb(0x1C, 0x9A, 0x72),
        dark: Rgb(0x4E, 0xE3, 0xA5),
        dash: "8 3 2 3",
        marker: Marker::Triangle,
    },
    Look {
        light: Rgb(0x50, 0x50, 0x50),
        dark: Rgb(0x82, 0x82, 0x82),
        dash: "2 3",
        marker: Marker::Cross,
    },
    Look {
        light: Rgb(0x94, 0x56, 0x7F),
        dark: Rgb(0xC7, 0x9A, 0xAC),
        dash: "5 3",
        marker: Marker::Diamond,
    },
    Look {
        light: Rgb(0xA5, 0x92, 0x0A),
        dark: Rgb(0xF5, 0xC2, 0x35),
        dash: "12 3",
        marker: Marker::Wedge,
    },
    Look {
        light: Rgb(0x22, 0x99, 0xEC),
        dark: Rgb(0xAD, 0xBF, 0xFF),
        dash: "8 3 2 3 2 3",
        marker: Marker::Plus,
    },
    Look {
        light: Rgb(0x06, 0x08, 0x0F),
        dark: Rgb(0xEE, 0xFF, 0xFA),
        dash: "12 3 2 3",
        marker: Marker::Star,
    },
];

impl Role {
    /// All named roles.
    pub const NAMED: [Role; 9] = [
        Role::Ideal,
        Role::MaxEnt,
        Role::CountBased,
        Role::Random,
        Role::Infinity,
        Role::Frobenius,
        Role::ColumnSum,
        Role::Dual,
        Role::StateEntropy,
    ];

    /// By the name of an algorithm or formulation on the command line; `None` for another name.
    pub fn from_name(name: &str) -> Option<Role> {
        Some(match name.replace('_', "-").to_ascii_lowercase().as_str() {
            "ideal" | "ide3al" => Role::Ideal,
            "max-ent" | "maxent" => Role::MaxEnt,
            "count-based" | "countbased" => Role::CountBased,
            "random" | "uniform" => Role::Random,
            "infinity" => Role::Infinity,
            "frobenius" => Role::Frobenius,
            "column-sum" => Role::ColumnSum,
            "dual" => Role::Dual,
            "state-entropy" => Role::StateEntropy,
            _ => return None,
        })
    }

    fn index(self) -> usize {
        match self {
            Role::Ideal | Role::Frobenius => 0,
            Role::MaxEnt => 1,
            Role::CountBased => 2,
            Role::Random => 3,
            Role::Infinity => 4,
            Role::ColumnSum => 5,
            Role::Dual => 6,
            Role::StateEntropy => 7,
            Role::Other(number) => number % LOOKS.len(),
        }
    }

    /// Its look.
    pub fn look(self) -> Look {
        LOOKS[self.index()]
    }
}

impl From<ide3al::formulation::Formulation> for Role {
    fn from(formulation: ide3al::formulation::Formulation) -> Role {
        use ide3al::formulation::Formulation;
        match formulation {
            Formulation::Infinity => Role::Infinity,
            Formulation::Frobenius => Role::Frobenius,
            Formulation::ColumnSum => Role::ColumnSum,
            Formulation::Dual => Role::Dual,
            Formulation::StateEntropy => Role::StateEntropy,
            Formulation::Target => Role::Other(0),
            Formulation::Coverage => Role::Other(1),
            Formulation::ModelError => Role::Other(2),
            Formulation::Reach => Role::Other(1),
            Formulation::Own => Role::Other(3),
        }
    }
}

/// What a shape is painted with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ink {
    /// Titles and labels.
    Text,
    /// Tick labels, captions.
    Muted,
    /// Axis lines.
    Axis,
    /// Grid lines.
    Grid,
    /// Behind everything.
    Background,
    /// Walls of a map.
    Wall,
    /// A series.
    Role(Role),
    /// The same in light and dark.
    Fixed(Rgb),
}

/// Inks that are no series: class suffix, light, dark.
const PLAIN: [(&str, Rgb, Rgb); 6] = [
    ("text", Rgb(0x1F, 0x23, 0x28), Rgb(0xE8, 0xEA, 0xED)),
    ("muted", Rgb(0x57, 0x60, 0x6A), Rgb(0xA9, 0xB1, 0xBA)),
    ("axis", Rgb(0x8C, 0x95, 0x9F), Rgb(0x6E, 0x76, 0x81)),
    ("grid", Rgb(0xE3, 0xE6, 0xEA), Rgb(0x2C, 0x31, 0x38)),
    ("back", Rgb(0xFF, 0xFF, 0xFF), Rgb(0x15, 0x18, 0x1D)),
    ("wall", Rgb(0xC4, 0xC8, 0xCD), Rgb(0x4A, 0x50, 0x58)),
];

impl Ink {
    /// Colour on white, and the class by which a dark page replaces it.
    pub(crate) fn light(self) -> (Rgb, Option<String>) {
        let plain = |i: usize| (PLAIN[i].1, Some(PLAIN[i].0.to_owned()));
        match self {
            Ink::Text => plain(0),
            Ink::Muted => plain(1),
            Ink::Axis => plain(2),
            Ink::Grid => plain(3),
            Ink::Background => plain(4),
            Ink::Wall => plain(5),
            Ink::Role(role) => (role.look().light, Some(format!("c{}", role.index()))),
            Ink::Fixed(colour) => (colour, None),
        }
    }
}

/// CSS rules that repaint inline pictures for a dark page. Light needs none: the pictures carry
/// their light colours as attributes, which any rule outranks.
pub fn dark_rules() -> String {
    let series = LOOKS
        .iter()
        .enumerate()
        .map(|(i, look)| (format!("c{i}"), look.dark));
    let plain = PLAIN
        .iter()
        .map(|(name, _, dark)| ((*name).to_owned(), *dark));
    plain
        .chain(series)
        .map(|(name, dark)| format!(".f-{name}{{fill:{dark}}}.s-{name}{{stroke:{dark}}}\n"))
        .collect()
}

impl Rgb {
    /// Linear light, 0 to 1 per channel.
    fn linear(self) -> [f64; 3] {
        [self.0, self.1, self.2].map(|c| {
            let c = f64::from(c) / 255.0;
            if c <= 0.04045 {
                c / 12.92
            } else {
                ((c + 0.055) / 1.055).powf(2.4)
            }
        })
    }

    /// Relative luminance after WCAG 2.
    pub fn luminance(self) -> f64 {
        let [r, g, b] = self.linear();
        0.2126 * r + 0.7152 * g + 0.0722 * b
    }

    /// Lightness and the two colour axes of OKLab (Ottosson 2020); only the tests measure
    /// distances in it.
    #[cfg(test)]
    pub(crate) fn oklab(self) -> [f64; 3] {
        oklab(self.linear())
    }
}

#[cfg(test)]
fn oklab([r, g, b]: [f64; 3]) -> [f64; 3] {
    let l = (0.412_221_470_8 * r + 0.536_332_536_3 * g + 0.051_445_992_9 * b).cbrt();
    let m = (0.211_903_498_2 * r + 0.680_699_545_1 * g + 0.107_396_956_6 * b).cbrt();
    let s = (0.088_302_461_9 * r + 0.281_718_837_6 * g + 0.629_978_700_5 * b).cbrt();
    [
        0.210_454_255_3 * l + 0.793_617_785_0 * m - 0.004_072_046_8 * s,
        1.977_998_495_1 * l - 2.428_592_205_0 * m + 0.450_593_709_9 * s,
        0.025_904_037_1 * l + 0.782_771_766_2 * m - 0.808_675_766_0 * s,
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contrast(a: Rgb, b: Rgb) -> f64 {
        let (a, b) = (a.luminance(), b.luminance());
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    /// Machado et al. (2009), severity 1, in linear light.
    const SIGHT: [(&str, [[f64; 3]; 3], f64); 4] = [
        (
            "usual",
            [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
            0.10,
        ),
        (
            "protanopia",
            [
                [0.152_286, 1.052_583, -0.204_868],
                [0.114_503, 0.786_281, 0.099_216],
                [-0.003_882, -0.048_116, 1.051_998],
            ],
            0.07,
        ),
        (
            "deuteranopia",
            [
                [0.367_322, 0.860_646, -0.227_968],
                [0.280_085, 0.672_501, 0.047_413],
                [-0.011_820, 0.042_940, 0.968_881],
            ],
            0.07,
        ),
        (
            "tritanopia",
            [
                [1.255_528, -0.076_749, -0.178_779],
                [-0.078_411, 0.930_809, 0.147_602],
                [0.004_733, 0.691_367, 0.303_900],
            ],
            0.06,
        ),
    ];

    fn seen(colour: Rgb, sight: &[[f64; 3]; 3]) -> [f64; 3] {
        let light = colour.linear();
        oklab(sight.map(|row| {
            row.iter()
                .zip(light)
                .map(|(a, b)| a * b)
                .sum::<f64>()
                .clamp(0.0, 1.0)
        }))
    }

    #[test]
    fn colours_stay_apart_for_every_sight() {
        for (name, sight, least) in &SIGHT {
            for (i, a) in LOOKS.iter().enumerate() {
                for (j, b) in LOOKS.iter().enumerate().take(i) {
                    for (x, y) in [(a.light, b.light), (a.dark, b.dark)] {
                        let (p, q) = (seen(x, sight), seen(y, sight));
                        let distance: f64 = p
                            .iter()
                            .zip(q)
                            .map(|(u, v)| (u - v).powi(2))
                            .sum::<f64>()
                            .sqrt();
                        assert!(
                            distance >= *least,
                            "{name}: looks {i} and {j}: {distance:.3}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn colours_stand_out_from_their_background() {
        for look in LOOKS {
            assert!(contrast(look.light, PLAIN[4].1) >= 3.0, "{}", look.light);
            assert!(contrast(look.dark, PLAIN[4].2) >= 3.0, "{}", look.dark);
        }
        for text in [0, 1] {
            assert!(contrast(PLAIN[text].1, PLAIN[4].1) >= 4.5);
            assert!(contrast(PLAIN[text].2, PLAIN[4].2) >= 4.5);
        }
    }

    #[test]
    fn looks_differ_without_colour() {
        for (i, a) in LOOKS.iter().enumerate() {
            for b in &LOOKS[..i] {
                assert_ne!(a.dash, b.dash);
                assert_ne!(a.marker, b.marker);
            }
        }
    }

    #[test]
    fn roles_keep_their_names() {
        for formulation in ide3al::formulation::Formulation::ALL {
            assert_eq!(
                Role::from_name(formulation.name()),
                Some(formulation.into())
            );
        }
        assert_eq!(Role::from_name("max_ent"), Some(Role::MaxEnt));
        assert_eq!(Role::from_name("something"), None);
    }
}
