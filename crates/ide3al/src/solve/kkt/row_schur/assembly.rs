//! One row at a time: its policy is eliminated, and what that leaves is added to the columns'
//! matrix.

use super::squares::{add_squares, rests};
use super::{RowSchur, TransitionRows};
use ide3al_numerics::clique_matrix::{CliqueMatrix, PIECE, Shape, push_dense_row};
use ide3al_numerics::parallel::dot;

/// About how many multiplications it takes to eliminate the rows once.
pub(super) fn work_of_rows(rows: &TransitionRows, matrix: &CliqueMatrix) -> f64 {
    let n = rows.n_states() as f64;
    let mut work = 0.0;
    for s in 0..rows.n_states() {
        let reach = rows.reach(s).len();
        let cells = rows.offsets[s + 1] - rows.offsets[s];
        let others = (rows.first[s + 1] - rows.first[s]) as f64;
        let square = if matrix.is_split(s) {
            PIECE as f64
        } else if matrix.prefers_rows(reach) {
            n
        } else {
            reach as f64
        };
        work += others * reach as f64 * (others + square);
        if matrix.prefers_rows(cells) {
            work += n * n / 2.0;
        }
    }
    work
}

/// What a wide row adds to the columns' matrix: where only its wide actions reach, all of $C$ are
/// combinations of these, and $g$ of these and $D$.
pub(super) fn shape(rows: &TransitionRows, s: usize, keeps_rows: bool) -> Shape {
    let actions = rows.first[s]..rows.first[s + 1];
    let narrow = |i: &usize| rows.entries(*i).count() <= PIECE;
    let first = rows.offsets[s];
    let reached = actions.clone().filter(narrow).flat_map(|i| rows.entries(i));
    let mut apart: Vec<usize> = reached.map(|(cell, _)| cell - first).collect();
    apart.sort_unstable();
    apart.dedup();
    let (others, wide) = (
        actions.len().saturating_sub(1),
        actions.filter(|i| !narrow(i)).count(),
    );
    Shape {
        apart,
        rank: wide.min(others) + usize::from(keeps_rows),
        auxiliary: keeps_rows,
    }
}

impl RowSchur {
    /// $L$, $C$ and $C 1$ of one state; false where they break down.
    pub(super) fn eliminate_policy(&mut self, rows: &TransitionRows, s: usize) -> bool {
        let weights = &self.weights;
        let reach = rows.reach(s);
        let width = reach.len();
        let own = rows.first[s]..rows.first[s + 1];
        let Some(others) = own.len().checked_sub(1) else {
            return true;
        };
        let theta = &weights.policy[own.clone()];
        let mut reference = 0;
        for (i, x) in theta.iter().enumerate() {
            if *x < theta[reference] {
                reference = i;
            }
        }
        self.reference[s] = reference as u32;
        let values = &rows.values[rows.value_offsets[s]..rows.value_offsets[s + 1]];
        // T, the other actions' rows less the reference's
        let base = &values[reference * width..(reference + 1) * width];
        self.difference.clear();
        for i in (0..=others).filter(|i| *i != reference) {
            let row = &values[i * width..(i + 1) * width];
            self.difference
                .extend(row.iter().zip(base).map(|(x, y)| x - y));
        }
        let t = &self.difference;
        let lower = &mut self.lower[self.lower_offsets[s]..self.lower_offsets[s + 1]];
        // T W
        let weighted = &mut self.weighted;
        weighted.clear();
        if !weights.w.is_empty() {
            for row in t.chunks_exact(width.max(1)) {
                let cells = row.iter().zip(reach);
                weighted.extend(cells.map(|(x, cell)| x * weights.w[*cell as usize]));
            }
        }
        let other = |i: usize| if i < reference { i } else { i + 1 };
        for i in 0..others {
            let row = weighted.get(i * width..(i + 1) * width);
            let along = |other: &[f64]| row.map_or(0.0, |row| dot(row, other));
            self.reference_coupling[own.start + i] = along(base) - theta[reference];
            for j in 0..=i {
                let mut sum = theta[reference];
                if i == j {
                    sum += theta[other(i)];
                }
                sum += along(&t[j * width..(j + 1) * width]);
                for m in 0..j {
                    sum -= lower[i * others + m] * lower[j * others + m];
                }
                lower[i * others + j] = if i == j {
                    // the exact pivot is no less than the action's own theta, which rounding hides
                    // where two actions have the same row (neither was ever tried)
                    let pivot = if sum < theta[other(i)] {
                        theta[other(i)]
                    } else {
                        sum
                    };
                    if !(pivot > 0.0) {
                        return false;
                    }
                    pivot.sqrt()
                } else {
                    sum / lower[j * others + j]
                };
            }
        }
        // C = L^{-1} T F, action by action
        let c = &mut self.c[rows.value_offsets[s]..][..others * width];
        for i in 0..others {
            let (before, rest) = c.split_at_mut(i * width);
            let row = &mut rest[..width];
            row.copy_from_slice(&t[i * width..(i + 1) * width]);
            if !weights.f.is_empty() {
                for (x, cell) in row.iter_mut().zip(reach) {
                    *x *= weights.f[*cell as usize];
                }
            }
            for m in 0..i {
                let factor = lower[i * others + m];
                for (x, y) in row.iter_mut().zip(&before[m * width..(m + 1) * width]) {
                    *x -= factor * y;
                }
            }
            let scale = 1.0 / lower[i * others + i];
            row.iter_mut().for_each(|x| *x *= scale);
            self.c_total[own.start + i] = row.iter().sum();
        }
        true
    }

