//! A start for large models: the policy whose columns are filled most evenly,
//!
//! $$\min_{\pi \in \Delta_\xi} \; \tfrac12 \sum_t (c_t(\pi) - 1)^2, \qquad c(\pi) = P^\top \pi .$$
//!
//! On a large model most columns can receive mass one and a few cannot. The optima of Infinity and
//! Frobenius then fill those few as far as possible and spread the excess, equally large, over all
//! others, and so does this problem, which is far better conditioned than either. It is solved by
//! accelerated projected gradient steps (Nesterov 1983), restarted when momentum turns against
//! the descent (O'Donoghue and Candès 2015): two products with $P$ per step.
//!
//! Infinity goes on from there by *levels*. If every row may drop $h$ of its mass,
//!
//! $$\varphi(h) = \min_{\pi \in \Delta_\xi,\; 0 \le w \le M(\pi),\; \sum_t w_{st} \le h} \;
//!   \tfrac12 \sum_t \Big(c_t(\pi) - \sum_s w_{st} - 1\Big)_+^2$$
//!
//! vanishes exactly when $h$ is enough (the method takes $M$ from a policy a few steps back). Its
//! residuals $y$ are prices that prove a larger $h$ to be necessary where it is not; if every slot
//! holds $h$ they prove $h \ge (\min_\pi y \cdot c(\pi) - \sum_t y_t) / \sum_s \max_{t \in s} y_t$.
//! So levels come down towards what is proven (after the level-set method of Aravkin et al. 2019).

mod momentum;

use crate::formulation::simplex;
use crate::formulation::support::Support;
use crate::model::{Kernel, Mdp, Policy};
use crate::solve::driver::Driver;
use ide3al_numerics::capped_simplex::project_capped_simplex;
use ide3al_numerics::groups::Groups;
use ide3al_numerics::parallel::{blocks, sum, update};
use momentum::MomentumIterate;

/// Steps that a start may take: a thousand, with a look after each round whether it has come to
/// rest.
const EVEN_ROUNDS: usize = 20;
const STEPS: usize = 50;

/// A good start where nothing is known: the policy, and its column sums.
pub(super) fn balanced_policy(mdp: &Mdp, xi: f64, driver: &mut Driver<'_>) -> (Vec<f64>, Vec<f64>) {
    let uniform = Policy::uniform(mdp).probabilities().to_vec();
    let mut balance = ColumnLeastSquares::new(mdp, xi, uniform);
    for _ in 0..EVEN_ROUNDS {
        if balance.advance(STEPS, driver) < 1e-7 {
            break;
        }
    }
    (balance.policy.now, balance.columns.now)
}

/// What the rows may drop, one number per slot.
struct Drops<'a> {
    support: &'a Support,
    /// Slots by column.
    slots: Groups,
    budget: f64,
    /// What there is to drop: $M$ at a policy a few steps back.
    most: Vec<f64>,
    step: f64,
    amount: MomentumIterate,
}

/// The least-squares problem, and its accelerated steps.
pub(super) struct ColumnLeastSquares<'a> {
    mdp: &'a Mdp,
    transposed: Kernel,
    xi: f64,
    /// What each column is to hold.
    target: Vec<f64>,
    step: f64,
    momentum: f64,
    pub(super) policy: MomentumIterate,
    /// $c$, less what is dropped.
    pub(super) columns: MomentumIterate,
    /// What columns are off at the extrapolated point, and $P$ times that.
    residual: Vec<f64>,
    gradient: Vec<f64>,
    value: f64,
    drops: Option<Drops<'a>>,
}

/// What a column's sum costs: both sides at first, excess alone once rows may drop mass.
fn off(sum: f64, target: f64, one_sided: bool) -> f64 {
    let off = sum - target;
    if one_sided { off.max(0.0) } else { off }
}

impl<'a> ColumnLeastSquares<'a> {
    pub(super) fn new(mdp: &'a Mdp, xi: f64, start: Vec<f64>) -> Self {
        let n = mdp.n_states();
        let mut balance = ColumnLeastSquares {
            mdp,
            transposed: mdp.kernel().transpose(),
            xi,
            target: vec![1.0; n],
            step: 1.0,
            momentum: 1.0,
            policy: MomentumIterate::at(simplex::feasible(mdp, xi, start)),
            columns: MomentumIterate::at(vec![0.0; n]),
            residual: vec![0.0; n],
            gradient: vec![0.0; mdp.n_pairs()],
            value: f64::INFINITY,
            drops: None,
        };
        // the power method comes from below, hence a margin of a tenth
        balance.step = 1.0 / (1.1 * balance.curvature()).max(1e-3);
        balance.sum_up();
        balance.forget();
        balance
    }

