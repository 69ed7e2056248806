//! Infinity: the interior-point method, or equal shares and primal-dual steps where its system is too large.

use super::{Interior, Near, SOON, Task, even, settle, sharpen, take_nearest};
use crate::error::{Error, Result};
use crate::formulation::infinity::Block;
use crate::formulation::infinity::{DualPoint, bound, full_mass, repair};
use crate::formulation::support::Support;
use crate::formulation::{Problem, simplex};
use crate::model::Mdp;
use crate::solve::driver::{Candidate, Driver};
use crate::solve::large;
use crate::solve::methods::elimination::{AT_LAST, AT_ONCE};
use crate::solve::methods::interior_point::InteriorPoint;
use crate::solve::programs::infinity::Infinity;
use crate::solve::reference;
use crate::solve::value::completion::{objective, shortfall};

/// Most cells of partly uniform rows: two gigabytes with all that goes with each.
const MOST_FILLED: usize = 20_000_000;

/// Solves; returns what the user should know. Blocks are added until the kept mass can be completed to a
/// doubly stochastic matrix.
pub(in crate::solve) fn solve(task: &Task<'_>, driver: &mut Driver<'_>) -> Result<Vec<String>> {
    let (mdp, problem, centre) = (task.mdp, task.problem, task.centre);
    let start_within =
        |limits, blocks: &[Block]| Infinity::start(mdp, problem, centre, blocks, limits);
    check_size(mdp)?;
    let support = Support::filled(mdp);
    let mut blocks: Vec<Block> = Vec::new();
    let judge = |blocks: &[Block], policy: Vec<f64>, kept: Vec<f64>, dual: &DualPoint| {
        certified(mdp, problem, &support, blocks, policy, kept, dual)
    };
    if !task.is_conic() {
        let lacks_nothing = |policy: &[f64], driver: &mut Driver<'_>, name| {
            let mass = full_mass(mdp, &support, policy);
            let mut kept = mass.clone();
            repair(&support, &[], problem.zeta, &mass, &mut kept);
            2.0 * shortfall(&support, &kept) <= driver.wanted(0.0) && {
                let (first, _) = judge(&[], policy.to_vec(), kept, &DualPoint::default());
                driver.offer(first, name)
            }
        };
        // where the rows of the nearest policy of all lack nothing, that is seen at once
        if lacks_nothing(&task.nearest(), driver, "start") {
            return Ok(Vec::new());
        }
        if let Some(policy) = even::nearest(mdp, (problem.xi, problem.zeta), centre, driver)
            && lacks_nothing(&policy, driver, "interior-point")
        {
            return Ok(Vec::new());
        }
    }
    let go_on =
        |driver: &mut Driver<'_>| large::infinity::solve(mdp, problem, &support, task.warm, driver);
    let mut limits = AT_ONCE;
    let mut interior = start_within(limits, &[]);
    // rows that are partly uniform have a cell in every column: thousands of them would take gigabytes
    let may_last = mdp.n_states() <= AT_LAST.order && !mdp.kernel().has_spread();
    if interior.is_none() && !task.is_conic() && may_last {
        driver.within_steps(SOON, go_on);
        if !driver.done() && driver.alive() {
            limits = AT_LAST;
            interior = start_within(limits, &[]);
        }
    }
    let start = |blocks: &[Block]| start_within(limits, blocks);
    if task.is_conic() {
        loop {
            let (policy, kept, dual) =
                reference::infinity(mdp, problem, &support, &blocks, driver)?;
            let (candidate, block) = judge(&blocks, policy, kept, &dual);
            driver.offer(candidate, "conic");
            match block.filter(|b| !blocks.contains(b)) {
                Some(block) if driver.alive() => blocks.push(block),
                _ => break,
            }
        }
    } else if interior.is_some() {
        while let Some(point) = interior.take() {
            let mut violated = None;
            let mut method = Interior {
                point,
                read: |point: &InteriorPoint<Infinity>| {
                    let (policy, kept) = point.program.read(&point.x);
                    let (candidate, block) =
                        judge(&blocks, policy, kept, &dual_point(point, &blocks));
                    violated = block;
                    candidate
                },
                near: |point: &InteriorPoint<Infinity>, wanted: f64| {
                    2.0 * point.gap() <= wanted * mdp.n_states() as f64
                },
                steps: 0,
                ended: false,
            };
            let done = driver.run(&mut method);
            let point = method.point;
            match violated.filter(|b| !done && !blocks.contains(b)) {
                Some(block) if driver.alive() => {
                    blocks.push(block);
                    interior = start(&blocks);
                }
                _ => {
                    interior = Some(point);
                    break;
                }
            }
        }
    }
    if !task.is_conic() && !driver.done() && driver.alive() {
        go_on(driver);
    }
    let value = |policy: &[f64]| {
        let kept = full_mass(mdp, &support, policy);
        judge(&blocks, policy.to_vec(), kept, &DualPoint::default())
            .0
            .objective
    };
    if task.is_settled(problem.zeta, driver, value) {
        return Ok(Vec::new());
    }
    // the same way whichever method found the optimum, with blocks as this one meets them
    if task.is_conic() {
        blocks.clear();
    }
    let mut nearest = None;
    while let Some(mut point) = interior.take() {
        if !sharpen(&mut point, driver, |_| false) {
            break;
        }
        let (policy, kept) = point.program.read(&point.x);
        let (found, mut block) = judge(&blocks, policy, kept, &dual_point(&point, &blocks));
        if block.is_none() {
            driver.offer(found.clone(), "interior-point");
            let mut frozen = point.at_bounds();
            frozen[point.program.level()] = true;
            point.toward(centre);
            let Some(settled) = settle(&mut point, frozen, driver) else {
                break;
            };
            let (policy, kept) = point.program.read(&point.x);
            let (candidate, violated) = judge(&blocks, policy, kept, &DualPoint::default());
            block = violated;
            nearest = Some(Near {
                policy: candidate.policy,
                objective: candidate.objective.max(found.objective),
                nearest: settled,
            });
        }
        if let Some(block) = block.filter(|b| !blocks.contains(b)) {
            blocks.push(block);
            nearest = None;
            interior = start(&blocks);
        }
    }
    Ok(take_nearest(driver, nearest).into_iter().collect())
}

