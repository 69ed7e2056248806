//! The default learner: how it explores, and how its final policy is computed from the data.
//!
//! *Gathering.* Each action is chosen with all that was seen until then: the explorer goes to the
//! [nearest pair never tried](chase), and where none is near it follows the
//! [gradient](receding_horizon) of the utility of all visits so far. No convex program is solved
//! and nothing is assumed of the environment: it may be periodic or reducible, and different states
//! may have the same observation.
//!
//! *Handing over.* The policy that is handed over is the optimum of the formulation in the
//! [model with its restarts](super::estimate). It does not explore, so a pair never tried is given
//! the mean transition row of the tried pairs of its state. As far as outcomes repeat within
//! episodes, so that states are not Markov, it keeps to the policy of the data.
//!
//! An interrupted update leaves everything as it was.

mod chase;
mod follower;
mod online;
mod receding_horizon;
mod rule;
mod transitions;
mod view;

use std::sync::Arc;

use rand_chacha::ChaCha8Rng;

pub use chase::Quota;
pub use online::OnlinePlanner;
pub(super) use online::below;
pub use receding_horizon::Gradient;
pub use rule::{Otherwise, Rule};

use super::codec::{Damage, Reader, Writer};
use super::estimate::{Estimate, Untried, open_pairs, repartition, repartition_values, visited};
use super::learner::{Behaviour, Exploration, LearnContext, Learner, Loader, Planner, Saver};
use crate::error::Result;
use crate::formulation::entropy::EntropyWeights;
use crate::formulation::occupancy_spec::OccupancySpec;
use crate::formulation::{Formulation, Problem};
use crate::model::{Counts, Policy};
use crate::solve::Solution;

/// Weight of the entropy of actions in the objective of the policy that is handed over.
const ACTIONS_LEARNED: f64 = 0.02;
/// Visits of every action after which a state that was never left is said to absorb.
const ABSORBING: u64 = 10;

/// Potentials of the environment's states, less the restart's: what the next solve starts from.
#[derive(Debug, Clone, Default, PartialEq)]
struct Potentials {
    states: Vec<f64>,
}

impl Potentials {
    fn of(estimate: &Estimate, counts: &Counts, dual: &[f64]) -> Self {
        if dual.len() != estimate.model.n_states() {
            return Potentials::default();
        }
        // potentials are determined up to a constant
        let base = dual[estimate.restart()];
        let mut states = vec![f64::NAN; counts.n_states()];
        for (&s, v) in estimate.known.iter().zip(dual) {
            states[s as usize] = v - base;
        }
        Potentials { states }
    }

    /// For another estimate: states new since are taken for the restart.
    fn start(&self, formulation: Formulation, estimate: &Estimate) -> Option<Solution> {
        if self.states.is_empty() {
            return None;
        }
        let dual = estimate.gather(&self.states, 0.0);
        let policy = Policy::uniform(&estimate.model);
        Some(Solution::start(formulation, policy, dual))
    }

    fn repartition(&mut self, from: &[usize]) {
        if !self.states.is_empty() {
            self.states = repartition_values(&self.states, from, f64::NAN);
        }
    }

    fn save(&self, writer: &mut Writer) {
        writer.reals(&self.states);
    }

    fn load(reader: &mut Reader<'_>) -> std::result::Result<Self, Damage> {
        Ok(Potentials {
            states: reader.reals()?,
        })
    }
}

/// IDE³AL as recommended.
pub struct Explorer {
    problem: Problem,
    planner: Arc<dyn Planner>,
    online: OnlinePlanner,
    learned: Policy,
    before: Potentials,
    notes: Vec<String>,
}

impl Explorer {
    /// `uniform` is the uniform policy of the environment's shape, which it starts from.
    pub fn new(uniform: Policy, problem: Problem, planner: Arc<dyn Planner>) -> Self {
        Explorer {
            problem,
            planner,
            online: OnlinePlanner::new(Rule::explorer(
                Gradient::of(problem.formulation),
                Quota::Pairs(1),
            )),
            learned: uniform,
            before: Potentials::default(),
            notes: Vec::new(),
        }
    }

    /// The optimum in the estimate.
    fn solve(&self, context: &LearnContext<'_>, estimate: &Estimate) -> Result<Solution> {
        let (problem, model) = (&self.problem, &estimate.model);
        if Formulation::VISITS.contains(&problem.formulation) {
            let visits = wanted(problem.formulation, context.counts, estimate);
            return self
                .planner
                .plan_visits(model, problem, &visits, context.stop);
        }
        let mut target = EntropyWeights::default();
        let mut warm = None;
        if problem.formulation.is_entropy() {
            target.actions = ACTIONS_LEARNED;
            warm = self.before.start(problem.formulation, estimate);
        }
        let warm = warm.as_ref();
        self.planner
            .plan(model, problem, &target, warm, context.stop)
    }
}

