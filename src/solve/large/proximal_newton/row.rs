//! One state's share of the proximal step: a small convex problem in its action probabilities.
//!
//! Given multipliers $\alpha_s$, $\beta$ and a centre $c$, row $s$ solves
//!
//! $$\min_{p \in \Delta_\xi} \; \sum_t \theta(M_t(p), \alpha_s + \beta_t) + \frac{\mu}{2} \|p - c\|^2,
//!   \qquad \theta(m, x) = \min_{0 \le u \le \zeta} \tfrac12 (u - m)^2 - x u .$$
//!
//! $\theta$ is linear in $m$ where $u = m + x$ lies strictly between the bounds and quadratic
//! where it is cut, so the problem is piecewise quadratic: Newton steps over the simplex, each
//! a quadratic program in as many variables as the state has actions, end on the exact
//! minimiser after a few changes of pattern.

use super::packing::Sorted;
use crate::formulation::Problem;
use crate::formulation::support::Support;
use crate::model::Mdp;

/// What the rows share at one dual point.
#[derive(Clone, Copy)]
pub(super) struct Shared<'a> {
    pub(super) mdp: &'a Mdp,
    pub(super) support: &'a Support,
    pub(super) xi: f64,
    pub(super) zeta: f64,
    /// $\mu$.
    pub(super) weight: f64,
    /// $\beta$ by column, and ascending with prefix sums.
    pub(super) beta: &'a [f64],
    pub(super) sorted: &'a [f64],
    pub(super) prefix: &'a [f64],
}

impl<'a> Shared<'a> {
    /// At column multipliers `beta`, whose order is `columns`.
    pub(super) fn new(
        (mdp, support, problem): (&'a Mdp, &'a Support, &Problem),
        weight: f64,
        beta: &'a [f64],
        columns: &'a Sorted,
    ) -> Self {
        Shared {
            mdp,
            support,
            xi: problem.xi,
            zeta: problem.zeta,
            weight,
            beta,
            sorted: &columns.values,
            prefix: &columns.prefix,
        }
    }
}

/// What a solved row leaves behind.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct RowState {
    /// $\sum_t U_{st}$.
    pub(super) sum: f64,
    /// $\alpha_s$ plus the uniform share of $M_s$ in one column.
    pub(super) shifted: f64,
    /// Positions `low..high` in the sorted $\beta$ are free where the row has no slot.
    pub(super) low: u32,
    pub(super) high: u32,
}

/// What a slot changes in sums and counts that treat the row as if it had none.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct SlotState {
    /// $U$ with the slot's mass minus $U$ without.
    pub(super) change: f64,
    /// Whether $U$ is strictly between its bounds.
    pub(super) free: bool,
    /// The same without the slot's mass.
    pub(super) plain: bool,
}

/// Workspace for one row after another.
#[derive(Debug, Clone, Default)]
pub(super) struct RowWork {
    actions: usize,
    width: usize,
    /// The actions' rows on the state's slots, action by action.
    dense: Vec<f64>,
    /// The actions' uniform shares in one column.
    shares: Vec<f64>,
    has_shares: bool,
    /// $\beta$ at the slots.
    beta: Vec<f64>,
    mass: Vec<f64>,
    slots: Vec<SlotState>,
    /// Cut slots when the quadratic model was built.
    pattern: Vec<bool>,
    rest: Vec<f64>,
    gradient: Vec<f64>,
    quadratic: Vec<f64>,
    factor: Vec<f64>,
    solution: [Vec<f64>; 2],
    direction: Vec<f64>,
    trial: Vec<f64>,
    fixed: Vec<bool>,
    members: Vec<usize>,
    alpha: f64,
    state: RowState,
    outside_cut: f64,
}

