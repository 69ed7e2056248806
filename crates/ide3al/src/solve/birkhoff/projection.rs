//! The projection of $M$ on the doubly stochastic matrices with entries at most $\zeta$.
//!
//! It is $U_{st} = \mathrm{clip}(M_{st} + \alpha_s + \beta_t, 0, \zeta)$, summed up without storing
//! it, with the multipliers that maximise the concave, piecewise quadratic dual
//!
//! $$D(\alpha, \beta) = \min_{0 \le U \le \zeta} \tfrac12 \|U - M\|_F^2
//!   - \sum_s \alpha_s \Big(\sum_t U_{st} - 1\Big) - \sum_t \beta_t \Big(\sum_s U_{st} - 1\Big) .$$
//!
//! They are found by damped semismooth Newton steps with a search along each: with $N$ the 0/1
//! matrix of entries strictly between the bounds and $R, C$ its row and column counts, the system
//! $\begin{pmatrix} R & N \\ N^\top & C\end{pmatrix}$ is reduced to columns and solved by conjugate
//! gradients, each product $O(\text{nnz} + S)$.
//!
//! The proximal steps of Frobenius on large models maximise $D$ with the policy behind $M$
//! minimised out (`solve/large/proximal_newton`): multipliers, sums and the search are the same,
//! the direction is their own.

use super::clipped::Clipped;
use crate::formulation::support::Support;
use ide3al_numerics::conjugate_gradients::ConjugateGradients;
use ide3al_numerics::line_search::search;
use ide3al_numerics::parallel::{sum, update};

/// Looks along one direction: a safeguard, a look at least halves what is left to search or triples
/// the step.
const MOST_LOOKS: usize = 30;
/// Steps one after the other that reduce the violation by less than a hundredth: what is left of it
/// is taken for rounding.
const MOST_STUCK: usize = 60;

/// Multipliers and workspace; reusing it warm-starts the next projection.
#[derive(Debug, Clone)]
pub struct Projection<'a> {
    /// Row multipliers $\alpha$.
    pub alpha: Vec<f64>,
    /// Column multipliers $\beta$.
    pub beta: Vec<f64>,
    /// $U$ at the last multipliers that were looked at.
    pub(in crate::solve) clipped: Clipped<'a>,
    pub(in crate::solve) line: Line,
    pub(in crate::solve) gradients: ConjugateGradients,
    /// Workspace: one number per row.
    by_row: Vec<f64>,
}

/// A direction of the multipliers, and their values at its start.
#[derive(Debug, Clone)]
pub(in crate::solve) struct Line {
    pub(in crate::solve) alpha: Vec<f64>,
    pub(in crate::solve) beta: Vec<f64>,
    start_alpha: Vec<f64>,
    start_beta: Vec<f64>,
}

/// What a row or column with so many free entries is divided by in a Newton step damped by `delta`.
/// Without a free entry there is no curvature: it takes a step of order one.
pub(in crate::solve) fn damped(count: f64, delta: f64) -> f64 {
    if count < 0.5 { 1.0 } else { count + delta }
}

impl<'a> Projection<'a> {
    /// Multipliers zero.
    pub fn new(support: &'a Support, zeta: f64) -> Self {
        let n = support.offsets.len() - 1;
        let zeros = || vec![0.0; n];
        Projection {
            alpha: zeros(),
            beta: zeros(),
            clipped: Clipped::new(support, zeta),
            line: Line {
                alpha: zeros(),
                beta: zeros(),
                start_alpha: zeros(),
                start_beta: zeros(),
            },
            gradients: ConjugateGradients::new(n),
            by_row: zeros(),
        }
    }

    /// Takes multipliers $(\alpha, \beta)$, if that is what is given: warm starts may come from
    /// elsewhere.
    pub(in crate::solve) fn set_multipliers(&mut self, given: &[f64]) {
        let n = self.alpha.len();
        if given.len() == 2 * n {
            self.alpha.copy_from_slice(&given[..n]);
            self.beta.copy_from_slice(&given[n..]);
        }
    }

