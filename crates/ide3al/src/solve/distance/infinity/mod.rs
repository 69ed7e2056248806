//! Infinity: the strategy, and the certificate of a policy.

mod level_sets;
mod program;
mod saddle_point;

use super::doubly_stochastic;
use super::face_qp::{polish, solve_face_qp};
use super::strategy::{self, Engine};
use super::task::{InteriorPointMethod, MOST_STEPS, Task};
use super::tie_break::{NearestPolicy, take_nearest};
use crate::error::{Error, Result};
use crate::formulation::infinity::{Block, DualPoint, bound, full_mass, repair};
use crate::formulation::support::Support;
use crate::formulation::{Problem, simplex};
use crate::model::Mdp;
use crate::solve::birkhoff::completion::{objective_while, shortfall};
use crate::solve::cost::{DENSE, DENSE_LARGE, FIRST_ORDER_TRIAL, MOST_FILLED, SizeLimits};
use crate::solve::driver::{Candidate, Driver};
use crate::solve::reference;
use ide3al_numerics::interior_point::InteriorPoint;
use level_sets::LevelSets;
use program::Infinity;

pub(super) const STRATEGY: [Engine; 5] = [
    Engine::InteriorPoint(DENSE),
    Engine::FirstOrderTrial(FIRST_ORDER_TRIAL, DENSE_LARGE),
    Engine::InteriorPoint(DENSE_LARGE),
    Engine::LevelSets,
    Engine::FirstOrder,
];

/// Solves; returns what the user should know.
pub(in crate::solve) fn solve(task: &Task<'_>, driver: &mut Driver<'_>) -> Result<Vec<String>> {
    check_size(task.mdp)?;
    let mut solver = Solver {
        task,
        support: Support::filled(task.mdp),
        blocks: Vec::new(),
        limits: DENSE,
    };
    let mut point = if task.is_conic() {
        solver.by_reference(driver)?;
        None
    } else {
        if solver.try_doubly_stochastic(driver) {
            return Ok(Vec::new());
        }
        solver.find(driver)
    };
    let zeta = task.problem.zeta;
    if task.has_no_tie(zeta, driver, |policy, driver| solver.value(policy, driver)) {
        return Ok(Vec::new());
    }
    // the tie is broken in the same way whichever method found the optimum: the reference's block
    // inequalities are dropped, and those that the interior point violates are added
    if task.is_conic() {
        solver.blocks.clear();
        point = solver.start();
    }
    let nearest = solver.nearest(point, driver);
    Ok(take_nearest(driver, nearest).into_iter().collect())
}

/// The search for the optimum. Blocks are added until the kept mass can be completed to a doubly
/// stochastic matrix.
struct Solver<'a> {
    task: &'a Task<'a>,
    support: Support,
    blocks: Vec<Block>,
    limits: SizeLimits,
}

