//! Newton's direction for the dual: a system in $d\beta$, solved by conjugate gradients whose every product costs one
//! pass over $P$ and one over its transpose.

use super::super::packing::{ByColumn, Sorted, block, each_block, each_row};
use super::super::row::Shared;
use super::{Newton, System};
use crate::linalg::parallel::{sum, update};
use crate::solve::driver::Driver;

/// What one row's products take on the stack; states with more actions allocate.
const FEW_ACTIONS: usize = 64;
/// Most conjugate gradient iterations for one Newton step.
const MOST_CONJUGATE: usize = 500;

impl System<'_> {
    /// Everything the Newton system needs at the current point. `delta` regularises.
    fn linearise(&mut self, delta: f64) {
        let (mdp, support, alpha, centre) = (self.mdp, self.support, &self.alpha, &self.centre);
        let model = (mdp, support, &self.problem);
        let shared = Shared::new(model, self.weight, &self.beta, &self.columns);
        let n = mdp.n_states();
        let newton = &mut self.newton;
        let (policy, offsets) = (&self.policy, &newton.inverse_offsets);
        each_row(
            (&mut newton.inverses[..], |s| offsets[s]),
            (&mut newton.slot_diagonal[..], |s| support.offsets[s]),
            &mut newton.heights,
            &mut self.work,
            |s, inverse_and_lift, diagonal, height, work| {
                let pairs = mdp.pairs(s);
                let p = &policy[pairs.clone()];
                work.load(&shared, s);
                work.revisit(&shared, alpha[s], &centre[pairs.clone()], p);
                let (inverse, lift) = inverse_and_lift.split_at_mut(p.len() * p.len());
                let found = work.derivative(&shared, p, inverse, lift, diagonal);
                // a row without a free entry has no curvature: it takes a step of order one
                *height = if found < 0.5 { 1.0 } else { found + delta };
            },
        );
        for s in 0..n {
            let m = mdp.n_actions(s);
            let lift = offsets[s] + m * m;
            newton.lift[mdp.pairs(s)].copy_from_slice(&newton.inverses[lift..lift + m]);
        }
        let kernel = mdp.kernel();
        let slots = &self.slots;
        update(&mut newton.masked, |e, _| {
            if slots[support.slots[e] as usize].free {
                kernel.values()[e]
            } else {
                0.0
            }
        });
        update(&mut newton.correction, |k, _| {
            f64::from(u8::from(slots[k].free)) - f64::from(u8::from(slots[k].plain))
        });
        let by_column = &self.by_column;
        let (masked, correction) = (&newton.masked, &newton.correction);
        update(&mut newton.masked_by_column, |j, _| {
            masked[by_column.entry[j] as usize]
        });
        update(&mut newton.correction_by_column, |j, _| {
            correction[by_column.slot[j] as usize]
        });
        let ranges = &newton.ranges;
        let correction = &newton.correction_by_column;
        update(&mut newton.counts, |t, _| {
            let outside = f64::from(ranges[t].1 - ranges[t].0);
            outside
                + correction[by_column.slot_offsets[t]..by_column.slot_offsets[t + 1]]
                    .iter()
                    .sum::<f64>()
        });
        // diagonal: counts + slots' own part - (1 + lift)^2 / height where free
        let (lift, heights) = (&newton.lift, &newton.heights);
        let shares = |s: usize| -> f64 {
            if !kernel.has_spread() {
                return 0.0;
            }
            let sum: f64 = mdp
                .pairs(s)
                .map(|pair| kernel.spread_of(pair) * lift[pair])
                .sum();
            sum / n as f64
        };
        update(&mut newton.row_diagonal, |s, _| {
            let x = 1.0 + shares(s);
            x * x / heights[s]
        });
        let row_diagonal = &newton.row_diagonal;
        {
            // turn the slots' part into its difference from the row's
            let first = &support.offsets;
            crate::linalg::parallel::blocks(first, &mut newton.slot_diagonal, |s, part| {
                let base = 1.0 + shares(s);
                let range = first[s]..first[s + 1];
                let mut extra = vec![0.0; range.len()];
                for pair in mdp.pairs(s) {
                    for e in kernel.offsets()[pair]..kernel.offsets()[pair + 1] {
                        extra[support.slots[e] as usize - range.start] +=
                            kernel.values()[e] * lift[pair];
                    }
                }
                for ((k, x), extra) in range.zip(part.iter_mut()).zip(extra) {
                    let mut value = *x;
                    if slots[k].free {
                        value -= (base + extra) * (base + extra) / heights[s];
                    }
                    if slots[k].plain {
                        value += row_diagonal[s];
                    }
                    *x = value;
                }
            });
        }
        newton.prefix[0] = 0.0;
        for (k, &s) in self.rows.order.iter().enumerate() {
            newton.prefix[k + 1] = newton.prefix[k] + row_diagonal[s as usize];
        }
        let (prefix, counts, slot_diagonal) =
            (&newton.prefix, &newton.counts, &newton.slot_diagonal);
        update(&mut newton.diagonal, |t, _| {
            let mut value =
                counts[t] - (prefix[ranges[t].1 as usize] - prefix[ranges[t].0 as usize]);
            for j in by_column.slot_offsets[t]..by_column.slot_offsets[t + 1] {
                value += slot_diagonal[by_column.slot[j] as usize];
            }
            if counts[t] < 0.5 {
                1.0
            } else {
                value.max(1e-3 * counts[t].min(1.0)) + delta
            }
        });
    }

    /// `packed` block of row `s` for a vector `x` of columns: $N P_F x - b \tau$ per pair and
    /// $-\tau$ (plus the uniform parts) for the row, with $\tau = v \cdot x / h$.
    fn rows_times(&mut self, use_conjugate: bool) {
        let (mdp, support) = (self.mdp, self.support);
        let kernel = mdp.kernel();
        let n = mdp.n_states();
        let newton = &mut self.newton;
        let x = if use_conjugate {
            &newton.conjugate
        } else {
            &newton.step_beta
        };
        newton.prefix[0] = 0.0;
        for (k, &t) in self.columns.order.iter().enumerate() {
            newton.prefix[k + 1] = newton.prefix[k] + x[t as usize];
        }
        let (prefix, states, first) = (&newton.prefix, &self.states, mdp.first_pair());
        let (masked, correction) = (&newton.masked, &newton.correction);
        let (inverses, places) = (&newton.inverses, &newton.inverse_offsets);
        let (lift, heights) = (&newton.lift, &newton.heights);
        let one = |s: usize, part: &mut [f64]| {
            let m = part.len() - 1;
            let mut all = prefix[states[s].high as usize] - prefix[states[s].low as usize];
            for k in support.offsets[s]..support.offsets[s + 1] {
                all += correction[k] * x[support.columns[k] as usize];
            }
            let mut along = all;
            let (mut few, mut many) = ([0.0f64; FEW_ACTIONS], Vec::new());
            let y: &mut [f64] = if m <= FEW_ACTIONS {
                &mut few
            } else {
                many.resize(m, 0.0);
                &mut many
            };
            let pairs = first[s]..first[s + 1];
            for (a, pair) in pairs.clone().enumerate() {
                let mut sum = kernel.spread_of(pair) / n as f64 * all;
                for e in kernel.offsets()[pair]..kernel.offsets()[pair + 1] {
                    sum += masked[e] * x[kernel.indices()[e] as usize];
                }
                y[a] = sum;
                along += lift[pair] * sum;
            }
            let tau = along / heights[s];
            let inverse = &inverses[places[s]..places[s + 1]];
            let mut row = -tau;
            for (a, pair) in pairs.enumerate() {
                let mut sum = -tau * lift[pair];
                for b in 0..m {
                    sum += inverse[a * m + b] * y[b];
                }
                part[a] = sum;
                row += kernel.spread_of(pair) / n as f64 * sum;
            }
            part[m] = row;
        };
        each_block(&mut newton.packed, first, one);
    }

    /// `out_t` = $\sum_s$ of the packed rows' part in column $t$, where free.
    fn columns_times(
        newton: &Newton,
        rows: &Sorted,
        by_column: &ByColumn,
        first: &[usize],
        prefix: &mut [f64],
        out: &mut [f64],
    ) {
        let packed = &newton.packed;
        prefix[0] = 0.0;
        for (k, &s) in rows.order.iter().enumerate() {
            let s = s as usize;
            prefix[k + 1] = prefix[k] + packed[first[s + 1] + s];
        }
        let prefix = &*prefix;
        update(out, |t, _| {
            let mut sum = prefix[newton.ranges[t].1 as usize] - prefix[newton.ranges[t].0 as usize];
            for j in by_column.slot_offsets[t]..by_column.slot_offsets[t + 1] {
                sum += newton.correction_by_column[j] * packed[by_column.slot_row[j] as usize];
            }
            for j in by_column.entry_offsets[t]..by_column.entry_offsets[t + 1] {
                sum += newton.masked_by_column[j] * packed[by_column.entry_pair[j] as usize];
            }
            sum
        });
    }

    fn gather(&mut self, into_product: bool) {
        let first = self.mdp.first_pair();
        let mut prefix = std::mem::take(&mut self.newton.prefix);
        let target = if into_product {
            &mut self.newton.product
        } else {
            &mut self.newton.residual
        };
        let mut out = std::mem::take(target);
        Self::columns_times(
            &self.newton,
            &self.rows,
            &self.by_column,
            first,
            &mut prefix,
            &mut out,
        );
        self.newton.prefix = prefix;
        if into_product {
            self.newton.product = out;
        } else {
            self.newton.residual = out;
        }
    }

    /// Newton direction into `step_alpha`, `step_beta`.
    pub(super) fn direction(&mut self, delta: f64, tolerance: f64, driver: &mut Driver<'_>) {
        self.linearise(delta);
        let mdp = self.mdp;
        let kernel = mdp.kernel();
        let n = mdp.n_states();
        let first = mdp.first_pair();
        {
            let newton = &mut self.newton;
            let (states, lift, heights) = (&self.states, &newton.lift, &newton.heights);
            each_block(&mut newton.packed, first, |s, part| {
                let m = part.len() - 1;
                let x = (1.0 - states[s].sum) / heights[s];
                let mut row = x;
                for (a, pair) in (first[s]..first[s + 1]).enumerate() {
                    part[a] = x * lift[pair];
                    row += kernel.spread_of(pair) / n as f64 * part[a];
                }
                part[m] = row;
            });
        }
        self.gather(false);
        let newton = &mut self.newton;
        let sums = &self.column_sums;
        update(&mut newton.residual, |t, x| 1.0 - sums[t] - x);
        newton.step_beta.fill(0.0);
        let (residual, diagonal) = (&newton.residual, &newton.diagonal);
        update(&mut newton.conjugate, |t, _| residual[t] / diagonal[t]);
        let mut rho = sum(n, |t| residual[t] * residual[t] / diagonal[t]);
        let start = rho;
        let mut used = 0;
        while used < MOST_CONJUGATE
            && rho > tolerance * tolerance * start
            && rho > 0.0
            && driver.alive()
        {
            used += 1;
            self.rows_times(true);
            self.gather(true);
            let newton = &mut self.newton;
            let (conjugate, counts) = (&newton.conjugate, &newton.counts);
            update(&mut newton.product, |t, x| {
                let own = if counts[t] < 0.5 {
                    1.0
                } else {
                    counts[t] + delta
                };
                x + own * conjugate[t]
            });
            let product = &newton.product;
            let curvature = sum(n, |t| product[t] * conjugate[t]);
            if !(curvature > 0.0) {
                break;
            }
            let size = rho / curvature;
            update(&mut newton.step_beta, |t, x| x + size * conjugate[t]);
            update(&mut newton.residual, |t, x| x - size * product[t]);
            let (residual, diagonal) = (&newton.residual, &newton.diagonal);
            let next = sum(n, |t| residual[t] * residual[t] / diagonal[t]);
            let momentum = next / rho;
            rho = next;
            update(&mut newton.conjugate, |t, x| {
                residual[t] / diagonal[t] + momentum * x
            });
        }
        // d alpha = (1 - row sum - v . d beta) / height; -tau was left in the packed rows
        // together with the uniform parts, so take it from the pairs' side
        self.rows_times(false);
        let newton = &mut self.newton;
        let (packed, states, heights) = (&newton.packed, &self.states, &newton.heights);
        update(&mut newton.step_alpha, |s, _| {
            let mut tau = -packed[first[s + 1] + s];
            if kernel.has_spread() {
                for pair in first[s]..first[s + 1] {
                    tau += kernel.spread_of(pair) / n as f64
                        * packed[block(first, s) + pair - first[s]];
                }
            }
            (1.0 - states[s].sum) / heights[s] - tau
        });
        // adding c to beta and taking it from alpha changes nothing: without this the
        // multipliers drift along that direction and their digits go
        let drift = newton.step_beta.iter().sum::<f64>() / n as f64;
        newton.step_beta.iter_mut().for_each(|x| *x -= drift);
        newton.step_alpha.iter_mut().for_each(|x| *x += drift);
    }
}
