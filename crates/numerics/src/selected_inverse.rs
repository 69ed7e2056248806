//! Entries of the inverse of a sparse matrix, and their derivatives, without the inverse.
//!
//! The matrix $A$ has a pattern that is taken as symmetric and needs no pivoting (diagonally
//! dominant ones, M-matrices). It is eliminated block by block in the order of
//! [nested dissection](super::nested_dissection) by the multifrontal method (Duff and Reid, 1983):
//! with the pivots $J$ of a block and the vertices $B$ that they border on, the dense *front*
//!
//! $$F = \begin{pmatrix} F_{JJ} & F_{JB} \\\\ F_{BJ} & F_{BB} \end{pmatrix}, \qquad
//! D = F_{JJ}^{-1}, \; X = F_{BJ} D, \; Y = D F_{JB}, \; F_{BB} - X F_{JB} \to \text{parent} .$$
//!
//! From the last block to the first, the entries of $G = A^{-1}$ within each front follow from
//! those of its parent (Takahashi, Fagan and Chin, 1973):
//!
//! $$G_{BJ} = -G_{BB} X, \qquad G_{JB} = -Y G_{BB}, \qquad G_{JJ} = D - Y G_{BJ} .$$
//!
//! The fronts hold every entry of the pattern. Differentiating each line along
//! $\dot A = -\operatorname{diag}(v)$ gives $\dot G = G \operatorname{diag}(v)\, G$ on the pattern.
//! All of it is products of dense matrices; on a planar graph of $n$ vertices they take
//! $O(n^{3/2})$.

mod dense;
mod symbolic;
#[cfg(test)]
mod tests;
mod traversal;

use dense::{gather, invert, product, scatter_add};
use symbolic::Node;
pub use symbolic::Symbolic;
use traversal::{descend, forest, last};

/// The numbers of one front, by columns: $F$ and what becomes of it, $G$, and the derivatives.
#[derive(Debug, Clone, Default)]
struct Front {
    /// $D$, $X$, $Y$ and the part that goes to the parent, in the places of $F$.
    factor: Vec<f64>,
    /// $G$.
    inverse: Vec<f64>,
    /// Derivatives of both.
    factor_dot: Vec<f64>,
    inverse_dot: Vec<f64>,
    /// A place for products.
    room: Vec<f64>,
}

/// A factored matrix with a place for its selected inverse. Memory is taken once.
#[derive(Debug, Clone)]
pub struct Factor {
    fronts: Vec<Front>,
    /// The right-hand side of a block and its border.
    right: Vec<f64>,
}

impl Factor {
    /// Room for matrices of a pattern.
    pub fn new(symbolic: &Symbolic) -> Self {
        let fronts = symbolic.nodes.iter().map(|node| {
            let size = node.size() * node.size();
            Front {
                factor: vec![0.0; size],
                inverse: vec![0.0; size],
                factor_dot: Vec::new(),
                inverse_dot: Vec::new(),
                room: vec![0.0; 2 * size],
            }
        });
        let widest = symbolic.nodes.iter().map(Node::size).max().unwrap_or(0);
        Factor {
            fronts: fronts.collect(),
            right: vec![0.0; widest],
        }
    }

    /// Eliminates the matrix with these entries beside the diagonal, in the order of the pattern's,
    /// and this diagonal. Returns whether it could be: a pivot that is not positive ends it.
    pub fn eliminate(&mut self, symbolic: &Symbolic, entries: &[f64], diagonal: &[f64]) -> bool {
        let values = Values { entries, diagonal };
        forest(
            symbolic.forest(),
            &mut self.fronts,
            &|nodes, base, fronts| {
                let (node, front) = last(nodes, fronts);
                front.0.assemble(node, values);
                for child in node.ends.iter().map(|end| end - 1 - base) {
                    let below = &front.1[child];
                    let (p, m) = (nodes[child].pivots.len(), nodes[child].size());
                    scatter_add(
                        (&mut front.0.factor, node.size()),
                        (&below.factor, m, p),
                        &nodes[child].place,
                    );
                }
                front.0.eliminate(node)
            },
        )
    }

