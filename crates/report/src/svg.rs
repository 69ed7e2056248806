//! Writing SVG: a canvas of few shapes, text with a known width.
//!
//! Shapes carry their light colours as attributes, so a file alone looks right on white in any
//! viewer, and a class by which a dark page repaints them. No ids are used: many pictures share
//! one page.

use super::escape::escape;
use super::palette::{Ink, Marker, Role};
use std::fmt::Write;

/// Families asked for in this order; the last is the one PNGs are drawn with.
const FONT: &str = "system-ui, -apple-system, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif";

/// Which point of a text lies at its coordinates.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Anchor {
    Start,
    Middle,
    End,
}

/// The inside of an SVG element.
#[derive(Debug, Default)]
pub(crate) struct Canvas {
    body: String,
}

/// A coordinate with at most two decimals; what is no number becomes 0.
fn n(value: f64) -> String {
    if !value.is_finite() {
        return "0".into();
    }
    let text = format!("{value:.2}");
    let short = text.trim_end_matches('0').trim_end_matches('.');
    match short {
        "-0" | "" => "0".into(),
        _ => short.into(),
    }
}

fn paint(attribute: char, ink: Ink) -> String {
    let (colour, class) = ink.light();
    let name = if attribute == 'f' { "fill" } else { "stroke" };
    match class {
        Some(class) => format!(" {name}=\"{colour}\" class=\"{attribute}-{class}\""),
        None => format!(" {name}=\"{colour}\""),
    }
}

impl Canvas {
    // Writing to a string cannot fail, so the results of `write!` are dropped below.

    pub(crate) fn rect(&mut self, x: f64, y: f64, w: f64, h: f64, ink: Ink) {
        self.rect_titled(x, y, w, h, ink, None);
    }

    /// A rectangle that shows `title` when pointed at.
    pub(crate) fn rect_titled(
        &mut self,
        x: f64,
        y: f64,
        w: f64,
        h: f64,
        ink: Ink,
        title: Option<&str>,
    ) {
        let _ = write!(
            self.body,
            "<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\"{}",
            n(x),
            n(y),
            n(w.max(0.0)),
            n(h.max(0.0)),
            paint('f', ink)
        );
        match title {
            Some(title) => {
                let _ = write!(self.body, "><title>{}</title></rect>", escape(title));
            }
            None => self.body.push_str("/>"),
        }
    }

    pub(crate) fn line(
        &mut self,
        from: (f64, f64),
        to: (f64, f64),
        ink: Ink,
        width: f64,
        dash: &str,
    ) {
        let _ = write!(
            self.body,
            "<line x1=\"{}\" y1=\"{}\" x2=\"{}\" y2=\"{}\" stroke-width=\"{}\"{}{}/>",
            n(from.0),
            n(from.1),
            n(to.0),
            n(to.1),
            n(width),
            dash_attribute(dash),
            paint('s', ink)
        );
    }

    /// A line through points.
    pub(crate) fn path(&mut self, points: &[(f64, f64)], ink: Ink, width: f64, dash: &str) {
        let _ = write!(
            self.body,
            "<path d=\"{}\" fill=\"none\" stroke-width=\"{}\" stroke-linejoin=\"round\"{}{}/>",
            path_data(points),
            n(width),
            dash_attribute(dash),
            paint('s', ink)
        );
    }

    /// A translucent filled outline.
    pub(crate) fn band(&mut self, outline: &[(f64, f64)], ink: Ink) {
        let _ = write!(
            self.body,
            "<path d=\"{}Z\" fill-opacity=\"0.18\"{}/>",
            path_data(outline),
            paint('f', ink)
        );
    }

