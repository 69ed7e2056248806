//! The second largest eigenvalue modulus and the spectral gap.
//!
//! Eigenvalues of $M$ are counted with multiplicity: with two recurrent classes the
//! eigenvalue 1 occurs twice, and a class of period $p$ has all $p$-th roots of unity, so in
//! both cases the second modulus is exactly 1 and the gap exactly 0; [`Classes`] settles these
//! without numerics. A chain of one state has no second eigenvalue; it counts as 0.
//!
//! Otherwise 1 is simple and all others lie strictly inside the unit disc. It is taken out by
//! deflation, $E = M - \mathbf 1 d^\top$, whose largest eigenvalue modulus is wanted: from all
//! eigenvalues of the dense matrix for small chains, by restarted Arnoldi for larger ones, and by
//! the dense matrix again where Arnoldi does not settle and memory allows. Where the mixing time
//! was found by the slow part of a chain (`slow_part.rs`), $E^s$ is at hand in few dimensions, and
//! so are its eigenvalues.
//!
//! **Error.** A computed eigenvalue is an exact one of a matrix $E + F$ with small
//! $\lVert F \rVert$, and moves by about $\kappa \lVert F \rVert$, where
//! $\kappa = \lVert w \rVert \lVert x \rVert / |w^\top x|$ with right and left eigenvectors
//! $x, w$. That product is reported, and where it is not small, the largest change that a few
//! random perturbations of the size of rounding cause. Single Chain under the uniform policy
//! has the eigenvalue 0 in a Jordan block of size 9, so rounding of $10^{-16}$ moves it by
//! about $10^{-16/9} \approx 0.02$, and the figure says so.

use faer::{Mat, MatRef, c64};
use rand::{RngExt, SeedableRng};

use super::krylov::{self, Effort, Eigenpair};
use super::power::Forward;
use super::stationary::{LongRun, dense_matrix};
use super::{Chain, Classes};

/// Up to this size all eigenvalues are computed.
const SMALL: usize = 64;
/// Up to this size all eigenvalues are computed where Arnoldi does not settle.
const DENSE_LIMIT: usize = 1_200;
/// Errors above this are measured by perturbation rather than to first order.
const ILL_CONDITIONED: f64 = 1e-7;
/// Residual asked of Arnoldi.
pub const TOLERANCE: f64 = 1e-12;

/// How a second eigenvalue was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SpectrumKind {
    /// Known from the classes alone.
    Exact,
    /// Computed to rounding or to [`TOLERANCE`]; the error says what that means here.
    Converged,
    /// The best value that a bounded number of products gave; its error is only the
    /// residual and may be too small.
    Estimate,
}

impl SpectrumKind {
    /// Name in JSON and tables.
    pub fn name(self) -> &'static str {
        match self {
            SpectrumKind::Exact => "exact",
            SpectrumKind::Converged => "converged",
            SpectrumKind::Estimate => "estimate",
        }
    }
}

/// Second largest eigenvalue modulus $|\lambda_2|$.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SecondEigenvalue {
    /// $|\lambda_2|$.
    pub modulus: f64,
    /// Estimated error of the modulus, and so of the gap; see the [module](self).
    pub error: f64,
    /// How it was found.
    pub kind: SpectrumKind,
}

impl SecondEigenvalue {
    /// $1 - |\lambda_2|$.
    pub fn spectral_gap(&self) -> f64 {
        1.0 - self.modulus
    }

    fn exact(modulus: f64) -> Self {
        SecondEigenvalue {
            modulus,
            error: 0.0,
            kind: SpectrumKind::Exact,
        }
    }
}

/// The second eigenvalue without its error: what a learning loop needs, at less than half
/// the cost.
pub fn second_modulus(chain: &Chain, long_run: &LongRun) -> f64 {
    if let Some(known) = known(chain, &long_run.classes) {
        return known;
    }
    let d = &long_run.distribution;
    if chain.n_states() <= SMALL {
        return dense_modulus(chain, d).unwrap_or(f64::NAN);
    }
    let arnoldi = right(chain, d, 1e-10);
    match arnoldi {
        Some(pair) if pair.residual <= 1e-9 => pair.modulus().min(1.0),
        other => dense_or_found(chain, d, other).map_or(f64::NAN, |(modulus, _)| modulus),
    }
}

