//! One run: the loop of the paper's Algorithm 1, one iteration at a time, with a state that
//! can be saved between any two of its steps.

use std::sync::atomic::AtomicBool;

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

use super::codec::{Damage, Reader, Writer};
use super::convergence::Convergence;
use super::environment::{Environment, actions_per_state};
use super::evaluator::{DataFigures, Evaluator, Metrics};
use super::learner::{Exploration, Learner};
use super::session::{Session, Trajectory};
use crate::error::Result;
use crate::model::{Counts, Mdp, Policy};

/// How a run goes about it.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Number of batches.
    pub iterations: u64,
    /// Steps per batch.
    pub batch: u64,
    /// The spectral gap is computed in every so many iterations, and in the last.
    pub gap_every: u64,
    /// Ends the run early.
    pub convergence: Option<Convergence>,
}

/// A learner at work in an environment.
///
/// [`iterate`](Self::iterate) collects a batch, lets the learner learn, and evaluates
/// what it has learned. The curve begins with the learner before any batch (iteration 0).
pub struct Run<'a, E> {
    environment: E,
    session: Session,
    plan: Plan,
    evaluator: Evaluator<'a>,
    /// Batches collected; the update after the last may be outstanding.
    collected: u64,
    /// Batches learned from; what was made of them may be outstanding.
    learned: u64,
    /// Consecutive sweeps without a change of the policy.
    unchanged: u64,
    converged: bool,
    curve: Vec<Metrics>,
}

/// The generator of one run: its own stream of the one seed.
pub fn generator(seed: u64, stream: u64) -> ChaCha8Rng {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(stream);
    rng
}

impl<'a, E: Environment> Run<'a, E> {
    /// Resets the environment and evaluates the learner before any batch. `truth` is the true
    /// model, where it is known.
    pub fn new(
        mut environment: E,
        learner: Box<dyn Learner>,
        truth: Option<&'a Mdp>,
        plan: Plan,
        rng: ChaCha8Rng,
    ) -> Result<Self> {
        let actions = actions_per_state(&environment)?;
        let mut session = Session::new(learner, &actions, false, rng);
        session.begin(&mut environment)?;
        let unvisited = session.learner().unvisited();
        let uniform = Policy::uniform(&session.counts().estimate(unvisited, &session.start()));
        let mut run = Run {
            evaluator: Evaluator::new(truth, uniform),
            environment,
            session,
            plan,
            collected: 0,
            learned: 0,
            unchanged: 0,
            converged: false,
            curve: Vec::new(),
        };
        run.evaluate_now();
        Ok(run)
    }

    /// Iterations completed.
    pub fn iteration(&self) -> u64 {
        self.curve.len() as u64 - 1
    }

    /// Whether the budget is spent or the convergence criterion met.
    pub fn is_done(&self) -> bool {
        self.converged || self.iteration() >= self.plan.iterations
    }

    /// Whether the run ended by convergence.
    pub fn converged(&self) -> bool {
        self.converged
    }

    /// The figures so far, from iteration 0 on.
    pub fn curve(&self) -> &[Metrics] {
        &self.curve
    }

    /// The policy evaluated last; for a mixture, the equivalent one.
    pub fn policy(&self) -> &Policy {
        self.evaluator.policy()
    }

