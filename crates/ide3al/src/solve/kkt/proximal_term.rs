//! The objective of the search for the optimal policy nearest to a given one.

use super::transition_rows::TransitionRows;

/// The objective $\tfrac12 \|\pi - c\|^2$ in the coordinates $\pi_s = \xi + m_s p_s$, once it is
/// wanted.
pub(in crate::solve) struct ProximalTerm {
    pub(in crate::solve) active: bool,
    /// For each action that can move, of $c$ copies: $m_s^2 / c$, and its $p$ under the uniform
    /// policy.
    weight: Vec<f64>,
    pub(in crate::solve) uniform: Vec<f64>,
}

impl ProximalTerm {
    pub(in crate::solve) fn new(rows: &TransitionRows) -> Self {
        let (mut weight, mut uniform) = (Vec::new(), Vec::new());
        for (s, w) in rows.first.windows(2).enumerate() {
            let copies = |i: usize| rows.pairs_of(i).len() as f64;
            let count: f64 = (w[0]..w[1]).map(copies).sum();
            weight.extend((w[0]..w[1]).map(|i| rows.mass(s).powi(2) / copies(i)));
            uniform.extend((w[0]..w[1]).map(|i| copies(i) / count));
        }
        ProximalTerm {
            active: false,
            weight,
            uniform,
        }
    }

    /// The linear part, into the costs, of which nothing else is left. $c$ has an entry for each of
    /// the model's pairs and may lie anywhere: the nearest point of a face to one far away is an
    /// extreme point of that face.
    pub(in crate::solve) fn activate(
        &mut self,
        rows: &TransitionRows,
        centre: &[f64],
        cost: &mut [f64],
    ) {
        self.active = true;
        cost.fill(0.0);
        for (s, w) in rows.first.windows(2).enumerate() {
            for i in w[0]..w[1] {
                cost[i] = rows.mass(s) * (rows.xi - centre[rows.pairs_of(i)[0]]);
            }
        }
    }

    /// Adds the second derivative times `x`; says whether there is one.
    pub(in crate::solve) fn curvature(&self, x: &[f64], out: &mut [f64]) -> bool {
        if self.active {
            for ((o, x), w) in out.iter_mut().zip(x).zip(&self.weight) {
                *o += w * x;
            }
        }
        self.active
    }

    /// The policy's barrier and second derivative together.
    pub(in crate::solve) fn weights(&self, theta: &[f64], out: &mut [f64]) {
        out.copy_from_slice(theta);
        if self.active {
            for (o, w) in out.iter_mut().zip(&self.weight) {
                *o += w;
            }
        }
    }
}
