//! The trade-off curve of a world.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::response::Response;
use serde_json::json;

use super::refusal::Refusal;
use super::world::Asked;
use super::{Shared, work};
use ide3al::formulation::{Formulation, Problem};
use ide3al::frontier::{Vary, sweep};
use ide3al::model::Mdp;

/// Points of a curve: fewer where each takes its time.
fn points(mdp: &Mdp) -> usize {
    match mdp.n_states() {
        0..=150 => 21,
        151..=600 => 9,
        _ => 5,
    }
}

/// Evenness against speed: along `zeta` where the formulation takes one, of reach along
/// its time, else along `xi`.
pub(super) async fn curve(
    State(shared): State<Arc<Shared>>,
    request: Request,
) -> Result<Response, Refusal> {
    let asked: Asked = work::json(request).await?;
    let inside = Arc::clone(&shared);
    let job = move |lines: &work::Lines| {
        let mdp = inside.build(&asked.world)?;
        let problem: Problem = asked.problem(&mdp)?;
        let vary = match problem.formulation {
            Formulation::Reach => Vary::Within,
            _ if problem.formulation.takes_zeta() => Vary::Zeta,
            _ => Vary::Xi,
        };
        let mut cancel = lines.cancel.clone();
        let options = work::options();
        let sweep = sweep(&mdp, &problem, vary, points(&mdp), &options, &mut cancel)?;
        lines.say(&json!({ "curve": sweep }));
        Ok(())
    };
    Ok(shared.work.answer(job).await)
}
