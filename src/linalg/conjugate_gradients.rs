//! Conjugate gradients for symmetric positive definite systems, with the diagonal as preconditioner.

use super::parallel::{sum, update};

/// The vectors of the method, kept between solves.
#[derive(Debug, Clone)]
pub(crate) struct ConjugateGradients {
    /// The right side before a solve, what is left of it afterwards.
    pub(crate) residual: Vec<f64>,
    /// The preconditioner $D$: the matrix' diagonal, or about that.
    pub(crate) diagonal: Vec<f64>,
    conjugate: Vec<f64>,
    product: Vec<f64>,
}

impl ConjugateGradients {
    pub(crate) fn new(n: usize) -> Self {
        ConjugateGradients {
            residual: vec![0.0; n],
            diagonal: vec![1.0; n],
            conjugate: vec![0.0; n],
            product: vec![0.0; n],
        }
    }

    /// Solves $A x = $ `residual`, from zero, until $\sum_t r_t^2 / D_t$ has fallen by the square of `tolerance`, or `most`
    /// products are made, or rounding leaves no curvature; says whether it has. `times(v, out)` is to write $A v$, and may end the
    /// solve by returning false.
    pub(crate) fn solve(
        &mut self,
        x: &mut [f64],
        (tolerance, most): (f64, usize),
        mut times: impl FnMut(&[f64], &mut [f64]) -> bool,
    ) -> bool {
        let n = x.len();
        x.fill(0.0);
        let (residual, diagonal) = (&self.residual, &self.diagonal);
        update(&mut self.conjugate, |t, _| residual[t] / diagonal[t]);
        let mut rho = sum(n, |t| residual[t] * residual[t] / diagonal[t]);
        let enough = tolerance * tolerance * rho;
        for _ in 0..most {
            if !(rho > enough) || !times(&self.conjugate, &mut self.product) {
                break;
            }
            let (conjugate, product) = (&self.conjugate, &self.product);
            let curvature = sum(n, |t| product[t] * conjugate[t]);
            if !(curvature > 0.0) {
                break;
            }
            let size = rho / curvature;
            update(x, |t, x| x + size * conjugate[t]);
            update(&mut self.residual, |t, r| r - size * product[t]);
            let residual = &self.residual;
            let next = sum(n, |t| residual[t] * residual[t] / diagonal[t]);
            let momentum = next / rho;
            rho = next;
            update(&mut self.conjugate, |t, v| {
                residual[t] / diagonal[t] + momentum * v
            });
        }
        !(rho > enough)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn solves_a_chain_of_springs() {
        // 3 on the diagonal, -1 beside it
        let n = 50;
        let times = |v: &[f64], out: &mut [f64]| {
            for t in 0..n {
                let before = if t > 0 { v[t - 1] } else { 0.0 };
                let after = if t + 1 < n { v[t + 1] } else { 0.0 };
                out[t] = 3.0 * v[t] - before - after;
            }
            true
        };
        let wanted: Vec<f64> = (0..n).map(|t| (t as f64).sin()).collect();
        let mut method = ConjugateGradients::new(n);
        times(&wanted, &mut method.residual);
        method.diagonal.fill(3.0);
        let mut x = vec![0.0; n];
        assert!(method.solve(&mut x, (1e-12, 2 * n), times));
        assert!((0..n).all(|t| (x[t] - wanted[t]).abs() < 1e-10));
    }
}
