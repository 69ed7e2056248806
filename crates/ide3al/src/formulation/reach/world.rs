//! The model as a policy needs it: the states that can be reached, and one number per transition.
//!
//! Rows that are partly uniform, and restarts, lead through a *hub*: a state of no duration from
//! which the walk goes on at once, so that the matrix stays sparse.

use ide3al_numerics::selected_inverse::Symbolic;

use super::super::episode::reached;
use super::super::parameter;
use super::{Origin, Reach};
use crate::error::Result;
use crate::model::Mdp;

/// Most numbers in a factor, each of which is held some six times: three gigabytes.
const MOST_NUMBERS: usize = 60_000_000;
/// Most multiplications of one elimination: half a minute for an evaluation.
const MOST_WORK: u64 = 100_000_000_000;
/// Names of states that a message lists.
const NAMED: usize = 5;
/// Most states whose steady state can be given: a dense system of that size takes a tenth of a
/// second.
const MOST_PROPORTIONS: usize = 500;

/// The model as far as it can be reached, with what is wanted of it.
#[derive(Debug, Clone)]
pub struct World {
    /// The states that can be reached, as numbers in the model.
    pub states: Vec<u32>,
    /// Mean time of the walk; infinity for the mean hitting time.
    pub within: f64,
    /// Least probability of every action.
    pub xi: f64,
    /// $\mu$, one number per vertex: a state that can be reached, or a hub.
    pub origin: Vec<f64>,
    /// $w$, one number per vertex, of sum one.
    pub weights: Vec<f64>,
    /// $q$, one number per state, of sum one; empty where the steady state is free.
    pub proportions: Vec<f64>,
    /// First pair of each state, and their number at the end.
    pub first_pair: Vec<usize>,
    /// The model's pair behind each pair.
    pub pair: Vec<u32>,
    /// Time that each pair takes.
    pub time: Vec<f64>,
    /// Whether the model has travel times.
    pub has_times: bool,
    /// Whether some rows are partly uniform or lead to the start.
    pub has_hubs: bool,
    /// Ends of every transition between vertices.
    pub rows: Vec<u32>,
    /// See `rows`.
    pub columns: Vec<u32>,
    /// Transitions of pair `k`: `entries[offsets[k]..offsets[k + 1]]`, each with its probability.
    pub offsets: Vec<usize>,
    /// Number of the transition, and its probability.
    pub entries: Vec<(u32, f64)>,
    /// Transitions from hubs.
    pub fixed: Vec<(u32, f64)>,
    /// The fronts of its matrix.
    pub symbolic: Symbolic,
}

impl World {
    /// The model as far as it can be reached. `reach` has been validated.
    pub fn new(mdp: &Mdp, reach: &Reach) -> Result<Self> {
        let reached = reached(mdp, usize::MAX);
        let states: Vec<u32> = (0..mdp.n_states() as u32)
            .filter(|s| reached[*s as usize])
            .collect();
        let n = states.len();
        let mut local = vec![u32::MAX; mdp.n_states()];
        for (i, &s) in states.iter().enumerate() {
            local[s as usize] = i as u32;
        }
        let pairs = || states.iter().flat_map(|s| mdp.pairs(*s as usize));
        let spreads = pairs().any(|pair| mdp.row(pair).spread > 0.0);
        let restart = reach.restart;
        let uniform_hub = spreads.then_some(n as u32);
        let start_hub = (restart > 0.0).then_some((n + usize::from(spreads)) as u32);
        let size = n + usize::from(spreads) + usize::from(restart > 0.0);

        let mut world = World {
            within: 0.0,
            xi: reach.xi,
            origin: vec![0.0; size],
            weights: vec![0.0; size],
            proportions: Vec::new(),
            first_pair: vec![0],
            pair: pairs().map(|pair| pair as u32).collect(),
            time: Vec::new(),
            has_times: mdp.times().is_some(),
            has_hubs: size > n,
            rows: Vec::new(),
            columns: Vec::new(),
            offsets: vec![0],
            entries: Vec::new(),
            fixed: Vec::new(),
            symbolic: Symbolic::new(0, &[], &[]),
            states,
        };
        world.time = world
            .pair
            .iter()
            .map(|pair| mdp.times().map_or(1.0, |times| times[*pair as usize]))
            .collect();
        world.within = reach.time(mdp);
        // transitions, each once per state
        let mut edge_of = vec![u32::MAX; size];
        for s in 0..n {
            let from = world.rows.len();
            for pair in mdp.pairs(world.states[s] as usize) {
                let row = mdp.row(pair);
                let stays = 1.0 - restart;
                let stored = row.entries().map(|(t, p)| (local[t], stays * p));
                let hubs = [
                    uniform_hub.map(|hub| (hub, stays * row.spread)),
                    start_hub.map(|hub| (hub, restart)),
                ];
                for (t, p) in stored.chain(hubs.into_iter().flatten()) {
                    if p > 0.0 {
                        let edge = &mut edge_of[t as usize];
                        if *edge == u32::MAX {
                            *edge = world.rows.len() as u32;
                            world.rows.push(s as u32);
                            world.columns.push(t);
                        }
                        world.entries.push((*edge, p));
                    }
                }
                world.offsets.push(world.entries.len());
            }
            for &t in &world.columns[from..] {
                edge_of[t as usize] = u32::MAX;
            }
            world.first_pair.push(world.offsets.len() - 1);
        }
        if !reach.proportions.is_empty() {
            world.ask_for_proportions(mdp, reach)?;
        }
        let start = |s: usize| mdp.start()[world.states[s] as usize];
        let mut fixed = Vec::new();
        if let Some(hub) = uniform_hub {
            fixed.extend((0..n).map(|t| (hub, t as u32, 1.0 / n as f64)));
        }
        if let Some(hub) = start_hub {
            let begins = (0..n).filter(|t| start(*t) > 0.0);
            fixed.extend(begins.map(|t| (hub, t as u32, start(t))));
        }
        for s in 0..n {
            world.origin[s] = match (reach.begins(), world.proportions.get(s)) {
                (Origin::Start, _) => start(s),
                (Origin::Anywhere, Some(q)) => *q,
                (Origin::Anywhere, None) => 1.0 / n as f64,
            };
        }
        for (hub, t, p) in fixed {
            world.fixed.push((world.rows.len() as u32, p));
            world.rows.push(hub);
            world.columns.push(t);
        }
        world.weigh(reach)?;
        if world.within.is_infinite() {
            world.leave_out_the_start();
            world.check_returns(mdp)?;
        }
        world.symbolic = Symbolic::new(size, &world.rows, &world.columns);
        Ok(world)
    }

