//! IDE³AL as it is recommended: the paper's loop on the model as lived (see
//! [`estimate`](super::estimate)), with one plan for gathering data and another for what is handed
//! over in the end.
//!
//! *Gathering.* Data are even when the visits so far and those to come are. With $n_s$ visits so
//! far the next batch follows the plan that maximises
//!
//! $$H(d) - \beta \sum_s d_s \ln (n_s + 1) + d_\bullet \ln m + \tau \sum_s d_s H(\pi_s) ,$$
//!
//! a step of mirror ascent on the entropy of all visits: $-\ln n_s$ is its gradient, $H(d)$ keeps
//! the step short. Where visits are as even as they can be, the plan for evenness is its own fixed
//! point. The lump $\bullet$ of what was never seen counts as one state for every pair never tried,
//! and one more: each of them may lead to a new one. A little weight $\tau$ of the entropy of
//! actions keeps all of them in use where they matter little, and the problem smooth.
//!
//! *Model error and coverage* have their own idea of what is missing, see [`wants`](super::wants).
//!
//! *Handing over.* What is learned is the plan for evenness alone. Nothing is left to be found out
//! then, so that pairs never tried promise nothing: they count as the average of their state's
//! others.
//!
//! An interrupted lesson leaves everything as it was.

use std::sync::Arc;

use rand_chacha::ChaCha8Rng;

use super::codec::{Damage, Reader, Writer};
use super::estimate::{Estimate, Untried, recut, recut_values};
use super::learner::{Exploration, Learner, Lesson, Loader, Planner, Saver};
use super::wants::wants;
use crate::error::Result;
use crate::formulation::entropy::Target;
use crate::formulation::{Formulation, Problem};
use crate::model::{Counts, Policy};
use crate::solve::Solution;

/// $\tau$: weight of the entropy of actions while gathering, and in what is learned.
const ACTIONS: f64 = 0.1;
const ACTIONS_LEARNED: f64 = 0.02;
/// Visits of every action after which a state that was never left is said to absorb.
const ABSORBING: u64 = 10;

/// How it explores.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Manner {
    /// What it maximises, and the least probability of every action.
    pub problem: Problem,
    /// $\lambda$: a pair tried $N$ times leads to the unknown with probability
    /// $\lambda / (N + \lambda)$.
    pub prior: f64,
    /// As how many states each pair never tried counts.
    pub unseen: f64,
    /// $\beta$: how much uneven visits so far weigh.
    pub catch_up: f64,
}

/// Potentials of the environment's states and of the restart, less the lump's: what the next solve
/// starts from.
#[derive(Debug, Clone, Default, PartialEq)]
struct Potentials {
    states: Vec<f64>,
    restart: f64,
}

impl Potentials {
    fn of(estimate: &Estimate, counts: &Counts, dual: &[f64]) -> Self {
        if dual.len() != estimate.model.n_states() {
            return Potentials::default();
        }
        // a constant means nothing
        let base = dual[estimate.lump().unwrap_or(estimate.restart())];
        let mut states = vec![f64::NAN; counts.n_states()];
        for (&s, v) in estimate.known.iter().zip(dual) {
            states[s as usize] = v - base;
        }
        Potentials {
            states,
            restart: dual[estimate.restart()] - base,
        }
    }

    /// For another estimate: states new since are taken for the lump they came from.
    fn start(&self, formulation: Formulation, estimate: &Estimate) -> Option<Solution> {
        if self.states.is_empty() {
            return None;
        }
        let mut dual = estimate.gather(&self.states, 0.0);
        dual[estimate.restart()] = self.restart;
        let policy = Policy::uniform(&estimate.model);
        Some(Solution::start(formulation, policy, dual))
    }

    fn recut(&mut self, from: &[usize]) {
        if !self.states.is_empty() {
            self.states = recut_values(&self.states, from, f64::NAN);
        }
    }

    fn save(&self, writer: &mut Writer) {
        writer.reals(&self.states);
        writer.real(self.restart);
    }

