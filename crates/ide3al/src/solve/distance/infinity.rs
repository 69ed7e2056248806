//! Infinity: the interior-point method, or equal shares and primal-dual steps where its system is
//! too large.

use super::{Interior, Near, SOON, Task, even, settle, sharpen, take_nearest};
use crate::error::{Error, Result};
use crate::formulation::infinity::{Block, DualPoint, bound, full_mass, repair};
use crate::formulation::support::Support;
use crate::formulation::{Problem, simplex};
use crate::model::Mdp;
use crate::solve::driver::{Candidate, Driver};
use crate::solve::large;
use crate::solve::methods::elimination::{AT_LAST, AT_ONCE, Limits};
use crate::solve::methods::interior_point::InteriorPoint;
use crate::solve::programs::infinity::Infinity;
use crate::solve::reference;
use crate::solve::value::completion::{objective_while, shortfall};

/// Most cells of partly uniform rows: two gigabytes with all that goes with each.
const MOST_FILLED: usize = 20_000_000;

/// Solves; returns what the user should know.
pub(in crate::solve) fn solve(task: &Task<'_>, driver: &mut Driver<'_>) -> Result<Vec<String>> {
    check_size(task.mdp)?;
    let mut search = Search {
        task,
        support: Support::filled(task.mdp),
        blocks: Vec::new(),
        limits: AT_ONCE,
    };
    let mut point = if task.is_conic() {
        search.by_reference(driver)?;
        None
    } else {
        if search.sees_even(driver) {
            return Ok(Vec::new());
        }
        search.find(driver)
    };
    let zeta = task.problem.zeta;
    if task.is_settled(zeta, driver, |policy, driver| search.value(policy, driver)) {
        return Ok(Vec::new());
    }
    // the same way whichever method found the optimum, with blocks as this one meets them
    if task.is_conic() {
        search.blocks.clear();
        point = search.start();
    }
    let nearest = search.nearest(point, driver);
    Ok(take_nearest(driver, nearest).into_iter().collect())
}

/// The search for the optimum. Blocks are added until the kept mass can be completed to a doubly
/// stochastic matrix.
struct Search<'a> {
    task: &'a Task<'a>,
    support: Support,
    blocks: Vec<Block>,
    limits: Limits,
}