impl Solver<'_> {
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
            let (candidate, block) = self.certify(policy, kept, &dual, driver);
            driver.offer(candidate, "conic");
            if !driver.should_continue() || !self.add(block) {
                return Ok(());
            }
        }
    }

    /// Whether the policy wanted, or else the nearest doubly stochastic one, has distance zero: it
    /// is optimal then, and offered.
    fn try_doubly_stochastic(&self, driver: &mut Driver<'_>) -> bool {
        let (mdp, problem) = (self.task.mdp, self.task.problem);
        let has_zero_distance = |policy: &[f64], driver: &mut Driver<'_>, name| {
            let mass = full_mass(mdp, &self.support, policy);
            let mut kept = mass.clone();
            repair(&self.support, &[], problem.zeta, &mass, &mut kept);
            2.0 * shortfall(&self.support, &kept) <= driver.wanted(0.0) && {
                let (first, _) = self.certify(policy.to_vec(), kept, &DualPoint::default(), driver);
                driver.offer(first, name)
            }
        };
        has_zero_distance(&self.task.nearest(), driver, "start") || {
            let limits = (problem.xi, problem.zeta);
            doubly_stochastic::nearest_policy(mdp, limits, self.task.centre, driver)
                .is_some_and(|policy| has_zero_distance(&policy, driver, "interior-point"))
        }
    }

    /// The optimum; the interior-point method where it was used.
    fn find(&mut self, driver: &mut Driver<'_>) -> Option<InteriorPoint<Infinity>> {
        let mdp = self.task.mdp;
        let mut last = None;
        strategy::run(&STRATEGY, driver, |engine, driver| match engine {
            Engine::InteriorPoint(limits) => {
                self.limits = limits;
                last = self.by_interior_point(driver);
                last.is_some()
            }
            Engine::FirstOrderTrial(steps, limits) => {
                // rows that are partly uniform have a cell in every column: thousands of them
                // would take gigabytes
                let is_for_it = mdp.n_states() <= limits.order && !mdp.kernel().has_spread();
                if is_for_it {
                    driver.within_steps(steps, |driver| {
                        self.by_level_sets(driver);
                        if !driver.done() && driver.should_continue() {
                            self.by_first_order(driver);
                        }
                    });
                }
                is_for_it
            }
            Engine::LevelSets => self.by_level_sets(driver),
            Engine::FirstOrder => {
                self.by_first_order(driver);
                true
            }
            // engines of other problems
            Engine::WholeTarget(_) | Engine::ProximalNewton => false,
        });
        last
    }

    /// The interior-point method, again for each block that it violates; nothing if it cannot be
    /// had.
    fn by_interior_point(&mut self, driver: &mut Driver<'_>) -> Option<InteriorPoint<Infinity>> {
        let n = self.task.mdp.n_states() as f64;
        loop {
            let mut violated = None;
            let read = |point: &InteriorPoint<Infinity>, driver: &mut Driver<'_>| {
                let (candidate, block) = self.certify_at(point, driver);
                violated = block;
                candidate
            };
            let near =
                |point: &InteriorPoint<Infinity>, wanted: f64| 2.0 * point.gap() <= wanted * n;
            let mut method = InteriorPointMethod::new(self.start()?, read, near);
            let done = driver.run(&mut method);
            let point = method.point;
            if done || !driver.should_continue() || !self.add(violated) {
                return Some(point);
            }
        }
    }

    /// Level sets, where $\zeta = 1$; says whether that is so.
    fn by_level_sets(&self, driver: &mut Driver<'_>) -> bool {
        let (mdp, problem) = (self.task.mdp, self.task.problem);
        let applies = problem.zeta >= 1.0;
        if applies {
            let mut method = LevelSets::new(mdp, problem, &self.support, driver);
            driver.run(&mut method);
        }
        applies
    }

    fn by_first_order(&self, driver: &mut Driver<'_>) {
        let (mdp, problem, warm) = (self.task.mdp, self.task.problem, self.task.warm);
        saddle_point::solve(mdp, problem, &self.support, warm, driver);
    }

    /// The optimal policy nearest to the one wanted, from where the interior-point method ended.
    fn nearest(
        &mut self,
        mut point: Option<InteriorPoint<Infinity>>,
        driver: &mut Driver<'_>,
    ) -> Option<NearestPolicy> {
        let mut nearest = None;
        while let Some(mut at) = point.take() {
            if !polish(&mut at, driver, |_| false) {
                break;
            }
            let (found, mut block) = self.certify_at(&at, driver);
            if block.is_none() {
                driver.offer(found.clone(), "interior-point");
                let mut fixed = at.active_bounds();
                fixed[at.program.level()] = true;
                Infinity::set_proximal_objective(&mut at, self.task.centre);
                let Some(settled) = solve_face_qp(&mut at, fixed, MOST_STEPS, driver) else {
                    break;
                };
                let (policy, kept) = at.program.read(&at.x);
                let (candidate, violated) =
                    self.certify(policy, kept, &DualPoint::default(), driver);
                block = violated;
                nearest = Some(NearestPolicy {
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
        let (candidate, _) = self.certify(policy.to_vec(), kept, &DualPoint::default(), driver);
        candidate.objective
    }

    /// The candidate at a point of the interior-point method, and the block that it violates.
    fn certify_at(
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
        self.certify(policy, kept, &dual, driver)
    }

    /// A candidate from a policy and the mass kept of it, and the block that the latter violates if
    /// it cannot be completed; the candidate's value is then not finite.
    fn certify(
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
        let (value, block) = objective_while(support, zeta, &kept, || driver.should_continue());
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
