//! The dominant eigenpair of an operator that is known only by its products.
//!
//! Arnoldi's method with thick restarts: after $m$ products the basis is replaced by one of
//! the Ritz vectors of largest modulus, which keeps what was learned (Stewart's Krylov-Schur
//! method, with the invariant subspace spanned by eigenvectors). The residual returned is
//! measured with the operator itself at the end, so that a basis spoilt by rounding cannot
//! pass for convergence.
//!
//! Reference: Stewart (2002), *SIAM Journal on Matrix Analysis and Applications* 23, 601-614.

use faer::Mat;
use rayon::prelude::*;

/// Entries of one partial sum: fixed, so that the bits do not depend on the thread count.
const CHUNK: usize = 1 << 14;

/// Size and effort of the search.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Effort {
    /// Vectors in the basis before a restart.
    pub(crate) basis: usize,
    /// Vectors kept by a restart.
    pub(crate) keep: usize,
    /// Stop at a residual of this.
    pub(crate) tolerance: f64,
    /// Stop after so many products.
    pub(crate) products: usize,
}

/// An approximate eigenpair $(\theta, x)$, $\lVert x \rVert_2 = 1$.
#[derive(Debug, Clone)]
pub(crate) struct Eigenpair {
    pub(crate) re: f64,
    pub(crate) im: f64,
    pub(crate) vector_re: Vec<f64>,
    pub(crate) vector_im: Vec<f64>,
    /// $\lVert A x - \theta x \rVert_2$, measured.
    pub(crate) residual: f64,
}

impl Eigenpair {
    pub(crate) fn modulus(&self) -> f64 {
        self.re.hypot(self.im)
    }
}

/// The eigenpair of largest modulus of `apply`, from a start vector that is not zero. `None`
/// if the small eigenproblem fails.
pub(crate) fn dominant(
    apply: &mut dyn FnMut(&[f64], &mut [f64]),
    start: Vec<f64>,
    effort: Effort,
) -> Option<Eigenpair> {
    let n = start.len();
    let most = effort.basis.min(n);
    let mut basis: Vec<Vec<f64>> = Vec::with_capacity(most + 1);
    let mut first = start;
    let length = norm(&first);
    scale(&mut first, 1.0 / length);
    basis.push(first);
    let mut h: Mat<f64> = Mat::zeros(most + 1, most);
    let (mut kept, mut products) = (0, 0);
    loop {
        let mut size = most;
        let mut invariant = false;
        for j in kept..most {
            let mut w = vec![0.0; n];
            apply(&basis[j], &mut w);
            products += 1;
            let before = norm(&w);
            for _ in 0..2 {
                for (i, v) in basis.iter().enumerate() {
                    let c = dot(v, &w);
                    h[(i, j)] += c;
                    add(&mut w, -c, v);
                }
            }
            let beta = norm(&w);
            h[(j + 1, j)] = beta;
            // nothing new: the basis spans an invariant subspace
            if beta <= 1e-14 * before.max(1e-2) || j + 1 == n {
                (size, invariant) = (j + 1, true);
                break;
            }
            scale(&mut w, 1.0 / beta);
            basis.push(w);
        }
        let small = h.as_ref().submatrix(0, 0, size, size);
        let eigen = small.eigen().ok()?;
        let (values, vectors) = (eigen.S().column_vector(), eigen.U());
        let mut ranks: Vec<usize> = (0..size).collect();
        ranks.sort_by(|&a, &b| {
            let (a, b) = (values[a], values[b]);
            let key = |z: faer::c64| z.re.hypot(z.im);
            key(b)
                .total_cmp(&key(a))
                .then(b.re.total_cmp(&a.re))
                .then(b.im.total_cmp(&a.im))
        });
        let top = ranks[0];
        let last = vectors[(size - 1, top)];
        let beta = h[(size, size - 1)];
        let estimate = beta * last.re.hypot(last.im);
        if invariant || estimate <= effort.tolerance || products >= effort.products {
            let mut pair = Eigenpair {
                re: values[top].re,
                im: values[top].im,
                vector_re: vec![0.0; n],
                vector_im: vec![0.0; n],
                residual: 0.0,
            };
            for (i, v) in basis[..size].iter().enumerate() {
                add(&mut pair.vector_re, vectors[(i, top)].re, v);
                add(&mut pair.vector_im, vectors[(i, top)].im, v);
            }
            measure(apply, &mut pair);
            return Some(pair);
        }
        // orthonormal coordinates of the wanted Ritz vectors
        let mut q: Vec<Vec<f64>> = Vec::new();
        for &r in &ranks {
            if q.len() >= effort.keep.min(size - 2) {
                break;
            }
            if values[r].im < 0.0 {
                // the partner of a conjugate pair spans the same plane
                continue;
            }
            let parts: [Vec<f64>; 2] = [
                (0..size).map(|i| vectors[(i, r)].re).collect(),
                (0..size).map(|i| vectors[(i, r)].im).collect(),
            ];
            for mut part in parts {
                let before = norm(&part);
                for _ in 0..2 {
                    for other in &q {
                        let c = dot(other, &part);
                        add(&mut part, -c, other);
                    }
                }
                let after = norm(&part);
                if after > 1e-10 && after > 1e-10 * before {
                    scale(&mut part, 1.0 / after);
                    q.push(part);
                }
            }
        }
        kept = q.len();
        let next = basis.pop()?;
        basis = q
            .iter()
            .map(|column| {
                let mut v = vec![0.0; n];
                for (c, b) in column.iter().zip(&basis) {
                    add(&mut v, *c, b);
                }
                v
            })
            .collect();
        basis.push(next);
        let mut restarted: Mat<f64> = Mat::zeros(most + 1, most);
        for (b, right) in q.iter().enumerate() {
            let image: Vec<f64> = (0..size)
                .map(|i| (0..size).map(|j| h[(i, j)] * right[j]).sum())
                .collect();
            for (a, left) in q.iter().enumerate() {
                restarted[(a, b)] = dot(left, &image);
            }
            restarted[(kept, b)] = beta * right[size - 1];
        }
        h = restarted;
    }
}

