//! The roles in the loop: a learner turns counts into the next policy; a planner solves a
//! formulation for it.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};

use rand_chacha::ChaCha8Rng;

use super::codec::{Damage, Reader, Writer};
use super::explorer::OnlinePlanner;
use crate::error::{Error, Result};
use crate::formulation::Problem;
use crate::formulation::entropy::EntropyWeights;
use crate::formulation::occupancy_spec::OccupancySpec;
use crate::formulation::utility::Utility;
use crate::model::{Counts, Mdp, Policy, Unvisited};
use crate::solve::{self, Observer, Options, Progress, Solution};

/// What a learner is told when it should learn.
#[derive(Debug, Clone, Copy)]
pub struct LearnContext<'a> {
    /// Everything observed so far.
    pub counts: &'a Counts,
    /// The start distribution as far as the agent knows it.
    pub start: &'a [f64],
    /// Whether the budget ends here.
    pub last: bool,
    /// Whether states beyond those counted may exist: the environment did not say how many there
    /// are.
    pub open: bool,
    /// Set from outside when the work should stop: return [`Error::Interrupted`] with the
    /// learner unchanged, and the same update will be asked for again on resuming.
    pub stop: &'a AtomicBool,
}

/// A set of policies with weights. One policy is drawn, *once*, and then followed: in the
/// long run the states are distributed as $\sum_k \alpha_k d^{\pi_k}$.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Mixture {
    /// Distinct policies; only ever appended to.
    pub members: Vec<Policy>,
    /// $\alpha$, one weight per member, summing to one.
    pub weights: Vec<f64>,
}

impl Mixture {
    /// One of the members, drawn by weight.
    pub fn draw(&self, rng: &mut ChaCha8Rng) -> usize {
        use rand::Rng;
        let x = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let mut sum = 0.0;
        for (k, weight) in self.weights.iter().enumerate() {
            sum += weight;
            if x < sum {
                return k;
            }
        }
        // rounding: the last member with any weight
        self.weights.iter().rposition(|w| *w > 0.0).unwrap_or(0)
    }
}

