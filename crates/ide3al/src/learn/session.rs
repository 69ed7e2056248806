//! A learner with its counts and its random numbers, and the one place in which steps, starts and
//! ends of episodes are recorded. Programs and bindings drive it step by step or batch by batch.

use std::sync::atomic::AtomicBool;

use rand_chacha::ChaCha8Rng;

use super::codec::{Damage, Reader, Writer};
use super::environment::{End, Environment, check_state};
use super::evaluate_episodic::evaluate_episodic;
use super::evaluator::{DataFigures, Evaluator, Metrics};
use super::explorer::OnlinePlanner;
use super::learner::{Behaviour, Exploration, LearnContext, Learner, Loader, Saver};
use super::sampling::PolicySampler;
use crate::error::Result;
use crate::formulation::occupancy_spec::OccupancySpec;
use crate::model::{Counts, Policy};

/// Where a continuing trajectory stands.
///
/// *Episodes.* A terminal state is left for a start state by whatever action is drawn there, and
/// that restart is recorded as a transition. The counts then describe the chain that the agent
/// follows, start distribution included, and an estimate from them converges to the model in which
/// terminal rows lead back to the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trajectory {
    /// The current state.
    pub state: usize,
    /// Whether the current state is terminal, so that the next step restarts.
    pub terminal: bool,
}

/// What one step of the chain was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Move {
    /// A step of the environment, and how it ended.
    Step(End),
    /// The restart that left a terminal state for a start state, whatever the action.
    Restart,
}

/// A learner with its memory.
pub struct Session {
    learner: Box<dyn Learner>,
    counts: Counts,
    sampler: PolicySampler,
    rng: ChaCha8Rng,
    /// Where the first episode began: all that the agent knows of the start.
    first: Option<usize>,
    /// Where it stands in the environment that [`collect`](Self::collect) steps; nothing where the
    /// next batch begins with a reset.
    trajectory: Option<Trajectory>,
    /// Whether states are found one by one.
    is_open: bool,
    /// Whether the learner chooses each action itself.
    is_online: bool,
}

impl Session {
    /// Nothing seen yet. `is_open`: whether states are numbered as they are met, since the
    /// environment does not declare them.
    pub fn new(
        learner: Box<dyn Learner>,
        actions_per_state: &[usize],
        is_open: bool,
        rng: ChaCha8Rng,
    ) -> Self {
        Session {
            learner,
            counts: Counts::new(actions_per_state),
            sampler: PolicySampler::new(actions_per_state),
            rng,
            first: None,
            trajectory: None,
            is_open,
            is_online: false,
        }
    }

    /// Everything observed.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    /// The learner.
    pub fn learner(&self) -> &(dyn Learner + 'static) {
        self.learner.as_ref()
    }

    /// Its random numbers.
    pub fn rng(&mut self) -> &mut ChaCha8Rng {
        &mut self.rng
    }

    /// Where its random numbers stand.
    pub fn random(&self) -> &ChaCha8Rng {
        &self.rng
    }

    /// What was learned, and random numbers to follow it with.
    pub fn exploration(&mut self) -> (Exploration<'_>, &mut ChaCha8Rng) {
        (self.learner.exploration(), &mut self.rng)
    }

    /// Whether states are found one by one.
    pub fn is_open(&self) -> bool {
        self.is_open
    }

    /// Says from now on whether states are found one by one.
    pub fn set_open(&mut self, is_open: bool) {
        self.is_open = is_open;
    }

    /// Where the first episode began.
    pub fn first(&self) -> Option<usize> {
        self.first
    }

    /// The start distribution as far as the agent knows it: the state it found itself in first.
    pub fn start(&self) -> Vec<f64> {
        let mut start = vec![0.0; self.counts.n_states()];
        start[self.first.unwrap_or(0)] = 1.0;
        start
    }

    /// Whether the learner chooses each action itself, rather than by a policy per batch.
    pub fn is_online(&self) -> bool {
        self.is_online
    }

    /// Takes over the policy for the next batch, and gives it.
    pub fn begin_batch(&mut self) -> Result<Option<&Policy>> {
        match self.learner.behaviour(&mut self.rng) {
            Behaviour::Policy(policy) => {
                self.sampler.set_grown(policy, &self.counts)?;
                self.is_online = false;
                Ok(Some(policy))
            }
            Behaviour::Online => {
                self.is_online = true;
                Ok(None)
            }
        }
    }

