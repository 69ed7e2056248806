//! The mean hitting time, and its gradient.
//!
//! One state $r$ is set apart. With $N = (I - M_{-r})^{-1}$ of the others, $X$ the same with zeros
//! in the row and column of $r$, $c$ the mean time of a step, $t = X c$ (the mean time to $r$), $d$
//! any multiple of the steady state and $C = \langle d, c \rangle$,
//!
//! $$E_\mu \tau_j = \langle \mu, t \rangle - t_j + C \frac{X_{jj} - (\mu X)_j}{d_j} .$$
//!
//! (To $j$ before $r$ with probability $X_{ij} / X_{jj}$ from $i$; from $r$ a cycle takes $C /
//! d_r$.) $\dot X = X \dot M X$ and, up to a multiple of $d$ of which nothing depends, $\dot d = d
//! \dot M X$. With $e_j = X_{jj} - (\mu X)_j$, $R = \sum_j w_j e_j / d_j$ and $y_j = R c_j - C w_j
//! e_j / d_j^2$ the derivative of $\sum_j w_j E_\mu \tau_j$ by $M_{st}$ is
//!
//! $$((\mu - w) X)_s\, t_t
//! + C \big[ (X \operatorname{diag}(w/d) X)_{ts} - (\mu X)_s (X (w/d))_t \big]
//! + d_s (X y)_t ,$$
//!
//! and by $c_s$ it is $((\mu - w) X)_s + R d_s$.

use ide3al_numerics::selected_inverse::Factor;

use super::world::World;

/// A state less often visited than this, for each visit of the one set apart, counts as not.
const RARE: f64 = 1e-13;
/// Times are sums and differences of numbers that each carry an error of this share; a time whose
/// error may be a larger share than `VAGUE` counts as infinite: the chain is nearly reducible.
const ROUNDING: f64 = 1e-15;
const VAGUE: f64 = 1e-7;

/// Computes the mean hitting time of one policy after another, in the same memory.
#[derive(Debug, Clone)]
pub struct Hitting<'a> {
    world: &'a World,
    factor: Factor,
    /// $r$.
    apart: usize,
    weight: f64,
    ones: Vec<f64>,
    chain: Vec<f64>,
    entries: Vec<f64>,
    inverse: Vec<f64>,
    step: Vec<f64>,
    to_apart: Vec<f64>,
    visits: Vec<f64>,
    from_origin: Vec<f64>,
    difference: Vec<f64>,
    shares: Vec<f64>,
    later: Vec<f64>,
    y: Vec<f64>,
    slopes: Vec<f64>,
}

impl<'a> Hitting<'a> {
    /// For the policies of a world. The state set apart is the one that the uniform policy visits
    /// most often of those with a weight.
    pub fn new(world: &'a World) -> Self {
        let (n, edges) = (world.size(), world.rows.len());
        let first = world.weights.iter().position(|w| *w > 0.0).unwrap_or(0);
        let mut hitting = Hitting {
            world,
            factor: Factor::new(&world.symbolic),
            apart: first,
            weight: world.weights.iter().sum(),
            ones: vec![1.0; n],
            chain: vec![0.0; edges],
            entries: vec![0.0; edges],
            inverse: vec![0.0; n],
            step: vec![0.0; n],
            to_apart: vec![0.0; n],
            visits: vec![0.0; n],
            from_origin: vec![0.0; n],
            difference: vec![0.0; n],
            shares: vec![0.0; n],
            later: vec![0.0; n],
            y: vec![0.0; n],
            slopes: vec![0.0; edges],
        };
        let uniform: Vec<f64> = (0..world.n_states())
            .flat_map(|s| {
                world
                    .pairs(s)
                    .map(move |_| 1.0 / world.pairs(s).len() as f64)
            })
            .collect();
        if hitting.factorise(&uniform) {
            let d = &hitting.visits;
            let wanted = (0..n).filter(|s| world.weights[*s] > 0.0);
            let most = wanted.max_by(|a, b| d[*a].total_cmp(&d[*b]).then(b.cmp(a)));
            hitting.apart = most.unwrap_or(first);
        }
        hitting
    }

