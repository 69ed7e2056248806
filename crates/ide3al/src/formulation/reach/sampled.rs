//! The share seen, estimated where factors of the matrix would fill in.
//!
//! With random signs $z_k$, $k = 1, \dots, K$, and $a = \mu G$,
//!
//! $$\hat G_{jj} = a_j + 1 + B_{jj}
//! + \frac1K \sum_k z_{jk} \big[ G z_k - (a^\top z_k) 1 - z_k - B z_k \big]_j , \qquad B = g M,$$
//!
//! has the expectation $G_{jj}$ (Bekas, Kokiopoulou and Saad, *Applied Numerical Mathematics* 57,
//! 2007): what is known of the diagonal is taken from the estimate, of $1 a^\top$ because almost
//! all of $G$ is of rank one if the chain mixes soon. The signs stay the same from one policy to
//! the next, so that $\sum_j w_j a_j / \hat G_{jj}$ is a smooth function of the policy. With
//! $v_j = w_j a_j / \hat G_{jj}^2$, $y_k = v z_k$ and
//! $\alpha_j = w_j / \hat G_{jj} - v_j + \frac1K \sum_k
//! (v^\top z_k) z_{jk}$ its derivative by $B_{st}$ is
//!
//! $$a_s (G \alpha)_t - \frac1K \sum_k (y_k^\top G)_s (G z_k)_t + \frac1K v_s \sum_k z_{sk} z_{tk}
//! - [s = t]\, v_s .$$
//!
//! Systems are solved by Richardson's iteration, all $z_k$ at once, with a correction along the
//! steady state in every sweep: it converges as fast as the chain mixes, and where that takes too
//! long there is no value.

use ide3al_numerics::parallel::share;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::world::World;

/// $K$.
pub const PROBES: usize = 32;
/// Residual at which a system counts as solved, as a share of the right-hand side.
const SOLVED: f64 = 1e-9;
/// Sweeps after which it is given up, and those for the steady state.
const SWEEPS: usize = 600;
const STEADY_SWEEPS: usize = 200;
/// Rows of one task.
const ROWS: usize = 512;
/// An estimate of $G_{jj} \ge 1$ below this is not one.
const LEAST: f64 = 0.25;

/// Estimates the share seen of one policy after another, in the same memory.
#[derive(Debug, Clone)]
pub struct Sampled<'a> {
    world: &'a World,
    /// First transition of each state, and the transitions into each with where they come from.
    first: Vec<usize>,
    first_in: Vec<usize>,
    into: Vec<(u32, u32)>,
    /// $B$.
    chain: Vec<f64>,
    own: Vec<f64>,
    steady: Vec<f64>,
    signs: Vec<f64>,
    arrivals: Vec<f64>,
    /// $G z_k$ and $y_k^\top G$.
    right: Vec<f64>,
    left: Vec<f64>,
    residual: Vec<f64>,
    later: Vec<f64>,
    single: Vec<f64>,
    slopes: Vec<f64>,
    error: f64,
}

impl<'a> Sampled<'a> {
    /// For the policies of a world without hubs and travel times, with the signs of a seed.
    pub fn new(world: &'a World, seed: u64) -> Self {
        let (n, edges) = (world.n_states(), world.rows.len());
        let count = |of: &[u32]| {
            let mut first = vec![0usize; n + 1];
            of.iter().for_each(|&s| first[s as usize + 1] += 1);
            (0..n).for_each(|s| first[s + 1] += first[s]);
            first
        };
        let (first, first_in) = (count(&world.rows), count(&world.columns));
        let (mut next, mut into) = (first_in.clone(), vec![(0, 0); edges]);
        for (e, (&s, &t)) in world.rows.iter().zip(&world.columns).enumerate() {
            into[next[t as usize]] = (e as u32, s);
            next[t as usize] += 1;
        }
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut sign = || if rng.random::<bool>() { 1.0 } else { -1.0 };
        let block = || vec![0.0; n * PROBES];
        Sampled {
            world,
            first,
            first_in,
            into,
            chain: vec![0.0; edges],
            own: vec![0.0; n],
            steady: vec![0.0; n],
            signs: (0..n * PROBES).map(|_| sign()).collect(),
            arrivals: vec![0.0; n],
            right: block(),
            left: block(),
            residual: block(),
            later: vec![0.0; n],
            single: vec![0.0; n],
            slopes: vec![0.0; edges],
            error: 0.0,
        }
    }

    /// Standard error of the value that was computed last, from the spread over the signs.
    pub fn error(&self) -> f64 {
        self.error
    }

