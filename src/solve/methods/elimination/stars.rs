//! Rows that reach many columns, as *stars* of the columns' system instead of cliques.
//!
//! What a row leaves in the columns' system is a diagonal and a few squares, $D - d d^\top / 1^\top d + \sum_i b_i b_i^\top$, at
//! most one square more than it has actions. Written out, every pair of its columns gets an entry, and a single state that restarts anywhere makes
//! the whole system dense. With one unknown more for each square the entries are as many as the row has columns:
//!
//! $$ \begin{pmatrix} H + D & -d & B^\top \\ -d^\top & 1^\top d & 0 \\ B & 0 & -I \end{pmatrix} . $$
//!
//! The first two blocks together are positive semidefinite, each $d_t$ being the weight of an edge between its column and the star's centre; the
//! last is negative.

use super::{MOST_DENSE, Rows};
use crate::linalg::clique_matrix::CliqueMatrix;

/// A row is wide if it reaches so many times more columns than it has unknowns as a star: below that its clique has hardly more entries.
const WIDE: usize = 4;
/// Most edges of all stars together, each a clique of two: 40 MB.
const MOST_EDGES: usize = 1_000_000;

/// Which rows are stars.
#[derive(Default)]
pub(super) struct Stars {
    of: Vec<Option<Star>>,
    /// How many unknowns they have together.
    pub(super) unknowns: usize,
}

/// Where the parts of one row lie.
#[derive(Clone, Copy)]
pub(super) struct Star {
    /// The unknown in its middle, where the row has a sum to keep, and the first one of its squares.
    centre: Option<usize>,
    squares: usize,
    /// The clique of its first edge: those of the centre come first, then those of each square.
    edges: usize,
    width: usize,
}

/// The columns' matrix, with wide rows as stars where that takes less work; nothing where it is neither sparse nor small.
pub(super) fn choose(rows: &Rows, keeps_rows: bool) -> Option<(CliqueMatrix, Stars)> {
    let n = rows.n_states();
    let is_whole = |s: usize| rows.reach(s).len() == rows.offsets[s + 1] - rows.offsets[s];
    let beyond_reach = keeps_rows && !(0..n).all(is_whole);
    let starred = if beyond_reach {
        None
    } else {
        with_stars(rows, keeps_rows)
    };
    let widest = (0..n).map(|s| rows.reach(s).len()).max().unwrap_or(0);
    let least = CliqueMatrix::least_work(n, widest, MOST_DENSE);
    let (offsets, members) = match starred {
        Some(starred) if starred.0.work() <= least => return Some(starred),
        _ => cliques(rows, |_| true),
    };
    let plain = CliqueMatrix::new(n, offsets, members, beyond_reach, MOST_DENSE);
    match (plain, starred) {
        (Some(plain), Some((matrix, _))) if plain.work() <= matrix.work() => {
            Some((plain, Stars::default()))
        }
        (_, Some(starred)) => Some(starred),
        (plain, None) => Some((plain?, Stars::default())),
    }
}

/// For each state the columns that it reaches, or none where it is not `among` those asked for.
fn cliques(rows: &Rows, among: impl Fn(usize) -> bool) -> (Vec<usize>, Vec<u32>) {
    let (mut offsets, mut members) = (vec![0], Vec::new());
    for s in 0..rows.n_states() {
        if among(s) {
            members.extend(rows.reach(s).iter().map(|c| rows.columns[*c as usize]));
        }
        offsets.push(members.len());
    }
    (offsets, members)
}

/// The matrix with all wide rows as stars; nothing where there are none or too many, or it is not sparse.
fn with_stars(rows: &Rows, keeps_rows: bool) -> Option<(CliqueMatrix, Stars)> {
    let n = rows.n_states();
    let squares = |s: usize| {
        let others = (rows.first[s + 1] - rows.first[s]).saturating_sub(1);
        others + usize::from(keeps_rows)
    };
    let is_wide = |s: usize| rows.reach(s).len() > WIDE * (squares(s) + 1);
    let wide: Vec<usize> = (0..n).filter(|s| is_wide(*s)).collect();
    let centres = if keeps_rows { wide.len() } else { 0 };
    let unknowns = centres + wide.iter().map(|s| squares(*s)).sum::<usize>();
    let edges = wide
        .iter()
        .map(|s| rows.reach(*s).len() * (squares(*s) + 1));
    // as many unknowns more as there are columns are no gain: their own part of the factor is dense
    if wide.is_empty() || unknowns > n || edges.sum::<usize>() > MOST_EDGES {
        return None;
    }
    let (mut offsets, mut members) = cliques(rows, |s| !is_wide(s));
    let mut stars = Stars {
        of: vec![None; n],
        unknowns,
    };
    let mut next = n + centres;
    for (k, s) in wide.into_iter().enumerate() {
        let star = Star {
            centre: keeps_rows.then_some(n + k),
            squares: next,
            edges: offsets.len() - 1,
            width: rows.reach(s).len(),
        };
        next += squares(s);
        for unknown in star.centre.into_iter().chain(star.squares..next) {
            for cell in rows.reach(s) {
                members.extend([rows.columns[*cell as usize], unknown as u32]);
                offsets.push(members.len());
            }
        }
        stars.of[s] = Some(star);
    }
    let mut matrix = CliqueMatrix::new(n + unknowns, offsets, members, false, 0)?;
    matrix.set_negative(n + centres);
    Some((matrix, stars))
}

