//! Ctrl-C, and signs of life during a solve.

use std::io::IsTerminal;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use ide3al::solve::{Observer, Progress};
use indicatif::ProgressBar;

/// A solve shorter than this shows nothing.
const QUIET: Duration = Duration::from_secs(1);

/// A flag that the first Ctrl-C sets from here on; at the second the user means it, and the program
/// ends.
pub(crate) fn interrupts() -> anyhow::Result<&'static AtomicBool> {
    static STOP: AtomicBool = AtomicBool::new(false);
    ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
    })
    .context("cannot listen for Ctrl-C")?;
    Ok(&STOP)
}

/// Shows the iteration and gap on a terminal; stops the solve after Ctrl-C.
pub(crate) struct Watch {
    stop: &'static AtomicBool,
    started: Instant,
    terminal: bool,
    spinner: Option<ProgressBar>,
    what: String,
}

impl Watch {
    /// From here on the first Ctrl-C asks the solve to stop with its best answer.
    pub(crate) fn start(what: &str) -> anyhow::Result<Self> {
        Ok(Watch {
            stop: interrupts()?,
            started: Instant::now(),
            terminal: std::io::stderr().is_terminal(),
            spinner: None,
            what: what.to_owned(),
        })
    }

    /// The same for a second solve of the same command: the first Ctrl-C counts for both.
    pub(crate) fn again(what: &str, first: &Watch) -> Self {
        Watch {
            stop: first.stop,
            started: Instant::now(),
            terminal: first.terminal,
            spinner: None,
            what: what.to_owned(),
        }
    }

    /// Takes the spinner off the screen.
    pub(crate) fn finish(&mut self) {
        if let Some(spinner) = self.spinner.take() {
            spinner.finish_and_clear();
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.finish();
    }
}

impl Observer for Watch {
    fn on(&mut self, progress: &Progress) -> ControlFlow<()> {
        if self.stop.load(Ordering::SeqCst) {
            return ControlFlow::Break(());
        }
        if self.terminal && self.started.elapsed() >= QUIET {
            let spinner = self.spinner.get_or_insert_with(|| {
                let spinner = ProgressBar::new_spinner();
                spinner.enable_steady_tick(Duration::from_millis(120));
                spinner
            });
            spinner.set_message(format!(
                "{}: iteration {}, objective {:.6}, gap {:.1e}, {:.0} s (Ctrl-C: best answer so far)",
                self.what,
                progress.iteration,
                progress.objective,
                progress.gap,
                self.started.elapsed().as_secs_f64()
            ));
        }
        ControlFlow::Continue(())
    }
}
