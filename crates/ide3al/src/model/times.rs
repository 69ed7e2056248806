//! How long steps take: travel times on the pairs of a model.

use super::{Kernel, Mdp};
use crate::error::{Error, Result};

impl Mdp {
    /// Sets how long each state-action pair takes: positive numbers, one per pair.
    pub fn with_times(mut self, times: Vec<f64>) -> Result<Self> {
        if times.len() != self.n_pairs() {
            return Err(Error::Size {
                what: "travel times".into(),
                expected: format!("{}, one per state-action pair", self.n_pairs()),
                found: times.len().to_string(),
            });
        }
        for state in 0..self.n_states() {
            for pair in self.pairs(state) {
                let time = times[pair];
                if !(time > 0.0 && time.is_finite()) {
                    let action = self.actions()[pair];
                    return Err(Error::Parameter {
                        name: "travel time".into(),
                        value: time.to_string(),
                        problem: format!(
                            "state {}, action {action}: a positive number is needed",
                            self.state_name(state)
                        ),
                    });
                }
            }
        }
        self.times = Some(times);
        Ok(self)
    }

    /// How long each pair takes, if that was said; otherwise every step takes one.
    pub fn times(&self) -> Option<&[f64]> {
        self.times.as_deref()
    }

    /// The model by the clock: its occupancies are shares of *time* instead of shares of steps.
    ///
    /// Let $\omega$ be visits per unit of time, $\sum_{s,a} \omega(s,a)\, w(s,a) = 1$ with the
    /// travel times $w$, and $\theta = \omega w$ the shares of time. The flow through a state,
    /// $\sum_a \omega(t,a) = \sum_{s,a} \omega(s,a) P(t|s,a)$, is in $\theta$ the stationarity of
    ///
    /// $$\tilde P(\cdot|s,a) = \Big(1 - \frac{\eta}{w(s,a)}\Big)\,\delta_s + \frac{\eta}{w(s,a)}\, P(\cdot|s,a),
    ///   \qquad \eta = \min w,$$
    ///
    /// (Schweitzer's transformation), so that everything that is solved and proven of occupancies
    /// holds of shares of time. A policy $\tilde\pi$ of this model says how the time of a state is
    /// shared among its actions; a traveller who chooses once per visit chooses by
    /// [`choices`](Self::choices).
    #[must_use]
    pub fn by_the_clock(&self) -> Mdp {
        let Some(times) = &self.times else {
            return self.clone();
        };
        let tick = times.iter().copied().fold(f64::INFINITY, f64::min);
        let kernel = self.kernel();
        let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        let mut spread = kernel.spread().to_vec();
        for state in 0..self.n_states() {
            for pair in self.pairs(state) {
                let moves = tick / times[pair];
                let mut stays = 1.0 - moves;
                let here = state as u32;
                for (&t, &p) in kernel.row(pair).indices.iter().zip(kernel.row(pair).values) {
                    if t >= here && stays > 0.0 {
                        let own = if t == here { moves * p } else { 0.0 };
                        indices.push(here);
                        values.push(stays + own);
                        stays = 0.0;
                        if t == here {
                            continue;
                        }
                    }
                    indices.push(t);
                    values.push(moves * p);
                }
                if stays > 0.0 {
                    indices.push(here);
                    values.push(stays);
                }
                offsets.push(indices.len());
                if let Some(share) = spread.get_mut(pair) {
                    *share *= moves;
                }
            }
        }
        let mut model = self.clone();
        model.times = None;
        model.kernel = Kernel::from_raw(self.n_states(), offsets, indices, values, spread);
        model
    }

    /// The policy to choose by, once per visit, that shares the time of every state as a policy of
    /// the model [by the clock](Self::by_the_clock) does:
    /// $\pi(a|s) \propto \tilde\pi(a|s) / w(s,a)$.
    pub fn choices(&self, by_the_clock: &[f64]) -> Vec<f64> {
        let mut choices = by_the_clock.to_vec();
        if let Some(times) = &self.times {
            for state in 0..self.n_states() {
                let pairs = self.pairs(state);
                let mut sum = 0.0;
                for pair in pairs.clone() {
                    choices[pair] /= times[pair];
                    sum += choices[pair];
                }
                choices[pairs].iter_mut().for_each(|p| *p /= sum);
            }
        }
        choices
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn triangle() -> Mdp {
        // from each of three places to the two others
        let mdp = Mdp::from_fn(3, 3, |s, a, next| {
            next.push((a, 1.0));
            s != a
        })
        .unwrap();
        mdp.with_times(vec![2.0, 5.0, 2.0, 3.0, 5.0, 3.0]).unwrap()
    }

    #[test]
    fn shares_of_time_are_stationary_by_the_clock() {
        let mdp = triangle();
        let choices = [0.3, 0.7, 0.6, 0.4, 0.5, 0.5];
        // stationary visits of the walk, by power iteration
        let mut d = [1.0 / 3.0; 3];
        for _ in 0..2000 {
            let mut next = [0.0; 3];
            for s in 0..3 {
                for pair in mdp.pairs(s) {
                    next[mdp.actions()[pair] as usize] += d[s] * choices[pair];
                }
            }
            d = next;
        }
        let times = mdp.times().unwrap();
        let mut theta: Vec<f64> = Vec::new();
        for s in 0..3 {
            theta.extend(mdp.pairs(s).map(|pair| d[s] * choices[pair] * times[pair]));
        }
        let clock = mdp.by_the_clock();
        let mut arrived = vec![0.0; 3];
        clock.kernel().transpose_times(&theta, &mut arrived);
        for s in 0..3 {
            let here: f64 = theta[clock.pairs(s)].iter().sum();
            assert!((here - arrived[s]).abs() < 1e-12, "{here} {}", arrived[s]);
            let row = &theta[clock.pairs(s)];
            let shares: Vec<f64> = row.iter().map(|x| x / here).collect();
            let mut all = vec![0.5; 6];
            all[clock.pairs(s)].copy_from_slice(&shares);
            for pair in clock.pairs(s) {
                assert!((mdp.choices(&all)[pair] - choices[pair]).abs() < 1e-12);
            }
        }
        for pair in 0..clock.n_pairs() {
            let row = clock.row(pair);
            assert!(row.indices.is_sorted());
            assert!((row.values.iter().sum::<f64>() - 1.0).abs() < 1e-15);
        }
    }

    #[test]
    fn times_must_be_positive_and_one_per_pair() {
        let bad = |times: Vec<f64>| triangle().with_times(times).unwrap_err().to_string();
        assert!(bad(vec![1.0; 5]).contains("one per state-action pair"));
        for time in [0.0, -2.0, f64::NAN, f64::INFINITY] {
            let mut times = vec![1.0; 6];
            times[3] = time;
            let message = bad(times);
            assert!(message.contains("state 1, action 2"), "{message}");
        }
    }
}
