//! IDE³AL as recommended where more is asked of the visits: given proportions, wanted samples,
//! restarts, and limits, which hold while data are gathered, too.

use std::sync::Arc;

use rand::Rng;
use rand_chacha::ChaCha8Rng;

use super::codec::{Damage, Reader, Writer};
use super::estimate::{Estimate, Untried, fitted, open_pairs, repartition};
use super::explorer::{Explorer, OnlinePlanner, wanted};
use super::learner::{Behaviour, Exploration, LearnContext, Learner, Loader, Planner, Saver};
use crate::error::{Error, Result};
use crate::formulation::occupancy_spec::{Limit, OccupancySpec};
use crate::formulation::{Formulation, Problem, parameter};
use crate::model::{Counts, Policy};
use crate::solve::Solution;

/// What is handed over is the optimum of the formulation in the estimate under all that is asked.
///
/// *Limits while data are gathered.* As long as every cost so far is within its budget for the
/// steps so far, the [`Explorer`] chooses. Where one is not, the policy with the least cost in the
/// estimate is followed until it is again: the average cost of all steps comes to lie at the
/// budget, if that policy costs less. What a pair costs is known beforehand, where it leads is
/// not: the first steps may cost more.
pub struct Constrained {
    explorer: Explorer,
    problem: Problem,
    planner: Arc<dyn Planner>,
    visits: OccupancySpec,
    /// The policy with the least cost in the estimate of the last update.
    frugal: Option<Policy>,
    /// Cost so far, by limit, and steps.
    spent: Vec<f64>,
    steps: u64,
    learned: Policy,
    notes: Vec<String>,
}

impl Constrained {
    /// `uniform` is the uniform policy of the environment's shape, `visits` are numbers of its
    /// states and pairs. Proportions need not sum to one.
    pub fn new(
        uniform: Policy,
        problem: Problem,
        visits: OccupancySpec,
        planner: Arc<dyn Planner>,
    ) -> Self {
        Constrained {
            explorer: Explorer::new(uniform.clone(), problem, Arc::clone(&planner)),
            problem,
            planner,
            spent: vec![0.0; visits.limits.len()],
            visits,
            frugal: None,
            steps: 0,
            learned: uniform,
            notes: Vec::new(),
        }
    }

    /// All that is asked, of the estimate. Costs are long-run averages per step of the environment:
    /// the restart, which is none, costs the budget, so that it leaves the average of the others.
    fn asked(&self, counts: &Counts, estimate: &Estimate) -> Result<OccupancySpec> {
        let (model, restart) = (&estimate.model, estimate.restart());
        let mut asked = match self.problem.formulation {
            Formulation::Coverage | Formulation::ModelError => {
                wanted(self.problem.formulation, counts, estimate)
            }
            _ => OccupancySpec::default(),
        };
        if !self.visits.wanted.is_empty() {
            for (place, pair) in open_pairs(counts, estimate) {
                asked.wanted[place] = self.visits.wanted.get(pair).copied().unwrap_or(0.0);
            }
        }
        if !self.visits.target.is_empty() {
            asked.target = estimate.gather(&self.visits.target, 0.0);
            let whole: f64 = asked.target.iter().sum();
            if !(whole > 0.0) {
                let problem = "no state with a positive share was met so far";
                return Err(parameter("target", "given", problem));
            }
            // of every step the same share restarts, whatever the policy
            let cut = (counts.cuts() as f64 + 1.0) / (counts.total() as f64 + 1.0);
            let restarts = cut * (1.0 - self.visits.restart);
            let share = restarts / (1.0 + restarts);
            asked
                .target
                .iter_mut()
                .for_each(|q| *q *= (1.0 - share) / whole);
            asked.target[restart] = share;
        }
        asked.restart = self.visits.restart;
        for limit in &self.visits.limits {
            let mut cost = vec![0.0; model.n_pairs()];
            for (i, &s) in estimate.known.iter().enumerate() {
                for (place, pair) in model.pairs(i).zip(counts.pairs(s as usize)) {
                    cost[place] = limit.cost.get(pair).copied().unwrap_or(0.0);
                }
            }
            cost[model.pairs(restart)].fill(limit.budget);
            asked.limits.push(Limit {
                cost,
                budget: limit.budget,
            });
        }
        Ok(asked)
    }

