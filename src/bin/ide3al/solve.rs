//! `ide3al solve`.

/// Find the best exploring policy of a known model
#[derive(clap::Args)]
pub(crate) struct Arguments {}

pub(crate) fn run(_: &Arguments) -> anyhow::Result<()> {
    anyhow::bail!("not here yet")
}
