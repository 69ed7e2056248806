//! A few wide cliques in a matrix that is sparse without them.
//!
//! The square of a vector $a$ with many entries couples all of them, but is the least of something
//! sparse: with $a$ cut into $K$ pieces,
//!
//! $$ (a \cdot x)^2 = \min_\mu \; K \sum_{j \le K} \big( a_j \cdot x_j + \nu (\mu_j - \mu_{j-1}) \big)^2, \qquad \mu_0 = \mu_K = 0, $$
//!
//! and
//! $\sum_t d_t x_t^2 - (\sum_t d_t x_t)^2 / \sum_t d_t = \min_\lambda \sum_t d_t (x_t +
//! \lambda)^2$. Solving for the auxiliary unknowns $\mu$ and $\lambda$, too, with zeros on the
//! right, gives the same $x$. The larger matrix is a sum of small squares, so positive wherever the
//! smaller one is, and nothing in it cancels. (Dense columns of linear programs are stretched in
//! the same way: Grcar 1990, *Matrix stretching for linear equations*.)

use std::ops::Range;

use super::{CliqueMatrix, Sparse, WIDE};

/// Wide cliques are cut into pieces of so many members to twice as many: more auxiliary unknowns
/// are more work, larger pieces, too (from 16 to 64 the time changes by a tenth).
pub const PIECE: usize = 24;
/// More additional unknowns than this share of the others are not worth it.
const MOST_ADDED: f64 = 0.5;

/// About how many cells a clique takes: its square, or those of its pieces.
pub fn cells(members: usize) -> usize {
    if members > WIDE {
        members * 4 * PIECE
    } else {
        members * members
    }
}

/// What will be added to a wide clique: squares of vectors that on all but a few members are
/// combinations of a few vectors.
pub struct Shape {
    /// Where these few members lie in the clique.
    pub apart: Vec<usize>,
    /// Of how many vectors.
    pub rank: usize,
    /// Whether there is a $\mathrm{diag}(d) - d d^\top / \sum d$ besides.
    pub auxiliary: bool,
}

/// A clique in pieces. The clique itself has the members apart.
pub(super) struct SplitClique {
    shape: Shape,
    /// The members of each piece, as places in the clique.
    pieces: Vec<Range<usize>>,
    /// The small clique of the first square's first piece; those of its other pieces follow, then
    /// those of the other squares, then one for each member and $\lambda$.
    first: usize,
}

impl CliqueMatrix {
    /// A sparse matrix of order `n` over cliques of which some are wide, and then of some `shape`;
    /// nothing where none is, so many are that it is not worth it, or the factor would not be
    /// sparse.
    pub fn with_split_rows(
        n: usize,
        offsets: &[usize],
        members: &[u32],
        most_dense: usize,
        shape: impl Fn(usize) -> Shape,
    ) -> Option<Self> {
        let cliques = || offsets.windows(2).map(|w| &members[w[0]..w[1]]).enumerate();
        let (mut small, mut ends, mut wide) = (Vec::new(), vec![0], Vec::new());
        for (s, clique) in cliques() {
            let shape = (clique.len() > WIDE).then(|| shape(s));
            match &shape {
                Some(shape) => small.extend(shape.apart.iter().map(|place| clique[*place])),
                None => small.extend_from_slice(clique),
            }
            ends.push(small.len());
            wide.push(shape);
        }
        let mut order = n;
        let mut split = Vec::new();
        for ((_, clique), shape) in cliques().zip(wide) {
            split.push(shape.map(|shape| {
                let (pieces, first) = (pieces(clique, n), ends.len() - 1);
                for _ in 0..shape.rank {
                    for (j, piece) in pieces.iter().enumerate() {
                        small.extend_from_slice(&clique[piece.clone()]);
                        small.extend((j > 0).then(|| (order + j - 1) as u32));
                        small.extend((j + 1 < pieces.len()).then_some((order + j) as u32));
                        ends.push(small.len());
                    }
                    order += pieces.len() - 1;
                }
                if shape.auxiliary {
                    for t in clique {
                        small.extend([*t, order as u32]);
                        ends.push(small.len());
                    }
                    order += 1;
                }
                SplitClique {
                    shape,
                    pieces,
                    first,
                }
            }));
            if (order - n) as f64 > MOST_ADDED * n as f64 {
                return None;
            }
        }
        if !split.iter().any(Option::is_some) {
            return None;
        }
        // a dense one may be less work
        let most_work = super::most_work(n, most_dense);
        let sparse = Sparse::new(order, &ends, &small, most_work)?;
        let mut matrix = CliqueMatrix::over(order, ends, small, Some(sparse))?;
        matrix.split = split;
        Some(matrix)
    }