impl RowWork {
    /// Brings in state `s`.
    pub(super) fn load(&mut self, shared: &Shared<'_>, s: usize) {
        let (mdp, support) = (shared.mdp, shared.support);
        let kernel = mdp.kernel();
        let pairs = mdp.pairs(s);
        let slots = support.offsets[s]..support.offsets[s + 1];
        let (m, w) = (pairs.len(), slots.len());
        (self.actions, self.width) = (m, w);
        let fill = |v: &mut Vec<f64>, n: usize| {
            v.clear();
            v.resize(n, 0.0);
        };
        fill(&mut self.dense, m * w);
        fill(&mut self.mass, w);
        fill(&mut self.rest, w);
        fill(&mut self.gradient, m);
        fill(&mut self.quadratic, m * m);
        fill(&mut self.factor, m * m);
        fill(&mut self.solution[0], m);
        fill(&mut self.solution[1], m);
        fill(&mut self.direction, m);
        fill(&mut self.trial, m);
        self.shares.clear();
        self.fixed.clear();
        self.fixed.resize(m, false);
        self.pattern.clear();
        self.pattern.resize(w, false);
        self.slots.clear();
        self.slots.resize(w, SlotState::default());
        self.beta.clear();
        let columns = &support.columns[slots.clone()];
        self.beta
            .extend(columns.iter().map(|t| shared.beta[*t as usize]));
        let n = mdp.n_states() as f64;
        for (a, pair) in pairs.enumerate() {
            for e in kernel.offsets()[pair]..kernel.offsets()[pair + 1] {
                self.dense[a * w + support.slots[e] as usize - slots.start] = kernel.values()[e];
            }
            self.shares.push(kernel.spread_of(pair) / n);
        }
        self.has_shares = self.shares.iter().any(|x| *x > 0.0);
    }

    /// Solves the loaded row from `p`, which it replaces by the minimiser.
    pub(super) fn solve(
        &mut self,
        shared: &Shared<'_>,
        alpha: f64,
        centre: &[f64],
        p: &mut [f64],
    ) -> RowState {
        self.alpha = alpha;
        self.state.low = u32::MAX;
        self.evaluate(shared, centre, p);
        if self.actions == 1 {
            return self.state;
        }
        for _ in 0..100 {
            self.model(shared);
            self.quadratic_step(p, shared.xi);
            let slope = dot(&self.gradient, &self.direction);
            let length = self.direction.iter().fold(0.0, |x, d| f64::max(x, d.abs()));
            if !(slope < 0.0) || length < 1e-15 {
                break;
            }
            let mut trial = std::mem::take(&mut self.trial);
            let mut size = 1.0;
            for _ in 0..40 {
                for a in 0..self.actions {
                    trial[a] = if self.fixed[a] && size == 1.0 {
                        shared.xi
                    } else {
                        (p[a] + size * self.direction[a]).max(shared.xi)
                    };
                }
                self.evaluate(shared, centre, &trial);
                let there = dot(&self.gradient, &self.direction);
                // the slope rises along the line: beyond the minimum, go to where it would vanish
                if there <= -0.1 * slope {
                    break;
                }
                size *= (slope / (slope - there)).clamp(0.05, 0.95);
            }
            p.copy_from_slice(&trial);
            self.trial = trial;
            let same = self
                .slots
                .iter()
                .zip(&self.pattern)
                .all(|(slot, cut)| slot.free != *cut);
            if size == 1.0 && same && !self.has_shares {
                break;
            }
        }
        self.state
    }

    /// The slots of the row just solved.
    pub(super) fn slots(&self) -> &[SlotState] {
        &self.slots
    }

    /// $M$, $U$ and the gradient at `p`.
    fn evaluate(&mut self, shared: &Shared<'_>, centre: &[f64], p: &[f64]) {
        let (w, n, zeta) = (self.width, shared.sorted.len(), shared.zeta);
        self.mass.fill(0.0);
        for (a, &x) in p.iter().enumerate() {
            for (m, v) in self.mass.iter_mut().zip(&self.dense[a * w..(a + 1) * w]) {
                *m += x * v;
            }
        }
        let offset = dot(p, &self.shares);
        let a = self.alpha + offset;
        if self.has_shares || self.state.low == u32::MAX {
            self.state.low = shared.sorted.partition_point(|b| *b + a <= 0.0) as u32;
            let high = shared.sorted.partition_point(|b| *b + a < zeta) as u32;
            self.state.high = high.max(self.state.low);
        }
        let (low, high) = (self.state.low as usize, self.state.high as usize);
        let mut sum = a * (high - low) as f64 + shared.prefix[high] - shared.prefix[low]
            + zeta * (n - high) as f64;
        let mut outside_cut = (n - (high - low)) as f64;
        let mut total_mass = offset * n as f64;
        for k in 0..w {
            let plain = a + self.beta[k];
            let with = plain + self.mass[k];
            let (u0, u1) = (plain.clamp(0.0, zeta), with.clamp(0.0, zeta));
            let slot = SlotState {
                change: u1 - u0,
                free: with > 0.0 && with < zeta,
                plain: plain > 0.0 && plain < zeta,
            };
            self.slots[k] = slot;
            sum += slot.change;
            outside_cut -= f64::from(u8::from(!slot.plain));
            total_mass += self.mass[k];
            self.rest[k] = self.mass[k] + offset - u1;
        }
        self.state.sum = sum;
        self.state.shifted = a;
        self.outside_cut = outside_cut.max(0.0);
        let rest = total_mass - sum;
        for (i, (x, c)) in p.iter().zip(centre).enumerate() {
            self.gradient[i] = dot(&self.dense[i * w..(i + 1) * w], &self.rest)
                + self.shares[i] * rest
                + shared.weight * (x - c);
        }
    }

