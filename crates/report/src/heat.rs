//! Heat maps: one number per cell of a map, walls grey, with a colour bar.

use super::axes::{Limits, Scale, number};
use super::palette::Ink;
use super::plot::{TICK, WIDTH, draw_header, header_height};
use super::ramp::ramp;
use super::svg::{Anchor, Canvas, fit, text_width};
use ide3al::model::Layout;

/// Most cells drawn one by one; a larger map is drawn in blocks.
const CELLS: usize = 10_000;
/// Most cells that answer to being pointed at.
const TITLES: usize = 2_500;
const LARGEST: f64 = 300.0;

/// A map of numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct HeatMap {
    /// Title.
    pub title: String,
    /// What the colours mean, with its unit.
    pub label: String,
    /// Rows.
    pub rows: usize,
    /// Columns.
    pub columns: usize,
    /// Row by row; `None` is a wall. Missing cells at the end count as walls.
    pub cells: Vec<Option<f64>>,
    /// Values of the two ends of the colours; from the data where `None`. Give maps that are to
    /// be compared the same.
    pub range: Option<(f64, f64)>,
}

impl HeatMap {
    /// A quantity per state on the cells of a layout.
    pub fn on_layout(
        title: impl Into<String>,
        label: impl Into<String>,
        layout: &Layout,
        per_state: &[f64],
    ) -> Self {
        HeatMap {
            title: title.into(),
            label: label.into(),
            rows: layout.rows,
            columns: layout.columns,
            cells: layout.per_cell(per_state),
            range: None,
        }
    }

    /// Largest finite value.
    pub fn largest(&self) -> Option<f64> {
        self.cells
            .iter()
            .flatten()
            .copied()
            .filter(|v| v.is_finite())
            .reduce(f64::max)
    }

    fn limits(&self) -> Limits {
        let axis = super::axes::Axis {
            label: String::new(),
            scale: Scale::Linear,
            range: self.range,
        };
        axis.limits(self.cells.iter().flatten().copied(), false)
    }

    /// Cells per side of a drawn block, and the size of a block in pixels.
    fn blocks(&self) -> (usize, f64) {
        let mut block = 1;
        while self.rows.div_ceil(block) * self.columns.div_ceil(block) > CELLS {
            block += 1;
        }
        let columns = self.columns.div_ceil(block).max(1) as f64;
        let rows = self.rows.div_ceil(block).max(1) as f64;
        let size = ((WIDTH - 84.0) / columns).min(LARGEST / rows).min(48.0);
        (block, size)
    }

    fn subtitle(&self) -> String {
        match self.blocks().0 {
            1 => self.label.clone(),
            block => format!(
                "{}; mean over blocks of {block} x {block} cells",
                self.label
            ),
        }
    }

    pub(crate) fn header_height(&self) -> f64 {
        header_height(&self.title, &self.subtitle())
    }

    fn map_height(&self) -> f64 {
        let (block, size) = self.blocks();
        (size * self.rows.div_ceil(block) as f64).max(60.0)
    }

    pub(crate) fn height(&self, header: f64) -> f64 {
        header + self.map_height() + 14.0
    }

    /// Mean of the cells of a block that are no walls.
    fn block_mean(&self, block: usize, row: usize, column: usize) -> Option<f64> {
        let mut sum = 0.0;
        let mut count = 0;
        for r in row * block..((row + 1) * block).min(self.rows) {
            for c in column * block..((column + 1) * block).min(self.columns) {
                if let Some(Some(value)) = self.cells.get(r * self.columns + c) {
                    sum += value;
                    count += 1;
                }
            }
        }
        (count > 0).then(|| sum / f64::from(count))
    }

    pub(crate) fn draw(&self, canvas: &mut Canvas, header: f64) {
        draw_header(canvas, &self.title, &self.subtitle(), header);
        let (block, size) = self.blocks();
        let (rows, columns) = (self.rows.div_ceil(block), self.columns.div_ceil(block));
        let limits = self.limits();
        let colour = |value: f64| Ink::Fixed(ramp(limits.share(value)));
        let width = size * columns as f64;
        canvas.rect(2.0, header, width, size * rows as f64, Ink::Wall);
        let gap = if size >= 8.0 { 1.0 } else { 0.0 };
        for r in 0..rows {
            for c in 0..columns {
                let Some(value) = self.block_mean(block, r, c) else {
                    continue;
                };
                let title = (rows * columns <= TITLES)
                    .then(|| format!("row {r}, column {c}: {}", number(value)));
                let ink = if value.is_finite() {
                    colour(value)
                } else {
                    Ink::Background
                };
                canvas.rect_titled(
                    2.0 + size * c as f64 + gap / 2.0,
                    header + size * r as f64 + gap / 2.0,
                    size - gap,
                    size - gap,
                    ink,
                    title.as_deref(),
                );
            }
        }
        let low = if self.cells.iter().any(Option::is_some) {
            limits
        } else {
            return;
        };
        draw_bar(canvas, 2.0 + width + 14.0, header, self.map_height(), low);
    }
}

/// The colour bar, low end at the bottom.
fn draw_bar(canvas: &mut Canvas, x: f64, y: f64, height: f64, limits: Limits) {
    let strips = 64;
    let step = height / f64::from(strips);
    for i in 0..strips {
        let share = 1.0 - (f64::from(i) + 0.5) / f64::from(strips);
        // Strips overlap a little, so that no seam shows between them.
        let overlap = if i + 1 < strips { 0.6 } else { 0.0 };
        canvas.rect(
            x,
            y + step * f64::from(i),
            12.0,
            step + overlap,
            Ink::Fixed(ramp(share)),
        );
    }
    let target = ((height / 36.0) as usize).clamp(2, 5);
    for tick in limits.ticks(target) {
        let at = y + height * (1.0 - limits.share(tick.value));
        canvas.line((x + 12.0, at), (x + 16.0, at), Ink::Axis, 1.0, "");
        let room = (WIDTH - x - 20.0).max(text_width("0.00", TICK));
        let label = fit(&tick.label, TICK, room);
        canvas.text(x + 19.0, at + 4.0, TICK, Anchor::Start, Ink::Muted, &label);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(rows: usize, columns: usize) -> HeatMap {
        HeatMap {
            title: "t".into(),
            label: "l".into(),
            rows,
            columns,
            cells: (0..rows * columns)
                .map(|i| (!i.is_multiple_of(7)).then_some(i as f64))
                .collect(),
            range: None,
        }
    }

    #[test]
    fn large_maps_are_drawn_in_blocks_that_say_so() {
        let large = map(316, 316);
        let (block, _) = large.blocks();
        assert_eq!(block, 4);
        assert!(large.subtitle().contains("blocks of 4 x 4"));
        let mut canvas = Canvas::default();
        large.draw(&mut canvas, 40.0);
        assert!(canvas.finish(1.0, 1.0, "").len() < 1_000_000);
    }

    #[test]
    fn block_means_leave_walls_out() {
        let mut small = map(2, 2);
        small.cells = vec![None, Some(1.0), Some(2.0), Some(6.0)];
        assert_eq!(small.block_mean(2, 0, 0), Some(3.0));
        assert_eq!(small.block_mean(1, 0, 0), None);
    }
}
