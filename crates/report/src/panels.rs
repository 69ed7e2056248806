//! Several pictures side by side under one legend.

use super::bars::{self, Bars, PolicyBars};
use super::figure::{Figure, Style};
use super::heat::HeatMap;
use super::palette::{Ink, Rgb, Role};
use super::plot::{FOOT, PLOT_HEIGHT, WIDTH, draw_chart, header_height};
use super::ramp::class;
use super::svg::{Anchor, Canvas, text_width, wrap};

const GAP: f64 = 22.0;
const MARGIN: f64 = 14.0;
const HEADLINE: f64 = 17.0;
const LEGEND: f64 = 12.5;
const CAPTION: f64 = 11.5;
const SAMPLE: f64 = 30.0;

/// One picture.
#[derive(Debug, Clone, PartialEq)]
pub enum Panel {
    /// Lines and points.
    Chart(Figure),
    /// A map.
    Heat(HeatMap),
    /// One bar per category.
    Bars(Bars),
    /// Stacked bars of a policy.
    Policy(PolicyBars),
}

/// Pictures that belong together.
#[derive(Debug, Clone, PartialEq)]
pub struct Panels {
    /// Title of the whole; may be empty.
    pub title: String,
    /// The pictures, row by row.
    pub panels: Vec<Panel>,
    /// Pictures per row of a file; a page arranges them by its own width.
    pub columns: usize,
    /// What to see and how to read it, bands included.
    pub caption: String,
}

/// How an entry of the legend looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Key {
    /// A line, with its band if it has one.
    Line {
        role: Role,
        band: bool,
        dashed: bool,
    },
    /// A marker alone.
    Points(Role),
    /// A horizontal reference line.
    Reference,
    /// A patch of colour.
    Patch(Rgb),
}

/// An entry of the legend.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub(crate) name: String,
    pub(crate) key: Key,
}

impl Entry {
    /// Draws the sample in a box of [`SAMPLE`] by 14 whose left middle is given.
    fn draw_sample(&self, canvas: &mut Canvas, x: f64, y: f64) {
        let (from, to, middle) = ((x, y), (x + SAMPLE, y), x + SAMPLE / 2.0);
        match self.key {
            Key::Line { role, band, dashed } => {
                if band {
                    let outline = [
                        (x, y - 6.0),
                        (x + SAMPLE, y - 6.0),
                        (x + SAMPLE, y + 6.0),
                        (x, y + 6.0),
                    ];
                    canvas.band(&outline, Ink::Role(role));
                }
                let dash = if dashed { role.look().dash } else { "" };
                canvas.path(&[from, to], Ink::Role(role), 2.0, dash);
                canvas.marker(middle, y, role, None);
            }
            Key::Points(role) => canvas.marker(middle, y, role, None),
            Key::Reference => canvas.line(from, to, Ink::Muted, 1.4, "3 2"),
            Key::Patch(colour) => {
                canvas.rect(x + SAMPLE - 14.0, y - 6.0, 14.0, 12.0, Ink::Fixed(colour))
            }
        }
    }

    /// The sample alone, for the legend of a page.
    pub(crate) fn sample_svg(&self) -> String {
        let mut canvas = Canvas::default();
        self.draw_sample(&mut canvas, 0.0, 8.0);
        canvas.finish(SAMPLE, 16.0, "")
    }

    fn width(&self) -> f64 {
        SAMPLE + 6.0 + text_width(&self.name, LEGEND) + 20.0
    }
}

impl Panel {
    fn header_height(&self) -> f64 {
        match self {
            Panel::Chart(figure) => header_height(&figure.title, &figure.y.label),
            Panel::Heat(map) => map.header_height(),
            Panel::Bars(bars) => bars.header_height(),
            Panel::Policy(policy) => policy.header_height(),
        }
    }

