//! Show it: pictures, pages and tables of results.
//!
//! A picture is data first ([`Figure`](figure::Figure), [`HeatMap`](heat::HeatMap), ...), then SVG
//! text ([`Panels::svg`](panels::Panels::svg)), then, where wanted, a PNG of that very SVG
//! ([`png::png`]). A page ([`html::Page`]) takes the same pictures inline, so that they follow the
//! reader's light or dark setting. Everything is self-contained: no script, no request, no font of
//! the system. Every name is escaped on its way out, since names come from users' files.

pub mod axes;
pub mod bars;
pub mod csv;
pub mod escape;
pub mod figure;
pub mod frontier;
pub mod heat;
mod heatmap;
pub mod html;
pub mod learning;
mod learning_figures;
mod letters;
pub mod palette;
pub mod panels;
mod plot;
pub mod png;
pub mod ramp;
pub mod reproduce;
pub mod seen;
mod svg;
pub mod table;

pub use heatmap::{Ink, heat_map};
pub use table::Table;
