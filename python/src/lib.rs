//! Python binding of ide3al: the private module `_ide3al`.
//!
//! Holds no logic: it turns arrays into models, calls the library with the GIL released, and
//! turns results into arrays and plain Python values. What Python users see is the package
//! around it.

mod agent;
mod agent_file;
mod batches;
mod environment;
mod episode;
mod errors;
mod experience;
mod experiment;
mod explorer;
mod gymnasium;
mod json;
mod model;
mod picture;
mod plan;
mod planning;
mod reach;
mod recount;
mod settings;
mod signals;
mod solving;
mod studio;
mod utility;

use pyo3::prelude::*;

#[pymodule]
mod _ide3al {
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");
    #[pymodule_export]
    use crate::agent::{Agent, check_pairs};
    #[pymodule_export]
    use crate::batches::{agent_behaviour, agent_draw, agent_learn, agent_record};
    #[pymodule_export]
    use crate::episode::{SolvedEpisode, analyze_episode, read_policy, solve_episode};
    #[pymodule_export]
    use crate::errors::Error;
    #[pymodule_export]
    use crate::experience::Experience;
    #[pymodule_export]
    use crate::experiment::{Experiment, look, metrics};
    #[pymodule_export]
    use crate::explorer::{Explorer, agent_explorer};
    #[pymodule_export]
    use crate::model::{Model, domains};
    #[pymodule_export]
    use crate::picture::heat_map;
    #[pymodule_export]
    use crate::plan::{
        Tried, expected_rewards, model_rewards, model_terminal, model_with_rewards, plan_goal_of,
        plan_rewards,
    };
    #[pymodule_export]
    use crate::reach::solve_reach;
    #[pymodule_export]
    use crate::recount::recount;
    #[pymodule_export]
    use crate::solving::{Solved, analyze, frontier, solve, write_file, write_policy};
    #[pymodule_export]
    use crate::studio::{Server, serve};
    #[pymodule_export]
    use crate::utility::solve_utility;
}