    /// Largest eigenvalue of $P P^\top$ on directions that keep each state's sum, by the power
    /// method from a fixed irregular vector.
    fn curvature(&mut self) -> f64 {
        let kernel = self.mdp.kernel();
        let mut v: Vec<f64> = (0..self.mdp.n_pairs())
            .map(|i| (i as f64 * 0.754_877_666_2) % 1.0)
            .collect();
        let mut estimate = 0.0;
        for _ in 0..20 {
            blocks(self.mdp.first_pair(), &mut v, |_, row| {
                let mean = row.iter().sum::<f64>() / row.len() as f64;
                row.iter_mut().for_each(|x| *x -= mean);
            });
            let size = sum(v.len(), |i| v[i] * v[i]).sqrt();
            if !(size > 0.0) {
                break;
            }
            update(&mut v, |_, x| x / size);
            kernel.arrivals(&self.transposed, &v, &mut self.residual);
            let arriving = &self.residual;
            estimate = sum(arriving.len(), |t| arriving[t] * arriving[t]);
            kernel.times(arriving, &mut v);
        }
        estimate
    }

    /// Other aims for the columns than one.
    pub(super) fn aim_at(&mut self, target: Vec<f64>) {
        self.target = target;
        self.forget();
    }

    /// From here on rows may drop mass, `budget` each and `most` in each slot.
    pub(super) fn allow_drops(&mut self, support: &'a Support, budget: f64, most: &[f64]) {
        let n = self.target.len();
        let slots = Groups::new(n, &support.columns);
        let longest = (0..n).map(|t| slots.of(t).len()).max().unwrap_or(1);
        self.target.fill(1.0);
        // the curvature of a sum of two parts is at most twice each one's own
        self.step *= 0.5;
        self.drops = Some(Drops {
            support,
            slots,
            budget,
            step: 0.5 / longest.max(1) as f64,
            most: most.to_vec(),
            amount: MomentumIterate::at(vec![0.0; support.len()]),
        });
        self.set_budget(budget, most);
    }

    /// Another level, starting without momentum.
    pub(super) fn set_budget(&mut self, budget: f64, most: &[f64]) {
        if let Some(drops) = &mut self.drops {
            drops.budget = budget;
        }
        self.limit_drops(most);
        self.forget();
    }

    /// Another limit to what slots can drop, as the policy has moved.
    pub(super) fn limit_drops(&mut self, most: &[f64]) {
        if let Some(drops) = &mut self.drops {
            drops.most.copy_from_slice(most);
            let (first, budget) = (&drops.support.offsets, drops.budget);
            blocks(first, &mut drops.amount.now, |s, row| {
                project_capped_simplex(row, &most[first[s]..first[s + 1]], budget);
            });
        }
        self.sum_up();
        self.value = self.objective();
    }

    /// Forgets the momentum.
    fn forget(&mut self) {
        if let Some(drops) = &mut self.drops {
            drops.amount.forget();
        }
        self.policy.forget();
        self.columns.forget();
        self.momentum = 1.0;
        self.value = self.objective();
    }

    /// What each slot drops.
    pub(super) fn dropped(&self) -> &[f64] {
        self.drops.as_ref().map_or(&[], |drops| &drops.amount.now)
    }

    /// Prices that the residuals of the level prove a bound with: rows, then columns.
    pub(super) fn prices(&self) -> (Vec<f64>, Vec<f64>) {
        let sums = self.columns.now.iter();
        let columns: Vec<f64> = sums.map(|c| (c - 1.0).max(0.0)).collect();
        let Some(drops) = &self.drops else {
            return (Vec::new(), columns);
        };
        let mut row: Vec<(f64, f64)> = Vec::new();
        let slots = drops.support.offsets.windows(2);
        let rows = slots.map(|w| {
            // the price of the last slot that a row with this budget would drop from
            row.clear();
            row.extend((w[0]..w[1]).filter_map(|k| {
                let price = columns[drops.support.columns[k] as usize];
                (price > 0.0).then_some((price, drops.most[k]))
            }));
            row.sort_unstable_by(|x, y| y.0.total_cmp(&x.0));
            let mut left = drops.budget;
            let last = row.iter().find(|(_, most)| {
                left -= most;
                left < 0.0
            });
            last.map_or(0.0, |(price, _)| *price)
        });
        (rows.collect(), columns)
    }

