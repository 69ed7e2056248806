//! Lower bounds on the entropy of the steady state: what the paper claims, and what holds.
//!
//! The paper bounds $H(d)$ from below by the distance of the chain $M$ from the doubly stochastic
//! matrices (theorems 2, 3 and 4). Its proof takes the fundamental matrix of a doubly stochastic
//! chain to have norm one, which is wrong: `docs/explanation/erratum.md` has a two-state
//! counterexample. [`paper_claims`] gives the paper's figures, as claims. [`certified`] gives a
//! bound that holds.
//!
//! # The bound that holds
//! Let $M$ be irreducible on $n$ states, $A = I - M$, $u$ uniform, $d$ stationary. The residual
//! $r^\top = u^\top M - u^\top$ of the uniform distribution has
//! $\|r\|_1 = \frac1n \sum_t |1 - \sum_s M_{st}|$, the Column Sum objective over $n$, and at most
//! $\|U - M\|_\infty$ and $\|U - M\|_F$ for every doubly stochastic $U$. For *any* matrix $Y$ and
//! vector $w$ let $F = AY - I + \mathbf 1 w^\top$. Since $(u-d)^\top A = -r^\top$ and
//! $(u-d)^\top \mathbf 1 = 0$,
//!
//! $$(u-d)^\top (I + F) = (u-d)^\top A Y = -r^\top Y .$$
//!
//! Hence, if $\|F\| < 1$, with $\tau(Y) = \frac12 \max_{ij} \|Y_i - Y_j\|_1$ and $\sigma(Y)$ the
//! largest singular value of $(I - \mathbf 1 u^\top) Y$ (both because $r^\top \mathbf 1 = 0$),
//!
//! $$\|d-u\|_1 \le \frac{\tau(Y)\,\|r\|_1}{1 - \|F\|_\infty}, \qquad
//!   \|d-u\|_2 \le \frac{\sigma(Y)\,\|r\|_2}{1 - \|F\|_F} .$$
//!
//! $Y$ is the computed fundamental matrix of $M$, for which $F$ is rounding; because $F$ is
//! measured, nothing rests on how well $Y$ was computed. Two bounds on the entropy follow, and
//! the larger one is the *corrected theorem*:
//!
//! * [`least_entropy`], the smallest entropy of any distribution within $\|d-u\|_1$ of uniform;
//! * $H(d) \ge -\ln \sum_s d_s^2 = \ln n - \ln(1 + n \|d-u\|_2^2)$ (Jensen), which is quadratic
//!   near uniform as the paper's claim is.
//!
//! # Tighter
//! Nothing above needs $u$ to be uniform. With the computed steady state $w$ in its place the
//! residual is rounding,
//! $T = \frac12 \|d-w\|_1 \le \frac12 \tau(Y) \|M^\top w - w\|_1 / (1 - \|F\|_\infty)$ is tiny, and
//!
//! $$H(d) \ge H(w) - T \ln(n-1) + T \ln T + (1-T) \ln(1-T)$$
//!
//! (Audenaert 2007). This is the *certified* bound: the computed entropy less what a measured
//! error can have added.
//!
//! A chain with several recurrent classes ends in one of them, so $H(d)$ is at least the
//! smallest of the classes' bounds, from any start.

use faer::linalg::solvers::DenseSolveCore;
use faer::{Mat, MatRef};
use serde::Serialize;

use super::entropy::entropy;
use super::{Chain, Classes, gth};

/// Largest recurrent class whose fundamental matrix is formed.
pub const CERTIFIED_LIMIT: usize = 1_000;

/// Distances of a chain from the doubly stochastic matrices; `None` where not computed.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Distances {
    /// $\min_U \|U - M\|_\infty$.
    pub infinity: Option<f64>,
    /// $\min_U \|U - M\|_F$.
    pub frobenius: Option<f64>,
    /// $\sum_t |1 - \sum_s M_{st}|$.
    pub column_sum: f64,
}

