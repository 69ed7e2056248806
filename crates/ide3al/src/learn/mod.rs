//! From samples: exploration algorithms on environments whose model is unknown.
//!
//! A [`Learner`] turns [counts](crate::model::Counts) into the next policy; a [`Run`]
//! alternates batches of samples in an [`Environment`] with updates and evaluates each
//! iteration; a set of runs is an [`Experiment`].

mod algorithm;
mod alias;
mod checkpoint;
mod codec;
mod constrained;
mod convergence;
mod count_based;
mod environment;
mod episodic;
mod estimate;
mod evaluate_episodic;
mod evaluator;
mod experiment;
mod explorer;
mod finite_horizon;
mod folder;
mod goal;
mod ideal;
mod learner;
mod max_ent;
mod r_max;
mod random;
mod results;
mod row_error;
mod run;
mod runs;
mod samples;
mod sampling;
mod schedule;
mod session;
mod settings;
mod simulator;
mod statistics;
mod summary;
mod value_iteration;

pub use algorithm::{Algorithm, Kind};
pub use constrained::Constrained;
pub use convergence::Convergence;
pub use count_based::CountBased;
pub use environment::{End, Environment, Step};
pub use episodic::Episodic;
pub use evaluate_episodic::{EpisodicEvaluation, evaluate_episodic};
pub use evaluator::{DataFigures, Evaluator, Metrics, model_error};
pub use experiment::Experiment;
pub use explorer::{Explorer, Gradient, OnlinePlanner, Otherwise, Quota, Rule};
pub use finite_horizon::{Bound, FiniteHorizon};
pub use folder::{Entry, Folder};
pub use goal::{Goal, GoalEvaluator, Success, hardest_state, reach_probability};
pub use ideal::Ideal;
pub use learner::{
    Behaviour, Exploration, LearnContext, Learner, Loader, Mixture, Planner, Saver, Solver,
};
pub use max_ent::MaxEnt;
pub use r_max::RMax;
pub use random::Random;
pub use results::{data_csv, goal_csv, json, runs_csv, write};
pub use row_error::row_errors;
pub use run::{Plan, Run, generator};
pub use runs::{CheckpointPlan, Ended, Event, RunResult, Runs};
pub use samples::{SamplePlan, Wanted, plan_samples};
pub use sampling::PolicySampler;
pub use schedule::growing_batch;
pub use session::{Move, Session, Trajectory};
pub use settings::Settings;
pub use simulator::{Simulator, Tables};
pub use statistics::{Estimate, student_quantile};
pub use summary::{AlgorithmSummary, GoalPoint, Note, Point, Summary};
pub use value_iteration::ValueIteration;