impl Stars {
    /// The star of a state, if it is one.
    pub(super) fn of(&self, s: usize) -> Option<Star> {
        self.of.get(s).copied().flatten()
    }
}

impl Star {
    /// Adds $- d d^\top / 1^\top d$.
    pub(super) fn take_mean(&self, matrix: &mut CliqueMatrix, diagonal: &mut [f64], d: &[f64]) {
        let Some(centre) = self.centre else { return };
        diagonal[centre] = d.iter().sum();
        for (j, d) in d.iter().enumerate() {
            matrix.add_clique(self.edges + j, &[0.0, -d, 0.0, 0.0]);
        }
    }

    /// Adds the squares of rows, one after the other.
    pub(super) fn add_squares(
        &self,
        matrix: &mut CliqueMatrix,
        diagonal: &mut [f64],
        rows: &[f64],
    ) {
        let first = self.edges + self.centre.map_or(0, |_| self.width);
        for (j, b) in rows.iter().enumerate() {
            matrix.add_clique(first + j, &[0.0, *b, 0.0, 0.0]);
        }
        diagonal[self.squares..][..rows.len() / self.width].fill(-1.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Mdp;
    use crate::solve::methods::elimination::{Elimination, Weights};
    use crate::solve::methods::rows::Cells;

    /// Two states of a ring restart in half of all others: stars give the step that cliques give.
    #[test]
    fn stars_and_cliques_give_the_same_step() {
        let n = 60;
        let ring = Mdp::from_fn(n, 3, |s, a, next| {
            if s < 2 && a == 2 {
                let half = n as f64 / 2.0;
                next.extend((0..n / 2).map(|k| ((2 * k + s) % n, 1.0 / half)));
            } else {
                next.push(((s + 1 + a) % n, 0.75));
                next.push(((s + n - 1) % n, 0.25));
            }
            true
        });
        let rows = Rows::new(&ring.unwrap(), 0.01, Cells::Filled).unwrap();
        let (moving, cells) = (rows.n_moving(), rows.n_cells());
        // any positive weights, over some decades
        let list = |count: usize, first: f64| -> Vec<f64> {
            (0..count)
                .map(|i| (3.0 * (first + 1.7 * i as f64).sin()).exp())
                .collect()
        };
        for keeps_rows in [false, true] {
            let part = |x: Vec<f64>| if keeps_rows { x } else { Vec::new() };
            let weights = Weights {
                policy: list(moving, 1.0),
                d: part(list(cells, 2.0)),
                f: part(list(cells, 3.0).iter().map(|x| x / (1.0 + x)).collect()),
                w: list(cells, 4.0),
                slack: part(list(n, 5.0)),
                extra: list(n, 6.0),
            };
            let (offsets, members) = cliques(&rows, |_| true);
            let plain = CliqueMatrix::new(n, offsets, members, false, 0).unwrap();
            let starred = with_stars(&rows, keeps_rows).unwrap();
            assert!((0..n).filter(|s| starred.1.of(*s).is_some()).eq([0, 1]));
            let steps = [(plain, Stars::default()), starred].map(|(matrix, stars)| {
                let mut elimination = Elimination::by(&rows, keeps_rows, matrix, stars);
                elimination.factor(&rows, &weights, None).unwrap();
                let (mut dp, mut eta) = (list(moving, 7.0), list(n, 8.0));
                let (mut lambda, mut beta) = (part(list(n, 9.0)), list(n, 10.0));
                let (a, mut mass) = (part(list(cells, 11.0)), vec![0.0; cells]);
                elimination.solve(
                    &rows,
                    &weights,
                    &a,
                    &mut dp,
                    &mut eta,
                    &mut lambda,
                    &mut beta,
                    &mut mass,
                );
                [dp, eta, lambda, beta, mass].concat()
            });
            for (x, y) in steps[0].iter().zip(&steps[1]) {
                assert!((x - y).abs() <= 1e-9 * (1.0 + x.abs()), "{x} {y}");
            }
        }
    }
}
