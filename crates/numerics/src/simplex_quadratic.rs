//! A strictly convex quadratic over $\Delta_\xi$, in as many variables as a state has actions, by
//! active sets.

/// How far above $\xi$ a probability counts as being at its bound: rounding of a sum of one.
const AT_BOUND: f64 = 1e-14;

/// The quadratic's second derivative, its minimiser and workspace.
#[derive(Debug, Default)]
pub struct SimplexQuadratic {
    /// The second derivative, row by row.
    pub matrix: Vec<f64>,
    /// The step to the minimiser.
    pub direction: Vec<f64>,
    /// Actions that the step takes to, or leaves at, $\xi$.
    pub fixed: Vec<bool>,
    /// The other actions, and on these alone: the matrix' Cholesky factor, a step, and the solution
    /// for ones.
    members: Vec<usize>,
    factor: Vec<f64>,
    step: Vec<f64>,
    ones: Vec<f64>,
}

impl SimplexQuadratic {
    /// Room for `m` actions.
    pub fn resize(&mut self, m: usize) {
        for v in [&mut self.matrix, &mut self.factor] {
            resize(v, m * m, 0.0);
        }
        for v in [&mut self.direction, &mut self.step, &mut self.ones] {
            resize(v, m, 0.0);
        }
        resize(&mut self.fixed, m, false);
    }

    /// `direction` = the step from `p`, where the slopes are `gradient`, to the minimiser over
    /// $\Delta_\xi$.
    pub fn minimise(&mut self, gradient: &[f64], p: &[f64], xi: f64) {
        let m = p.len();
        self.direction.fill(0.0);
        for (fixed, p) in self.fixed.iter_mut().zip(p) {
            *fixed = *p <= xi + AT_BOUND;
        }
        let scale = gradient.iter().fold(0.0, |x, g| f64::max(x, g.abs()));
        for _ in 0..8 * m + 16 {
            self.members.clear();
            self.members.extend((0..m).filter(|a| !self.fixed[*a]));
            let level = match self.members[..] {
                // everything at the bound: nothing can move
                [] => break,
                [only] => self.slope(gradient, only),
                _ => {
                    let level = self.tangent_step(gradient);
                    if self.go_within(p, xi) {
                        continue;
                    }
                    level
                }
            };
            // of the actions at their bound the one whose slope lies furthest below the others' is
            // let go
            let (mut worst, mut released) = (-1e-14 * scale, None);
            for a in (0..m).filter(|a| self.fixed[*a]) {
                let below = self.slope(gradient, a) - level;
                if below < worst {
                    (worst, released) = (below, Some(a));
                }
            }
            match released {
                Some(a) => self.fixed[a] = false,
                None => break,
            }
        }
    }

    /// The quadratic's slope at the end of `direction`.
    fn slope(&self, gradient: &[f64], a: usize) -> f64 {
        let m = gradient.len();
        gradient[a] + dot(&self.matrix[a * m..(a + 1) * m], &self.direction)
    }

    /// Goes on by `step` as far as no probability falls below $\xi$; returns whether one was in the
    /// way, which is then fixed.
    fn go_within(&mut self, p: &[f64], xi: f64) -> bool {
        let (mut size, mut blocking) = (1.0, None);
        for (&a, &e) in self.members.iter().zip(&self.step) {
            if e < 0.0 {
                let room = (xi - p[a] - self.direction[a]) / e;
                if room < size {
                    (size, blocking) = (room.max(0.0), Some(a));
                }
            }
        }
        for (&a, e) in self.members.iter().zip(&self.step) {
            self.direction[a] += size * e;
        }
        if let Some(a) = blocking {
            self.direction[a] = xi - p[a];
            self.fixed[a] = true;
        }
        blocking.is_some()
    }

    /// `step` = from the end of `direction` to the minimiser over the members with their sum kept.
    /// Returns the slope that they have in common there.
    fn tangent_step(&mut self, gradient: &[f64]) -> f64 {
        for i in 0..self.members.len() {
            self.step[i] = -self.slope(gradient, self.members[i]);
        }
        let total = self.factorise();
        -self.solve(total)
    }