    pub(crate) fn marker(&mut self, x: f64, y: f64, role: Role, title: Option<&str>) {
        let r = 3.4;
        let at = |dx: f64, dy: f64| format!("{} {}", n(x + dx * r), n(y + dy * r));
        let polygon = |corners: &[(f64, f64)]| {
            let corners: Vec<String> = corners.iter().map(|&(dx, dy)| at(dx, dy)).collect();
            format!("M{}Z", corners.join("L"))
        };
        let rays = |ends: &[(f64, f64)]| -> String {
            ends.iter()
                .map(|&(dx, dy)| format!("M{}L{}", at(dx, dy), at(-dx, -dy)))
                .collect()
        };
        let (data, filled) = match role.look().marker {
            Marker::Circle => (
                format!(
                    "M{}a{r} {r} 0 1 0 {} 0a{r} {r} 0 1 0 -{} 0Z",
                    at(-1.0, 0.0),
                    n(2.0 * r),
                    n(2.0 * r)
                ),
                true,
            ),
            Marker::Square => (
                polygon(&[(-0.9, -0.9), (0.9, -0.9), (0.9, 0.9), (-0.9, 0.9)]),
                true,
            ),
            Marker::Triangle => (polygon(&[(0.0, -1.2), (1.1, 0.8), (-1.1, 0.8)]), true),
            Marker::Wedge => (polygon(&[(0.0, 1.2), (1.1, -0.8), (-1.1, -0.8)]), true),
            Marker::Diamond => (
                polygon(&[(0.0, -1.3), (1.1, 0.0), (0.0, 1.3), (-1.1, 0.0)]),
                true,
            ),
            Marker::Cross => (rays(&[(-0.9, -0.9), (-0.9, 0.9)]), false),
            Marker::Plus => (rays(&[(-1.2, 0.0), (0.0, -1.2)]), false),
            Marker::Star => (rays(&[(-1.2, 0.0), (-0.6, -1.04), (0.6, -1.04)]), false),
        };
        let look = if filled {
            paint('f', Ink::Role(role))
        } else {
            format!(
                " fill=\"none\" stroke-width=\"1.8\"{}",
                paint('s', Ink::Role(role))
            )
        };
        let _ = write!(self.body, "<path d=\"{data}\"{look}");
        match title {
            Some(title) => {
                let _ = write!(self.body, "><title>{}</title></path>", escape(title));
            }
            None => self.body.push_str("/>"),
        }
    }

    pub(crate) fn text(&mut self, x: f64, y: f64, size: f64, anchor: Anchor, ink: Ink, text: &str) {
        self.weighted_text(x, y, size, anchor, ink, text, false);
    }

    #[expect(clippy::too_many_arguments, reason = "all of them plain")]
    pub(crate) fn weighted_text(
        &mut self,
        x: f64,
        y: f64,
        size: f64,
        anchor: Anchor,
        ink: Ink,
        text: &str,
        strong: bool,
    ) {
        let anchor = match anchor {
            Anchor::Start => "",
            Anchor::Middle => " text-anchor=\"middle\"",
            Anchor::End => " text-anchor=\"end\"",
        };
        let weight = if strong { " font-weight=\"600\"" } else { "" };
        let _ = write!(
            self.body,
            "<text x=\"{}\" y=\"{}\" font-size=\"{}\"{anchor}{weight}{}>{}</text>",
            n(x),
            n(y),
            n(size),
            paint('f', ink),
            escape(text)
        );
    }

    /// Draws inside a window that cuts off what leaves it; coordinates stay those of the canvas.
    pub(crate) fn window(
        &mut self,
        x: f64,
        y: f64,
        w: f64,
        h: f64,
        draw: impl FnOnce(&mut Canvas),
    ) {
        let (x, y, w, h) = (n(x), n(y), n(w), n(h));
        let _ = write!(
            self.body,
            "<svg x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" viewBox=\"{x} {y} {w} {h}\">"
        );
        draw(self);
        self.body.push_str("</svg>");
    }

    /// Draws with the origin moved.
    pub(crate) fn moved(&mut self, x: f64, y: f64, draw: impl FnOnce(&mut Canvas)) {
        let _ = write!(self.body, "<g transform=\"translate({} {})\">", n(x), n(y));
        draw(self);
        self.body.push_str("</g>");
    }

    /// Takes over what another canvas holds.
    pub(crate) fn append(&mut self, other: Canvas) {
        self.body.push_str(&other.body);
    }