    /// The share that a policy sees, about; not a number where the chain mixes too slowly. With
    /// `gradient`, its derivatives by the policy's entries.
    pub fn value(&mut self, policy: &[f64], gradient: Option<&mut [f64]>) -> f64 {
        let (world, n, g) = (self.world, self.world.n_states(), self.world.discount());
        self.chain.fill(0.0);
        self.own.fill(0.0);
        for (k, &p) in policy.iter().enumerate().filter(|(_, p)| **p > 0.0) {
            for &(edge, share) in &world.entries[world.offsets[k]..world.offsets[k + 1]] {
                self.chain[edge as usize] += g * p * share;
            }
        }
        for (e, (&s, &t)) in world.rows.iter().zip(&world.columns).enumerate() {
            if s == t {
                self.own[s as usize] += self.chain[e];
            }
        }
        self.settle();
        let mut room = std::mem::take(&mut self.residual);
        let mut arrivals = std::mem::take(&mut self.arrivals);
        let mut right = std::mem::take(&mut self.right);
        let solved = self.solve::<1>(&world.origin[..n], &mut arrivals, &mut room[..n], true)
            && self.solve::<PROBES>(&self.signs, &mut right, &mut room, false);
        let value = if solved {
            self.judge(&arrivals, &right, &mut room)
        } else {
            f64::NAN
        };
        if let Some(gradient) = gradient
            && value.is_finite()
        {
            let found = self.differentiate(&arrivals, &right, &mut room, gradient);
            gradient
                .iter_mut()
                .for_each(|x| *x *= if found { g } else { f64::NAN });
        }
        (self.residual, self.arrivals, self.right) = (room, arrivals, right);
        value
    }

    /// The value from $a$ and $G z_k$; leaves the estimates of $G_{jj}$ in `single`.
    fn judge(&mut self, arrivals: &[f64], right: &[f64], room: &mut [f64]) -> f64 {
        self.product::<PROBES>(&self.signs, room, false);
        let mut along = [0.0; PROBES];
        for (a, z) in arrivals.iter().zip(self.signs.chunks(PROBES)) {
            along.iter_mut().zip(z).for_each(|(sum, z)| *sum += a * z);
        }
        let (mut value, mut parts) = (0.0, [0.0; PROBES]);
        for (j, &a) in arrivals.iter().enumerate() {
            let at = j * PROBES;
            let rest = |k: usize| {
                let z = self.signs[at + k];
                z * (right[at + k] - along[k] - z - room[at + k])
            };
            let mean = (0..PROBES).map(rest).sum::<f64>() / PROBES as f64;
            let own = a + 1.0 + self.own[j] + mean;
            if !(own >= LEAST) {
                return f64::NAN;
            }
            let seen = self.world.weights[j] * a / own;
            value += seen;
            let slope = seen / own;
            for (k, part) in parts.iter_mut().enumerate() {
                *part += slope * (rest(k) - mean);
            }
            self.single[j] = own;
        }
        let squares: f64 = parts.iter().map(|x| x * x).sum();
        self.error = (squares / (PROBES * (PROBES - 1)) as f64).sqrt();
        value
    }

    /// Derivatives by the policy, without the discount; false where a system was not solved.
    fn differentiate(
        &mut self,
        arrivals: &[f64],
        right: &[f64],
        room: &mut [f64],
        gradient: &mut [f64],
    ) -> bool {
        let (world, n) = (self.world, self.world.n_states());
        let mut along = [0.0; PROBES];
        let mut v = vec![0.0; n];
        for (j, z) in self.signs.chunks(PROBES).enumerate() {
            v[j] = world.weights[j] * arrivals[j] / (self.single[j] * self.single[j]);
            along
                .iter_mut()
                .zip(z)
                .for_each(|(sum, z)| *sum += v[j] * z);
        }
        let each = 1.0 / PROBES as f64;
        let mut wanted = vec![0.0; n * PROBES];
        let mut alpha = vec![0.0; n];
        for (j, z) in self.signs.chunks(PROBES).enumerate() {
            let mixed: f64 = z.iter().zip(&along).map(|(z, x)| z * x).sum();
            alpha[j] = world.weights[j] / self.single[j] - v[j] + each * mixed;
            let row = &mut wanted[j * PROBES..(j + 1) * PROBES];
            row.iter_mut().zip(z).for_each(|(y, z)| *y = v[j] * z);
        }
        let mut later = std::mem::take(&mut self.later);
        let mut left = std::mem::take(&mut self.left);
        let solved = self.solve::<1>(&alpha, &mut later, &mut room[..n], false)
            && self.solve::<PROBES>(&wanted, &mut left, room, true);
        for (e, slope) in self.slopes.iter_mut().enumerate() {
            let (s, t) = (world.rows[e] as usize, world.columns[e] as usize);
            let (from, to) = (s * PROBES, t * PROBES);
            let mut sum = 0.0;
            for k in 0..PROBES {
                sum += v[s] * self.signs[from + k] * self.signs[to + k]
                    - left[from + k] * right[to + k];
            }
            let own = if s == t { v[s] } else { 0.0 };
            *slope = arrivals[s] * later[t] + each * sum - own;
        }
        (self.later, self.left) = (later, left);
        for (k, out) in gradient.iter_mut().enumerate() {
            let entries = &world.entries[world.offsets[k]..world.offsets[k + 1]];
            *out = entries
                .iter()
                .map(|(e, p)| p * self.slopes[*e as usize])
                .sum();
        }
        solved
    }

