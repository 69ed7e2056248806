//! Learners at work, as far as they are asked to go on: a page that is closed or paused asks for
//! nothing.

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};
use std::time::Duration;

use axum::extract::{Request, State};
use axum::response::Response;
use serde::Deserialize;
use serde_json::{Value, json};

use super::refusal::Refusal;
use super::work::{self, CancelFlag};
use super::world::World;
use super::{Shared, world};
use ide3al::error::Error;
use ide3al::learn::{
    Algorithm, Experiment, Metrics, Plan, Run, Simulator, Tables, generator, row_errors,
};
use ide3al::model::Mdp;

/// Sessions at once; the oldest makes room.
const MAX_SESSIONS: u64 = 4;
/// Learners of a session.
const MOST_LEARNERS: usize = 6;
/// Iterations of one request.
const MOST_ITERATIONS: u64 = 50;
/// Steps of a batch.
const MOST_BATCH: u64 = 100_000;
/// A session that nobody asks anything for this long ends.
const IDLE: Duration = Duration::from_secs(300);
/// Most states of a world in which one learns while somebody looks on.
const MOST_STATES: usize = 2_500;

/// A request for more iterations, with the place for the answer.
struct Turn {
    iterations: u64,
    cancel: CancelFlag,
    answer: mpsc::Sender<Result<Value, Refusal>>,
}

/// Sessions by number, each a thread that waits for its turns.
#[derive(Default)]
pub(super) struct Sessions {
    next: AtomicU64,
    open: Mutex<HashMap<u64, mpsc::Sender<Turn>>>,
}

#[derive(Deserialize)]
struct Enrolment {
    world: World,
    algorithms: Vec<String>,
    iterations: u64,
    batch: u64,
    seed: u64,
}

#[derive(Deserialize)]
struct More {
    session: u64,
    iterations: u64,
}

