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
