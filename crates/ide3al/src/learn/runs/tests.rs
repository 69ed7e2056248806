use super::*;
use crate::domains;
use crate::formulation::Problem;
use crate::formulation::entropy::EntropyWeights;
use crate::formulation::occupancy_spec::OccupancySpec;
use crate::learn::{Algorithm, Convergence, Kind};
use crate::solve::{Certificate, Solution, Status};

/// Stands in for the solvers: moves half-way from the warm start towards the pairs whose
/// rows are most uniform. Interrupts the work at one of its calls.
struct Double {
    calls: AtomicUsize,
    interrupt_at: usize,
}

impl Planner for Double {
    fn plan(
        &self,
        model: &Mdp,
        problem: &Problem,
        _: &EntropyWeights,
        warm: Option<&Solution>,
        stop: &AtomicBool,
    ) -> Result<Solution> {
        if self.calls.fetch_add(1, Ordering::Relaxed) == self.interrupt_at {
            stop.store(true, Ordering::Relaxed);
            return Err(Error::Interrupted);
        }
        let uniform = Policy::uniform(model);
        let before = warm.map_or(&uniform, |solution| &solution.policy);
        let wanted = (0..model.n_pairs()).map(|pair| {
            let row = model.row(pair);
            row.spread + 1.0 / (1.0 + row.values.iter().map(|p| p * p).sum::<f64>())
        });
        let wanted = Policy::cleaned(model, wanted.collect());
        let mixed = wanted
            .probabilities()
            .iter()
            .zip(before.probabilities())
            .map(|(p, q)| 0.5 * (p + q) + problem.xi);
        Ok(Solution {
            formulation: problem.formulation,
            policy: Policy::cleaned(model, mixed.collect()),
            certificate: Certificate {
                objective: 0.0,
                bound: 0.0,
                gap: 0.0,
                status: Status::Optimal,
                iterations: 1,
                seconds: 0.0,
            },
            dual: Vec::new(),
            solver: "double",
            limits: Vec::new(),
            restart: 0.0,
            notes: vec![format!("a plan for {} states", model.n_states())],
        })
    }

    fn plan_visits(
        &self,
        model: &Mdp,
        problem: &Problem,
        _: &OccupancySpec,
        stop: &AtomicBool,
    ) -> Result<Solution> {
        self.plan(model, problem, &EntropyWeights::default(), None, stop)
    }
}

fn double(interrupt_at: usize) -> Arc<dyn Planner> {
    Arc::new(Double {
        calls: AtomicUsize::new(0),
        interrupt_at,
    })
}

fn small() -> Experiment {
    Experiment {
        algorithms: Kind::ALL.map(Algorithm::new).to_vec(),
        iterations: 30,
        runs: 3,
        ..Experiment::default()
    }
}

fn all(runs: &Runs<'_>, experiment: &Experiment) -> Vec<RunResult> {
    (0..experiment.algorithms.len())
        .flat_map(|k| runs.results(k))
        .map(|result| RunResult {
            seconds: 0.0,
            ..result.unwrap()
        })
        .collect()
}

/// Bits, so that NaN equals NaN.
fn same(a: &[RunResult], b: &[RunResult]) -> bool {
    format!("{a:?}") == format!("{b:?}")
}

#[test]
fn an_interrupt_inside_a_solve_changes_nothing() {
    interrupted(small());
}

#[test]
fn nor_does_it_in_the_recommended_experiment() {
    interrupted(Experiment {
        paper: false,
        formulation: "state-entropy".into(),
        ..small()
    });
}

fn interrupted(experiment: Experiment) {
    let mdp = domains::load("river-swim").unwrap();
    let whole = Runs::with_planner(&experiment, &mdp, double(usize::MAX)).unwrap();
    let stop = AtomicBool::new(false);
    let iterations = AtomicUsize::new(0);
    let ended = whole.execute(2, None, &stop, &|event| {
        let Event::Iterations { count, .. } = event;
        iterations.fetch_add(count as usize, Ordering::Relaxed);
    });
    assert_eq!(ended.unwrap(), Ended::Finished);
    let runs = experiment.algorithms.len() * 3;
    assert_eq!(iterations.into_inner(), runs * 30);
    let expected = all(&whole, &experiment);

    // two tests come here at once
    static CALLS: AtomicUsize = AtomicUsize::new(0);
    let call = CALLS.fetch_add(1, Ordering::Relaxed);
    let path = format!("ide3al-runs-{}-{call}.bin", std::process::id());
    let path = std::env::temp_dir().join(path);
    let plan = CheckpointPlan {
        path: path.clone(),
        interval: Duration::from_secs(1000),
    };
    for interrupt_at in [0, 7, 8, 31, 59, 60] {
        let runs = Runs::with_planner(&experiment, &mdp, double(interrupt_at)).unwrap();
        let stop = AtomicBool::new(false);
        let ended = runs.execute(1, Some(&plan), &stop, &|_| {}).unwrap();
        assert_eq!(ended, Ended::Interrupted);
        let mut rest = Runs::with_planner(&experiment, &mdp, double(usize::MAX)).unwrap();
        rest.resume(&path).unwrap();
        let stop = AtomicBool::new(false);
        assert_eq!(
            rest.execute(2, None, &stop, &|_| {}).unwrap(),
            Ended::Finished
        );
        assert!(same(&all(&rest, &experiment), &expected), "{interrupt_at}");
    }
    let _ = std::fs::remove_file(path);
}

#[test]
fn results_do_not_depend_on_the_company() {
    let mdp = domains::load("single-chain").unwrap();
    let together = small();
    let alone = Experiment {
        algorithms: vec![Algorithm::new(Kind::MaxEnt)],
        ..small()
    };
    let results = |experiment: &Experiment, k: usize| {
        let runs = Runs::with_planner(experiment, &mdp, double(usize::MAX)).unwrap();
        runs.execute(2, None, &AtomicBool::new(false), &|_| {})
            .unwrap();
        let results = runs.results(k).into_iter().flatten();
        results.map(|r| r.policy).collect::<Vec<_>>()
    };
    assert_eq!(results(&together, 1), results(&alone, 0));
}

#[test]
fn convergence_ends_a_run_early_and_only_when_met() {
    let mdp = domains::load("river-swim").unwrap();
    let experiment = Experiment {
        algorithms: vec![Algorithm::new(Kind::Random)],
        iterations: 2000,
        convergence: Some(Convergence {
            tolerance: 0.0,
            sweeps: 5,
            visits: 3,
        }),
        ..small()
    };
    let runs = Runs::with_planner(&experiment, &mdp, double(usize::MAX)).unwrap();
    runs.execute(1, None, &AtomicBool::new(false), &|_| {})
        .unwrap();
    for result in all(&runs, &experiment) {
        assert!(result.converged && result.curve.len() < 2000);
        // 12 pairs, 3 samples each, 10 samples per iteration
        assert!(result.curve.len() > 4);
    }
}
