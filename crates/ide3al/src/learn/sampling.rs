//! Following a policy: one continuing trajectory, recorded into counts.

use rand_chacha::ChaCha8Rng;

use super::alias::{self, Slot};
use super::environment::{End, Environment, check_state};
use super::estimate::fitted;
use crate::error::{Error, Result};
use crate::model::{Counts, Policy};

/// Draws actions from a policy in constant time: one alias table per state.
#[derive(Debug, Clone, Default)]
pub struct PolicySampler {
    first_pair: Vec<usize>,
    slots: Vec<Slot>,
    builder: alias::Builder,
}

impl PolicySampler {
    /// For states with the given numbers of actions. No policy yet: call
    /// [`set`](Self::set).
    pub fn new(actions_per_state: &[usize]) -> Self {
        let mut first_pair = vec![0];
        let mut pairs = 0;
        for n in actions_per_state {
            pairs += n;
            first_pair.push(pairs);
        }
        PolicySampler {
            first_pair,
            slots: Vec::with_capacity(pairs),
            builder: alias::Builder::default(),
        }
    }

    /// Takes over a policy. Cost $O(\text{pairs})$.
    pub fn set(&mut self, policy: &Policy) -> Result<()> {
        let probabilities = policy.probabilities();
        let pairs = self.first_pair.last().copied().unwrap_or(0);
        if probabilities.len() != pairs {
            return Err(Error::Size {
                what: "policy".into(),
                expected: format!("{pairs} state-action pairs as in the environment"),
                found: probabilities.len().to_string(),
            });
        }
        self.slots.clear();
        for window in self.first_pair.windows(2) {
            let row = probabilities[window[0]..window[1]].iter().copied();
            let row = row.enumerate().map(|(a, p)| (a as u32, p));
            self.builder.append(row, &mut self.slots);
        }
        Ok(())
    }

    /// [`set`](Self::set) for a policy that may have been made before the last states were found:
    /// these are played uniformly.
    pub fn set_grown(&mut self, policy: &Policy, counts: &Counts) -> Result<()> {
        if policy.probabilities().len() == counts.n_pairs() {
            return self.set(policy);
        }
        self.set(&fitted(policy, counts))
    }

    /// Adds a state that nobody knew of, after all others, with every action equally likely.
    pub fn add_state(&mut self, n_actions: usize) {
        let first = self.first_pair.last().copied().unwrap_or(0);
        self.first_pair.push(first + n_actions);
        let row = (0..n_actions as u32).map(|a| (a, 1.0));
        self.builder.append(row, &mut self.slots);
    }

    /// An action in `state`.
    #[inline]
    pub fn draw(&self, state: usize, rng: &mut ChaCha8Rng) -> usize {
        let row = &self.slots[self.first_pair[state]..self.first_pair[state + 1]];
        alias::draw(row, rng) as usize
    }
}

/// Where a continuing trajectory stands.
///
/// *Episodes.* A terminal state is left for a start state by whatever action the policy
/// draws there, and that restart is recorded as a transition. The counts then describe the
/// chain the agent really lives in, start distribution included, and an estimate from them
/// converges to the model in which terminal rows lead back to the start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trajectory {
    /// The current state.
    pub state: usize,
    /// Whether the current state is terminal, so that the next step restarts.
    pub terminal: bool,
}

impl Trajectory {
    /// Begins in a start state.
    pub fn start<E: Environment + ?Sized>(
        environment: &mut E,
        rng: &mut ChaCha8Rng,
    ) -> Result<Self> {
        let state = environment.reset(rng)?;
        Ok(Trajectory {
            state: check_state(state, environment.n_states(), "reset")?,
            terminal: false,
        })
    }