/// What the paper's theorems claim $H(d)$ to be at least, in nats. **Not** guarantees.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct PaperClaims {
    /// Theorem 2: $\ln S - S \min_U \|U - M\|_\infty^2$.
    pub infinity: Option<f64>,
    /// Theorem 3: $\ln S - S^2 \min_U \|U - M\|_F^2$.
    pub frobenius: Option<f64>,
    /// Theorem 4: $\ln S - S \big(\sum_t |1 - \sum_s M_{st}|\big)^2$.
    pub column_sum: f64,
}

/// The paper's three figures for a chain with these distances.
pub fn paper_claims(n_states: usize, distances: &Distances) -> PaperClaims {
    let n = n_states as f64;
    PaperClaims {
        infinity: distances.infinity.map(|x| n.ln() - n * x * x),
        frobenius: distances.frobenius.map(|x| n.ln() - n * n * x * x),
        column_sum: n.ln() - n * distances.column_sum * distances.column_sum,
    }
}

/// Lower bounds on $H(d)$ that hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Certified {
    /// At most $H(d)$, in nats; zero where nothing better could be proven.
    pub entropy: f64,
    /// The corrected theorem: at most $H(d)$, and what the distance from doubly stochastic and
    /// the condition number alone prove.
    pub theorem: f64,
    /// Why `entropy` is zero, where it is for want of a proof.
    pub reason: Option<&'static str>,
    /// $\tau$ of the recurrent class with the weakest bound: how far the steady state moves, in
    /// the sum of absolute differences, per unit of residual.
    pub condition: Option<f64>,
}

/// Smallest entropy of a distribution $p$ on $n$ states with $\|p - u\|_1 \le \delta$.
///
/// Every such $p$ has its $k$ largest entries summing to at most $\min(1, k/n + \delta/2)$, and
/// $q = (\frac1n + \frac\delta2, \frac1n, \dots, \frac1n, \text{rest}, 0, \dots, 0)$, which has
/// $\delta/2$ of mass moved onto one state by emptying others one after the other, attains all
/// these sums. So $q$ majorises $p$, and entropy is Schur-concave.
///
/// ```
/// use ide3al::chain::bounds::least_entropy;
/// assert_eq!(least_entropy(4, 0.0), 4f64.ln());
/// assert_eq!(least_entropy(4, 1.5), 0.0);
/// ```
pub fn least_entropy(n: usize, delta: f64) -> f64 {
    let size = n as f64;
    let moved = delta / 2.0;
    if n <= 1 || moved.is_nan() || moved >= 1.0 - 1.0 / size {
        return 0.0;
    }
    if moved <= 0.0 {
        return size.ln();
    }
    let minus_p_ln_p = |p: f64| if p > 0.0 { -p * p.ln() } else { 0.0 };
    // moved < (n - 1) / n, so at most n - 2 states are emptied and one keeps a rest
    let emptied = (moved * size).floor().min(size - 2.0);
    let rest = (1.0 / size - (moved - emptied / size)).max(0.0);
    minus_p_ln_p(1.0 / size + moved)
        + (size - 2.0 - emptied) / size * size.ln()
        + minus_p_ln_p(rest)
}

/// A lower bound on the entropy of the long-run distribution of a chain, from any start; see
/// the [module](self) for the proof.
///
/// The chain is the one whose off-diagonal entries are those stored (a diagonal is what is left
/// of the row), as for [GTH](super::gth). Costs $O(n^3)$; classes of more than
/// [`CERTIFIED_LIMIT`] states get the trivial bound zero.
///
/// ```
/// use ide3al::chain::bounds::certified;
/// use ide3al::model::{Mdp, Policy};
/// let mdp = Mdp::from_dense(2, 1, &[0.999, 0.001, 0.01, 0.99])?;
/// let bound = certified(&mdp.chain(&Policy::uniform(&mdp)));
/// // H(d) = 0.3046
/// assert!((bound.entropy - 0.3046).abs() < 1e-4);
/// # Ok::<(), ide3al::Error>(())
/// ```
pub fn certified(chain: &Chain) -> Certified {
    let classes = Classes::of(chain);
    let mut weakest: Option<Certified> = None;
    for class in &classes.recurrent {
        let bound = of_class(chain, &class.states);
        weakest = Some(match weakest {
            None => bound,
            Some(old) => Certified {
                theorem: old.theorem.min(bound.theorem),
                ..if bound.entropy < old.entropy {
                    bound
                } else {
                    old
                }
            },
        });
    }
    // a finite chain has a recurrent class
    weakest.unwrap_or(nothing("the chain has no states"))
}

