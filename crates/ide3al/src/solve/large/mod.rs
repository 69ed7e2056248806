//! Methods for models whose columns' system is too large to be factored: memory grows with the
//! transitions.

pub(super) mod column_sum;
mod equal_shares;
mod even_columns;
pub(super) mod infinity;
mod primal_dual;
pub(super) mod proximal_newton;
