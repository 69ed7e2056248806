//! The page of all experiments.

use super::Row;
use super::store::Finished;
use super::verdict::Verdict;
use crate::axes::number;
use crate::html::{Cell, Page, Table, Tone};

/// A table with more rows opens only when asked for.
const LONG: usize = 18;

/// The page's text.
pub fn html(finished: &[Finished], command: &str) -> String {
    let mut page = Page::new("The paper, reproduced");
    page.lead(
        "Every table, figure and claim of “An Intrinsically-Motivated Approach for Learning Highly Exploring and Fast Mixing \
         Policies” (Mutti and Restelli, AAAI 2020): what it prints, what this program measures, and a verdict that a \
         rule computes from the measurement.",
    )
    .contents();
    page.section("Overview");
    let full = finished.iter().filter(|f| f.mode == "full").count();
    page.paragraph(&match full {
        0 => "Reduced numbers of runs; a full reproduction takes the paper's (100, 40 and 500)."
            .to_owned(),
        n if n == finished.len() => "The paper's numbers of runs.".to_owned(),
        n => format!(
            "{n} of {} experiments with the paper's numbers of runs, the others reduced.",
            finished.len()
        ),
    });
    page.table(&overview(finished));
    page.paragraph(
        "A sampled claim holds when the whole 95 % interval is on the claimed side, holds in part when the interval leaves \
         both open (or there was a single run), and is not reproduced when it lies on the other side. Printed digits \
         hold when the number gives them by truncation or rounding, in part within 2 %; where a problem has many optimal \
         policies, they also hold when an optimal policy has them (the interval is then the range over optimal policies). Entropies are shares of their \
         maximum unless nats are named.",
    );
    for f in finished {
        page.section(&format!("{}: {}", f.id, f.title));
        page.paragraph(&format!("{}. {}", f.place, f.claim));
        for note in &f.notes {
            page.paragraph(note);
        }
        if !f.rows.is_empty() {
            page.table(&claims(&f.rows));
        }
        page.put(f.pictures());
        for data in f.tables() {
            let mut table = Table::new(data.header.iter().cloned());
            for row in &data.rows {
                table.row(row.iter().map(|text| cell(text)));
            }
            table.caption.clone_from(&data.caption);
            if data.rows.len() > LONG {
                page.details(&format!("Table of {} rows", data.rows.len()), |inner| {
                    inner.table(&table);
                });
            } else {
                page.table(&table);
            }
        }
    }
    page.section("How this was made").code(command);
    let seconds: f64 = finished.iter().map(|f| f.seconds).sum();
    page.paragraph(&format!(
        "{:.0} s of computing in all. Except for times, the same version and command give the same numbers on any number \
         of threads. Figures (SVG, PNG) and tables (CSV) lie beside this page.",
        seconds
    ));
    page.finish()
}

/// How many claims of each experiment got which verdict.
pub fn counts(rows: &[Row]) -> [usize; 3] {
    let of = |verdict| rows.iter().filter(|r| r.verdict == verdict).count();
    [
        of(Verdict::Holds),
        of(Verdict::HoldsInPart),
        of(Verdict::NotReproduced),
    ]
}

fn overview(finished: &[Finished]) -> Table {
    let mut table = Table::new([
        "experiment",
        "what",
        "holds",
        "holds in part",
        "not reproduced",
        "time, s",
    ]);
    let mut sum = [0; 3];
    for f in finished {
        let counts = counts(&f.rows);
        let mut row = vec![Cell::from(f.id.as_str()), Cell::from(f.title.as_str())];
        for (total, n) in sum.iter_mut().zip(counts) {
            *total += n;
            row.push(Cell::Number(n.to_string()));
        }
        row.push(Cell::Number(format!("{:.1}", f.seconds)));
        table.row(row);
    }
    let mut row = vec![Cell::from("all"), Cell::from("")];
    row.extend(sum.map(|n| Cell::Number(n.to_string())));
    table.row(row);
    table.caption = "Claims by verdict.".into();
    table
}

fn claims(rows: &[Row]) -> Table {
    let mut table = Table::new([
        "claim", "paper", "measured", "interval", "verdict", "reason",
    ]);
    for row in rows {
        let interval = match (row.low, row.high) {
            (Some(low), Some(high)) if high > low => format!("[{}, {}]", short(low), short(high)),
            (Some(_), Some(_)) => "computed".to_owned(),
            _ => String::new(),
        };
        let tone = match row.verdict {
            Verdict::Holds => Tone::Good,
            Verdict::HoldsInPart => Tone::Mixed,
            Verdict::NotReproduced => Tone::Bad,
        };
        table.row([
            Cell::Text(row.name.clone()),
            Cell::Text(paper_text(&row.paper)),
            Cell::Number(row.measured.map_or("–".into(), short)),
            Cell::Text(interval),
            Cell::Badge(row.verdict.name().into(), tone),
            Cell::Text(row.reason.clone()),
        ]);
    }
    table
}

/// Four digits, or as few as there are.
fn short(value: f64) -> String {
    if value == 0.0 || value.abs() < 1e-4 {
        return number(value);
    }
    let decimals = (3.0 - value.abs().log10().floor()).clamp(0.0, 6.0) as usize;
    let text = format!("{value:.decimals$}");
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

fn cell(text: &str) -> Cell {
    if text.parse::<f64>().is_ok() || text.contains(" [") {
        Cell::Number(text.to_owned())
    } else {
        Cell::Text(text.to_owned())
    }
}

/// What the paper prints, as text.
pub fn paper_text(paper: &serde_json::Value) -> String {
    match paper {
        serde_json::Value::Null => "–".into(),
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
