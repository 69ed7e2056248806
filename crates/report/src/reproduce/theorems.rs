//! The paper's theorems on chains: where they hold, where they fail, and the corrected bound.

use rand::{Rng, RngExt};
use serde::Deserialize;

use super::registry::Spec;
use super::verdict::{Measurement, Rule};
use super::{Context, DataTable, Outcome, Row};
use ide3al::chain::bounds::{Distances, certified, paper_claims};
use ide3al::chain::{AnalyzeOptions, analyze};
use ide3al::domains;
use ide3al::error::Result;
use ide3al::formulation::{Formulation, Problem, column_sum};
use ide3al::learn::generator;
use ide3al::model::{Mdp, Policy};
use ide3al::solve::{Options, TieBreak, solve};

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parameters {
    seed: u64,
    /// Random chains.
    chains: usize,
    /// Most states of one.
    most_states: usize,
    /// Domains whose optimal policies are checked.
    models: Vec<String>,
    otherwise: String,
}

/// What is known about one chain, entropies in nats.
struct Checked {
    name: String,
    entropy: f64,
    /// Theorems 2, 3 and 4.
    claims: [f64; 3],
    theorem: f64,
    certified: f64,
}

fn options() -> Options {
    Options {
        tie_break: TieBreak::None,
        tolerance: 1e-9,
        ..Options::default()
    }
}

fn check(name: String, mdp: &Mdp, policy: &Policy) -> Result<Checked> {
    let chain = mdp.chain(policy);
    let n = mdp.n_states();
    // the chain as a model with one action, so that only the target is left to choose
    let dense: Vec<f64> = chain.kernel().to_dense().into_iter().flatten().collect();
    let fixed = Mdp::from_dense(n, 1, &dense)?;
    let distance = |formulation| -> Result<f64> {
        let problem = Problem::new(formulation);
        // the smaller side of the certificate: a claim is not called false for want of accuracy
        let solution = solve(&fixed, &problem, &options(), None, &mut ())?;
        Ok(solution.certificate.objective)
    };
    let distances = Distances {
        infinity: Some(distance(Formulation::Infinity)?),
        frobenius: Some(distance(Formulation::Frobenius)?),
        column_sum: column_sum::value(mdp, policy.probabilities()),
    };
    let claims = paper_claims(n, &distances);
    let proven = certified(&chain);
    let analysis = analyze(mdp, policy, &AnalyzeOptions::default())?;
    Ok(Checked {
        name,
        entropy: analysis.entropy,
        claims: [
            claims.infinity.unwrap_or(f64::NAN),
            claims.frobenius.unwrap_or(f64::NAN),
            claims.column_sum,
        ],
        theorem: proven.theorem,
        certified: proven.entropy,
    })
}

/// A random chain: dense rows, rows dominated by one entry, or a slow one that mostly stays.
fn random_chain(n: usize, rng: &mut impl Rng) -> Result<Mdp> {
    let power = [1.0, 4.0, 12.0][rng.random_range(0..3)];
    let stay = if rng.random::<bool>() {
        0.0
    } else {
        1.0 - 10f64.powf(-4.0 * rng.random::<f64>())
    };
    let mut dense = vec![0.0; n * n];
    for (s, row) in dense.chunks_mut(n).enumerate() {
        for p in row.iter_mut() {
            // nowhere zero: the theorems are about chains with one steady state
            *p = 1e-9 + rng.random::<f64>().powf(power);
        }
        let sum: f64 = row.iter().sum();
        for p in row.iter_mut() {
            *p *= (1.0 - stay) / sum;
        }
        row[s] += stay;
    }
    Mdp::from_dense(n, 1, &dense)
}

/// A random doubly stochastic matrix without zeros: a mixture of permutations and the uniform
/// matrix.
fn doubly_stochastic(n: usize, rng: &mut impl Rng) -> Result<Mdp> {
    let mut dense = vec![0.1 / n as f64; n * n];
    let weights: Vec<f64> = (0..n).map(|_| rng.random::<f64>() + 1e-3).collect();
    let sum: f64 = weights.iter().sum();
    for weight in weights {
        let mut order: Vec<usize> = (0..n).collect();
        for i in (1..n).rev() {
            order.swap(i, rng.random_range(0..=i));
        }
        for (s, t) in order.into_iter().enumerate() {
            dense[s * n + t] += 0.9 * weight / sum;
        }
    }
    Mdp::from_dense(n, 1, &dense)
}

/// Slack for the accuracy of distances and entropies.
const SLACK: f64 = 1e-6;