    fn load(reader: &mut Reader<'_>) -> std::result::Result<Self, Damage> {
        Ok(Potentials {
            states: reader.reals()?,
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

    /// A plan for what the formulation itself wants sampled, where it is one of those.
    fn wanted(
        &self,
        lesson: &Lesson<'_>,
        estimate: &Estimate,
        catch_up: Option<f64>,
    ) -> Result<Option<(Policy, Potentials, Vec<String>)>> {
        let problem = &self.manner.problem;
        if !Formulation::VISITS.contains(&problem.formulation) {
            return Ok(None);
        }
        let visits = wants(problem.formulation, lesson.counts, estimate, catch_up);
        let planner = &self.planner;
        let found = planner.plan_visits(&estimate.model, problem, &visits, lesson.stop)?;
        let policy = estimate.policy(lesson.counts, found.policy.probabilities());
        Ok(Some((policy, Potentials::default(), found.notes)))
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
        let entropic = problem.formulation.is_entropy();
        let mut target = Target::default();
        if entropic {
            target.actions = actions;
            target.log_weights = vec![0.0; model.n_states()];
            for (w, &s) in target.log_weights.iter_mut().zip(&estimate.known) {
                *w = weight(s as usize);
            }
            if let Some(place) = estimate.lump() {
                // each of the lump's states has as many actions as any other
                let choice = (model.max_actions() as f64).ln();
                target.log_weights[place] = lump + target.temperature(problem.formulation) * choice;
            }
        }
        let warm = before
            .start(problem.formulation, estimate)
            .filter(|_| entropic);
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
        let manner = &self.manner;
        let visits = lesson.counts.state_totals();
        let estimate = Estimate::new(lesson.counts, Untried::Lump(manner.prior));
        let mean = lesson.counts.total() as f64 / estimate.known.len() as f64;
        let weight = |s: usize| manner.catch_up * ((mean + 1.0) / (visits[s] as f64 + 1.0)).ln();
        let lump = (manner.unseen * (estimate.untried as f64 + 1.0))
            .max(1e-6)
            .ln();
        let (policy, potentials, mut notes) =
            match self.wanted(lesson, &estimate, Some(manner.catch_up))? {
                Some(planned) => planned,
                None => self.solve(lesson, &estimate, weight, lump, ACTIONS, &self.before)?,
            };
        notes.extend(absorbing(lesson.counts, &estimate));
        (self.gathering, self.before, self.notes) = (policy, potentials, notes);
        Ok(())
    }

    fn conclude(&mut self, lesson: &Lesson<'_>) -> Result<()> {
        let estimate = Estimate::new(lesson.counts, Untried::Siblings);
        let before = &self.before_learned;
        let (policy, potentials, notes) = match self.wanted(lesson, &estimate, None)? {
            Some(planned) => planned,
            None => self.solve(lesson, &estimate, |_| 0.0, 0.0, ACTIONS_LEARNED, before)?,
        };
        for note in notes {
            if !self.notes.contains(&note) {
                self.notes.push(note);
            }
        }
        (self.learned, self.before_learned) = (policy, potentials);
        Ok(())
    }

    fn exploration(&self) -> Exploration<'_> {
        Exploration::Policy(&self.learned)
    }

    fn recut(&mut self, from: &[usize], n_actions: usize) -> Result<()> {
        for policy in [&mut self.gathering, &mut self.learned] {
            *policy = recut(policy, from, n_actions);
        }
        self.before.recut(from);
        self.before_learned.recut(from);
        Ok(())
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
        writer.texts(&self.notes);
    }

    fn load(&mut self, checkpoint: &mut Loader<'_, '_>) -> std::result::Result<(), Damage> {
        let reader = &mut *checkpoint.0;
        self.gathering = reader.any_policy()?;
        self.learned = reader.any_policy()?;
        self.before = Potentials::load(reader)?;
        self.before_learned = Potentials::load(reader)?;
        self.notes = reader.texts()?;
        Ok(())
    }
}

/// States that look as if they could not be left: what is planned for goes as if an episode ended
/// there now and then, and the user should know.
fn absorbing(counts: &Counts, estimate: &Estimate) -> Option<String> {
    let stays = |s: usize| {
        counts.ends()[s] == 0
            && counts.pairs(s).all(|pair| {
                counts.pair_totals()[pair] >= ABSORBING
                    && counts.seen(pair).iter().all(|(t, _)| *t as usize == s)
            })
    };
    let states = estimate.known.iter().map(|s| *s as usize);
    let absorbing: Vec<usize> = states.filter(|s| stays(*s)).collect();
    let first = absorbing.first()?;
    Some(format!(
        "{} looks absorbing: every action was tried there at least {ABSORBING} times and none left it. Exploration goes on \
         for the other states as if episodes ended now and then; give the environment a time limit, or mark the state \
         terminal, so that they do",
        match absorbing.len() {
            1 => format!("state {first}"),
            n => format!("state {first} (one of {n})"),
        }
    ))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicBool;

    use super::*;
    use crate::learn::{Experiment, Kind, Solver};
    use crate::model::Mdp;

    fn explorer(shape: &Mdp) -> Box<dyn Learner> {
        let experiment = Experiment::recommended("", shape);
        let planner: Arc<dyn Planner> = Arc::new(Solver {
            rough: 2e-3,
            ..Solver::default()
        });
        let algorithm = crate::learn::Algorithm::new(Kind::Ideal);
        experiment.learner(&algorithm, shape, &planner).unwrap()
    }

    fn lesson<'a>(counts: &'a Counts, start: &'a [f64], stop: &'a AtomicBool) -> Lesson<'a> {
        Lesson {
            counts,
            start,
            last: false,
            open: false,
            stop,
        }
    }