    /// $U$ at the current multipliers, for the $M$ with `mass` on the slots and the row's `share`
    /// added in every column.
    pub(in crate::solve) fn evaluate(&mut self, mass: &[f64], share: &[f64]) {
        self.clipped.evaluate(&self.alpha, &self.beta, mass, share);
    }

    /// Projects $M$, starting from the multipliers at hand, until no row or column sum is off by
    /// more than `tolerance`, in at most so many steps and as long as it may `go_on`, which is
    /// asked at every product. Returns the violation reached.
    pub(super) fn project(
        &mut self,
        mass: &[f64],
        share: &[f64],
        (tolerance, most): (f64, usize),
        go_on: &mut dyn FnMut() -> bool,
    ) -> f64 {
        take_out_drift(&mut self.alpha, &mut self.beta);
        self.rein_in();
        self.evaluate(mass, share);
        let mut violation = self.clipped.violation();
        // small beside a count of one free entry
        let mut damping = 1e-3f64;
        let mut stuck = 0;
        for _ in 0..most {
            if violation <= tolerance || stuck > MOST_STUCK || !violation.is_finite() || !go_on() {
                break;
            }
            // directions become more accurate as the violation falls: the last steps converge
            // faster than linearly
            let forcing = (0.1 * violation).clamp(1e-9, 0.1);
            self.direction(damping.min(violation), forcing, go_on);
            let size = self.search(MOST_LOOKS, &mut *go_on, |this| this.evaluate(mass, share));
            if self.rein_in() {
                self.evaluate(mass, share);
            }
            // too long a step means that the model misses entries about to become free
            if size < 0.3 {
                damping = (10.0 * damping).min(1e8);
            } else if size >= 0.9 {
                damping = (0.2 * damping).max(1e-13);
            }
            let next = self.clipped.violation();
            stuck = if next < 0.99 * violation {
                0
            } else {
                stuck + 1
            };
            violation = next;
        }
        violation
    }

    /// Cuts multipliers off where they have run away, and says whether any had. At a projection an
    /// entry strictly between its bounds has $|\alpha_s + \beta_t| \le 1$, and a chain of such
    /// entries through all rows and columns adds up to $2S$ at most; but along rows that are cut
    /// everywhere a step meets no curvature, and multipliers of 1e16 leave no digit to their sums.
    fn rein_in(&mut self) -> bool {
        let most = 1e3 + 4.0 * self.alpha.len() as f64;
        let mut cut = false;
        for x in self.alpha.iter_mut().chain(&mut self.beta) {
            if !(x.abs() <= most) {
                *x = if x.is_nan() {
                    0.0
                } else {
                    x.clamp(-most, most)
                };
                cut = true;
            }
        }
        cut
    }

    /// Newton's direction, from
    /// $(C + \delta - N^\top (R + \delta)^{-1} N)\, d\beta = 1 - \text{columns} - N^\top (R +
    /// \delta)^{-1} (1 - \text{rows})$.
    fn direction(&mut self, delta: f64, tolerance: f64, go_on: &mut dyn FnMut() -> bool) {
        let Projection {
            clipped,
            line,
            gradients,
            by_row,
            ..
        } = self;
        let rows = &clipped.rows;
        update(by_row, |s, _| {
            (1.0 - rows.sums[s]) / damped(rows.counts[s], delta)
        });
        clipped.transpose_times(by_row, &mut gradients.residual);
        let columns = &clipped.columns;
        update(&mut gradients.residual, |t, x| 1.0 - columns.sums[t] - x);
        update(&mut gradients.diagonal, |t, _| {
            damped(columns.counts[t], delta)
        });
        let limits = (tolerance, 4 * by_row.len() + 50);
        gradients.solve(&mut line.beta, limits, |v, out| {
            clipped.times(v, by_row);
            let counts = &clipped.rows.counts;
            update(by_row, |s, x| x / damped(counts[s], delta));
            clipped.transpose_times(by_row, out);
            let counts = &clipped.columns.counts;
            update(out, |t, x| damped(counts[t], delta) * v[t] - x);
            go_on()
        });
        clipped.times(&line.beta, by_row);
        let rows = &clipped.rows;
        update(&mut line.alpha, |s, _| {
            (1.0 - rows.sums[s] - by_row[s]) / damped(rows.counts[s], delta)
        });
        take_out_drift(&mut line.alpha, &mut line.beta);
    }

