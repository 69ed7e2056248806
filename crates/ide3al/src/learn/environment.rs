//! What a learner may act in: anything with reset, step and known numbers of states and
//! actions.

use rand_chacha::ChaCha8Rng;

use crate::error::{Error, Result};

/// How a step ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The trajectory goes on from the next state.
    Continues,
    /// The next state is terminal. It belongs to the model: the next "step" leaves it for a
    /// start state, whatever the action, and is recorded like any other (see
    /// [`Trajectory`](super::Trajectory)).
    Terminal,
    /// The episode was cut short (a time limit). The next state is an ordinary one; the
    /// jump to the start that follows is no transition of the model and is not recorded.
    Truncated,
}

/// Outcome of one step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Step {
    /// The state reached.
    pub next: usize,
    /// Whether the trajectory goes on from there.
    pub end: End,
}

/// A finite environment. The environment keeps its current state.
///
/// Actions of a state are numbered from 0 without holes: action `a` of state `s` is the
/// `a`-th *pair* of `s` in an [`Mdp`](crate::model::Mdp).
///
/// Randomness should come from the generator that is handed in; then a run can be repeated
/// and resumed bit for bit.
pub trait Environment {
    /// Number of states $S$. It may grow as states are found (numbered one after the other), and
    /// never shrinks.
    fn n_states(&self) -> usize;

    /// Number of actions of a state.
    fn n_actions(&self, state: usize) -> usize;

    /// Starts over and returns the start state.
    fn reset(&mut self, rng: &mut ChaCha8Rng) -> Result<usize>;

    /// Takes an action in the current state.
    fn step(&mut self, action: usize, rng: &mut ChaCha8Rng) -> Result<Step>;

    /// Puts the environment into a state, to go on from a checkpoint. An environment that
    /// cannot do this cannot be resumed in the middle of a run.
    fn set_state(&mut self, state: usize) -> Result<()> {
        let _ = state;
        Err(Error::Unsupported(
            "this environment cannot be put into a given state, so a run in it cannot be resumed \
             from a checkpoint; implement Environment::set_state"
                .into(),
        ))
    }
}

/// Refuses a state that the environment has not declared.
pub(crate) fn check_state(state: usize, n_states: usize, place: &str) -> Result<usize> {
    if state < n_states {
        return Ok(state);
    }
    Err(Error::OutOfRange {
        what: "environment's state",
        index: state,
        limit: n_states,
        place: format!("; the environment left its declared range in {place}"),
    })
}

/// Number of actions of every state, refusing an environment without states or actions.
pub(crate) fn actions_per_state<E: Environment + ?Sized>(environment: &E) -> Result<Vec<usize>> {
    let n = environment.n_states();
    if n == 0 {
        return Err(Error::Empty);
    }
    let actions: Vec<usize> = (0..n).map(|s| environment.n_actions(s)).collect();
    match actions.iter().position(|&a| a == 0) {
        Some(state) => Err(Error::NoAction { state }),
        None => Ok(actions),
    }
}