    /// The selected inverse of the matrix that was eliminated last; its diagonal.
    pub fn invert(&mut self, symbolic: &Symbolic, diagonal: &mut [f64]) {
        descend(
            symbolic.forest(),
            &mut self.fronts,
            &|node, front, above| front.invert(node, above),
        );
        for (v, (node, place)) in symbolic.diagonal.iter().enumerate() {
            diagonal[v] = self.fronts[*node as usize].inverse[*place as usize];
        }
    }

    /// $(G \operatorname{diag}(v)\, G)_{ts}$ for every entry $(s, t)$ of the pattern: note the
    /// order. After [`invert`](Self::invert).
    pub fn derivative(&mut self, symbolic: &Symbolic, v: &[f64], out: &mut [f64]) {
        forest(
            symbolic.forest(),
            &mut self.fronts,
            &|nodes, base, fronts| {
                let (node, front) = last(nodes, fronts);
                front.0.begin_derivative(node, v);
                for child in node.ends.iter().map(|end| end - 1 - base) {
                    let below = &front.1[child];
                    let (p, m) = (nodes[child].pivots.len(), nodes[child].size());
                    scatter_add(
                        (&mut front.0.factor_dot, node.size()),
                        (&below.factor_dot, m, p),
                        &nodes[child].place,
                    );
                }
                front.0.eliminate_derivative(node);
                true
            },
        );
        descend(
            symbolic.forest(),
            &mut self.fronts,
            &|node, front, above| front.invert_derivative(node, above),
        );
        for (node, front) in symbolic.nodes.iter().zip(&self.fronts) {
            let m = node.size();
            for &(entry, place) in &node.entries {
                // the place of (s, t) turned over
                let (row, column) = (place as usize % m, place as usize / m);
                out[entry as usize] = front.inverse_dot[row * m + column];
            }
        }
    }

    /// Solves $A x = b$ in place.
    pub fn solve(&mut self, symbolic: &Symbolic, x: &mut [f64]) {
        self.solve_either(symbolic, x, false);
    }

    /// Solves $A^\top x = b$ in place.
    pub fn solve_transposed(&mut self, symbolic: &Symbolic, x: &mut [f64]) {
        self.solve_either(symbolic, x, true);
    }

    fn solve_either(&mut self, symbolic: &Symbolic, x: &mut [f64], transposed: bool) {
        let right = &mut self.right;
        for (node, front) in symbolic.nodes.iter().zip(&self.fronts) {
            let (p, m) = (node.pivots.len(), node.size());
            for (i, &v) in node.pivots.iter().enumerate() {
                right[i] = x[v as usize];
            }
            // what the pivots take from their border
            for (i, &v) in node.border.iter().enumerate() {
                let sum: f64 = if transposed {
                    let column = &front.factor[(p + i) * m..(p + i) * m + p];
                    column.iter().zip(&right[..p]).map(|(y, b)| y * b).sum()
                } else {
                    (0..p).map(|k| front.factor[k * m + p + i] * right[k]).sum()
                };
                x[v as usize] -= sum;
            }
            for (i, &v) in node.pivots.iter().enumerate() {
                x[v as usize] = if transposed {
                    let column = &front.factor[i * m..i * m + p];
                    column.iter().zip(&right[..p]).map(|(d, b)| d * b).sum()
                } else {
                    (0..p).map(|k| front.factor[k * m + i] * right[k]).sum()
                };
            }
        }
        for (node, front) in symbolic.nodes.iter().zip(&self.fronts).rev() {
            let (p, m) = (node.pivots.len(), node.size());
            for (i, &v) in node.border.iter().enumerate() {
                right[i] = x[v as usize];
            }
            let b = node.border.len();
            for (i, &v) in node.pivots.iter().enumerate() {
                let sum: f64 = if transposed {
                    let column = &front.factor[i * m + p..(i + 1) * m];
                    column.iter().zip(&right[..b]).map(|(x, b)| x * b).sum()
                } else {
                    let rows = (0..b).map(|k| front.factor[(p + k) * m + i] * right[k]);
                    rows.sum()
                };
                x[v as usize] -= sum;
            }
        }
    }
}

/// What a matrix is assembled from.
#[derive(Clone, Copy)]
struct Values<'a> {
    entries: &'a [f64],
    diagonal: &'a [f64],
}

