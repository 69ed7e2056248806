//! Rivals that plan backwards over a horizon with upper confidence bounds: reward-free UCRL
//! (Kaufmann et al. 2021) and EntGame (Tiapkin et al. 2023).

use rand_chacha::ChaCha8Rng;

use super::codec::Damage;
use super::estimate::{known, repartition, visited};
use super::explorer::below;
use super::learner::{Behaviour, Exploration, LearnContext, Learner, Loader, Saver};
use crate::error::Result;
use crate::model::{Counts, Policy};

/// Probability with which the bounds may fail, as in the authors' programs.
const FAILURE: f64 = 0.1;
/// Actions whose bounds differ by less than this share count as equally good.
const TIE: f64 = 1e-9;
/// Instead of an action: any.
const ANY: u32 = u32::MAX;

/// What is bounded.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Bound {
    /// RF-UCRL: the error of the values of any policy for any reward, discounted,
    ///
    /// $$E_h(s,a) = \gamma \sigma_h \sqrt{\beta / n(s,a)} + \gamma \hat P \max_b E_{h+1},$$
    ///
    /// not cut off at its largest possible value, as in the authors' experiments.
    Error {
        /// $\gamma$.
        discount: f64,
    },
    /// EntGame: what the player who samples earns from the one who predicts the next pair,
    ///
    /// $$Q_h(s,a) = \ln \frac{t + S A}{n(s,a) + 1} + \sigma_h \ln(t + S A) \sqrt{\beta / n(s,a)} +
    /// \hat P V_{h+1}, \quad V_h = \min(\sigma_h \ln(t + S A), \max_b Q_h).$$
    Surprise,
}

/// After every $H$ steps each pair gets an upper bound for each step of the next $H$, and the
/// action with the largest is taken. $\sigma_h$ is the discounted number of steps left, $\beta =
/// \ln(c S A H / 0.1) + (S - 1) \ln(e (1 + n / (S - 1)))$ with $c = 2$ for RF-UCRL and 4 for
/// EntGame; a pair never tried leads to all states alike.
///
/// The authors reset the environment every $H$ steps. Here it goes on, and only where it ends or
/// cuts an episode itself the next $H$ steps begin at once. Terminal states, where nothing is left
/// to choose, are worth nothing. What is handed over is the policy of all visits, $N(s,a) / N(s)$.
#[derive(Debug, Clone)]
pub struct FiniteHorizon {
    bound: Bound,
    horizon: usize,
    /// For each step of the horizon the action of each of `n_states` states.
    actions: Vec<u32>,
    n_states: usize,
    /// Number of observations when it was planned.
    planned: u64,
    /// The step at which each of the environments explored together is.
    steps: Vec<usize>,
    open: bool,
    learned: Policy,
}

impl FiniteHorizon {
    /// `uniform` is the uniform policy of the environment's shape.
    pub fn new(uniform: Policy, bound: Bound, horizon: u32) -> Self {
        FiniteHorizon {
            bound,
            horizon: horizon.max(1) as usize,
            actions: Vec::new(),
            n_states: 0,
            planned: 0,
            steps: Vec::new(),
            open: false,
            learned: uniform,
        }
    }

