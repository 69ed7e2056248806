//! The explorer by itself: one action at a time, for episodes that are stepped from Python.

use ide3al::learn::{End, Gradient, OnlinePlanner, Quota, Rule, generator};
use numpy::{IntoPyArray, PyArray1, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use rand_chacha::ChaCha8Rng;

use crate::agent::Agent;
use crate::errors::{error, exception};

/// Most states and environments that are told apart.
const MOST: usize = u32::MAX as usize;

/// Chooses each action with all that it was told until then.
#[pyclass(module = "ide3al._ide3al")]
pub(crate) struct Explorer {
    planner: OnlinePlanner,
    n_actions: usize,
    rng: ChaCha8Rng,
}

#[pymethods]
impl Explorer {
    /// `saved`: what `to_bytes` gave, of an explorer with as many actions.
    #[new]
    #[pyo3(signature = (n_actions, saved=None))]
    fn new(n_actions: usize, saved: Option<&[u8]>) -> PyResult<Self> {
        if n_actions == 0 {
            return Err(exception(ide3al::Error::Empty));
        }
        let mut planner = OnlinePlanner::new(Rule::explorer(Gradient::default(), Quota::Pairs(1)));
        if let Some(saved) = saved {
            planner.restore(saved).map_err(exception)?;
        }
        Ok(Explorer {
            planner,
            n_actions,
            rng: generator(0, 0),
        })
    }

    /// Draws from now on from this stream of random numbers.
    fn seed(&mut self, seed: u64, stream: u64) {
        self.rng = generator(seed, stream);
    }

    /// How many samples of every pair are wanted, or of every state.
    fn set_quota(&mut self, samples: u32, of_states: bool) {
        self.planner.set_quota(if of_states {
            Quota::States(samples)
        } else {
            Quota::Pairs(samples)
        });
    }

    /// Where an episode of one of the environments begins.
    fn start(&mut self, follower: usize, state: usize) -> PyResult<()> {
        let state = checked(state)?;
        self.planner
            .start(checked(follower)?, state, self.n_actions);
        Ok(())
    }

    /// An action of a state in one of the environments.
    fn act(&mut self, follower: usize, state: usize) -> PyResult<usize> {
        let (follower, state) = (checked(follower)?, checked(state)?);
        Ok(self
            .planner
            .act(follower, state, self.n_actions, &mut self.rng))
    }

    /// An action for each of some environments.
    fn act_all<'py>(
        &mut self,
        py: Python<'py>,
        states: PyReadonlyArray1<'py, i64>,
    ) -> PyResult<Bound<'py, PyArray1<i64>>> {
        let mut actions = Vec::with_capacity(states.len()?);
        for (k, &state) in states.as_array().iter().enumerate() {
            actions.push(self.act(k, usize::try_from(state)?)? as i64);
        }
        Ok(actions.into_pyarray(py))
    }

    /// A step of one of the environments; `end`: 0 goes on, 1 in a terminal state, 2 cut short.
    fn step(
        &mut self,
        follower: usize,
        state: usize,
        action: usize,
        next: usize,
        end: u8,
    ) -> PyResult<()> {
        if action >= self.n_actions {
            return Err(error(format!(
                "action {action}: there are {}",
                self.n_actions
            )));
        }
        let end = match end {
            0 => End::Continues,
            1 => End::Terminal,
            _ => End::Truncated,
        };
        let transition = (checked(state)?, action, checked(next)?);
        let actions = (self.n_actions, self.n_actions);
        self.planner
            .record(checked(follower)?, transition, end, actions);
        Ok(())
    }

    /// Steps of whole episodes, in rows as `agent_record` takes them, and where they began.
    fn record(
        &mut self,
        steps: PyReadonlyArray2<'_, i64>,
        starts: PyReadonlyArray1<'_, i64>,
    ) -> PyResult<()> {
        for &start in starts.as_array() {
            self.start(0, usize::try_from(start)?)?;
        }
        for row in steps
            .as_array()
            .rows()
            .into_iter()
            .filter(|row| row[3] != 3)
        {
            let number = |k: usize| usize::try_from(row[k]);
            self.step(0, number(0)?, number(1)?, number(2)?, row[3] as u8)?;
        }
        Ok(())
    }

    /// The actions that a state has, by what is known now.
    fn restrict(&mut self, state: usize, allowed: PyReadonlyArray1<'_, bool>) -> PyResult<()> {
        if allowed.len()? != self.n_actions {
            return Err(error(format!(
                "a mask of {} actions: there are {}",
                allowed.len()?,
                self.n_actions
            )));
        }
        self.planner
            .restrict(checked(state)?, &allowed.as_array().to_vec());
        Ok(())
    }

    /// Number of pairs, or states, that were met and tried too little.
    fn n_undersampled(&self) -> usize {
        self.planner.n_undersampled()
    }

    /// Everything but the random numbers.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.planner.to_bytes())
    }
}

/// The explorer inside an agent as bytes, `None` where it has none.
#[pyfunction]
pub(crate) fn agent_explorer<'py>(
    py: Python<'py>,
    agent: &Agent,
) -> PyResult<Option<Bound<'py, PyBytes>>> {
    let mut state = agent.state()?;
    let planner = state.session.online();
    Ok(planner.map(|planner| PyBytes::new(py, &planner.to_bytes())))
}

fn checked(number: usize) -> PyResult<usize> {
    if number < MOST {
        return Ok(number);
    }
    Err(error(format!("{number} is more than can be told apart")))
}
