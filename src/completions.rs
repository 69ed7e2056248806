//! `ide3al completions`.

use clap::CommandFactory;

use crate::output;

/// Print the completions of a shell
///
/// For bash: ide3al completions bash > ~/.local/share/bash-completion/completions/ide3al
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// The shell
    shell: clap_complete::Shell,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let mut text = Vec::new();
    let mut command = crate::Arguments::command();
    clap_complete::generate(arguments.shell, &mut command, "ide3al", &mut text);
    output::print(&String::from_utf8(text)?)
}
