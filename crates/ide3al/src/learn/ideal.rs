//! IDE³AL: alternate sampling with the optimisation of an exploration objective (the
//! paper's Algorithm 1).

use std::sync::Arc;

use rand_chacha::ChaCha8Rng;

use super::codec::Damage;
use super::learner::{Behaviour, Exploration, LearnContext, Learner, Loader, Planner, Saver};
use crate::error::Result;
use crate::formulation::Problem;
use crate::formulation::entropy::EntropyWeights;
use crate::model::{Policy, Unvisited};
use crate::solve::{Certificate, Solution, Status};

/// After each batch: estimate the model with uniform rows for unvisited pairs, solve the
/// formulation on it (warm-started from the solution before) and follow the optimal policy.
///
/// The *non-iterative* variant samples with the uniform policy throughout and solves once,
/// at the end of its budget.
#[derive(Clone)]
pub struct Ideal {
    problem: Problem,
    planner: Arc<dyn Planner>,
    iterative: bool,
    policy: Policy,
    warm: Option<Solution>,
}

impl Ideal {
    /// `uniform` is the uniform policy of the environment's shape, $\pi_0$.
    pub fn new(uniform: Policy, problem: Problem, planner: Arc<dyn Planner>) -> Self {
        Ideal {
            problem,
            planner,
            iterative: true,
            policy: uniform,
            warm: None,
        }
    }

    /// Random sampling, one final solve.
    pub fn non_iterative(uniform: Policy, problem: Problem, planner: Arc<dyn Planner>) -> Self {
        Ideal {
            iterative: false,
            ..Ideal::new(uniform, problem, planner)
        }
    }

    /// The certificate of the last solve.
    pub fn certificate(&self) -> Option<&Certificate> {
        self.warm.as_ref().map(|solution| &solution.certificate)
    }
}

impl Learner for Ideal {
    fn behaviour(&mut self, _: &mut ChaCha8Rng) -> Behaviour<'_> {
        Behaviour::Policy(&self.policy)
    }

    fn update(&mut self, context: &LearnContext<'_>) -> Result<()> {
        if !self.iterative && !context.last {
            return Ok(());
        }
        let model = context.counts.estimate(Unvisited::Uniform, context.start);
        let solution = self.planner.plan(
            &model,
            &self.problem,
            &EntropyWeights::default(),
            self.warm.as_ref(),
            context.stop,
        )?;
        self.policy = solution.policy.clone();
        self.warm = Some(solution);
        Ok(())
    }

    fn exploration(&self) -> Exploration<'_> {
        Exploration::Policy(&self.policy)
    }

    fn notes(&self) -> Vec<String> {
        self.warm.as_ref().map_or(Vec::new(), |s| s.notes.clone())
    }

    fn save(&self, checkpoint: &mut Saver<'_>) {
        let writer = &mut *checkpoint.0;
        writer.reals(self.policy.probabilities());
        match &self.warm {
            None => writer.byte(0),
            Some(solution) => {
                writer.byte(1);
                writer.reals(solution.policy.probabilities());
                writer.reals(&solution.dual);
                writer.real(solution.certificate.objective);
                writer.real(solution.certificate.bound);
                writer.real(solution.certificate.gap);
                writer.number(solution.certificate.iterations as u64);
            }
        }
    }

    fn load(&mut self, checkpoint: &mut Loader<'_, '_>) -> std::result::Result<(), Damage> {
        let reader = &mut *checkpoint.0;
        let pairs = self.policy.probabilities().len();
        self.policy = reader.policy(pairs)?;
        self.warm = match reader.byte()? {
            0 => None,
            1 => Some(Solution {
                formulation: self.problem.formulation,
                policy: reader.policy(pairs)?,
                dual: reader.reals()?,
                certificate: Certificate {
                    objective: reader.real()?,
                    bound: reader.real()?,
                    gap: reader.real()?,
                    iterations: reader.number()? as usize,
                    // neither takes part in a warm start
                    status: Status::Optimal,
                    seconds: 0.0,
                },
                solver: "checkpoint",
                restart: 0.0,
                limits: Vec::new(),
                notes: Vec::new(),
            }),
            other => return Err(format!("{other} marks no warm start")),
        };
        Ok(())
    }
}