    /// Turns minus the slopes in `step` into the step along which they become all the same, the sum
    /// kept; returns minus that slope. `total` is what factorising returned.
    fn solve(&mut self, total: f64) -> f64 {
        let q = self.members.len();
        back_substitute(&self.factor, q, &mut self.step);
        let level = self.step[..q].iter().sum::<f64>() / total;
        for (x, one) in self.step[..q].iter_mut().zip(&self.ones) {
            *x -= level * one;
        }
        level
    }

    /// The inverse of the matrix on the directions that keep the sum of the `free` actions and
    /// leave the others alone.
    pub fn inverse(&mut self, free: impl Fn(usize) -> bool, inverse: &mut [f64]) {
        let m = self.direction.len();
        inverse.fill(0.0);
        self.members.clear();
        self.members.extend((0..m).filter(|a| free(*a)));
        let q = self.members.len();
        if q < 2 {
            return;
        }
        let total = self.factorise();
        for j in 0..q {
            self.step[..q].fill(0.0);
            self.step[j] = 1.0;
            self.solve(total);
            for i in 0..q {
                inverse[self.members[i] * m + self.members[j]] = self.step[i];
            }
        }
    }

    /// Cholesky factor of the matrix on the members and its solution for ones, whose sum is
    /// returned.
    fn factorise(&mut self) -> f64 {
        let (m, q) = (self.direction.len(), self.members.len());
        for i in 0..q {
            for j in 0..=i {
                let mut sum = self.matrix[self.members[i] * m + self.members[j]];
                for k in 0..j {
                    sum -= self.factor[i * q + k] * self.factor[j * q + k];
                }
                self.factor[i * q + j] = if i == j {
                    sum.max(1e-300).sqrt()
                } else {
                    sum / self.factor[j * q + j]
                };
            }
        }
        self.ones[..q].fill(1.0);
        back_substitute(&self.factor, q, &mut self.ones);
        self.ones[..q].iter().sum()
    }
}

