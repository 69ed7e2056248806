//! Draws every kind of picture with SYNTHETIC data:
//! `cargo run --release --example gallery -- FOLDER`.
//!
//! Nothing shown is a result; the page says so. It is for looking at the pictures themselves.

use ide3al::Result;
use ide3al::formulation::Formulation;
use ide3al::frontier::Vary;
use ide3al::model::Layout;
use ide3al_report::axes::Axis;
use ide3al_report::figure::{Figure, Point, Style};
use ide3al_report::frontier::{Frontier, FrontierPoint};
use ide3al_report::html::{Cell, Page, Table, Tone};
use ide3al_report::learning::{AlgorithmResult, CurvePoint, Interval, LearningReport};
use ide3al_report::palette::Role;
use ide3al_report::panels::{Panel, Panels};
use ide3al_report::png::png;

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("usage: gallery FOLDER")?;
    let folder = std::path::Path::new(&folder);
    std::fs::create_dir_all(folder)?;
    for (name, panels) in pictures() {
        let svg = panels.svg();
        std::fs::write(folder.join(format!("{name}.svg")), &svg)?;
        std::fs::write(folder.join(format!("{name}.png")), png(&svg, 2.0)?)?;
    }
    std::fs::write(folder.join("gallery.html"), page()?)?;
    std::fs::write(folder.join("chain.html"), chain().html())?;
    std::fs::write(folder.join("grid.html"), rooms().html())?;
    std::fs::write(folder.join("large.html"), large().html())?;
    Ok(())
}

/// A deterministic wobble between -1 and 1.
fn wobble(i: usize, salt: usize) -> f64 {
    ((i * 7919 + salt * 104_729) as f64 * 0.618_034).sin()
}

fn curve(limit: f64, speed: f64, salt: usize) -> Vec<CurvePoint> {
    (1..=300)
        .map(|i| {
            let done = 1.0 - (-speed * i as f64 / 60.0).exp();
            let around = |mean: f64, half: f64| {
                let mean = mean + 0.2 * half * wobble(i, salt);
                Some(Interval {
                    mean,
                    low: mean - half,
                    high: mean + half,
                })
            };
            CurvePoint {
                iteration: i,
                samples: 10 * i as u64,
                entropy: around(0.55 + (limit - 0.55) * done, 0.03 * (1.2 - done)),
                state_action_entropy: around(0.6 + (limit - 0.7) * done, 0.02),
                min_probability: around(0.02 * done * limit, 0.002),
                spectral_gap: around(0.25 - 0.2 * limit * done, 0.01),
                model_error: around(3.0 * (-speed * i as f64 / 150.0).exp() + 0.4, 0.1),
                states_met: None,
                pairs_tried: None,
                effective_states: None,
            }
        })
        .collect()
}

fn algorithms(states: usize, actions: usize) -> Vec<AlgorithmResult> {
    [
        ("IDE3AL (Frobenius)", Role::Ideal, 0.93, 3.0),
        ("MaxEnt", Role::MaxEnt, 0.89, 0.8),
        ("CountBased", Role::CountBased, 0.80, 2.0),
        ("Random", Role::Random, 0.66, 9.0),
    ]
    .into_iter()
    .enumerate()
    .map(|(i, (name, role, limit, speed))| {
        let weights: Vec<f64> = (0..states)
            .map(|s| 1.0 + (1.0 - limit) * 3.0 * (1.0 + wobble(s / 3, i)) + 0.1 * wobble(s, i))
            .collect();
        let total: f64 = weights.iter().sum();
        let policy = (0..states)
            .map(|s| {
                let row: Vec<f64> = (0..actions)
                    .map(|a| 1.1 + wobble(s * actions + a, i))
                    .collect();
                let sum: f64 = row.iter().sum();
                row.iter().map(|p| p / sum).collect()
            })
            .collect();
        AlgorithmResult {
            name: name.into(),
            role,
            curve: curve(limit, speed, i),
            visitation: weights.iter().map(|w| w / total).collect(),
            policy,
            seconds: Some(1.5 + i as f64),
            goal: Vec::new(),
        }
    })
    .collect()
}

fn report(model: &str, states: usize, actions: &[&str]) -> LearningReport {
    LearningReport {
        model: format!("{model} (SYNTHETIC DATA)"),
        n_states: states,
        n_pairs: states * actions.len(),
        state_names: vec![],
        action_names: actions.iter().map(|a| (*a).to_owned()).collect(),
        algorithms: algorithms(states, actions.len()),
        layout: None,
        runs: 20,
        seed: 1,
        parameters: vec![
            ("xi".into(), "0.1".into()),
            ("zeta".into(), "0.7".into()),
            ("batch, samples per iteration".into(), "10".into()),
            ("iterations".into(), "300".into()),
        ],
        command: format!("ide3al learn {model} --runs 20 --seed 1 --out results"),
        judged_by_truth: true,
        best_entropy: Some(0.938),
        goal_in_words: String::new(),
        notes: vec!["SYNTHETIC: made-up numbers to look at the page, no result.".into()],
    }
}

fn chain() -> LearningReport {
    report("double-chain", 20, &["left", "right"])
}

