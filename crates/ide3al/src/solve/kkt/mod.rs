//! The linear systems that know the model: of the distances' quadratic programs its rows
//! ([`transition_rows`]), their elimination ([`row_schur`]), and the objective that breaks ties
//! ([`proximal_term`]); of what is visited the flow constraints ([`flow_system`]) with a block per
//! state ([`flow_blocks`]).

pub(super) mod flow_blocks;
pub(super) mod flow_system;
pub(super) mod proximal_term;
pub(super) mod row_schur;
pub(super) mod transition_rows;
