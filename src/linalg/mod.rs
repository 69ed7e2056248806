//! Kernels that know numbers only: loops on all threads, sums of vectors, symmetric matrices made of cliques or in tiles, small systems,
//! conjugate gradients, line searches, sorted sums, lists by what they hold.

pub(crate) mod clique_matrix;
pub(crate) mod conjugate_gradients;
pub(crate) mod gauss;
pub(crate) mod groups;
pub(crate) mod line_search;
pub(crate) mod parallel;
pub(crate) mod sorted;
pub(crate) mod tiles;
