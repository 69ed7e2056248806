//! Who sees how much of a model in how many steps, as a picture.

use ide3al::chain::seen::Seen;

use super::axes::Axis;
use super::figure::{Figure, Point, Style};
use super::palette::Role;
use super::panels::{Panel, Panels};

/// One policy: its name, its look, and the shares it sees within ascending numbers of steps.
#[derive(Debug, Clone, PartialEq)]
pub struct SeenCurve {
    /// As in the legend.
    pub name: String,
    /// Colour and line.
    pub role: Role,
    /// What it sees.
    pub seen: Vec<Seen>,
}

/// The share of the states seen against steps, one line per policy.
pub fn panels(model: &str, curves: &[SeenCurve]) -> Panels {
    let mut figure = Figure::new(
        "Expected share of the states seen from the start",
        Axis::linear("Steps"),
        Axis::linear("Share of the states").with_range(0.0, 1.0),
    );
    for curve in curves {
        let points = curve.seen.iter();
        let points = points.map(|seen| Point::new(seen.steps as f64, seen.share));
        figure = figure.with(&curve.name, curve.role, Style::Line, points.collect());
    }
    let sampled = curves
        .iter()
        .any(|c| c.seen.iter().any(|s| s.standard_error.is_some()));
    Panels {
        title: format!("{model}: states seen"),
        panels: vec![Panel::Chart(figure)],
        columns: 1,
        caption: if sampled {
            "Averages over random walks.".into()
        } else {
            "Expected shares, computed from the model.".into()
        },
    }
}
