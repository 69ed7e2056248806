//! Newton's direction for the projection's dual, by conjugate gradients on the columns.

use super::{Projection, Work};
use crate::formulation::support::Support;

impl Projection {
    /// `out_s = sum over free t of v_t`.
    fn times(&mut self, support: &Support, v: &[f64], out: &mut [f64]) {
        let prefix = &mut self.work.prefix;
        for (k, &t) in self.columns.order.iter().enumerate() {
            prefix[k + 1] = prefix[k] + v[t as usize];
        }
        for s in 0..self.n {
            let mut sum =
                prefix[self.columns.high[s] as usize] - prefix[self.columns.low[s] as usize];
            for k in support.offsets[s]..support.offsets[s + 1] {
                sum += f64::from(self.correction[k]) * v[support.columns[k] as usize];
            }
            out[s] = sum;
        }
    }

    /// `out_t = sum over free s of w_s`.
    fn transpose_times(&mut self, support: &Support, w: &[f64], out: &mut [f64]) {
        let prefix = &mut self.work.prefix;
        for (k, &s) in self.rows.order.iter().enumerate() {
            prefix[k + 1] = prefix[k] + w[s as usize];
        }
        for (t, out) in out.iter_mut().enumerate() {
            *out = prefix[self.rows.high[t] as usize] - prefix[self.rows.low[t] as usize];
        }
        for s in 0..self.n {
            for k in support.offsets[s]..support.offsets[s + 1] {
                out[support.columns[k] as usize] += f64::from(self.correction[k]) * w[s];
            }
        }
    }

    /// One Newton direction by conjugate gradients on the column system
    /// $(C + \delta - N^\top (R + \delta)^{-1} N) v = \text{right}$.
    pub(super) fn newton_direction(&mut self, support: &Support, delta: f64, tolerance: f64) {
        let n = self.n;
        let mut work = std::mem::replace(&mut self.work, empty_work());
        std::mem::swap(&mut self.work.prefix, &mut work.prefix);
        // right = (1 - columns) - N' (R + delta)^-1 (1 - rows)
        // a row or column without a free entry has no curvature: it takes a step of order one
        let damped = |count: f64| if count < 0.5 { 1.0 } else { count + delta };
        for s in 0..n {
            work.rows[s] = (1.0 - self.row_sums[s]) / damped(self.columns.counts[s]);
        }
        self.transpose_times(support, &work.rows, &mut work.right);
        for t in 0..n {
            work.right[t] = 1.0 - self.column_sums[t] - work.right[t];
        }
        let v = &mut work.direction_beta;
        v.fill(0.0);
        work.residual.copy_from_slice(&work.right);
        let scale = |t: usize, counts: &[f64]| 1.0 / damped(counts[t]);
        let mut rho = 0.0;
        for t in 0..n {
            work.conjugate[t] = work.residual[t] * scale(t, &self.rows.counts);
            rho += work.conjugate[t] * work.residual[t];
        }
        let first = rho;
        let limit = 4 * n + 50;
        for _ in 0..limit {
            if rho <= tolerance * tolerance * first || rho == 0.0 {
                break;
            }
            self.times(support, &work.conjugate, &mut work.rows);
            for s in 0..n {
                work.rows[s] /= damped(self.columns.counts[s]);
            }
            self.transpose_times(support, &work.rows, &mut work.product);
            let mut curvature = 0.0;
            for t in 0..n {
                work.product[t] = damped(self.rows.counts[t]) * work.conjugate[t] - work.product[t];
                curvature += work.product[t] * work.conjugate[t];
            }
            if curvature <= 0.0 {
                break;
            }
            let step = rho / curvature;
            let mut next = 0.0;
            for t in 0..n {
                v[t] += step * work.conjugate[t];
                work.residual[t] -= step * work.product[t];
                next += work.residual[t] * work.residual[t] * scale(t, &self.rows.counts);
            }
            let momentum = next / rho;
            rho = next;
            for t in 0..n {
                work.conjugate[t] =
                    work.residual[t] * scale(t, &self.rows.counts) + momentum * work.conjugate[t];
            }
        }
        self.times(support, &work.direction_beta, &mut work.rows);
        for s in 0..n {
            work.direction_alpha[s] =
                (1.0 - self.row_sums[s] - work.rows[s]) / damped(self.columns.counts[s]);
        }
        // adding c to beta and taking it from alpha changes nothing: without this the
        // multipliers drift along that direction and their digits go
        let drift = work.direction_beta.iter().sum::<f64>() / n as f64;
        work.direction_beta.iter_mut().for_each(|x| *x -= drift);
        work.direction_alpha.iter_mut().for_each(|x| *x += drift);
        std::mem::swap(&mut self.work.prefix, &mut work.prefix);
        self.work = work;
    }
}

fn empty_work() -> Work {
    Work {
        direction_alpha: Vec::new(),
        direction_beta: Vec::new(),
        right: Vec::new(),
        residual: Vec::new(),
        conjugate: Vec::new(),
        product: Vec::new(),
        rows: Vec::new(),
        prefix: Vec::new(),
        saved_alpha: Vec::new(),
        saved_beta: Vec::new(),
    }
}
