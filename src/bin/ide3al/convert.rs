//! `ide3al convert`.

/// Convert a model or policy between file formats
#[derive(clap::Args)]
pub(crate) struct Arguments {}

pub(crate) fn run(_: &Arguments) -> anyhow::Result<()> {
    anyhow::bail!("not here yet")
}
