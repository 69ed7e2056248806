//! Outcomes as files, whole or not at all, and found again by a later call.
//!
//! ```text
//! DIR/index.html       the page
//! DIR/results.json     every claim with its verdict
//! DIR/figures/         ID.svg, ID.png
//! DIR/tables/          ID.csv
//! DIR/finished/        ID.json: an outcome with what it was made from, for `--resume`
//! ```

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::registry::Spec;
use super::{DataTable, Outcome, Row, page};
use crate::csv::Csv;
use crate::html::Page;
use crate::png::png;
use ide3al::error::{Error, Result};
use ide3al::model::io::atomic;

/// The folder and those in it.
const PARTS: [&str; 4] = ["", "figures", "tables", "finished"];

/// A finished experiment.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Finished {
    /// Its name.
    pub id: String,
    /// Its kind.
    pub kind: String,
    /// A heading.
    pub title: String,
    /// Where in the paper.
    pub place: String,
    /// The claim in words.
    pub claim: String,
    /// "reduced" or "full".
    pub mode: String,
    /// Wall-clock seconds.
    pub seconds: f64,
    /// The judged claims.
    pub rows: Vec<Row>,
    /// Files made, relative to the folder.
    pub files: Vec<String>,
    /// What a reader should know.
    pub notes: Vec<String>,
    /// Tables of the page.
    tables: Vec<DataTable>,
    /// Pictures of the page, drawn.
    pictures: String,
    /// What it was made from.
    key: String,
}

impl Finished {
    pub(super) fn tables(&self) -> &[DataTable] {
        &self.tables
    }

    pub(super) fn pictures(&self) -> &str {
        &self.pictures
    }
}

/// What `results.json` says about one experiment.
#[derive(Serialize)]
struct Published<'a> {
    id: &'a str,
    kind: &'a str,
    title: &'a str,
    place: &'a str,
    claim: &'a str,
    mode: &'a str,
    seconds: f64,
    rows: &'a [Row],
    notes: &'a [String],
    files: &'a [String],
}

/// A folder of results, held by one process at a time.
#[derive(Debug)]
pub struct Folder {
    path: PathBuf,
    /// Locked as long as it is open.
    _lock: File,
}

impl Folder {
    /// Creates the folder where needed and holds it.
    pub fn enter(path: &Path) -> Result<Self> {
        for part in PARTS {
            let folder = path.join(part);
            std::fs::create_dir_all(&folder).map_err(|source| Error::Io {
                path: folder.clone(),
                action: "create the folder",
                source,
            })?;
        }
        let name = path.join("finished").join(".lock");
        let failed = |source| Error::Io {
            path: name.clone(),
            action: "lock",
            source,
        };
        let lock = File::create(&name).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                return Err(Error::Unsupported(format!(
                    "{}: another process is writing results here; wait for it or choose another folder (parameter 'out')",
                    path.display()
                )));
            }
            Err(TryLockError::Error(source)) => return Err(failed(source)),
        }
        // nobody else writes here now: what a killed process left half-written can go
        for part in PARTS {
            atomic::sweep(&path.join(part));
        }
        Ok(Folder {
            path: path.to_owned(),
            _lock: lock,
        })
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    fn finished_path(&self, id: &str) -> PathBuf {
        self.path.join("finished").join(format!("{id}.json"))
    }

    /// The stored result of an experiment, if it was made from the same parameters by the same
    /// version and its files are still there.
    pub fn find(&self, spec: &Spec, full: bool) -> Option<Finished> {
        let text = std::fs::read_to_string(self.finished_path(&spec.id)).ok()?;
        let found: Finished = serde_json::from_str(&text).ok()?;
        let complete = found.files.iter().all(|f| self.path.join(f).is_file());
        (found.key == spec.key(full) && complete).then_some(found)
    }

    /// Writes an outcome: pictures and tables first, and last what says that they are complete.
    pub fn save(
        &self,
        spec: &Spec,
        outcome: Outcome,
        full: bool,
        seconds: f64,
    ) -> Result<Finished> {
        let mut files = Vec::new();
        let mut write = |name: String, bytes: &[u8]| -> Result<()> {
            atomic::write_bytes(&self.path.join(&name), bytes)?;
            files.push(name);
            Ok(())
        };
        let file = |folder: &str, name: &str, ending: &str| match name {
            "" => format!("{folder}/{}.{ending}", spec.id),
            name => format!("{folder}/{}-{name}.{ending}", spec.id),
        };
        let mut drawn = Page::new("");
        for (name, panels) in &outcome.figures {
            let svg = panels.svg();
            let (vector, pixels) = (file("figures", name, "svg"), file("figures", name, "png"));
            drawn.pictures(panels, &[("SVG", &vector), ("PNG", &pixels)]);
            write(pixels, &png(&svg, 1.5)?)?;
            write(vector, svg.as_bytes())?;
        }
        for table in &outcome.tables {
            write(file("tables", &table.name, "csv"), csv(table).as_bytes())?;
        }
        write(
            file("tables", "claims", "csv"),
            claims_csv(&outcome.rows).as_bytes(),
        )?;
        let finished = Finished {
            id: spec.id.clone(),
            kind: spec.kind.clone(),
            title: spec.title.clone(),
            place: spec.place.clone(),
            claim: spec.claim.clone(),
            mode: if full { "full" } else { "reduced" }.into(),
            seconds,
            rows: outcome.rows,
            files,
            notes: outcome.notes,
            tables: outcome.tables.into_iter().filter(|t| t.shown).collect(),
            pictures: drawn.fragment().to_owned(),
            key: spec.key(full),
        };
        atomic::write_bytes(&self.finished_path(&spec.id), json(&finished)?.as_bytes())?;
        Ok(finished)
    }

    /// Writes `results.json` and the page.
    pub fn publish(&self, finished: &[Finished], command: &str) -> Result<()> {
        let published: Vec<Published<'_>> = finished
            .iter()
            .map(|f| Published {
                id: &f.id,
                kind: &f.kind,
                title: &f.title,
                place: &f.place,
                claim: &f.claim,
                mode: &f.mode,
                seconds: f.seconds,
                rows: &f.rows,
                notes: &f.notes,
                files: &f.files,
            })
            .collect();
        let text = json(&published)?;
        atomic::write_bytes(&self.path.join("results.json"), text.as_bytes())?;
        let html = page::html(finished, command);
        atomic::write_bytes(&self.path.join("index.html"), html.as_bytes())
    }
}

fn json<T: Serialize>(value: &T) -> Result<String> {
    let mut text = serde_json::to_string_pretty(value)
        .map_err(|error| Error::Unsupported(format!("cannot write JSON: {error}")))?;
    text.push('\n');
    Ok(text)
}

fn csv(table: &DataTable) -> String {
    let mut csv = Csv::new(&table.header);
    for row in &table.rows {
        for k in 0..table.header.len() {
            csv.text(row.get(k).map_or("", String::as_str));
        }
    }
    csv.finish()
}

fn claims_csv(rows: &[Row]) -> String {
    let header = [
        "name", "paper", "measured", "low", "high", "verdict", "reason",
    ];
    let mut csv = Csv::new(&header);
    for row in rows {
        csv.text(&row.name).text(&page::paper_text(&row.paper));
        for value in [row.measured, row.low, row.high] {
            match value {
                Some(value) => csv.number(value),
                None => csv.empty(),
            };
        }
        csv.text(row.verdict.name()).text(&row.reason);
    }
    csv.finish()
}
