//! A cone program written row by row, handed to Clarabel.

use std::ops::Range;

use clarabel::algebra::CscMatrix;
use clarabel::solver::SupportedConeT::{
    ExponentialConeT, NonnegativeConeT, SecondOrderConeT, ZeroConeT,
};
use clarabel::solver::{DefaultSettings, DefaultSolver, IPSolver, SolverStatus, SupportedConeT};

use crate::error::{Error, Result};
use crate::solve::driver::Driver;

/// Gap and violation asked of Clarabel, as small as it can usually reach in double precision. What
/// it did reach is judged by the certificate.
const TOLERANCE: f64 = 1e-11;

/// A term $a_j x_j$ of a row: the variable's number $j$ and its coefficient.
pub(super) type Term = (usize, f64);

/// `minimise cost . x` subject to rows $a x + \text{slack} = b$, their slacks in cones.
#[derive(Debug, Default)]
pub(super) struct Program {
    cost: Vec<f64>,
    /// Row, column and value of every entry of $a$.
    rows: Vec<usize>,
    columns: Vec<usize>,
    values: Vec<f64>,
    right: Vec<f64>,
    /// The cones of the rows, in their order.
    cones: Vec<SupportedConeT<f64>>,
}

/// What came back: the point, and one multiplier per row.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) x: Vec<f64>,
    pub(super) multipliers: Vec<f64>,
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

    /// Adds rows whose slacks lie in one cone; returns their numbers.
    fn add<T: IntoIterator<Item = Term>>(
        &mut self,
        rows: impl IntoIterator<Item = (T, f64)>,
        cone: impl Fn(usize) -> SupportedConeT<f64>,
    ) -> Range<usize> {
        let first = self.right.len();
        for (terms, right) in rows {
            for (column, value) in terms {
                self.rows.push(self.right.len());
                self.columns.push(column);
                self.values.push(value);
            }
            self.right.push(right);
        }
        let added = first..self.right.len();
        if !added.is_empty() {
            self.cones.push(cone(added.len()));
        }
        added
    }

    /// `terms . x = right` for every `(terms, right)`; returns the rows' numbers.
    pub(super) fn equal<T: IntoIterator<Item = Term>>(
        &mut self,
        rows: impl IntoIterator<Item = (T, f64)>,
    ) -> Range<usize> {
        self.add(rows, ZeroConeT)
    }

    /// `terms . x <= right` for every `(terms, right)`; returns the rows' numbers.
    pub(super) fn at_most<T: IntoIterator<Item = Term>>(
        &mut self,
        rows: impl IntoIterator<Item = (T, f64)>,
    ) -> Range<usize> {
        self.add(rows, NonnegativeConeT)
    }

    /// The Euclidean norm of the vector whose components are `-terms . x` is at most `length`;
    /// returns the components' rows.
    pub(super) fn norm(
        &mut self,
        length: usize,
        components: impl IntoIterator<Item = Vec<Term>>,
    ) -> Range<usize> {
        let rows = std::iter::once(vec![(length, -1.0)]).chain(components);
        let rows = self.add(rows.map(|terms| (terms, 0.0)), SecondOrderConeT);
        rows.start + 1..rows.end
    }

    /// A new variable of the given cost that is at most $-x \ln x$, through the cone
    /// $\{(h, x, 1): x e^{h/x} \le 1\}$.
    pub(super) fn entropy(&mut self, x: usize, cost: f64) {
        let height = self.variables(1, cost);
        let rows = [
            (vec![(height, -1.0)], 0.0),
            (vec![(x, -1.0)], 0.0),
            (vec![], 1.0),
        ];
        self.add(rows, |_| ExponentialConeT());
    }

    /// `height >= 1 / x`, through the cone $(h + x)^2 \ge (h - x)^2 + 4$.
    pub(super) fn inverse(&mut self, height: usize, x: usize) {
        let rows = [
            (vec![(height, -1.0), (x, -1.0)], 0.0),
            (vec![(height, -1.0), (x, 1.0)], 0.0),
            (vec![], 2.0),
        ];
        self.add(rows, SecondOrderConeT);
    }

    /// Runs Clarabel within the driver's time limit. Reduced accuracy is not an error here: the
    /// certificate, computed elsewhere from the model, judges the point.
    pub(super) fn solve(self, driver: &mut Driver<'_>) -> Result<Answer> {
        let (n, rows) = (self.cost.len(), self.right.len());
        let matrix = CscMatrix::new_from_triplets(rows, n, self.rows, self.columns, self.values);
        let quadratic = CscMatrix::zeros((n, n));
        let settings = DefaultSettings {
            verbose: false,
            time_limit: driver.seconds_left(),
            tol_gap_abs: TOLERANCE,
            tol_gap_rel: TOLERANCE,
            tol_feas: TOLERANCE,
            max_threads: 1,
            ..DefaultSettings::default()
        };
        let (cost, right, cones) = (&self.cost, &self.right, &self.cones);
        let mut solver = DefaultSolver::new(&quadratic, cost, &matrix, right, cones, settings)
            .map_err(|e| Error::Unsupported(format!("the conic solver refused: {e}")))?;
        solver.solve();
        let solution = solver.solution;
        driver.count(solution.iterations as usize);
        match solution.status {
            status @ (SolverStatus::PrimalInfeasible
            | SolverStatus::DualInfeasible
            | SolverStatus::Unsolved) => Err(Error::Unsupported(format!(
                "the conic solver found no solution ({status:?}); the probabilities may span \
                 too many orders of magnitude"
            ))),
            _ => Ok(Answer {
                x: solution.x,
                multipliers: solution.z,
            }),
        }
    }
}
