//! The best policy for a reward, once there is one.
//!
//! A reward is one number per state-action pair, $r(s,a)$ (rewards on states or transitions become
//! such by [`Mdp::expected_rewards`]). [`plan`] maximises by a [`Criterion`]:
//!
//! | criterion | value of a state | method |
//! |---|---|---|
//! | discounted | $\max_\pi E \sum_t \gamma^t r_t$ | inexact policy iteration, MacQueen's bounds |
//! | average | $\max_\pi \lim \frac1T E \sum_{t<T} r_t$ | the same in each end component |
//! | within | $\max_\pi E \sum_{t<T} r_t$ | backward induction |
//!
//! [`plan_goal`] maximises the probability of reaching a goal and is then soonest. Every answer
//! says by how much the values may be wrong, and its policy earns what the certificate says. In
//! [terminal](Mdp::terminal) states nothing more is earned, but for the average, which goes on with
//! the next episode.

mod average;
mod clock;
mod evaluate;
mod evidence;
#[cfg(test)]
mod evidence_tests;
mod goal;
mod horizon;
mod incomplete;
mod iterate;
mod optimal_stopping;
mod policy_rows;
mod row_set;
mod sweep;
#[cfg(test)]
mod tests;
mod total;

use std::ops::ControlFlow;
use std::time::Duration;

use ide3al_numerics::parallel::share;

use crate::error::{Error, Result};
use crate::model::{Mdp, Plan, Policy, TimedPolicy};
use crate::solve::{Certificate, Observer, Progress, Status};
use clock::Clock;
pub use evidence::{Bounding, Evidence};
pub use goal::Goal;
pub use row_set::RowSet;
use sweep::Sweeper;

/// Largest reward in size: sums of squares of a number of them are finite.
const LARGEST: f64 = 1e100;

/// Rewards that are planned for between two calls of the observer.
const REWARDS_TOGETHER: usize = 64;

/// What is maximised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Criterion {
    /// The expected sum of rewards, each discounted by $\gamma < 1$ per step.
    Discounted(f64),
    /// The long-run average reward.
    Average,
    /// The expected sum of rewards of the first steps.
    Within(usize),
}

impl Criterion {
    fn validate(self) -> Result<()> {
        match self {
            Criterion::Discounted(gamma) if !(0.0..1.0).contains(&gamma) => Err(Error::Parameter {
                name: "discount".into(),
                value: gamma.to_string(),
                problem: "it must be at least 0 and less than 1; for no discount plan for the \
                          average, or within a number of steps"
                    .into(),
            }),
            Criterion::Within(0) => Err(Error::Parameter {
                name: "within".into(),
                value: "0".into(),
                problem: "at least one step is needed".into(),
            }),
            _ => Ok(()),
        }
    }
}

/// When to stop.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Options {
    /// Wanted width of the bounds of every state's value.
    pub tolerance: f64,
    /// The same as a share of the largest value; planning ends when either is reached.
    pub relative_tolerance: f64,
    /// Most sweeps over all pairs.
    pub max_iterations: usize,
    /// Most wall-clock time.
    pub time_limit: Option<Duration>,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            tolerance: 1e-9,
            relative_tolerance: 1e-12,
            max_iterations: 1_000_000,
            time_limit: None,
        }
    }
}

impl Options {
    fn validate(&self) -> Result<()> {
        for (name, gap) in [
            ("tolerance", self.tolerance),
            ("relative_tolerance", self.relative_tolerance),
        ] {
            if !(gap >= 0.0 && gap.is_finite()) {
                return Err(Error::Parameter {
                    name: name.into(),
                    value: gap.to_string(),
                    problem: "must be a number, 0 or more".into(),
                });
            }
        }
        Ok(())
    }
}

/// A policy for a reward, what it is worth, and the proof.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// The best value of every state, to within [`error`](Self::error): of the first step, where
    /// there is a number of steps; the probability of reaching a goal.
    pub values: Vec<f64>,
    /// The values differ from the optimal ones, and from those of the policy, by at most this.
    pub error: f64,
    /// The policy: the same at every step, or one for each.
    pub policy: Plan,
    /// Of a goal, the mean number of steps until it is reached, when it is.
    pub steps: Option<Vec<f64>>,
    /// The value from the start distribution that the policy has, and that none exceeds.
    pub certificate: Certificate,
}

