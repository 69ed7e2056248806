//! Infinity where all rows can share what is missing, from Column Sum.
//!
//! If all rows are priced alike, what Column Sum proves to be missing is missing here too: a
//! bound of its optimum divided by $S$. That is the optimum where the rows can share what
//! is missing equally. So: Column Sum first, then its excess spread equally over the columns that
//! have any, then [levels](crate::solve::distance::balanced_columns) for what cannot be spread.
//! Often the second stage is enough; where it is not, levels take less than half the steps that the
//! primal-dual gradient takes from there (2,060 and 4,816 to a gap of 1e-6, with
//! `ide3al solve garnet:states=10000,actions=4,branching=5,seed=2 --formulation infinity --xi 0.01
//! --tolerance 1e-6 --tie-break none`).

use crate::formulation::Problem;
use crate::formulation::infinity::{DualPoint, bound, full_mass, repair};
use crate::formulation::support::Support;
use crate::model::Mdp;
use crate::solve::birkhoff::completion::objective;
use crate::solve::comparison;
use crate::solve::distance::balanced_columns::ColumnLeastSquares;
use crate::solve::distance::column_sum;
use crate::solve::driver::{Candidate, Driver, Method, Step};

/// Steps between two certificates: a round.
const STEPS: usize = 50;
/// Rounds for spreading the excess, as many as for a start,
const EVEN_ROUNDS: usize = 20;
/// and at levels after that: a safeguard, patience ends first.
const LEVEL_ROUNDS: usize = 60;
/// Steps for Column Sum: it is a start, and worth as many as all that follows.
const MOST_STEPS: usize = (EVEN_ROUNDS + LEVEL_ROUNDS) * STEPS;
/// Rounds without a smaller gap before going on to the next stage, or giving up: rows cannot share
/// alike.
const PATIENCE: usize = 3;
/// The part of the wanted gap that Column Sum, and a level, may use up; the rest is for what
/// follows.
const PART: f64 = 0.3;
/// How far above what is proven a level lies, as a share of the way to what is reached, by trial.
const AHEAD: f64 = 0.1;

/// What is being done.
#[derive(Clone, Copy)]
enum Stage {
    /// The excess is spread equally over the columns.
    Even,
    /// Rows drop so much: what is proven and a little more, as if every slot held enough. Mostly it
    /// does.
    Boundless(f64),
    /// Rows drop so much, and no more than there is in a slot; levels come down.
    Levels(f64),
}

/// The stages, one round after the other.
pub(super) struct LevelSets<'a> {
    mdp: &'a Mdp,
    problem: Problem,
    support: &'a Support,
    balance: ColumnLeastSquares<'a>,
    stage: Stage,
    round: usize,
    /// The least gap so far, and rounds since there was a smaller one.
    least: f64,
    waited: usize,
    /// What the policy has on the slots.
    mass: Vec<f64>,
    /// The best prices so far, of rows and columns, and what they prove.
    dual: Vec<f64>,
    bound: f64,
}

impl<'a> LevelSets<'a> {
    /// Solves Column Sum, whose dual point with all rows priced alike is the first bound, and
    /// offers its policy.
    pub(super) fn new(
        mdp: &'a Mdp,
        problem: &Problem,
        support: &'a Support,
        driver: &mut Driver<'_>,
    ) -> Self {
        let n = mdp.n_states();
        let gaps = (PART * n as f64 * driver.absolute, PART * driver.relative);
        let first = Candidate {
            policy: driver.best().policy.clone(),
            objective: 2.0 * n as f64,
            bound: 0.0,
            dual: vec![0.0; n],
        };
        // Column Sum is of the same kind: a minimum whose dual point is that of the best bound
        let columns = driver.subproblem(comparison(problem), gaps, first, |inner| {
            let centre = inner.best().policy.clone();
            inner.within_steps(MOST_STEPS, |inner| {
                column_sum::find(mdp, problem, &centre, None, &column_sum::RELAXATION, inner)
            });
            inner.best().clone()
        });
        let prices = columns.dual.iter().map(|y| 0.5 * (1.0 - y) / n as f64);
        let mut balance = ColumnLeastSquares::new(mdp, problem.xi, columns.policy);
        let missing: f64 = balance.columns.now.iter().map(|c| (1.0 - c).max(0.0)).sum();
        let full = balance.columns.now.iter().filter(|c| **c >= 1.0).count();
        let equal = 1.0 + missing / full.max(1) as f64;
        let sums = balance.columns.now.iter();
        let target = sums.map(|c| if *c < 1.0 { *c } else { equal });
        balance.aim_at(target.collect());
        let mut method = LevelSets {
            mdp,
            problem: *problem,
            support,
            balance,
            stage: Stage::Even,
            round: 0,
            least: f64::INFINITY,
            waited: 0,
            mass: Vec::new(),
            dual: std::iter::repeat_n(1.0 / n as f64, n)
                .chain(prices)
                .collect(),
            bound: columns.bound / n as f64,
        };
        // where Column Sum took all the time there was, its policy is worth having
        let first = method.current_candidate();
        driver.offer(first, method.name());
        method
    }

