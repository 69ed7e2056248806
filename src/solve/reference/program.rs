//! A cone program written row by row, handed to Clarabel.

use clarabel::algebra::CscMatrix;
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};

use crate::error::{Error, Result};
use crate::solve::driver::Driver;

/// Gap and violation asked of Clarabel, as small as it can usually reach in double precision. What it did reach is judged by the
/// certificate.
const TOLERANCE: f64 = 1e-11;

/// A term $a_j x_j$ of a row: the variable's number $j$ and its coefficient.
pub(super) type Term = (usize, f64);

/// `minimise cost . x` subject to equations, inequalities, and rows that lie in other cones.
#[derive(Debug, Default)]
pub(super) struct Program {
    cost: Vec<f64>,
    equal: Rows,
    at_most: Rows,
    conic: Rows,
    /// The cones of the rows `conic`, in their order.
    cones: Vec<SupportedConeT<f64>>,
}

/// Rows $a x + \text{slack} = b$, the slack in a cone.
#[derive(Debug, Default)]
struct Rows {
    rows: Vec<usize>,
    columns: Vec<usize>,
    values: Vec<f64>,
    right: Vec<f64>,
}

impl Rows {
    /// Adds a row; returns its number.
    fn push(&mut self, terms: impl IntoIterator<Item = Term>, right: f64) -> usize {
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

/// What came back: the point, and one multiplier per row of each kind.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) x: Vec<f64>,
    pub(super) equal: Vec<f64>,
    pub(super) at_most: Vec<f64>,
    pub(super) conic: Vec<f64>,
}

impl Program {
    /// Adds `n` variables with the same cost; returns the first one's number.
    pub(super) fn variables(&mut self, n: usize, cost: f64) -> usize {
        let first = self.cost.len();
        self.cost.resize(first + n, cost);
        first
    }

    /// Maximises `terms . x`, beside what has a cost already.
    pub(super) fn maximise(&mut self, terms: impl IntoIterator<Item = Term>) {
        for (variable, worth) in terms {
            self.cost[variable] = -worth;
        }
    }

    /// `terms . x = right`; returns the row's number among the equations.
    pub(super) fn equal(&mut self, terms: impl IntoIterator<Item = Term>, right: f64) -> usize {
        self.equal.push(terms, right)
    }

    /// `terms . x <= right`; returns the row's number among the inequalities.
    pub(super) fn at_most(&mut self, terms: impl IntoIterator<Item = Term>, right: f64) -> usize {
        self.at_most.push(terms, right)
    }

    /// The Euclidean norm of the vector whose components are `terms . x` is at most `length`.
    pub(super) fn norm(&mut self, length: usize, components: impl IntoIterator<Item = Vec<Term>>) {
        let first = self.conic.push([(length, -1.0)], 0.0);
        for terms in components {
            let negated = terms.into_iter().map(|(j, v)| (j, -v));
            self.conic.push(negated, 0.0);
        }
        let size = self.conic.right.len() - first;
        self.cones.push(SupportedConeT::SecondOrderConeT(size));
    }

    /// A new variable of the given cost that is at most $-x \ln x$, through the cone $\{(h, x, 1): x e^{h/x} \le 1\}$.
    pub(super) fn entropy(&mut self, x: usize, cost: f64) {
        let height = self.variables(1, cost);
        self.conic.push([(height, -1.0)], 0.0);
        self.conic.push([(x, -1.0)], 0.0);
        self.conic.push([], 1.0);
        self.cones.push(SupportedConeT::ExponentialConeT());
    }

    /// `height >= 1 / x`, through the cone $(h + x)^2 \ge (h - x)^2 + 4$.
    pub(super) fn inverse(&mut self, height: usize, x: usize) {
        self.conic.push([(height, -1.0), (x, -1.0)], 0.0);
        self.conic.push([(height, -1.0), (x, 1.0)], 0.0);
        self.conic.push([], 2.0);
        self.cones.push(SupportedConeT::SecondOrderConeT(3));
    }

    /// Runs Clarabel within the driver's time limit. Reduced accuracy is not an error here: the certificate, computed elsewhere
    /// from the model, judges the point.
    pub(super) fn solve(self, driver: &mut Driver<'_>) -> Result<Answer> {
        let n = self.cost.len();
        let (n_equal, n_at_most) = (self.equal.right.len(), self.at_most.right.len());
        let (mut rows, mut columns, mut values) = (Vec::new(), Vec::new(), Vec::new());
        let mut right: Vec<f64> = Vec::new();
        for part in [self.equal, self.at_most, self.conic] {
            rows.extend(part.rows.iter().map(|row| row + right.len()));
            columns.extend(part.columns);
            values.extend(part.values);
            right.extend(part.right);
        }
        let matrix = CscMatrix::new_from_triplets(right.len(), n, rows, columns, values);
        let quadratic = CscMatrix::zeros((n, n));
        let mut cones = vec![
            SupportedConeT::ZeroConeT(n_equal),
            SupportedConeT::NonnegativeConeT(n_at_most),
        ];
        cones.extend(self.cones);
        let settings = DefaultSettings {
            verbose: false,
            time_limit: driver.seconds_left(),
            tol_gap_abs: TOLERANCE,
            tol_gap_rel: TOLERANCE,
            tol_feas: TOLERANCE,
            max_threads: 1,
            ..DefaultSettings::default()
        };
        let mut solver =
            DefaultSolver::new(&quadratic, &self.cost, &matrix, &right, &cones, settings)
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
            conic: z[n_equal + n_at_most..].to_vec(),
        })
    }
}

/// The multipliers of some rows.
pub(super) fn pick(multipliers: &[f64], rows: &[usize]) -> Vec<f64> {
    rows.iter().map(|row| multipliers[*row]).collect()
}
