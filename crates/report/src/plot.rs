//! Drawing a chart: axes, grid, bands, lines, markers.

use super::axes::{Limits, Tick, number};
use super::figure::{Figure, Point, Series, Style, thinned};
use super::palette::Ink;
use super::svg::{Anchor, Canvas, text_width, wrap};

/// Width of every panel.
pub(crate) const WIDTH: f64 = 440.0;
/// Height of the drawing area of charts and bars.
pub(crate) const PLOT_HEIGHT: f64 = 200.0;
/// Below the drawing area: tick labels and the axis label.
pub(crate) const FOOT: f64 = 44.0;
pub(crate) const TITLE: f64 = 14.0;
pub(crate) const LABEL: f64 = 11.5;
pub(crate) const TICK: f64 = 11.0;
/// Most points drawn per line.
const POINTS: usize = 400;

/// A rectangle to draw in.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Area {
    pub(crate) x: f64,
    pub(crate) y: f64,
    pub(crate) w: f64,
    pub(crate) h: f64,
}

fn header_lines(title: &str, label: &str) -> (Vec<String>, Vec<String>) {
    (
        wrap(title, TITLE * 1.06, WIDTH - 8.0, 2),
        wrap(label, LABEL, WIDTH - 8.0, 2),
    )
}

/// Height that the title and the vertical axis's label take above the drawing area.
pub(crate) fn header_height(title: &str, label: &str) -> f64 {
    let (title, label) = header_lines(title, label);
    4.0 + 18.0 * title.len() as f64 + 15.0 * label.len() as f64 + 13.0
}

/// Title at the top, the vertical axis's label just above the drawing area, unrotated.
pub(crate) fn draw_header(canvas: &mut Canvas, title: &str, label: &str, header: f64) {
    let (title, label) = header_lines(title, label);
    for (i, line) in title.iter().enumerate() {
        let y = 15.0 + 18.0 * i as f64;
        canvas.weighted_text(2.0, y, TITLE, Anchor::Start, Ink::Text, line, true);
    }
    for (i, line) in label.iter().rev().enumerate() {
        let y = header - 13.0 - 15.0 * i as f64;
        canvas.text(2.0, y, LABEL, Anchor::Start, Ink::Muted, line);
    }
}

/// The drawing area beside the labels of the vertical axis.
pub(crate) fn area(header: f64, y_ticks: &[Tick], right: f64) -> Area {
    let widest = y_ticks
        .iter()
        .map(|t| text_width(&t.label, TICK))
        .fold(12.0, f64::max);
    let left = 6.0 + widest + 6.0;
    Area {
        x: left,
        y: header,
        w: WIDTH - left - right,
        h: PLOT_HEIGHT,
    }
}

/// Horizontal grid lines with their labels.
pub(crate) fn draw_rows(canvas: &mut Canvas, area: Area, limits: Limits, ticks: &[Tick]) {
    for tick in ticks {
        let y = area.y + area.h * (1.0 - limits.share(tick.value));
        canvas.line((area.x, y), (area.x + area.w, y), Ink::Grid, 1.0, "");
        canvas.text(
            area.x - 6.0,
            y + 4.0,
            TICK,
            Anchor::End,
            Ink::Muted,
            &tick.label,
        );
    }
}

/// Ticks with the middle of each label: one at the edge is moved inwards rather than cut.
fn placed(area: Area, limits: Limits, ticks: Vec<Tick>) -> Vec<(Tick, f64)> {
    ticks
        .into_iter()
        .map(|tick| {
            let half = text_width(&tick.label, TICK) / 2.0;
            let x = area.x + area.w * limits.share(tick.value);
            (tick, x.min(WIDTH - half - 1.0).max(half))
        })
        .collect()
}

/// The most ticks whose labels keep a distance along the horizontal axis.
fn spaced_ticks(area: Area, limits: Limits) -> Vec<(Tick, f64)> {
    for target in (2..=8).rev() {
        let ticks = placed(area, limits, limits.ticks(target));
        let apart = ticks.windows(2).all(|pair| {
            let halves =
                (text_width(&pair[0].0.label, TICK) + text_width(&pair[1].0.label, TICK)) / 2.0;
            pair[1].1 - pair[0].1 >= halves + 12.0
        });
        if apart {
            return ticks;
        }
    }
    placed(area, limits, limits.ticks(1))
}

/// The horizontal axis: line, ticks, labels, name.
fn draw_columns(canvas: &mut Canvas, area: Area, limits: Limits, label: &str) {
    let bottom = area.y + area.h;
    let ends = ((area.x, bottom), (area.x + area.w, bottom));
    canvas.line(ends.0, ends.1, Ink::Axis, 1.0, "");
    for (tick, middle) in spaced_ticks(area, limits) {
        let x = area.x + area.w * limits.share(tick.value);
        canvas.line((x, bottom), (x, bottom + 4.0), Ink::Axis, 1.0, "");
        canvas.text(
            middle,
            bottom + 16.0,
            TICK,
            Anchor::Middle,
            Ink::Muted,
            &tick.label,
        );
    }
    draw_foot_label(canvas, area, label);
}

/// The name of the horizontal axis.
pub(crate) fn draw_foot_label(canvas: &mut Canvas, area: Area, label: &str) {
    let label = super::svg::fit(label, LABEL, WIDTH - 4.0);
    let half = text_width(&label, LABEL) / 2.0;
    let middle =
        (area.x + area.w / 2.0).clamp(half.min(WIDTH / 2.0), (WIDTH - half).max(WIDTH / 2.0));
    canvas.text(
        middle,
        area.y + area.h + 34.0,
        LABEL,
        Anchor::Middle,
        Ink::Muted,
        &label,
    );
}