    /// Whether a clique is in pieces.
    pub fn is_split(&self, s: usize) -> bool {
        self.split.get(s).is_some_and(Option::is_some)
    }

    /// Adds the squares of `rows` over the members of a clique that is in pieces, one after the
    /// other; these are used up.
    pub fn add_split(&mut self, s: usize, rows: &mut [f64]) {
        let Some(clique) = self.split[s].take() else {
            return;
        };
        let SplitClique {
            shape,
            pieces,
            first,
        } = &clique;
        let (count, width) = (pieces.len(), pieces[pieces.len() - 1].end);
        separate(rows, width, shape);
        let root = (count as f64).sqrt();
        let (mut piece, mut local) = (Vec::new(), Vec::new());
        let (along, across) = rows.split_at((shape.rank * width).min(rows.len()));
        for (q, row) in along.chunks_exact(width).enumerate() {
            // any number will do for the weight $\nu$; with one of the row's size the matrix'
            // entries are of one size
            let weight = root * row.iter().map(|x| x * x).sum::<f64>().sqrt();
            for (j, places) in pieces.iter().enumerate() {
                piece.clear();
                piece.extend(row[places.clone()].iter().map(|x| root * x));
                piece.extend((j > 0).then_some(-weight));
                piece.extend((j + 1 < count).then_some(weight));
                local.clear();
                for x in &piece {
                    local.extend(piece.iter().map(|y| x * y));
                }
                self.add_clique(first + q * count + j, &local);
            }
        }
        local.clear();
        for at in &shape.apart {
            for other in &shape.apart {
                let product = |row: &[f64]| row[*at] * row[*other];
                local.push(across.chunks_exact(width).map(product).sum());
            }
        }
        self.add_clique(s, &local);
        self.split[s] = Some(clique);
    }

    /// Adds $\mathrm{diag}(d) - d d^\top / \sum d$ over the members of a clique that is in pieces.
    pub fn add_auxiliary(&mut self, s: usize, d: &[f64]) {
        if let Some(clique) = &self.split[s] {
            let first = clique.first + clique.shape.rank * clique.pieces.len();
            for (k, d) in d.iter().enumerate() {
                self.add_clique(first + k, &[*d, *d, 0.0, *d]);
            }
        }
    }
}

/// Reflects rows, which leaves the sum of their squares, so that all but the first few vanish but
/// on the members apart.
fn separate(rows: &mut [f64], width: usize, shape: &Shape) {
    let count = rows.len() / width;
    let mut elsewhere = vec![true; width];
    shape
        .apart
        .iter()
        .for_each(|place| elsewhere[*place] = false);
    let mut normal = vec![0.0; count];
    for k in 0..shape.rank.min(count) {
        let square = |t: usize| (k..count).map(|q| rows[q * width + t].powi(2)).sum::<f64>();
        let squares = (0..width).filter(|t| elsewhere[*t]).map(|t| (t, square(t)));
        let Some((pivot, largest)) = squares.max_by(|a, b| a.1.total_cmp(&b.1)) else {
            return;
        };
        if !(largest > 0.0) {
            break;
        }
        // the pivot's column becomes a multiple of the k-th unit vector
        (k..count).for_each(|q| normal[q] = rows[q * width + pivot]);
        normal[k] += largest.sqrt().copysign(normal[k]);
        let scale = 2.0 / normal[k..].iter().map(|x| x * x).sum::<f64>();
        for t in 0..width {
            let along: f64 = (k..count).map(|q| normal[q] * rows[q * width + t]).sum();
            let along = scale * along;
            (k..count).for_each(|q| rows[q * width + t] -= along * normal[q]);
        }
    }
    for row in rows.chunks_exact_mut(width).skip(shape.rank) {
        let places = row.iter_mut().zip(&elsewhere);
        places.for_each(|(x, elsewhere)| *x = if *elsewhere { 0.0 } else { *x });
    }
}

/// Members in pieces that begin at the same columns in all cliques of about the same width: pieces
/// of different cliques then have the same members.
fn pieces(clique: &[u32], n: usize) -> Vec<Range<usize>> {
    let columns = (PIECE * n / clique.len()).next_power_of_two() as u32;
    let mut pieces = Vec::new();
    let mut start = 0;
    for piece in clique.chunk_by(|a, b| a / columns == b / columns) {
        pieces.push(start..start + piece.len());
        start += piece.len();
    }
    pieces
}