    /// $\nabla D$ along the direction.
    fn slope(&self) -> f64 {
        let (line, rows, columns) = (&self.line, &self.clipped.rows, &self.clipped.columns);
        sum(line.alpha.len(), |i| {
            (1.0 - rows.sums[i]) * line.alpha[i] + (1.0 - columns.sums[i]) * line.beta[i]
        })
    }

    /// Moves along the direction to where little of its slope is left, calling `evaluate` wherever
    /// it looks, as long as it is to `go_on`. Returns how far it went: nowhere if the direction
    /// does not ascend.
    pub(in crate::solve) fn search(
        &mut self,
        most: usize,
        mut go_on: impl FnMut() -> bool,
        mut evaluate: impl FnMut(&mut Self),
    ) -> f64 {
        let slope = self.slope();
        if !(slope > 0.0) {
            return 0.0;
        }
        self.line.start_alpha.copy_from_slice(&self.alpha);
        self.line.start_beta.copy_from_slice(&self.beta);
        search(slope, most, |size| {
            if !go_on() {
                return None;
            }
            let line = &self.line;
            update(&mut self.alpha, |s, _| {
                line.start_alpha[s] + size * line.alpha[s]
            });
            update(&mut self.beta, |t, _| {
                line.start_beta[t] + size * line.beta[t]
            });
            evaluate(self);
            Some(self.slope())
        })
    }
}

/// Adding a number to $\beta$ and taking it from $\alpha$ changes nothing: unless that is taken out
/// the multipliers drift along it, and their digits go.
pub(in crate::solve) fn take_out_drift(alpha: &mut [f64], beta: &mut [f64]) {
    let drift = beta.iter().sum::<f64>() / beta.len() as f64;
    beta.iter_mut().for_each(|x| *x -= drift);
    alpha.iter_mut().for_each(|x| *x += drift);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Mdp;
    use crate::solve::birkhoff::distance::Evaluator;

    #[test]
    fn a_tight_cap_is_met() {
        // a chain, half of it uniform, whose target may hold 0.1115 per entry and needs 0.1
        let successors: [&[usize]; 10] = [
            &[],
            &[4, 6],
            &[0, 1],
            &[4, 8],
            &[0, 3],
            &[4, 9],
            &[5, 6],
            &[3, 9],
            &[1, 9],
            &[],
        ];
        let spread = [1.0, 0.3, 0.0, 0.3, 0.0, 0.3, 0.0, 0.0, 0.0, 1.0];
        let (mut offsets, mut indices, mut values) = (vec![0], Vec::new(), Vec::new());
        for (list, spread) in successors.iter().zip(spread) {
            for t in *list {
                indices.push(*t as u32);
                values.push(0.5 * (1.0 - spread));
            }
            offsets.push(indices.len());
        }
        let first: Vec<usize> = (0..=10).collect();
        let mdp =
            Mdp::from_rows_and_spread(10, &first, &[0; 10], &offsets, &indices, &values, &spread)
                .unwrap();
        let support = Support::new(&mdp);
        let mut evaluator = Evaluator::new(&mdp, &support, 0.111_500_006_865_201);
        let squared = evaluator.project(&[1.0; 10], 1e-12, 200);
        let found = evaluator.certify(0.0);
        assert!(found.violation <= 1e-12, "{}", found.violation);
        assert!((squared.sqrt() - 1.558_076_963_09).abs() < 1e-9);
        assert!(found.objective - found.bound < 1e-9);
    }
}
