//! Symmetric positive definite matrices that are sums of small squares, assembled and factored.
//!
//! $$ H = \sum_s E_s^\top L_s E_s + \mathrm{diag}(d) + X^\top X - G^\top G $$
//!
//! where $E_s$ picks the *members* of clique $s$ (the columns that row $s$ of a chain can reach).
//! The pattern never changes, so it is ordered and analysed once. Where the Cholesky factor stays
//! sparse (grids, chains) it is computed sparsely; elsewhere densely, at the speed of dense linear
//! algebra, and only there may wide rows add the products $X^\top X$ and $G^\top G$.
//!
//! The matrix is scaled to a unit diagonal before it is factored. A pivot that is nothing but
//! rounding then shows by its size alone, and its unknown is set to zero, as interior-point codes
//! do for dependent constraints (S. Wright 1999, *Modified Cholesky factorizations in
//! interior-point algorithms for linear programming*, SIAM J. Optim. 9).

mod pattern;
mod split_rows;

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::cholesky::ldlt;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::sparse::linalg::SupernodalThreshold;
use faer::sparse::linalg::cholesky::{
    CholeskySymbolicParams, LdltRef, SymbolicCholesky, SymbolicCholeskyRaw,
    factorize_symbolic_cholesky,
};
use faer::sparse::{SparseColMatRef, SymbolicSparseColMat};
use faer::{Accum, Conj, Mat, MatMut, MatRef, Par, Side};
use pattern::{pattern, widest_front};
use split_rows::SplitClique;
pub use split_rows::{PIECE, Shape, cells};

/// Columns are eliminated in blocks where each number of the factor takes at least this share of
/// the multiplications that faer waits for: at this one blocks are a quarter faster on random
/// graphs, and nowhere slower (at none, on chains, they take twice as long).
const BLOCKS: SupernodalThreshold = SupernodalThreshold(0.5);
/// Most cells of all cliques together that are worth an index each: 80 MB.
pub const MOST_CELLS: usize = 20_000_000;
/// Most numbers in a sparse factor: half a gigabyte.
const MOST_FILL: usize = 60_000_000;
/// Most unknowns in one [front](pattern::widest_front): half as many have to be eliminated densely
/// sooner or later, some seconds' work.
const WIDEST: usize = 3_000;
/// Multiplications of a sparse factorisation cost about this many of a dense one's: entry by entry,
/// and in blocks of columns.
const SPARSE_COST: f64 = 5.0;
const BLOCK_COST: f64 = 2.0;
/// Multiplications of one round of conjugate gradients per transition: two products with the
/// kernel, whose gathers take several times as long as the multiplications of a dense factorisation
/// (0.1 ms against 15 ms on a garnet of 1,000 states).
pub const ROUND_COST: f64 = 80.0;
/// Cliques with more members than this are wide. They are added to a dense matrix by dense
/// products, as their squares, cell by cell, would cost more, and a sparse one may be
/// [split](CliqueMatrix::with_split_rows) for them.
const WIDE: usize = 96;
/// What such a pivot is replaced by: large, so that its unknown comes out as zero.
const DROPPED: f64 = 1e100;

/// A sum of cliques, ready to be assembled and factored again and again.
pub struct CliqueMatrix {
    offsets: Vec<usize>,
    members: Vec<u32>,
    /// The lower triangle, column by column: of all cells, or of those in the sparse pattern.
    values: Vec<f64>,
    /// Where the diagonal lies among these.
    diagonal: Vec<usize>,
    /// One over the root of each diagonal entry.
    scale: Vec<f64>,
    /// The pivots' signs: all positive.
    signs: Vec<i8>,
    sparse: Option<Sparse>,
    /// Cliques that are in pieces; those for which there is no entry are not.
    split: Vec<Option<SplitClique>>,
    buffer: MemBuffer,
    right: Mat<f64>,
}

/// A pattern that stays sparse when it is factored.
struct Sparse {
    /// For each clique a square of places in the matrix, lower triangle used.
    places: Vec<u32>,
    place_offsets: Vec<usize>,
    pattern: SymbolicSparseColMat<u32>,
    symbolic: SymbolicCholesky<u32>,
    /// See [`CliqueMatrix::work`].
    work: f64,
    factor: Vec<f64>,
}