/// Draws a chart into a panel whose header has the given height.
pub(crate) fn draw_chart(figure: &Figure, canvas: &mut Canvas, header: f64) {
    draw_header(canvas, &figure.title, &figure.y.label, header);
    let shown = |p: &&Point| figure.x.shows(p.x) && figure.y.shows(p.y);
    let points = || figure.series.iter().flat_map(|s| &s.points).filter(shown);
    let xs = figure.x.limits(points().map(|p| p.x), false);
    let heights = points().flat_map(|p| [p.y, p.low, p.high]);
    let ys = figure.y.limits(
        heights.chain(figure.references.iter().map(|r| r.value)),
        true,
    );
    let y_ticks = ys.ticks(5);
    let area = area(header, &y_ticks, 14.0);
    draw_rows(canvas, area, ys, &y_ticks);
    draw_columns(canvas, area, xs, &figure.x.label);
    if points().next().is_none() {
        let middle = (area.x + area.w / 2.0, area.y + area.h / 2.0);
        canvas.text(
            middle.0,
            middle.1,
            12.0,
            Anchor::Middle,
            Ink::Muted,
            "no data",
        );
        return;
    }
    // A margin lets markers at the edge stay whole; values beyond fixed limits are cut.
    let margin = 5.0;
    canvas.window(
        area.x - margin,
        area.y - margin,
        area.w + 2.0 * margin,
        area.h + 2.0 * margin,
        |canvas| {
            for reference in &figure.references {
                let y = area.y + area.h * (1.0 - ys.share(reference.value));
                canvas.line((area.x, y), (area.x + area.w, y), Ink::Muted, 1.4, "3 2");
            }
            let place = |x: f64, y: f64| {
                (
                    area.x + area.w * xs.share(x),
                    area.y + area.h * (1.0 - ys.share(y)),
                )
            };
            let runs: Vec<_> = figure.series.iter().map(|s| (s, runs(figure, s))).collect();
            for (series, runs) in &runs {
                if series.style != Style::Points {
                    for run in runs {
                        draw_band(canvas, series, run, &place, ys);
                    }
                }
            }
            for (i, (series, runs)) in runs.iter().enumerate() {
                for run in runs {
                    draw_run(canvas, series, run, &place, ys);
                }
                draw_markers(canvas, series, runs, &place, (i, figure.series.len()));
            }
        },
    );
}

/// Unbroken pieces of a series, thinned.
fn runs(figure: &Figure, series: &Series) -> Vec<Vec<Point>> {
    series
        .points
        .split(|p| !(figure.x.shows(p.x) && figure.y.shows(p.y)))
        .filter(|run| !run.is_empty())
        .map(|run| thinned(run, POINTS))
        .collect()
}

fn draw_band(
    canvas: &mut Canvas,
    series: &Series,
    run: &[Point],
    place: &impl Fn(f64, f64) -> (f64, f64),
    ys: Limits,
) {
    for piece in run.split(|p| !p.has_interval()) {
        if piece.len() < 2 {
            continue;
        }
        let end = |v: f64| v.clamp(ys.low, ys.high);
        let mut outline: Vec<(f64, f64)> = piece.iter().map(|p| place(p.x, end(p.high))).collect();
        outline.extend(piece.iter().rev().map(|p| place(p.x, end(p.low))));
        canvas.band(&outline, Ink::Role(series.role));
    }
}

fn draw_run(
    canvas: &mut Canvas,
    series: &Series,
    run: &[Point],
    place: &impl Fn(f64, f64) -> (f64, f64),
    ys: Limits,
) {
    let ink = Ink::Role(series.role);
    if series.style == Style::Points {
        for p in run.iter().filter(|p| p.has_interval()) {
            let end = |v: f64| v.clamp(ys.low, ys.high);
            canvas.line(
                place(p.x, end(p.low)),
                place(p.x, end(p.high)),
                ink,
                1.4,
                "",
            );
        }
    } else if run.len() > 1 {
        let path: Vec<(f64, f64)> = run.iter().map(|p| place(p.x, p.y)).collect();
        // Between marks at every point a dash pattern only looks torn.
        let dash = match series.style {
            Style::Line => series.role.look().dash,
            Style::Both | Style::Points => "",
        };
        canvas.path(&path, ink, 2.0, dash);
    }
}

/// All points where they are few or asked for; else six per line, at other places for each
/// series, so that lines on top of each other can be told apart.
fn draw_markers(
    canvas: &mut Canvas,
    series: &Series,
    runs: &[Vec<Point>],
    place: &impl Fn(f64, f64) -> (f64, f64),
    (index, count): (usize, usize),
) {
    let points: Vec<&Point> = runs.iter().flatten().collect();
    let every = if series.style == Style::Line {
        points.len().div_ceil(6).max(1)
    } else {
        1
    };
    let first = if every > 1 {
        every * (index + 1) / (count + 1)
    } else {
        0
    };
    let alone = |p: &Point| runs.iter().any(|run| run.len() == 1 && run[0] == *p);
    for (i, p) in points.iter().enumerate() {
        if i % every == first || alone(p) {
            let (x, y) = place(p.x, p.y);
            let mut title = format!("{}: {} at {}", series.name, number(p.y), number(p.x));
            if p.has_interval() {
                title += &format!(" (from {} to {})", number(p.low), number(p.high));
            }
            canvas.marker(x, y, series.role, Some(&title));
        }
    }
}