    /// Adds the row of one state to the columns' matrix: $C^\top C$, and with a sum to keep
    /// $D + C^\top C - g g^\top / h$.
    pub(super) fn add_row(&mut self, rows: &TransitionRows, s: usize) {
        let weights = &self.weights;
        let (n, reach) = (rows.n_states(), rows.reach(s));
        let cells = rows.offsets[s]..rows.offsets[s + 1];
        let width = reach.len();
        let columns = rows.columns[cells.clone()].iter().copied();
        let own = rows.first[s]..rows.first[s + 1];
        let others = own.len().saturating_sub(1);
        let c = &self.c[rows.value_offsets[s]..][..others * width];
        let c_rows = || {
            let rows = c.chunks_exact(width.max(1));
            rows.zip(&self.c_total[own.clone()])
        };
        let split = self.matrix.is_split(s);
        let narrow = !split && !self.matrix.prefers_rows(width);
        let whole = narrow && width == cells.len();
        if narrow {
            self.local.clear();
            self.local.resize(width * width, 0.0);
        }
        if !self.keeps_rows {
            let reached = reach.iter().map(|c| rows.columns[*c as usize]);
            if split {
                self.square.clear();
                self.square.extend_from_slice(c);
                self.matrix.add_split(s, &mut self.square);
            } else if narrow {
                add_squares(&mut self.local, c, width);
                self.matrix.add_clique(s, &self.local);
            } else {
                c_rows().for_each(|(row, _)| {
                    push_dense_row(&mut self.updates, n, reached.clone(), row, 1.0)
                });
            }
            return;
        }
        let d = &weights.d[cells.clone()];
        let g = &mut self.g[cells.clone()];
        g.copy_from_slice(d);
        let own_part: f64 = d.iter().sum();
        let mut schur_pivot = weights.slack[s] + own_part;
        for (row, sum) in c_rows() {
            schur_pivot += sum * sum;
            for (x, cell) in row.iter().zip(reach) {
                g[*cell as usize - cells.start] += sum * x;
            }
        }
        self.schur_pivot[s] = schur_pivot;
        // D + C'C - gg'/h as a sum of squares: nothing cancels where the row's sum decides its
        // policy
        let share = 1.0 / (schur_pivot * (1.0 + (weights.slack[s] / schur_pivot).sqrt()));
        let root = own_part.sqrt();
        let square = &mut self.square;
        square.clear();
        if whole || split {
            for (row, sum) in c_rows() {
                square.extend(row.iter().zip(g.iter()).map(|(x, g)| x - share * sum * g));
            }
            square.extend((g.iter().zip(d)).map(|(g, d)| root * (share * g - d / own_part)));
        }
        if split {
            self.matrix.add_split(s, square);
            self.matrix.add_auxiliary(s, d);
        } else if whole {
            for (j, rest) in rests(d, own_part).enumerate() {
                let x = d[j] / own_part;
                let row = &mut self.local[j * width..(j + 1) * width];
                row[j] = rest;
                for i in j + 1..width {
                    row[i] = -x * d[i];
                }
            }
            add_squares(&mut self.local, square, width);
            self.matrix.add_clique(s, &self.local);
        } else if narrow {
            // few of the row's cells are reached, and what its sum takes away is dense
            add_squares(&mut self.local, c, width);
            self.matrix.add_clique(s, &self.local);
            for (t, d) in columns.clone().zip(d) {
                self.diagonal[t as usize] += d;
            }
            push_dense_row(&mut self.downdates, n, columns, g, 1.0 / schur_pivot.sqrt());
        } else {
            // the squares alone: the rest is in the matrix already
            for (row, sum) in c_rows() {
                square.clear();
                square.extend(g.iter().map(|g| -share * sum * g));
                for (x, cell) in row.iter().zip(reach) {
                    square[*cell as usize - cells.start] += x;
                }
                push_dense_row(&mut self.updates, n, columns.clone(), square, 1.0);
            }
            square.clear();
            square.extend(g.iter().zip(d).map(|(g, d)| share * g - d / own_part));
            push_dense_row(&mut self.updates, n, columns, square, root);
        }
    }
}
