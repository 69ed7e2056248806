//! Conjugate gradients for symmetric positive definite systems, with the diagonal or another matrix
//! as preconditioner.

use super::parallel::{sum, update};

/// The vectors of the method, kept between solves.
#[derive(Debug, Clone)]
pub struct ConjugateGradients {
    /// The right side before a solve, what is left of it afterwards.
    pub residual: Vec<f64>,
    /// The preconditioner $D$: the matrix' diagonal, or about that.
    pub diagonal: Vec<f64>,
    /// After so many products, and whenever as many more are made, a solve ends that at its rate
    /// would need more than it may make.
    pub trial: usize,
    scaled: Vec<f64>,
    conjugate: Vec<f64>,
    product: Vec<f64>,
}

impl ConjugateGradients {
    /// Work space for systems of `n` unknowns.
    pub fn new(n: usize) -> Self {
        ConjugateGradients {
            residual: vec![0.0; n],
            diagonal: vec![1.0; n],
            trial: usize::MAX,
            scaled: vec![0.0; n],
            conjugate: vec![0.0; n],
            product: vec![0.0; n],
        }
    }

    /// Solves $A x = $ `residual`, from zero, until $\sum_t r_t^2 / D_t$ has fallen by the square
    /// of `tolerance`, or `most` products are made, or rounding leaves no curvature; says whether
    /// it has. `times(v, out)` is to write $A v$, and may end the solve by returning false.
    pub fn solve(
        &mut self,
        x: &mut [f64],
        (tolerance, most): (f64, usize),
        times: impl FnMut(&[f64], &mut [f64]) -> bool,
    ) -> bool {
        let diagonal = std::mem::take(&mut self.diagonal);
        let by_diagonal = |residual: &[f64], scaled: &mut [f64]| {
            update(scaled, |t, _| residual[t] / diagonal[t]);
            sum(residual.len(), |t| residual[t] * residual[t] / diagonal[t])
        };
        let solved = self.solve_by(x, (tolerance, most), times, by_diagonal);
        self.diagonal = diagonal;
        solved
    }

    /// The same with another preconditioner $D$: `precondition(r, out)` is to write $D^{-1} r$ and
    /// to return $r \cdot D^{-1} r$, which is what falls.
    pub fn solve_by(
        &mut self,
        x: &mut [f64],
        (tolerance, most): (f64, usize),
        mut times: impl FnMut(&[f64], &mut [f64]) -> bool,
        mut precondition: impl FnMut(&[f64], &mut [f64]) -> f64,
    ) -> bool {
        let n = x.len();
        x.fill(0.0);
        let mut rho = precondition(&self.residual, &mut self.scaled);
        self.conjugate.copy_from_slice(&self.scaled);
        let (first, enough) = (rho, tolerance * tolerance * rho);
        for made in 0..most {
            // by the rate so far: made ln(enough) > most ln(rho), both relative to the first and
            // negative
            if made > 0
                && made % self.trial == 0
                && made as f64 * (enough / first).ln() < most as f64 * (rho / first).ln()
            {
                break;
            }
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
            let next = precondition(&self.residual, &mut self.scaled);
            let momentum = next / rho;
            rho = next;
            let scaled = &self.scaled;
            update(&mut self.conjugate, |t, v| scaled[t] + momentum * v);
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

    /// With the matrix itself as preconditioner one round is enough.
    #[test]
    fn the_best_preconditioner_needs_one_round() {
        let diagonal = [2.0, 5.0, 0.1];
        let mut gradients = ConjugateGradients::new(3);
        gradients.residual.copy_from_slice(&[1.0, 1.0, 1.0]);
        let mut x = [0.0; 3];
        let times = |v: &[f64], out: &mut [f64]| {
            (0..3).for_each(|t| out[t] = diagonal[t] * v[t]);
            true
        };
        let exact = |r: &[f64], out: &mut [f64]| {
            (0..3).for_each(|t| out[t] = r[t] / diagonal[t]);
            (0..3).map(|t| r[t] * out[t]).sum()
        };
        assert!(gradients.solve_by(&mut x, (1e-12, 1), times, exact));
        for (x, d) in x.iter().zip(diagonal) {
            assert!((x * d - 1.0).abs() < 1e-12);
        }
        // with no preconditioner it is not
        gradients.residual.copy_from_slice(&[1.0, 1.0, 1.0]);
        gradients.diagonal.fill(1.0);
        assert!(!gradients.solve(&mut x, (1e-12, 1), times));
    }

    /// After so many products as are on trial the rate is looked at, and at no other time: where it
    /// promises too little the solve ends, elsewhere it goes on.
    #[test]
    fn a_trial_ends_what_would_take_too_long() {
        let products = |spread: f64, trial: usize, most: usize| {
            let n = 60;
            let own = |t: usize| spread.powf(t as f64 / (n - 1) as f64);
            let mut gradients = ConjugateGradients::new(n);
            gradients.residual.fill(1.0);
            gradients.trial = trial;
            let (mut x, mut made) = (vec![0.0; n], 0);
            let solved = gradients.solve(&mut x, (1e-10, most), |v, out| {
                made += 1;
                (0..n).for_each(|t| out[t] = own(t) * v[t]);
                true
            });
            (made, solved)
        };
        // eigenvalues up to a million need more than forty rounds
        assert_eq!(products(1e6, usize::MAX, 40), (40, false));
        assert_eq!(products(1e6, 7, 40), (7, false));
        assert_eq!(products(1e6, 13, 40), (13, false));
        // up to two need fewer, whatever the trial
        let (enough, solved) = products(2.0, usize::MAX, 40);
        assert!(solved && enough < 25);
        assert_eq!(products(2.0, 3, 40), (enough, true));
    }
}
