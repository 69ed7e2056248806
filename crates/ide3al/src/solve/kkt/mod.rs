//! The linear systems of the distances' quadratic programs, which know the model: its rows
//! ([`transition_rows`]), their elimination ([`row_schur`]), and the objective that breaks ties
//! ([`proximal_term`]).

pub(super) mod proximal_term;
pub(super) mod row_schur;
pub(super) mod transition_rows;
