//! The table "default settings": what a user feels who changes nothing, on many models, against
//! what the same user would write instead.
//!
//! Ours runs with `Options::default()`, tie-break included, and once more without it. The peers
//! are CVXPY with Clarabel (the usual statement; stating counts, as it does for a user) and the
//! sparse statement that a careful user would hand to Clarabel or HiGHS directly, all asked for
//! the same gap. None of the peers breaks ties. Each solve of ours runs in a process of its own,
//! those of the peers in one that is replaced when it fails: no failure loses the table.

mod models;
mod ours;
mod report;

use std::time::Instant;

use ide3al::formulation::{Formulation, Problem};
use ide3al::solve::{Options, TieBreak};

use crate::peers::{Job, Reply, Worker};
use models::Model;
use ours::Ours;
pub(crate) use ours::child;

/// Seeds of the garnets and of the sampled steps begin here; `--seed=NUMBER` for others.
const SEED: u64 = 20_261_115;

/// Seconds that quick solves are repeated, on either side; the fastest counts.
const REPEAT_BELOW: f64 = 0.1;

/// Seconds a peer gets; one that needs more counts as if it had just made it.
const PEER_LIMIT: f64 = 20.0;

/// Entries of the target beyond which a statement is not tried: CVXPY needs some 5 seconds at
/// 300 x 300, Clarabel by itself up to 20 at 400 x 400.
const CVXPY_ENTRIES: f64 = 90_000.0;
const SPARSE_ENTRIES: f64 = 160_000.0;

/// One solve, by everybody.
struct Row {
    model: String,
    problem: Problem,
    ours: Ours,
    without_tie_break: Ours,
    cvxpy: Reply,
    /// The sparse statement, by solver.
    sparse: Vec<(&'static str, Reply)>,
}

/// Least action probability and largest target entry of the `i`-th model, varied from model to
/// model and from formulation to formulation. `zeta` stays at least 1 / S.
fn problem(i: usize, formulation: Formulation) -> Problem {
    const XI: [f64; 4] = [0.0, 0.01, 0.05, 0.1];
    const ZETA: [f64; 3] = [1.0, 0.7, 0.5];
    let shift = Formulation::ALL.iter().position(|f| *f == formulation);
    let place = i + shift.unwrap_or(0);
    Problem {
        xi: XI[place % XI.len()],
        zeta: if formulation.takes_zeta() {
            ZETA[place % ZETA.len()]
        } else {
            1.0
        },
        ..Problem::new(formulation)
    }
}

fn wanted(name: &str, chosen: &[&String]) -> bool {
    chosen.is_empty() || chosen.iter().any(|part| name.contains(part.as_str()))
}

fn peers_of(formulation: Formulation) -> &'static [&'static str] {
    match formulation {
        Formulation::Infinity | Formulation::ColumnSum => &["clarabel", "highs"],
        _ => &["clarabel"],
    }
}

/// Runs the solves whose name holds one of the chosen parts.
pub(crate) fn run(program: &str, chosen: &[&String], arguments: &[String]) {
    let every = Formulation::ALL.map(|f| format!("default settings: {}", f.name()));
    let seed = arguments.iter().find_map(|a| a.strip_prefix("--seed="));
    let seed = seed.map_or(SEED, |text| text.parse().unwrap());
    let folder = std::env::temp_dir().join(format!("ide3al-bench-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let mut worker = Worker::default();
    let mut rows = Vec::new();
    let begin = Instant::now();
    // a part of the table's own name chooses all of it; else names of single solves are asked for
    let possible = chosen.is_empty() || chosen.iter().any(|part| part.starts_with("default"));
    if possible || every.iter().any(|name| wanted(name, chosen)) {
        let list = models::write(&folder, seed);
        for (i, model) in list.iter().enumerate() {
            for formulation in Formulation::ALL {
                let name = format!("default settings: {} {}", model.name, formulation.name());
                if !wanted(&name, chosen) {
                    continue;
                }
                eprintln!("{:>6.0} s  {name}", begin.elapsed().as_secs_f64());
                rows.push(measure(
                    program,
                    &mut worker,
                    model,
                    problem(i, formulation),
                ));
                report::write_csv(&rows);
            }
        }
    }
    if !rows.is_empty() {
        report::print(&rows, seed, arguments.iter().any(|a| a == "--list"));
        println!("{:.0} s in all", begin.elapsed().as_secs_f64());
    }
    knight_quest(program, &mut worker, &folder, chosen);
    std::fs::remove_dir_all(&folder).ok();
}

fn measure(program: &str, worker: &mut Worker, model: &Model, problem: Problem) -> Row {
    let mut ask = |peer: &str, target_entries: f64| {
        worker.ask(&Job {
            model: &model.file,
            problem: &problem,
            peer,
            accuracy: Options::default().tolerance,
            limit: PEER_LIMIT,
            repeat_below: REPEAT_BELOW,
            target_entries,
        })
    };
    let peers = peers_of(problem.formulation);
    Row {
        cvxpy: ask("cvxpy-clarabel", CVXPY_ENTRIES),
        sparse: peers
            .iter()
            .map(|peer| (*peer, ask(peer, SPARSE_ENTRIES)))
            .collect(),
        model: model.name.clone(),
        ours: ours::measure(program, &model.file, &problem, TieBreak::Uniform),
        without_tie_break: ours::measure(program, &model.file, &problem, TieBreak::None),
        problem,
    }
}

/// Knight Quest of the paper in every formulation, default tolerance and tie-break, against CVXPY.
fn knight_quest(program: &str, worker: &mut Worker, folder: &std::path::Path, chosen: &[&String]) {
    let model = Model {
        name: "knight-quest".into(),
        file: folder.join("knight-quest.npz"),
    };
    let mdp = ide3al::domains::load(&model.name).unwrap();
    ide3al::model::io::write_model(&model.file, &mdp).unwrap();
    let mut heading = true;
    for formulation in Formulation::ALL {
        let name = format!("default settings: {} {}", model.name, formulation.name());
        if !wanted(&name, chosen) {
            continue;
        }
        if std::mem::take(&mut heading) {
            println!("\n{}", report::KNIGHT_QUEST);
        }
        let problem = Problem {
            xi: 0.01,
            ..Problem::new(formulation)
        };
        let cvxpy = worker.ask(&Job {
            model: &model.file,
            problem: &problem,
            peer: "cvxpy-clarabel",
            accuracy: Options::default().tolerance,
            limit: 120.0,
            repeat_below: REPEAT_BELOW,
            target_entries: f64::INFINITY,
        });
        let row = Row {
            model: model.name.clone(),
            ours: ours::measure(program, &model.file, &problem, TieBreak::Uniform),
            without_tie_break: ours::measure(program, &model.file, &problem, TieBreak::None),
            cvxpy,
            sparse: Vec::new(),
            problem,
        };
        println!("{}", report::knight_quest_line(&row));
    }
}
