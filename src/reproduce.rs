//! `ide3al reproduce`.

use std::path::PathBuf;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use ide3al::Error;
use ide3al_report::Table;
use ide3al_report::reproduce::store::{Finished, Folder};
use ide3al_report::reproduce::{self, Context, page, registry};
use indicatif::{ProgressBar, ProgressStyle};

use crate::{command_line, output, watch};

/// Reproduce the paper: every table, figure and claim, measured and judged
///
/// Writes DIR/index.html (one page with everything), DIR/results.json (every claim with its
/// measurement and verdict), the figures as SVG and PNG, the tables as CSV. Without --full the
/// numbers of runs are reduced so that it ends in a few minutes.
#[derive(clap::Args)]
#[command(after_help = "\
results.json is a list with one object per experiment: id, kind, title, place, claim, mode, seconds, notes, files, and \
rows (name, paper, measured, low, high, verdict, reason).")]
pub(crate) struct Arguments {
    /// Experiments to run [default: all; --list names them]
    #[arg(value_name = "ID")]
    ids: Vec<String>,
    /// The paper's numbers of runs (100, 40 and 500)
    #[arg(long)]
    full: bool,
    /// Folder for the results
    #[arg(long, value_name = "DIR", default_value = "ide3al-reproduction")]
    out: PathBuf,
    /// Keep what is already finished in the folder with the same parameters
    #[arg(long)]
    resume: bool,
    /// Threads; results do not depend on them [default: all cores]
    #[arg(long)]
    threads: Option<usize>,
    /// Name the experiments and stop
    #[arg(long)]
    list: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    if arguments.list {
        let mut table = Table::new(&["id", "what", "where"]);
        for spec in registry::all()? {
            table.row([spec.id, spec.title, spec.place]);
        }
        return output::print(&table.to_string());
    }
    let specs = registry::select(&arguments.ids)?;
    let threads = command_line::threads(arguments.threads)?;
    let full = arguments.full;
    let folder = Folder::enter(&arguments.out)?;
    let stop = watch::interrupts()?;
    let begun = Instant::now();
    let bar = Bar::new(specs.iter().map(|s| s.expected_seconds(full)).sum());
    let mut interrupted = false;
    for spec in &specs {
        let expected = spec.expected_seconds(full);
        if arguments.resume && folder.find(spec, full).is_some() {
            bar.skip(expected);
            continue;
        }
        bar.begin(&spec.id, expected);
        let started = Instant::now();
        let context = Context {
            full,
            threads,
            stop,
            progress: &|share| bar.share(share),
        };
        match reproduce::run(spec, &context) {
            Ok(outcome) => {
                folder.save(spec, outcome, full, started.elapsed().as_secs_f64())?;
            }
            Err(Error::Interrupted) => {
                interrupted = true;
                break;
            }
            Err(error) => return Err(error).with_context(|| format!("experiment {}", spec.id)),
        }
        bar.end();
    }
    bar.finish();
    // everything in the folder that belongs to this set, also from earlier calls
    let finished: Vec<Finished> = registry::all()?
        .iter()
        .filter_map(|spec| folder.find(spec, full))
        .collect();
    folder.publish(&finished, &command_line::typed())?;
    output::print(&summary(&finished))?;
    if interrupted {
        eprintln!(
            "interrupted; {} of {} experiments are in {}\ngo on with:  {}",
            finished.len(),
            registry::all()?.len(),
            arguments.out.display(),
            command_line::to_resume()
        );
        drop(folder);
        std::process::exit(130);
    }
    output::print(&format!(
        "\n{:.0} s on {threads} thread{}. Open {} in a browser; figures and tables lie beside it.\n",
        begun.elapsed().as_secs_f64(),
        if threads == 1 { "" } else { "s" },
        arguments.out.join("index.html").display()
    ))
}

fn summary(finished: &[Finished]) -> String {
    let header = [
        "experiment",
        "holds",
        "in part",
        "not reproduced",
        "time, s",
    ];
    let mut table = Table::new(&header).rights(1..5);
    for f in finished {
        let [a, b, c] = page::counts(&f.rows);
        table.row([
            f.id.clone(),
            a.to_string(),
            b.to_string(),
            c.to_string(),
            format!("{:.1}", f.seconds),
        ]);
    }
    table.to_string()
}

/// One bar for everything, in expected seconds: shown on a terminal only.
struct Bar {
    bar: ProgressBar,
    /// Expected seconds before the running experiment, and of it.
    place: Mutex<(f64, f64)>,
}

/// Units per expected second.
const UNITS: f64 = 100.0;

impl Bar {
    fn new(expected: f64) -> Self {
        let bar = ProgressBar::new((expected * UNITS) as u64);
        let style = ProgressStyle::with_template(
            "{msg:22} [{bar:30}] {percent:>3} %  {elapsed} gone, about {eta} left",
        );
        if let Ok(style) = style {
            bar.set_style(style.progress_chars("=> "));
        }
        bar.enable_steady_tick(Duration::from_millis(250));
        Bar {
            bar,
            place: Mutex::new((0.0, 0.0)),
        }
    }

    fn with(&self, change: impl FnOnce(&mut (f64, f64))) {
        if let Ok(mut place) = self.place.lock() {
            change(&mut place);
            self.bar.set_position((place.0 * UNITS) as u64);
        }
    }

    fn begin(&self, id: &str, expected: f64) {
        self.bar.set_message(id.to_owned());
        self.with(|place| place.1 = expected);
    }

    fn share(&self, share: f64) {
        if let Ok(place) = self.place.lock() {
            let now = place.0 + place.1 * share.clamp(0.0, 1.0);
            self.bar.set_position((now * UNITS) as u64);
        }
    }

    fn end(&self) {
        self.with(|place| place.0 += place.1);
    }

    fn skip(&self, expected: f64) {
        // skipped work must not make the rest look fast
        if let Some(length) = self.bar.length() {
            self.bar
                .set_length(length.saturating_sub((expected * UNITS) as u64));
        }
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
