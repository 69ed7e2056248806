//! Frobenius: the distance of a policy's chain from $B_\zeta$, and the bound that its own residual
//! proves.

use super::projection::Projection;
use crate::formulation::simplex;
use crate::formulation::support::Support;
use crate::model::Mdp;
use crate::solve::driver::Driver;

/// Products that a projection may still take once the solve is to stop.
const GRACE: usize = 100;

/// Value of a policy and the bound its own residual proves.
#[derive(Debug, Clone)]
pub struct Evaluation {
    /// $\|U - M\|_F$.
    pub objective: f64,
    /// A proven lower bound of the optimum.
    pub bound: f64,
    /// Largest violation of a row or column sum by $U$.
    pub violation: f64,
}

/// Evaluates policies of one model; holds the workspace and the warm start.
#[derive(Debug, Clone)]
pub struct Evaluator<'a> {
    mdp: &'a Mdp,
    /// Pattern of $M(\pi)$.
    pub support: &'a Support,
    /// Multipliers of the last projection.
    pub projection: Projection<'a>,
    /// What each row of $M$ has in every column beside the slots.
    share: Vec<f64>,
    /// On the slots $M$ while it is projected, then $G = U - M$.
    residual: Vec<f64>,
    /// Over all entries $\|G\|_F^2$ and a bound of $\min_{U \in B_\zeta} \langle G, U\rangle$.
    squared: f64,
    least_product: f64,
    violation: f64,
}

impl<'a> Evaluator<'a> {
    /// With multipliers zero.
    pub fn new(mdp: &'a Mdp, support: &'a Support, zeta: f64) -> Self {
        Evaluator {
            mdp,
            support,
            projection: Projection::new(support, zeta),
            share: vec![0.0; mdp.n_states()],
            residual: vec![0.0; support.len()],
            squared: 0.0,
            least_product: 0.0,
            violation: f64::INFINITY,
        }
    }

    /// Projects $M(\text{policy})$ and keeps the residual $G = U - M$. Returns
    /// $\|G\|_F^2$. `policy` may lie outside $\Delta_\xi$ (an extrapolated point).
    pub fn project(&mut self, policy: &[f64], tolerance: f64, steps: usize) -> f64 {
        self.project_while(policy, (tolerance, steps), &mut || true)
    }

    /// The same as long as the solve goes on, and a little longer: what was found is to have a
    /// value, if a rough one.
    pub(in crate::solve) fn project_in_time(
        &mut self,
        policy: &[f64],
        limits: (f64, usize),
        driver: &mut Driver<'_>,
    ) -> f64 {
        let mut left = GRACE;
        self.project_while(policy, limits, &mut || {
            driver.should_continue() || {
                left = left.saturating_sub(1);
                left > 0
            }
        })
    }

    /// The same as long as it may `go_on`, which is asked at every product.
    fn project_while(
        &mut self,
        policy: &[f64],
        limits: (f64, usize),
        go_on: &mut dyn FnMut() -> bool,
    ) -> f64 {
        let (mass, share) = (&mut self.residual, &mut self.share);
        self.support.assemble(self.mdp, policy, mass, share);
        let n = share.len() as f64;
        share.iter_mut().for_each(|x| *x /= n);
        self.violation = self.projection.project(mass, share, limits, go_on);
        self.measure();
        self.squared
    }

    /// Finds $G = U - M$ on the slots, its norm, and the bound
    /// $\min_{U \in B_\zeta} \langle G, U\rangle \ge \sum\alpha + \sum\beta + \zeta \sum_{st}
    /// \min(G_{st} - \alpha_s - \beta_t, 0)$. Each row is summed up as if it had no slot; then its
    /// slots are put right.
    fn measure(&mut self) {
        let Projection {
            alpha,
            beta,
            clipped,
            ..
        } = &self.projection;
        let (support, n, zeta) = (self.support, alpha.len(), clipped.zeta);
        let sorted = &clipped.columns.sorted;
        let squares = sorted.squares();
        self.squared = 0.0;
        self.least_product = alpha.iter().sum::<f64>() + beta.iter().sum::<f64>();
        for s in 0..n {
            let (own, offset, shifted) = (alpha[s], self.share[s], clipped.shifted[s]);
            let (low, high) = clipped.rows.ranges[s];
            let (low, high) = (low as usize, high as usize);
            let mut row = sorted.squares_shifted(&squares, own, (low, high))
                + offset * offset * low as f64
                + (zeta - offset) * (zeta - offset) * (n - high) as f64;
            // without a slot G - alpha - beta is what is cut off: negative above zeta
            let mut excess = sorted.sum_shifted(shifted - zeta, (high, n));
            for k in support.row(s) {
                let (m, b) = (self.residual[k], beta[support.columns[k] as usize]);
                let plain = (shifted + b).clamp(0.0, zeta) - offset;
                let g = (m + shifted + b).clamp(0.0, zeta) - offset - m;
                self.residual[k] = g;
                row += g * g - plain * plain;
                excess += (own + b - g).max(0.0) - (shifted + b - zeta).max(0.0);
            }
            self.squared += row;
            self.least_product -= zeta * excess;
        }
        // a broken projection must not pass for a perfect one
        self.squared = if self.squared.is_nan() {
            f64::INFINITY
        } else {
            self.squared.max(0.0)
        };
    }

