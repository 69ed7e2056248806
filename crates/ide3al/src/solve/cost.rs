//! Where one method ends and the next begins: every size limit, in one place.
//!
//! A limit names what it counts. The figures beside it are wall-clock times on 2 cores.

/// How large the columns' system of a program may be.
#[derive(Debug, Clone, Copy)]
pub(in crate::solve) struct SizeLimits {
    /// Up to this order it may be dense.
    pub(in crate::solve) order: usize,
    /// Most multiplications in one Newton step: about those of a dense factorisation of that order.
    pub(in crate::solve) work: f64,
}

/// Whatever else there is: a step takes some tenths of a second, a whole solve some seconds.
pub(in crate::solve) const DENSE: SizeLimits = SizeLimits {
    order: 3_000,
    work: 1e10,
};

/// States up to which Frobenius holds its whole target: a dozen arrays of $S^2$ numbers, 20 MB
/// each. A step multiplies $S^3$ times; beyond it the proximal Newton steps, which need memory for
/// the transitions only, are as fast.
pub(in crate::solve) const WHOLE_TARGET: usize = 1_500;

/// Entries of partly uniform rows in Infinity: two gigabytes with all that goes with each.
pub(in crate::solve) const MOST_FILLED: usize = 20_000_000;

/// Steps of first order before Column Sum and Infinity go on to the interior-point method of
/// [`DENSE_LARGE`] size: they are enough on easy models, and elsewhere take a tenth or a fifth of
/// what follows.
pub(in crate::solve) const FIRST_ORDER_TRIAL: usize = 4_000;

/// Where steps of first order do not get there soon. They may take longer than all Newton steps
/// together: on a random graph of 3,500 states with xi = 0.1 Column Sum took 22 s by the former and
/// 5 s by the latter, Infinity 76 s and 10 s. The matrix takes 200 MB; and a factorisation, in
/// which nothing asks for the time, less than a second.
pub(in crate::solve) const DENSE_LARGE: SizeLimits = SizeLimits {
    order: 5_000,
    work: 5e10,
};

/// States below which the entropies' Newton system is factored at once: a factorisation takes less
/// than a millisecond there. A round number, not measured.
pub(in crate::solve) const FACTOR_FIRST: usize = 200;

/// States up to which the entropies' Newton system may be factored densely if its sparse factor is
/// too large: a third of a billion multiplications, a tenth of a second. A round number, not
/// measured.
pub(in crate::solve) const DENSE_HESSIAN: usize = 1_500;

/// States up to which one more Newton step by conjugate gradients takes about a millisecond. A
/// round number, not measured.
pub(in crate::solve) const CHEAP_STEP: usize = 5_000;

/// State-action pairs up to which the interior-point method takes over from value iteration on the
/// linear problem inside Frank-Wolfe. A round number, not measured.
pub(in crate::solve) const LINEAR_BY_INTERIOR_POINT: usize = 20_000;