impl CliqueMatrix {
    /// The matrix of order `n` over cliques whose members ascend; nothing if neither a sparse
    /// factor nor a dense matrix of order `most_dense` at most will do. `wide` says that dense
    /// products will be added.
    pub fn new(
        n: usize,
        offsets: Vec<usize>,
        members: Vec<u32>,
        wide: bool,
        most_dense: usize,
    ) -> Option<Self> {
        let sparse = if wide {
            None
        } else {
            Sparse::new(n, &offsets, &members, most_work(n, most_dense))
        };
        if sparse.is_none() && n > most_dense {
            return None;
        }
        Self::over(n, offsets, members, sparse)
    }

    /// The matrix over cliques with a sparse pattern, or dense; nothing where there is no memory
    /// for it.
    fn over(
        n: usize,
        offsets: Vec<usize>,
        members: Vec<u32>,
        sparse: Option<Sparse>,
    ) -> Option<Self> {
        let scratch = match &sparse {
            Some(Sparse { symbolic, .. }) => symbolic
                .factorize_numeric_ldlt_scratch::<f64>(Par::Seq, Default::default())
                .or(symbolic.solve_in_place_scratch::<f64>(1, Par::Seq)),
            None => ldlt::factor::cholesky_in_place_scratch::<f64>(n, Par::Seq, Default::default()),
        };
        // the diagonal comes first in every column of a pattern
        let pattern = sparse.as_ref().map(|sparse| &sparse.pattern);
        let first = |j: usize| pattern.map_or(j * n + j, |pattern| pattern.col_range(j).start);
        let stored = pattern.map_or(n * n, |pattern| pattern.compute_nnz());
        Some(CliqueMatrix {
            offsets,
            members,
            values: vec![0.0; stored],
            diagonal: (0..n).map(first).collect(),
            scale: vec![0.0; n],
            signs: vec![1; n],
            sparse,
            split: Vec::new(),
            buffer: MemBuffer::try_new(scratch).ok()?,
            right: Mat::zeros(n, 1),
        })
    }

    /// Whether a clique of so many members is added faster as a product of dense rows.
    pub fn prefers_rows(&self, members: usize) -> bool {
        members > WIDE && self.sparse.is_none()
    }

    /// About how many multiplications one factorisation takes, at the speed of dense ones.
    pub fn work(&self) -> f64 {
        let sparse = self.sparse.as_ref();
        sparse.map_or(dense_work(self.scale.len()), |sparse| sparse.work)
    }

    /// The members of a clique, ascending.
    pub fn members(&self, s: usize) -> &[u32] {
        &self.members[self.offsets[s]..self.offsets[s + 1]]
    }

    /// The place of the largest diagonal entry of what was assembled, if it is a positive number.
    pub fn largest_diagonal(&self) -> Option<usize> {
        let entry = |j: &usize| self.values[self.diagonal[*j]];
        let largest = (0..self.scale.len()).max_by(|i, j| entry(i).total_cmp(&entry(j)))?;
        (entry(&largest) > 0.0 && entry(&largest).is_finite()).then_some(largest)
    }

    /// All zero.
    pub fn clear(&mut self) {
        self.values.fill(0.0);
    }

    /// Adds `local`, a row-major square whose entry `[j * width + i]`, $i \ge j$, belongs to
    /// members $i$ and $j$ of clique `s`.
    pub fn add_clique(&mut self, s: usize, local: &[f64]) {
        let n = self.scale.len();
        let members = &self.members[self.offsets[s]..self.offsets[s + 1]];
        let width = members.len();
        for (j, &t) in members.iter().enumerate() {
            let row = j * width + j..(j + 1) * width;
            let added = local[row.clone()].iter();
            if let Some(sparse) = &self.sparse {
                for (&place, x) in sparse.places[sparse.place_offsets[s]..][row]
                    .iter()
                    .zip(added)
                {
                    self.values[place as usize] += x;
                }
            } else {
                let column = &mut self.values[t as usize * n..][..n];
                for (&u, x) in members[j..].iter().zip(added) {
                    column[u as usize] += x;
                }
            }
        }
    }

    /// Adds `factor` times `extra` to the diagonal.
    pub fn add_diagonal(&mut self, extra: &[f64], factor: f64) {
        for (&place, x) in self.diagonal.iter().zip(extra) {
            self.values[place] += factor * x;
        }
    }