/// What a learner has learned: the policy, or mixture of policies, that is evaluated.
#[derive(Debug, Clone, Copy)]
pub enum Exploration<'a> {
    /// A stationary policy.
    Policy(&'a Policy),
    /// A mixture of them.
    Mixture(&'a Mixture),
}

/// How a learner chooses actions while it collects samples.
#[derive(Debug)]
pub enum Behaviour<'a> {
    /// A stationary policy until the next update.
    Policy(&'a Policy),
    /// It chooses each action with all that was seen until then.
    Online,
}

/// An exploration algorithm: everything between two batches of samples.
pub trait Learner: Send {
    /// What to collect the next batch with.
    fn behaviour(&mut self, rng: &mut ChaCha8Rng) -> Behaviour<'_>;

    /// What chooses each action, where that is an [`OnlinePlanner`].
    fn online(&mut self) -> Option<&mut OnlinePlanner> {
        None
    }

    /// An action in a state, for one of the environments that are explored together, where the
    /// learner has no policy for a batch.
    fn act(
        &mut self,
        follower: usize,
        state: usize,
        counts: &Counts,
        rng: &mut ChaCha8Rng,
    ) -> usize {
        let n_actions = counts.pairs(state).len();
        match self.online() {
            Some(planner) => planner.act(follower, state, n_actions, rng),
            None => 0,
        }
    }

    /// Takes note of where an episode begins.
    fn begin_episode(&mut self, follower: usize, state: usize, counts: &Counts) {
        if let Some(planner) = self.online() {
            planner.start(follower, state, counts.pairs(state).len());
        }
    }

    /// Learns from all observations so far.
    fn update(&mut self, context: &LearnContext<'_>) -> Result<()>;

    /// Computes what to explore with once the samples are spent, where that is not what it samples
    /// with: to be called after [`update`](Self::update) and before
    /// [`exploration`](Self::exploration).
    fn finalize(&mut self, context: &LearnContext<'_>) -> Result<()> {
        let _ = context;
        Ok(())
    }

    /// What has been learned, to be evaluated.
    fn exploration(&self) -> Exploration<'_>;

    /// What the user should know of what was learned.
    fn notes(&self) -> Vec<String> {
        Vec::new()
    }

    /// Whether it plans for the states seen, ends and cuts of episodes included; otherwise for one
    /// continuing trajectory over all declared states, as the paper does.
    fn plans_for_episodes(&self) -> bool {
        false
    }

    /// Takes numbers for what is to be visited, of all states and pairs counted so far.
    fn set_visits(&mut self, visits: OccupancySpec) -> Result<()> {
        let _ = visits;
        Err(Error::Unsupported(
            "target, restart, discount and limits: the recommended IDE3AL alone takes them".into(),
        ))
    }

    /// Takes over other states, as when a continuous space is cut into cells anew: state `s` is
    /// made of what was state `from[s]` before (several may be made of one, and none of another),
    /// all with the same number of actions. `counts` are of the new states.
    fn repartition(&mut self, from: &[usize], counts: &Counts) -> Result<()> {
        let _ = (from, counts);
        Err(Error::Unsupported(
            "this algorithm needs to know all states beforehand".into(),
        ))
    }

    /// How this learner's model fills pairs it never tried.
    fn unvisited(&self) -> Unvisited {
        Unvisited::Uniform
    }

    /// The complete state, for a checkpoint.
    #[doc(hidden)]
    fn save(&self, checkpoint: &mut Saver<'_>);

    /// Takes back what [`save`](Self::save) wrote.
    #[doc(hidden)]
    fn load(&mut self, checkpoint: &mut Loader<'_, '_>) -> std::result::Result<(), Damage>;
}

impl dyn Learner {
    /// The complete state as bytes, for a front end that keeps learners in its own files.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        self.save(&mut Saver(&mut writer));
        writer.into_bytes()
    }

    /// Takes back what `to_bytes` gave, into a learner just made with the
    /// same arguments. After an error the learner must not be used.
    pub fn restore(&mut self, bytes: &[u8]) -> Result<()> {
        let mut reader = Reader::new(bytes);
        self.load(&mut Loader(&mut reader))
            .and_then(|()| reader.end())
            .map_err(|damage| {
                Error::Unsupported(format!("the learner's state is damaged: {damage}"))
            })
    }
}

/// Where a learner writes its state.
#[derive(Debug)]
pub struct Saver<'a>(pub(crate) &'a mut Writer);

/// Where a learner finds its state.
#[derive(Debug)]
pub struct Loader<'a, 'b>(pub(crate) &'a mut Reader<'b>);

/// Solves a formulation on an estimated model: an interface that tests of the loop replace.
pub trait Planner: Send + Sync {
    /// Solves `problem` on `model` for a target, warm-started where
    /// possible. May give up with [`Error::Interrupted`] when `stop` is set.
    fn plan(
        &self,
        model: &Mdp,
        problem: &Problem,
        target: &EntropyWeights,
        warm: Option<&Solution>,
        stop: &AtomicBool,
    ) -> Result<Solution>;

    /// The same for a problem of [what is to be visited](crate::formulation::occupancy_spec).
    fn plan_visits(
        &self,
        model: &Mdp,
        problem: &Problem,
        visits: &OccupancySpec,
        stop: &AtomicBool,
    ) -> Result<Solution>;

    /// The policy with the least long-run average of a cost per pair.
    fn plan_cost(
        &self,
        model: &Mdp,
        problem: &Problem,
        cost: Vec<f64>,
        stop: &AtomicBool,
    ) -> Result<Solution> {
        let options = Options {
            relative_tolerance: COST_TOLERANCE,
            ..Options::default()
        };
        let (utility, visits) = (NegativeCost(cost), OccupancySpec::default());
        unless_stopped(stop, |watch| {
            solve::solve_utility(model, &utility, problem.xi, &visits, &options, watch)
        })
    }
}

/// Relative tolerance of the least cost.
const COST_TOLERANCE: f64 = 1e-3;

/// The linear utility of a cost.
struct NegativeCost(Vec<f64>);

impl Utility for NegativeCost {
    fn value(&self, omega: &[f64]) -> f64 {
        -self.0.iter().zip(omega).map(|(c, w)| c * w).sum::<f64>()
    }

    fn gradient(&self, _: &[f64], out: &mut [f64]) {
        for (g, c) in out.iter_mut().zip(&self.0) {
            *g = -c;
        }
    }
}

/// The real planner: [`solve::solve_towards`] with fixed options.
#[derive(Debug, Clone, Default)]
pub struct Solver {
    /// How to solve.
    pub options: Options,
    /// Relative gap of plans towards a target of one's own.
    pub rough: f64,
}

impl Solver {
    /// The options for a target.
    pub fn options_for(&self, target: &EntropyWeights) -> Options {
        let mut options = self.options.clone();
        if !target.is_plain() {
            options.relative_tolerance = self.rough;
        }
        options
    }

    /// The options for what is to be visited: one of many steps, as towards a target.
    pub fn options_for_visits(&self) -> Options {
        Options {
            relative_tolerance: self.rough,
            ..self.options.clone()
        }
    }
}

/// Stops a solve from outside.
struct Watch<'a> {
    stop: &'a AtomicBool,
    stopped: bool,
}

