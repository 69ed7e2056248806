//! A cone program written row by row, handed to Clarabel.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};

use crate::error::{Error, Result};
use crate::solve::driver::Driver;

/// Asked of Clarabel; what it reached is judged by the certificate.
const TOLERANCE: f64 = 1e-11;

/// `minimise linear . x` subject to rows of five kinds.
#[derive(Debug, Default)]
pub(super) struct Program {
    linear: Vec<f64>,
    equal: Rows,
    at_most: Rows,
    second_order: Rows,
    exponential: Rows,
    hyperbolic: Rows,
}

#[derive(Debug, Default)]
struct Rows {
    rows: Vec<usize>,
    columns: Vec<usize>,
    values: Vec<f64>,
    right: Vec<f64>,
}

impl Rows {
    fn push(&mut self, terms: impl IntoIterator<Item = (usize, f64)>, right: f64) -> usize {
        let row = self.right.len();
        for (column, value) in terms {
            self.rows.push(row);
            self.columns.push(column);
            self.values.push(value);
        }
        self.right.push(right);
        row
    }
}

/// What came back: the point and one multiplier per row of each kind.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) x: Vec<f64>,
    pub(super) equal: Vec<f64>,
    pub(super) at_most: Vec<f64>,
    pub(super) norm: Vec<f64>,
}

impl Program {
    /// Adds `n` variables with the same cost; returns the first one's number.
    pub(super) fn variables(&mut self, n: usize, cost: f64) -> usize {
        let first = self.linear.len();
        self.linear.resize(first + n, cost);
        first
    }

    /// Sets a variable's cost.
    pub(super) fn cost(&mut self, variable: usize, cost: f64) {
        self.linear[variable] = cost;
    }

    /// `terms . x = right`.
    pub(super) fn equal(
        &mut self,
        terms: impl IntoIterator<Item = (usize, f64)>,
        right: f64,
    ) -> usize {
        self.equal.push(terms, right)
    }

    /// `terms . x <= right`.
    pub(super) fn at_most(
        &mut self,
        terms: impl IntoIterator<Item = (usize, f64)>,
        right: f64,
    ) -> usize {
        self.at_most.push(terms, right)
    }

    /// Adds `terms . x` as the next component of the one vector whose first component bounds
    /// the Euclidean norm of the others.
    pub(super) fn norm(&mut self, terms: impl IntoIterator<Item = (usize, f64)>) {
        let negated = terms.into_iter().map(|(j, v)| (j, -v));
        self.second_order.push(negated, 0.0);
    }

    /// `height <= -x ln x`, through the cone $\{(h, x, 1): x e^{h/x} \le 1\}$.
    pub(super) fn entropy(&mut self, height: usize, x: usize) {
        self.exponential.push([(height, -1.0)], 0.0);
        self.exponential.push([(x, -1.0)], 0.0);
        self.exponential.push([], 1.0);
    }

    /// `height >= 1 / x`, through the cone $(h + x)^2 \ge (h - x)^2 + 4$.
    pub(super) fn inverse(&mut self, height: usize, x: usize) {
        self.hyperbolic.push([(height, -1.0), (x, -1.0)], 0.0);
        self.hyperbolic.push([(height, -1.0), (x, 1.0)], 0.0);
        self.hyperbolic.push([], 2.0);
    }

    /// Runs Clarabel. Reduced accuracy is not an error here: the certificate, computed elsewhere from the
    /// model, judges the point. Stops for the driver's clock and observer.
    pub(super) fn solve(&self, driver: &mut Driver<'_>) -> Result<Answer> {
        let n = self.linear.len();
        let (n_equal, n_at_most) = (self.equal.right.len(), self.at_most.right.len());
        let n_norm = self.second_order.right.len();
        let n_exponential = self.exponential.right.len();
        let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut right = Vec::with_capacity(n_equal + n_at_most + n_norm + n_exponential);
        for part in [
            &self.equal,
            &self.at_most,
            &self.second_order,
            &self.exponential,
            &self.hyperbolic,
        ] {
            let offset = right.len();
            rows.extend(part.rows.iter().map(|r| r + offset));
            columns.extend_from_slice(&part.columns);
            values.extend_from_slice(&part.values);
            right.extend_from_slice(&part.right);
        }
        let matrix = CscMatrix::new_from_triplets(right.len(), n, rows, columns, values);
        let quadratic = CscMatrix::zeros((n, n));
        let mut cones = vec![
            SupportedConeT::ZeroConeT(n_equal),
            SupportedConeT::NonnegativeConeT(n_at_most),
        ];
        if n_norm > 0 {
            cones.push(SupportedConeT::SecondOrderConeT(n_norm));
        }
        cones.extend((0..n_exponential / 3).map(|_| SupportedConeT::ExponentialConeT()));
        let n_hyperbolic = self.hyperbolic.right.len();
        cones.extend((0..n_hyperbolic / 3).map(|_| SupportedConeT::SecondOrderConeT(3)));
        let settings = DefaultSettings {
            verbose: false,
            max_iter: 200,
            time_limit: driver.seconds_left(),
            tol_gap_abs: TOLERANCE,
            tol_gap_rel: TOLERANCE,
            tol_feas: TOLERANCE,
            max_threads: 1,
            ..DefaultSettings::default()
        };
        let mut solver =
            DefaultSolver::new(&quadratic, &self.linear, &matrix, &right, &cones, settings)
                .map_err(|e| Error::Unsupported(format!("the conic solver refused: {e}")))?;
        solver.solve();
        driver.count(solver.solution.iterations as usize);
        let status = solver.solution.status;
        if matches!(
            status,
            SolverStatus::PrimalInfeasible | SolverStatus::DualInfeasible | SolverStatus::Unsolved
        ) {
            return Err(Error::Unsupported(format!(
                "the conic solver found no solution ({status:?}); the probabilities may span \
                 too many orders of magnitude"
            )));
        }
        let z = &solver.solution.z;
        Ok(Answer {
            x: solver.solution.x.clone(),
            equal: z[..n_equal].to_vec(),
            at_most: z[n_equal..n_equal + n_at_most].to_vec(),
            norm: z[n_equal + n_at_most..n_equal + n_at_most + n_norm].to_vec(),
        })
    }
}