impl Search<'_> {
    /// The interior-point method at its start, if it can be had.
    fn start(&self) -> Option<InteriorPoint<Infinity>> {
        let Task {
            mdp,
            problem,
            centre,
            ..
        } = *self.task;
        Infinity::start(mdp, problem, centre, &self.blocks, self.limits)
    }

    /// Adds a block that was met; says whether there is one that is new.
    fn add(&mut self, block: Option<Block>) -> bool {
        let new = block.filter(|block| !self.blocks.contains(block));
        let is_new = new.is_some();
        self.blocks.extend(new);
        is_new
    }

    fn by_reference(&mut self, driver: &mut Driver<'_>) -> Result<()> {
        let (mdp, problem) = (self.task.mdp, self.task.problem);
        loop {
            let (policy, kept, dual) =
                reference::infinity(mdp, problem, &self.support, &self.blocks, driver)?;
            let (candidate, block) = self.judge(policy, kept, &dual, driver);
            driver.offer(candidate, "conic");
            if !driver.alive() || !self.add(block) {
                return Ok(());
            }
        }
    }

    /// Whether a policy whose rows lack nothing is seen at once, and offered: the nearest of all,
    /// or the nearest even one.
    fn sees_even(&self, driver: &mut Driver<'_>) -> bool {
        let (mdp, problem) = (self.task.mdp, self.task.problem);
        let lacks_nothing = |policy: &[f64], driver: &mut Driver<'_>, name| {
            let mass = full_mass(mdp, &self.support, policy);
            let mut kept = mass.clone();
            repair(&self.support, &[], problem.zeta, &mass, &mut kept);
            2.0 * shortfall(&self.support, &kept) <= driver.wanted(0.0) && {
                let (first, _) = self.judge(policy.to_vec(), kept, &DualPoint::default(), driver);
                driver.offer(first, name)
            }
        };
        lacks_nothing(&self.task.nearest(), driver, "start") || {
            let limits = (problem.xi, problem.zeta);
            even::nearest(mdp, limits, self.task.centre, driver)
                .is_some_and(|policy| lacks_nothing(&policy, driver, "interior-point"))
        }
    }

    /// The optimum; the interior-point method where it was used.
    fn find(&mut self, driver: &mut Driver<'_>) -> Option<InteriorPoint<Infinity>> {
        let mut point = self.start();
        // rows that are partly uniform have a cell in every column: thousands of them would take
        // gigabytes
        let mdp = self.task.mdp;
        let may_last = mdp.n_states() <= AT_LAST.order && !mdp.kernel().has_spread();
        if point.is_none() && may_last {
            driver.within_steps(SOON, |driver| self.by_first_order(driver));
            if !driver.done() && driver.alive() {
                self.limits = AT_LAST;
                point = self.start();
            }
        }
        let mut last = None;
        while let Some(start) = point.take() {
            let mut violated = None;
            let mut method = Interior {
                point: start,
                read: |point: &InteriorPoint<Infinity>, driver: &mut Driver<'_>| {
                    let (candidate, block) = self.judge_at(point, driver);
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
            last = Some(method.point);
            if !done && driver.alive() && self.add(violated) {
                point = self.start();
            }
        }
        if !driver.done() && driver.alive() {
            self.by_first_order(driver);
        }
        last
    }

    fn by_first_order(&self, driver: &mut Driver<'_>) {
        let (mdp, problem, warm) = (self.task.mdp, self.task.problem, self.task.warm);
        large::infinity::solve(mdp, problem, &self.support, warm, driver);
    }

    /// The optimal policy nearest to the one wanted, from where the interior-point method ended.
    fn nearest(
        &mut self,
        mut point: Option<InteriorPoint<Infinity>>,
        driver: &mut Driver<'_>,
    ) -> Option<Near> {
        let mut nearest = None;
        while let Some(mut at) = point.take() {
            if !sharpen(&mut at, driver, |_| false) {
                break;
            }
            let (found, mut block) = self.judge_at(&at, driver);
            if block.is_none() {
                driver.offer(found.clone(), "interior-point");
                let mut frozen = at.at_bounds();
                frozen[at.program.level()] = true;
                at.toward(self.task.centre);
                let Some(settled) = settle(&mut at, frozen, driver) else {
                    break;
                };
                let (policy, kept) = at.program.read(&at.x);
                let (candidate, violated) = self.judge(policy, kept, &DualPoint::default(), driver);
                block = violated;
                nearest = Some(Near {
                    policy: candidate.policy,
                    objective: candidate.objective.max(found.objective),
                    nearest: settled,
                });
            }
            if self.add(block) {
                nearest = None;
                point = self.start();
            }
        }
        nearest
    }

    /// What a policy is worth.
    fn value(&self, policy: &[f64], driver: &mut Driver<'_>) -> f64 {
        let kept = full_mass(self.task.mdp, &self.support, policy);
        let (candidate, _) = self.judge(policy.to_vec(), kept, &DualPoint::default(), driver);
        candidate.objective
    }

    /// The candidate at a point of the interior-point method, and the block that it violates.
    fn judge_at(
        &self,
        point: &InteriorPoint<Infinity>,
        driver: &mut Driver<'_>,
    ) -> (Candidate, Option<Block>) {
        let (policy, kept) = point.program.read(&point.x);
        let [rows, columns, caps, prices] = point.program.prices(&point.y);
        let dual = DualPoint {
            rows,
            columns,
            caps,
            blocks: self.blocks.iter().cloned().zip(prices).collect(),
        };
        self.judge(policy, kept, &dual, driver)
    }

    /// A candidate from a policy and the mass kept of it, and the block that the latter violates if
    /// it cannot be completed; the candidate's value is then not finite.
    fn judge(
        &self,
        policy: Vec<f64>,
        mut kept: Vec<f64>,
        dual: &DualPoint,
        driver: &mut Driver<'_>,
    ) -> (Candidate, Option<Block>) {
        let (mdp, Problem { xi, zeta, .. }) = (self.task.mdp, *self.task.problem);
        let support = &self.support;
        let policy = simplex::feasible(mdp, xi, policy);
        let mass = full_mass(mdp, support, &policy);
        repair(support, &self.blocks, zeta, &mass, &mut kept);
        let (value, block) = objective_while(support, zeta, &kept, || driver.alive());
        let proven = if dual.rows.is_empty() {
            0.0
        } else {
            bound(mdp, support, xi, zeta, dual).max(0.0)
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
}

/// Rows that are partly uniform reach every column and have a number for each: refuses models in
/// which these alone would fill the memory.
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
