//! Our side of the table: one solve in a process of its own, with the default options.

use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use ide3al::formulation::{Formulation, Problem};
use ide3al::model::io;
use ide3al::solve::{Options, TieBreak, solve};

use super::REPEAT_BELOW;

/// Seconds after which a solve of ours is given up. No time limit is set in the options: the
/// default has none.
const LIMIT: f64 = 120.0;

/// What a solve of ours took and gave.
#[derive(Debug, Clone)]
pub(super) struct Ours {
    pub(super) seconds: f64,
    pub(super) objective: f64,
    pub(super) gap: f64,
    /// The certificate's status, or what went wrong.
    pub(super) status: String,
}

impl Ours {
    fn failed(status: impl Into<String>) -> Self {
        Ours {
            seconds: f64::NAN,
            objective: f64::NAN,
            gap: f64::NAN,
            status: status.into(),
        }
    }

    pub(super) fn optimal(&self) -> bool {
        self.status == "optimal"
    }
}

/// `FILE FORMULATION XI ZETA TIE_BREAK`: solves, repeatedly if it is quick, and prints seconds,
/// objective, gap and status.
pub(crate) fn child(arguments: &[String]) {
    let mdp = io::read_model(Path::new(&arguments[0])).unwrap();
    let problem = Problem {
        formulation: Formulation::from_name(&arguments[1]).unwrap(),
        xi: arguments[2].parse().unwrap(),
        zeta: arguments[3].parse().unwrap(),
    };
    let mut options = Options::default();
    if arguments[4] == "none" {
        options.tie_break = TieBreak::None;
    }
    let begin = Instant::now();
    let mut best = f64::INFINITY;
    let certificate = loop {
        let clock = Instant::now();
        let found = solve(&mdp, &problem, &options, None, &mut ()).unwrap();
        best = best.min(clock.elapsed().as_secs_f64());
        if begin.elapsed().as_secs_f64() > REPEAT_BELOW {
            break found.certificate;
        }
    };
    println!(
        "{best} {:e} {:e} {}",
        certificate.objective,
        certificate.gap,
        certificate.status.name()
    );
}

pub(super) fn measure(program: &str, file: &Path, problem: &Problem, tie_break: TieBreak) -> Ours {
    let process = Command::new(program)
        .arg("--child-default")
        .arg(file)
        .arg(problem.formulation.name())
        .args([problem.xi, problem.zeta].map(|x| x.to_string()))
        .arg(tie_break.name())
        .stdout(Stdio::piped())
        .spawn();
    let mut process = match process {
        Ok(process) => process,
        Err(error) => return Ours::failed(format!("cannot start: {error}")),
    };
    let begin = Instant::now();
    let status = loop {
        match process.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if begin.elapsed().as_secs_f64() < LIMIT => {
                std::thread::sleep(Duration::from_millis(2));
            }
            Ok(None) => {
                process.kill().ok();
                process.wait().ok();
                return Ours::failed(format!("more than {LIMIT} s"));
            }
            Err(error) => return Ours::failed(error.to_string()),
        }
    };
    let mut text = String::new();
    if let Some(mut output) = process.stdout.take() {
        output.read_to_string(&mut text).ok();
    }
    let words: Vec<&str> = text.split_whitespace().collect();
    match words[..] {
        [seconds, objective, gap, name] if status.success() => {
            let number = |word: &str| word.parse().unwrap_or(f64::NAN);
            Ours {
                seconds: number(seconds),
                objective: number(objective),
                gap: number(gap),
                status: name.to_owned(),
            }
        }
        _ => Ours::failed("crashed"),
    }
}
