//! Walkers of several policies, from the start, step by step.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use serde::Deserialize;
use serde_json::json;

use super::refusal::Refusal;
use super::world::{Asked, World};
use super::{Shared, work};
use ide3al::learn::{Environment, PolicySampler, Simulator, Tables, generator};
use ide3al::model::{Mdp, Policy};

/// Most steps of a race.
const MOST_STEPS: usize = 20_000;
/// Most walkers.
const MOST_RACERS: usize = 8;

#[derive(Deserialize)]
struct Race {
    world: World,
    /// Names of formulations, or "uniform".
    racers: Vec<String>,
    xi: Option<f64>,
    zeta: Option<f64>,
    #[serde(default)]
    within: Option<f64>,
    steps: usize,
    seed: u64,
}

/// One line per walker: the states it was in, and the steps in which it found a new one.
pub(super) async fn race(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Response, Refusal> {
    let race: Race = work::json(request).await?;
    if race.racers.is_empty() || race.racers.len() > MOST_RACERS {
        return Err(Refusal::bad(format!("1 to {MOST_RACERS} walkers can race")));
    }
    if race.steps == 0 || race.steps > MOST_STEPS {
        return Err(Refusal::bad(format!("a race has 1 to {MOST_STEPS} steps")));
    }
    let inside = Arc::clone(&shared);
    let job = move |lines: &work::Lines| {
        let mdp = inside.build(&race.world)?;
        let tables = Tables::new(&mdp);
        for (lane, racer) in race.racers.iter().enumerate() {
            let Some(policy) = policy(&mdp, &race, racer, lines)? else {
                return Ok(());
            };
            let mut rng = generator(race.seed, lane as u64);
            let mut simulator = Simulator::new(&tables);
            let actions: Vec<usize> = (0..mdp.n_states()).map(|s| mdp.n_actions(s)).collect();
            let mut sampler = PolicySampler::new(&actions);
            sampler.set(&policy)?;
            let mut state = simulator.reset(&mut rng)?;
            let mut seen = vec![false; mdp.n_states()];
            let (mut path, mut found) = (Vec::with_capacity(race.steps + 1), Vec::new());
            for step in 0..=race.steps {
                path.push(state);
                if !std::mem::replace(&mut seen[state], true) {
                    found.push(step);
                }
                let action = sampler.draw(state, &mut rng);
                state = simulator.step(action, &mut rng)?.next;
            }
            lines.say(&json!({ "racer": racer, "path": path, "found": found }));
        }
        Ok(())
    };
    Ok(shared.work.answer(job).await)
}

/// The policy of a walker; `None` when nobody waits for it any more.
fn policy(
    mdp: &Mdp,
    race: &Race,
    racer: &str,
    lines: &work::Lines,
) -> Result<Option<Policy>, Refusal> {
    if racer == "uniform" {
        return Ok(Some(Policy::uniform(mdp)));
    }
    let asked = Asked {
        world: race.world.clone(),
        formulation: racer.to_owned(),
        xi: race.xi,
        zeta: race.zeta,
        within: race.within,
    };
    let mut cancel = lines.cancel.clone();
    let problem = asked.problem(mdp)?;
    let solution = asked.solve(mdp, &problem, &mut cancel)?;
    Ok((!cancel.is_set()).then_some(solution.policy))
}