/// Normalises the vector and measures its residual.
fn measure(apply: &mut dyn FnMut(&[f64], &mut [f64]), pair: &mut Eigenpair) {
    let n = pair.vector_re.len();
    let length = norm(&pair.vector_re).hypot(norm(&pair.vector_im));
    if length == 0.0 {
        pair.residual = f64::INFINITY;
        return;
    }
    scale(&mut pair.vector_re, 1.0 / length);
    scale(&mut pair.vector_im, 1.0 / length);
    let mut image = vec![0.0; n];
    apply(&pair.vector_re, &mut image);
    add(&mut image, -pair.re, &pair.vector_re);
    add(&mut image, pair.im, &pair.vector_im);
    let real = norm(&image);
    let mut imaginary = 0.0;
    if pair.im != 0.0 {
        apply(&pair.vector_im, &mut image);
        add(&mut image, -pair.re, &pair.vector_im);
        add(&mut image, -pair.im, &pair.vector_re);
        imaginary = norm(&image);
    }
    pair.residual = real.hypot(imaginary);
}

pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    let plain = |a: &[f64], b: &[f64]| {
        // four sums, so that additions overlap
        let mut sums = [0.0; 4];
        let (ca, cb) = (a.chunks_exact(4), b.chunks_exact(4));
        let rest: f64 = ca
            .remainder()
            .iter()
            .zip(cb.remainder())
            .map(|(x, y)| x * y)
            .sum();
        for (x, y) in ca.zip(cb) {
            for k in 0..4 {
                sums[k] += x[k] * y[k];
            }
        }
        sums.iter().sum::<f64>() + rest
    };
    if a.len() <= CHUNK {
        return plain(a, b);
    }
    let parts: Vec<f64> = a
        .par_chunks(CHUNK)
        .zip(b.par_chunks(CHUNK))
        .map(|(a, b)| plain(a, b))
        .collect();
    parts.iter().sum()
}

pub(crate) fn norm(a: &[f64]) -> f64 {
    dot(a, a).sqrt()
}

fn scale(a: &mut [f64], factor: f64) {
    a.iter_mut().for_each(|x| *x *= factor);
}

pub(crate) fn add(target: &mut [f64], factor: f64, source: &[f64]) {
    let plain = |t: &mut [f64], s: &[f64]| {
        for (t, s) in t.iter_mut().zip(s) {
            *t += factor * s;
        }
    };
    if target.len() <= CHUNK {
        plain(target, source);
    } else {
        target
            .par_chunks_mut(CHUNK)
            .zip(source.par_chunks(CHUNK))
            .for_each(|(t, s)| plain(t, s));
    }
}