    fn height(&self, header: f64) -> f64 {
        match self {
            Panel::Chart(_) => header + PLOT_HEIGHT + FOOT,
            Panel::Heat(map) => map.height(header),
            Panel::Bars(_) | Panel::Policy(_) => bars::height(header),
        }
    }

    fn draw(&self, canvas: &mut Canvas, header: f64) {
        match self {
            Panel::Chart(figure) => draw_chart(figure, canvas, header),
            Panel::Heat(map) => map.draw(canvas, header),
            Panel::Bars(bars) => bars.draw(canvas, header),
            Panel::Policy(policy) => policy.draw(canvas, header),
        }
    }

    /// Its title.
    pub fn title(&self) -> &str {
        match self {
            Panel::Chart(figure) => &figure.title,
            Panel::Heat(map) => &map.title,
            Panel::Bars(bars) => &bars.title,
            Panel::Policy(policy) => &policy.title,
        }
    }

    fn legend(&self) -> Vec<Entry> {
        match self {
            Panel::Chart(figure) => {
                let series = figure.series.iter().map(|s| Entry {
                    name: s.name.clone(),
                    key: match s.style {
                        Style::Points => Key::Points(s.role),
                        Style::Line | Style::Both => Key::Line {
                            role: s.role,
                            dashed: s.style == Style::Line,
                            band: s.points.iter().any(super::figure::Point::has_interval),
                        },
                    },
                });
                let references = figure.references.iter().map(|r| Entry {
                    name: r.label.clone(),
                    key: Key::Reference,
                });
                series.chain(references).collect()
            }
            Panel::Heat(_) => Vec::new(),
            Panel::Bars(bars) => bars
                .reference
                .iter()
                .map(|(_, label)| Entry {
                    name: label.clone(),
                    key: Key::Reference,
                })
                .collect(),
            Panel::Policy(policy) => (0..policy.width())
                .map(|a| Entry {
                    name: policy.action(a),
                    key: Key::Patch(class(a, policy.width())),
                })
                .collect(),
        }
    }
}

impl Panels {
    /// Entries of all pictures, each name once.
    pub(crate) fn legend(&self) -> Vec<Entry> {
        let mut entries: Vec<Entry> = Vec::new();
        for entry in self.panels.iter().flat_map(Panel::legend) {
            match entries.iter_mut().find(|e| e.name == entry.name) {
                // A line has a band in the legend if it has one anywhere.
                Some(old) => {
                    if let (Key::Line { band, .. }, Key::Line { band: true, .. }) =
                        (&mut old.key, entry.key)
                    {
                        *band = true;
                    }
                }
                None => entries.push(entry),
            }
        }
        entries
    }

    /// Tallest header of the given pictures, so that their drawing areas begin at one height.
    fn shared_header(panels: &[Panel]) -> f64 {
        panels.iter().map(Panel::header_height).fold(0.0, f64::max)
    }

    /// Every picture as an SVG of its own, for a page that brings its own legend.
    pub(crate) fn separate(&self) -> Vec<String> {
        let header = Self::shared_header(&self.panels);
        self.panels
            .iter()
            .map(|panel| {
                let mut canvas = Canvas::default();
                let height = panel.height(header);
                canvas.rect(0.0, 0.0, WIDTH, height, Ink::Background);
                panel.draw(&mut canvas, header);
                canvas.finish(WIDTH, height, panel.title())
            })
            .collect()
    }

    /// Legend entries in rows that fit a width.
    fn legend_rows(&self, width: f64) -> Vec<Vec<Entry>> {
        let mut rows: Vec<Vec<Entry>> = Vec::new();
        let mut used = f64::INFINITY;
        for mut entry in self.legend() {
            entry.name = super::svg::fit(&entry.name, LEGEND, width - SAMPLE - 8.0);
            if used + entry.width() - 20.0 > width {
                rows.push(Vec::new());
                used = 0.0;
            }
            used += entry.width();
            if let Some(row) = rows.last_mut() {
                row.push(entry);
            }
        }
        rows
    }

