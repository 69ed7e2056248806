//! `ide3al analyze`.

/// Long-run behaviour of a model under a policy
#[derive(clap::Args)]
pub(crate) struct Arguments {}

pub(crate) fn run(_: &Arguments) -> anyhow::Result<()> {
    anyhow::bail!("not here yet")
}
