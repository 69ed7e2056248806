//! Infinity where all rows can share what is missing, from Column Sum.
//!
//! If all rows are priced alike, what Column Sum proves to be missing is missing here too: a
//! bound of its optimum divided by $S$. That is the optimum where the rows can share what
//! is missing equally. So: Column Sum first, then its excess spread equally over the columns that
//! have any, then [levels](super::balance) for what cannot be spread.

use super::balance::Balance;
use super::infinity::full_mass;
use super::roads::structured_column_sum;
use super::{Limits, Outcome};
use crate::formulation::infinity::{DualPoint, bound, objective, repair};
use crate::formulation::support::Support;
use crate::formulation::{Problem, simplex};
use crate::model::{Mdp, Policy};

/// States from which on it pays.
pub(super) const FEWEST: usize = 64;
/// Rounds of fifty steps for spreading the excess,
const EVEN_ROUNDS: usize = 20;
/// and at rising levels after that.
const LEVEL_ROUNDS: usize = 60;

/// Rounds without a smaller gap before going on to the next, or giving up: rows cannot share alike.
const PATIENCE: usize = 3;

/// How far above what is proven a level lies, as a share of the way to what is reached.
const AHEAD: f64 = 0.1;

/// What is being done.
#[derive(Clone, Copy)]
enum Stage {
    /// The excess is spread equally over the columns.
    Even,
    /// Rows drop what is proven and a little more, as if every slot held enough: mostly it does.
    Final(f64),
    /// Rows drop no more than there is, at levels coming down.
    Levels(f64),
}

/// The best found, and whether that is enough.
pub(super) fn solve(
    mdp: &Mdp,
    problem: &Problem,
    support: &Support,
    limits: &mut Limits<'_>,
    start: &Policy,
) -> (Outcome, bool) {
    let n = mdp.n_states();
    let mut mass = vec![0.0; support.len()];
    let mut spread = vec![0.0; n];
    let mut kept = mass.clone();
    let mut value = |policy: &[f64], dropped: &[f64], mass: &mut [f64]| {
        full_mass(mdp, support, policy, mass, &mut spread);
        kept.copy_from_slice(mass);
        for (k, w) in kept.iter_mut().zip(dropped) {
            *k -= w;
        }
        repair(support, &[], problem.zeta, mass, &mut kept);
        match objective(support, problem.zeta, &kept) {
            (objective, None) => objective,
            (_, Some(_)) => f64::INFINITY,
        }
    };
    // where everything can be visited evenly the uniform policy often does it
    let mut first = start.probabilities().to_vec();
    for s in 0..n {
        simplex::project(&mut first[mdp.pairs(s)], problem.xi);
    }
    let even = Outcome {
        objective: value(&first, &[], &mut mass),
        policy: first,
        bound: 0.0,
        dual: vec![0.0; 2 * n],
        iterations: 0,
    };
    if limits.reached(&even) {
        return (even, true);
    }
    let (columns, _) = limits.at_scale(n as f64, 0.3, |limits| {
        structured_column_sum(mdp, problem, limits, start, None)
    });
    let prices = columns.dual.iter().map(|y| 0.5 * (1.0 - y) / n as f64);
    let mut best = Outcome {
        policy: columns.policy.clone(),
        objective: f64::INFINITY,
        bound: columns.bound / n as f64,
        dual: std::iter::repeat_n(1.0 / n as f64, n)
            .chain(prices)
            .collect(),
        iterations: columns.iterations,
    };
    let mut balance = Balance::new(mdp, problem.xi, columns.policy);
    let missing: f64 = balance.columns.iter().map(|c| (1.0 - c).max(0.0)).sum();
    let full = balance.columns.iter().filter(|c| **c >= 1.0).count();
    let equal = 1.0 + missing / full.max(1) as f64;
    let target = balance
        .columns
        .iter()
        .map(|c| if *c < 1.0 { *c } else { equal });
    balance.aim_at(target.collect());
    let boundless = vec![f64::INFINITY; support.len()];
    let mut stage = Stage::Even;
    let (mut least, mut waited) = (f64::INFINITY, 0);
    for round in 1..=EVEN_ROUNDS + LEVEL_ROUNDS {
        let moved = balance.advance(50);
        best.iterations += 50;
        let objective = value(&balance.policy, balance.dropped(), &mut mass);
        if objective < best.objective {
            best.objective = objective;
            best.policy.clone_from(&balance.policy);
        }
        if !matches!(stage, Stage::Even) {
            let (rows, columns) = balance.prices();
            let point = DualPoint {
                rows,
                columns,
                ..DualPoint::default()
            };
            let proven = bound(mdp, support, problem.xi, problem.zeta, &point);
            if proven > best.bound {
                best.bound = proven;
                best.dual[..n].copy_from_slice(&point.rows);
                best.dual[n..].copy_from_slice(&point.columns);
            }
        }
        if limits.reached(&best) {
            return (best, true);
        }
        let gap = best.objective - best.bound;
        waited = if gap < 0.95 * least { 0 } else { waited + 1 };
        least = least.min(gap);
        let wanted = 0.3 * limits.wanted(best.objective);
        // to be reached a level must be above what is proven
        let final_level = 0.5 * (best.bound + wanted);
        stage = match stage {
            Stage::Even if moved < 1e-13 || waited >= PATIENCE || round >= EVEN_ROUNDS => {
                balance.allow_drops(support, final_level, &boundless);
                waited = 0;
                Stage::Final(final_level)
            }
            Stage::Final(_) if waited >= PATIENCE || moved < 1e-12 => {
                // above the optimum all columns but those of a few crowded places find room at once
                let level = 0.5 * (best.bound + f64::max(AHEAD * gap, wanted));
                balance.set_budget(level, &mass);
                waited = 0;
                Stage::Levels(level)
            }
            Stage::Final(level) if final_level > level => {
                balance.set_budget(final_level, &boundless);
                Stage::Final(final_level)
            }
            Stage::Levels(_) if waited >= PATIENCE => break,
            Stage::Levels(level) => {
                let ahead = f64::max(AHEAD * gap, wanted);
                let decided = 2.0 * level <= best.bound + 0.5 * ahead
                    || 2.0 * level >= best.objective - 0.5 * ahead;
                if decided {
                    let next = 0.5 * (best.bound + ahead);
                    balance.set_budget(next, &mass);
                    Stage::Levels(next)
                } else {
                    balance.limit_drops(&mass);
                    stage
                }
            }
            other => other,
        };
    }
    (best, false)
}
