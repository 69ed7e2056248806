//! The table per formulation, the list of solves, and `bench-results/defaults.csv`.

use std::fmt::Write as _;
use std::path::Path;

use ide3al::formulation::Formulation;

use super::Row;
use crate::peers::{Reply, Solved};

/// Objectives that differ by more than this share are an error of one side.
const DIFFERENCE: f64 = 1e-5;

impl Row {
    fn name(&self) -> String {
        let zeta = if self.problem.formulation.takes_zeta() {
            format!(", zeta {}", self.problem.zeta)
        } else {
            String::new()
        };
        format!("{} (xi {}{zeta})", self.model, self.problem.xi)
    }

    /// The quickest peer on the sparse statement. One that only met its limit counts with it,
    /// as long as no other was quicker.
    fn best_sparse(&self) -> Option<f64> {
        let all = self.sparse.iter().filter_map(|(_, reply)| seconds(reply));
        all.reduce(f64::min)
    }

    fn against(&self, peer: Option<f64>) -> Option<f64> {
        let ratio = peer? / self.ours.seconds;
        ratio.is_finite().then_some(ratio)
    }

    fn cost_of_tie_break(&self) -> Option<f64> {
        let ratio = self.ours.seconds / self.without_tie_break.seconds;
        ratio.is_finite().then_some(ratio)
    }

    /// Peers whose objective is not ours.
    fn disagreements(&self) -> Vec<String> {
        let mut found = Vec::new();
        let mut check = |peer: &str, relaxed: bool, solved: &Solved| {
            // a solver's gap is one of the squared distance
            let value = |x: f64| match self.problem.formulation {
                Formulation::Frobenius => x * x,
                _ => x,
            };
            let (ours, theirs) = (value(self.ours.objective), value(solved.objective));
            // next to zero the wanted gap decides
            let allowed = DIFFERENCE * ours.abs().max(0.1);
            let off = if relaxed && theirs < ours {
                false
            } else {
                !((ours - theirs).abs() <= allowed)
            };
            if off {
                found.push(format!(
                    "{}: {} {}: objective {:.9} with gap {:.1e} ({}), {peer} {:.9}",
                    if solved.accurate {
                        "ERROR"
                    } else {
                        "inaccurate peer"
                    },
                    self.name(),
                    self.problem.formulation.name(),
                    self.ours.objective,
                    self.ours.gap,
                    self.ours.status,
                    solved.objective
                ));
            }
        };
        if let Some(solved) = self.cvxpy.solved() {
            check("CVXPY", false, solved);
        }
        // with zeta < 1 the sparse statement of Infinity may lie below the optimum
        let relaxed = self.problem.formulation == Formulation::Infinity && self.problem.zeta < 1.0;
        for (peer, reply) in &self.sparse {
            if let Some(solved) = reply.solved() {
                check(peer, relaxed, solved);
            }
        }
        found
    }
}

/// Seconds of a peer that solved it, or its limit.
fn seconds(reply: &Reply) -> Option<f64> {
    match reply {
        Reply::Solved(solved) => Some(solved.seconds),
        Reply::TimedOut(limit) => Some(*limit),
        Reply::TooLarge | Reply::Failed(_) => None,
    }
}

fn shown(reply: &Reply) -> String {
    match reply {
        Reply::Solved(solved) => format!("{:.4}", solved.seconds),
        Reply::TimedOut(limit) => format!("> {limit}"),
        Reply::TooLarge => "too large".into(),
        Reply::Failed(_) => "failed".into(),
    }
}

fn geometric_mean(values: &[f64]) -> f64 {
    (values.iter().map(|x| x.ln()).sum::<f64>() / values.len() as f64).exp()
}

/// Ratios of some rows as "number, geometric mean, worst", and the row that is worst.
struct Ratios<'a> {
    text: String,
    worst: Option<(f64, &'a Row)>,
}