    /// The second derivative at the pattern of the last evaluation.
    fn model(&mut self, shared: &Shared<'_>) {
        let (m, w) = (self.actions, self.width);
        for (cut, slot) in self.pattern.iter_mut().zip(&self.slots) {
            *cut = !slot.free;
        }
        for a in 0..m {
            for b in 0..=a {
                let mut sum = self.outside_cut * self.shares[a] * self.shares[b];
                for k in 0..w {
                    if self.pattern[k] {
                        sum += (self.dense[a * w + k] + self.shares[a])
                            * (self.dense[b * w + k] + self.shares[b]);
                    }
                }
                self.quadratic[a * m + b] = sum;
                self.quadratic[b * m + a] = sum;
            }
            self.quadratic[a * m + a] += shared.weight;
        }
    }

    /// `direction` = the step to the minimiser of the quadratic model over $\Delta_\xi$, by an
    /// active-set method.
    fn quadratic_step(&mut self, p: &[f64], xi: f64) {
        let m = self.actions;
        self.direction.fill(0.0);
        for (fixed, p) in self.fixed.iter_mut().zip(p) {
            *fixed = *p <= xi + 1e-14;
        }
        let scale = self.gradient.iter().fold(0.0, |x, g| f64::max(x, g.abs()));
        for _ in 0..8 * m + 16 {
            // slopes at p + direction
            for a in 0..m {
                self.solution[1][a] =
                    self.gradient[a] + dot(&self.quadratic[a * m..(a + 1) * m], &self.direction);
            }
            self.members.clear();
            self.members.extend((0..m).filter(|a| !self.fixed[*a]));
            if self.members.len() > 1 {
                let level = self.tangent_solve();
                let mut size = 1.0;
                let mut blocking = None;
                for (i, &a) in self.members.iter().enumerate() {
                    let e = self.solution[0][i];
                    if e < 0.0 {
                        let room = (xi - p[a] - self.direction[a]) / e;
                        if room < size {
                            (size, blocking) = (room.max(0.0), Some(a));
                        }
                    }
                }
                for (i, &a) in self.members.iter().enumerate() {
                    self.direction[a] += size * self.solution[0][i];
                }
                if let Some(a) = blocking {
                    self.direction[a] = xi - p[a];
                    self.fixed[a] = true;
                    continue;
                }
                if !self.release(level, scale) {
                    break;
                }
            } else {
                let level = match self.members.first() {
                    Some(&a) => self.solution[1][a],
                    None => self.solution[1]
                        .iter()
                        .copied()
                        .fold(f64::INFINITY, f64::min),
                };
                if self.members.is_empty() {
                    // everything at the bound: nothing can move
                    break;
                }
                if !self.release(level, scale) {
                    break;
                }
            }
        }
    }

    /// Frees the fixed action whose slope lies furthest below `level`; false if none does.
    fn release(&mut self, level: f64, scale: f64) -> bool {
        let m = self.actions;
        let mut worst = -1e-14 * scale;
        let mut which = None;
        for a in 0..m {
            if self.fixed[a] {
                let slope =
                    self.gradient[a] + dot(&self.quadratic[a * m..(a + 1) * m], &self.direction);
                if slope - level < worst {
                    worst = slope - level;
                    which = Some(a);
                }
            }
        }
        if let Some(a) = which {
            self.fixed[a] = false;
        }
        which.is_some()
    }

    /// Minimises over the free actions from slopes `solution[1]`, keeping their sum; the step
    /// comes in `solution[0]`, packed. Returns the common slope afterwards.
    fn tangent_solve(&mut self) -> f64 {
        let q = self.members.len();
        self.factorise();
        for (i, &a) in self.members.iter().enumerate() {
            self.solution[0][i] = -self.solution[1][a];
        }
        let mut ones = std::mem::take(&mut self.solution[1]);
        ones[..q].fill(1.0);
        back_substitute(&self.factor, q, &mut self.solution[0]);
        back_substitute(&self.factor, q, &mut ones);
        let total: f64 = self.solution[0][..q].iter().sum();
        let level = total / ones[..q].iter().sum::<f64>();
        for i in 0..q {
            self.solution[0][i] -= level * ones[i];
        }
        self.solution[1] = ones;
        -level
    }

