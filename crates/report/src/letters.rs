//! Texts as the outlines of their letters, in a font of our own: a picture looks the same on every
//! machine, with or without fonts, and nothing has to shape text.
//!
//! The texts of our pictures are short, run from left to right, and use Latin and Greek letters,
//! digits and a few signs, so that one glyph per character, its advance and the kerning between
//! neighbours set them as a shaping engine would.

use std::fmt::Write;
use std::ops::Range;
use std::sync::OnceLock;

use ide3al::error::{Error, Result};
use roxmltree::{Document, Node};
use ttf_parser::{Face, GlyphId, OutlineBuilder};

/// DejaVu Sans, compiled in.
fn face() -> Result<&'static Face<'static>> {
    static FACE: OnceLock<Option<Face<'static>>> = OnceLock::new();
    FACE.get_or_init(|| Face::parse(dejavu::sans::regular(), 0).ok())
        .as_ref()
        .ok_or_else(|| problem("the font cannot be read"))
}

fn problem(what: impl std::fmt::Display) -> Error {
    Error::Unsupported(format!("cannot draw the picture as PNG: {what}"))
}

/// The picture with a path in the place of every `text` element; everything else stays as it is.
pub(crate) fn outlined(svg: &str) -> Result<String> {
    let document = Document::parse(svg).map_err(problem)?;
    let mut out = String::with_capacity(2 * svg.len());
    let mut end = 0;
    for node in document
        .descendants()
        .filter(|n| n.has_tag_name((SVG, "text")))
    {
        let Range { start, end: after } = node.range();
        out.push_str(&svg[end..start]);
        write_path(&mut out, face()?, &node)?;
        end = after;
    }
    out.push_str(&svg[end..]);
    Ok(out)
}

const SVG: &str = "http://www.w3.org/2000/svg";

fn write_path(out: &mut String, face: &Face<'_>, text: &Node<'_, '_>) -> Result<()> {
    let number = |name: &str| -> Result<f64> {
        let value = text.attribute(name).unwrap_or("0");
        let wrong = |_| problem(format!("a text has {name}=\"{value}\", which is no number"));
        value.parse().map_err(wrong)
    };
    let line = Line::set(face, text.text().unwrap_or(""));
    let scale = number("font-size")? / f64::from(face.units_per_em());
    let left = match text.attribute("text-anchor") {
        Some("middle") => 0.5 * line.width * scale,
        Some("end") => line.width * scale,
        _ => 0.0,
    };
    let (x, y) = (number("x")? - left, number("y")?);
    // font units point upwards, those of a picture downwards; writing to a string cannot fail
    let _ = write!(
        out,
        "<path transform=\"matrix({scale} 0 0 {} {x} {y})\" fill=\"{}\" d=\"{}\"/>",
        -scale,
        text.attribute("fill").unwrap_or("black"),
        line.outline
    );
    Ok(())
}

/// A line of text in font units.
struct Line {
    outline: String,
    width: f64,
}

impl Line {
    /// Sets one glyph after the other; a character that the font lacks is drawn as its empty box.
    fn set(face: &Face<'_>, text: &str) -> Self {
        let mut pen = Pen {
            outline: String::new(),
            at: 0.0,
        };
        let mut before = None;
        for glyph in text
            .chars()
            .map(|c| face.glyph_index(c).unwrap_or(GlyphId(0)))
        {
            if let Some(before) = before {
                pen.at += kerning(face, before, glyph);
            }
            // a glyph without an outline is a space
            face.outline_glyph(glyph, &mut pen);
            pen.at += f32::from(face.glyph_hor_advance(glyph).unwrap_or(0));
            before = Some(glyph);
        }
        Line {
            outline: pen.outline,
            width: f64::from(pen.at),
        }
    }
}

fn kerning(face: &Face<'_>, left: GlyphId, right: GlyphId) -> f32 {
    let tables = face
        .tables()
        .kern
        .into_iter()
        .flat_map(|kern| kern.subtables);
    let kerning = tables
        .filter(|table| table.horizontal && !table.variable)
        .find_map(|table| table.glyphs_kerning(left, right));
    f32::from(kerning.unwrap_or(0))
}

/// Writes outlines as path data, moved to where the line has come to.
struct Pen {
    outline: String,
    at: f32,
}

impl OutlineBuilder for Pen {
    // writing to a string cannot fail
    fn move_to(&mut self, x: f32, y: f32) {
        let _ = write!(self.outline, "M{} {y}", self.at + x);
    }

    fn line_to(&mut self, x: f32, y: f32) {
        let _ = write!(self.outline, "L{} {y}", self.at + x);
    }

    fn quad_to(&mut self, x1: f32, y1: f32, x: f32, y: f32) {
        let _ = write!(self.outline, "Q{} {y1} {} {y}", self.at + x1, self.at + x);
    }

    fn curve_to(&mut self, x1: f32, y1: f32, x2: f32, y2: f32, x: f32, y: f32) {
        let (x1, x2, x) = (self.at + x1, self.at + x2, self.at + x);
        let _ = write!(self.outline, "C{x1} {y1} {x2} {y2} {x} {y}");
    }

    fn close(&mut self) {
        self.outline.push('Z');
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_paths_and_the_rest_stays() {
        let before = format!("<svg xmlns=\"{SVG}\"><rect/>");
        let after = "<g><rect/></g></svg>";
        let svg = format!("{before}<text x=\"1\" y=\"9\" font-size=\"8\">ab</text>{after}");
        let out = outlined(&svg).unwrap();
        assert!(out.starts_with(&before) && out.ends_with(after) && !out.contains("<text"));
        assert_eq!(out.matches("<path").count(), 1);
        assert!(outlined(&svg.replace("\"8\"", "\"x\"")).is_err());
        assert!(outlined("<svg").is_err());
    }

    #[test]
    fn letters_are_as_wide_as_the_font_says_and_kerned() {
        let face = face().unwrap();
        let width = |text: &str| Line::set(face, text).width;
        assert_eq!(width(""), 0.0);
        assert!(width("AV") < width("A") + width("V"));
        assert_eq!(width("nn"), 2.0 * width("n"));
        assert!(Line::set(face, " ").outline.is_empty());
        // every sign that our pictures use is in the font
        for sign in "ζξθ≤≥−⁻⁰¹²³⁴⁵⁶⁷⁸⁹·…×±–".chars() {
            assert!(face.glyph_index(sign).is_some(), "{sign}");
        }
    }
}
