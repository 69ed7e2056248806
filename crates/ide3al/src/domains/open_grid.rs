//! An open rectangle of cells of any size, for benchmarks.
//!
//! Source: the grid worlds of Sutton and Barto (2018), without rewards.

use super::{check_count, check_share, check_transitions, grid};
use crate::error::Result;
use crate::model::Mdp;

/// Four moves (right, down, left, up); one against the edge stays. With probability `slip` a
/// uniformly random one of the four happens instead. Starts in the top left corner.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct OpenGrid {
    /// Rows of cells.
    pub rows: usize,
    /// Columns of cells.
    pub columns: usize,
    /// Probability that a random move happens instead.
    pub slip: f64,
}

impl Default for OpenGrid {
    fn default() -> Self {
        OpenGrid {
            rows: 10,
            columns: 10,
            slip: 0.1,
        }
    }
}

impl OpenGrid {
    /// Checks the parameters.
    pub fn validate(&self) -> Result<()> {
        check_count("rows", self.rows, 1, u32::MAX as usize - 1)?;
        check_count("columns", self.columns, 1, u32::MAX as usize - 1)?;
        check_transitions("rows x columns x 16", &[self.rows, self.columns, 16])?;
        check_share("slip", self.slip)
    }

    /// Builds the model.
    pub fn build(&self) -> Result<Mdp> {
        self.validate()?;
        let ground = grid::Ground {
            slip: self.slip,
            only: None,
        };
        grid::walk(self.rows, self.columns, |_| Some(ground), &[0])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slipping_mixes_in_the_four_moves() {
        let grid = OpenGrid {
            rows: 2,
            columns: 3,
            slip: 0.2,
        };
        let dense = grid.build().unwrap().kernel().to_dense();
        // top left corner, right: left and up are blocked and stay
        let expected = [0.1, 0.85, 0.0, 0.05, 0.0, 0.0];
        for (found, expected) in dense[0].iter().zip(expected) {
            assert!((found - expected).abs() < 1e-15);
        }
    }
}
