//! Where the states of a grid world lie, for heat maps.

/// Places states on the cells of a rectangular map. Several states may share a cell
/// (Knight Quest: the knight's cell); a cell without states is a wall.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Rows of the map.
    pub rows: usize,
    /// Columns of the map.
    pub columns: usize,
    /// Cell of each state, as `row * columns + column`.
    pub cells: Vec<usize>,
}

impl Layout {
    /// Sums a quantity per state into one per cell; `None` where no state lies (a wall).
    pub fn per_cell(&self, per_state: &[f64]) -> Vec<Option<f64>> {
        let mut sums = vec![None; self.rows * self.columns];
        for (&cell, &value) in self.cells.iter().zip(per_state) {
            *sums[cell].get_or_insert(0.0) += value;
        }
        sums
    }
}