    /// The columns' sums at the policy.
    fn sum_up(&mut self) {
        let (kernel, columns) = (self.mdp.kernel(), &mut self.columns.now);
        kernel.arrivals(&self.transposed, &self.policy.now, columns);
        if let Some(drops) = &self.drops {
            update(columns, |t, c| {
                let slots = drops.slots.of(t).iter();
                c - slots.map(|k| drops.amount.now[*k as usize]).sum::<f64>()
            });
        }
    }

    fn objective(&self) -> f64 {
        let (columns, one_sided) = (&self.columns.now, self.drops.is_some());
        0.5 * sum(columns.len(), |t| {
            off(columns[t], self.target[t], one_sided).powi(2)
        })
    }

    /// Makes so many steps, fewer if the solve is to stop; returns the last one's largest change of
    /// a probability, zero where there was none.
    pub(super) fn advance(&mut self, steps: usize, driver: &mut Driver<'_>) -> f64 {
        let mut moved = 0.0;
        for _ in 0..steps {
            if driver.steps_left() == 0 || !driver.should_continue() {
                break;
            }
            driver.count(1);
            moved = self.one();
            if moved < 1e-12 {
                break;
            }
        }
        moved
    }

    /// One step; returns its largest change of a probability, or one where it was taken back.
    fn one(&mut self) -> f64 {
        let next = 0.5 * (1.0 + (1.0 + 4.0 * self.momentum * self.momentum).sqrt());
        let share = (self.momentum - 1.0) / next;
        // c is linear, so its value at the extrapolated point needs no product
        let (columns, target, one_sided) = (&self.columns, &self.target, self.drops.is_some());
        update(&mut self.residual, |t, _| {
            let sum = columns.now[t] + share * (columns.now[t] - columns.before[t]);
            off(sum, target[t], one_sided)
        });
        self.mdp.kernel().times(&self.residual, &mut self.gradient);
        let (residual, gradient, step, xi) = (&self.residual, &self.gradient, self.step, self.xi);
        self.policy.step(
            self.mdp.first_pair(),
            share,
            |i| -step * gradient[i],
            |_, row| simplex::project(row, xi),
        );
        if let Some(drops) = &mut self.drops {
            let (support, most) = (drops.support, &drops.most);
            let (first, columns) = (&support.offsets, &support.columns);
            drops.amount.step(
                first,
                share,
                |k| drops.step * residual[columns[k] as usize],
                |s, row| project_capped_simplex(row, &most[first[s]..first[s + 1]], drops.budget),
            );
        }
        std::mem::swap(&mut self.columns.now, &mut self.columns.before);
        self.sum_up();
        let value = self.objective();
        if value > self.value {
            // momentum has turned uphill: the last point again, without it
            self.momentum = 1.0;
            let shorter = if share == 0.0 { 0.5 } else { 1.0 };
            self.step *= shorter;
            if let Some(drops) = &mut self.drops {
                drops.step *= shorter;
                drops.amount.take_back();
            }
            self.policy.take_back();
            self.columns.take_back();
            return if self.step > 1e-9 { 1.0 } else { 0.0 };
        }
        self.value = value;
        self.momentum = next;
        let MomentumIterate { now, before } = &self.policy;
        let changes = now.iter().zip(before).map(|(x, y)| (x - y).abs());
        changes.fold(0.0, f64::max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domains;

    #[test]
    fn columns_of_the_excess_are_equally_full() {
        let mdp = domains::load("garnet:states=300,actions=4,branching=5,seed=3").unwrap();
        let uniform = crate::model::Policy::uniform(&mdp);
        let mut balance = ColumnLeastSquares::new(&mdp, 0.01, uniform.probabilities().to_vec());
        for _ in 0..5_000 {
            if balance.one() < 1e-12 {
                break;
            }
        }
        // the descent condition of the problem: no action of a state that could be used more
        // has a lower price than one that is used
        let residual: Vec<f64> = balance.columns.now.iter().map(|c| c - 1.0).collect();
        let mut price = vec![0.0; mdp.n_pairs()];
        mdp.kernel().times(&residual, &mut price);
        for s in 0..mdp.n_states() {
            let least = price[mdp.pairs(s)]
                .iter()
                .copied()
                .fold(f64::INFINITY, f64::min);
            for pair in mdp.pairs(s) {
                assert!(
                    balance.policy.now[pair] < 0.01 + 1e-6 || price[pair] - least < 1e-5,
                    "state {s}: {} at {}",
                    balance.policy.now[pair],
                    price[pair] - least
                );
            }
        }
    }
}