/// The second eigenvalue with an estimate of its error.
pub fn second_eigenvalue(chain: &Chain, long_run: &LongRun) -> SecondEigenvalue {
    if let Some(known) = known(chain, &long_run.classes) {
        return SecondEigenvalue::exact(known);
    }
    let d = &long_run.distribution;
    let n = chain.n_states();
    if n <= SMALL
        && let Some(found) = dense_with_error(chain, d)
    {
        return found;
    }
    let pair = right(chain, d, TOLERANCE);
    if let Some(pair) = &pair
        && pair.residual <= 100.0 * TOLERANCE
    {
        let perturbation = pair.residual + f64::EPSILON;
        return SecondEigenvalue {
            modulus: pair.modulus().min(1.0),
            error: (perturbation * condition(chain, d, pair)).min(1.0),
            kind: SpectrumKind::Converged,
        };
    }
    let residual = pair.as_ref().map_or(1.0, |p| p.residual);
    match dense_or_found(chain, d, pair) {
        Some((modulus, true)) => SecondEigenvalue {
            modulus,
            // without eigenvectors: the size of rounding, amplified as far as Arnoldi saw
            error: (n as f64 * f64::EPSILON).sqrt().min(residual.max(1e-12)),
            kind: SpectrumKind::Converged,
        },
        Some((modulus, false)) => SecondEigenvalue {
            modulus,
            error: residual.min(1.0),
            kind: SpectrumKind::Estimate,
        },
        None => SecondEigenvalue {
            modulus: f64::NAN,
            error: 1.0,
            kind: SpectrumKind::Estimate,
        },
    }
}

/// What the classes alone decide.
fn known(chain: &Chain, classes: &Classes) -> Option<f64> {
    if !classes.is_mixing() {
        return Some(1.0);
    }
    (chain.n_states() == 1).then_some(0.0)
}

fn deflated(chain: &Chain, d: &[f64]) -> Mat<f64> {
    let n = chain.n_states();
    let mut matrix = dense_matrix(chain.kernel());
    for row in matrix.chunks_exact_mut(n) {
        row.iter_mut().zip(d).for_each(|(m, d)| *m -= d);
    }
    MatRef::from_row_major_slice(&matrix, n, n).to_owned()
}

fn dense_modulus(chain: &Chain, d: &[f64]) -> Option<f64> {
    Some(largest_modulus(&deflated(chain, d))?.min(1.0))
}

fn largest_modulus(matrix: &Mat<f64>) -> Option<f64> {
    let values = matrix.eigenvalues().ok()?;
    Some(values.iter().fold(0.0, |m, z| m.max(z.re.hypot(z.im))))
}

fn dense_with_error(chain: &Chain, d: &[f64]) -> Option<SecondEigenvalue> {
    let matrix = deflated(chain, d);
    let rounding = rounding_of(&matrix);
    let largest = Largest::of(&matrix)?;
    let mut error = (rounding * largest.condition).max(largest.apart);
    if error.is_nan() || error > ILL_CONDITIONED {
        // first order says little here: see how far rounding really moves it
        error = perturbed_change(&matrix, largest.modulus, rounding)?;
    }
    Some(SecondEigenvalue {
        modulus: largest.modulus.min(1.0),
        error: error.min(1.0),
        kind: SpectrumKind::Converged,
    })
}

/// From $BQ$, whose eigenvalues are those of $QB$, zeros apart, and so of $E^s$ but for what is
/// `missing` of $\lVert E^s - QB \rVert \lVert B \rVert$; nothing where they are too sensitive.
pub(super) fn of_power(core: &Mat<f64>, steps: u64, missing: f64) -> Option<SecondEigenvalue> {
    let largest = Largest::of(core)?;
    let power = largest.modulus;
    // a left eigenvector w of BQ is B'w of QB, and w'BQx = λ w'x
    let perturbation = missing / power + rounding_of(core);
    let error = (perturbation * largest.condition).max(largest.apart);
    let modulus = power.powf(1.0 / steps as f64);
    (error <= ILL_CONDITIONED * power).then_some(SecondEigenvalue {
        modulus: modulus.min(1.0),
        // the root of a power moves by so much, to first order
        error: (error * modulus / (power * steps as f64) + f64::EPSILON).min(1.0),
        kind: SpectrumKind::Converged,
    })
}

fn rounding_of(matrix: &Mat<f64>) -> f64 {
    f64::EPSILON * (matrix.norm_l2() * (matrix.nrows() as f64).sqrt() + 1.0)
}

/// The largest eigenvalue modulus of a small matrix.
struct Largest {
    modulus: f64,
    /// How far a perturbation of the matrix moves it, per unit and to first order.
    condition: f64,
    /// How far the matrix and its transpose are apart about it.
    apart: f64,
}

impl Largest {
    fn of(matrix: &Mat<f64>) -> Option<Self> {
        let n = matrix.nrows();
        let right = matrix.eigen().ok()?;
        let left = matrix.transpose().eigen().ok()?;
        let modulus = |z: c64| z.re.hypot(z.im);
        let (r, l) = (right.S().column_vector(), left.S().column_vector());
        let top = (0..n).max_by(|&a, &b| modulus(r[a]).total_cmp(&modulus(r[b])))?;
        let away = |i: usize| modulus(l[i] - r[top]);
        let partner = (0..n).min_by(|&a, &b| away(a).total_cmp(&away(b)))?;
        let (x, w) = (right.U().col(top), left.U().col(partner));
        let product = (0..n).fold(c64::new(0.0, 0.0), |sum, i| sum + x[i] * w[i]);
        Some(Largest {
            modulus: modulus(r[top]),
            condition: x.norm_l2() * w.norm_l2() / modulus(product),
            apart: away(partner),
        })
    }
}

