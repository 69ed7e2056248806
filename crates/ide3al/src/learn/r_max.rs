//! R-MAX without rewards: the classic rival.

use rand_chacha::ChaCha8Rng;

use super::codec::Damage;
use super::estimate::{repartition, visited};
use super::explorer::{OnlinePlanner, Rule};
use super::learner::{Behaviour, Exploration, LearnContext, Learner, Loader, Saver};
use crate::error::Result;
use crate::model::{Counts, Policy};

/// Optimism where little is known: a pair tried fewer than `known` times is worth most, and the
/// policy that is greedy for it in the estimated model is followed, planned anew as soon as a pair
/// becomes known. By levels, `known` grows by one where no unknown pair can be reached any more.
///
/// What it hands over is the policy of its own visits, $N(s,a) / N(s)$: R-MAX itself ends with
/// nothing to do.
#[derive(Debug, Clone)]
pub struct RMax {
    online: OnlinePlanner,
    learned: Policy,
}

impl RMax {
    /// `uniform` is the uniform policy of the environment's shape.
    pub fn new(uniform: Policy, known: u32, by_levels: bool) -> Self {
        RMax {
            online: OnlinePlanner::new(Rule::r_max(known, by_levels)),
            learned: uniform,
        }
    }
}

impl Learner for RMax {
    fn behaviour(&mut self, _: &mut ChaCha8Rng) -> Behaviour<'_> {
        Behaviour::Online
    }

    fn online(&mut self) -> Option<&mut OnlinePlanner> {
        Some(&mut self.online)
    }

    fn update(&mut self, _: &LearnContext<'_>) -> Result<()> {
        Ok(())
    }

    fn finalize(&mut self, context: &LearnContext<'_>) -> Result<()> {
        self.learned = visited(context.counts);
        Ok(())
    }

    fn exploration(&self) -> Exploration<'_> {
        Exploration::Policy(&self.learned)
    }

    fn plans_for_episodes(&self) -> bool {
        true
    }

    fn repartition(&mut self, from: &[usize], counts: &Counts) -> Result<()> {
        self.learned = repartition(&self.learned, from, counts.pairs(0).len());
        self.online.recount(counts);
        Ok(())
    }

    fn save(&self, checkpoint: &mut Saver<'_>) {
        self.online.save(checkpoint.0);
        checkpoint.0.reals(self.learned.probabilities());
    }

    fn load(&mut self, checkpoint: &mut Loader<'_, '_>) -> std::result::Result<(), Damage> {
        self.online.load(checkpoint.0)?;
        self.learned = checkpoint.0.any_policy()?;
        Ok(())
    }
}