/// The mixture of a plan and, with weight `share`, the policy of the data: $N(s,a) / N(s)$ with the
/// same least probability.
///
/// The plan assumes that states are Markov, while the visits of the policy of the data have been
/// observed. So the share is that of the tries whose outcome repeats the one before in their
/// episode, which is 0 where states are Markov and about 0.75 where the state of a door is hidden.
fn towards_data(plan: Policy, counts: &Counts, xi: f64, share: f64) -> Policy {
    let mut rows = plan.probabilities().to_vec();
    let data = visited(counts);
    for s in 0..counts.n_states() {
        let rest = 1.0 - xi * counts.pairs(s).len() as f64;
        for pair in counts.pairs(s) {
            let observed = xi + rest * data.probabilities()[pair];
            rows[pair] += share * (observed - rows[pair]);
        }
    }
    Policy::of_rows(rows)
}

/// What the formulation asks of the visits in the long run: one number per pair.
///
/// *Model error.* A row seen $N$ times, $N_t$ of them with outcome $t$, may have an outcome never
/// seen. By the rule of succession that has probability $1 / (N + 1)$, and may be any state, so
/// that the variance of a sample of the row is taken for $c = 1 - \sum_t (N_t / (N + 1))^2$: one
/// where nothing is known, about $2 / N$ where the outcome was always the same, and the model's own
/// in the end.
///
/// *Coverage.* As many samples of every pair. Of terminal states, where nothing is left to choose,
/// nothing is wanted.
pub(super) fn wanted(
    formulation: Formulation,
    counts: &Counts,
    estimate: &Estimate,
) -> OccupancySpec {
    let open = open_pairs(counts, estimate);
    let mut numbers = vec![0.0; estimate.model.n_pairs()];
    for &(place, pair) in &open {
        numbers[place] = match formulation {
            Formulation::ModelError => {
                let seen = counts.seen(pair).iter().map(|(_, n)| *n as f64);
                receding_horizon::variance(counts.pair_totals()[pair] as f64, seen)
            }
            _ => 1.0,
        };
    }
    if open.is_empty() {
        // every state is terminal: no plan is better than another
        numbers.fill(1.0);
    }
    let mut visits = OccupancySpec::default();
    match formulation {
        Formulation::ModelError => visits.errors = numbers,
        _ => visits.wanted = numbers,
    }
    visits
}

impl Learner for Explorer {
    fn behaviour(&mut self, _: &mut ChaCha8Rng) -> Behaviour<'_> {
        Behaviour::Online
    }

    fn online(&mut self) -> Option<&mut OnlinePlanner> {
        Some(&mut self.online)
    }

    /// Each step was learned from when it was taken.
    fn update(&mut self, _: &LearnContext<'_>) -> Result<()> {
        Ok(())
    }

    fn finalize(&mut self, context: &LearnContext<'_>) -> Result<()> {
        let estimate = Estimate::new(context.counts, Untried::Siblings);
        let solution = self.solve(context, &estimate)?;
        let plan = estimate.policy(context.counts, solution.policy.probabilities());
        let memory = self.online.memory();
        self.learned = towards_data(plan, context.counts, self.problem.xi, memory);
        self.before = Potentials::of(&estimate, context.counts, &solution.dual);
        self.notes = solution.notes;
        self.notes.extend(absorbing(context.counts, &estimate));
        Ok(())
    }

    fn exploration(&self) -> Exploration<'_> {
        Exploration::Policy(&self.learned)
    }

    fn repartition(&mut self, from: &[usize], counts: &Counts) -> Result<()> {
        let n_actions = counts.pairs(0).len();
        self.learned = repartition(&self.learned, from, n_actions);
        self.before.repartition(from);
        self.online.recount(counts);
        Ok(())
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn plans_for_episodes(&self) -> bool {
        true
    }

    fn save(&self, checkpoint: &mut Saver<'_>) {
        let writer = &mut *checkpoint.0;
        self.online.save(writer);
        writer.reals(self.learned.probabilities());
        self.before.save(writer);
        writer.texts(&self.notes);
    }

    fn load(&mut self, checkpoint: &mut Loader<'_, '_>) -> std::result::Result<(), Damage> {
        let reader = &mut *checkpoint.0;
        self.online.load(reader)?;
        self.learned = reader.any_policy()?;
        self.before = Potentials::load(reader)?;
        self.notes = reader.texts()?;
        Ok(())
    }
}