    /// Every state that can be reached must have a share, and no other.
    fn ask_for_proportions(&mut self, mdp: &Mdp, reach: &Reach) -> Result<()> {
        let refuse = |problem: String| {
            let given = format!("{} numbers", reach.proportions.len());
            Err(parameter("proportions", given, problem))
        };
        let n = self.n_states();
        if n > MOST_PROPORTIONS {
            let problem = format!(
                "a given steady state is kept to by dense systems, for up to {MOST_PROPORTIONS} \
                 states; here {n} can be reached"
            );
            return refuse(problem);
        }
        if self.has_hubs || reach.evenness > 0.0 {
            let problem = "go with no restart, no evenness and no rows that are partly uniform";
            return refuse(problem.into());
        }
        let lost = (0..mdp.n_states()).find(|s| {
            let is_reached = self.states.binary_search(&(*s as u32)).is_ok();
            is_reached != (reach.proportions[*s] > 0.0)
        });
        if let Some(s) = lost {
            let problem = format!(
                "those of the states that can be reached must be above zero, all others zero; see \
                 that of {}",
                mdp.state_name(s)
            );
            return refuse(problem);
        }
        let own = self.states.iter().map(|s| reach.proportions[*s as usize]);
        let sum: f64 = own.clone().sum();
        self.proportions = own.map(|q| q / sum).collect();
        Ok(())
    }

    fn weigh(&mut self, reach: &Reach) -> Result<()> {
        for (i, &s) in self.states.iter().enumerate() {
            let weights = if reach.weights.is_empty() {
                &reach.proportions
            } else {
                &reach.weights
            };
            self.weights[i] = weights.get(s as usize).copied().unwrap_or(1.0);
        }
        let sum: f64 = self.weights.iter().sum();
        if !(sum > 0.0) {
            let problem = "no state of positive weight can be reached from the start";
            return Err(parameter("target", 0, problem));
        }
        self.weights.iter_mut().for_each(|w| *w /= sum);
        Ok(())
    }

    /// The one state in which every walk begins is seen at time zero whatever follows, even if it
    /// is never seen again.
    fn leave_out_the_start(&mut self) {
        if let Some(s) = self.origin.iter().position(|p| *p == 1.0) {
            let seen_at_once = self.weights[s];
            if seen_at_once < 1.0 {
                self.weights[s] = 0.0;
            }
        }
    }

    /// A mean hitting time is finite where all states of positive weight lead to each other.
    fn check_returns(&self, mdp: &Mdp) -> Result<()> {
        let Some(first) = self.weights.iter().position(|w| *w > 0.0) else {
            return Ok(());
        };
        let forward = self.met_from(first, &self.rows, &self.columns);
        let backward = self.met_from(first, &self.columns, &self.rows);
        let wanted = (0..self.states.len()).filter(|s| self.weights[*s] > 0.0);
        let lost: Vec<String> = wanted
            .filter(|s| !(forward[*s] && backward[*s]))
            .map(|s| mdp.state_name(self.states[s] as usize))
            .collect();
        if lost.is_empty() {
            return Ok(());
        }
        let names = listed(&lost);
        let one = mdp.state_name(self.states[first] as usize);
        let problem = format!(
            "the mean hitting time is infinite for every policy: there is no way from {one} to \
             {names} and back; give a finite number of steps, a restart, or weights of 0 to what \
             cannot be seen twice (parameter 'target')"
        );
        Err(parameter("within", "inf", problem))
    }

