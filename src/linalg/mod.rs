//! Kernels that know numbers only: loops on all threads, symmetric matrices made of cliques, small systems, line searches, sums of vectors.

pub(crate) mod clique_matrix;
pub(crate) mod gauss;
pub(crate) mod line_search;
pub(crate) mod parallel;
pub(crate) mod vectors;