fn nothing(reason: &'static str) -> Certified {
    Certified {
        entropy: 0.0,
        theorem: 0.0,
        reason: Some(reason),
        condition: None,
    }
}

fn of_class(chain: &Chain, states: &[u32]) -> Certified {
    let n = states.len();
    if n == 1 {
        return Certified {
            entropy: 0.0,
            theorem: 0.0,
            reason: Some("the long run can end in a single state"),
            condition: Some(0.0),
        };
    }
    if n > CERTIFIED_LIMIT {
        return nothing("the chain is too large for its fundamental matrix");
    }
    let rates = rates(chain, states);
    let Some(inverse) = Inverse::of(n, &rates) else {
        return nothing("the chain is too close to falling apart for floating point");
    };
    // covers the rounding of norms, of order n^2 eps
    let safety = 1.0 + 1e-8;
    let tau = inverse.tau() * safety / (1.0 - inverse.error_rows);
    let sigma = inverse.sigma() * safety / (1.0 - inverse.error_squares);
    let size = n as f64;
    // covers the rounding of the entropies themselves
    let slack = 1e-13 * size.ln().max(1.0) * size.sqrt();
    let (r1, r2) = residual_norms(n, &rates, &vec![1.0 / size; n]);
    let absolute = least_entropy(n, tau * r1 * safety);
    let euclidean = sigma * r2 * safety;
    let quadratic = size.ln() - (size * euclidean * euclidean).ln_1p();
    let theorem = (absolute.max(quadratic) - slack).max(0.0);
    let (left, _) = residual_norms(n, &rates, &inverse.w);
    let near = entropy(&inverse.w) - entropy_change(n, tau * left * safety / 2.0) - slack;
    let entropy = theorem.max(near);
    if entropy > 0.0 {
        Certified {
            entropy,
            theorem,
            reason: None,
            condition: Some(tau),
        }
    } else {
        Certified {
            condition: Some(tau),
            ..nothing("the chain is too close to falling apart for floating point")
        }
    }
}

/// Largest difference of the entropies of two distributions on `n` outcomes at total
/// variation `t`: $t \ln(n-1) + h(t)$ up to $t = 1 - \frac1n$, then $\ln n$.
///
/// Reference: Audenaert (2007), *J. Phys. A* 40, 8127-8136.
fn entropy_change(n: usize, t: f64) -> f64 {
    let size = n as f64;
    if t <= 0.0 {
        0.0
    } else if t < 1.0 - 1.0 / size {
        t * (size - 1.0).ln() - t * t.ln() - (1.0 - t) * (-t).ln_1p()
    } else {
        // NaN ends here as well
        size.ln()
    }
}

/// Off-diagonal entries of the chain on a closed class, row by row; diagonals are zero.
fn rates(chain: &Chain, states: &[u32]) -> Vec<f64> {
    let n = states.len();
    let mut local = vec![usize::MAX; chain.n_states()];
    for (i, &s) in states.iter().enumerate() {
        local[s as usize] = i;
    }
    let mut rates = vec![0.0; n * n];
    for (i, &s) in states.iter().enumerate() {
        let row = chain.kernel().row(s as usize);
        let target = &mut rates[i * n..(i + 1) * n];
        // a uniform share reaches every state, so the class is the whole chain
        target.fill(row.spread / chain.n_states() as f64);
        for (t, p) in row.entries() {
            if local[t] != usize::MAX {
                target[local[t]] += p;
            }
        }
        target[i] = 0.0;
    }
    rates
}

/// $\|r\|_1$ and $\|r\|_2$ of $r = M^\top p - p$, which is inflow minus outflow, rounding included.
/// Flows of off-diagonal entries keep digits that sums of whole columns would lose.
fn residual_norms(n: usize, rates: &[f64], p: &[f64]) -> (f64, f64) {
    let mut inflow = vec![0.0; n];
    let mut outflow = vec![0.0; n];
    for ((row, weight), out) in rates.chunks_exact(n).zip(p).zip(&mut outflow) {
        for (into, rate) in inflow.iter_mut().zip(row) {
            *into += weight * rate;
            *out += weight * rate;
        }
    }
    let unit = (n + 4) as f64 * f64::EPSILON;
    let (mut sum, mut squares) = (0.0, 0.0);
    for (into, out) in inflow.iter().zip(&outflow) {
        let r = (into - out).abs() + unit * (into + out);
        sum += r;
        squares += r * r;
    }
    (sum, squares.sqrt())
}