    /// Cholesky factor of the quadratic model on the free actions.
    fn factorise(&mut self) {
        let (m, q) = (self.actions, self.members.len());
        for i in 0..q {
            for j in 0..=i {
                let mut sum = self.quadratic[self.members[i] * m + self.members[j]];
                for k in 0..j {
                    sum -= self.factor[i * q + k] * self.factor[j * q + k];
                }
                self.factor[i * q + j] = if i == j {
                    sum.max(1e-300).sqrt()
                } else {
                    sum / self.factor[j * q + j]
                };
            }
        }
    }

    /// The derivative of the solved row: with $N$ the inverse of the quadratic model on the
    /// free directions, writes $N$ to `inverse` (actions squared), $N P_F 1$ to `lift` and
    /// returns $1^\top (I_F + P_F^\top N P_F) 1$, $F$ being the free entries. `diagonal`
    /// receives the slots' diagonal of $I_F + P_F^\top N P_F$ without $I_F$.
    pub(super) fn derivative(
        &mut self,
        shared: &Shared<'_>,
        p: &[f64],
        inverse: &mut [f64],
        lift: &mut [f64],
        diagonal: &mut [f64],
    ) -> f64 {
        let (m, w) = (self.actions, self.width);
        inverse.fill(0.0);
        lift.fill(0.0);
        diagonal.fill(0.0);
        let outside_free = f64::from(self.state.high - self.state.low)
            - self.slots.iter().filter(|s| s.plain).count() as f64;
        let free = self.slots.iter().filter(|s| s.free).count() as f64 + outside_free;
        self.members.clear();
        self.members
            .extend((0..m).filter(|a| p[*a] > shared.xi + 1e-13));
        if self.members.len() < 2 {
            return free;
        }
        self.model(shared);
        self.factorise();
        let q = self.members.len();
        let mut ones = std::mem::take(&mut self.solution[1]);
        ones[..q].fill(1.0);
        back_substitute(&self.factor, q, &mut ones);
        let total: f64 = ones[..q].iter().sum();
        for j in 0..q {
            let column = &mut self.solution[0];
            column[..q].fill(0.0);
            column[j] = 1.0;
            back_substitute(&self.factor, q, column);
            for i in 0..q {
                inverse[self.members[i] * m + self.members[j]] =
                    column[i] - ones[i] * ones[j] / total;
            }
        }
        self.solution[1] = ones;
        // P_F 1 per action
        for a in 0..m {
            let mut sum = outside_free * self.shares[a];
            for k in 0..w {
                if self.slots[k].free {
                    sum += self.dense[a * w + k] + self.shares[a];
                }
            }
            self.trial[a] = sum;
        }
        for a in 0..m {
            lift[a] = dot(&inverse[a * m..(a + 1) * m], &self.trial);
        }
        for k in 0..w {
            if self.slots[k].free {
                for a in 0..m {
                    let x = self.dense[a * w + k] + self.shares[a];
                    if x != 0.0 {
                        for b in 0..m {
                            diagonal[k] +=
                                x * inverse[a * m + b] * (self.dense[b * w + k] + self.shares[b]);
                        }
                    }
                }
            }
        }
        free + dot(lift, &self.trial)
    }

    /// Restores the pattern of a row solved earlier at `p`.
    pub(super) fn revisit(&mut self, shared: &Shared<'_>, alpha: f64, centre: &[f64], p: &[f64]) {
        self.alpha = alpha;
        self.state.low = u32::MAX;
        self.evaluate(shared, centre, p);
    }
}

fn dot(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| x * y).sum()
}

/// Solves $L L^\top x = b$ in place, `factor` packed with `q` columns.
fn back_substitute(factor: &[f64], q: usize, x: &mut [f64]) {
    for i in 0..q {
        let mut sum = x[i];
        for k in 0..i {
            sum -= factor[i * q + k] * x[k];
        }
        x[i] = sum / factor[i * q + i];
    }
    for i in (0..q).rev() {
        let mut sum = x[i];
        for k in i + 1..q {
            sum -= factor[k * q + i] * x[k];
        }
        x[i] = sum / factor[i * q + i];
    }
}