    /// The multipliers $(\alpha, \beta)$ of the last projection.
    pub fn multipliers(&self) -> Vec<f64> {
        [&self.projection.alpha[..], &self.projection.beta].concat()
    }

    /// $\max_{p \in \Delta_\xi} p \cdot (P G^\top)_s$.
    fn most_in(&self, s: usize, xi: f64) -> f64 {
        let (mdp, kernel) = (self.mdp, self.mdp.kernel());
        let total = self.projection.clipped.rows.sums[s] - 1.0;
        let products = mdp.pairs(s).map(|pair| {
            let mut sum = kernel.spread_of(pair) * total / mdp.n_states() as f64;
            for k in kernel.offsets()[pair]..kernel.offsets()[pair + 1] {
                sum += kernel.values()[k] * self.residual[self.support.slots[k] as usize];
            }
            sum
        });
        simplex::support(products, xi)
    }

    /// Objective and bound at the last projected policy.
    pub fn certify(&self, xi: f64) -> Evaluation {
        let norm = self.squared.sqrt();
        let states = 0..self.mdp.n_states();
        let most: f64 = states.map(|s| self.most_in(s, xi)).sum();
        // a tiny distance must not turn rounding into a bound
        let bound = if norm > 1e-12 && norm.is_finite() {
            ((self.least_product - most) / norm).max(0.0)
        } else {
            0.0
        };
        let clipped = &self.projection.clipped;
        Evaluation {
            objective: norm + completion_cost(self.share.len(), clipped.zeta, self.violation),
            bound,
            violation: self.violation,
        }
    }
}