    /// The whole picture as the text of an SVG file: title, legend, pictures, caption.
    pub fn svg(&self) -> String {
        let columns = self.columns.clamp(1, self.panels.len().max(1));
        let inner = WIDTH * columns as f64 + GAP * (columns - 1) as f64;
        let mut body = Canvas::default();
        let mut y = MARGIN;
        for line in wrap(&self.title, HEADLINE * 1.06, inner, 3) {
            body.weighted_text(
                MARGIN,
                y + 16.0,
                HEADLINE,
                Anchor::Start,
                Ink::Text,
                &line,
                true,
            );
            y += 23.0;
        }
        if !self.title.is_empty() {
            y += 5.0;
        }
        for row in self.legend_rows(inner) {
            let mut x = MARGIN + 2.0;
            for entry in row {
                entry.draw_sample(&mut body, x, y + 8.0);
                body.text(
                    x + SAMPLE + 6.0,
                    y + 12.0,
                    LEGEND,
                    Anchor::Start,
                    Ink::Text,
                    &entry.name,
                );
                x += entry.width();
            }
            y += 21.0;
        }
        y += 6.0;
        for row in self.panels.chunks(columns) {
            let header = Self::shared_header(row);
            for (i, panel) in row.iter().enumerate() {
                let x = MARGIN + (WIDTH + GAP) * i as f64;
                body.moved(x, y, |canvas| panel.draw(canvas, header));
            }
            y += row.iter().map(|p| p.height(header)).fold(0.0, f64::max) + 14.0;
        }
        for line in wrap(&self.caption, CAPTION, inner, 12) {
            body.text(MARGIN, y + 10.0, CAPTION, Anchor::Start, Ink::Muted, &line);
            y += 16.0;
        }
        let (width, height) = (inner + 2.0 * MARGIN, y + MARGIN - 6.0);
        let mut canvas = Canvas::default();
        canvas.rect(0.0, 0.0, width, height, Ink::Background);
        canvas.append(body);
        let first = self.panels.first().map_or("", Panel::title);
        let description = if self.title.is_empty() {
            first
        } else {
            &self.title
        };
        canvas.finish(width, height, description)
    }
}

#[cfg(test)]
mod tests {
    use super::super::axes::Axis;
    use super::super::figure::Point;
    use super::*;

    const EVIL: &str = "</text><script>alert('x')</script>\" onload=\"alert(1)\0&";

    fn everything(name: &str) -> Panels {
        let points = |shift: f64| {
            (0..50)
                .map(|i| {
                    let y = f64::from(i) + shift;
                    Point::with_interval(
                        f64::from(i),
                        if i == 20 { f64::NAN } else { y },
                        y - 1.0,
                        y + 1.0,
                    )
                })
                .collect()
        };
        Panels {
            title: name.into(),
            caption: name.into(),
            columns: 2,
            panels: vec![
                Panel::Chart(
                    Figure::new(name, Axis::linear(name), Axis::log(name))
                        .with(name, Role::Ideal, Style::Line, points(0.0))
                        .with("b", Role::Random, Style::Points, points(3.0))
                        .with_reference(4.0, name),
                ),
                Panel::Heat(HeatMap {
                    title: name.into(),
                    label: name.into(),
                    rows: 2,
                    columns: 2,
                    cells: vec![Some(1.0), None, Some(f64::NAN), Some(2.0)],
                    range: None,
                }),
                Panel::Bars(Bars {
                    title: name.into(),
                    x_label: name.into(),
                    y_label: name.into(),
                    categories: vec![name.into(), name.into()],
                    values: vec![1.0, f64::INFINITY],
                    role: Role::Dual,
                    largest: None,
                    reference: Some((0.5, name.into())),
                }),
                Panel::Policy(PolicyBars {
                    title: name.into(),
                    states: vec![name.into()],
                    actions: vec![name.into()],
                    rows: vec![vec![0.2, 0.8], vec![1.0]],
                }),
            ],
        }
    }

