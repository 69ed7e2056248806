//! A chart of lines and points as data: what is shown, not yet how.

use super::axes::Axis;
use super::palette::Role;
use super::panels::{Panel, Panels};

/// A point with an interval around it; `low` and `high` are NaN where there is none.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Point {
    /// Place along the horizontal axis.
    pub x: f64,
    /// Value.
    pub y: f64,
    /// Low end of the interval.
    pub low: f64,
    /// High end of the interval.
    pub high: f64,
}

impl Point {
    /// Without an interval.
    pub fn new(x: f64, y: f64) -> Self {
        Point {
            x,
            y,
            low: f64::NAN,
            high: f64::NAN,
        }
    }

    /// With an interval.
    pub fn with_interval(x: f64, y: f64, low: f64, high: f64) -> Self {
        Point { x, y, low, high }
    }

    /// Whether both ends of the interval are known.
    pub fn has_interval(&self) -> bool {
        !self.low.is_nan() && !self.high.is_nan()
    }
}

/// How a series is drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Style {
    /// A line, its intervals as a translucent band; a few markers tell it from others.
    Line,
    /// Markers only, intervals as whiskers.
    Points,
    /// A line with a marker at each point, intervals as a band.
    Both,
}

/// A named sequence of points in order of `x`. A value that is not finite leaves a gap.
#[derive(Debug, Clone, PartialEq)]
pub struct Series {
    /// Name in the legend.
    pub name: String,
    /// What it stands for: colour, dash, marker.
    pub role: Role,
    /// The points.
    pub points: Vec<Point>,
    /// How to draw them.
    pub style: Style,
}

/// A horizontal line with a name: an optimum, a uniform share.
#[derive(Debug, Clone, PartialEq)]
pub struct Reference {
    /// Its height.
    pub value: f64,
    /// Name in the legend.
    pub label: String,
}

/// A chart.
#[derive(Debug, Clone, PartialEq)]
pub struct Figure {
    /// Title.
    pub title: String,
    /// Horizontal axis.
    pub x: Axis,
    /// Vertical axis.
    pub y: Axis,
    /// Lines and points, drawn in this order.
    pub series: Vec<Series>,
    /// Horizontal reference lines.
    pub references: Vec<Reference>,
    /// What to see and how to read it, bands included.
    pub caption: String,
}

impl Figure {
    /// An empty chart with its axes.
    pub fn new(title: impl Into<String>, x: Axis, y: Axis) -> Self {
        Figure {
            title: title.into(),
            x,
            y,
            series: Vec::new(),
            references: Vec::new(),
            caption: String::new(),
        }
    }

    /// Adds a series.
    #[must_use]
    pub fn with(
        mut self,
        name: impl Into<String>,
        role: Role,
        style: Style,
        points: Vec<Point>,
    ) -> Self {
        self.series.push(Series {
            name: name.into(),
            role,
            points,
            style,
        });
        self
    }

    /// Adds a horizontal line.
    #[must_use]
    pub fn with_reference(mut self, value: f64, label: impl Into<String>) -> Self {
        self.references.push(Reference {
            value,
            label: label.into(),
        });
        self
    }

    /// With a caption.
    #[must_use]
    pub fn with_caption(mut self, caption: impl Into<String>) -> Self {
        self.caption = caption.into();
        self
    }

    /// The chart alone, with its legend and caption, as the text of an SVG file.
    pub fn svg(&self) -> String {
        Panels {
            title: String::new(),
            caption: self.caption.clone(),
            columns: 1,
            panels: vec![Panel::Chart(self.clone())],
        }
        .svg()
    }
}

/// At most about `limit` points that keep every bucket's lowest and highest value, so that no
/// spike is lost by drawing fewer points than there are.
pub(crate) fn thinned(points: &[Point], limit: usize) -> Vec<Point> {
    if points.len() <= limit {
        return points.to_vec();
    }
    let bucket = points.len().div_ceil((limit / 2).max(1));
    let mut kept: Vec<usize> = vec![0];
    for (i, chunk) in points.chunks(bucket).enumerate() {
        let order = |a: &usize, b: &usize| chunk[*a].y.total_cmp(&chunk[*b].y);
        let (low, high) = (
            (0..chunk.len()).min_by(order),
            (0..chunk.len()).max_by(order),
        );
        kept.extend([low, high].into_iter().flatten().map(|j| i * bucket + j));
    }
    kept.push(points.len() - 1);
    kept.sort_unstable();
    kept.dedup();
    kept.into_iter().map(|i| points[i]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn thinning_keeps_ends_and_spikes() {
        let mut points: Vec<Point> = (0..10_000).map(|i| Point::new(f64::from(i), 0.0)).collect();
        points[4321].y = 7.0;
        let few = thinned(&points, 400);
        assert!(few.len() <= 402);
        assert!(few.iter().any(|p| p.y == 7.0));
        assert_eq!(few[0].x, 0.0);
        assert_eq!(few[few.len() - 1].x, 9999.0);
        assert!(few.windows(2).all(|w| w[0].x < w[1].x));
    }
}
