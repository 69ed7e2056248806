//! The doubly stochastic matrices with entries at most $\zeta$: how far a chain is from them, and
//! what can be completed to one. Values only, apart from any search for policies.

pub(in crate::solve) mod clipped;
pub mod completion;
pub mod distance;
pub mod projection;