/// Rows that are partly uniform reach every column and have a number for each: refuses models in which these alone
/// would fill the memory.
fn check_size(mdp: &Mdp) -> Result<()> {
    let n = mdp.n_states();
    let kernel = mdp.kernel();
    let filled = (0..n).filter(|s| mdp.pairs(*s).any(|pair| kernel.spread_of(pair) > 0.0));
    let rows = filled.count();
    if rows.saturating_mul(n) > MOST_FILLED {
        return Err(Error::Unsupported(format!(
            "infinity on {n} states of which {rows} have partly uniform rows (pairs never tried) would take {} numbers, \
             {MOST_FILLED} are possible: try these pairs first, or take column-sum, dual or state-entropy",
            rows * n
        )));
    }
    Ok(())
}

/// A candidate from a policy and the mass kept of it, and the block that the latter violates if it cannot be
/// completed; the candidate's value is then not finite.
fn certified(
    mdp: &Mdp,
    problem: &Problem,
    support: &Support,
    blocks: &[Block],
    policy: Vec<f64>,
    mut kept: Vec<f64>,
    dual: &DualPoint,
) -> (Candidate, Option<Block>) {
    let policy = simplex::feasible(mdp, problem.xi, policy);
    let mass = full_mass(mdp, support, &policy);
    repair(support, blocks, problem.zeta, &mass, &mut kept);
    let (value, block) = objective(support, problem.zeta, &kept);
    let proven = if dual.rows.is_empty() {
        0.0
    } else {
        bound(mdp, support, problem.xi, problem.zeta, dual).max(0.0)
    };
    let candidate = Candidate {
        policy,
        objective: if block.is_some() {
            f64::INFINITY
        } else {
            value
        },
        bound: proven,
        dual: [&dual.rows[..], &dual.columns].concat(),
    };
    (candidate, block)
}

fn dual_point(point: &InteriorPoint<Infinity>, blocks: &[Block]) -> DualPoint {
    let [rows, columns, caps, prices] = point.program.prices(&point.y);
    DualPoint {
        rows,
        columns,
        caps,
        blocks: blocks.iter().cloned().zip(prices).collect(),
    }
}
