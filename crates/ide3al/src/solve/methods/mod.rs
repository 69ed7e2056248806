//! The methods, each for problems of one shape.

pub(super) mod elimination;
pub(super) mod halpern_primal_dual;
pub(super) mod interior_point;
pub(super) mod rows;
