//! Four Rooms: four rooms joined by four doorways.
//!
//! Source: Sutton, Precup and Singh (1999), "Between MDPs and semi-MDPs", figure 2.

use super::{GridMap, check_share};
use crate::error::Result;
use crate::model::Mdp;

const MAP: &str = "\
#############
#S....#.....#
#.....#.....#
#...........#
#.....#.....#
#.....#.....#
##.####.....#
#.....###.###
#.....#.....#
#.....#.....#
#...........#
#.....#.....#
#############
";

/// An 11 x 11 interior with 104 free cells. Four moves (right, down, left, up); a blocked
/// one stays. With probability `slip` a uniformly random move happens instead. Starts in the
/// top left cell.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct FourRooms {
    /// Probability that a random move happens instead.
    pub slip: f64,
}

impl FourRooms {
    /// Checks the parameters.
    pub fn validate(&self) -> Result<()> {
        check_share("slip", self.slip)
    }

    /// Builds the model.
    pub fn build(&self) -> Result<Mdp> {
        self.validate()?;
        let mut map = GridMap::parse(MAP)?;
        map.slip = self.slip;
        map.build()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn has_104_cells_and_four_doorways() {
        let mdp = FourRooms::default().build().unwrap();
        assert_eq!((mdp.n_states(), mdp.n_pairs()), (104, 416));
        let layout = mdp.layout().unwrap();
        assert_eq!((layout.rows, layout.columns), (13, 13));
        assert_eq!(mdp.start()[0], 1.0);
        assert_eq!(layout.cells[0], 13 + 1);
        // every room can be reached: breadth-first from the start
        let mut seen = [false; 104];
        let mut queue = vec![0];
        while let Some(s) = queue.pop() {
            if std::mem::replace(&mut seen[s], true) {
                continue;
            }
            for pair in mdp.pairs(s) {
                queue.extend(mdp.row(pair).entries().map(|(t, _)| t));
            }
        }
        assert!(seen.iter().all(|s| *s));
        // a doorway has walls on two opposite sides: exactly four such cells
        let free = |r: usize, c: usize| layout.cells.contains(&(r * 13 + c));
        let doors = layout.cells.iter().filter(|&&cell| {
            let (r, c) = (cell / 13, cell % 13);
            let vertical = !free(r - 1, c) && !free(r + 1, c);
            let horizontal = !free(r, c - 1) && !free(r, c + 1);
            vertical != horizontal
        });
        assert_eq!(doors.count(), 4);
    }
}