    /// Costs $O(H (\text{distinct transitions} + \text{pairs of states met}))$.
    fn plan(&mut self, counts: &Counts, rng: &mut ChaCha8Rng) {
        let met = known(counts);
        // all states never met are alike; where none is declared, one more may exist
        let unmet = (counts.n_states() - met.len()).max(usize::from(self.open));
        let n = (met.len() + unmet) as f64;
        let most_actions = met.iter().map(|s| counts.pairs(*s as usize).len()).max();
        let pairs = n * most_actions.unwrap_or(1) as f64;
        let (discount, factor, scale) = match self.bound {
            Bound::Error { discount } => (discount, 2.0, 1.0),
            Bound::Surprise => (1.0, 4.0, (counts.total() as f64 + pairs).ln()),
        };
        let others = (n - 1.0).max(1.0);
        let confidence = (factor * pairs * self.horizon as f64 / FAILURE).ln();
        let width = |tries: u64| {
            let beta = confidence + others * (1.0 + (tries as f64 / others).ln_1p());
            (beta / tries.max(1) as f64).sqrt()
        };
        let (gain, bonus) = match self.bound {
            Bound::Error { .. } => (0.0, discount),
            Bound::Surprise => (1.0, scale),
        };
        let surprise = |tries: u64| gain * (scale - (tries as f64 + 1.0).ln());
        let of_pair: Vec<(f64, f64)> = counts
            .pair_totals()
            .iter()
            .map(|&tries| (surprise(tries), bonus * width(tries)))
            .collect();

        self.n_states = counts.n_states();
        self.planned = counts.total();
        self.actions.clear();
        self.actions.resize(self.horizon * self.n_states, ANY);
        let mut ahead = vec![0.0; self.n_states];
        let mut values = vec![0.0; self.n_states];
        let (mut unknown, mut left) = (0.0, 0.0);
        let mut row = Vec::new();
        for h in (0..self.horizon).rev() {
            left = 1.0 + discount * left;
            let most = match self.bound {
                Bound::Error { .. } => f64::INFINITY,
                Bound::Surprise => left * scale,
            };
            let sum: f64 = met.iter().map(|s| ahead[*s as usize]).sum();
            let mean = (sum + unmet as f64 * unknown) / n;
            for &s in &met {
                let s = s as usize;
                if counts.ends()[s] > 0 && counts.ends()[s] == counts.state_totals()[s] {
                    continue;
                }
                row.clear();
                for pair in counts.pairs(s) {
                    let tries = counts.pair_totals()[pair];
                    let seen = counts.seen(pair).iter();
                    let expected = match tries {
                        0 => mean,
                        _ => {
                            let sum: f64 = seen.map(|&(t, k)| ahead[t as usize] * k as f64).sum();
                            sum / tries as f64
                        }
                    };
                    let (reward, width) = of_pair[pair];
                    row.push(reward + left * width + discount * expected);
                }
                let (action, best) = greedy(&row, rng);
                self.actions[h * self.n_states + s] = action;
                values[s] = best.min(most);
            }
            let of_untried = surprise(0) + left * bonus * width(0) + discount * mean;
            unknown = of_untried.min(most);
            std::mem::swap(&mut ahead, &mut values);
        }
    }
}

/// One of the best actions, each equally likely, and its value.
fn greedy(row: &[f64], rng: &mut ChaCha8Rng) -> (u32, f64) {
    let best = row.iter().fold(f64::NEG_INFINITY, |most, q| most.max(*q));
    let good = || (0..row.len()).filter(|a| row[*a] >= best - TIE * best.abs());
    let n = good().count();
    let chosen = if n > 1 { below(n, rng) } else { 0 };
    (good().nth(chosen).unwrap_or(0) as u32, best)
}