    /// The diagonal alone, all zero.
    pub fn clear_diagonal(&mut self) {
        for &place in &self.diagonal {
            self.values[place] = 0.0;
        }
    }

    /// Doubles one entry of the diagonal and returns what was added.
    pub fn double_diagonal(&mut self, j: usize) -> f64 {
        let added = self.values[self.diagonal[j]];
        self.values[self.diagonal[j]] += added;
        added
    }

    /// Adds `sign` times $X^\top X$ for the rows of $X$ that stand one after the other in `rows`.
    /// Dense storage only.
    pub fn add_product(&mut self, rows: &[f64], sign: f64) {
        if self.sparse.is_none() && !rows.is_empty() {
            add_product(&mut self.values, rows, self.scale.len(), sign);
        }
    }

    /// Scales and factors what was assembled; false where it is not finite or not positive.
    /// Pivots of the scaled matrix below `least` are taken for rounding.
    pub fn factor(&mut self, least: f64) -> bool {
        let n = self.scale.len();
        for (scale, &place) in self.scale.iter_mut().zip(&self.diagonal) {
            *scale = inverse_root(self.values[place]);
        }
        if self.scale.iter().any(|x| x.is_nan()) {
            return false;
        }
        for (j, own) in self.scale.iter().enumerate() {
            if let Some(Sparse { pattern, .. }) = &self.sparse {
                let column = pattern.col_range(j);
                let rows = &pattern.row_idx()[column.clone()];
                for (x, &i) in self.values[column].iter_mut().zip(rows) {
                    *x *= own * self.scale[i as usize];
                }
            } else {
                let column = self.values[j * n + j..(j + 1) * n].iter_mut();
                for (x, scale) in column.zip(&self.scale[j..]) {
                    *x *= own * scale;
                }
            }
            // an unknown without an equation stays at zero
            if *own == 0.0 {
                self.values[self.diagonal[j]] = 1.0;
            }
        }
        // L D L' and not L L': of the latter faer 0.24 leaves a replaced pivot out of the factor's
        // diagonal
        let stack = MemStack::new(&mut self.buffer);
        let regularization = ldlt::factor::LdltRegularization {
            dynamic_regularization_signs: Some(&self.signs[..]),
            dynamic_regularization_delta: DROPPED,
            dynamic_regularization_epsilon: least,
        };
        if let Some(sparse) = &mut self.sparse {
            let matrix = SparseColMatRef::new(sparse.pattern.as_ref(), &self.values);
            sparse
                .symbolic
                .factorize_numeric_ldlt(
                    &mut sparse.factor,
                    matrix,
                    Side::Lower,
                    regularization,
                    Par::Seq,
                    stack,
                    Default::default(),
                )
                .is_ok()
        } else {
            let matrix = MatMut::from_column_major_slice_mut(&mut self.values, n, n);
            ldlt::factor::cholesky_in_place(
                matrix,
                regularization,
                Par::Seq,
                stack,
                Default::default(),
            )
            .is_ok()
        }
    }

    /// Solves with the last factor, in place. Unknowns beyond those given have zeros on the right.
    pub fn solve(&mut self, x: &mut [f64]) {
        let n = self.scale.len();
        self.right.fill(0.0);
        for (i, (x, scale)) in x.iter().zip(&self.scale).enumerate() {
            self.right[(i, 0)] = x * scale;
        }
        let right = self.right.as_mut();
        let stack = MemStack::new(&mut self.buffer);
        if let Some(sparse) = &self.sparse {
            LdltRef::<'_, u32, f64>::new(&sparse.symbolic, &sparse.factor)
                .solve_in_place_with_conj(Conj::No, right, Par::Seq, stack);
        } else {
            let factor = MatRef::from_column_major_slice(&self.values, n, n);
            let pivots = factor.diagonal();
            ldlt::solve::solve_in_place_with_conj(factor, pivots, Conj::No, right, Par::Seq, stack);
        }
        for (i, (x, scale)) in x.iter_mut().zip(&self.scale).enumerate() {
            *x = self.right[(i, 0)] * scale;
        }
    }
}

