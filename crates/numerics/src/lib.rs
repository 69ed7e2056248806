//! Linear algebra and optimisation that know nothing of decision processes.
//!
//! Optimisation: `interior_point` (quadratic programs in rows of simplices), `primal_dual`
//! (gradients for saddle points), `projected_lbfgs`, `simplex_quadratic` (active sets),
//! `line_search`. Linear algebra: `clique_matrix` and `nested_dissection` (sparse Cholesky
//! factors), `selected_inverse`, `conjugate_gradients`, `gauss` (small dense systems), `twofold`
//! (sums in twice the precision). Besides: `capped_simplex` (projections), `groups` and `sorted`
//! (orders), `parallel` (loops on all threads, with sums in a fixed order).

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
