//! Sums and products of short vectors, in one fixed order on the calling thread. (Long ones: [`parallel`](super::parallel).)

/// $\sum_i a_i b_i$, as far as both go.
#[inline]
pub(crate) fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// $y \leftarrow y + c\, x$.
#[inline]
pub(crate) fn add(y: &mut [f64], c: f64, x: &[f64]) {
    for (y, x) in y.iter_mut().zip(x) {
        *y += c * x;
    }
}

/// The largest absolute value.
#[inline]
pub(crate) fn largest(a: &[f64]) -> f64 {
    a.iter().fold(0.0, |most: f64, x| most.max(x.abs()))
}
