//! `ide3al man`.

use std::path::PathBuf;

use anyhow::Context;
use clap::CommandFactory;
use ide3al::model::io::atomic;

use crate::output;

/// Write the manual pages, or print the first of them
///
/// Without --out the page of the program itself is printed: ide3al man | man -l -
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Folder for one page per command (ide3al.1, ide3al-solve.1, ...); made where it is missing
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let mut command = crate::Arguments::command().disable_help_subcommand(true);
    command.build();
    let Some(folder) = &arguments.out else {
        return output::print(&page(&command)?);
    };
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let commands = std::iter::once(&command).chain(command.get_subcommands());
    for one in commands {
        let name = one.get_display_name().unwrap_or(one.get_name());
        let path = folder.join(format!("{name}.1"));
        atomic::write_bytes(&path, page(one)?.as_bytes())?;
    }
    output::print(&format!("wrote {}\n", folder.display()))
}

fn page(command: &clap::Command) -> anyhow::Result<String> {
    let mut text = Vec::new();
    clap_mangen::Man::new(command.clone()).render(&mut text)?;
    Ok(String::from_utf8(text)?)
}