    fn met_from(&self, first: usize, from: &[u32], to: &[u32]) -> Vec<bool> {
        let mut lists = vec![Vec::new(); self.size()];
        for (&s, &t) in from.iter().zip(to) {
            lists[s as usize].push(t);
        }
        let mut met = vec![false; self.size()];
        met[first] = true;
        let mut next = vec![first];
        while let Some(s) = next.pop() {
            for &t in &lists[s] {
                if !met[t as usize] {
                    met[t as usize] = true;
                    next.push(t as usize);
                }
            }
        }
        met
    }

    /// States that can be reached, and hubs.
    pub fn size(&self) -> usize {
        self.origin.len()
    }

    /// Number of states that can be reached.
    pub fn n_states(&self) -> usize {
        self.states.len()
    }

    /// The time in which every state might be seen four times.
    pub fn natural_time(&self) -> f64 {
        let mean = self.time.iter().sum::<f64>() / self.time.len() as f64;
        (4.0 * self.n_states() as f64 * mean).max(1.0)
    }

    /// Whether factors would take gigabytes, or an evaluation minutes in which nothing can stop it.
    pub fn fills_in(&self) -> bool {
        self.symbolic.size() > MOST_NUMBERS || self.symbolic.work() > MOST_WORK
    }

    /// Whether the mean hitting time is to be minimised, rather than the share seen maximised.
    pub fn is_hitting(&self) -> bool {
        self.within.is_infinite()
    }

    /// $g = 1 - 1/T$.
    pub fn discount(&self) -> f64 {
        1.0 - 1.0 / self.within
    }

    /// What is left of a walk after the step of a pair.
    pub fn discount_of(&self, pair: usize) -> f64 {
        if self.is_hitting() {
            1.0
        } else if self.has_times {
            self.discount().powf(self.time[pair])
        } else {
            self.discount()
        }
    }

    /// The pairs of a state.
    pub fn pairs(&self, state: usize) -> std::ops::Range<usize> {
        self.first_pair[state]..self.first_pair[state + 1]
    }

    /// The next states of a pair with their probabilities, in a model without hubs.
    pub fn next(&self, pair: usize) -> impl Iterator<Item = (usize, f64)> + '_ {
        let entries = &self.entries[self.offsets[pair]..self.offsets[pair + 1]];
        entries
            .iter()
            .map(|(edge, p)| (self.columns[*edge as usize] as usize, *p))
    }

    /// The policy of the whole model: uniform where nothing leads.
    pub fn whole_policy(&self, mdp: &Mdp, policy: &[f64]) -> Vec<f64> {
        let mut whole = crate::model::Policy::uniform(mdp).probabilities().to_vec();
        for (&pair, &p) in self.pair.iter().zip(policy) {
            whole[pair as usize] = p;
        }
        whole
    }

    /// The part of a policy of the whole model that matters.
    pub fn part(&self, policy: &[f64]) -> Vec<f64> {
        self.pair
            .iter()
            .map(|pair| policy[*pair as usize])
            .collect()
    }

    /// The nearest policy that plays every action with probability `xi`, of the part that matters.
    pub fn allowed(&self, mut policy: Vec<f64>) -> Vec<f64> {
        for s in 0..self.n_states() {
            super::super::simplex::project(&mut policy[self.pairs(s)], self.xi);
        }
        policy
    }

    /// The states that can be reached as a model of their own, without restarts.
    pub fn as_model(&self, mdp: &Mdp) -> Result<Mdp> {
        if self.n_states() == mdp.n_states() {
            return Ok(mdp.clone());
        }
        let mut local = vec![0; mdp.n_states()];
        for (i, &s) in self.states.iter().enumerate() {
            local[s as usize] = i;
        }
        let part = Mdp::from_fn(self.n_states(), mdp.n_action_labels(), |s, a, row| {
            let mut pairs = mdp.pairs(self.states[s] as usize);
            let Some(pair) = pairs.find(|k| mdp.actions()[*k] as usize == a) else {
                return false;
            };
            row.extend(mdp.row(pair).entries().map(|(t, p)| (local[t], p)));
            true
        })?;
        let start = self.states.iter().map(|s| mdp.start()[*s as usize]);
        part.with_start(start.collect())
    }

    /// What a user should know about states that cannot be reached.
    pub fn note(&self, mdp: &Mdp) -> Option<String> {
        let here = |s: &usize| self.states.binary_search(&(*s as u32)).is_ok();
        let lost: Vec<String> = (0..mdp.n_states())
            .filter(|s| !here(s))
            .map(|s| mdp.state_name(s))
            .collect();
        let (n, names) = (mdp.n_states(), listed(&lost));
        (!lost.is_empty()).then(|| {
            format!(
                "{} of {n} states cannot be reached from the start and are not counted: {names}",
                lost.len()
            )
        })
    }
}

/// Some names, and how many more there are.
fn listed(names: &[String]) -> String {
    let first = names[..names.len().min(NAMED)].join(", ");
    match names.len().saturating_sub(NAMED) {
        0 => first,
        more => format!("{first} and {more} more"),
    }
}
