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
/// them at random; none: any free cell), `~` a slippery cell, and `>`, `v`, `<`, `^` a one-way
/// cell: it is left that way only, other moves stay. Lines shorter than the longest are filled with
/// walls, and beyond the edge is wall. Four moves (right, down, left, up); a blocked one stays.
///
/// Lines `key = value` may come before the map. With probability `slip` (0 by default), on slippery
/// cells `ice` (0.5 by default), a uniformly random one of the four moves happens instead of the
/// one chosen. With probability `restart` (0 by default) a step ends in a start cell instead, as if
/// an episode had ended (see [`Mdp::with_restart`]).
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
    /// Slippery cells.
    pub slippery: Vec<usize>,
    /// The same probability on slippery cells.
    pub ice: f64,
    /// One-way cells, each with the number of its move: right, down, left, up.
    pub one_way: Vec<(usize, usize)>,
    /// Probability that a step ends in a start cell instead.
    pub restart: f64,
}

/// Keys that may come before a map.
const KEYS: [&str; 3] = ["slip", "ice", "restart"];

/// One-way cells in the order of the moves.
const ONE_WAY: [char; 4] = ['>', 'v', '<', '^'];

/// How slippery a slippery cell is unless the map says so.
const ICE: f64 = 0.5;

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
        let mut settings = [0.0, ICE, 0.0];
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
            let Some(place) = KEYS.iter().position(|known| *known == key) else {
                let unknown = Error::unknown("map setting", key, &KEYS);
                return Err(Error::Unsupported(format!("line {number}: {unknown}")));
            };
            settings[place] = value.parse().map_err(|_| {
                Error::Unsupported(format!(
                    "line {number}: {key} = {value}: a number is needed"
                ))
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
            slip: settings[0],
            slippery: Vec::new(),
            ice: settings[1],
            one_way: Vec::new(),
            restart: settings[2],
        };
        for (row, (number, line)) in lines.iter().enumerate() {
            for (column, character) in line.chars().enumerate() {
                let cell = row * columns + column;
                let way = ONE_WAY.iter().position(|mark| *mark == character);
                match character {
                    '#' => {}
                    _ if way.is_some() => {
                        map.free[cell] = true;
                        map.one_way.extend(way.map(|way| (cell, way)));
                    }
                    '~' => {
                        map.free[cell] = true;
                        map.slippery.push(cell);
                    }
                    '.' | ' ' => map.free[cell] = true,
                    'S' => {
                        map.free[cell] = true;
                        map.start.push(cell);
                    }
                    other => {
                        return Err(Error::Unsupported(format!(
                            "line {number}, column {}: {other:?} is not part of a map; use '#' for a wall, '.' or a space for a free cell, 'S' for a start, '~' for a slippery cell, '>', 'v', '<' or '^' for a one-way cell",
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
        check_share("slip", self.slip)?;
        check_share("ice", self.ice)?;
        check_share("restart", self.restart)?;
        let marked = self
            .slippery
            .iter()
            .chain(self.one_way.iter().map(|w| &w.0));
        for &cell in marked {
            if self.free.get(cell) != Some(&true) {
                return Err(Error::Unsupported(format!(
                    "cell {cell} of the map is slippery or one-way but not free"
                )));
            }
        }
        match self.one_way.iter().find(|w| w.1 >= ONE_WAY.len()) {
            Some((_, way)) => Err(super::bad(
                "one-way cell",
                way,
                "moves are numbered 0 to 3: right, down, left, up",
            )),
            None => Ok(()),
        }
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
        let plain = grid::Ground {
            slip: self.slip,
            only: None,
        };
        let mut grounds: Vec<_> = self.free.iter().map(|free| free.then_some(plain)).collect();
        for &cell in &self.slippery {
            grounds[cell] = Some(grid::Ground {
                slip: self.ice,
                ..plain
            });
        }
        for &(cell, way) in &self.one_way {
            grounds[cell] = Some(grid::Ground {
                only: Some(way),
                ..plain
            });
        }
        let mdp = grid::walk(self.rows, self.columns, |c| grounds[c], start)?;
        if self.restart > 0.0 {
            return mdp.with_restart(self.restart);
        }
        Ok(mdp)
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
    fn slippery_and_one_way_cells_and_restarts() {
        let mdp = GridMap::parse("ice = 1\nrestart = 0.5\nS>~\n").unwrap();
        let mdp = mdp.build().unwrap();
        let row = |state: usize, action: usize| {
            let row = mdp.row(mdp.pairs(state).start + action);
            let mut dense = [0.0; 3];
            for (t, p) in row.indices.iter().zip(row.values) {
                dense[*t as usize] += p;
            }
            dense
        };
        // half of every step ends at the start
        assert_eq!(row(0, 0), [0.5, 0.5, 0.0]);
        // the one-way cell is left to the right, and only so
        assert_eq!(row(1, 0), [0.5, 0.0, 0.5]);
        assert_eq!(row(1, 2), [0.5, 0.5, 0.0]);
        // on ice every move is random: three of the four stay
        assert_eq!(row(2, 1), [0.5, 0.125, 0.375]);
        let plain = GridMap::parse("S>~\n").unwrap();
        assert_eq!((plain.ice, plain.restart), (0.5, 0.0));
        assert_eq!(plain.one_way, [(1, 0)]);
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