/// Begins a session: answers with its number.
pub(super) async fn begin(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Response, Refusal> {
    let enrolment: Enrolment = work::json(request).await?;
    let inside = Arc::clone(&shared);
    let job = move |lines: &work::Lines| {
        let mdp = inside.build(&enrolment.world)?;
        let experiment = experiment(&mdp, &enrolment)?;
        let number = inside.sessions.open(mdp, experiment);
        lines.say(&json!({ "session": number }));
        Ok(())
    };
    Ok(shared.work.answer(job).await)
}

/// Goes on by some iterations: answers with the figures of each learner since.
pub(super) async fn next(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Response, Refusal> {
    let more: More = work::json(request).await?;
    let inside = Arc::clone(&shared);
    let job = move |lines: &work::Lines| {
        let gone = || Refusal::bad("these learners have ended; start again");
        let open = inside.sessions.open.lock();
        let turns = open
            .unwrap_or_else(PoisonError::into_inner)
            .get(&more.session)
            .cloned();
        let (answer, answered) = mpsc::channel();
        let turn = Turn {
            iterations: more.iterations.clamp(1, MOST_ITERATIONS),
            cancel: lines.cancel.clone(),
            answer,
        };
        turns.ok_or_else(gone)?.send(turn).map_err(|_| gone())?;
        lines.say(&answered.recv().map_err(|_| gone())??);
        Ok(())
    };
    Ok(shared.work.answer(job).await)
}

fn experiment(mdp: &Mdp, enrolment: &Enrolment) -> Result<Experiment, Refusal> {
    if mdp.n_states() > MOST_STATES {
        return Err(Refusal::bad(format!(
            "{} states are too many to learn live (at most {MOST_STATES}); 'ide3al learn' has no such limit",
            mdp.n_states()
        )));
    }
    if enrolment.algorithms.len() > MOST_LEARNERS {
        return Err(Refusal::bad(format!("at most {MOST_LEARNERS} learners")));
    }
    if enrolment.batch > MOST_BATCH {
        return Err(Refusal::bad(format!(
            "at most {MOST_BATCH} steps per batch"
        )));
    }
    let spec = enrolment.world.domain.as_deref().unwrap_or("");
    let names = enrolment.algorithms.iter();
    let experiment = Experiment {
        algorithms: names
            .map(|name| Algorithm::from_name(name))
            .collect::<ide3al::Result<_>>()?,
        iterations: enrolment.iterations,
        batch_size: enrolment.batch,
        seed: enrolment.seed,
        runs: 1,
        gap_every: enrolment.iterations,
        ..Experiment::recommended(spec, mdp)
    };
    experiment.validate(mdp)?;
    world::check_size(mdp)?;
    Ok(experiment)
}

impl Sessions {
    fn open(&self, mdp: Arc<Mdp>, experiment: Experiment) -> u64 {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let (sender, receiver) = mpsc::channel();
        // a session whose sender is gone ends by itself
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.retain(|old, _| old + MAX_SESSIONS > number);
        open.insert(number, sender);
        std::thread::spawn(move || serve(&mdp, &experiment, &receiver));
        number
    }
}

/// Serves the turns of a session until nobody asks any more.
fn serve(mdp: &Mdp, experiment: &Experiment, turns: &mpsc::Receiver<Turn>) {
    let tables = Tables::new(mdp);
    let planner = experiment.planner();
    let plan = Plan {
        iterations: experiment.iterations,
        batch: experiment.batch_size,
        gap_every: experiment.gap_every,
        convergence: None,
    };
    let runs = experiment.algorithms.iter().map(|algorithm| {
        let learner = experiment.learner(algorithm, mdp, &planner)?;
        // the streams of `ide3al learn`, so that the first of its runs is the one seen here
        let rng = generator(experiment.seed, algorithm.kind.stream() << 32);
        Run::new(Simulator::new(&tables), learner, Some(mdp), plan, rng)
    });
    let mut runs: ide3al::Result<Vec<_>> = runs.collect();
    let mut told = 0;
    while let Ok(turn) = turns.recv_timeout(IDLE) {
        let answer = match &mut runs {
            Ok(runs) => go_on(mdp, experiment, runs, &turn, &mut told),
            Err(error) => Err(Refusal::bad(error.to_string())),
        };
        // whoever asked may be gone
        let _ = turn.answer.send(answer);
    }
}

/// Some iterations of every learner, and what is new.
fn go_on(
    mdp: &Mdp,
    experiment: &Experiment,
    runs: &mut [Run<'_, Simulator<'_>>],
    turn: &Turn,
    told: &mut usize,
) -> Result<Value, Refusal> {
    let iteration = runs.iter().map(Run::iteration).min().unwrap_or(0);
    let goal = (iteration + turn.iterations).min(experiment.iterations);
    for run in runs.iter_mut() {
        while run.iteration() < goal && !run.is_done() {
            match run.iterate(turn.cancel.flag()) {
                Ok(()) => {}
                // it goes on from here with the next turn
                Err(Error::Interrupted) => return Err(Refusal::bad("interrupted")),
                Err(error) => return Err(error.into()),
            }
        }
    }
    let learners: Vec<Value> = runs
        .iter()
        .zip(&experiment.algorithms)
        .map(|(run, algorithm)| learner(mdp, algorithm, run, *told))
        .collect();
    let from = *told;
    *told = runs.first().map_or(0, |run| run.curve().len());
    Ok(json!({
        "from": from,
        "iteration": goal,
        "steps": goal * experiment.batch_size,
        "done": goal >= experiment.iterations,
        "learners": learners,
    }))
}

/// What is new of a learner since it was last asked: its curve; and what it has seen by now.
fn learner(mdp: &Mdp, algorithm: &Algorithm, run: &Run<'_, Simulator<'_>>, told: usize) -> Value {
    let column = |name: &str| -> Vec<f64> {
        let place = Metrics::NAMES.iter().position(|known| *known == name);
        let curve = run.curve().get(told..).unwrap_or_default().iter();
        curve
            .map(|m| m.values(mdp.n_states(), mdp.n_pairs())[place.unwrap_or(0)])
            .collect()
    };
    let counts = run.counts();
    let tried = counts.pair_totals();
    let visits: Vec<u64> = (0..mdp.n_states())
        .map(|s| mdp.pairs(s).map(|pair| tried[pair]).sum())
        .collect();
    json!({
        "name": algorithm.label(),
        "entropy_normalized": column("entropy_normalized"),
        "model_error": column("model_error"),
        "visits": visits,
        "doubt": row_errors(mdp, counts),
        "pairs_tried": tried.iter().filter(|n| **n > 0).count(),
        "policy": run.policy().probabilities(),
        "stationary": run.distribution(),
    })
}