/// `worst` is the smallest ratio, or the largest where large is bad.
fn ratios<'a>(
    rows: &[&'a Row],
    large_is_bad: bool,
    of: impl Fn(&Row) -> Option<f64>,
) -> Ratios<'a> {
    let all: Vec<(f64, &Row)> = rows
        .iter()
        .filter_map(|row| of(row).map(|ratio| (ratio, *row)))
        .collect();
    let worse = |a: &(f64, &Row), b: &(f64, &Row)| {
        let order = a.0.total_cmp(&b.0);
        if large_is_bad { order } else { order.reverse() }
    };
    let worst = all.iter().copied().max_by(worse);
    let numbers: Vec<f64> = all.iter().map(|(ratio, _)| *ratio).collect();
    Ratios {
        text: match worst {
            Some((worst, _)) => format!(
                "{:>4} {:>8.1} {:>8.2}",
                numbers.len(),
                geometric_mean(&numbers),
                worst
            ),
            None => format!("{:>4} {:>8} {:>8}", 0, "-", "-"),
        },
        worst,
    }
}

/// How often each status occurred.
fn statuses(rows: &[&Row]) -> String {
    let mut found: Vec<(&str, usize)> = Vec::new();
    for row in rows {
        match found.iter_mut().find(|(name, _)| *name == row.ours.status) {
            Some((_, count)) => *count += 1,
            None => found.push((&row.ours.status, 1)),
        }
    }
    let parts: Vec<String> = found.iter().map(|(s, n)| format!("{n} {s}")).collect();
    parts.join(", ")
}

fn summary(label: &str, rows: &[&Row]) {
    let cvxpy = ratios(rows, false, |row| row.against(seconds(&row.cvxpy)));
    let sparse = ratios(rows, false, |row| row.against(row.best_sparse()));
    let tie_break = ratios(rows, true, Row::cost_of_tie_break);
    println!(
        "{label:<14} {:>6}  {}   {}   {}   {}",
        rows.len(),
        cvxpy.text,
        sparse.text,
        tie_break.text,
        statuses(rows)
    );
}

/// Which solves the worst ratios belong to.
fn worst(label: &str, rows: &[&Row]) {
    let show = |what: &str, found: Ratios<'_>| {
        if let Some((ratio, row)) = found.worst {
            println!("  {label:<14} {what:<22} {ratio:>8.2}  {}", row.name());
        }
    };
    show(
        "against CVXPY",
        ratios(rows, false, |row| row.against(seconds(&row.cvxpy))),
    );
    show(
        "against sparse",
        ratios(rows, false, |row| row.against(row.best_sparse())),
    );
    show(
        "cost of the tie-break",
        ratios(rows, true, Row::cost_of_tie_break),
    );
}

pub(super) fn print(rows: &[Row], seed: u64, list: bool) {
    if list {
        print_list(rows);
    }
    let models: std::collections::BTreeSet<&str> = rows.iter().map(|r| r.model.as_str()).collect();
    println!(
        "\ndefault settings: {} models, seed {seed}; ratios are the peer's seconds over ours, tie-break included",
        models.len()
    );
    println!(
        "{:<14} {:>6}  {:^22}   {:^22}   {:^22}",
        "", "", "CVXPY + Clarabel", "best sparse statement", "tie-break / plain"
    );
    let columns = format!("{:>4} {:>8} {:>8}", "n", "geo.mean", "worst");
    println!(
        "{:<14} {:>6}  {columns}   {columns}   {columns}   ended",
        "formulation", "solves"
    );
    let mut groups: Vec<(&str, Vec<&Row>)> = Formulation::ALL
        .iter()
        .map(|f| {
            let part = rows.iter().filter(|row| row.problem.formulation == *f);
            (f.name(), part.collect())
        })
        .collect();
    groups.push(("all", rows.iter().collect()));
    groups.retain(|(_, rows)| !rows.is_empty());
    for (label, rows) in &groups {
        summary(label, rows);
    }
    println!("\nworst");
    for (label, rows) in &groups {
        worst(label, rows);
    }
    peers(rows);
    for row in rows {
        for line in row.disagreements() {
            println!("{line}");
        }
        for (what, ours) in [
            ("", &row.ours),
            (" without tie-break", &row.without_tie_break),
        ] {
            if !ours.optimal() {
                println!(
                    "ERROR: {} {}{what}: {}",
                    row.name(),
                    row.problem.formulation.name(),
                    ours.status
                );
            }
        }
    }
    println!("written: bench-results/defaults.csv");
}

