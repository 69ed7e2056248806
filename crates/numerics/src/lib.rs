//! Kernels that know numbers only: loops on all threads, sums of vectors, symmetric matrices made
//! of cliques or in tiles, small systems, conjugate gradients, line searches, sorted sums, lists by
//! what they hold.

pub mod capped_simplex;
pub mod clique_matrix;
pub mod conjugate_gradients;
pub mod gauss;
pub mod groups;
pub mod interior_point;
pub mod line_search;
pub mod nested_dissection;
#[cfg(test)]
mod oracle;
pub mod parallel;
pub mod primal_dual;
pub mod projected_lbfgs;
pub mod selected_inverse;
pub mod simplex_quadratic;
pub mod sorted;
pub mod twofold;
