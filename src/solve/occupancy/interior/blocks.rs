//! The blocks $K_s$ of the [normal equations](super::normal), one per state, factored.
//!
//! $K = \mathrm{diag}(h) + g\, \mathbf 1 \mathbf 1^\top + N \mathrm{diag}(w) N$ is a sum of weighted squares of rows. Near an optimum the weights differ by
//! more than floating point has digits: in the sum of the squares the small ones would be lost, and with them all that can still
//! move. So the rows are brought to triangular form by reflections, the heavy ones first, and never squared.

use crate::model::Mdp;

pub(super) struct Blocks<'a> {
    mdp: &'a Mdp,
    xi: f64,
    /// Where the blocks are diagonal, as without $\xi$ and entropies of states, one over them; else empty.
    inverse: Vec<f64>,
    /// Lower triangles of the blocks' factors, row by row, with one over their diagonals.
    triangles: Vec<f64>,
    offsets: Vec<usize>,
    /// Room for the rows of one state.
    rows: Vec<Vec<f64>>,
}

impl<'a> Blocks<'a> {
    pub(super) fn new(mdp: &'a Mdp, xi: f64) -> Self {
        let mut offsets = vec![0];
        for s in 0..mdp.n_states() {
            offsets.push(offsets[s] + mdp.n_actions(s).pow(2));
        }
        Blocks {
            mdp,
            xi,
            inverse: Vec::new(),
            triangles: vec![0.0; offsets[mdp.n_states()]],
            offsets,
            rows: Vec::new(),
        }
    }

    /// Takes $h$ and $w$ by pairs and $g$ by states; false where a block is not positive.
    pub(super) fn factor(&mut self, h: &[f64], g: &[f64], w: &[f64]) -> bool {
        self.inverse.clear();
        if self.xi == 0.0 && g.iter().all(|g| *g == 0.0) {
            let sums = h.iter().zip(w).map(|(h, w)| h + w);
            self.inverse.extend(sums.map(|k| 1.0 / k));
            return self.inverse.iter().all(|x| *x > 0.0 && x.is_finite());
        }
        (0..self.mdp.n_states()).all(|s| {
            let pairs = self.mdp.pairs(s);
            let (h, w) = (&h[pairs.clone()], &w[pairs]);
            let block = &mut self.triangles[self.offsets[s]..self.offsets[s + 1]];
            triangle(block, &mut self.rows, h, g[s], w, self.xi)
        })
    }

    fn triangle(&self, s: usize) -> &[f64] {
        &self.triangles[self.offsets[s]..self.offsets[s + 1]]
    }

    /// Multiplies by $K^{-1}$, in place.
    pub(super) fn divide(&self, x: &mut [f64]) {
        if !self.inverse.is_empty() {
            return x.iter_mut().zip(&self.inverse).for_each(|(x, k)| *x *= k);
        }
        for s in 0..self.mdp.n_states() {
            let row = &mut x[self.mdp.pairs(s)];
            forward(self.triangle(s), row, 1);
            backward(self.triangle(s), row);
        }
    }

    /// Multiplies `width` columns of one state, which stand beside one another, by $L^{-1}$ of its $L L^\top = K_s$, in place.
    pub(super) fn divide_by_root(&self, s: usize, columns: &mut [f64], width: usize) {
        if self.inverse.is_empty() {
            return forward(self.triangle(s), columns, width);
        }
        let inverse = &self.inverse[self.mdp.pairs(s)];
        for (row, k) in columns.chunks_mut(width).zip(inverse) {
            let root = k.sqrt();
            row.iter_mut().for_each(|x| *x *= root);
        }
    }
}

/// Fills `block` with the lower triangle $L$, row by row, of $L L^\top = K$, with one over its diagonal entries in their place; false where
/// there is none. `rows` is room.
fn triangle(
    block: &mut [f64],
    rows: &mut Vec<Vec<f64>>,
    h: &[f64],
    g: f64,
    w: &[f64],
    xi: f64,
) -> bool {
    let n = h.len();
    let mut count = 0;
    let mut push = |weight: f64, row: &dyn Fn(usize) -> f64| {
        if weight > 0.0 {
            if rows.len() == count {
                rows.push(Vec::new());
            }
            let root = weight.sqrt();
            rows[count].clear();
            rows[count].extend((0..n).map(|b| root * row(b)));
            count += 1;
        }
    };
    let unit = |a: usize, b: usize| f64::from(u8::from(a == b));
    for a in 0..n {
        if xi > 0.0 {
            push(h[a], &|b| unit(a, b));
            push(w[a], &|b| unit(a, b) - xi);
        } else {
            push(h[a] + w[a], &|b| unit(a, b));
        }
    }
    push(g, &|_| 1.0);
    let rows = &mut rows[..count];
    let size = |row: &[f64]| row.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    rows.sort_by(|a, b| size(b).total_cmp(&size(a)));
    for a in 0..n {
        if a >= rows.len() {
            return false;
        }
        // the heaviest of what is left in this column comes first
        let heaviest =
            (a..rows.len()).max_by(|i, j| rows[*i][a].abs().total_cmp(&rows[*j][a].abs()));
        rows.swap(a, heaviest.unwrap_or(a));
        let (done, rest) = rows.split_at_mut(a + 1);
        let pivot = &mut done[a];
        let norm = rest
            .iter()
            .fold(pivot[a] * pivot[a], |sum, row| sum + row[a] * row[a])
            .sqrt();
        if !(norm > 0.0 && norm.is_finite()) {
            return false;
        }
        // reflection along (pivot + sign norm, rest)
        let first = pivot[a] + norm.copysign(pivot[a]);
        let scale = 1.0 / (norm * first.abs());
        for b in a + 1..n {
            let along = rest
                .iter()
                .fold(first * pivot[b], |sum, row| sum + row[a] * row[b]);
            let along = scale * along;
            pivot[b] -= along * first;
            for row in rest.iter_mut() {
                row[b] -= along * row[a];
            }
        }
        block[a * n + a] = -1.0 / norm.copysign(first);
        for b in a + 1..n {
            block[b * n + a] = pivot[b];
        }
    }
    true
}

/// $L^{-1}$ times `width` columns that stand beside one another, in place.
fn forward(block: &[f64], x: &mut [f64], width: usize) {
    let n = x.len() / width;
    for a in 0..n {
        let (before, rest) = x.split_at_mut(a * width);
        let row = &mut rest[..width];
        for (b, done) in before.chunks(width).enumerate() {
            let factor = block[a * n + b];
            row.iter_mut().zip(done).for_each(|(x, y)| *x -= factor * y);
        }
        let pivot = block[a * n + a];
        row.iter_mut().for_each(|x| *x *= pivot);
    }
}

/// $L^{-\top} x$, in place.
fn backward(block: &[f64], x: &mut [f64]) {
    let n = x.len();
    for a in (0..n).rev() {
        let known: f64 = (a + 1..n).map(|b| block[b * n + a] * x[b]).sum();
        x[a] = (x[a] - known) * block[a * n + a];
    }
}