/// A computed $Y$ with $AY = I - \mathbf 1 w^\top + F$, and proven norms of $F$.
struct Inverse {
    n: usize,
    /// Row-major.
    y: Vec<f64>,
    /// The computed steady state.
    w: Vec<f64>,
    /// At least $\|F\|_\infty$.
    error_rows: f64,
    /// At least $\|F\|_F$.
    error_squares: f64,
}

impl Inverse {
    /// `None` where no $Y$ with $\|F\| \le \frac12$ was found.
    fn of(n: usize, rates: &[f64]) -> Option<Self> {
        let w = gth::stationary_dense(n, &mut rates.to_vec());
        // any scale of the rank-one part will do: the largest outflow keeps the pivots of a
        // chain that is slow everywhere comparable
        let scale = rates
            .chunks_exact(n)
            .map(|row| row.iter().sum::<f64>())
            .fold(0.0, f64::max);
        let fundamental = Mat::from_fn(n, n, |i, j| {
            let diagonal = if i == j {
                rates[i * n..(i + 1) * n].iter().sum()
            } else {
                0.0
            };
            diagonal - rates[i * n + j] + scale * w[j]
        });
        let y = fundamental.partial_piv_lu().inverse();
        let mut inverse = Inverse {
            n,
            y: row_major(y.as_ref()),
            w,
            error_rows: f64::INFINITY,
            error_squares: f64::INFINITY,
        };
        for round in 0..3 {
            let error = inverse.measure(rates);
            let small = inverse.error_rows <= 1e-6 && inverse.error_squares <= 1e-6;
            if small || round == 2 || !inverse.error_rows.is_finite() {
                break;
            }
            // A (Y - Y F) = I - 1 w' + O(F^2): one step of Newton's method for inverses
            let y = MatRef::from_row_major_slice(&inverse.y, n, n);
            let f = MatRef::from_row_major_slice(&error, n, n);
            inverse.y = row_major((y - y * f).as_ref());
        }
        // written so that NaN fails
        (inverse.error_rows <= 0.5 && inverse.error_squares <= 0.5).then_some(inverse)
    }

    /// $F_{ij} = \sum_k M_{ik} (Y_{ij} - Y_{kj}) - I_{ij} + w_j$; keeps its norms, rounding
    /// included.
    fn measure(&mut self, rates: &[f64]) -> Vec<f64> {
        let n = self.n;
        let unit = (n + 4) as f64 * f64::EPSILON;
        let mut error = vec![0.0; n * n];
        let mut sizes = vec![0.0; n];
        let (mut rows, mut squares) = (0.0, 0.0);
        for i in 0..n {
            let own = &self.y[i * n..(i + 1) * n];
            let row = &mut error[i * n..(i + 1) * n];
            row.copy_from_slice(&self.w);
            row[i] -= 1.0;
            sizes.fill(2.0);
            for (k, &rate) in rates[i * n..(i + 1) * n].iter().enumerate() {
                if rate > 0.0 {
                    let other = &self.y[k * n..(k + 1) * n];
                    for j in 0..n {
                        let term = rate * (own[j] - other[j]);
                        row[j] += term;
                        sizes[j] += term.abs();
                    }
                }
            }
            let mut sum = 0.0;
            for (f, size) in row.iter().zip(&sizes) {
                let f = f.abs() + unit * size;
                sum += f;
                squares += f * f;
            }
            // f64::max would drop a NaN
            rows = if sum <= rows { rows } else { sum };
        }
        self.error_rows = rows;
        self.error_squares = squares.sqrt();
        error
    }

