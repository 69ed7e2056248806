//! Random: every action equally likely, for ever.

use rand_chacha::ChaCha8Rng;

use super::codec::Damage;
use super::estimate::repartition;
use super::learner::{Behaviour, Exploration, LearnContext, Learner, Loader, Saver};
use crate::error::Result;
use crate::model::{Counts, Policy};

/// The baseline: never learns.
#[derive(Debug, Clone)]
pub struct Random {
    policy: Policy,
}

impl Random {
    /// `uniform` is the uniform policy of the environment's shape.
    pub fn new(uniform: Policy) -> Self {
        Random { policy: uniform }
    }
}

impl Learner for Random {
    fn behaviour(&mut self, _: &mut ChaCha8Rng) -> Behaviour<'_> {
        Behaviour::Policy(&self.policy)
    }

    fn update(&mut self, _: &LearnContext<'_>) -> Result<()> {
        Ok(())
    }

    fn exploration(&self) -> Exploration<'_> {
        Exploration::Policy(&self.policy)
    }

    fn repartition(&mut self, from: &[usize], counts: &Counts) -> Result<()> {
        let n_actions = counts.pairs(0).len();
        self.policy = repartition(&self.policy, from, n_actions);
        Ok(())
    }

    fn save(&self, _: &mut Saver<'_>) {}

    fn load(&mut self, _: &mut Loader<'_, '_>) -> std::result::Result<(), Damage> {
        Ok(())
    }
}