/// What became of the peers that gave no figure.
fn peers(rows: &[Row]) {
    let all = rows.iter().flat_map(|row| {
        let sparse = row.sparse.iter().map(|(peer, reply)| (*peer, reply));
        std::iter::once(("CVXPY", &row.cvxpy))
            .chain(sparse)
            .map(move |(peer, reply)| (row, peer, reply))
    });
    let (mut large, mut late) = (0, 0);
    for (row, peer, reply) in all {
        match reply {
            Reply::Solved(_) => {}
            Reply::TooLarge => large += 1,
            Reply::TimedOut(_) => late += 1,
            Reply::Failed(reason) => println!(
                "  {} {}: {peer} failed: {reason}",
                row.name(),
                row.problem.formulation.name()
            ),
        }
    }
    println!(
        "peers: {late} solves ended by the limit (they count with it), {large} statements too large to be tried"
    );
}

fn print_list(rows: &[Row]) {
    println!(
        "\n{:<72} {:<14} {:>9} {:>9} {:>11} {:>9} {:>9} {:>9}  ended",
        "model", "formulation", "seconds", "plain", "objective", "CVXPY", "Clarabel", "HiGHS"
    );
    for row in rows {
        let sparse = |name: &str| {
            let found = row.sparse.iter().find(|(peer, _)| *peer == name);
            found.map_or("-".into(), |(_, reply)| shown(reply))
        };
        println!(
            "{:<72} {:<14} {:>9.4} {:>9.4} {:>11.6} {:>9} {:>9} {:>9}  {}",
            row.name(),
            row.problem.formulation.name(),
            row.ours.seconds,
            row.without_tie_break.seconds,
            row.ours.objective,
            shown(&row.cvxpy),
            sparse("clarabel"),
            sparse("highs"),
            row.ours.status
        );
    }
}

pub(super) const KNIGHT_QUEST: &str = "\
Knight Quest (360 states), xi 0.01, default tolerance and tie-break
formulation      seconds     plain     CVXPY      ratio  ended";

pub(super) fn knight_quest_line(row: &Row) -> String {
    let ratio = row.against(seconds(&row.cvxpy));
    let mut line = format!(
        "{:<14} {:>9.4} {:>9.4} {:>9} {:>10}  {}",
        row.problem.formulation.name(),
        row.ours.seconds,
        row.without_tie_break.seconds,
        shown(&row.cvxpy),
        ratio.map_or("-".into(), |x| format!("{x:.1} x")),
        row.ours.status
    );
    for error in row.disagreements() {
        line += "\n";
        line += &error;
    }
    line
}

/// All figures so far, so that what was measured stays if the run is broken off.
pub(super) fn write_csv(rows: &[Row]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("bench-results");
    let mut csv = String::from(
        "model,formulation,xi,zeta,seconds,seconds_without_tie_break,objective,gap,status,\
         cvxpy_clarabel,clarabel,highs\n",
    );
    for row in rows {
        let sparse = |name: &str| {
            let found = row.sparse.iter().find(|(peer, _)| *peer == name);
            found.map_or(String::new(), |(_, reply)| shown(reply))
        };
        writeln!(
            csv,
            "\"{}\",{},{},{},{},{},{},{},{},{},{},{}",
            row.model,
            row.problem.formulation.name(),
            row.problem.xi,
            row.problem.zeta,
            row.ours.seconds,
            row.without_tie_break.seconds,
            row.ours.objective,
            row.ours.gap,
            row.ours.status,
            shown(&row.cvxpy),
            sparse("clarabel"),
            sparse("highs")
        )
        .unwrap();
    }
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("defaults.csv"), csv).unwrap();
}
