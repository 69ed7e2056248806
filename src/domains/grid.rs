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

/// One state per free cell, row by row; four moves, a blocked one stays. With probability
/// `slip` a uniformly random one of the four moves happens instead of the one chosen (which
/// may be the same). The start is uniform over the cells `start`.
pub(super) fn walk(
    rows: usize,
    columns: usize,
    free: impl Fn(usize) -> bool,
    start: &[usize],
    slip: f64,
) -> Result<Mdp> {
    check_share("slip", slip)?;
    let cells: Vec<usize> = (0..rows * columns).filter(|&cell| free(cell)).collect();
    let mut state_of = vec![u32::MAX; rows * columns];
    for (state, &cell) in cells.iter().enumerate() {
        state_of[cell] = state as u32;
    }
    let target = |state: usize, action: usize| {
        let (row, column) = (cells[state] / columns, cells[state] % columns);
        let (_, down, right) = MOVES[action];
        neighbour((row, column), (down, right), (rows, columns))
            .map(|(r, c)| state_of[r * columns + c])
            .filter(|&t| t != u32::MAX)
            .map_or(state, |t| t as usize)
    };
    let n = cells.len();
    let mut mdp = Mdp::from_fn(n, MOVES.len(), |state, action, row| {
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
