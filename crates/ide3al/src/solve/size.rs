//! The sizes up to which engines are used, in one place. Each has its unit, what it limits, and the
//! command that measured it.

/// States below which the entropies' Newton system is factored at once: a factorisation takes less
/// than a millisecond there. A round number, not measured.
pub(super) const FACTOR_FIRST: usize = 200;

/// States up to which the entropies' Newton system may be factored densely if its sparse factor is
/// too large: a third of a billion multiplications, a tenth of a second. A round number, not
/// measured.
pub(super) const DENSE_HESSIAN: usize = 1_500;

/// States up to which one more Newton step by conjugate gradients takes about a millisecond. A
/// round number, not measured.
pub(super) const CHEAP_STEP: usize = 5_000;

/// State-action pairs up to which the interior-point method takes over from value iteration on the
/// linear problem inside Frank-Wolfe. A round number, not measured.
pub(super) const LINEAR_BY_INTERIOR_POINT: usize = 20_000;