    /// The steady state, about: that of a chain which stays with probability one half.
    fn settle(&mut self) {
        let (n, g) = (self.world.n_states(), self.world.discount());
        self.steady.fill(1.0 / n as f64);
        let mut next = std::mem::take(&mut self.single);
        for _ in 0..STEADY_SWEEPS {
            self.product::<1>(&self.steady, &mut next, true);
            let mut change = 0.0;
            for (d, new) in self.steady.iter_mut().zip(&next) {
                let moved = 0.5 * (new / g - *d);
                *d += moved;
                change += moved.abs();
            }
            if change < SOLVED {
                break;
            }
        }
        self.single = next;
    }

    /// Solves $(I - B) x = b$, or transposed, for `N` right-hand sides, row by row.
    fn solve<const N: usize>(
        &self,
        b: &[f64],
        x: &mut [f64],
        residual: &mut [f64],
        transposed: bool,
    ) -> bool {
        let largest = |of: &[f64]| of.iter().fold(0.0f64, |most, x| most.max(x.abs()));
        let (enough, time) = (SOLVED * largest(b), self.world.within);
        x.fill(0.0);
        for _ in 0..SWEEPS {
            // what is left of b, and of it what the long run accounts for
            self.product::<N>(x, residual, transposed);
            let mut along = [0.0; N];
            let rows = residual.chunks_mut(N).zip(b.chunks(N).zip(x.chunks(N)));
            for ((r, (b, x)), d) in rows.zip(&self.steady) {
                for k in 0..N {
                    r[k] += b[k] - x[k];
                    along[k] += if transposed { r[k] } else { d * r[k] };
                }
            }
            let left = largest(residual);
            if !left.is_finite() {
                return false;
            }
            if left <= enough {
                return true;
            }
            for ((x, r), d) in x.chunks_mut(N).zip(residual.chunks(N)).zip(&self.steady) {
                let weight = (time - 1.0) * if transposed { *d } else { 1.0 };
                for k in 0..N {
                    x[k] += r[k] + weight * along[k];
                }
            }
        }
        false
    }

    /// $B x$, or $B^\top x$, of `N` vectors, row by row.
    fn product<const N: usize>(&self, x: &[f64], out: &mut [f64], transposed: bool) {
        let (chain, columns) = (&self.chain, &self.world.columns);
        share(out.chunks_mut(ROWS * N).enumerate(), |(task, out)| {
            for (i, out) in out.chunks_mut(N).enumerate() {
                let s = task * ROWS + i;
                let mut sum = [0.0; N];
                let mut add = |e: usize, other: u32| {
                    let row = &x[other as usize * N..(other as usize + 1) * N];
                    sum.iter_mut()
                        .zip(row)
                        .for_each(|(sum, x)| *sum += chain[e] * x);
                };
                if transposed {
                    for &(e, from) in &self.into[self.first_in[s]..self.first_in[s + 1]] {
                        add(e as usize, from);
                    }
                } else {
                    (self.first[s]..self.first[s + 1]).for_each(|e| add(e, columns[e]));
                }
                out.copy_from_slice(&sum);
            }
        });
    }
}

#[cfg(test)]
mod tests {
    use super::super::Reach;
    use super::super::seen::Seen;
    use super::*;
    use crate::domains::Garnet;
    use crate::model::Policy;

    fn world() -> (World, Vec<f64>) {
        let garnet = Garnet {
            states: 300,
            ..Garnet::default()
        };
        let mdp = garnet.build().unwrap();
        let world = World::new(&mdp, &Reach::with_xi(0.02)).unwrap();
        let policy = world.part(Policy::uniform(&mdp).probabilities());
        (world, policy)
    }

    #[test]
    fn estimates_agree_with_the_exact_value_within_their_error() {
        let (world, policy) = world();
        let exact = Seen::new(&world).value(&policy, None);
        for seed in 0..5 {
            let mut sampled = Sampled::new(&world, seed);
            let value = sampled.value(&policy, None);
            let error = sampled.error();
            assert!(error < 5e-3, "{error}");
            assert!(
                (value - exact).abs() < 4.0 * error + 1e-4,
                "{value} {exact} {error}"
            );
        }
    }

    #[test]
    fn the_gradient_is_that_of_the_estimate() {
        let (world, policy) = world();
        let mut sampled = Sampled::new(&world, 1);
        let mut gradient = vec![0.0; policy.len()];
        sampled.value(&policy, Some(&mut gradient));
        // along moves from one action to another
        for s in [0, 17, 150, 299] {
            let pair = world.pairs(s).start;
            let along = |step: f64| {
                let mut moved = policy.clone();
                moved[pair] += step;
                moved[pair + 1] -= step;
                moved
            };
            let above = sampled.value(&along(1e-4), None);
            let below = sampled.value(&along(-1e-4), None);
            let slope = gradient[pair] - gradient[pair + 1];
            let difference = (above - below) / 2e-4;
            assert!((slope - difference).abs() < 1e-6, "{slope} {difference}");
        }
    }
}