    /// Takes `steps` further steps with a policy and records each.
    ///
    /// An environment that leaves its declared range is an error; the counts then hold the
    /// steps before.
    pub fn collect<E: Environment + ?Sized>(
        &mut self,
        environment: &mut E,
        sampler: &mut PolicySampler,
        steps: usize,
        counts: &mut Counts,
        rng: &mut ChaCha8Rng,
    ) -> Result<()> {
        for _ in 0..steps {
            let state = self.state;
            let action = sampler.draw(state, rng);
            if self.terminal {
                *self = Trajectory::start(environment, rng)?;
                discover(environment, self.state, sampler, counts);
                counts.record(state, action, self.state);
                counts.record_end(state);
                counts.record_start(self.state);
                continue;
            }
            let step = environment.step(action, rng)?;
            let n_states = environment.n_states();
            if step.next >= n_states {
                let place = format!("the step from state {state} with action {action}");
                check_state(step.next, n_states, &place)?;
            }
            discover(environment, step.next, sampler, counts);
            counts.record(state, action, step.next);
            *self = match step.end {
                End::Truncated => {
                    let begun = Trajectory::start(environment, rng)?;
                    discover(environment, begun.state, sampler, counts);
                    counts.record_cut();
                    counts.record_start(begun.state);
                    begun
                }
                end => Trajectory {
                    state: step.next,
                    terminal: end == End::Terminal,
                },
            };
        }
        Ok(())
    }
}

/// Makes room for a state that the environment has only just found.
pub(crate) fn discover<E: Environment + ?Sized>(
    environment: &E,
    state: usize,
    sampler: &mut PolicySampler,
    counts: &mut Counts,
) {
    while counts.n_states() <= state {
        let n_actions = environment.n_actions(counts.n_states());
        counts.add_state(n_actions);
        sampler.add_state(n_actions);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::{Episodic, Simulator, Step, Tables};
    use crate::model::{Mdp, Unvisited};
    use rand::SeedableRng;

    /// Walks 0 -> 1 -> 2; state 2 absorbs.
    fn line() -> Mdp {
        Mdp::from_triplets(3, 1, [(0, 0, 1, 1.0), (1, 0, 2, 1.0), (2, 0, 2, 1.0)])
            .unwrap()
            .with_start_state(0)
            .unwrap()
    }

    fn sampler(mdp: &Mdp) -> PolicySampler {
        let actions: Vec<usize> = (0..mdp.n_states()).map(|s| mdp.n_actions(s)).collect();
        let mut sampler = PolicySampler::new(&actions);
        sampler.set(&Policy::uniform(mdp)).unwrap();
        sampler
    }

    #[test]
    fn terminal_states_restart_and_the_restart_is_recorded() {
        let mdp = line();
        let tables = Tables::new(&mdp);
        let mut environment = Episodic::new(Simulator::new(&tables), &[2]).unwrap();
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut counts = Counts::new(&[1, 1, 1]);
        let mut trajectory = Trajectory::start(&mut environment, &mut rng).unwrap();
        trajectory
            .collect(
                &mut environment,
                &mut sampler(&mdp),
                9,
                &mut counts,
                &mut rng,
            )
            .unwrap();
        assert_eq!(counts.pair_totals(), [3, 3, 3]);
        let estimate = counts.estimate(Unvisited::Uniform, mdp.start());
        assert_eq!(estimate.kernel().to_dense()[2], [1.0, 0.0, 0.0]);
    }

    #[test]
    fn truncation_jumps_to_the_start_without_a_transition() {
        struct Cut<'a>(Simulator<'a>);
        impl Environment for Cut<'_> {
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
        let mut environment = Cut(Simulator::new(&tables));
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut counts = Counts::new(&[1, 1, 1]);
        let mut trajectory = Trajectory::start(&mut environment, &mut rng).unwrap();
        trajectory
            .collect(
                &mut environment,
                &mut sampler(&mdp),
                5,
                &mut counts,
                &mut rng,
            )
            .unwrap();
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
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let mut counts = Counts::new(&[1, 1, 1]);
        let mut trajectory = Trajectory::start(&mut Wild, &mut rng).unwrap();
        let error = trajectory
            .collect(&mut Wild, &mut sampler(&line()), 1, &mut counts, &mut rng)
            .unwrap_err()
            .to_string();
        assert!(
            error.contains("state 3 is out of range")
                && error.contains("from state 1 with action 0"),
            "{error}"
        );
        assert_eq!(counts.total(), 0);
    }
}
