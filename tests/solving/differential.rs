//! Random models against the definitions: the structured solver, the conic solver and every other
//! policy at hand must agree about what is proven.
//!
//! `make soak` runs the same cases for as long as it is told, from a fresh seed:
//!
//! ```sh
//! make soak                          # 30 minutes, a new seed
//! make soak MINUTES=5 SEED=17        # shorter, and the same cases every time
//! ```
#![allow(clippy::unwrap_used, clippy::print_stdout)]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::trust::arbitrary::{self, FAMILIES};
use crate::trust::verdict::{Verdict, judge};
use ide3al::formulation::{Formulation, Problem};
use ide3al::model::Mdp;
use ide3al::solve::Status;
use ide3al_report::Table;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;

/// The most states of a random model.
const LARGEST: usize = 40;

/// Case `number` of a seed: formulations take turns.
fn case(seed: u64, number: u64) -> (ChaCha8Rng, Mdp, usize, Problem) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    rng.set_stream(number);
    let (mdp, family) = arbitrary::model(&mut rng, LARGEST);
    let formulation = Formulation::ALL[(number % 5) as usize];
    let problem = arbitrary::problem(&mut rng, &mdp, formulation);
    (rng, mdp, family, problem)
}

fn run(seed: u64, number: u64) -> Result<Verdict, String> {
    let attempt = || {
        let (mut rng, mdp, family, problem) = case(seed, number);
        judge(&mut rng, &mdp, family, &problem, true)
    };
    catch_unwind(AssertUnwindSafe(attempt)).map_err(|panic| {
        let text = panic.downcast_ref::<String>().cloned();
        text.or_else(|| panic.downcast_ref::<&str>().map(|t| (*t).to_owned()))
            .unwrap_or_else(|| "panic".into())
    })
}

/// Figures of all cases of one formulation.
#[derive(Default, Clone)]
struct Tally {
    models: u64,
    optimal: u64,
    stalled: u64,
    /// Of these, without extreme probabilities.
    ordinary: u64,
    conic: u64,
    undecided: u64,
    gap: f64,
    overclaimed: f64,
    broken: f64,
    seconds: f64,
    slowest: f64,
}

impl Tally {
    fn add(&mut self, v: &Verdict) {
        self.models += 1;
        self.optimal += u64::from(v.status == Status::Optimal);
        self.stalled += u64::from(v.status != Status::Optimal);
        let extreme = arbitrary::is_extreme(v.family);
        self.ordinary += u64::from(v.status != Status::Optimal && !extreme);
        self.conic += u64::from(v.conic);
        self.undecided += u64::from(v.undecided);
        if v.status == Status::Optimal {
            self.gap = self.gap.max(v.gap);
        }
        self.overclaimed = self.overclaimed.max(v.overclaimed);
        self.broken = self.broken.max(v.broken);
        self.seconds += v.seconds;
        self.slowest = self.slowest.max(v.seconds);
    }
}

struct Failure {
    number: u64,
    what: Vec<String>,
}

/// Runs cases on two threads until the time is up or `most` are done.
fn soak(seed: u64, time: Duration, most: u64) -> (Vec<Tally>, Vec<u64>, Vec<Failure>) {
    let begun = Instant::now();
    let next = AtomicU64::new(0);
    let all = Mutex::new((
        vec![Tally::default(); 5],
        vec![0u64; FAMILIES.len()],
        Vec::new(),
    ));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while begun.elapsed() < time {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= most {
                        break;
                    }
                    let result = run(seed, number);
                    let mut all = all.lock().unwrap();
                    match result {
                        Ok(verdict) => {
                            all.0[(number % 5) as usize].add(&verdict);
                            all.1[verdict.family] += 1;
                            if !verdict.failures.is_empty() {
                                let what = verdict.failures;
                                all.2.push(Failure { number, what });
                            }
                        }
                        Err(panic) => all.2.push(Failure {
                            number,
                            what: vec![format!("panicked: {panic}")],
                        }),
                    }
                }
            });
        }
    });
    let mut all = all.into_inner().unwrap();
    all.2.sort_by_key(|f| f.number);
    all
}

