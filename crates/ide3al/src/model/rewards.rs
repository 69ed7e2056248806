//! Rewards that a model came with, and the states in which its episodes end.
//!
//! Exploration asks for neither. They are kept so that a policy can be [planned](crate::plan) for
//! afterwards, and written back.

use super::Mdp;
use super::builder::check_index;
use crate::error::{Error, Result};

/// Rewards as they are given: on what, and how many numbers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Rewards<'a> {
    /// $R(s)$, for every step that is taken in the state.
    States(&'a [f64]),
    /// $r(s,a)$, one number per state-action pair.
    Pairs(&'a [f64]),
    /// $r(s,a)$ of all actions in all states, state by state; those that a state lacks are passed
    /// over.
    Table(&'a [f64]),
    /// $r(s,a,t)$, one number per stored transition, row by row.
    Transitions(&'a [f64]),
    /// $r(s,a,t)$ of all states, actions and next states, row by row.
    Dense(&'a [f64]),
}

impl<'a> Rewards<'a> {
    /// Tells by their number what the rewards are on; a vector of numbers that fits several ways
    /// means the first of: states, pairs, a table, transitions, all triples.
    pub fn of(mdp: &Mdp, numbers: &'a [f64]) -> Result<Self> {
        let (states, actions) = (mdp.n_states(), mdp.n_action_labels());
        let (pairs, transitions) = (mdp.n_pairs(), mdp.kernel().nnz());
        let table = states * actions;
        match numbers.len() {
            n if n == states => Ok(Rewards::States(numbers)),
            n if n == pairs => Ok(Rewards::Pairs(numbers)),
            n if n == table => Ok(Rewards::Table(numbers)),
            n if n == transitions => Ok(Rewards::Transitions(numbers)),
            n if Some(n) == table.checked_mul(states) => Ok(Rewards::Dense(numbers)),
            n => Err(Error::Size {
                what: "reward".into(),
                expected: format!(
                    "one number per state ({states}), state-action pair ({pairs}; {states} x {actions} with those that \
                     states lack), transition ({transitions}) or triple ({states} x {actions} x {states})"
                ),
                found: format!("{n} numbers"),
            }),
        }
    }

    fn numbers(&self) -> &'a [f64] {
        match self {
            Rewards::States(r)
            | Rewards::Pairs(r)
            | Rewards::Table(r)
            | Rewards::Transitions(r)
            | Rewards::Dense(r) => r,
        }
    }
}

impl Mdp {
    /// The expected reward $r(s,a) = \sum_t P(t|s,a)\, r(s,a,t)$ of every pair.
    pub fn expected_rewards(&self, rewards: Rewards<'_>) -> Result<Vec<f64>> {
        let numbers = rewards.numbers();
        if let Some(at) = numbers.iter().position(|r| !r.is_finite()) {
            return Err(Error::Parameter {
                name: format!("reward, number {at}"),
                value: numbers[at].to_string(),
                problem: "a finite number is needed; correct that entry".into(),
            });
        }
        let (n, actions) = (self.n_states(), self.n_action_labels());
        let expected = match rewards {
            Rewards::States(_) => n,
            Rewards::Pairs(_) => self.n_pairs(),
            Rewards::Table(_) => n * actions,
            Rewards::Transitions(_) => self.kernel().nnz(),
            Rewards::Dense(_) => n.saturating_mul(actions).saturating_mul(n),
        };
        if numbers.len() != expected {
            return Err(Error::Size {
                what: "reward".into(),
                expected: format!("{expected} numbers"),
                found: numbers.len().to_string(),
            });
        }
        if matches!(rewards, Rewards::Transitions(_)) && self.kernel().has_spread() {
            return Err(Error::Unsupported(
                "rewards on transitions: some rows of this model are uniform over all states and list none; give one \
                 reward per pair"
                    .into(),
            ));
        }
        let mut out = Vec::with_capacity(self.n_pairs());
        for s in 0..n {
            for pair in self.pairs(s) {
                let row = self.row(pair);
                let first = self.kernel().offsets()[pair];
                let label = s * actions + self.actions()[pair] as usize;
                out.push(match rewards {
                    Rewards::States(r) => r[s],
                    Rewards::Pairs(r) => r[pair],
                    Rewards::Table(r) => r[label],
                    Rewards::Transitions(r) => {
                        let r = &r[first..first + row.values.len()];
                        row.values.iter().zip(r).map(|(p, r)| p * r).sum()
                    }
                    Rewards::Dense(r) => {
                        let r = &r[label * n..(label + 1) * n];
                        let listed: f64 = row.entries().map(|(t, p)| p * r[t]).sum();
                        let even = row.spread / n as f64;
                        listed
                            + if even > 0.0 {
                                even * r.iter().sum::<f64>()
                            } else {
                                0.0
                            }
                    }
                });
            }
        }
        Ok(out)
    }

    /// Sets the expected reward of every pair.
    pub fn with_rewards(mut self, rewards: Rewards<'_>) -> Result<Self> {
        self.rewards = Some(self.expected_rewards(rewards)?);
        Ok(self)
    }

    /// The expected reward of every pair, if the model came with rewards.
    pub fn rewards(&self) -> Option<&[f64]> {
        self.rewards.as_deref()
    }

    /// Says in which states episodes end. What follows there is the reset, which exploration counts
    /// as a step; nothing more is earned.
    pub fn with_terminal(mut self, mut states: Vec<usize>) -> Result<Self> {
        states.sort_unstable();
        states.dedup();
        if let Some(&last) = states.last() {
            check_index("terminal state", last, self.n_states(), String::new)?;
        }
        self.terminal = states;
        Ok(self)
    }

    /// States in which episodes end, ascending; none unless the model said so.
    pub fn terminal(&self) -> &[usize] {
        &self.terminal
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two states; state 0 stays or hops, state 1 only hops (action 1).
    fn uneven() -> Mdp {
        let rows = [
            (0, 0, 0, 1.0),
            (0, 1, 0, 0.25),
            (0, 1, 1, 0.75),
            (1, 1, 0, 1.0),
        ];
        Mdp::from_triplets(2, 2, rows).unwrap()
    }

    #[test]
    fn every_shape_means_what_it_says() {
        let mdp = uneven();
        let of = |numbers: &[f64]| {
            let rewards = Rewards::of(&mdp, numbers).unwrap();
            mdp.expected_rewards(rewards).unwrap()
        };
        assert_eq!(of(&[1.0, 2.0]), [1.0, 1.0, 2.0]);
        assert_eq!(of(&[1.0, 2.0, 3.0]), [1.0, 2.0, 3.0]);
        // four numbers are the table of both actions in both states, not the four transitions
        assert_eq!(of(&[1.0, 2.0, 9.0, 3.0]), [1.0, 2.0, 3.0]);
        let each = Rewards::Transitions(&[1.0, 4.0, 8.0, 3.0]);
        assert_eq!(mdp.expected_rewards(each).unwrap(), [1.0, 7.0, 3.0]);
        assert_eq!(
            of(&[1.0, 9.0, 4.0, 8.0, 9.0, 9.0, 3.0, 9.0]),
            [1.0, 7.0, 3.0]
        );
    }

    #[test]
    fn bad_rewards_say_what_is_wrong() {
        let mdp = uneven();
        let told = Rewards::of(&mdp, &[1.0; 5]).unwrap_err().to_string();
        assert!(
            told.contains("5 numbers") && told.contains("state (2)"),
            "{told}"
        );
        for bad in [f64::NAN, f64::INFINITY] {
            let told = mdp.expected_rewards(Rewards::States(&[0.0, bad]));
            assert!(told.unwrap_err().to_string().contains("number 1"));
        }
        assert!(uneven().with_terminal(vec![2]).is_err());
        assert_eq!(
            uneven().with_terminal(vec![1, 0, 1]).unwrap().terminal(),
            [0, 1]
        );
    }
}