pub(super) fn run(spec: &Spec, context: &Context<'_>) -> Result<Outcome> {
    let parameters: Parameters = spec.parameters(context.full)?;
    let mut outcome = Outcome::default();
    let mut rng = generator(parameters.seed, 0);
    let most = parameters.most_states.max(2);
    let mut farthest: f64 = 0.0;
    let mut random = Vec::with_capacity(parameters.chains);
    for k in 0..parameters.chains {
        context.step(k, parameters.chains + 1)?;
        let n = rng.random_range(2..=most);
        let even = doubly_stochastic(n, &mut rng)?;
        let d = analyze(&even, &Policy::uniform(&even), &AnalyzeOptions::default())?.stationary;
        let off = d.iter().map(|p| (p - 1.0 / n as f64).abs());
        farthest = off.fold(farthest, f64::max);
        let mdp = random_chain(n, &mut rng)?;
        let policy = Policy::uniform(&mdp);
        random.push(check(
            format!("random chain {k}, {n} states"),
            &mdp,
            &policy,
        )?);
    }
    let two = Mdp::from_dense(2, 1, &[0.999, 0.001, 0.01, 0.99])?;
    let two = check(
        "the two-state counterexample".into(),
        &two,
        &Policy::uniform(&two),
    )?;
    let optimal = optimal_policies(&parameters.models)?;

    let measured = Measurement::exact(farthest);
    outcome.rows.push(Row::new(
        "Theorem 1: the steady state of a doubly stochastic chain is uniform (largest deviation)",
        0,
        measured,
        Rule::Below(1e-10).judge(&measured),
    ));
    let names = [
        "Theorem 2 (infinity norm)",
        "Theorem 3 (Frobenius norm)",
        "Theorem 4 (column sums)",
    ];
    for (k, name) in names.iter().enumerate() {
        let broken = |c: &&Checked| c.entropy < c.claims[k] - SLACK;
        let share = |set: &[Checked]| set.iter().filter(broken).count() as f64 / set.len() as f64;
        let measured = Measurement::exact(share(&random));
        let row = Row::new(
            format!("{name}: share of random chains whose entropy is below the claimed bound"),
            0,
            measured,
            Rule::Within(0.0).judge(&measured),
        )
        .because(&format!(
            "of {} chains; two states [[0.999, 0.001], [0.01, 0.99]]: claimed at least {:.4} nats, true {:.4}",
            random.len(),
            two.claims[k],
            two.entropy
        ));
        outcome.rows.push(row.otherwise(&parameters.otherwise));
        let measured = Measurement::exact(share(&optimal));
        let row = Row::new(
            format!("{name}: share of the domains' optimal policies that violate it"),
            0,
            measured,
            Rule::Within(0.0).judge(&measured),
        );
        outcome
            .rows
            .push(row.because(&format!("of {} policies", optimal.len())));
    }
    let all: Vec<&Checked> = random.iter().chain([&two]).chain(&optimal).collect();
    let count = |broken: &dyn Fn(&Checked) -> bool| all.iter().filter(|c| broken(c)).count() as f64;
    for (name, paper, violations) in [
        (
            "Corollary: theorem 3's bound is never better than theorem 2's (violations)",
            serde_json::json!(0),
            count(&|c| c.claims[1] > c.claims[0] + SLACK),
        ),
        (
            "Ours: the corrected theorem never exceeds the true entropy (violations)",
            serde_json::Value::Null,
            count(&|c| c.theorem > c.entropy + 1e-9),
        ),
        (
            "Ours: the certified bound never exceeds the true entropy (violations)",
            serde_json::Value::Null,
            count(&|c| c.certified > c.entropy + 1e-9),
        ),
    ] {
        let measured = Measurement::exact(violations);
        let row = Row::new(name, paper, measured, Rule::Within(0.0).judge(&measured));
        outcome
            .rows
            .push(row.because(&format!("of {} chains", all.len())));
    }
    outcome.tables.push(table(&two, &random, &optimal));
    Ok(outcome)
}

fn optimal_policies(models: &[String]) -> Result<Vec<Checked>> {
    let mut checked = Vec::new();
    for model in models {
        let mdp = domains::load(model)?;
        for formulation in [
            Formulation::Infinity,
            Formulation::Frobenius,
            Formulation::ColumnSum,
        ] {
            for xi in [0.0, 0.1] {
                let problem = Problem {
                    xi,
                    ..Problem::new(formulation)
                };
                let solution = solve(&mdp, &problem, &Options::default(), None, &mut ())?;
                let name = format!("{model}, {}, ξ = {xi}", formulation.name());
                checked.push(check(name, &mdp, &solution.policy)?);
            }
        }
    }
    Ok(checked)
}

fn table(two: &Checked, random: &[Checked], optimal: &[Checked]) -> DataTable {
    let mut table = DataTable::new(
        "",
        &[
            "chain",
            "true H(d), nats",
            "theorem 2 claims",
            "theorem 3 claims",
            "theorem 4 claims",
            "corrected theorem",
            "certified",
        ],
    );
    // the random chains that theorem 2 misjudges most
    let mut worst: Vec<&Checked> = random.iter().collect();
    worst.sort_by(|a, b| (a.entropy - a.claims[0]).total_cmp(&(b.entropy - b.claims[0])));
    for c in std::iter::once(two)
        .chain(worst.into_iter().take(4))
        .chain(optimal)
    {
        let mut row = vec![c.name.clone(), format!("{:.4}", c.entropy)];
        row.extend(c.claims.iter().map(|x| format!("{x:.4}")));
        row.push(format!("{:.4}", c.theorem));
        row.push(format!("{:.4}", c.certified));
        table.rows.push(row);
    }
    table.caption = "Lower bounds on the entropy of the steady state. A claim above the true entropy is false. First the \
        two-state counterexample and the four random chains that theorem 2 misjudges most, then the optimal \
        policies of the domains, where the claims are true but mostly empty (below zero)."
        .into();
    table
}
