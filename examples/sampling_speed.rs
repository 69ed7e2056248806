//! Steps per second and core of the built-in simulator: drawing an action from a policy,
//! drawing the next state, and (second figure) counting the transition.
//!
//! ```sh
//! cargo run --release --example sampling_speed [MODEL ...]
//! ```
#![allow(clippy::print_stdout)]

use std::time::Instant;

use ide3al::domains;
use ide3al::learn::{Environment, PolicySampler, Random, Session, Simulator, Tables, generator};
use ide3al::model::Policy;

fn main() -> ide3al::Result<()> {
    let mut models: Vec<String> = std::env::args().skip(1).collect();
    if models.is_empty() {
        let names = [
            "single-chain",
            "double-chain",
            "river-swim",
            "knight-quest",
            "four-rooms",
        ];
        models.extend(names.map(String::from));
    }
    println!("million steps per second, one core");
    println!("{:<24}{:>10}{:>14}", "model", "stepping", "and counting");
    for model in &models {
        let mdp = domains::load(model)?;
        let tables = Tables::new(&mdp);
        let actions: Vec<usize> = (0..mdp.n_states()).map(|s| mdp.n_actions(s)).collect();
        let mut sampler = PolicySampler::new(&actions);
        sampler.set(&Policy::uniform(&mdp))?;
        let steps = 20_000_000;

        let mut rng = generator(1, 0);
        let mut simulator = Simulator::new(&tables);
        let mut state = simulator.reset(&mut rng)?;
        let begun = Instant::now();
        for _ in 0..steps {
            let action = sampler.draw(state, &mut rng);
            state = simulator.step(action, &mut rng)?.next;
        }
        std::hint::black_box(state);
        let stepping = steps as f64 / begun.elapsed().as_secs_f64() / 1e6;

        let learner = Box::new(Random::new(Policy::uniform(&mdp)));
        let mut session = Session::new(learner, &actions, false, rng);
        session.begin_batch()?;
        let begun = Instant::now();
        session.collect(&mut simulator, steps)?;
        let counting = steps as f64 / begun.elapsed().as_secs_f64() / 1e6;
        assert_eq!(session.counts().total(), steps as u64);
        println!("{model:<24}{stepping:>10.1}{counting:>14.1}");
    }
    Ok(())
}
