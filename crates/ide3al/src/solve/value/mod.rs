//! What a policy is worth where that takes a projection or a flow to tell: values, apart from any
//! search for policies.

pub(in crate::solve) mod clipped;
pub mod completion;
pub mod frobenius;
pub mod projection;