/// How far in the Frobenius norm a $U$ with entries between 0 and $\zeta$ lies from $B_\zeta$ at
/// most, if no row or column sum is off by more than $v$.
///
/// With row and column deficits $r$ and $c$ and $D = \sum r = \sum c$, adding
/// $r_s / n + c_t / n - D / n^2$ puts all sums right, moves $U$ by at most $\sqrt 2 v$ in norm and
/// each entry by at most $3 v / n$. What is then below 0 or above $\zeta$ goes by mixing with the
/// uniform matrix, which lies $1/n$ above the one and $\zeta - 1/n = \delta / n$ below the other: a
/// share of $3 v / (\min(1, \delta) + 3 v)$ of the distance to it. That distance is at most
/// $\sqrt{\zeta n (1 + v)}$, as entries are at most $\zeta$, and at most
/// $\delta + \sqrt n (\delta + v)$, as what entries lack of $\zeta$ adds up to $\delta + v$ per
/// row.
fn completion_cost(n: usize, zeta: f64, v: f64) -> f64 {
    if !(v > 0.0) {
        return if v == 0.0 { 0.0 } else { f64::INFINITY };
    }
    let (n, root) = (n as f64, (n as f64).sqrt());
    let delta = (n * zeta - 1.0).max(0.0);
    let moved = std::f64::consts::SQRT_2 * v;
    let share = 3.0 * v / (delta.min(1.0) + 3.0 * v);
    let far = (zeta * n * (1.0 + v))
        .sqrt()
        .min(delta + root * (delta + v));
    moved + share * (far + moved)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domains;

    /// The distance of a matrix from $B_\zeta$ by Dykstra's alternating projections: on the right
    /// sums, in closed form, and on the box. Good to about 1e-6 where caps are tight.
    fn distance(m: &[f64], n: usize, zeta: f64) -> f64 {
        let (mut u, mut correction) = (m.to_vec(), vec![0.0; n * n]);
        for _ in 0..4_000 {
            let row: Vec<f64> = u.chunks(n).map(|r| 1.0 - r.iter().sum::<f64>()).collect();
            let column = |t: usize| 1.0 - (0..n).map(|s| u[s * n + t]).sum::<f64>();
            let column: Vec<f64> = (0..n).map(column).collect();
            let all: f64 = row.iter().sum();
            for (k, x) in u.iter_mut().enumerate() {
                *x += (row[k / n] + column[k % n]) / n as f64 - all / (n * n) as f64;
                let plain = *x + correction[k];
                *x = plain.clamp(0.0, zeta);
                correction[k] = plain - *x;
            }
        }
        let squares = u.iter().zip(m).map(|(u, m)| (u - m) * (u - m));
        squares.sum::<f64>().sqrt()
    }

    /// However early a projection is stopped, the value it gives a policy is no less than the
    /// policy's distance, and the bound no more; caps down to where only the uniform matrix is
    /// left.
    #[test]
    fn unfinished_projections_never_flatter() {
        let (n, mut unfinished) = (8, 0);
        for seed in 0..6 {
            let spec = format!("garnet:states={n},actions=2,branching=3,seed={seed}");
            let mdp = domains::load(&spec).unwrap();
            let policy = crate::model::Policy::uniform(&mdp);
            let mut m = vec![0.0; n * n];
            for s in 0..n {
                for (t, x) in mdp.mix(policy.probabilities()).row(s).entries() {
                    m[s * n + t] += x;
                }
            }
            for zeta in [1.0, 0.4, 0.13, 0.125_1, 0.125_000_1, 0.125] {
                let exact = distance(&m, n, zeta);
                let support = Support::new(&mdp);
                for steps in [0, 1, 2, 3, 5, 100] {
                    let mut evaluator = Evaluator::new(&mdp, &support, zeta);
                    evaluator.project(policy.probabilities(), 1e-12, steps);
                    let found = evaluator.certify(0.0);
                    unfinished += usize::from(found.violation > 1e-3);
                    assert!(
                        found.objective >= exact - 1e-6,
                        "{spec} zeta {zeta}, {steps} steps: {} below {exact}",
                        found.objective
                    );
                    assert!(found.bound <= exact + 1e-6, "{spec} zeta {zeta}");
                    if steps == 100 {
                        assert!(found.objective <= exact + 1e-5, "{spec} zeta {zeta}");
                    }
                }
            }
        }
        assert!(unfinished > 50, "{unfinished}");
    }

    /// Multipliers in the thousands, as on long chains with a tight cap, cost no digits.
    #[test]
    fn large_multipliers_keep_the_objective() {
        let n = 400;
        let mdp =
            domains::load(&format!("garnet:states={n},actions=2,branching=2,seed=1")).unwrap();
        let support = Support::new(&mdp);
        let policy = crate::model::Policy::uniform(&mdp);
        let zeta = 0.3;
        let mut evaluator = Evaluator::new(&mdp, &support, zeta);
        let irregular = |i: usize| (i as f64 * 0.618_033_988_75).fract();
        let ramp = |i: usize| 5.0 * i as f64 + 0.2 * irregular(i);
        let alpha: Vec<f64> = (0..n).map(|s| 0.05 - ramp(s)).collect();
        let beta: Vec<f64> = (0..n).map(|t| ramp(t) + 0.1 * irregular(t + n)).collect();
        evaluator
            .projection
            .set_multipliers(&[&alpha[..], &beta].concat());
        // no step: only what lies at these multipliers is summed up
        let drift = beta.iter().sum::<f64>() / n as f64;
        let squared = evaluator.project(policy.probabilities(), 0.0, 0);
        let (mut mass, mut share) = (vec![0.0; support.len()], vec![0.0; n]);
        support.assemble(&mdp, policy.probabilities(), &mut mass, &mut share);
        let mut expected = 0.0;
        for s in 0..n {
            let mut m = vec![0.0; n];
            for k in support.row(s) {
                m[support.columns[k] as usize] = mass[k];
            }
            for t in 0..n {
                let x = (alpha[s] + drift) + (beta[t] - drift);
                let g = (m[t] + x).clamp(0.0, zeta) - m[t];
                expected += g * g;
            }
        }
        assert!(
            (squared - expected).abs() < 1e-11 * expected,
            "{squared} {expected}"
        );
    }
}
