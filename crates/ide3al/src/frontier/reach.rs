//! Even in the long run, or soon: the trade-off of [reach](crate::formulation::reach).
//!
//! Along `evenness` from what the policy that sees most has of itself to the largest there is, and
//! along `within` from as many steps as there are states to a hundred times as many, and along
//! `xi`.

use super::{MOST_POINTS, Sweep, SweepPoint, Vary, evaluate_point};
use crate::error::{Error, Result};
use crate::formulation::reach::Reach;
use crate::formulation::reach::world::World;
use crate::formulation::{Formulation, Problem, parameter};
use crate::model::Mdp;
use crate::solve::{self, Observer, Options, Solution, Status, TieBreak};

/// The longest time of a sweep, in default times (of four steps for each state).
const LONGEST: f64 = 25.0;
const SHORTEST: f64 = 0.25;
/// How near to the largest evenness a sweep goes: at it hardly anything is left to choose.
const NEARLY: f64 = 1e-6;

/// Solves reach along `vary`, each point warm-started from the one before.
pub fn sweep(
    mdp: &Mdp,
    reach: &Reach,
    vary: Vary,
    points: usize,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Sweep> {
    if !(2..=MOST_POINTS).contains(&points) {
        let problem = format!("must lie between 2 and {MOST_POINTS}");
        return Err(parameter("points", points, problem));
    }
    reach.validate(mdp)?;
    let values = match vary {
        Vary::Within => {
            let unit = Reach {
                within: None,
                ..reach.clone()
            }
            .time(mdp);
            let ratio = (LONGEST / SHORTEST).powf(1.0 / (points - 1) as f64);
            let times = (0..points).map(|k| (unit * SHORTEST * ratio.powi(k as i32)).max(1.0));
            times.collect()
        }
        Vary::Evenness => match evennesses(mdp, reach, points, options, observer)? {
            Some(values) => values,
            None => return Ok(begun(vary, points, true)),
        },
        // from the upper end, where only the uniform policy is left
        Vary::Xi => super::values(mdp, vary, points).into_iter().rev().collect(),
        Vary::Zeta => {
            let problem = "zeta: reach varies within, evenness or xi (parameter 'vary')";
            return Err(Error::Unsupported(problem.into()));
        }
    };
    let mut out = begun(vary, points, false);
    let mut warm: Option<Solution> = None;
    for value in values {
        let mut asked = reach.clone();
        match vary {
            Vary::Evenness => asked.evenness = value,
            Vary::Xi => asked.xi = value,
            _ => asked.within = Some(value),
        }
        let solution = solve::reach::solve(mdp, &asked, options, warm.as_ref(), observer)?;
        if solution.certificate.status == Status::Interrupted {
            out.interrupted = true;
            break;
        }
        let problem = Problem {
            xi: asked.xi,
            ..Problem::new(Formulation::Reach)
        };
        let time = asked.time(mdp);
        out.points.push(SweepPoint {
            within: time.is_finite().then_some(time),
            evenness: Some(asked.evenness),
            ..evaluate_point(mdp, &problem, &solution)?
        });
        warm = Some(solution);
    }
    if vary == Vary::Xi {
        out.points.reverse();
    }
    Ok(out)
}

fn begun(vary: Vary, points: usize, interrupted: bool) -> Sweep {
    Sweep {
        formulation: Formulation::Reach.name(),
        vary: vary.name(),
        points: Vec::with_capacity(points),
        interrupted,
    }
}

/// From the evenness of the policy that sees most to the largest; `None` if interrupted.
fn evennesses(
    mdp: &Mdp,
    reach: &Reach,
    points: usize,
    options: &Options,
    observer: &mut dyn Observer,
) -> Result<Option<Vec<f64>>> {
    let free = Reach {
        evenness: 0.0,
        ..reach.clone()
    };
    let solution = solve::reach::solve(mdp, &free, options, None, observer)?;
    if solution.certificate.status == Status::Interrupted {
        return Ok(None);
    }
    let world = World::new(mdp, &free)?;
    let part = world.as_model(mdp)?;
    let problem = Problem {
        xi: reach.xi,
        ..Problem::new(Formulation::StateEntropy)
    };
    let plain = Options {
        tie_break: TieBreak::None,
        ..options.clone()
    };
    let even = solve::solve(&part, &problem, &plain, None, observer)?;
    let largest = (world.n_states() as f64).ln().max(f64::MIN_POSITIVE);
    let share = |policy: &crate::model::Policy| {
        let d = crate::chain::stationary::long_run(&part.chain(policy)).distribution;
        crate::chain::entropy::entropy(&d) / largest
    };
    let own = world.part(solution.policy.probabilities());
    let low = share(&crate::model::Policy::new(&part, own)?);
    let high = share(&even.policy) - NEARLY;
    let low = low.min(high).max(0.0);
    let step = (high - low) / (points - 1) as f64;
    Ok(Some(
        (0..points)
            .map(|k| (low + step * k as f64).max(0.0))
            .collect(),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evenness_costs_speed_and_a_longer_time_shows_more() {
        let mdp = crate::domains::load("double-chain").unwrap();
        let reach = Reach::with_xi(0.01);
        let options = Options::default();
        let of = |vary| sweep(&mdp, &reach, vary, 4, &options, &mut ()).unwrap();
        let even = of(Vary::Evenness);
        assert_eq!(even.points.len(), 4);
        for pair in even.points.windows(2) {
            assert!(pair[1].objective <= pair[0].objective + 1e-6);
            assert!(pair[1].entropy_normalized >= pair[1].evenness.unwrap() - 1e-6);
        }
        let within = of(Vary::Within);
        let seen: Vec<f64> = within.points.iter().map(|p| p.objective).collect();
        assert!(seen.is_sorted(), "{seen:?}");
        let tried = of(Vary::Xi);
        assert!(tried.points.is_sorted_by(|a, b| a.xi < b.xi));
        assert!(tried.points[0].objective > tried.points[3].objective);
        assert!(sweep(&mdp, &reach, Vary::Zeta, 4, &options, &mut ()).is_err());
    }
}
