//! The three distances, and the search for the optimal policy nearest to a given one, as quadratic
//! programs over [rows](super::methods::rows) for the [interior-point
//! method](super::methods::interior_point).

pub(super) mod column_sum;
pub(super) mod frobenius;
pub(super) mod frobenius_face;
pub(super) mod infinity;

use std::ops::Range;

use super::methods::rows::Rows;

/// The cells that have an upper bound of their own: none where $\zeta = 1$, as no probability
/// exceeds one.
fn capped(cells: Range<usize>, zeta: f64) -> Range<usize> {
    if zeta < 1.0 { cells } else { 0..0 }
}

/// The objective $\tfrac12 \|\pi - c\|^2$ in the coordinates $\pi_s = \xi + m_s p_s$, once it is
/// wanted.
struct Pull {
    active: bool,
    /// For each action that can move, of $c$ copies: $m_s^2 / c$, and its $p$ under the uniform
    /// policy.
    weight: Vec<f64>,
    uniform: Vec<f64>,
}

impl Pull {
    fn new(rows: &Rows) -> Self {
        let (mut weight, mut uniform) = (Vec::new(), Vec::new());
        for (s, w) in rows.first.windows(2).enumerate() {
            let copies = |i: usize| rows.pairs_of(i).len() as f64;
            let count: f64 = (w[0]..w[1]).map(copies).sum();
            weight.extend((w[0]..w[1]).map(|i| rows.mass(s).powi(2) / copies(i)));
            uniform.extend((w[0]..w[1]).map(|i| copies(i) / count));
        }
        Pull {
            active: false,
            weight,
            uniform,
        }
    }

    /// The linear part, into the costs, of which nothing else is left. $c$ has an entry for each of
    /// the model's pairs and may lie anywhere: the nearest point of a face to one far away is an
    /// extreme point of that face.
    fn begin(&mut self, rows: &Rows, centre: &[f64], cost: &mut [f64]) {
        self.active = true;
        cost.fill(0.0);
        for (s, w) in rows.first.windows(2).enumerate() {
            for i in w[0]..w[1] {
                cost[i] = rows.mass(s) * (rows.xi - centre[rows.pairs_of(i)[0]]);
            }
        }
    }

    /// Adds the second derivative times `x`; says whether there is one.
    fn curvature(&self, x: &[f64], out: &mut [f64]) -> bool {
        if self.active {
            for ((o, x), w) in out.iter_mut().zip(x).zip(&self.weight) {
                *o += w * x;
            }
        }
        self.active
    }

    /// The policy's barrier and second derivative together.
    fn weights(&self, theta: &[f64], out: &mut [f64]) {
        out.copy_from_slice(theta);
        if self.active {
            for (o, w) in out.iter_mut().zip(&self.weight) {
                *o += w;
            }
        }
    }
}