impl Front {
    fn assemble(&mut self, node: &Node, values: Values<'_>) {
        let m = node.size();
        self.factor.fill(0.0);
        for &(entry, place) in &node.entries {
            self.factor[place as usize] += values.entries[entry as usize];
        }
        for (i, &v) in node.pivots.iter().enumerate() {
            self.factor[i * m + i] += values.diagonal[v as usize];
        }
    }

    /// $F \to D, X, Y$ and what goes to the parent.
    fn eliminate(&mut self, node: &Node) -> bool {
        let (p, b, m) = (node.pivots.len(), node.border.len(), node.size());
        let (factor, room) = (&mut self.factor, &mut self.room);
        // D by itself, in packed columns
        let (d, rest) = room.split_at_mut(p * p);
        for j in 0..p {
            d[j * p..(j + 1) * p].copy_from_slice(&factor[j * m..j * m + p]);
        }
        if !invert(d, p, rest) {
            return false;
        }
        let (x, rest) = rest.split_at_mut(b * p);
        product((x, b), (&factor[p..], m), (d, p), (b, p, p), 1.0, false);
        let (y, _) = rest.split_at_mut(p * b);
        product((y, p), (d, p), (&factor[p * m..], m), (p, p, b), 1.0, false);
        // the Schur complement reads F_JB, which Y replaces afterwards
        let (left, right) = factor.split_at_mut(p * m);
        for j in 0..p {
            left[j * m..j * m + p].copy_from_slice(&d[j * p..(j + 1) * p]);
        }
        if b > 0 {
            let top = &mut self.inverse[..p * b];
            for j in 0..b {
                top[j * p..(j + 1) * p].copy_from_slice(&right[j * m..j * m + p]);
            }
            product(
                (&mut right[p..], m),
                (x, b),
                (top, p),
                (b, p, b),
                -1.0,
                true,
            );
            for j in 0..p {
                left[j * m + p..(j + 1) * m].copy_from_slice(&x[j * b..(j + 1) * b]);
            }
            for j in 0..b {
                right[j * m..j * m + p].copy_from_slice(&y[j * p..(j + 1) * p]);
            }
        }
        true
    }

    /// The entries of $G$, with those of the border from the parent's front.
    fn invert(&mut self, node: &Node, above: Option<(&Front, usize)>) {
        let (p, b, m) = (node.pivots.len(), node.border.len(), node.size());
        let (f, g) = (&self.factor, &mut self.inverse);
        if let Some((parent, size)) = above {
            gather((g, m, p), (&parent.inverse, size), &node.place);
        }
        let (left, right) = g.split_at_mut(p * m);
        for j in 0..p {
            left[j * m..j * m + p].copy_from_slice(&f[j * m..j * m + p]);
        }
        if b == 0 {
            return;
        }
        let border = &mut self.room[..b * b];
        for j in 0..b {
            border[j * b..(j + 1) * b].copy_from_slice(&right[j * m + p..(j + 1) * m]);
        }
        let (x, y) = (&f[p..], &f[p * m..]);
        product(
            (&mut left[p..], m),
            (border, b),
            (x, m),
            (b, b, p),
            -1.0,
            false,
        );
        product((right, m), (y, m), (border, b), (p, b, b), -1.0, false);
        let below = &mut self.room[..b * p];
        for j in 0..p {
            below[j * b..(j + 1) * b].copy_from_slice(&left[j * m + p..(j + 1) * m]);
        }
        product((left, m), (y, m), (below, b), (p, b, p), -1.0, true);
    }

    fn begin_derivative(&mut self, node: &Node, v: &[f64]) {
        let m = node.size();
        self.factor_dot.resize(m * m, 0.0);
        self.inverse_dot.resize(m * m, 0.0);
        self.factor_dot.fill(0.0);
        for (i, &pivot) in node.pivots.iter().enumerate() {
            self.factor_dot[i * m + i] = -v[pivot as usize];
        }
    }

