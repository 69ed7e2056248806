//! Several optimal policies of one problem, where there are many.
//!
//! The linear programs have faces of optimal policies, and so has Frobenius: only the difference
//! `U - M` is unique, and many policies may have it. A solver returns one point of the face; others
//! are the optimal policies nearest to random ones, to the optimal policies of the other
//! formulations, and to points far away in random directions, which are extreme points of the face.
//! State Entropy fixes the steady state, but with `xi` = 0 what the start reaches of it depends on
//! the policy: there, models that differ by a hair break the ties another way each time. Whether a
//! policy is optimal for the model itself is checked, not assumed.

use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rayon::prelude::*;

use ide3al::error::Result;
use ide3al::formulation::{Formulation, Problem};
use ide3al::model::{Mdp, Policy};
use ide3al::solve::{Options, Solution, SolverChoice, Status, TieBreak, solve, solve_nearest};

/// Longest single solve of a search for further policies; one that is not done by then is checked
/// like the others.
const LIMIT: Duration = Duration::from_secs(10);

/// How much of a perturbed row is moved, as a multiple of the gap that is solved to: well above it,
/// so that it decides which of the optimal policies is found.
const HAIR: f64 = 1e3;

/// Perturbed models that are solved.
const MODELS: u64 = 8;

/// Random policies, and random directions, whose nearest optimal policy is looked for.
const CENTRES: u64 = 12;

/// How far away the directions' points lie, in policies' diameters: so that a difference of one
/// part in a hundred between two extreme points decides.
const FAR: f64 = 100.0;

/// The gap to solve to. A linear program's value grows in proportion to the distance from its
/// optimal face, so the default is enough. Frobenius and the entropies grow with its square: a
/// policy within 5e-8 of the optimum may be 1e-3 away from every optimal one, and differ from them
/// visibly in the long run.
fn gap(problem: &Problem) -> f64 {
    match problem.formulation {
        Formulation::Infinity | Formulation::ColumnSum => Options::default().tolerance,
        _ => 1e-10,
    }
}

fn options(problem: &Problem, solver: SolverChoice) -> Options {
    Options {
        solver,
        tie_break: TieBreak::None,
        tolerance: gap(problem),
        time_limit: Some(LIMIT),
        ..Options::default()
    }
}

/// Whether a problem can have several optimal policies that differ in the long run from the start.
pub(super) fn many(problem: &Problem) -> bool {
    match problem.formulation {
        Formulation::Infinity
        | Formulation::ColumnSum
        | Formulation::Frobenius
        | Formulation::Coverage
        | Formulation::Reach
        | Formulation::Own => true,
        Formulation::StateEntropy | Formulation::Target | Formulation::ModelError => {
            problem.xi <= 0.0
        }
        Formulation::Dual => false,
    }
}

/// Optimal policies besides the known one, each checked to have its value.
pub(super) fn others(mdp: &Mdp, problem: &Problem, known: &Solution) -> Result<Vec<Policy>> {
    let mut found = Vec::new();
    for solver in [SolverChoice::Auto, SolverChoice::Conic] {
        let options = options(problem, solver);
        found.push(solve(mdp, problem, &options, None, &mut ())?.policy);
    }
    match problem.formulation {
        Formulation::Dual | Formulation::StateEntropy => {
            on_perturbed_models(mdp, problem, &mut found)?;
        }
        _ => on_the_face(mdp, problem, &mut found)?,
    }
    // the smaller the better, for all
    let sign = if problem.formulation.maximises() {
        -1.0
    } else {
        1.0
    };
    let values: Result<Vec<Option<f64>>> = found
        .par_iter()
        .map(|policy| value(mdp, problem, policy))
        .collect();
    let mut judged = Vec::new();
    for (value, policy) in values?.into_iter().zip(found) {
        judged.extend(value.map(|value| (sign * value, policy)));
    }
    let own = value(mdp, problem, &known.policy)?.map(|value| sign * value);
    let all = judged.iter().map(|(value, _)| *value).chain(own);
    let best = all.fold(f64::INFINITY, f64::min);
    let most = best + 10.0 * gap(problem) * best.abs().max(1.0);
    judged.retain(|(value, _)| *value <= most);
    Ok(judged.into_iter().map(|(_, policy)| policy).collect())
}

/// The optimal policies of a distance that are nearest to policies that are not.
fn on_the_face(mdp: &Mdp, problem: &Problem, found: &mut Vec<Policy>) -> Result<()> {
    let mut centres = Vec::new();
    for formulation in Formulation::ALL {
        if formulation != problem.formulation {
            let zeta = if formulation.takes_zeta() {
                problem.zeta
            } else {
                1.0
            };
            let other = Problem {
                formulation,
                zeta,
                ..*problem
            };
            let plain = options(&other, SolverChoice::Auto);
            let solution = solve(mdp, &other, &plain, None, &mut ())?;
            centres.push(solution.policy.probabilities().to_vec());
        }
    }
    for seed in 0..CENTRES {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        // exponential weights make a row that is uniformly distributed over the simplex
        let mut policy: Vec<f64> = (0..mdp.n_pairs())
            .map(|_| -(1.0 - rng.random::<f64>()).ln())
            .collect();
        for s in 0..mdp.n_states() {
            let row = &mut policy[mdp.pairs(s)];
            let sum = row.iter().sum::<f64>().max(f64::MIN_POSITIVE);
            row.iter_mut().for_each(|p| *p /= sum);
        }
        centres.push(policy);
        let away = (0..mdp.n_pairs()).map(|_| FAR * (2.0 * rng.random::<f64>() - 1.0));
        centres.push(away.collect());
    }
    let nearest = Options {
        tie_break: TieBreak::Uniform,
        ..options(problem, SolverChoice::Auto)
    };
    let policies: Result<Vec<Policy>> = centres
        .par_iter()
        .map(|centre| Ok(solve_nearest(mdp, problem, centre, &nearest, &mut ())?.policy))
        .collect();
    found.extend(policies?);
    Ok(())
}