    /// $\tau(Y) = \frac12 \max_{ij} \|Y_i - Y_j\|_1$.
    fn tau(&self) -> f64 {
        let n = self.n;
        let mut largest = 0.0f64;
        for i in 0..n {
            let a = &self.y[i * n..(i + 1) * n];
            for b in self.y[(i + 1) * n..].chunks_exact(n) {
                let sum: f64 = a.iter().zip(b).map(|(x, y)| (x - y).abs()).sum();
                largest = largest.max(sum);
            }
        }
        largest / 2.0
    }

    /// At least the largest singular value of $X = (I - \mathbf 1 u^\top) Y$, and at most 3 % more:
    /// $\|G\|_2 \le \|G^{64}\|_F^{1/64} \le n^{1/128} \|G\|_2$ for $G = X X^\top$.
    fn sigma(&self) -> f64 {
        let n = self.n;
        let mut x = self.y.clone();
        let mut mean = vec![0.0; n];
        for row in x.chunks_exact(n) {
            mean.iter_mut().zip(row).for_each(|(m, v)| *m += v);
        }
        for row in x.chunks_exact_mut(n) {
            let shifted = row.iter_mut().zip(&mean);
            shifted.for_each(|(v, m)| *v -= m / n as f64);
        }
        let x = MatRef::from_row_major_slice(&x, n, n);
        let mut power = x * x.transpose();
        // ln of what was divided out of the power so far
        let mut logarithm = 0.0;
        for _ in 0..6 {
            let norm = power.norm_l2();
            if !(norm > 0.0 && norm.is_finite()) {
                return if norm == 0.0 { 0.0 } else { f64::INFINITY };
            }
            let scaled = &power * faer::Scale(1.0 / norm);
            power = &scaled * &scaled;
            logarithm = 2.0 * (logarithm + norm.ln());
        }
        ((logarithm + power.norm_l2().ln()) / 128.0).exp()
    }
}

fn row_major(matrix: MatRef<'_, f64>) -> Vec<f64> {
    let mut out = Vec::with_capacity(matrix.nrows() * matrix.ncols());
    for i in 0..matrix.nrows() {
        out.extend((0..matrix.ncols()).map(|j| matrix[(i, j)]));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_entropy_is_the_smallest_of_all() {
        use rand::{RngExt, SeedableRng};
        let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(5);
        for _ in 0..20_000 {
            let n = rng.random_range(2..8);
            let power = 4.0 * rng.random::<f64>();
            let mut p: Vec<f64> = (0..n).map(|_| rng.random::<f64>().powf(power)).collect();
            let sum: f64 = p.iter().sum();
            p.iter_mut().for_each(|x| *x /= sum);
            let delta: f64 = p.iter().map(|x| (x - 1.0 / n as f64).abs()).sum();
            assert!(least_entropy(n, delta) <= entropy(&p) + 1e-14, "{p:?}");
        }
        // attained: a quarter moved onto the first of four states empties the last
        let q = [0.5, 0.25, 0.25, 0.0];
        assert!((least_entropy(4, 0.5) - entropy(&q)).abs() < 1e-15);
    }

    #[test]
    fn several_classes_are_bounded_by_the_weakest() {
        // {0, 1} alternate, {2, 3, 4} rotate, 5 goes to either
        let entries = [
            (0, 1, 1.0),
            (1, 0, 1.0),
            (2, 3, 1.0),
            (3, 4, 1.0),
            (4, 2, 1.0),
            (5, 0, 0.5),
            (5, 2, 0.5),
        ];
        let chain = Chain::from_entries(6, &entries, vec![]);
        let bound = certified(&chain);
        assert!((bound.entropy - 2f64.ln()).abs() < 1e-10 && bound.entropy <= 2f64.ln());
    }

    #[test]
    fn hopeless_chains_get_a_trivial_bound() {
        let entries = [(0, 0, 1.0), (0, 1, 1e-300), (1, 0, 1e-20), (1, 1, 1.0)];
        let bound = certified(&Chain::from_entries(2, &entries, vec![]));
        assert_eq!(bound.entropy, 0.0);
        assert!(bound.reason.is_some());
    }

    #[test]
    fn uniform_shares_count() {
        // every row uniform: d = u exactly
        let chain = Chain::from_entries(4, &[], vec![1.0; 4]);
        let bound = certified(&chain);
        assert!((bound.entropy - 4f64.ln()).abs() < 1e-10);
    }
}
