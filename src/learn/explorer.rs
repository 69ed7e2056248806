//! IDE³AL as it is recommended: the paper's loop on the model as lived (see [`estimate`](super::estimate)), with
//! one plan for gathering data and another for what is handed over in the end.
//!
//! *Gathering.* Data are even when the visits so far and those to come are. With $n_s$ visits so far the next batch
//! follows the plan that maximises
//!
//! $$H(d) - \beta \sum_s d_s \ln (n_s + 1) + d_\bullet \ln m ,$$
//!
//! a step of mirror ascent on the entropy of all visits: $-\ln n_s$ is its gradient, $H(d)$ keeps the step short. Where visits are
//! as even as they can be, the plan for evenness is its own fixed point. The lump $\bullet$ of what was never seen counts
//! as $m$ states.
//!
//! *Handing over.* What is learned is the plan for evenness alone, on the estimate, with hardly a prior: nothing is left to be
//! found out then.
//!
//! An interrupted lesson leaves everything as it was.

use std::sync::Arc;

use rand_chacha::ChaCha8Rng;

use super::codec::{Damage, Reader, Writer};
use super::estimate::{Estimate, Untried};
use super::learner::{Exploration, Learner, Lesson, Loader, Planner, Saver};
use crate::error::Result;
use crate::formulation::Problem;
use crate::formulation::entropy::Target;
use crate::model::{Counts, Policy};
use crate::solve::{Certificate, Solution, Status};

/// How it explores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Manner {
    /// What it maximises, and the least probability of every action.
    pub problem: Problem,
    /// $\lambda$: a pair tried $N$ times leads to the unknown with probability $\lambda / (N + \lambda)$.
    pub prior: f64,
    /// $m$: as how many states the unknown counts.
    pub unseen: f64,
    /// $\beta$: how much uneven visits so far weigh.
    pub catch_up: f64,
    /// tuning: [pairs, home, actions, last_mode, last_prior, last_actions, last_unseen]
    pub tuning: [f64; 8],
}

/// Potentials of the environment's states, of the lump and of the restart: what the next solve starts from.
#[derive(Debug, Clone, Default, PartialEq)]
struct Potentials {
    states: Vec<f64>,
    lump: f64,
    restart: f64,
}

impl Potentials {
    fn of(estimate: &Estimate, counts: &Counts, dual: &[f64]) -> Self {
        if dual.len() != estimate.model.n_states() {
            return Potentials::default();
        }
        // a constant means nothing; the lump's is zero
        let lump = dual[estimate.lump()];
        let mut states = vec![f64::NAN; counts.n_states()];
        for (&s, v) in estimate.known.iter().zip(dual) {
            states[s as usize] = v - lump;
        }
        Potentials {
            states,
            lump: 0.0,
            restart: dual.get(estimate.lump() + 1).map_or(0.0, |v| v - lump),
        }
    }

    /// For another estimate: states new since are taken for the lump they came from.
    fn start(&self, estimate: &Estimate) -> Option<Solution> {
        if self.states.is_empty() {
            return None;
        }
        let mut dual = estimate.gather(&self.states, self.lump);
        if let Some(v) = dual.get_mut(estimate.lump() + 1) {
            *v = self.restart;
        }
        Some(Solution {
            policy: Policy::uniform(&estimate.model),
            certificate: Certificate {
                objective: 0.0,
                bound: 0.0,
                gap: 0.0,
                status: Status::Optimal,
                iterations: 0,
                seconds: 0.0,
            },
            dual,
            solver: "before",
            notes: Vec::new(),
        })
    }

    fn save(&self, writer: &mut Writer) {
        writer.reals(&self.states);
        writer.real(self.lump);
        writer.real(self.restart);
    }

    fn load(reader: &mut Reader<'_>) -> std::result::Result<Self, Damage> {
        Ok(Potentials {
            states: reader.reals()?,
            lump: reader.real()?,
            restart: reader.real()?,
        })
    }
}

/// IDE³AL as recommended.
pub struct Explorer {
    manner: Manner,
    planner: Arc<dyn Planner>,
    gathering: Policy,
    learned: Policy,
    before: Potentials,
    before_learned: Potentials,
    notes: Vec<String>,
}

