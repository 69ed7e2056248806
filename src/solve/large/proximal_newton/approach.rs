//! The way to the neighbourhood of the optimum on large models: Frobenius seen as a function of the
//! column sums.
//!
//! Where $U$ is strictly between its bounds it follows $M(\pi)$, so that the distance depends on $\pi$
//! only through the sums $c(\pi)$ of the columns, and on those nearly as if each were mended on its
//! own, the excess of a column being taken equally from its $n_t$ free entries. Around $\pi$
//!
//! $$\tfrac12 \mathrm{dist}^2(\pi + d) \approx \tfrac12 \mathrm{dist}^2(\pi) + \nabla \cdot d
//!   + \tfrac12 \sum_t w_t (P^\top d)_t^2 + \tfrac12 \sum_r q_r d_r^2, \qquad w_t \approx 1 / n_t,$$
//!
//! with $q$ for the entries that $U$ cuts off and that do not follow. Minimising that takes two
//! products with $P$ per step ([`even_columns`](crate::solve::large::even_columns)) instead of a projection. Where
//! entries are cut or freed on the way, a column answers more stiffly than $1 / n_t$: $w_t$ is
//! then what the last two projections show, change of multiplier by change of sum. A few such
//! models in turn settle all but the flattest directions, which are left to the proximal steps.

use super::Judge;
use crate::model::Mdp;
use crate::solve::driver::Driver;
use crate::solve::large::even_columns::Balance;

/// States from which on it pays.
pub(super) const FEWEST: usize = 2_000;
/// Models one after the other,
const MOST: usize = 30;
/// and steps on each.
const STEPS: usize = 150;
/// Models without a clearly smaller gap before leaving it at that, with a bound that says something and without.
const PATIENCE: usize = 2;
const PATIENCE_UNPROVEN: usize = 4;
/// What remains of an observed stiffness at the next model.
const MEMORY: f64 = 0.7;
/// Stiffness below so many times $1 / n_t$ is not worth keeping.
const CLEARLY: f64 = 2.0;
/// Changes of a column's sum below this, or this share of the largest, say nothing about its
/// stiffness.
const TELLING: f64 = 1e-5;
const TELLING_SHARE: f64 = 1e-3;
/// Cut entries count so many times: others will be cut on the way. What remains of the excess over one at the next model, as long as all goes well.
const CAUTION: f64 = 3.0;
const BOLDER: f64 = 0.5;

/// The model's weights and what they are made from.
struct Stiffness {
    weight: Vec<f64>,
    observed: Vec<f64>,
    /// $\beta$ and $c$ at the last model, if there was one.
    last: Option<(Vec<f64>, Vec<f64>)>,
}

impl Stiffness {
    fn new(n: usize) -> Self {
        Stiffness {
            weight: vec![0.0; n],
            observed: vec![0.0; n],
            last: None,
        }
    }

    /// Takes in the projection at hand: its multipliers, its free entries, the sums they belong to.
    fn update(&mut self, beta: &[f64], counts: &[f64], columns: &[f64]) {
        let n = beta.len();
        match &mut self.last {
            None => self.last = Some((beta.to_vec(), columns.to_vec())),
            Some((last_beta, last_columns)) => {
                // a constant added to all multipliers means nothing
                let shift = beta.iter().sum::<f64>() - last_beta.iter().sum::<f64>();
                let shift = shift / n as f64;
                let moves = columns.iter().zip(last_columns.iter());
                let most = moves.fold(0.0, |most, (x, y)| f64::max(most, (x - y).abs()));
                for t in 0..n {
                    let moved = columns[t] - last_columns[t];
                    self.observed[t] *= MEMORY;
                    if moved.abs() > f64::max(TELLING, TELLING_SHARE * most) {
                        let shown = (last_beta[t] + shift - beta[t]) / moved;
                        if shown > CLEARLY / counts[t].max(1.0) {
                            // not more than an entry that is cut
                            self.observed[t] = self.observed[t].max(shown.min(1.0));
                        }
                    }
                }
                last_beta.copy_from_slice(beta);
                last_columns.copy_from_slice(columns);
            }
        }
        for t in 0..n {
            self.weight[t] = (1.0 / counts[t].max(1.0)).max(self.observed[t]);
        }
    }
}

/// The models in turn.
pub(super) struct Approach<'a> {
    balance: Balance<'a>,
    stiffness: Stiffness,
    curvature: Vec<f64>,
    /// How often cut entries count now.
    caution: f64,
    least: f64,
    waited: usize,
    models: usize,
}

impl<'a> Approach<'a> {
    pub(super) fn new(mdp: &'a Mdp, xi: f64, policy: Vec<f64>) -> Self {
        Approach {
            balance: Balance::new(mdp, xi, policy),
            stiffness: Stiffness::new(mdp.n_states()),
            curvature: vec![0.0; mdp.n_pairs()],
            caution: CAUTION,
            least: f64::INFINITY,
            waited: 0,
            models: 0,
        }
    }

    /// One more model, as long as the gap falls; what was found is offered to the driver.
    pub(super) fn go_on(&mut self, judge: &mut Judge<'_>, driver: &mut Driver<'_>) -> bool {
        let found = judge.judge(&self.balance.policy, f64::INFINITY, driver);
        self.caution = if found.objective < driver.best().objective {
            1.0 + BOLDER * (self.caution - 1.0)
        } else {
            CAUTION
        };
        let done = driver.offer(found, "proximal Newton");
        let (objective, bound) = (driver.best().objective, driver.best().bound);
        let gap = (objective - bound).abs();
        if gap < 0.8 * self.least {
            (self.least, self.waited) = (gap, 0);
        } else {
            self.waited += 1;
        }
        self.models += 1;
        let patience = if bound > 0.0 {
            PATIENCE
        } else {
            PATIENCE_UNPROVEN
        };
        if done || self.waited >= patience || self.models >= MOST {
            return false;
        }
        judge.descent.iter_mut().for_each(|x| *x = -*x);
        judge.evaluator.cut_curvature(&mut self.curvature);
        self.curvature.iter_mut().for_each(|x| *x *= self.caution);
        let projection = &judge.evaluator.projection;
        self.stiffness.update(
            &projection.beta,
            projection.column_counts(),
            &self.balance.columns,
        );
        self.balance
            .model(&judge.descent, &self.stiffness.weight, &self.curvature);
        self.balance.advance(STEPS, driver);
        true
    }
}