impl Learner for FiniteHorizon {
    fn behaviour(&mut self, _: &mut ChaCha8Rng) -> Behaviour<'_> {
        Behaviour::Online
    }

    fn act(
        &mut self,
        follower: usize,
        state: usize,
        counts: &Counts,
        rng: &mut ChaCha8Rng,
    ) -> usize {
        if self.steps.len() <= follower {
            self.steps.resize(follower + 1, 0);
        }
        let step = self.steps[follower];
        self.steps[follower] = (step + 1) % self.horizon;
        if step == 0 && counts.total() >= self.planned + self.horizon as u64 {
            self.plan(counts, rng);
        }
        let n_actions = counts.pairs(state).len();
        let planned = self.actions.get(step * self.n_states + state);
        match planned.filter(|action| state < self.n_states && (**action as usize) < n_actions) {
            Some(action) => *action as usize,
            None => below(n_actions, rng),
        }
    }

    fn begin_episode(&mut self, follower: usize, _: usize, _: &Counts) {
        if let Some(step) = self.steps.get_mut(follower) {
            *step = 0;
        }
    }

    fn update(&mut self, context: &LearnContext<'_>) -> Result<()> {
        self.open = context.open;
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
        self.steps.clear();
        self.actions.clear();
        (self.n_states, self.planned) = (0, 0);
        Ok(())
    }

    fn save(&self, checkpoint: &mut Saver<'_>) {
        let writer = &mut *checkpoint.0;
        writer.reals(self.learned.probabilities());
        writer.number(self.planned);
        writer.byte(u8::from(self.open));
        writer.number(self.steps.len() as u64);
        for &step in &self.steps {
            writer.number(step as u64);
        }
        writer.number(self.n_states as u64);
        writer.number(self.actions.len() as u64);
        for &action in &self.actions {
            writer.number(u64::from(action));
        }
    }

    fn load(&mut self, checkpoint: &mut Loader<'_, '_>) -> std::result::Result<(), Damage> {
        let reader = &mut *checkpoint.0;
        self.learned = reader.any_policy()?;
        self.planned = reader.number()?;
        self.open = reader.byte()? != 0;
        self.steps = (0..reader.length(8)?)
            .map(|_| reader.index(self.horizon, "step"))
            .collect::<std::result::Result<_, _>>()?;
        self.n_states = reader.number()? as usize;
        let n = reader.length(8)?;
        if Some(n) != self.horizon.checked_mul(self.n_states) {
            return Err(format!("{n} actions do not fit {} states", self.n_states));
        }
        self.actions = (0..n)
            .map(|_| reader.index(ANY as usize + 1, "action").map(|a| a as u32))
            .collect::<std::result::Result<_, _>>()?;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::{Session, Simulator, Tables, generator};
    use crate::model::Mdp;

    const BOUNDS: [Bound; 2] = [Bound::Error { discount: 0.99 }, Bound::Surprise];

    /// From state 0 the action 0 leads to 1 and on to 2, where nothing was tried; action 1 leads
    /// to 3, where everything was tried less often than at 0 and 1.
    fn fork() -> Counts {
        let mut counts = Counts::new(&[2; 4]);
        counts.record_start(0);
        for (pair, next) in [(0, 1), (1, 3), (2, 2), (3, 0)] {
            counts.add(pair, next, 4_000_000).unwrap();
        }
        for pair in [6, 7] {
            counts.add(pair, 3, 1_000_000).unwrap();
        }
        counts
    }

    fn planned(bound: Bound, counts: &Counts, horizon: u32) -> FiniteHorizon {
        let mut rival = FiniteHorizon::new(visited(counts), bound, horizon);
        rival.plan(counts, &mut generator(1, 0));
        rival
    }

    #[test]
    fn what_was_never_tried_draws_from_as_far_as_the_horizon_reaches() {
        for bound in BOUNDS {
            let rival = planned(bound, &fork(), 10);
            // in time it goes to state 2, by way of state 1
            assert_eq!(rival.actions[0], 0, "{bound:?}");
            assert_eq!(rival.actions[rival.n_states + 1], 0, "{bound:?}");
        }
        // with one step left there is nothing but the pair itself
        let mut counts = fork();
        counts.record(0, 0, 1);
        for bound in BOUNDS {
            assert_eq!(planned(bound, &counts, 1).actions[0], 1, "{bound:?}");
        }
    }

    #[test]
    fn a_terminal_state_is_worth_nothing() {
        let mut counts = fork();
        // state 2 ends every episode, whatever is tried there: more is to be learned at state 3
        for _ in 0..5 {
            counts.record(2, 0, 0);
            counts.record_end(2);
        }
        for bound in BOUNDS {
            let rival = planned(bound, &counts, 10);
            assert_eq!(rival.actions[2], ANY);
            assert_eq!(
                rival.actions[0], 1,
                "{bound:?}: on to state 3, not to the end"
            );
        }
    }

    fn explore(bound: Bound, mdp: &Mdp, steps: usize) -> Session {
        let actions: Vec<usize> = (0..mdp.n_states()).map(|s| mdp.n_actions(s)).collect();
        let rival = FiniteHorizon::new(Policy::uniform(mdp), bound, 20);
        let mut session = Session::new(Box::new(rival), &actions, false, generator(2, 0));
        let tables = Tables::new(mdp);
        let mut environment = Simulator::new(&tables);
        session.begin_batch().unwrap();
        session.collect(&mut environment, steps).unwrap();
        session
    }

    #[test]
    fn visits_become_even_and_a_rival_that_was_saved_goes_on_bit_by_bit() {
        // a ring of states, one step onwards or none
        let ring = Mdp::from_fn(10, 2, |s, a, row| {
            row.push(((s + a) % 10, 1.0));
            true
        })
        .unwrap();
        for bound in BOUNDS {
            let session = explore(bound, &ring, 4000);
            let most = session.counts().pair_totals().iter().max().unwrap();
            let least = session.counts().pair_totals().iter().min().unwrap();
            assert!(most <= &(2 * least), "{bound:?}: {least} to {most}");
            let saved = session.learner().to_bytes();
            let mut other: Box<dyn Learner> =
                Box::new(FiniteHorizon::new(Policy::uniform(&ring), bound, 20));
            other.restore(&saved).unwrap();
            assert_eq!(other.to_bytes(), saved);
            for short in (0..saved.len()).step_by(97) {
                assert!(other.restore(&saved[..short]).is_err(), "{short}");
            }
        }
    }
}