    #[test]
    fn a_state_that_is_never_left_is_said_to_absorb_and_the_rest_is_still_planned_for() {
        // 0 and 1 are joined; 2 absorbs
        let mut counts = Counts::new(&[2, 2, 2]);
        counts.record_start(0);
        for _ in 0..20 {
            counts.record(0, 0, 1);
            counts.record(0, 1, 0);
            counts.record(1, 0, 0);
            counts.record(1, 1, 2);
            counts.record(2, 0, 2);
            counts.record(2, 1, 2);
        }
        let start = [1.0, 0.0, 0.0];
        let shape = counts.estimate(crate::model::Unvisited::Uniform, &start);
        let mut learner = explorer(&shape);
        let stop = AtomicBool::new(false);
        learner.update(&lesson(&counts, &start, &stop)).unwrap();
        learner.conclude(&lesson(&counts, &start, &stop)).unwrap();
        let notes = learner.notes().join(" ");
        assert!(notes.contains("state 2 looks absorbing"), "{notes}");
        let Exploration::Policy(policy) = learner.exploration() else {
            panic!("a policy");
        };
        // it keeps away from the trap
        assert!(policy.probabilities()[3] < 0.2, "{policy:?}");
        assert!(policy.probabilities().iter().all(|p| *p >= 0.05 - 1e-9));
    }

    #[test]
    fn cells_cut_anew_keep_what_was_planned() {
        // 0 leads to 1 and back, or stays
        let mut counts = Counts::new(&[2, 2]);
        counts.record_start(0);
        for _ in 0..50 {
            counts.record(0, 0, 1);
            counts.record(0, 1, 0);
            counts.record(1, 0, 0);
            counts.record(1, 1, 1);
        }
        let start = [1.0, 0.0];
        let shape = counts.estimate(crate::model::Unvisited::Uniform, &start);
        let mut learner = explorer(&shape);
        let stop = AtomicBool::new(false);
        learner.update(&lesson(&counts, &start, &stop)).unwrap();
        let plan = |learner: &mut Box<dyn Learner>| {
            let mut rng = crate::learn::generator(0, 0);
            learner.behaviour(&mut rng).probabilities().to_vec()
        };
        let before = plan(&mut learner);
        // 1 is split in two, and a state that no plan knew comes first
        learner.recut(&[7, 0, 1, 1], 2).unwrap();
        let after = plan(&mut learner);
        assert_eq!(after[..2], [0.5, 0.5]);
        assert_eq!(after[2..6], before[..]);
        assert_eq!(after[6..], before[2..]);
        // and it learns on from counts of the new states
        let mut finer = Counts::new(&[2; 4]);
        finer.record_start(1);
        for _ in 0..50 {
            finer.record(1, 0, 2);
            finer.record(1, 1, 1);
            finer.record(2, 0, 3);
            finer.record(3, 0, 1);
        }
        let start = [0.0, 1.0, 0.0, 0.0];
        learner.update(&lesson(&finer, &start, &stop)).unwrap();
        learner.conclude(&lesson(&finer, &start, &stop)).unwrap();
        let Exploration::Policy(policy) = learner.exploration() else {
            panic!("a policy");
        };
        // two of three states lie on the way around
        assert!(policy.probabilities()[2] > 0.5, "{policy:?}");
    }

    #[test]
    fn what_was_visited_less_is_visited_more() {
        // two states, each reached at will; 0 was visited ten times as often
        let mut counts = Counts::new(&[2, 2]);
        counts.record_start(0);
        for _ in 0..500 {
            counts.record(0, 0, 0);
            counts.record(0, 1, 1);
        }
        for _ in 0..50 {
            counts.record(1, 0, 0);
            counts.record(1, 1, 1);
        }
        let start = [1.0, 0.0];
        let shape = counts.estimate(crate::model::Unvisited::Uniform, &start);
        let mut learner = explorer(&shape);
        let stop = AtomicBool::new(false);
        learner.update(&lesson(&counts, &start, &stop)).unwrap();
        learner.conclude(&lesson(&counts, &start, &stop)).unwrap();
        let gathering = learner
            .behaviour(&mut crate::learn::generator(0, 0))
            .probabilities()
            .to_vec();
        assert!(gathering[1] > 0.6 && gathering[3] > 0.6, "{gathering:?}");
        let Exploration::Policy(policy) = learner.exploration() else {
            panic!("a policy");
        };
        // what is handed over owes nothing to the past
        let d = crate::chain::stationary::long_run(&shape.chain(policy)).distribution;
        assert!((d[0] - 0.5).abs() < 0.02, "{d:?}");
    }
}