impl Observer for Watch<'_> {
    fn on(&mut self, _: &Progress) -> ControlFlow<()> {
        self.stopped |= self.stop.load(Ordering::Relaxed);
        if self.stopped {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }
}

/// Solves unless told to stop. A solve that was cut short may have closed its gap all the same, but
/// it is not the one that an undisturbed run finds: it is thrown away whatever its status, so that
/// a resumed run repeats it whole.
fn unless_stopped(
    stop: &AtomicBool,
    solve: impl FnOnce(&mut Watch<'_>) -> Result<Solution>,
) -> Result<Solution> {
    let mut watch = Watch {
        stop,
        stopped: false,
    };
    let solution = solve(&mut watch)?;
    if watch.stopped {
        return Err(Error::Interrupted);
    }
    Ok(solution)
}

impl Planner for Solver {
    fn plan(
        &self,
        model: &Mdp,
        problem: &Problem,
        target: &EntropyWeights,
        warm: Option<&Solution>,
        stop: &AtomicBool,
    ) -> Result<Solution> {
        let options = self.options_for(target);
        unless_stopped(stop, |watch| {
            solve::solve_towards(model, problem, target, &options, warm, watch)
        })
    }

    fn plan_visits(
        &self,
        model: &Mdp,
        problem: &Problem,
        visits: &OccupancySpec,
        stop: &AtomicBool,
    ) -> Result<Solution> {
        let options = self.options_for_visits();
        unless_stopped(stop, |watch| {
            solve::solve_visits(model, problem, visits, &options, None, watch)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formulation::Formulation;

    /// A stop in the middle of a solve whose gap is closed already must not let its policy pass for
    /// the plan: an undisturbed run would have gone on, to the tie-break for one.
    #[test]
    fn a_plan_cut_short_is_no_plan() {
        let model = crate::domains::load("double-chain").unwrap();
        for formulation in Formulation::ALL {
            let problem = Problem::new(formulation);
            let (solver, go) = (Solver::default(), AtomicBool::new(false));
            let plan = |warm: Option<&Solution>, stop: &AtomicBool| {
                solver.plan(&model, &problem, &EntropyWeights::default(), warm, stop)
            };
            let whole = plan(None, &go).unwrap();
            let again = plan(Some(&whole), &go).unwrap();
            match plan(Some(&whole), &AtomicBool::new(true)) {
                Err(Error::Interrupted) => {}
                other => assert_eq!(
                    other.unwrap().policy.probabilities(),
                    again.policy.probabilities()
                ),
            }
        }
    }
}