impl Explorer {
    /// `uniform` is the uniform policy of the environment's shape, which it starts from.
    pub fn new(uniform: Policy, manner: Manner, planner: Arc<dyn Planner>) -> Self {
        Explorer {
            manner,
            planner,
            gathering: uniform.clone(),
            learned: uniform,
            before: Potentials::default(),
            before_learned: Potentials::default(),
            notes: Vec::new(),
        }
    }

    fn solve(
        &self,
        lesson: &Lesson<'_>,
        estimate: &Estimate,
        weight: impl Fn(usize) -> f64,
        lump: f64,
        actions: f64,
        before: &Potentials,
    ) -> Result<(Policy, Potentials, Vec<String>)> {
        let counts = lesson.counts;
        let problem = &self.manner.problem;
        let model = &estimate.model;
        let entropic = problem.formulation.maximises();
        let mut target = Target::default();
        if entropic {
            target.actions = actions;
            target.log_weights = vec![0.0; model.n_states()];
            for (w, &s) in target.log_weights.iter_mut().zip(&estimate.known) {
                *w = weight(s as usize);
            }
            // each of the lump's states has as many actions as any other
            let choice = (model.max_actions() as f64).ln();
            target.log_weights[estimate.lump()] =
                lump + target.temperature(problem.formulation) * choice;
        }
        let warm = before.start(estimate).filter(|_| entropic);
        let solution = self
            .planner
            .plan(model, problem, &target, warm.as_ref(), lesson.stop)?;
        let policy = estimate.policy(counts, solution.policy.probabilities());
        let potentials = Potentials::of(estimate, counts, &solution.dual);
        Ok((policy, potentials, solution.notes))
    }
}

impl Learner for Explorer {
    fn behaviour(&mut self, _: &mut ChaCha8Rng) -> &Policy {
        &self.gathering
    }

    fn update(&mut self, lesson: &Lesson<'_>) -> Result<()> {
        let visits = lesson.counts.state_totals();
        let manner = &self.manner;
        let known = visits.iter().filter(|n| **n > 0).count().max(1);
        let mean = (lesson.counts.total() as f64 / known as f64 + 1.0).ln();
        let weight = |s: usize| manner.catch_up * (mean - (visits[s] as f64 + 1.0).ln());
        let estimate = Estimate::new(lesson.counts, Untried::Lump(manner.prior, manner.tuning[1]));
        let unknown = manner.unseen + manner.tuning[0] * estimate.untried as f64;
        let (policy, potentials, notes) = self.solve(
            lesson,
            &estimate,
            weight,
            unknown.ln(),
            manner.tuning[2],
            &self.before,
        )?;
        (self.gathering, self.before, self.notes) = (policy, potentials, notes);
        Ok(())
    }

    fn conclude(&mut self, lesson: &Lesson<'_>) -> Result<()> {
        let manner = &self.manner;
        let t = &manner.tuning;
        let untried = match t[3] as usize {
            0 => Untried::Lump(t[4], t[1]),
            1 => Untried::Rival(crate::model::Unvisited::SelfLoop),
            _ => Untried::Siblings,
        };
        let estimate = Estimate::new(lesson.counts, untried);
        let (policy, potentials, _) = self.solve(
            lesson,
            &estimate,
            |_| 0.0,
            t[6].ln(),
            t[5],
            &self.before_learned,
        )?;
        (self.learned, self.before_learned) = (policy, potentials);
        Ok(())
    }

    fn exploration(&self) -> Exploration<'_> {
        Exploration::Policy(&self.learned)
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn plans_as_lived(&self) -> bool {
        true
    }

    fn prior(&self) -> f64 {
        self.manner.prior
    }

    fn save(&self, checkpoint: &mut Saver<'_>) {
        let writer = &mut *checkpoint.0;
        writer.reals(self.gathering.probabilities());
        writer.reals(self.learned.probabilities());
        self.before.save(writer);
        self.before_learned.save(writer);
    }

    fn load(&mut self, checkpoint: &mut Loader<'_, '_>) -> std::result::Result<(), Damage> {
        let reader = &mut *checkpoint.0;
        self.gathering = reader.any_policy()?;
        self.learned = reader.any_policy()?;
        self.before = Potentials::load(reader)?;
        self.before_learned = Potentials::load(reader)?;
        Ok(())
    }
}
