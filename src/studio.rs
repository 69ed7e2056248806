//! `ide3al studio`.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Arc, mpsc};

use anyhow::Context;
use ide3al_report::escape::plain;
use ide3al_studio::{Opening, Studio, World};

use crate::output;

/// Draw a world and watch the best exploration of it, live, in the browser
///
/// Serves a page on 127.0.0.1 until Ctrl-C. Everything is inside the program; nothing is fetched
/// from anywhere.
#[derive(clap::Args)]
#[command(after_help = "\
MODEL may also be a link that someone copied from their studio: all that follows its '#' is shown here.

Examples:
  ide3al studio
  ide3al studio four-rooms
  ide3al studio grid:maze.txt --port 8080 --no-open")]
pub(crate) struct Arguments {
    /// Domain with optional parameters, grid:FILE, graph:FILE, a model file, or a link; without it
    /// a map to begin with
    model: Option<String>,
    /// Port; any free one by default
    #[arg(long, value_name = "P", default_value_t = 0)]
    port: u16,
    /// Print the address only
    #[arg(long)]
    no_open: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let mut opening = Opening {
        port: arguments.port,
        ..Opening::default()
    };
    let mut link = None;
    match arguments.model.as_deref() {
        None => {}
        Some(text) if text.starts_with("http://") => link = Some(text),
        Some(spec) => open(spec, &mut opening)?,
    }
    let mut studio = Studio::start(opening)?;
    let url = link.map_or_else(|| studio.url(), |link| studio.url_of(link));
    let (sender, stopped) = mpsc::channel();
    let handler = move || {
        // nobody listens once we are ending anyway
        let _ = sender.send(());
    };
    ctrlc::set_handler(handler).context("cannot listen for Ctrl-C")?;
    output::print(&format!(
        "The studio is at {}\nIt answers this machine only. Ctrl-C ends it.\n",
        plain(&url)
    ))?;
    if !arguments.no_open && !studio.redirect(&url).is_ok_and(|page| open_browser(&page)) {
        output::print("No browser could be opened: open the address yourself.\n")?;
    }
    // an error would mean that nothing can stop us any more
    let _ = stopped.recv();
    studio.stop();
    Ok(())
}

/// What the page shows first.
fn open(spec: &str, opening: &mut Opening) -> anyhow::Result<()> {
    let name = spec.split(':').next().unwrap_or(spec);
    let map = spec
        .strip_prefix("grid:")
        .filter(|file| !file.contains(",slip="));
    opening.world = Some(if let Some(file) = map {
        // read as a model first: its errors name the file and the line
        ide3al::domains::load(spec)?;
        World::map(std::fs::read_to_string(file).with_context(|| format!("cannot read {file}"))?)
    } else if ide3al::domains::list()
        .iter()
        .any(|domain| domain.name == name)
    {
        ide3al::domains::load(spec)?;
        World::domain(spec)
    } else {
        let mdp = ide3al::domains::load(spec)?;
        opening.models.push((spec.to_owned(), Arc::new(mdp)));
        World::model(spec)
    });
    Ok(())
}

/// Whether the system's opener could be started on a page.
fn open_browser(page: &Path) -> bool {
    let (program, arguments): (&str, &[&str]) = if cfg!(target_os = "macos") {
        ("open", &[])
    } else if cfg!(windows) {
        ("rundll32", &["url.dll,FileProtocolHandler"])
    } else {
        ("xdg-open", &[])
    };
    let mut command = Command::new(program);
    command.args(arguments).arg(page);
    command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    match command.spawn() {
        Ok(mut child) => {
            // collected when it ends; a browser may live longer than we do
            std::thread::spawn(move || child.wait());
            true
        }
        Err(_) => false,
    }
}
