//! Pictures as pixels: draws the SVG of this module, its texts as outlines.

use ide3al::error::{Error, Result};
use resvg::{tiny_skia, usvg};

use crate::letters::outlined;

/// Most pixels of a picture.
const PIXELS: f64 = 1e8;

/// Draws an SVG on white at `scale` pixels per unit (2 for sharp screens) as a PNG file's bytes.
///
/// Files and addresses that the SVG may name are never opened.
pub fn png(svg: &str, scale: f64) -> Result<Vec<u8>> {
    let problem =
        |what: String| Error::Unsupported(format!("cannot draw the picture as PNG: {what}"));
    let options = usvg::Options {
        image_href_resolver: usvg::ImageHrefResolver {
            resolve_data: Box::new(|_, _, _| None),
            resolve_string: Box::new(|_, _| None),
        },
        ..usvg::Options::default()
    };
    let tree =
        usvg::Tree::from_str(&outlined(svg)?, &options).map_err(|e| problem(e.to_string()))?;
    let (w, h) = (
        f64::from(tree.size().width()),
        f64::from(tree.size().height()),
    );
    let (width, height) = ((w * scale).ceil(), (h * scale).ceil());
    if !(scale.is_finite() && width >= 1.0 && height >= 1.0 && width * height <= PIXELS) {
        return Err(problem(format!(
            "{w} x {h} at scale {scale} is not between 1 and {PIXELS} pixels; choose another scale"
        )));
    }
    let mut pixels = tiny_skia::Pixmap::new(width as u32, height as u32)
        .ok_or_else(|| problem("no memory for it".into()))?;
    pixels.fill(tiny_skia::Color::WHITE);
    let transform = tiny_skia::Transform::from_scale(scale as f32, scale as f32);
    resvg::render(&tree, transform, &mut pixels.as_mut());
    pixels.encode_png().map_err(|e| problem(e.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pixels(bytes: &[u8]) -> tiny_skia::Pixmap {
        tiny_skia::Pixmap::decode_png(bytes).unwrap()
    }

    #[test]
    fn letters_are_drawn_without_system_fonts() {
        let picture = |text: &str| {
            let svg = format!(
                "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 60 20\" width=\"60\" height=\"20\" \
                 font-family=\"system-ui, sans-serif\"><text x=\"2\" y=\"15\" font-size=\"14\">{text}</text></svg>"
            );
            pixels(&png(&svg, 2.0).unwrap())
        };
        let (empty, full) = (picture(""), picture("ζ ≤ 10⁻³"));
        assert_eq!((full.width(), full.height()), (120, 40));
        let dark = |p: &tiny_skia::Pixmap| p.pixels().iter().filter(|c| c.red() < 128).count();
        assert_eq!(dark(&empty), 0);
        assert!(dark(&full) > 100);
    }

    #[test]
    fn bad_input_is_an_error() {
        assert!(png("<svg", 1.0).is_err());
        let svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 60 20\" width=\"60\" height=\"20\"/>";
        for scale in [0.0, -1.0, f64::NAN, 1e9] {
            let message = png(svg, scale).unwrap_err().to_string();
            assert!(message.contains("scale"), "{message}");
        }
    }
}