    /// Chain, factor, steps and steady state of a policy; false where there is none.
    fn factorise(&mut self, policy: &[f64]) -> bool {
        let (world, r) = (self.world, self.apart as u32);
        self.chain.fill(0.0);
        for (k, &p) in policy.iter().enumerate() {
            if p > 0.0 {
                for &(edge, share) in &world.entries[world.offsets[k]..world.offsets[k + 1]] {
                    self.chain[edge as usize] += p * share;
                }
            }
        }
        for &(edge, p) in &world.fixed {
            self.chain[edge as usize] = p;
        }
        self.visits.fill(0.0);
        for (e, &p) in self.chain.iter().enumerate() {
            let (s, t) = (world.rows[e], world.columns[e]);
            self.entries[e] = if s == r || t == r { 0.0 } else { -p };
            if s == r && t != r {
                self.visits[t as usize] = p;
            }
        }
        for s in 0..world.n_states() {
            let pairs = world.pairs(s);
            self.step[s] = pairs.map(|k| policy[k] * world.time[k]).sum();
        }
        let symbolic = &world.symbolic;
        if !self.factor.eliminate(symbolic, &self.entries, &self.ones) {
            return false;
        }
        self.factor.solve_transposed(symbolic, &mut self.visits);
        self.visits[self.apart] = 1.0;
        self.visits.iter().all(|d| d.is_finite())
    }

    /// The steady state of the policy that was judged last, up to a factor.
    pub fn visits(&self) -> &[f64] {
        &self.visits
    }

    /// The mean hitting time of a policy, infinite where it never sees some state. With `gradient`,
    /// its derivatives by the policy's entries.
    pub fn value(&mut self, policy: &[f64], gradient: Option<&mut [f64]>) -> f64 {
        let (world, r) = (self.world, self.apart);
        if !self.factorise(policy) {
            return f64::INFINITY;
        }
        let symbolic = &world.symbolic;
        let (w, mu, d) = (&world.weights, &world.origin, &self.visits);
        if (0..d.len()).any(|j| w[j] > 0.0 && !(d[j] > RARE)) {
            return f64::INFINITY;
        }
        self.factor.invert(symbolic, &mut self.inverse);
        self.inverse[r] = 0.0;
        let without = |out: &mut [f64], of: &dyn Fn(usize) -> f64| {
            for (j, x) in out.iter_mut().enumerate() {
                *x = if j == r { 0.0 } else { of(j) };
            }
        };
        without(&mut self.to_apart, &|j| self.step[j]);
        self.factor.solve(symbolic, &mut self.to_apart);
        without(&mut self.from_origin, &|j| mu[j]);
        self.factor
            .solve_transposed(symbolic, &mut self.from_origin);
        let cycle: f64 = d.iter().zip(&self.step).map(|(d, c)| d * c).sum();
        let (mut rest, mut value, mut terms) = (0.0, 0.0, 0.0);
        for j in 0..d.len() {
            let e = self.inverse[j] - self.from_origin[j];
            value += (self.weight * mu[j] - w[j]) * self.to_apart[j];
            terms += (self.weight * mu[j] + w[j]) * self.to_apart[j].abs();
            if w[j] > 0.0 {
                rest += w[j] * e / d[j];
                terms += cycle * w[j] * self.inverse[j].abs() / d[j];
                self.shares[j] = w[j] / d[j];
                self.y[j] = -cycle * w[j] * e / (d[j] * d[j]);
            } else {
                (self.shares[j], self.y[j]) = (0.0, 0.0);
            }
        }
        value += cycle * rest;
        // only a world in which nothing else counts is seen at once
        let at_once = w[r] == self.weight && value == 0.0;
        let is_known = value > 0.0 && ROUNDING * terms <= VAGUE * value;
        if !(at_once || is_known) {
            return f64::INFINITY;
        }
        let Some(gradient) = gradient else {
            return value;
        };
        without(&mut self.difference, &|j| self.weight * mu[j] - w[j]);
        self.factor.solve_transposed(symbolic, &mut self.difference);
        without(&mut self.later, &|j| self.shares[j]);
        self.factor.solve(symbolic, &mut self.later);
        for (y, c) in self.y.iter_mut().zip(&self.step) {
            *y += rest * c;
        }
        self.y[r] = 0.0;
        self.factor.solve(symbolic, &mut self.y);
        self.shares[r] = 0.0;
        self.factor
            .derivative(symbolic, &self.shares, &mut self.slopes);
        for (e, slope) in self.slopes.iter_mut().enumerate() {
            let (s, t) = (world.rows[e] as usize, world.columns[e] as usize);
            let both = if s == r || t == r { 0.0 } else { *slope };
            *slope = self.difference[s] * self.to_apart[t]
                + cycle * (both - self.from_origin[s] * self.later[t])
                + d[s] * self.y[t];
        }
        for s in 0..world.n_states() {
            let by_time = self.difference[s] + rest * d[s];
            for k in world.pairs(s) {
                let entries = &world.entries[world.offsets[k]..world.offsets[k + 1]];
                let slope = entries.iter().map(|(e, p)| p * self.slopes[*e as usize]);
                gradient[k] = slope.sum::<f64>() + by_time * world.time[k];
            }
        }
        value
    }
}