    #[test]
    fn every_picture_is_well_formed_and_names_stay_text() {
        let panels = everything(EVIL);
        for svg in panels.separate().into_iter().chain([panels.svg()]) {
            let document = roxmltree::Document::parse(&svg).unwrap();
            for node in document.descendants() {
                assert_ne!(node.tag_name().name(), "script");
                assert!(node.attributes().all(|a| !a.name().starts_with("on")));
            }
            assert!(
                document
                    .descendants()
                    .any(|n| n.text().is_some_and(|t| t.contains("</text>")))
            );
        }
    }

    #[test]
    fn empty_pictures_are_drawn() {
        let figure = Figure::new("", Axis::linear(""), Axis::log(""));
        let svg = figure.svg();
        roxmltree::Document::parse(&svg).unwrap();
        assert!(svg.contains("no data"));
        let none = Panels {
            title: String::new(),
            panels: vec![],
            columns: 0,
            caption: String::new(),
        };
        roxmltree::Document::parse(&none.svg()).unwrap();
    }

    #[test]
    fn legend_names_each_series_once() {
        let mut panels = everything("a");
        panels.panels.push(panels.panels[0].clone());
        let names: Vec<String> = panels.legend().into_iter().map(|e| e.name).collect();
        let mut unique = names.clone();
        unique.dedup();
        assert_eq!(names, unique);
        assert!(names.contains(&"b".to_owned()));
    }

    /// No text of a chart lies on another, whatever the size of its numbers.
    #[test]
    fn labels_keep_apart() {
        for (low, high) in [
            (0.0, 1.0),
            (0.0, 3e6),
            (1e-7, 3e-7),
            (123_456.0, 123_457.0),
            (-5.0, 99_999.0),
        ] {
            let points = vec![Point::new(low, low), Point::new(high, high)];
            let svg = Figure::new("Title", Axis::linear("x"), Axis::linear("y"))
                .with("s", Role::Ideal, Style::Both, points)
                .svg();
            let document = roxmltree::Document::parse(&svg).unwrap();
            let boxes: Vec<(f64, f64, f64, f64)> = document
                .descendants()
                .filter(|n| n.has_tag_name("text"))
                .map(|n| {
                    let number = |name: &str| n.attribute(name).unwrap().parse::<f64>().unwrap();
                    let (x, y, size) = (number("x"), number("y"), number("font-size"));
                    // The legend stands outside the group of the panel.
                    let shift: f64 = n
                        .ancestors()
                        .filter_map(|a| a.attribute("transform"))
                        .filter_map(|t| {
                            t.trim_end_matches(')')
                                .rsplit(' ')
                                .next()?
                                .parse::<f64>()
                                .ok()
                        })
                        .sum();
                    let across: f64 = n
                        .ancestors()
                        .filter_map(|a| a.attribute("transform"))
                        .filter_map(|t| t.split(['(', ' ']).nth(1)?.parse::<f64>().ok())
                        .sum();
                    let width = text_width(n.text().unwrap_or(""), size);
                    let left = match n.attribute("text-anchor") {
                        Some("middle") => x - width / 2.0,
                        Some("end") => x - width,
                        _ => x,
                    } + across;
                    (
                        left,
                        y - 0.8 * size + shift,
                        left + width,
                        y + 0.2 * size + shift,
                    )
                })
                .collect();
            assert!(boxes.len() > 6);
            for (i, a) in boxes.iter().enumerate() {
                assert!(
                    a.0 >= 0.0 && a.2 <= WIDTH + 2.0 * MARGIN,
                    "{a:?} is cut ({low}, {high})"
                );
                for b in &boxes[..i] {
                    let apart = a.2 <= b.0 || b.2 <= a.0 || a.3 <= b.1 || b.3 <= a.1;
                    assert!(apart, "{a:?} and {b:?} ({low}, {high})");
                }
            }
        }
    }
}