/// The optimal policies of models that differ by a hair.
fn on_perturbed_models(mdp: &Mdp, problem: &Problem, found: &mut Vec<Policy>) -> Result<()> {
    let auto = options(problem, SolverChoice::Auto);
    for seed in 0..MODELS {
        let near = perturbed(mdp, HAIR * gap(problem), seed)?;
        let solution = solve(&near, problem, &auto, None, &mut ())?;
        let probabilities = solution.policy.probabilities().to_vec();
        found.push(Policy::new(mdp, probabilities)?);
    }
    Ok(())
}

/// The model with a hair of each row led to any other state, which breaks every tie.
fn perturbed(mdp: &Mdp, hair: f64, seed: u64) -> Result<Mdp> {
    let n = mdp.n_states();
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let mut triplets = Vec::new();
    for s in 0..n {
        for pair in mdp.pairs(s) {
            let action = mdp.actions()[pair] as usize;
            let share = hair * rng.random::<f64>();
            let entries = mdp.row(pair).entries();
            triplets.extend(entries.map(|(t, p)| (s, action, t, (1.0 - share) * p)));
            triplets.push((s, action, rng.random_range(0..n), share));
        }
    }
    Mdp::from_triplets(n, mdp.n_action_labels(), triplets)?.with_start(mdp.start().to_vec())
}

/// The value of a policy: the problem on its chain, a model of one action. `None` where it could
/// not be computed.
fn value(mdp: &Mdp, problem: &Problem, policy: &Policy) -> Result<Option<f64>> {
    let single = mdp.under_policy(policy);
    // all that is left of Infinity is a transport problem, which the conic solver does quickly
    let solver = match problem.formulation {
        Formulation::Infinity => SolverChoice::Conic,
        _ => SolverChoice::Auto,
    };
    let options = options(problem, solver);
    let found = solve(&single, problem, &options, None, &mut ())?;
    let certificate = found.certificate;
    let known = certificate.status == Status::Optimal || certificate.gap <= 10.0 * gap(problem);
    Ok(known.then_some(certificate.objective))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ide3al::chain::{AnalyzeOptions, analyze};
    use ide3al::domains;

    /// Each one is optimal, and they are not all the same policy.
    #[test]
    fn several_optimal_policies_of_single_chain() {
        let mdp = domains::load("single-chain").unwrap();
        let problem = Problem {
            xi: 0.1,
            zeta: 0.7,
            ..Problem::new(Formulation::Infinity)
        };
        assert!(many(&problem) && !many(&Problem::new(Formulation::Dual)));
        let known = solve(&mdp, &problem, &Options::default(), None, &mut ()).unwrap();
        let found = others(&mdp, &problem, &known).unwrap();
        let entropies: Vec<f64> = found
            .iter()
            .map(|policy| {
                let value = value(&mdp, &problem, policy).unwrap().unwrap();
                assert!((value - known.certificate.objective).abs() < 2e-6);
                let analysis = analyze(&mdp, policy, &AnalyzeOptions::default()).unwrap();
                analysis.entropy_normalized
            })
            .collect();
        let low = entropies.iter().copied().fold(f64::INFINITY, f64::min);
        let high = entropies.iter().copied().fold(0.0, f64::max);
        // the face reaches from 0.832 to 0.953
        assert!(low >= 0.8320 && high <= 0.9535, "{low} {high}");
        assert!(high - low > 0.1, "{low} {high}");
    }

    /// A projection onto a convex set makes an obtuse angle with every other point of the set.
    #[test]
    fn the_nearest_optimal_policy_is_nearest() {
        let mdp = domains::load("double-chain").unwrap();
        for formulation in [
            Formulation::ColumnSum,
            Formulation::Infinity,
            Formulation::Frobenius,
        ] {
            let problem = Problem {
                xi: 0.05,
                ..Problem::new(formulation)
            };
            let known = solve(&mdp, &problem, &Options::default(), None, &mut ()).unwrap();
            let face = others(&mdp, &problem, &known).unwrap();
            assert!(face.len() > 10, "{formulation:?}: {}", face.len());
            let spread = |policy: &Policy| {
                let pairs = policy.probabilities().iter();
                let both = pairs.zip(known.policy.probabilities());
                both.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
            };
            assert!(face.iter().map(spread).fold(0.0, f64::max) > 0.1);
            let mut rng = ChaCha8Rng::seed_from_u64(9);
            for _ in 0..3 {
                let pairs = 0..mdp.n_pairs();
                let centre: Vec<f64> = pairs.map(|_| rng.random::<f64>()).collect();
                let options = Options {
                    tolerance: gap(&problem),
                    ..Options::default()
                };
                let found = solve_nearest(&mdp, &problem, &centre, &options, &mut ()).unwrap();
                assert!(found.notes.is_empty(), "{:?}", found.notes);
                let nearest = found.policy.probabilities();
                for other in &face {
                    let angle: f64 = (0..mdp.n_pairs())
                        .map(|i| (centre[i] - nearest[i]) * (other.probabilities()[i] - nearest[i]))
                        .sum();
                    assert!(angle < 1e-3, "{formulation:?}: {angle}");
                }
            }
        }
    }
}
