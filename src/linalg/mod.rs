//! Kernels that know numbers only: loops on all threads, and symmetric matrices made of cliques.

pub(crate) mod clique_matrix;
pub(crate) mod line_search;
pub(crate) mod parallel;
