//! The two questions that learning asks of a chain.

use crate::chain::Chain;
use crate::error::Result;

/// Long-run distribution from the start.
pub(crate) fn long_run(chain: &Chain) -> Result<Vec<f64>> {
    // stand-in until the chain analysis is merged: averages of the lazy chain
    let n = chain.n_states();
    let mut d = chain.start().to_vec();
    let mut next = vec![0.0; n];
    for _ in 0..2000 {
        chain.kernel().transpose_times(&d, &mut next);
        for (a, b) in d.iter_mut().zip(&next) {
            *a = 0.5 * (*a + b);
        }
    }
    Ok(d)
}

/// One minus the modulus of the second eigenvalue.
pub(crate) fn spectral_gap(_chain: &Chain) -> Result<f64> {
    Ok(f64::NAN)
}
