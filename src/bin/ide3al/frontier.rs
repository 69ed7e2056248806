//! `ide3al frontier`.

/// Solve along zeta or xi and draw the trade-off
#[derive(clap::Args)]
pub(crate) struct Arguments {}

pub(crate) fn run(_: &Arguments) -> anyhow::Result<()> {
    anyhow::bail!("not here yet")
}