/// Twice the largest change of the modulus under a few random perturbations of this size.
fn perturbed_change(matrix: &Mat<f64>, modulus: f64, size: f64) -> Option<f64> {
    let n = matrix.nrows();
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(0xde7ec7);
    let mut change = 0.0f64;
    for _ in 0..4 {
        let moved = Mat::from_fn(n, n, |i, j| {
            matrix[(i, j)] + size * (2.0 * rng.random::<f64>() - 1.0)
        });
        change = change.max((largest_modulus(&moved)? - modulus).abs());
    }
    Some(2.0 * change)
}

/// How much effort a chain of this size is worth.
fn effort(chain: &Chain) -> Effort {
    let (n, nnz) = (chain.n_states(), chain.kernel().nnz());
    let basis = if n > 200_000 { 20 } else { 50 };
    // a bounded number of elementary operations, at least one full basis
    let each = nnz + 2 * basis * n;
    Effort {
        basis,
        keep: 2 * basis / 5,
        tolerance: TOLERANCE,
        products: (600_000_000 / each).clamp(basis, 3_000),
    }
}

/// A random vector after a few dozen products, which leave little of the fast modes and
/// cost far less than letting Arnoldi remove them.
fn smoothed_start(
    n: usize,
    products: usize,
    apply: &mut dyn FnMut(&[f64], &mut [f64]),
) -> Vec<f64> {
    let mut rng = rand_chacha::ChaCha8Rng::seed_from_u64(0x5eed);
    let mut x: Vec<f64> = (0..n).map(|_| rng.random::<f64>() - 0.5).collect();
    let mut next = vec![0.0; n];
    let first = krylov::norm(&x);
    for _ in 0..products {
        apply(&x, &mut next);
        // rounding takes over where hardly anything is left
        if krylov::norm(&next) < 1e-3 * first {
            break;
        }
        std::mem::swap(&mut x, &mut next);
    }
    x
}

/// Products before Arnoldi.
fn smoothing(chain: &Chain) -> usize {
    (40_000_000 / (chain.kernel().nnz() + chain.n_states())).clamp(1, 60)
}

fn right(chain: &Chain, d: &[f64], tolerance: f64) -> Option<Eigenpair> {
    let mut apply = |x: &[f64], out: &mut [f64]| {
        chain.kernel().times(x, out);
        let mean = krylov::dot(d, x);
        out.iter_mut().for_each(|v| *v -= mean);
    };
    let effort = Effort {
        tolerance,
        ..effort(chain)
    };
    let start = smoothed_start(chain.n_states(), smoothing(chain), &mut apply);
    krylov::dominant(&mut apply, start, effort)
}

/// $\lVert w \rVert \lVert x \rVert / |w^\top x|$, with the left eigenvector by Arnoldi too.
fn condition(chain: &Chain, d: &[f64], right: &Eigenpair) -> f64 {
    let forward = Forward::new(chain.kernel());
    let mut apply = |x: &[f64], out: &mut [f64]| {
        forward.apply(x, out);
        let sum: f64 = x.iter().sum();
        out.iter_mut().zip(d).for_each(|(v, d)| *v -= sum * d);
    };
    let start = smoothed_start(chain.n_states(), smoothing(chain), &mut apply);
    let left = krylov::dominant(&mut apply, start, effort(chain));
    let Some(left) = left else {
        return f64::INFINITY;
    };
    // Arnoldi may have settled on the conjugate, whose eigenvector is the conjugate
    let sign = if left.im * right.im < 0.0 { -1.0 } else { 1.0 };
    let (xr, xi, wr, wi) = (
        &right.vector_re,
        &right.vector_im,
        &left.vector_re,
        &left.vector_im,
    );
    let re = krylov::dot(xr, wr) - sign * krylov::dot(xi, wi);
    let im = krylov::dot(xi, wr) + sign * krylov::dot(xr, wi);
    1.0 / re.hypot(im)
}

/// All eigenvalues where memory and time allow; otherwise what Arnoldi had. The flag says
/// whether it is final.
fn dense_or_found(chain: &Chain, d: &[f64], found: Option<Eigenpair>) -> Option<(f64, bool)> {
    if chain.n_states() <= DENSE_LIMIT
        && let Some(modulus) = dense_modulus(chain, d)
    {
        return Some((modulus, true));
    }
    found.map(|pair| (pair.modulus().min(1.0), false))
}