    /// The policy with the least sum of all costs, each in units of its largest.
    fn least_cost(&self, context: &LearnContext<'_>) -> Result<Policy> {
        let estimate = Estimate::new(context.counts, Untried::Siblings);
        let mut costs = vec![0.0; estimate.model.n_pairs()];
        for limit in self.asked(context.counts, &estimate)?.limits {
            let largest = limit
                .cost
                .iter()
                .fold(f64::MIN_POSITIVE, |m, c| m.max(c.abs()));
            for (sum, c) in costs.iter_mut().zip(&limit.cost) {
                *sum += c / largest;
            }
        }
        let (model, stop) = (&estimate.model, context.stop);
        let solution = self.planner.plan_cost(model, &self.problem, costs, stop)?;
        Ok(estimate.policy(context.counts, solution.policy.probabilities()))
    }

    fn is_within_budgets(&self) -> bool {
        let mut limits = self.visits.limits.iter().zip(&self.spent);
        limits.all(|(limit, spent)| *spent <= limit.budget * self.steps as f64)
    }

    /// What the limits are like at the end.
    fn accounts(&self, solution: &Solution, counts: &Counts) -> Vec<String> {
        let steps = counts.total().max(1) as f64;
        let accounts = solution.limits.iter().zip(&self.visits.limits).enumerate();
        accounts
            .map(|(j, (report, limit))| {
                format!(
                    "limit {}: an average cost of {:.2} over all steps so far, of about {:.2} under the policy handed \
                     over, within a budget of {}",
                    j + 1,
                    cost_so_far(counts, limit) / steps,
                    report.value,
                    limit.budget
                )
            })
            .collect()
    }
}

/// What the steps so far cost.
fn cost_so_far(counts: &Counts, limit: &Limit) -> f64 {
    let tries = counts.pair_totals().iter();
    tries.zip(&limit.cost).map(|(n, c)| *n as f64 * c).sum()
}

/// An action of a row of probabilities.
fn draw(row: &[f64], rng: &mut ChaCha8Rng) -> usize {
    let x = (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
    let mut sum = 0.0;
    let found = row.iter().position(|p| {
        sum += p;
        x < sum
    });
    found.unwrap_or(row.len() - 1)
}

impl Learner for Constrained {
    fn behaviour(&mut self, rng: &mut ChaCha8Rng) -> Behaviour<'_> {
        self.explorer.behaviour(rng)
    }

    fn online(&mut self) -> Option<&mut OnlinePlanner> {
        self.explorer.online()
    }

    fn act(
        &mut self,
        follower: usize,
        state: usize,
        counts: &Counts,
        rng: &mut ChaCha8Rng,
    ) -> usize {
        let pairs = counts.pairs(state);
        let frugal = self.frugal.as_ref().filter(|_| !self.is_within_budgets());
        let row = frugal.and_then(|policy| policy.probabilities().get(pairs.clone()));
        let action = match row {
            Some(row) => draw(row, rng),
            None => self.explorer.act(follower, state, counts, rng),
        };
        for (limit, spent) in self.visits.limits.iter().zip(&mut self.spent) {
            *spent += limit.cost.get(pairs.start + action).copied().unwrap_or(0.0);
        }
        self.steps += 1;
        action
    }

    fn set_visits(&mut self, visits: OccupancySpec) -> Result<()> {
        self.spent.resize(visits.limits.len(), 0.0);
        self.visits = visits;
        Ok(())
    }

    fn update(&mut self, context: &LearnContext<'_>) -> Result<()> {
        self.explorer.update(context)?;
        if self.visits.limits.is_empty() {
            return Ok(());
        }
        self.frugal = match self.least_cost(context) {
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            found => found.ok(),
        };
        // states whose cost became known only now
        let limits = self.visits.limits.iter();
        self.spent = limits
            .map(|limit| cost_so_far(context.counts, limit))
            .collect();
        self.steps = context.counts.total();
        Ok(())
    }

    fn finalize(&mut self, context: &LearnContext<'_>) -> Result<()> {
        let counts = context.counts;
        let estimate = Estimate::new(counts, Untried::Siblings);
        let (model, stop) = (&estimate.model, context.stop);
        let solved = self
            .asked(counts, &estimate)
            .and_then(|asked| self.planner.plan_visits(model, &self.problem, &asked, stop));
        match solved {
            Err(Error::Interrupted) => return Err(Error::Interrupted),
            Ok(solution) => {
                self.learned = estimate.policy(counts, solution.policy.probabilities());
                self.notes = self.accounts(&solution, counts);
                self.notes.extend(solution.notes);
            }
            Err(problem) => {
                self.learned = match &self.frugal {
                    Some(frugal) => fitted(frugal, counts),
                    None => fitted(&self.learned, counts),
                };
                self.notes = vec![format!(
                    "in the model estimated from what was seen what is asked for cannot be had ({problem}); the policy \
                     handed over is the one with the least cost found"
                )];
            }
        }
        Ok(())
    }

    fn exploration(&self) -> Exploration<'_> {
        Exploration::Policy(&self.learned)
    }

    fn notes(&self) -> Vec<String> {
        self.notes.clone()
    }

    fn plans_for_episodes(&self) -> bool {
        true
    }

    fn repartition(&mut self, from: &[usize], counts: &Counts) -> Result<()> {
        self.explorer.repartition(from, counts)?;
        let n_actions = counts.pairs(0).len();
        self.learned = repartition(&self.learned, from, n_actions);
        // the numbers asked for are of other states, until they are given again
        self.frugal = None;
        self.visits.target.clear();
        self.visits.wanted.clear();
        self.visits
            .limits
            .iter_mut()
            .for_each(|limit| limit.cost.clear());
        Ok(())
    }

    fn save(&self, checkpoint: &mut Saver<'_>) {
        self.explorer.save(checkpoint);
        let writer = &mut *checkpoint.0;
        save_visits(writer, &self.visits);
        let frugal = self.frugal.as_ref().map_or(&[][..], Policy::probabilities);
        writer.reals(frugal);
        writer.reals(&self.spent);
        writer.number(self.steps);
        writer.reals(self.learned.probabilities());
        writer.texts(&self.notes);
    }

    fn load(&mut self, checkpoint: &mut Loader<'_, '_>) -> std::result::Result<(), Damage> {
        self.explorer.load(checkpoint)?;
        let reader = &mut *checkpoint.0;
        self.visits = load_visits(reader)?;
        let frugal = reader.any_policy()?;
        self.frugal = Some(frugal).filter(|policy| !policy.probabilities().is_empty());
        self.spent = reader.reals()?;
        if self.spent.len() != self.visits.limits.len() {
            return Err("its costs do not fit its limits".into());
        }
        self.steps = reader.number()?;
        self.learned = reader.any_policy()?;
        self.notes = reader.texts()?;
        Ok(())
    }
}