    /// What chooses each action, where that is an [`OnlinePlanner`].
    pub fn online(&mut self) -> Option<&mut OnlinePlanner> {
        self.learner.online()
    }

    /// An action in a state, for one of the environments that are explored together.
    #[inline]
    pub fn act(&mut self, follower: usize, state: usize) -> usize {
        if !self.is_online {
            return self.sampler.draw(state, &mut self.rng);
        }
        self.learner
            .act(follower, state, &self.counts, &mut self.rng)
    }

    /// Makes room for a state that was only just found, and for those before it.
    pub fn make_room(&mut self, state: usize, n_actions: impl Fn(usize) -> usize) {
        while self.counts.n_states() <= state {
            let n_actions = n_actions(self.counts.n_states());
            self.counts.add_state(n_actions);
            self.sampler.add_state(n_actions);
        }
    }

    /// Records that an episode began.
    pub fn record_start(&mut self, follower: usize, state: usize) {
        self.counts.record_start(state);
        self.first.get_or_insert(state);
        self.learner.begin_episode(follower, state, &self.counts);
    }

    /// Records one step of the chain. The start that a restart led to is recorded apart.
    pub fn record(&mut self, follower: usize, from: usize, action: usize, next: usize, what: Move) {
        self.counts.record(from, action, next);
        match what {
            Move::Restart => self.counts.record_end(from),
            Move::Step(end) => {
                if end == End::Truncated {
                    self.counts.record_truncation();
                }
                if let Some(planner) = self.learner.online() {
                    let actions = |s: usize| self.counts.pairs(s).len();
                    let transition = (from, action, next);
                    planner.record(follower, transition, end, (actions(from), actions(next)));
                }
            }
        }
    }

    /// Where [`collect`](Self::collect) goes on.
    pub fn trajectory(&self) -> Option<Trajectory> {
        self.trajectory
    }

    /// Forgets where it stands: the next steps begin with a reset.
    pub fn interrupt(&mut self) {
        self.trajectory = None;
    }

    /// Begins an episode of an environment, and records that.
    pub fn begin<E: Environment + ?Sized>(&mut self, environment: &mut E) -> Result<Trajectory> {
        let begun = self.reset(environment)?;
        self.record_start(0, begun.state);
        self.trajectory = Some(begun);
        Ok(begun)
    }

    fn reset<E: Environment + ?Sized>(&mut self, environment: &mut E) -> Result<Trajectory> {
        let state = environment.reset(&mut self.rng)?;
        check_state(state, environment.n_states(), "reset")?;
        self.make_room(state, |s| environment.n_actions(s));
        Ok(Trajectory {
            state,
            terminal: false,
        })
    }

    /// Takes `steps` further steps and records each, from the reset on where no episode is in
    /// progress.
    ///
    /// An environment that leaves its declared range is an error; the counts then hold the
    /// steps before, and the next steps begin with a reset.
    pub fn collect<E: Environment + ?Sized>(
        &mut self,
        environment: &mut E,
        steps: usize,
    ) -> Result<()> {
        let mut trajectory = match self.trajectory {
            Some(trajectory) => trajectory,
            None => self.begin(environment)?,
        };
        // after a failure the environment is in an unknown state
        self.trajectory = None;
        for _ in 0..steps {
            let state = trajectory.state;
            let action = self.act(0, state);
            if trajectory.terminal {
                trajectory = self.reset(environment)?;
                self.record(0, state, action, trajectory.state, Move::Restart);
                self.record_start(0, trajectory.state);
                continue;
            }
            let step = environment.step(action, &mut self.rng)?;
            let n_states = environment.n_states();
            if step.next >= n_states {
                let place = format!("the step from state {state} with action {action}");
                check_state(step.next, n_states, &place)?;
            }
            self.make_room(step.next, |s| environment.n_actions(s));
            if step.end == End::Truncated {
                // the episode that follows is begun first: where that fails, nothing is recorded
                let begun = self.reset(environment)?;
                self.record(0, state, action, step.next, Move::Step(step.end));
                self.record_start(0, begun.state);
                trajectory = begun;
                continue;
            }
            self.record(0, state, action, step.next, Move::Step(step.end));
            trajectory = Trajectory {
                state: step.next,
                terminal: step.end == End::Terminal,
            };
        }
        self.trajectory = Some(trajectory);
        Ok(())
    }

    /// Takes numbers for what is to be visited, of all states and pairs counted so far.
    pub fn set_visits(&mut self, visits: OccupancySpec) -> Result<()> {
        self.learner.set_visits(visits)
    }

