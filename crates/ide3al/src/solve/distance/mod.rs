//! The three distances, one folder each: its strategy and its certificate (`mod.rs`), and the
//! engines that know it.
//!
//! What they share stands beside them, and none of it knows any of the three: the task, the
//! tie-break on the optimal face, the search for a doubly stochastic policy, two quadratic
//! programs, and the start and the steps of first order for large models. No module imports one
//! further down, and those of one line do not know each other; Infinity may use Column Sum as a
//! relaxation.
//!
//! ```text
//! task, strategy, column_sum_program, birkhoff_face_program, balanced_columns, first_order
//! face_qp
//! doubly_stochastic
//! tie_break
//! column_sum, frobenius
//! infinity
//! ```

mod balanced_columns;
mod birkhoff_face_program;
pub(super) mod column_sum;
mod column_sum_program;
mod doubly_stochastic;
mod face_qp;
mod first_order;
pub(super) mod frobenius;
pub(super) mod infinity;
mod strategy;
pub(super) mod task;
mod tie_break;