/// The best policy for one reward per pair.
///
/// ```
/// use ide3al::model::{Mdp, Rewards};
/// use ide3al::plan::{Criterion, Options, plan};
/// // stay or hop; being in state 1 earns one
/// let rows = [(0, 0, 0, 1.0), (0, 1, 1, 1.0), (1, 0, 1, 1.0), (1, 1, 0, 1.0)];
/// let mdp = Mdp::from_triplets(2, 2, rows)?;
/// let reward = mdp.expected_rewards(Rewards::States(&[0.0, 1.0]))?;
/// let best = plan(&mdp, &reward, Criterion::Discounted(0.9), &Options::default(), &mut ())?;
/// assert!((best.values[0] - 9.0).abs() < 1e-8 && (best.values[1] - 10.0).abs() < 1e-8);
/// # Ok::<(), ide3al::Error>(())
/// ```
pub fn plan(
    mdp: &Mdp,
    reward: &[f64],
    criterion: Criterion,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Planned> {
    options.validate()?;
    criterion.validate()?;
    let reward = mdp.expected_rewards(crate::model::Rewards::Pairs(reward))?;
    let size = ide3al_numerics::parallel::largest(&reward);
    if size > LARGEST {
        return Err(Error::Parameter {
            name: "reward".into(),
            value: format!("{size:e}"),
            problem: "sums of so large numbers overflow; give rewards in a larger unit".into(),
        });
    }
    let mut clock = Clock::new(options, observer);
    let tolerances = (options.tolerance, options.relative_tolerance);
    let ended = ended(mdp);
    match criterion {
        Criterion::Discounted(discount) => {
            let sweeper = Sweeper {
                mdp,
                reward: &reward,
                discount,
                ended: &ended,
                allowed: &[],
            };
            let start = vec![0.0; mdp.n_states()];
            let found = iterate::iterate(sweeper, start, tolerances, &mut clock);
            let factor = iterate::width_factor(discount);
            let middle = 0.5 * factor * (found.change.least + found.change.most);
            let mut values = found.values;
            iterate::shift(&sweeper, &mut values, middle);
            // the bounds multiply the rounding of a sweep, too
            let rounded = rounding(&values) / (1.0 - discount);
            let error = 0.5 * factor * found.change.span() + rounded;
            let policy = Plan::Stationary(deterministic(mdp, &found.choice));
            let value = from_start(mdp, &values);
            let bounds = (value - error, value + error);
            Ok(planned(
                values,
                error,
                policy,
                None,
                bounds,
                found.status,
                &clock,
            ))
        }
        Criterion::Average => {
            let found = average::averages(mdp, &reward, tolerances, &mut clock);
            let policy = Plan::Stationary(deterministic(mdp, &found.choice));
            let (values, error) = middles(&found.lower, &found.upper);
            let bounds = (from_start(mdp, &found.lower), from_start(mdp, &found.upper));
            Ok(planned(
                values,
                error,
                policy,
                None,
                bounds,
                found.status,
                &clock,
            ))
        }
        Criterion::Within(steps) => {
            let sweeper = Sweeper {
                mdp,
                reward: &reward,
                discount: 1.0,
                ended: &ended,
                allowed: &[],
            };
            let Some(found) = horizon::induce(sweeper, steps, &mut clock)? else {
                return Err(stopped_early(&clock));
            };
            let error = rounding(&found.values) * steps as f64;
            let policy = timed(mdp, &found.choices)?;
            let value = from_start(mdp, &found.values);
            let (values, status) = (found.values, Status::Optimal);
            Ok(planned(
                values,
                error,
                policy,
                None,
                (value, value),
                status,
                &clock,
            ))
        }
    }
}

/// [`plan`] for several rewards; in small models, whose sweeps one thread does alone, for several
/// at once.
pub fn plan_each(
    mdp: &Mdp,
    rewards: &[Vec<f64>],
    criterion: Criterion,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Vec<Planned>> {
    let mut found = Vec::with_capacity(rewards.len());
    if rewards.len() == 1 || mdp.kernel().nnz() >= sweep::SHARED {
        for reward in rewards {
            found.push(plan(mdp, reward, criterion, options, observer)?);
        }
        return Ok(found);
    }
    for some in rewards.chunks(REWARDS_TOGETHER) {
        let mut plans: Vec<Option<Result<Planned>>> = some.iter().map(|_| None).collect();
        share(some.iter().zip(plans.iter_mut()), |(reward, out)| {
            *out = Some(plan(mdp, reward, criterion, options, &mut ()));
        });
        for one in plans.into_iter().flatten() {
            found.push(one?);
        }
        let progress = Progress {
            iteration: found.len(),
            objective: found.last().map_or(0.0, |plan| plan.certificate.objective),
            gap: found.last().map_or(0.0, |plan| plan.certificate.gap),
        };
        if observer.on(&progress) == ControlFlow::Break(()) {
            return Err(Error::Interrupted);
        }
    }
    Ok(found)
}

/// The policy that reaches a goal with the largest probability, and soonest among those; within a
/// number of steps, if one is given, whenever that is.
pub fn plan_goal(
    mdp: &Mdp,
    goal: &Goal,
    within: Option<usize>,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Planned> {
    options.validate()?;
    goal.validate(mdp)?;
    if let Some(steps) = within {
        return plan_goal_within(mdp, goal, steps, options, observer);
    }
    let mut clock = Clock::new(options, observer);
    let found = goal::reach(mdp, goal, options.tolerance, &mut clock);
    let policy = Plan::Stationary(deterministic(mdp, &found.choice));
    let (values, error) = middles(&found.lower, &found.upper);
    let bounds = (from_start(mdp, &found.lower), from_start(mdp, &found.upper));
    Ok(planned(
        values,
        error,
        policy,
        Some(found.steps),
        bounds,
        found.status,
        &clock,
    ))
}

/// Entering the goal earns one, once.
fn plan_goal_within(
    mdp: &Mdp,
    goal: &Goal,
    steps: usize,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Planned> {
    let mut terminal = [&goal.reach[..], &goal.avoid, mdp.terminal()].concat();
    terminal.sort_unstable();
    let model = mdp.clone().with_terminal(terminal)?;
    let mut planned = plan(
        &model,
        &arrival(mdp, goal)?,
        Criterion::Within(steps),
        options,
        observer,
    )?;
    for &s in &goal.reach {
        planned.values[s] = 1.0;
    }
    let there: f64 = distinct(&goal.reach).map(|s| mdp.start()[s]).sum();
    planned.certificate.objective += there;
    planned.certificate.bound += there;
    Ok(planned)
}

fn distinct(states: &[usize]) -> impl Iterator<Item = usize> {
    let mut states = states.to_vec();
    states.sort_unstable();
    states.dedup();
    states.into_iter()
}

/// The reward of each pair when entering a goal earns one: the probability of doing so.
pub fn arrival(mdp: &Mdp, goal: &Goal) -> Result<Vec<f64>> {
    goal.validate(mdp)?;
    let mut there = vec![0.0; mdp.n_states()];
    for &s in &goal.reach {
        there[s] = 1.0;
    }
    let mut reward = vec![0.0; mdp.n_pairs()];
    mdp.kernel().times(&there, &mut reward);
    Ok(reward)
}

fn ended(mdp: &Mdp) -> Vec<bool> {
    let mut ended = vec![false; mdp.n_states()];
    for &s in mdp.terminal() {
        ended[s] = true;
    }
    ended
}

fn stopped_early(clock: &Clock<'_>) -> Error {
    match clock.stopped {
        Some(Status::Interrupted) | None => Error::Interrupted,
        Some(_) => Error::Unsupported(
            "within: the limit of time or iterations was reached before all steps were planned; allow more"
                .into(),
        ),
    }
}

/// Units of rounding in the values.
fn rounding(values: &[f64]) -> f64 {
    4.0 * f64::EPSILON * ide3al_numerics::parallel::largest(values)
}

fn from_start(mdp: &Mdp, values: &[f64]) -> f64 {
    ide3al_numerics::parallel::dot(mdp.start(), values)
}

fn middles(lower: &[f64], upper: &[f64]) -> (Vec<f64>, f64) {
    let both = || lower.iter().zip(upper);
    let values = both().map(|(l, u)| 0.5 * (l + u)).collect();
    let error = both().map(|(l, u)| 0.5 * (u - l)).fold(0.0, f64::max);
    (values, error)
}

fn deterministic(mdp: &Mdp, choice: &[u32]) -> Policy {
    let mut probabilities = vec![0.0; mdp.n_pairs()];
    for (s, &pair) in choice.iter().enumerate() {
        // where nothing is chosen (an ended state) any action will do
        let pair = if pair == u32::MAX {
            mdp.pairs(s).start
        } else {
            pair as usize
        };
        probabilities[pair] = 1.0;
    }
    Policy::of_rows(probabilities)
}

fn timed(mdp: &Mdp, choices: &[u32]) -> Result<Plan> {
    let mut tables = Vec::new();
    for choice in choices.chunks_exact(mdp.n_states()) {
        tables.extend_from_slice(deterministic(mdp, choice).probabilities());
    }
    Ok(Plan::Timed(TimedPolicy::new(mdp, tables)?))
}

fn planned(
    values: Vec<f64>,
    error: f64,
    policy: Plan,
    steps: Option<Vec<f64>>,
    (objective, bound): (f64, f64),
    status: Status,
    clock: &Clock<'_>,
) -> Planned {
    Planned {
        values,
        error,
        policy,
        steps,
        certificate: Certificate {
            objective,
            bound,
            gap: bound - objective,
            status,
            iterations: clock.iterations,
            seconds: clock.seconds(),
        },
    }
}
