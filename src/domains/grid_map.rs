//! Text maps that a person draws.

use std::path::Path;

use super::{check_share, check_transitions, grid};
use crate::error::{Error, Result};
use crate::model::Mdp;

/// A map drawn in text.
///
/// ```text
/// slip = 0.1
/// #######
/// #S..#.#
/// #.#...#
/// #######
/// ```
///
/// `#` is a wall, `.` or a space a free cell, `S` a free cell to start in (several: one of
/// them at random; none: any free cell). Lines `key = value` may come before the map; the
/// only key is `slip`. Lines shorter than the longest are filled with walls, and beyond the
/// edge is wall. Four moves (right, down, left, up); a blocked one stays. With probability
/// `slip` (0 by default) a uniformly random one of the four moves happens instead.
#[derive(Debug, Clone, PartialEq)]
pub struct GridMap {
    /// Rows of the map.
    pub rows: usize,
    /// Columns of the map.
    pub columns: usize,
    /// Whether each cell is free, row by row.
    pub free: Vec<bool>,
    /// Cells to start in; empty means any free cell.
    pub start: Vec<usize>,
    /// Probability that a random move happens instead.
    pub slip: f64,
}

impl GridMap {
    /// Reads a map from a file.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(|source| Error::Io {
            path: path.to_owned(),
            action: "read",
            source,
        })?;
        GridMap::parse(&text).map_err(|error| error.in_file(path))
    }

    /// Reads a map from text.
    pub fn parse(text: &str) -> Result<Self> {
        let mut slip = 0.0;
        // numbered from 1, as editors do
        let mut lines: Vec<(usize, &str)> = text.lines().enumerate().collect();
        lines.iter_mut().for_each(|line| line.0 += 1);
        let header = lines
            .iter()
            .take_while(|(_, l)| l.contains('=') || l.trim().is_empty());
        let header = header.count();
        for &(number, line) in lines[..header].iter().filter(|(_, l)| l.contains('=')) {
            let (key, value) = line.split_once('=').unwrap_or((line, ""));
            let (key, value) = (key.trim(), value.trim());
            if key != "slip" {
                let unknown = Error::unknown("map setting", key, &["slip"]);
                return Err(Error::Unsupported(format!("line {number}: {unknown}")));
            }
            slip = value.parse().map_err(|_| {
                Error::Unsupported(format!("line {number}: slip = {value}: a number is needed"))
            })?;
        }
        lines.drain(..header);
        while lines.last().is_some_and(|(_, line)| line.trim().is_empty()) {
            lines.pop();
        }
        let rows = lines.len();
        let columns = lines
            .iter()
            .map(|(_, l)| l.chars().count())
            .max()
            .unwrap_or(0);
        check_transitions("map cells x 16", &[rows, columns, 16])?;
        let mut map = GridMap {
            rows,
            columns,
            free: vec![false; rows * columns],
            start: Vec::new(),
            slip,
        };
        for (row, (number, line)) in lines.iter().enumerate() {
            for (column, character) in line.chars().enumerate() {
                let cell = row * columns + column;
                match character {
                    '#' => {}
                    '.' | ' ' => map.free[cell] = true,
                    'S' => {
                        map.free[cell] = true;
                        map.start.push(cell);
                    }
                    other => {
                        return Err(Error::Unsupported(format!(
                            "line {number}, column {}: {other:?} is not part of a map; use '#' for a wall, '.' or a space for a free cell, 'S' for a start",
                            column + 1
                        )));
                    }
                }
            }
        }
        map.validate()?;
        Ok(map)
    }

    /// Checks that there is a free cell and that `slip` is a probability.
    pub fn validate(&self) -> Result<()> {
        if !self.free.contains(&true) {
            return Err(Error::Unsupported(
                "the map has no free cell; draw at least one '.' or 'S'".into(),
            ));
        }
        if self.free.len() != self.rows * self.columns {
            return Err(Error::Size {
                what: "map cells".into(),
                expected: format!("{} x {}", self.rows, self.columns),
                found: self.free.len().to_string(),
            });
        }
        if let Some(&cell) = self
            .start
            .iter()
            .find(|&&c| self.free.get(c) != Some(&true))
        {
            return Err(Error::BadStart {
                problem: format!("cell {cell} of the map is not free"),
            });
        }
        check_share("slip", self.slip)
    }

    /// Builds the model.
    pub fn build(&self) -> Result<Mdp> {
        self.validate()?;
        let anywhere: Vec<usize>;
        let start = if self.start.is_empty() {
            anywhere = (0..self.free.len()).filter(|&c| self.free[c]).collect();
            &anywhere
        } else {
            &self.start
        };
        grid::walk(self.rows, self.columns, |c| self.free[c], start, self.slip)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_walls_starts_and_slip() {
        let map = GridMap::parse("slip = 0.25\n\n##\n#S.S\n").unwrap();
        assert_eq!((map.rows, map.columns, map.slip), (2, 4, 0.25));
        let mdp = map.build().unwrap();
        assert_eq!(mdp.n_states(), 3);
        assert_eq!(mdp.start(), [0.5, 0.0, 0.5]);
        assert_eq!(mdp.state_name(1), "(1,2)");
    }

    #[test]
    fn says_where_a_map_is_wrong() {
        let message = |text: &str| GridMap::parse(text).unwrap_err().to_string();
        assert!(message("####\n").contains("no free cell"));
        assert!(message("").contains("no free cell"));
        assert!(message("#.x\n").contains("line 1, column 3"));
        assert!(message("slpi = 1\n.\n").contains("did you mean 'slip'"));
        assert!(message("slip = high\n.\n").contains("line 1"));
        assert!(message("slip = nan\n.\n").contains("0 to 1"));
    }
}