fn save_visits(writer: &mut Writer, visits: &OccupancySpec) {
    writer.reals(&visits.target);
    writer.reals(&visits.wanted);
    writer.real(visits.restart);
    writer.number(visits.limits.len() as u64);
    for limit in &visits.limits {
        writer.reals(&limit.cost);
        writer.real(limit.budget);
    }
}

fn load_visits(reader: &mut Reader<'_>) -> std::result::Result<OccupancySpec, Damage> {
    let mut visits = OccupancySpec {
        target: reader.reals()?,
        wanted: reader.reals()?,
        restart: reader.real()?,
        ..OccupancySpec::default()
    };
    for _ in 0..reader.length(16)? {
        let (cost, budget) = (reader.reals()?, reader.real()?);
        visits.limits.push(Limit { cost, budget });
    }
    Ok(visits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chain::stationary;
    use crate::formulation::occupancy_spec::per_pair;
    use crate::learn::{Algorithm, Experiment, Kind, Session, Simulator, Tables, generator};
    use crate::model::Mdp;

    /// A walk on six states in a row; the other way is gone one time in ten.
    fn walk() -> Mdp {
        Mdp::from_fn(6, 2, |s, a, row| {
            let (left, right) = (s.saturating_sub(1), (s + 1).min(5));
            let (to, other) = if a == 0 { (left, right) } else { (right, left) };
            row.push((to, 0.9));
            row.push((other, 0.1));
            true
        })
        .unwrap()
        .with_start_state(0)
        .unwrap()
    }

    fn experiment(mdp: &Mdp, formulation: &str, visits: OccupancySpec) -> Experiment {
        Experiment {
            algorithms: vec![Algorithm::new(Kind::Ideal)],
            formulation: formulation.into(),
            visits,
            ..Experiment::recommended("", mdp)
        }
    }

    /// Explores for some steps in batches of 100.
    fn explored(mdp: &Mdp, experiment: &Experiment, steps: usize) -> Session {
        experiment.validate(mdp).unwrap();
        let planner = experiment.planner();
        let algorithm = &experiment.algorithms[0];
        let learner = experiment.learner(algorithm, mdp, &planner).unwrap();
        let actions: Vec<usize> = (0..mdp.n_states()).map(|s| mdp.n_actions(s)).collect();
        let mut session = Session::new(learner, &actions, false, generator(1, 0));
        let tables = Tables::new(mdp);
        let mut environment = Simulator::new(&tables);
        let stop = std::sync::atomic::AtomicBool::new(false);
        for _ in 0..steps / 100 {
            session.begin_batch().unwrap();
            session.collect(&mut environment, 100).unwrap();
            session.update(false, &stop).unwrap();
        }
        session.finalize(true, &stop).unwrap();
        session
    }

    /// Long-run distribution of what was learned in the true model.
    fn long_run(mdp: &Mdp, session: &Session) -> Vec<f64> {
        let Exploration::Policy(policy) = session.learner().exploration() else {
            panic!("a policy");
        };
        stationary::long_run(&mdp.chain(policy)).distribution
    }

    fn limit(mdp: &Mdp, cost: &[f64], budget: f64) -> OccupancySpec {
        let cost = per_pair(mdp, "cost", cost).unwrap();
        OccupancySpec {
            limits: vec![Limit { cost, budget }],
            ..OccupancySpec::default()
        }
    }

    #[test]
    fn a_budget_holds_while_data_are_gathered_and_afterwards() {
        let mdp = walk();
        let cost = [0.0, 0.0, 0.0, 0.0, 0.0, 1.0];
        let free = explored(
            &mdp,
            &experiment(&mdp, "state-entropy", OccupancySpec::default()),
            6000,
        );
        let bounded = experiment(&mdp, "state-entropy", limit(&mdp, &cost, 0.05));
        let kept = explored(&mdp, &bounded, 6000);
        let share = |session: &Session| session.counts().state_totals()[5] as f64 / 6000.0;
        assert!(share(&free) > 0.14, "{}", share(&free));
        assert!(share(&kept) < 0.052, "{}", share(&kept));
        assert!((long_run(&mdp, &kept)[5] - 0.05).abs() < 0.01);
        // the rest is still visited
        assert!(kept.counts().state_totals()[..5].iter().all(|n| *n > 300));
        let notes = kept.learner().notes().join(" ");
        assert!(
            notes.contains("limit 1: an average cost of 0.05"),
            "{notes}"
        );
    }

    #[test]
    fn a_budget_that_cannot_be_met_is_said_and_the_least_is_spent() {
        let mdp = walk();
        let cost = [0.0, 1.0, 1.0, 1.0, 1.0, 1.0];
        let session = explored(
            &mdp,
            &experiment(&mdp, "state-entropy", limit(&mdp, &cost, 0.01)),
            2000,
        );
        let notes = session.learner().notes().join(" ");
        assert!(notes.contains("the least attainable value is"), "{notes}");
        assert!(long_run(&mdp, &session)[0] > 0.75);
    }

    #[test]
    fn proportions_and_restarts_are_planned_for() {
        let mdp = walk();
        let target = vec![0.3, 0.2, 0.2, 0.1, 0.1, 0.1];
        let visits = OccupancySpec {
            target: target.clone(),
            ..OccupancySpec::default()
        };
        let session = explored(&mdp, &experiment(&mdp, "target", visits), 6000);
        for (p, q) in long_run(&mdp, &session).iter().zip(&target) {
            assert!((p - q).abs() < 0.03, "{p} for {q}");
        }
        let visits = OccupancySpec {
            restart: 0.5,
            ..OccupancySpec::default()
        };
        let session = explored(&mdp, &experiment(&mdp, "state-entropy", visits), 2000);
        // from where half of all steps start over the only way to be even is onwards
        let Exploration::Policy(policy) = session.learner().exploration() else {
            panic!("a policy");
        };
        assert!(policy.probabilities()[1] > 0.9, "{policy:?}");
    }

    #[test]
    fn what_was_saved_goes_on_and_others_take_none() {
        let mdp = walk();
        let asked = limit(&mdp, &[0.0, 0.0, 0.0, 0.0, 0.0, 1.0], 0.05);
        let made = experiment(&mdp, "state-entropy", asked.clone());
        let saved = explored(&mdp, &made, 500).learner().to_bytes();
        let mut other = made
            .learner(&made.algorithms[0], &mdp, &made.planner())
            .unwrap();
        other.restore(&saved).unwrap();
        assert_eq!(other.to_bytes(), saved);
        let rival = Experiment {
            algorithms: vec![Algorithm::new(Kind::MaxEnt)],
            ..made.clone()
        };
        let error = rival.validate(&mdp).unwrap_err().to_string();
        assert!(error.contains("only the recommended 'ideal'"), "{error}");
        let wrong = experiment(&mdp, "frobenius", asked);
        let error = wrong.validate(&mdp).unwrap_err().to_string();
        assert!(error.contains("choose state-entropy"), "{error}");
        let read: Experiment =
            serde_json::from_str(&serde_json::to_string(&made).unwrap()).unwrap();
        assert_eq!(read, made);
    }
}
