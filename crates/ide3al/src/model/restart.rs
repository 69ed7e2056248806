//! Episodes that end at random.

use super::Mdp;
use crate::error::{Error, Result};

/// Most transitions that restarts may lead to: every row gains the whole support of the start.
const MOST: usize = 4_000_000;

impl Mdp {
    /// The same model when every step ends, with probability $\rho$, in a state of the start
    /// distribution instead:
    ///
    /// $$ P_\rho(t \mid s, a) = (1 - \rho) P(t \mid s, a) + \rho\, d_0(t) . $$
    ///
    /// Its long run is the discounted visitation from $d_0$ with discount $1 - \rho$.
    pub fn with_restart(&self, rho: f64) -> Result<Mdp> {
        let bad = |problem: String| Error::Parameter {
            name: "restart".into(),
            value: rho.to_string(),
            problem,
        };
        if !(0.0..=1.0).contains(&rho) {
            return Err(bad("it must be a probability, 0 to 1".into()));
        }
        let start: Vec<(usize, f64)> = self.start().iter().copied().enumerate().collect();
        let start: Vec<(usize, f64)> = start.into_iter().filter(|(_, p)| *p > 0.0).collect();
        let size = self.kernel().nnz() + self.n_pairs() * start.len();
        if size > MOST {
            return Err(bad(format!(
                "with a start spread over {} states this model would have {size} transitions, more than {MOST}; start in \
                 fewer states",
                start.len()
            )));
        }
        let mut mdp = Mdp::from_fn(self.n_states(), self.n_action_labels(), |s, a, row| {
            let Some(pair) = self.pairs(s).find(|k| self.actions()[*k] as usize == a) else {
                return false;
            };
            let source = self.row(pair);
            let stored = source.indices.iter().zip(source.values);
            row.extend(stored.map(|(t, p)| (*t as usize, (1.0 - rho) * p)));
            if source.spread > 0.0 {
                let each = (1.0 - rho) * source.spread / self.n_states() as f64;
                row.extend((0..self.n_states()).map(|t| (t, each)));
            }
            row.extend(start.iter().map(|(t, p)| (*t, rho * p)));
            true
        })?
        .with_start(self.start().to_vec())?;
        if let Some(times) = self.times() {
            mdp = mdp.with_times(times.to_vec())?;
        }
        mdp.rewards.clone_from(&self.rewards);
        mdp.terminal.clone_from(&self.terminal);
        if let Some(names) = self.state_names() {
            mdp = mdp.with_state_names(names.to_vec())?;
        }
        if let Some(names) = self.action_names() {
            mdp = mdp.with_action_names(names.to_vec())?;
        }
        Ok(match self.layout() {
            Some(layout) => mdp.with_layout(layout.clone()),
            None => mdp,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop() -> Mdp {
        Mdp::from_triplets(2, 2, [(0, 0, 0, 1.0), (0, 1, 1, 1.0), (1, 1, 1, 1.0)])
            .unwrap()
            .with_start_state(0)
            .unwrap()
    }

    #[test]
    fn every_step_may_end_at_the_start() {
        let mdp = hop().with_restart(0.25).unwrap();
        assert_eq!((mdp.n_pairs(), mdp.actions()), (3, &[0, 1, 1][..]));
        assert_eq!(mdp.row(1).values, [0.25, 0.75]);
        assert_eq!(mdp.row(2).values, [0.25, 0.75]);
        let always = hop().with_restart(1.0).unwrap();
        assert_eq!(always.row(2).indices, [0]);
        assert!(hop().with_restart(f64::NAN).is_err());
        assert!(hop().with_restart(1.5).is_err());
    }
}
