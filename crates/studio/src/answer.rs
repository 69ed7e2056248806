//! A solve, told as it becomes known: first the policy and where it goes, then how fast it mixes,
//! then what is proven of it.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::response::Response;
use serde_json::{Value, json};

use super::refusal::Refusal;
use super::world::Asked;
use super::{Shared, work};
use ide3al::chain::{AnalyzeOptions, analyze, entropy, stationary};
use ide3al::evaluation::{Compare, report};
use ide3al::formulation::Problem;
use ide3al::model::Mdp;
use ide3al::solve::Solution;

/// The bounds are computed when the settings have not changed for this long.
const QUIET: Duration = Duration::from_millis(350);
/// Most entries of the flow between states that are sent.
const MOST_FLOWS: usize = 40_000;

/// Three lines: `solved`, `analysis`, and `report`, which is all that `ide3al solve --json` prints.
pub(super) async fn solve(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Response, Refusal> {
    let asked: Asked = work::json(request).await?;
    let inside = Arc::clone(&shared);
    let job = move |lines: &work::Lines| {
        let mdp = inside.build(&asked.world)?;
        let problem = asked.problem(&mdp)?;
        let mut cancel = lines.cancel.clone();
        let solution = asked.solve(&mdp, &problem, &mut cancel)?;
        if cancel.is_set() {
            return Ok(());
        }
        lines.say(&json!({ "solved": solved(&mdp, &problem, &solution) }));
        let analysis = analyze(&mdp, &solution.policy, &AnalyzeOptions::default())?;
        lines.say(&json!({ "analysis": analysis }));
        if !lines.pause(QUIET) {
            return Ok(());
        }
        let options = AnalyzeOptions::default();
        let report = report(
            &mdp,
            &problem,
            &solution,
            &options,
            Compare::Auto,
            &mut cancel,
        )?;
        lines.say(&json!({ "report": report }));
        Ok(())
    };
    Ok(shared.work.answer(job).await)
}

/// The policy with its certificate, and where it goes in the long run.
fn solved(mdp: &Mdp, problem: &Problem, solution: &Solution) -> Value {
    let chain = mdp.chain(&solution.policy);
    let d = stationary::long_run(&chain).distribution;
    let states = entropy::entropy(&d);
    let pairs = entropy::state_action_entropy(mdp, &solution.policy, &d);
    let kernel = chain.kernel();
    let mut flow: Vec<(usize, u32, f64)> = Vec::new();
    if kernel.nnz() <= MOST_FLOWS && !kernel.has_spread() {
        for (s, visits) in d.iter().enumerate() {
            let row = kernel.row(s);
            let entries = row.indices.iter().zip(row.values);
            flow.extend(entries.map(|(t, p)| (s, *t, visits * p)));
        }
    }
    let certificate = &solution.certificate;
    json!({
        "formulation": problem.formulation.name(),
        "xi": problem.xi,
        "zeta": problem.formulation.takes_zeta().then_some(problem.zeta),
        "solver": solution.solver,
        "status": certificate.status.name(),
        "objective": certificate.objective,
        "bound": certificate.bound,
        "gap": certificate.gap,
        "iterations": certificate.iterations,
        "seconds": certificate.seconds,
        "notes": solution.notes,
        "policy": solution.policy.probabilities(),
        "stationary": d,
        "entropy": states,
        "entropy_normalized": entropy::normalized(states, mdp.n_states()),
        "state_action_entropy": pairs,
        "state_action_entropy_normalized": entropy::normalized(pairs, mdp.n_pairs()),
        "flow": flow,
    })
}
