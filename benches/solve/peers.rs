//! The peers: a Python process that answers one job per line, and is replaced when it dies or
//! takes too long, so that a peer's failure costs no other figure.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

use ide3al::formulation::Problem;
use serde_json::{Value, json};

/// What a peer took: its whole call, stating the problem included, and the solver inside.
#[derive(Debug, Clone)]
pub(crate) struct Solved {
    pub(crate) seconds: f64,
    pub(crate) solver_seconds: f64,
    pub(crate) objective: f64,
    /// Whether the peer says that it reached what was asked for.
    pub(crate) accurate: bool,
}

/// What became of a job.
#[derive(Debug, Clone)]
pub(crate) enum Reply {
    Solved(Solved),
    /// Ran into the limit of so many seconds.
    TimedOut(f64),
    /// Not tried: the statement would be too large.
    TooLarge,
    Failed(String),
}

impl Reply {
    pub(crate) fn solved(&self) -> Option<&Solved> {
        match self {
            Reply::Solved(solved) => Some(solved),
            _ => None,
        }
    }
}

/// One solve by a peer.
pub(crate) struct Job<'a> {
    pub(crate) model: &'a Path,
    pub(crate) problem: &'a Problem,
    /// `cvxpy-clarabel`, `cvxpy-highs`, `clarabel` or `highs`.
    pub(crate) peer: &'a str,
    pub(crate) accuracy: f64,
    /// Seconds.
    pub(crate) limit: f64,
    /// Seconds until which the solve is repeated; the fastest counts.
    pub(crate) repeat_below: f64,
    /// Entries of the target beyond which a statement is not tried.
    pub(crate) target_entries: f64,
}

struct Running {
    process: Child,
    jobs: ChildStdin,
    answers: Receiver<String>,
}

/// The process, started when first needed.
#[derive(Default)]
pub(crate) struct Worker {
    running: Option<Running>,
}

pub(crate) fn script() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/peers/solve_peers.py")
}

pub(crate) fn python() -> Command {
    Command::new(std::env::var("PYTHON").unwrap_or_else(|_| "python3".into()))
}

impl Worker {
    fn start() -> std::io::Result<Running> {
        let mut process = python()
            .arg(script())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let (Some(jobs), Some(output)) = (process.stdin.take(), process.stdout.take()) else {
            return Err(std::io::Error::other("no pipe to the process"));
        };
        let (sender, answers) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Ok(Running {
            process,
            jobs,
            answers,
        })
    }

    /// Solves by a peer. The limit is the peer's own; a process that does not heed it is ended
    /// some time later.
    pub(crate) fn ask(&mut self, job: &Job<'_>) -> Reply {
        let fresh = self.running.is_none();
        if fresh {
            match Worker::start() {
                Ok(running) => self.running = Some(running),
                Err(error) => return Reply::Failed(format!("cannot start: {error}")),
            }
        }
        let line = json!({
            "model": job.model,
            "formulation": job.problem.formulation.name(),
            "xi": job.problem.xi,
            "zeta": job.problem.zeta,
            "peer": job.peer,
            "accuracy": job.accuracy,
            "limit": job.limit,
            "repeat_below": job.repeat_below,
            "target_entries": job.target_entries,
        });
        // a new process may first have to make its virtual environment
        let patience = 1.5 * job.limit + job.repeat_below + if fresh { 600.0 } else { 5.0 };
        let Some(running) = &mut self.running else {
            return Reply::Failed("cannot start".into());
        };
        let sent = writeln!(running.jobs, "{line}").and_then(|()| running.jobs.flush());
        let answer = match sent {
            Ok(()) => running
                .answers
                .recv_timeout(Duration::from_secs_f64(patience)),
            Err(_) => Err(RecvTimeoutError::Disconnected),
        };
        match answer {
            Ok(text) => reply(&text, job.limit),
            Err(error) => {
                self.stop();
                match error {
                    RecvTimeoutError::Timeout => Reply::TimedOut(job.limit),
                    RecvTimeoutError::Disconnected => Reply::Failed("the process died".into()),
                }
            }
        }
    }

    fn stop(&mut self) {
        if let Some(mut running) = self.running.take() {
            // it may have ended by itself
            running.process.kill().ok();
            running.process.wait().ok();
        }
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stop();
    }
}

fn reply(text: &str, limit: f64) -> Reply {
    let value: Value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(error) => return Reply::Failed(format!("not an answer: {error}")),
    };
    let number = |key: &str| value[key].as_f64().unwrap_or(f64::NAN);
    match (value["skipped"].as_str(), value["error"].as_str()) {
        (Some(_), _) => Reply::TooLarge,
        (_, Some("time limit")) => Reply::TimedOut(limit),
        (_, Some(reason)) => Reply::Failed(reason.to_owned()),
        _ => Reply::Solved(Solved {
            seconds: number("seconds"),
            solver_seconds: number("solver_seconds"),
            objective: number("objective"),
            accurate: value["accurate"].as_bool().unwrap_or(false),
        }),
    }
}
