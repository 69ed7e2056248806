//! The table, the growth exponents, and what is written to `bench-results/`.

use std::fmt::Write as _;
use std::path::Path;

use ide3al_report::axes::Axis;
use ide3al_report::figure::{Figure, Point, Style};
use ide3al_report::palette::Role;
use ide3al_report::panels::{Panel, Panels};
use ide3al_report::png::png;

use crate::cases::Case;
use crate::child::Measured;
use crate::peers::Solved;

pub(crate) struct Row {
    pub(crate) case: Case,
    pub(crate) ours: Measured,
    pub(crate) peers: Vec<(&'static str, Option<Solved>)>,
}

pub(crate) const HEADING: &str = "\
model                                         formulation   zeta     seconds  peak MiB   objective        gap  ended    \
 CVXPY+Clarabel      ratio  Clarabel alone  CVXPY+HiGHS      ratio  differ by";

impl Row {
    fn peer(&self, name: &str) -> Option<&Solved> {
        let found = self.peers.iter().find(|(peer, _)| *peer == name);
        found.and_then(|(_, peer)| peer.as_ref())
    }

    /// Largest difference of a peer's objective from ours.
    fn difference(&self) -> Option<f64> {
        let all = self.peers.iter().filter_map(|(_, peer)| peer.as_ref());
        all.map(|peer| (peer.objective - self.ours.objective).abs())
            .reduce(f64::max)
    }

    pub(crate) fn line(&self) -> String {
        let ours = &self.ours;
        let blank = |x: Option<String>| x.unwrap_or_else(|| "-".into());
        let seconds = |name| blank(self.peer(name).map(|p| format!("{:.4} s", p.seconds)));
        let ratio = |name| {
            blank(
                self.peer(name)
                    .map(|p| format!("{:.1} x", p.seconds / ours.seconds)),
            )
        };
        let alone = self
            .peer("cvxpy-clarabel")
            .map(|p| format!("{:.4} s", p.solver_seconds));
        format!(
            "{:<45} {:<12} {:>5} {:>11.5} {:>9.0} {:>11.4e} {:>10.1e}  {:<8} {:>14} {:>10} {:>15} {:>12} {:>10} {:>10}",
            self.case.model,
            self.case.formulation.name(),
            self.case.zeta,
            ours.seconds,
            ours.peak_mib,
            ours.objective,
            ours.gap,
            if ours.optimal { "reached" } else { "LIMIT" },
            seconds("cvxpy-clarabel"),
            ratio("cvxpy-clarabel"),
            blank(alone),
            seconds("cvxpy-highs"),
            ratio("cvxpy-highs"),
            blank(self.difference().map(|x| format!("{x:.1e}"))),
        )
    }
}

fn families(rows: &[Row]) -> Vec<(&'static str, Vec<&Row>)> {
    let mut found: Vec<(&'static str, Vec<&Row>)> = Vec::new();
    for row in rows.iter().filter(|r| !r.case.family.is_empty()) {
        match found.iter_mut().find(|(name, _)| *name == row.case.family) {
            Some((_, list)) => list.push(row),
            None => found.push((row.case.family, vec![row])),
        }
    }
    found
}

/// Growth exponents in the number of transitions, between neighbouring sizes.
pub(crate) fn growth(rows: &[Row]) {
    println!("\ngrowth per transition                from         to   time   memory");
    for (family, list) in families(rows) {
        for pair in list.windows(2) {
            let (small, large) = (&pair[0].ours, &pair[1].ours);
            let size = (large.transitions / small.transitions).ln();
            println!(
                "{family:<30} {:>10} {:>10} {:>6.2} {:>8.2}",
                small.transitions,
                large.transitions,
                (large.seconds / small.seconds).ln() / size,
                (large.peak_mib / small.peak_mib).ln() / size
            );
        }
    }
}

/// `bench-results/solve.csv`, and the growth as a picture.
pub(crate) fn write(rows: &[Row]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("bench-results");
    std::fs::create_dir_all(&folder).unwrap();
    let mut csv = String::from(
        "model,formulation,xi,zeta,transitions,seconds,peak_mib,objective,gap,reached,\
         clarabel_seconds,clarabel_alone_seconds,highs_seconds,difference\n",
    );
    for row in rows {
        let number = |x: Option<f64>| x.map_or(String::new(), |x| x.to_string());
        let (case, ours) = (&row.case, &row.ours);
        writeln!(
            csv,
            "\"{}\",{},{},{},{},{},{},{},{},{},{},{},{},{}",
            case.model,
            case.formulation.name(),
            case.xi,
            case.zeta,
            ours.transitions,
            ours.seconds,
            ours.peak_mib,
            ours.objective,
            ours.gap,
            ours.optimal,
            number(row.peer("cvxpy-clarabel").map(|p| p.seconds)),
            number(row.peer("cvxpy-clarabel").map(|p| p.solver_seconds)),
            number(row.peer("cvxpy-highs").map(|p| p.seconds)),
            number(row.difference()),
        )
        .unwrap();
    }
    std::fs::write(folder.join("solve.csv"), csv).unwrap();
    let picture = picture(rows).svg();
    std::fs::write(folder.join("solve.svg"), &picture).unwrap();
    std::fs::write(folder.join("solve.png"), png(&picture, 2.0).unwrap()).unwrap();
    println!("\nwritten: bench-results/solve.csv, solve.svg, solve.png");
}

fn picture(rows: &[Row]) -> Panels {
    let chart = |title: &str, label: &str, value: fn(&Measured) -> f64| {
        let mut figure = Figure::new(title, Axis::log("Transitions"), Axis::log(label));
        for (i, (family, list)) in families(rows).into_iter().enumerate() {
            let points = list
                .iter()
                .map(|row| Point::new(row.ours.transitions, value(&row.ours)))
                .collect();
            figure = figure.with(family, Role::Other(i), Style::Both, points);
        }
        Panel::Chart(figure)
    };
    Panels {
        title: "How the solvers grow".into(),
        panels: vec![
            chart("Time", "Time to solve, s", |m| m.seconds),
            chart("Memory", "Peak memory, MiB", |m| m.peak_mib),
        ],
        columns: 2,
        caption: "Both axes are logarithmic; each mark is one solve without tie-break in a \
                  process of its own, to the gap named in benches/solve/cases.rs."
            .into(),
    }
}