    /// What has been learned.
    pub fn exploration(&self) -> Exploration<'_> {
        self.session.learner().exploration()
    }

    /// What the user should know of what has been learned.
    pub fn notes(&self) -> Vec<String> {
        self.session.learner().notes()
    }

    /// Long-run state distribution of what has been learned.
    pub fn distribution(&self) -> &[f64] {
        self.evaluator.distribution()
    }

    /// Everything observed.
    pub fn counts(&self) -> &Counts {
        self.session.counts()
    }

    /// Lends learner, environment and generator for an evaluation after the run.
    pub(crate) fn parts(&mut self) -> (Exploration<'_>, &mut E, &mut ChaCha8Rng) {
        let (exploration, rng) = self.session.exploration();
        (exploration, &mut self.environment, rng)
    }

    /// One iteration. With [`Error::Interrupted`](crate::Error::Interrupted) the run is at a
    /// point where it can be saved, and iterating again completes what was interrupted.
    pub fn iterate(&mut self, stop: &AtomicBool) -> Result<()> {
        if self.is_done() {
            return Ok(());
        }
        if self.collected == self.iteration() {
            self.session.begin_batch()?;
            self.session
                .collect(&mut self.environment, self.plan.batch as usize)?;
            self.collected += 1;
        }
        let last = self.collected == self.plan.iterations;
        // an interruption in between must not make it learn twice
        if self.learned < self.collected {
            self.session.update(last, stop)?;
            self.learned = self.collected;
        }
        self.session.finalize(last, stop)?;
        self.evaluate_now();
        Ok(())
    }

    fn evaluate_now(&mut self) {
        let iteration = self.curve.len() as u64;
        let before = self
            .plan
            .convergence
            .map(|_| self.evaluator.policy().clone());
        let with_gap =
            iteration.is_multiple_of(self.plan.gap_every) || iteration == self.plan.iterations;
        let episodes = self.session.learner().plans_for_episodes() && !self.evaluator.knows_truth();
        let metrics = self
            .session
            .evaluate(&mut self.evaluator, episodes, with_gap);
        self.curve.push(metrics);
        if let (Some(convergence), Some(before)) = (self.plan.convergence, before)
            && iteration > 0
        {
            let change = self.evaluator.policy().distance(&before);
            self.unchanged = if change <= convergence.tolerance {
                self.unchanged + 1
            } else {
                0
            };
            self.converged = convergence.met(self.unchanged, self.session.counts());
        }
    }

    /// The complete state.
    pub(crate) fn save(&self) -> Vec<u8> {
        let mut writer = Writer::default();
        // between two calls a run always stands somewhere
        let trajectory = self.session.trajectory();
        writer.number(trajectory.map_or(0, |t| t.state as u64));
        writer.byte(u8::from(trajectory.is_some_and(|t| t.terminal)));
        writer.number(self.collected);
        writer.number(self.learned);
        writer.number(self.unchanged);
        writer.byte(u8::from(self.converged));
        writer.reals(self.evaluator.policy().probabilities());
        write_curve(&mut writer, &self.curve);
        self.session.save(&mut writer);
        writer.into_bytes()
    }

    /// Takes back what [`save`](Self::save) wrote, into a run just made with the same
    /// arguments.
    pub(crate) fn load(&mut self, bytes: &[u8]) -> std::result::Result<(), Damage> {
        let mut reader = Reader::new(bytes);
        let counts = self.session.counts();
        let (n_states, n_pairs) = (counts.n_states(), counts.n_pairs());
        let trajectory = Trajectory {
            state: reader.index(n_states, "state")?,
            terminal: reader.byte()? != 0,
        };
        self.collected = reader.number()?;
        self.learned = reader.number()?;
        self.unchanged = reader.number()?;
        self.converged = reader.byte()? != 0;
        let previous = reader.policy(n_pairs)?;
        self.curve = read_curve(&mut reader)?;
        let iteration = self.iteration();
        let fits = |n: u64| (iteration..=iteration + 1).contains(&n);
        if !fits(self.collected) || !fits(self.learned) || self.learned > self.collected {
            return Err(format!(
                "{} batches, {} of them learned from, do not fit {iteration} iterations",
                self.collected, self.learned
            ));
        }
        self.session.load(&mut reader)?;
        reader.end()?;
        self.session.restore_trajectory(trajectory);
        self.evaluator.restore(previous);
        self.environment
            .set_state(trajectory.state)
            .map_err(|error| error.to_string())
    }
}

/// Writes the figures of some iterations.
pub(crate) fn write_curve(writer: &mut Writer, curve: &[Metrics]) {
    writer.number(curve.len() as u64);
    for metrics in curve {
        writer.real(metrics.entropy);
        writer.real(metrics.state_action_entropy);
        writer.real(metrics.min_probability);
        writer.real(metrics.spectral_gap);
        writer.real(metrics.model_error);
        for value in metrics.data.values() {
            writer.real(value);
        }
    }
}

/// Reads at least one iteration's figures.
pub(crate) fn read_curve(reader: &mut Reader<'_>) -> std::result::Result<Vec<Metrics>, Damage> {
    let length = reader.length(64)?;
    if length == 0 {
        return Err("it holds an empty curve".into());
    }
    (0..length)
        .map(|_| {
            Ok(Metrics {
                entropy: reader.real()?,
                state_action_entropy: reader.real()?,
                min_probability: reader.real()?,
                spectral_gap: reader.real()?,
                model_error: reader.real()?,
                data: DataFigures {
                    states_met: reader.real()?,
                    pairs_tried: reader.real()?,
                    effective_states: reader.real()?,
                },
            })
        })
        .collect()
}
