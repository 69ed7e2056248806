//! Walking on free cells: what Four Rooms, maps and open grids share.

use super::{check_share, names};
use crate::error::Result;
use crate::model::{Layout, Mdp};

/// The four moves, in the order of the actions.
pub(super) const MOVES: [(&str, isize, isize); 4] = [
    ("right", 0, 1),
    ("down", 1, 0),
    ("left", 0, -1),
    ("up", -1, 0),
];

/// Grids with more states than this carry no state names: a million strings help nobody.
const MOST_NAMED: usize = 10_000;

/// The cell that a move leads to, if it stays within `rows x columns`.
pub(super) fn neighbour(
    (row, column): (usize, usize),
    (down, right): (isize, isize),
    (rows, columns): (usize, usize),
) -> Option<(usize, usize)> {
    let row = row.checked_add_signed(down).filter(|r| *r < rows)?;
    let column = column.checked_add_signed(right).filter(|c| *c < columns)?;
    Some((row, column))
}

/// What a free cell is like.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ground {
    /// Probability that a random move happens instead of the one chosen.
    pub(super) slip: f64,
    /// The only move that leaves it, if it is one-way.
    pub(super) only: Option<usize>,
}

/// One state per free cell, row by row; four moves, a blocked one stays. With the `slip` of its
/// cell a uniformly random one of the four moves happens instead of the one chosen (which
/// may be the same). The start is uniform over the cells `start`.
pub(super) fn walk(
    rows: usize,
    columns: usize,
    ground: impl Fn(usize) -> Option<Ground>,
    start: &[usize],
) -> Result<Mdp> {
    let mut cells = Vec::new();
    let mut grounds = Vec::new();
    for cell in 0..rows * columns {
        if let Some(ground) = ground(cell) {
            check_share("slip", ground.slip)?;
            cells.push(cell);
            grounds.push(ground);
        }
    }
    let mut state_of = vec![u32::MAX; rows * columns];
    for (state, &cell) in cells.iter().enumerate() {
        state_of[cell] = state as u32;
    }
    let target = |state: usize, action: usize| {
        let (row, column) = (cells[state] / columns, cells[state] % columns);
        let (_, down, right) = MOVES[action];
        if grounds[state].only.is_some_and(|only| only != action) {
            return state;
        }
        neighbour((row, column), (down, right), (rows, columns))
            .map(|(r, c)| state_of[r * columns + c])
            .filter(|&t| t != u32::MAX)
            .map_or(state, |t| t as usize)
    };
    let n = cells.len();
    let mut mdp = Mdp::from_fn(n, MOVES.len(), |state, action, row| {
        let slip = grounds[state].slip;
        row.push((target(state, action), 1.0 - slip));
        if slip > 0.0 {
            let each = slip / MOVES.len() as f64;
            row.extend((0..MOVES.len()).map(|a| (target(state, a), each)));
        }
        true
    })?;
    let mut distribution = vec![0.0; n];
    for &cell in start {
        distribution[state_of[cell] as usize] = 1.0 / start.len() as f64;
    }
    mdp = mdp
        .with_start(distribution)?
        .with_action_names(names(&MOVES.map(|m| m.0)))?;
    if n <= MOST_NAMED {
        let name = |cell: &usize| format!("({},{})", cell / columns, cell % columns);
        mdp = mdp.with_state_names(cells.iter().map(name).collect())?;
    }
    Ok(mdp.with_layout(Layout {
        rows,
        columns,
        cells,
    }))
}