/// States that look as if they could not be left. The plan assumes that episodes end there now and
/// then, which the user should know.
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

    fn context<'a>(counts: &'a Counts, start: &'a [f64], stop: &'a AtomicBool) -> LearnContext<'a> {
        LearnContext {
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
        learner.update(&context(&counts, &start, &stop)).unwrap();
        learner.finalize(&context(&counts, &start, &stop)).unwrap();
        let notes = learner.notes().join(" ");
        assert!(notes.contains("state 2 looks absorbing"), "{notes}");
        let Exploration::Policy(policy) = learner.exploration() else {
            panic!("a policy");
        };
        // it avoids the absorbing state
        assert!(policy.probabilities()[3] < 0.2, "{policy:?}");
        assert!(policy.probabilities().iter().all(|p| *p >= 0.05 - 1e-9));
    }

    /// Explores a model with stationary transitions for some steps.
    fn explore(mdp: &Mdp, steps: usize, seed: u64) -> crate::learn::Session {
        let tables = crate::learn::Tables::new(mdp);
        let mut environment = crate::learn::Simulator::new(&tables);
        let actions: Vec<usize> = (0..mdp.n_states()).map(|s| mdp.n_actions(s)).collect();
        let rng = crate::learn::generator(seed, 0);
        let mut session = crate::learn::Session::new(explorer(mdp), &actions, false, rng);
        session.begin_batch().unwrap();
        session.collect(&mut environment, steps).unwrap();
        session
    }

    /// A ring of states, one step onwards or none.
    fn ring(n: usize) -> Mdp {
        Mdp::from_fn(n, 2, |s, a, row| {
            row.push(((s + a) % n, 1.0));
            true
        })
        .unwrap()
        .with_start_state(0)
        .unwrap()
    }

    #[test]
    fn every_pair_of_a_ring_is_tried_in_the_fewest_steps_and_visits_are_even() {
        let n = 30;
        // of two untried actions one is taken at random; staying costs nothing extra, leaving first
        // costs another round
        let session = explore(&ring(n), 3 * n, 1);
        let tried = session.counts().pair_totals().iter().filter(|k| **k > 0);
        assert_eq!(tried.count(), 2 * n);
        let visits = explore(&ring(n), 100 * n, 1);
        let most = visits.counts().state_totals().iter().max().unwrap();
        let least = visits.counts().state_totals().iter().min().unwrap();
        assert!(*least >= 90 && *most <= 110, "{least} to {most}");
    }

    #[test]
    fn an_explorer_that_was_saved_goes_on_bit_by_bit() {
        let mdp = crate::domains::load("river-swim").unwrap();
        let mut one = explore(&mdp, 500, 3);
        let saved = one.learner().to_bytes();
        let mut other = explorer(&mdp);
        other.restore(&saved).unwrap();
        assert_eq!(other.to_bytes(), saved);
        let (mut rng, mut same) = (crate::learn::generator(8, 0), crate::learn::generator(8, 0));
        let (a, b) = (one.online().unwrap(), other.online().unwrap());
        for k in 0..200 {
            let (from, next) = (k % 6, (k + 1) % 6);
            let action = a.act(0, from, 2, &mut rng);
            assert_eq!(action, b.act(0, from, 2, &mut same));
            for planner in [&mut *a, &mut *b] {
                planner.record(
                    0,
                    (from, action, next),
                    crate::learn::End::Continues,
                    (2, 2),
                );
            }
        }
        for short in (0..saved.len()).step_by(7) {
            assert!(explorer(&mdp).restore(&saved[..short]).is_err(), "{short}");
        }
    }

    #[test]
    fn cells_cut_anew_keep_what_was_counted() {
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
        learner.finalize(&context(&counts, &start, &stop)).unwrap();
        // 1 is split in two, and a state that no plan knew comes first
        let mut finer = Counts::new(&[2; 4]);
        finer.record_start(1);
        for _ in 0..50 {
            finer.record(1, 0, 2);
            finer.record(1, 1, 1);
            finer.record(2, 0, 3);
            finer.record(3, 0, 1);
        }
        learner.repartition(&[7, 0, 1, 1], &finer).unwrap();
        // what was never tried of the new states is tried next
        let mut rng = crate::learn::generator(0, 0);
        let planner = learner.online().unwrap();
        assert_eq!(planner.act(0, 2, 2, &mut rng), 1);
        assert_eq!(
            planner.act(0, 1, 2, &mut rng),
            0,
            "that of state 2 is the nearest"
        );
        let start = [0.0, 1.0, 0.0, 0.0];
        learner.finalize(&context(&finer, &start, &stop)).unwrap();
        let Exploration::Policy(policy) = learner.exploration() else {
            panic!("a policy");
        };
        // two of three states lie on the way around
        assert!(policy.probabilities()[2] > 0.5, "{policy:?}");
    }

    #[test]
    fn what_is_handed_over_owes_nothing_to_the_past() {
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
        learner.finalize(&context(&counts, &start, &stop)).unwrap();
        let Exploration::Policy(policy) = learner.exploration() else {
            panic!("a policy");
        };
        let d = crate::chain::stationary::long_run(&shape.chain(policy)).distribution;
        assert!((d[0] - 0.5).abs() < 0.02, "{d:?}");
    }
}