    /// The whole element. `description` is what a screen reader says.
    pub(crate) fn finish(self, width: f64, height: f64, description: &str) -> String {
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {w} {h}\" width=\"{w}\" height=\"{h}\" \
             role=\"img\" aria-label=\"{}\" font-family=\"{FONT}\">{}</svg>",
            escape(description),
            self.body,
            w = n(width),
            h = n(height),
        )
    }
}

fn dash_attribute(dash: &str) -> String {
    if dash.is_empty() {
        String::new()
    } else {
        format!(" stroke-dasharray=\"{dash}\"")
    }
}

fn path_data(points: &[(f64, f64)]) -> String {
    let mut data = String::with_capacity(12 * points.len());
    for (i, &(x, y)) in points.iter().enumerate() {
        let _ = write!(data, "{}{} {}", if i == 0 { 'M' } else { 'L' }, n(x), n(y));
    }
    data
}

/// Width of a text in pixels: advance widths of a wide sans-serif (DejaVu Sans), so that narrower
/// system fonts fit too.
pub(crate) fn text_width(text: &str, size: f64) -> f64 {
    let ems: f64 = text
        .chars()
        .map(|c| match c {
            'i' | 'j' | 'l' | '\'' | '|' | '·' => 0.29,
            ' ' | '.' | ',' | ':' | ';' | 'I' | 'f' | 't' | '/' | '\\' | '-' | '!' => 0.36,
            '(' | ')' | '[' | ']' | 'r' | '⁻' | '⁰'..='⁹' | '¹' | '²' | '³' => 0.42,
            'm' | 'M' | 'W' | '@' | '%' => 0.99,
            'w' | '+' | '=' | '<' | '>' | '−' | '≤' | '≥' => 0.84,
            'A'..='Z' => 0.70,
            '\u{20}'..='\u{24F}' | 'α'..='ω' => 0.63,
            _ => 1.0,
        })
        .sum();
    ems * size
}

/// Cuts a text to a width, with an ellipsis where something is left out.
pub(crate) fn fit(text: &str, size: f64, width: f64) -> String {
    if text_width(text, size) <= width {
        return text.to_owned();
    }
    let mut kept = String::new();
    let mut used = text_width("…", size);
    for c in text.chars() {
        used += text_width(c.encode_utf8(&mut [0; 4]), size);
        if used > width {
            break;
        }
        kept.push(c);
    }
    kept.trim_end().to_owned() + "…"
}

/// Breaks a text into at most `lines` lines of a width; the last is cut where it does not fit.
pub(crate) fn wrap(text: &str, size: f64, width: f64, lines: usize) -> Vec<String> {
    let mut out: Vec<String> = Vec::new();
    let mut words = text.split_whitespace().peekable();
    while let Some(word) = words.next() {
        let mut line = word.to_owned();
        if out.len() + 1 == lines {
            for rest in words.by_ref() {
                line = line + " " + rest;
            }
        } else {
            while let Some(next) = words.peek() {
                let longer = format!("{line} {next}");
                if text_width(&longer, size) > width {
                    break;
                }
                line = longer;
                words.next();
            }
        }
        out.push(fit(&line, size, width));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn coordinates_are_short_and_always_numbers() {
        assert_eq!(n(1.0), "1");
        assert_eq!(n(-0.001), "0");
        assert_eq!(n(12.345), "12.35");
        assert_eq!(n(100.0), "100");
        assert_eq!(n(f64::NAN), "0");
    }

    #[test]
    fn wrapping_keeps_words_and_limits() {
        let text = "one two three four five six seven eight nine ten";
        let lines = wrap(text, 10.0, 90.0, 10);
        assert_eq!(lines.join(" "), text);
        assert!(lines.iter().all(|l| text_width(l, 10.0) <= 90.0));
        let cut = wrap(text, 10.0, 90.0, 2);
        assert_eq!(cut.len(), 2);
        assert!(cut[1].ends_with('…') && text_width(&cut[1], 10.0) <= 90.0);
        assert!(wrap("", 10.0, 90.0, 2).is_empty());
    }
}
