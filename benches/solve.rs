//! Lab (to become the solve bench).
#![allow(clippy::print_stdout, clippy::unwrap_used, missing_docs)]
use ide3al::formulation::{Formulation, Problem};
use ide3al::solve::{Observer, Options, Progress, SolverChoice, TieBreak, solve};
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

fn peak_memory() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|l| l.starts_with("VmHWM:"));
    line.and_then(|l| l.split_whitespace().nth(1))
        .and_then(|kb| kb.parse::<f64>().ok())
        .map_or(f64::NAN, |kb| kb / 1024.0)
}
struct Say(Instant, f64);
impl Observer for Say {
    fn on(&mut self, p: &Progress) -> ControlFlow<()> {
        let t = self.0.elapsed().as_secs_f64();
        if t > self.1 {
            self.1 = t * 1.3 + 0.5;
            eprintln!("  {t:8.2}s it {} obj {:.8} gap {:.3e}", p.iteration, p.objective, p.gap);
        }
        ControlFlow::Continue(())
    }
}
fn main() {
    let a: Vec<String> = std::env::args().skip(1).filter(|a| a != "--bench").collect();
    let formulation = match a[1].as_str() {
        "infinity" => Formulation::Infinity,
        "frobenius" => Formulation::Frobenius,
        "column-sum" => Formulation::ColumnSum,
        "dual" => Formulation::Dual,
        _ => Formulation::StateEntropy,
    };
    let f = |i: usize| a[i].parse::<f64>().unwrap();
    let mdp = ide3al::domains::load(&a[0]).unwrap();
    let problem = Problem { formulation, xi: f(2), zeta: f(3) };
    let repeats = f(7) as usize;
    let options = Options {
        tolerance: f(4),
        relative_tolerance: f(5),
        time_limit: Some(Duration::from_secs_f64(f(6))),
        tie_break: TieBreak::None,
        solver: SolverChoice::Structured,
        ..Options::default()
    };
    let mut best = f64::INFINITY;
    for i in 0..repeats {
        let clock = Instant::now();
        let mut say = Say(clock, if repeats > 1 { 1e9 } else { 0.0 });
        let found = solve(&mdp, &problem, &options, None, &mut say).unwrap();
        best = best.min(clock.elapsed().as_secs_f64());
        if i + 1 == repeats {
            println!("{} {}: {:.5}s {} {:?} peak {:.0} MiB", a[0], a[1], best, found.solver, found.certificate, peak_memory());
        }
    }
}
