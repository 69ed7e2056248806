//! Bars: one value per state, and policies as stacked action probabilities.

use super::axes::{Axis, number};
use super::palette::{Ink, Role};
use super::plot::{
    Area, FOOT, PLOT_HEIGHT, TICK, area, draw_foot_label, draw_header, draw_rows, header_height,
};
use super::ramp::class;
use super::svg::{Anchor, Canvas, fit, text_width};

/// One bar per category.
#[derive(Debug, Clone, PartialEq)]
pub struct Bars {
    /// Title.
    pub title: String,
    /// Name of the horizontal axis.
    pub x_label: String,
    /// Name and unit of the values.
    pub y_label: String,
    /// Names along the horizontal axis.
    pub categories: Vec<String>,
    /// One value per category; one that is not finite has no bar.
    pub values: Vec<f64>,
    /// Colour.
    pub role: Role,
    /// Largest value of the axis; from the data where `None`. Give panels that are to be compared
    /// the same.
    pub largest: Option<f64>,
    /// A horizontal line with its name.
    pub reference: Option<(f64, String)>,
}

/// One stacked bar per state: the probabilities of its actions.
#[derive(Debug, Clone, PartialEq)]
pub struct PolicyBars {
    /// Title.
    pub title: String,
    /// Names of the states.
    pub states: Vec<String>,
    /// Names of the actions.
    pub actions: Vec<String>,
    /// One row per state; rows may differ in length.
    pub rows: Vec<Vec<f64>>,
}

/// Names below the bars: as many as fit, cut where they are long.
fn draw_categories(canvas: &mut Canvas, area: Area, names: &[String]) {
    let slot = area.w / names.len().max(1) as f64;
    let longest = names
        .iter()
        .map(|name| text_width(name, TICK))
        .fold(0.0, f64::max)
        .min(90.0);
    let every = round_stride(((longest + 8.0) / slot).ceil());
    for (i, name) in names.iter().enumerate().step_by(every) {
        let label = fit(name, TICK, (slot * every as f64 - 6.0).max(12.0));
        let half = text_width(&label, TICK) / 2.0;
        let x = (area.x + slot * (i as f64 + 0.5))
            .min(area.x + area.w + 12.0 - half)
            .max(half);
        canvas.text(
            x,
            area.y + area.h + 16.0,
            TICK,
            Anchor::Middle,
            Ink::Muted,
            &label,
        );
    }
}

/// The next of 1, 2, 5, 10, 20, ... at or above.
fn round_stride(least: f64) -> usize {
    let mut decade = 1;
    loop {
        for multiple in [1, 2, 5] {
            if (multiple * decade) as f64 >= least {
                return multiple * decade;
            }
        }
        decade *= 10;
    }
}

/// Left edge and width of a bar.
fn slot(area: Area, count: usize, i: usize) -> (f64, f64) {
    let width = area.w / count.max(1) as f64;
    let gap = if width > 5.0 {
        (0.16 * width).min(6.0)
    } else {
        0.0
    };
    (area.x + width * i as f64 + gap / 2.0, width - gap)
}

impl Bars {
    pub(crate) fn header_height(&self) -> f64 {
        header_height(&self.title, &self.y_label)
    }

    pub(crate) fn draw(&self, canvas: &mut Canvas, header: f64) {
        draw_header(canvas, &self.title, &self.y_label, header);
        let finite = self.values.iter().copied().filter(|v| v.is_finite());
        let reference = self.reference.iter().map(|r| r.0);
        let axis = Axis::linear("");
        let ends = [0.0].into_iter().chain(self.largest);
        let limits = axis.limits(finite.chain(reference).chain(ends), true);
        let ticks = limits.ticks(5);
        let area = area(header, &ticks, 14.0);
        draw_rows(canvas, area, limits, &ticks);
        let height = |v: f64| area.y + area.h * (1.0 - limits.share(v));
        let zero = height(0.0);
        for (i, &value) in self
            .values
            .iter()
            .enumerate()
            .filter(|(_, v)| v.is_finite())
        {
            let (x, w) = slot(area, self.values.len(), i);
            let y = height(value);
            let name = self.categories.get(i).map_or("", String::as_str);
            let title = format!("{name}: {}", number(value));
            canvas.rect_titled(
                x,
                y.min(zero),
                w,
                (zero - y).abs(),
                Ink::Role(self.role),
                Some(&title),
            );
        }
        if let Some((value, _)) = &self.reference {
            let y = height(*value);
            canvas.line((area.x, y), (area.x + area.w, y), Ink::Text, 1.4, "3 2");
        }
        canvas.line((area.x, zero), (area.x + area.w, zero), Ink::Axis, 1.0, "");
        draw_categories(canvas, area, &self.categories);
        draw_foot_label(canvas, area, &self.x_label);
    }
}

impl PolicyBars {
    const LABEL: &'static str = "Probability of each action";

    pub(crate) fn header_height(&self) -> f64 {
        header_height(&self.title, Self::LABEL)
    }

    /// Number of actions of the state that has most.
    pub(crate) fn width(&self) -> usize {
        self.rows.iter().map(Vec::len).max().unwrap_or(0)
    }

    /// Name of an action.
    pub(crate) fn action(&self, index: usize) -> String {
        self.actions
            .get(index)
            .cloned()
            .unwrap_or_else(|| format!("action {index}"))
    }

    pub(crate) fn draw(&self, canvas: &mut Canvas, header: f64) {
        draw_header(canvas, &self.title, Self::LABEL, header);
        let limits = Axis::linear("")
            .with_range(0.0, 1.0)
            .limits([].into_iter(), false);
        let ticks = limits.ticks(5);
        let area = area(header, &ticks, 14.0);
        draw_rows(canvas, area, limits, &ticks);
        let width = self.width();
        for (i, row) in self.rows.iter().enumerate() {
            let (x, w) = slot(area, self.rows.len(), i);
            let mut below = 0.0;
            for (a, &p) in row
                .iter()
                .enumerate()
                .filter(|(_, p)| p.is_finite() && **p > 0.0)
            {
                let top = area.y + area.h * (1.0 - (below + p).min(1.0));
                let bottom = area.y + area.h * (1.0 - below);
                // A hair of background keeps neighbours of like lightness apart.
                let hair = if bottom - top > 3.0 { 0.8 } else { 0.0 };
                let state = self.states.get(i).map_or("", String::as_str);
                let title = format!("{state}, {}: {}", self.action(a), number(p));
                canvas.rect_titled(
                    x,
                    top + hair,
                    w,
                    bottom - top - hair,
                    Ink::Fixed(class(a, width)),
                    Some(&title),
                );
                below += p;
            }
        }
        draw_categories(canvas, area, &self.states);
        draw_foot_label(canvas, area, "State");
    }
}

/// Height of a panel with bars.
pub(crate) fn height(header: f64) -> f64 {
    header + PLOT_HEIGHT + FOOT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strides_are_round() {
        assert_eq!(round_stride(0.0), 1);
        assert_eq!(round_stride(3.0), 5);
        assert_eq!(round_stride(11.0), 20);
        assert_eq!(round_stride(60.0), 100);
    }
}