fn rooms() -> LearningReport {
    let wall = |r: usize, c: usize| {
        let door = matches!((r, c), (5, 1) | (2, 5) | (6, 8) | (9, 5));
        (c == 5 || (c < 5 && r == 5) || (c > 5 && r == 6)) && !door
    };
    let cells: Vec<usize> = (0..121).filter(|i| !wall(i / 11, i % 11)).collect();
    let mut report = report("four-rooms", cells.len(), &["up", "right", "down", "left"]);
    report.layout = Some(Layout {
        rows: 11,
        columns: 11,
        cells,
    });
    report
}

fn large() -> LearningReport {
    report(
        "knight-quest",
        360,
        &[
            "right",
            "down",
            "left",
            "up",
            "collect",
            "buy key",
            "buy armour",
            "stay",
        ],
    )
}

fn frontier() -> Frontier {
    let points = (0..20)
        .map(|i| {
            let zeta = 0.1 + 0.9 * f64::from(i) / 19.0;
            FrontierPoint {
                parameter: zeta,
                entropy: 0.7 + 0.28 * zeta,
                state_action_entropy: 0.9 - 0.2 * zeta,
                spectral_gap: 0.6 * (1.05 - zeta),
                mixing_time: (i < 19).then_some((3.0 / (1.05 - zeta)).round()),
                hitting_time: Some((9.0 + 3.0 / (1.05 - zeta)).round()),
            }
        })
        .collect();
    Frontier {
        model: "SYNTHETIC single-chain".into(),
        formulation: Formulation::Frobenius,
        vary: Vary::Zeta,
        fixed: Some(0.1),
        points,
        beside: None,
    }
}

fn pictures() -> Vec<(&'static str, Panels)> {
    let mut palette = Figure::new(
        "SYNTHETIC: every look",
        Axis::linear("x"),
        Axis::linear("y, rank"),
    );
    for (i, role) in Role::NAMED.into_iter().enumerate() {
        let points = (0..60).map(|k| {
            let y = i as f64 + 0.3 * wobble(k, i) + 0.02 * k as f64;
            Point::with_interval(k as f64, y, y - 0.25, y + 0.25)
        });
        palette = palette.with(format!("{role:?}"), role, Style::Line, points.collect());
    }
    let name = "<b>A very long name from a file & \"quotes\" that has to be cut or wrapped somewhere, surely</b>";
    let mut odd = Figure::new(
        name,
        Axis::log("Samples"),
        Axis::log(
            "Seconds per solve, both solvers, on two cores of a small machine, \
         with everything else switched off",
        ),
    )
    .with(
        name,
        Role::Dual,
        Style::Points,
        (0..8)
            .map(|i| {
                let x = 10f64.powf(1.0 + f64::from(i) / 2.0);
                Point::with_interval(
                    x,
                    1e-4 * x.powf(1.1),
                    0.7e-4 * x.powf(1.1),
                    1.6e-4 * x.powf(1.1),
                )
            })
            .collect(),
    )
    .with(
        "column sum",
        Role::ColumnSum,
        Style::Both,
        (0..8)
            .map(|i| {
                let x = 10f64.powf(1.0 + f64::from(i) / 2.0);
                Point::new(x, if i == 4 { f64::NAN } else { 1e-3 * x.powf(1.4) })
            })
            .collect(),
    );
    odd.caption = "SYNTHETIC. Whiskers are intervals; one point is missing.".into();
    vec![
        (
            "palette",
            Panels {
                title: String::new(),
                columns: 1,
                caption: "SYNTHETIC".into(),
                panels: vec![Panel::Chart(palette)],
            },
        ),
        (
            "odd",
            Panels {
                title: String::new(),
                columns: 1,
                caption: odd.caption.clone(),
                panels: vec![Panel::Chart(odd)],
            },
        ),
        ("frontier", frontier().panels()),
        ("curves", chain().curves()),
        (
            "visits",
            chain().visits().unwrap_or_else(|| frontier().panels()),
        ),
        (
            "policies",
            chain().policies().unwrap_or_else(|| frontier().panels()),
        ),
        (
            "maps",
            rooms().visits().unwrap_or_else(|| frontier().panels()),
        ),
    ]
}

fn page() -> Result<String> {
    let mut page = Page::new("Gallery of SYNTHETIC pictures");
    page.lead("Made-up data: only the drawing is to be judged.")
        .contents();
    for (name, panels) in pictures() {
        let files = (format!("{name}.svg"), format!("{name}.png"));
        page.section(name)
            .pictures(&panels, &[("SVG", &files.0), ("PNG", &files.1)]);
    }
    let mut table = Table::new(["claim", "paper", "measured", "verdict", "reason"]);
    for (tone, verdict) in [
        (Tone::Good, "holds"),
        (Tone::Mixed, "holds in part"),
        (Tone::Bad, "not reproduced"),
        (Tone::Neutral, "not run"),
    ] {
        table.row([
            Cell::from("Frobenius clearly achieves a better performance than the other formulations on this chain"),
            Cell::Number("0.984".into()),
            Cell::Number("0.9848 ± 0.0002".into()),
            Cell::Badge(verdict.into(), tone),
            Cell::from("SYNTHETIC"),
        ]);
    }
    table.caption = "SYNTHETIC verdicts.".into();
    page.section("Verdicts").table(&table);
    page.details("More", |page| {
        page.paragraph("Hidden until asked for.").code("ide3al solve single-chain --xi 0.1 --zeta 0.7 --formulation frobenius --json --out policy.json");
    });
    Ok(page.finish())
}