    /// $\dot D = -D \dot F_{JJ} D$, $\dot X = (\dot F_{BJ} - X \dot F_{JJ}) D$,
    /// $\dot Y = D (\dot F_{JB} - \dot F_{JJ} Y)$, and for the parent
    /// $\dot F_{BB} - \dot F_{BJ} Y - X (\dot F_{JB} - \dot F_{JJ} Y)$.
    fn eliminate_derivative(&mut self, node: &Node) {
        let (p, b, m) = (node.pivots.len(), node.border.len(), node.size());
        let (f, dot) = (&self.factor, &mut self.factor_dot);
        let (d, x, y) = (&f[..], &f[p..], &f[p * m..]);
        let (first, rest) = self.room.split_at_mut(p * p);
        let (upper, lower) = rest.split_at_mut(p * b);
        let (left, right) = dot.split_at_mut(p * m);
        if b > 0 {
            // upper: the derivative of F_JB less that of F_JJ times Y
            for j in 0..b {
                upper[j * p..(j + 1) * p].copy_from_slice(&right[j * m..j * m + p]);
            }
            product((upper, p), (left, m), (y, m), (p, p, b), -1.0, true);
            product(
                (&mut right[p..], m),
                (&left[p..], m),
                (y, m),
                (b, p, b),
                -1.0,
                true,
            );
            product(
                (&mut right[p..], m),
                (x, m),
                (upper, p),
                (b, p, b),
                -1.0,
                true,
            );
            product((right, m), (d, m), (upper, p), (p, p, b), 1.0, false);
            // lower: the derivative of F_BJ less X times that of F_JJ
            let lower = &mut lower[..b * p];
            for j in 0..p {
                lower[j * b..(j + 1) * b].copy_from_slice(&left[j * m + p..(j + 1) * m]);
            }
            product((lower, b), (x, m), (left, m), (b, p, p), -1.0, true);
            product(
                (&mut left[p..], m),
                (lower, b),
                (d, m),
                (b, p, p),
                1.0,
                false,
            );
        }
        if node.ends.is_empty() {
            // the derivative of F_JJ is diagonal where nothing was eliminated before
            for j in 0..p {
                for i in 0..p {
                    first[j * p + i] = left[i * m + i] * d[j * m + i];
                }
            }
        } else {
            product((first, p), (left, m), (d, m), (p, p, p), 1.0, false);
        }
        product((left, m), (d, m), (first, p), (p, p, p), -1.0, false);
    }

    /// $\dot G_{BJ} = -\dot G_{BB} X - G_{BB} \dot X$, $\dot G_{JB} = -\dot Y G_{BB} - Y \dot
    /// G_{BB}$, $\dot G_{JJ} = \dot D - \dot Y G_{BJ} - Y \dot G_{BJ}$.
    fn invert_derivative(&mut self, node: &Node, above: Option<(&Front, usize)>) {
        let (p, b, m) = (node.pivots.len(), node.border.len(), node.size());
        let (f, f_dot) = (&self.factor, &self.factor_dot);
        let (g, g_dot) = (&self.inverse, &mut self.inverse_dot);
        if let Some((parent, size)) = above {
            gather((g_dot, m, p), (&parent.inverse_dot, size), &node.place);
        }
        let (left, right) = g_dot.split_at_mut(p * m);
        for j in 0..p {
            left[j * m..j * m + p].copy_from_slice(&f_dot[j * m..j * m + p]);
        }
        if b == 0 {
            return;
        }
        let border = &g[p * m + p..];
        let (x, y) = (&f[p..], &f[p * m..]);
        let (x_dot, y_dot) = (&f_dot[p..], &f_dot[p * m..]);
        let border_dot = &mut self.room[..b * b];
        for j in 0..b {
            border_dot[j * b..(j + 1) * b].copy_from_slice(&right[j * m + p..(j + 1) * m]);
        }
        product(
            (&mut left[p..], m),
            (border_dot, b),
            (x, m),
            (b, b, p),
            -1.0,
            false,
        );
        product(
            (&mut left[p..], m),
            (border, m),
            (x_dot, m),
            (b, b, p),
            -1.0,
            true,
        );
        product((right, m), (y_dot, m), (border, m), (p, b, b), -1.0, false);
        product((right, m), (y, m), (border_dot, b), (p, b, b), -1.0, true);
        let below_dot = &mut self.room[..b * p];
        for j in 0..p {
            below_dot[j * b..(j + 1) * b].copy_from_slice(&left[j * m + p..(j + 1) * m]);
        }
        let below = &g[p..];
        product((left, m), (y_dot, m), (below, m), (p, b, p), -1.0, true);
        product((left, m), (y, m), (below_dot, b), (p, b, p), -1.0, true);
    }
}