/// Solves $L L^\top x = b$ in place, `factor` packed with `q` columns.
fn back_substitute(factor: &[f64], q: usize, x: &mut [f64]) {
    for i in 0..q {
        let mut sum = x[i];
        for k in 0..i {
            sum -= factor[i * q + k] * x[k];
        }
        x[i] = sum / factor[i * q + i];
    }
    for i in (0..q).rev() {
        let mut sum = x[i];
        for k in i + 1..q {
            sum -= factor[k * q + i] * x[k];
        }
        x[i] = sum / factor[i * q + i];
    }
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// Makes a vector of `n` times the same.
fn resize<T: Clone>(v: &mut Vec<T>, n: usize, value: T) {
    v.clear();
    v.resize(n, value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::oracle::{self, Numbers};
    use faer::Mat;

    /// A positive definite matrix.
    fn definite(numbers: &mut Numbers, m: usize) -> Vec<f64> {
        let root = numbers.signed(m * m);
        let mut matrix = vec![0.0; m * m];
        for i in 0..m {
            for j in 0..m {
                matrix[i * m + j] = (0..m).map(|k| root[k * m + i] * root[k * m + j]).sum();
            }
            matrix[i * m + i] += 0.05;
        }
        matrix
    }

    /// $\tfrac12 d^\top H d + g \cdot d$.
    fn value(matrix: &[f64], gradient: &[f64], d: &[f64]) -> f64 {
        let product = oracle::times(matrix, d);
        dot(d, gradient) + 0.5 * dot(d, &product)
    }

    /// The best step over all choices of the actions that end at the bound, by dense LU.
    fn enumerate(matrix: &[f64], gradient: &[f64], p: &[f64], xi: f64) -> Vec<f64> {
        let m = p.len();
        let mut best: Option<(f64, Vec<f64>)> = None;
        for code in 0..1usize << m {
            let held = |i: usize| code >> i & 1 == 1;
            if code == (1 << m) - 1 {
                continue;
            }
            let system = Mat::from_fn(m + 1, m + 1, |i, j| match (i < m, j < m) {
                (true, _) if held(i) => f64::from(u8::from(i == j)),
                (true, true) => matrix[i * m + j],
                (true, false) | (false, true) => 1.0,
                (false, false) => 0.0,
            });
            let right = (0..=m).map(|i| match i {
                i if i == m => 0.0,
                i if held(i) => xi - p[i],
                i => -gradient[i],
            });
            let right: Vec<f64> = right.collect();
            let d = oracle::solve(system.as_ref(), &right);
            if (0..m).all(|i| p[i] + d[i] >= xi - 1e-10) {
                let value = value(matrix, gradient, &d[..m]);
                if best.as_ref().is_none_or(|(least, _)| value < *least) {
                    best = Some((value, d[..m].to_vec()));
                }
            }
        }
        best.unwrap().1
    }

    /// Up to six actions, starts inside and on the boundary, with and without a floor.
    #[test]
    fn steps_are_those_of_enumeration() {
        let mut numbers = Numbers(21);
        let mut quadratic = SimplexQuadratic::default();
        let mut at_bound = 0;
        for case in 0..300 {
            let m = 2 + case % 5;
            let xi = [0.0, 0.03][case % 2];
            let matrix = definite(&mut numbers, m);
            let gradient: Vec<f64> = numbers.signed(m).iter().map(|g| 2.0 * g).collect();
            let mut p: Vec<f64> = (0..m).map(|_| numbers.next()).collect();
            if case % 3 == 0 {
                p[numbers.below(m)] = 0.0;
            }
            let sum: f64 = p.iter().sum();
            let free = 1.0 - m as f64 * xi;
            p.iter_mut().for_each(|x| *x = xi + free * *x / sum);
            quadratic.resize(m);
            quadratic.matrix.copy_from_slice(&matrix);
            quadratic.minimise(&gradient, &p, xi);
            let expected = enumerate(&matrix, &gradient, &p, xi);
            for (i, (d, e)) in quadratic.direction.iter().zip(&expected).enumerate() {
                assert!((d - e).abs() < 1e-9, "case {case}, action {i}: {d} {e}");
                if quadratic.fixed[i] {
                    assert!((p[i] + d - xi).abs() < 1e-12);
                    at_bound += 1;
                }
            }
        }
        assert!(at_bound > 100, "{at_bound}");
    }

    /// $N$ is what $(H, 1)$'s bordered inverse says: $N H N = N$, no row outside of the free
    /// actions, rows that sum to zero.
    #[test]
    fn inverses_are_those_of_the_bordered_matrix() {
        let mut numbers = Numbers(22);
        let mut quadratic = SimplexQuadratic::default();
        for case in 0..100 {
            let m = 1 + case % 6;
            let matrix = definite(&mut numbers, m);
            let free: Vec<bool> = (0..m).map(|_| numbers.next() < 0.7).collect();
            let members: Vec<usize> = (0..m).filter(|i| free[*i]).collect();
            quadratic.resize(m);
            quadratic.matrix.copy_from_slice(&matrix);
            let mut inverse = vec![f64::NAN; m * m];
            quadratic.inverse(|i| free[i], &mut inverse);
            let q = members.len();
            let system = Mat::from_fn(q + 1, q + 1, |i, j| match (i < q, j < q) {
                (true, true) => matrix[members[i] * m + members[j]],
                (false, false) => 0.0,
                _ => 1.0,
            });
            let mut expected = vec![0.0; m * m];
            for j in 0..if q > 1 { q } else { 0 } {
                let unit: Vec<f64> = (0..=q).map(|i| f64::from(u8::from(i == j))).collect();
                let column = oracle::solve(system.as_ref(), &unit);
                for i in 0..q {
                    expected[members[i] * m + members[j]] = column[i];
                }
            }
            for (k, (n, e)) in inverse.iter().zip(&expected).enumerate() {
                assert!((n - e).abs() < 1e-9, "case {case}, entry {k}: {n} {e}");
            }
        }
    }
}