/// Adds `sign` times $X^\top X$ to the upper half of a row-major square, which is the lower half of
/// one by columns, $X$ having rows of `width` numbers.
pub fn add_product(square: &mut [f64], rows: &[f64], width: usize, sign: f64) {
    let rows = MatRef::from_column_major_slice(rows, width, rows.len() / width);
    let square = MatMut::from_column_major_slice_mut(square, width, width);
    triangular::matmul(
        square,
        BlockStructure::TriangularLower,
        Accum::Add,
        rows,
        BlockStructure::Rectangular,
        rows.transpose(),
        BlockStructure::Rectangular,
        sign,
        Par::Seq,
    );
}

/// Appends a dense row of `n` numbers that holds `scale` times `values` in `columns`.
pub fn push_dense_row(
    rows: &mut Vec<f64>,
    n: usize,
    columns: impl Iterator<Item = u32>,
    values: &[f64],
    scale: f64,
) {
    let start = rows.len();
    rows.resize(start + n, 0.0);
    for (t, x) in columns.zip(values) {
        rows[start + t as usize] = scale * x;
    }
}

/// $1/\sqrt{x}$, zero for a zero and not a number for anything that is no diagonal of a positive
/// matrix.
fn inverse_root(x: f64) -> f64 {
    if x == 0.0 {
        0.0
    } else if x > 0.0 && x.is_finite() {
        1.0 / x.sqrt()
    } else {
        f64::NAN
    }
}

/// What a sparse factorisation may take: as much as a dense one where there is one.
fn most_work(n: usize, most_dense: usize) -> f64 {
    if n > most_dense {
        f64::INFINITY
    } else {
        dense_work(n)
    }
}

/// Multiplications of a dense factorisation.
fn dense_work(n: usize) -> f64 {
    (n as f64).powi(3) / 3.0
}

impl Sparse {
    /// Nothing where a factorisation would take more than `most_work` multiplications at the speed
    /// of dense ones, or too much memory.
    fn new(n: usize, offsets: &[usize], members: &[u32], most_work: f64) -> Option<Self> {
        let mut place_offsets = vec![0usize];
        for w in offsets.windows(2) {
            // every clique is eliminated densely at last
            if BLOCK_COST * dense_work(w[1] - w[0]) > most_work {
                return None;
            }
            let total = place_offsets[place_offsets.len() - 1] + (w[1] - w[0]).pow(2);
            if total > MOST_CELLS {
                return None;
            }
            place_offsets.push(total);
        }
        if widest_front(n, members, offsets) > WIDEST {
            return None;
        }
        let (pattern, places) = pattern(n, members, offsets, &place_offsets);
        let stored = pattern.compute_nnz();
        // what the matrix holds, its factor does, too; and no columns of that many numbers take
        // less than all of one length
        let length = stored as f64 / n as f64;
        if stored > MOST_FILL || length * length * n as f64 > most_work {
            return None;
        }
        let symbolic = factorize_symbolic_cholesky(
            pattern.as_ref(),
            Side::Lower,
            Default::default(),
            CholeskySymbolicParams {
                supernodal_flop_ratio_threshold: BLOCKS,
                ..Default::default()
            },
        )
        .ok()?;
        let work = work_of(&symbolic);
        if symbolic.len_val() > MOST_FILL || work > most_work {
            return None;
        }
        Some(Sparse {
            places,
            place_offsets,
            pattern,
            factor: vec![0.0; symbolic.len_val()],
            work,
            symbolic,
        })
    }
}

/// About how many multiplications at the speed of dense ones a factorisation takes: the squared
/// lengths of the factor's columns.
fn work_of(symbolic: &SymbolicCholesky<u32>) -> f64 {
    match symbolic.raw() {
        SymbolicCholeskyRaw::Simplicial(factor) => {
            let lengths = factor.col_ptr().windows(2).map(|w| f64::from(w[1] - w[0]));
            SPARSE_COST * lengths.map(|x| x * x).sum::<f64>()
        }
        SymbolicCholeskyRaw::Supernodal(factor) => {
            let blocks = (0..factor.n_supernodes()).map(|k| {
                let width = factor.supernode_end()[k] - factor.supernode_begin()[k];
                let below = factor.supernode(k).pattern().len() as f64;
                (1..=width)
                    .map(|j| (below + f64::from(j)).powi(2))
                    .sum::<f64>()
            });
            BLOCK_COST * blocks.sum::<f64>()
        }
    }
}

#[cfg(test)]
mod tests;
