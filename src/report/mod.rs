//! Show it: tables, maps, figures.

mod heatmap;
pub mod table;

pub use heatmap::{Ink, heat_map};
pub use table::Table;
