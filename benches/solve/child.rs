//! One case of the table by size, in a process of its own.

use std::process::Command;
use std::time::{Duration, Instant};

use ide3al::formulation::{Formulation, Problem};
use ide3al::model::io;
use ide3al::solve::{Options, SolverChoice, Status, TieBreak, solve};

use crate::cases::Case;
use crate::peers::{Job, Reply, Solved, Worker};

/// What a solve took and gave.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Measured {
    pub(crate) transitions: f64,
    pub(crate) seconds: f64,
    pub(crate) peak_mib: f64,
    pub(crate) objective: f64,
    pub(crate) gap: f64,
    pub(crate) optimal: bool,
}

/// Peak resident memory of this process in MiB.
fn peak_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM:"));
    line.and_then(|l| l.split_whitespace().nth(1))
        .and_then(|kb| kb.parse::<f64>().ok())
        .map_or(f64::NAN, |kb| kb / 1024.0)
}

/// `--child MODEL FORMULATION XI ZETA ABSOLUTE RELATIVE LIMIT`: solves, repeatedly if it is
/// quick, and prints the figures.
pub(crate) fn run(arguments: &[String]) {
    let number = |i: usize| arguments[i].parse::<f64>().unwrap();
    let mdp = ide3al::domains::load(&arguments[0]).unwrap();
    let problem = Problem {
        formulation: Formulation::from_name(&arguments[1]).unwrap(),
        xi: number(2),
        zeta: number(3),
    };
    let options = Options {
        tolerance: number(4),
        relative_tolerance: number(5),
        time_limit: Some(Duration::from_secs_f64(number(6))),
        tie_break: TieBreak::None,
        solver: SolverChoice::Auto,
        ..Options::default()
    };
    let begin = Instant::now();
    let mut best = f64::INFINITY;
    let certificate = loop {
        let clock = Instant::now();
        let found = solve(&mdp, &problem, &options, None, &mut ()).unwrap();
        best = best.min(clock.elapsed().as_secs_f64());
        if begin.elapsed().as_secs_f64() > 1.0 {
            break found.certificate;
        }
    };
    println!(
        "{} {best} {} {:e} {:e} {}",
        mdp.kernel().nnz(),
        peak_memory(),
        certificate.objective,
        certificate.gap,
        u8::from(certificate.status == Status::Optimal)
    );
}

/// Runs a case in a process of its own.
pub(crate) fn measure(program: &str, case: &Case) -> Measured {
    let output = Command::new(program)
        .args(["--child", &case.model, case.formulation.name()])
        .args([case.xi, case.zeta, case.absolute, case.relative, case.limit].map(|x| x.to_string()))
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}: {}",
        case.name(),
        String::from_utf8_lossy(&output.stderr)
    );
    let line = String::from_utf8(output.stdout).unwrap();
    let v: Vec<f64> = line
        .split_whitespace()
        .map(|x| x.parse().unwrap())
        .collect();
    Measured {
        transitions: v[0],
        seconds: v[1],
        peak_mib: v[2],
        objective: v[3],
        gap: v[4],
        optimal: v[5] == 1.0,
    }
}

/// Runs the case's peers; one that fails is left out.
pub(crate) fn peers(worker: &mut Worker, case: &Case) -> Vec<(&'static str, Option<Solved>)> {
    if case.peers.is_empty() {
        return Vec::new();
    }
    let file = std::env::temp_dir().join(format!("ide3al-bench-{}.npz", std::process::id()));
    io::write_model(&file, &ide3al::domains::load(&case.model).unwrap()).unwrap();
    let problem = Problem {
        formulation: case.formulation,
        xi: case.xi,
        zeta: case.zeta,
    };
    let accuracy = if case.relative > 0.0 {
        case.relative
    } else {
        case.absolute
    };
    let mut found = Vec::new();
    for &peer in case.peers {
        let reply = worker.ask(&Job {
            model: &file,
            problem: &problem,
            peer,
            accuracy: accuracy.min(1e-6),
            limit: case.limit,
            repeat_below: 0.0,
            target_entries: f64::INFINITY,
        });
        if let Reply::Failed(reason) = &reply {
            println!("  {peer}: {reason}");
        }
        found.push((peer, reply.solved().cloned()));
    }
    std::fs::remove_file(&file).unwrap();
    found
}