    /// The policy at hand with its value, and the best bound so far.
    fn current_candidate(&mut self) -> Candidate {
        Candidate {
            objective: self.value(),
            policy: self.balance.policy.now.clone(),
            bound: self.bound,
            dual: self.dual.clone(),
        }
    }

    /// The value of the policy at hand, dropping what is dropped.
    fn value(&mut self) -> f64 {
        let (support, zeta) = (self.support, self.problem.zeta);
        self.mass = full_mass(self.mdp, support, &self.balance.policy.now);
        let mut kept = self.mass.clone();
        for (k, w) in kept.iter_mut().zip(self.balance.dropped()) {
            *k -= w;
        }
        repair(support, &[], zeta, &self.mass, &mut kept);
        objective(support, zeta, &kept).0
    }
}

impl Method for LevelSets<'_> {
    fn name(&self) -> &'static str {
        "level sets"
    }

    fn step(&mut self, driver: &mut Driver<'_>) -> Step {
        if self.round >= EVEN_ROUNDS + LEVEL_ROUNDS {
            return Step::End;
        }
        self.round += 1;
        let moved = self.balance.advance(STEPS, driver);
        let mut found = self.current_candidate();
        let (mdp, support, problem) = (self.mdp, self.support, self.problem);
        if !matches!(self.stage, Stage::Even) {
            let (rows, columns) = self.balance.prices();
            let point = DualPoint {
                rows,
                columns,
                ..DualPoint::default()
            };
            let proven = bound(mdp, support, problem.xi, problem.zeta, &point);
            if proven > self.bound {
                self.bound = proven;
                self.dual = [point.rows, point.columns].concat();
                (found.bound, found.dual) = (self.bound, self.dual.clone());
            }
        }
        driver.offer(found, self.name());
        let (best, proven) = (driver.best().objective, driver.best().bound);
        let gap = best - proven;
        self.waited = if gap < 0.95 * self.least {
            0
        } else {
            self.waited + 1
        };
        self.least = self.least.min(gap);
        let wanted = PART * driver.wanted(best);
        let ahead = f64::max(AHEAD * gap, wanted);
        // levels are halves of objectives; to be reached one must lie above what is proven
        let (nearest, next) = (0.5 * (proven + wanted), 0.5 * (proven + ahead));
        let boundless = || vec![f64::INFINITY; support.len()];
        let (balance, stuck) = (&mut self.balance, self.waited >= PATIENCE);
        self.stage = match self.stage {
            Stage::Even if moved < 1e-13 || stuck || self.round >= EVEN_ROUNDS => {
                balance.allow_drops(support, nearest, &boundless());
                self.waited = 0;
                Stage::Boundless(nearest)
            }
            Stage::Boundless(_) if moved < 1e-12 || stuck => {
                // above the optimum all columns but those of a few crowded places find room at once
                balance.set_budget(next, &self.mass);
                self.waited = 0;
                Stage::Levels(next)
            }
            Stage::Boundless(level) if nearest > level => {
                balance.set_budget(nearest, &boundless());
                Stage::Boundless(nearest)
            }
            Stage::Levels(_) if stuck => return Step::End,
            // what is proven or reached has come so near to the level that it tells nothing more
            Stage::Levels(level)
                if 2.0 * level <= proven + 0.5 * ahead || 2.0 * level >= best - 0.5 * ahead =>
            {
                balance.set_budget(next, &self.mass);
                Stage::Levels(next)
            }
            Stage::Levels(level) => {
                balance.limit_drops(&self.mass);
                Stage::Levels(level)
            }
            other => other,
        };
        Step::Going
    }
}