/// Writes the model of a failed case where it can be looked at and made a regression test of.
fn keep(seed: u64, failure: &Failure) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("soak-failures");
    std::fs::create_dir_all(&folder).unwrap();
    let (_, mdp, family, problem) = case(seed, failure.number);
    let name = format!("{}-{}-{}", problem.formulation.name(), seed, failure.number);
    let path = folder.join(format!("{name}.json"));
    ide3al::model::io::write_model(&path, &mdp).unwrap();
    println!(
        "case {} ({}, {} states, {}, xi {:?}, zeta {:?})\n  {}\n  model: {}",
        failure.number,
        problem.formulation.name(),
        mdp.n_states(),
        FAMILIES[family],
        problem.xi,
        problem.zeta,
        failure.what.join("\n  "),
        path.display()
    );
    path
}

fn report(seed: u64, tallies: &[Tally], families: &[u64], failures: &[Failure]) {
    let header = [
        "formulation",
        "models",
        "optimal",
        "not reached",
        "of these ordinary",
        "conic agrees",
        "undecided",
        "worst gap",
        "overclaimed",
        "bound broken",
        "mean ms",
        "slowest s",
    ];
    let mut table = (1..header.len()).fold(Table::new(&header), Table::right);
    for (formulation, t) in Formulation::ALL.iter().zip(tallies) {
        table.row([
            formulation.name().to_owned(),
            t.models.to_string(),
            t.optimal.to_string(),
            t.stalled.to_string(),
            t.ordinary.to_string(),
            t.conic.to_string(),
            t.undecided.to_string(),
            format!("{:.1e}", t.gap),
            format!("{:.1e}", t.overclaimed),
            format!("{:.1e}", t.broken),
            format!("{:.2}", 1e3 * t.seconds / t.models.max(1) as f64),
            format!("{:.2}", t.slowest),
        ]);
    }
    println!("seed {seed}\n\n{table}");
    for (name, count) in FAMILIES.iter().zip(families) {
        println!("{count:>8} {name}");
    }
    for failure in failures.iter().take(40) {
        keep(seed, failure);
    }
    println!("\n{} failures", failures.len());
}

#[test]
fn random_models_cannot_prove_a_certificate_wrong() {
    let (tallies, families, failures) = soak(20, Duration::from_secs(25), 6000);
    report(20, &tallies, &families, &failures);
    assert!(
        failures.is_empty(),
        "{} failures, see above",
        failures.len()
    );
    assert!(tallies.iter().all(|t| t.models > 50), "too slow to tell");
}

/// The long run: `make soak`.
#[test]
#[ignore = "runs as long as it is told: make soak"]
fn long() {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<u64>().ok());
    let minutes = number("SOAK_MINUTES").unwrap_or(30);
    let most = number("SOAK_CASES").unwrap_or(u64::MAX);
    let fresh = || {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        now.map_or(1, |d| d.as_nanos() as u64 % 1_000_000_007)
    };
    let seed = number("SOAK_SEED").unwrap_or_else(fresh);
    println!("seed {seed}, {minutes} minutes");
    if let Some(only) = number("SOAK_CASE") {
        let result = run(seed, only);
        println!("{result:#?}");
        let what = vec!["asked for by SOAK_CASE".into()];
        keep(seed, &Failure { number: only, what });
        return;
    }
    let (tallies, families, failures) = soak(seed, Duration::from_secs(60 * minutes), most);
    report(seed, &tallies, &families, &failures);
    assert!(
        failures.is_empty(),
        "{} failures, see above",
        failures.len()
    );
}

/// The checks can fail: a policy that is not optimal, a bound that is too good.
#[test]
fn a_wrong_certificate_is_seen() {
    use crate::trust::definition;
    let mdp = ide3al::domains::load("single-chain").unwrap();
    let p = definition::dense(&mdp);
    for formulation in Formulation::ALL {
        let problem = Problem {
            xi: 0.1,
            ..Problem::new(formulation)
        };
        let options = ide3al::solve::Options::default();
        let solved = ide3al::solve::solve(&mdp, &problem, &options, None, &mut ()).unwrap();
        let best = solved.policy.probabilities();
        let value = definition::value(&mdp, &p, &problem, best, &[], 3000);
        let claimed = solved.certificate.objective;
        assert!(
            (value.0 - claimed).abs() < 1e-6 && (value.1 - claimed).abs() < 1e-6,
            "{formulation:?}: {value:?}, {claimed}"
        );
        let uniform = vec![0.5; mdp.n_pairs()];
        let worse = definition::value(&mdp, &p, &problem, &uniform, &[], 3000);
        let sign = if formulation.maximises() { -1.0 } else { 1.0 };
        assert!(
            sign * (worse.0 - claimed) > 0.01,
            "{formulation:?}: {worse:?}"
        );
    }
}