    /// Learns from everything seen. `last`: the budget ends here.
    pub fn update(&mut self, last: bool, stop: &AtomicBool) -> Result<()> {
        self.with_context(last, stop, |learner, context| learner.update(context))
    }

    /// Computes what the learner hands over, after an [`update`](Self::update).
    pub fn finalize(&mut self, last: bool, stop: &AtomicBool) -> Result<()> {
        self.with_context(last, stop, |learner, context| learner.finalize(context))
    }

    /// Evaluates what was learned: over `episodes` as far as the estimate can tell, otherwise as
    /// one trajectory in the evaluator's model. `with_gap`: also computes the spectral gap.
    pub fn evaluate(
        &self,
        evaluator: &mut Evaluator<'_>,
        episodes: bool,
        with_gap: bool,
    ) -> Metrics {
        let (exploration, counts) = (self.learner.exploration(), &self.counts);
        let mut metrics = if episodes {
            evaluator.adopt(evaluate_episodic(exploration, counts, with_gap))
        } else {
            let (unvisited, start) = (self.learner.unvisited(), self.start());
            evaluator.evaluate(exploration, counts, unvisited, &start, with_gap)
        };
        metrics.data = DataFigures::of(counts);
        metrics
    }

    fn with_context(
        &mut self,
        last: bool,
        stop: &AtomicBool,
        learn: impl FnOnce(&mut dyn Learner, &LearnContext<'_>) -> Result<()>,
    ) -> Result<()> {
        let start = self.start();
        let context = LearnContext {
            counts: &self.counts,
            start: &start,
            last,
            open: self.is_open,
            stop,
        };
        learn(self.learner.as_mut(), &context)
    }

    /// Replaces all that was counted, where cells are cut anew: state `s` is made of what was
    /// `from[s]` before, and `trajectory` stands among the new ones.
    pub fn repartition(
        &mut self,
        counts: Counts,
        from: &[usize],
        first: Option<usize>,
        trajectory: Option<Trajectory>,
    ) -> Result<()> {
        self.learner.repartition(from, &counts)?;
        (self.counts, self.first, self.trajectory) = (counts, first, trajectory);
        self.sampler = PolicySampler::new(&self.actions_per_state());
        Ok(())
    }

    /// Takes back what was counted, into a session that has seen nothing.
    pub fn restore(&mut self, counts: Counts, first: Option<usize>, rng: ChaCha8Rng) {
        (self.counts, self.first, self.rng) = (counts, first, rng);
    }

    /// Takes back the learner's state.
    pub fn restore_learner(&mut self, bytes: &[u8]) -> Result<()> {
        self.learner.restore(bytes)
    }

    /// Takes back where it stands.
    pub(crate) fn restore_trajectory(&mut self, trajectory: Trajectory) {
        self.trajectory = Some(trajectory);
    }

    /// The complete state, but for where it stands.
    pub(crate) fn save(&self, writer: &mut Writer) {
        let position = self.rng.get_word_pos();
        writer.number(position as u64);
        writer.number((position >> 64) as u64);
        writer.number(self.first.map_or(u64::MAX, |state| state as u64));
        writer.counts(&self.counts);
        self.learner.save(&mut Saver(writer));
    }

    /// Takes back what [`save`](Self::save) wrote, into a session just made with the same
    /// arguments.
    pub(crate) fn load(&mut self, reader: &mut Reader<'_>) -> std::result::Result<(), Damage> {
        let position = u128::from(reader.number()?) | (u128::from(reader.number()?) << 64);
        self.first = match reader.number()? {
            u64::MAX => None,
            state if (state as usize) < self.counts.n_states() => Some(state as usize),
            state => return Err(format!("start state {state} is out of range")),
        };
        let shape: Vec<usize> = self.actions_per_state();
        self.counts = Counts::new(&shape);
        reader.counts(&mut self.counts)?;
        self.learner.load(&mut Loader(reader))?;
        self.rng.set_word_pos(position);
        Ok(())
    }

    fn actions_per_state(&self) -> Vec<usize> {
        let states = 0..self.counts.n_states();
        states.map(|s| self.counts.pairs(s).len()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::{Episodic, Random, Simulator, Step, Tables};
    use crate::model::{Mdp, Unvisited};
    use rand::SeedableRng;

    /// Walks 0 -> 1 -> 2; state 2 absorbs.
    fn line() -> Mdp {
        Mdp::from_triplets(3, 1, [(0, 0, 1, 1.0), (1, 0, 2, 1.0), (2, 0, 2, 1.0)])
            .unwrap()
            .with_start_state(0)
            .unwrap()
    }

    /// Takes some steps at random in an environment with the states of a model.
    fn walk(environment: &mut dyn Environment, mdp: &Mdp, steps: usize) -> (Counts, Result<()>) {
        let actions: Vec<usize> = (0..mdp.n_states()).map(|s| mdp.n_actions(s)).collect();
        let learner = Box::new(Random::new(Policy::uniform(mdp)));
        let mut session = Session::new(learner, &actions, false, ChaCha8Rng::seed_from_u64(1));
        session.begin_batch().unwrap();
        let outcome = session.collect(environment, steps);
        (session.counts, outcome)
    }

    #[test]
    fn a_session_saved_before_its_first_episode_has_no_start_yet() {
        let mdp = line();
        let fresh = || {
            let learner = Box::new(Random::new(Policy::uniform(&mdp)));
            Session::new(learner, &[1, 1, 1], false, ChaCha8Rng::seed_from_u64(1))
        };
        let saved = |session: &Session| {
            let mut writer = Writer::default();
            session.save(&mut writer);
            writer.into_bytes()
        };
        let mut session = fresh();
        for first in [None, Some(2)] {
            if let Some(state) = first {
                session.record_start(0, state);
            }
            let bytes = saved(&session);
            let mut other = fresh();
            other.load(&mut Reader::new(&bytes)).unwrap();
            assert_eq!(other.first(), first);
        }
        let mut beyond = saved(&session);
        beyond[16..24].copy_from_slice(&3u64.to_le_bytes());
        let problem = fresh().load(&mut Reader::new(&beyond)).unwrap_err();
        assert!(problem.contains("start state 3"), "{problem}");
    }

    #[test]
    fn terminal_states_restart_and_the_restart_is_recorded() {
        let mdp = line();
        let tables = Tables::new(&mdp);
        let mut environment = Episodic::new(Simulator::new(&tables), &[2]).unwrap();
        let (counts, outcome) = walk(&mut environment, &mdp, 9);
        outcome.unwrap();
        assert_eq!(counts.pair_totals(), [3, 3, 3]);
        let estimate = counts.estimate(Unvisited::Uniform, mdp.start());
        assert_eq!(estimate.kernel().to_dense()[2], [1.0, 0.0, 0.0]);
    }

    #[test]
    fn truncation_jumps_to_the_start_without_a_transition() {
        struct Truncating<'a>(Simulator<'a>);
        impl Environment for Truncating<'_> {
            fn n_states(&self) -> usize {
                self.0.n_states()
            }
            fn n_actions(&self, state: usize) -> usize {
                self.0.n_actions(state)
            }
            fn reset(&mut self, rng: &mut ChaCha8Rng) -> Result<usize> {
                self.0.reset(rng)
            }
            fn step(&mut self, action: usize, rng: &mut ChaCha8Rng) -> Result<Step> {
                let step = self.0.step(action, rng)?;
                Ok(Step {
                    end: End::Truncated,
                    ..step
                })
            }
        }
        let mdp = line();
        let tables = Tables::new(&mdp);
        let mut environment = Truncating(Simulator::new(&tables));
        let (counts, outcome) = walk(&mut environment, &mdp, 5);
        outcome.unwrap();
        assert_eq!(counts.pair_totals(), [5, 0, 0]);
        assert_eq!(counts.seen(0), [(1, 5)]);
    }

    #[test]
    fn leaving_the_declared_range_is_an_error_that_says_where() {
        struct Wild;
        impl Environment for Wild {
            fn n_states(&self) -> usize {
                3
            }
            fn n_actions(&self, _: usize) -> usize {
                1
            }
            fn reset(&mut self, _: &mut ChaCha8Rng) -> Result<usize> {
                Ok(1)
            }
            fn step(&mut self, _: usize, _: &mut ChaCha8Rng) -> Result<Step> {
                Ok(Step {
                    next: 3,
                    end: End::Continues,
                })
            }
        }
        let (counts, outcome) = walk(&mut Wild, &line(), 1);
        let error = outcome.unwrap_err().to_string();
        assert!(
            error.contains("state 3 is out of range")
                && error.contains("from state 1 with action 0"),
            "{error}"
        );
        assert_eq!(counts.total(), 0);
    }
}
