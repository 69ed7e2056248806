//! `ide3al convert`.

use std::path::PathBuf;

use anyhow::{Context, bail};
use ide3al::model::{Mdp, io};

use crate::output;

/// Convert a model or policy between file formats
///
/// The formats are told by the extensions: .json, .npz, .tra (PRISM/Storm, with .lab and .sta
/// beside it) and .umb for models, .json, .npz and .npy for policies. A file that exists is
/// replaced only with --force. Nothing is written unless the whole conversion succeeds.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Model (domain, grid:FILE, graph:FILE or model file) to convert; with --model, a policy file
    #[arg(value_name = "IN")]
    input: String,
    /// File to write
    #[arg(value_name = "OUT")]
    output: PathBuf,
    /// IN and OUT are policies of this model
    #[arg(long, value_name = "MODEL")]
    model: Option<String>,
    /// Write an NPZ model as one dense array P of shape (S, A, S)
    #[arg(long, conflicts_with = "model")]
    dense: bool,
    /// Replace OUT if it exists
    #[arg(long)]
    force: bool,
}

pub(crate) fn run(arguments: &Arguments) -> anyhow::Result<()> {
    let out = &arguments.output;
    let files = if arguments.model.is_some() {
        vec![out.clone()]
    } else {
        io::model_files(out)
    };
    if !arguments.force
        && let Some(file) = files.iter().find(|file| file.exists())
    {
        bail!("{} exists; give --force to replace it", file.display());
    }
    if let Some(model) = &arguments.model {
        let mdp = ide3al::domains::load(model).context("--model")?;
        let plan = io::read_plan(arguments.input.as_ref(), &mdp)?;
        io::write_plan(out, &mdp, &plan)?;
        return output::print(&format!(
            "wrote {}: policy of {} states, {} state-action pairs\n",
            out.display(),
            mdp.n_states(),
            mdp.n_pairs()
        ));
    }
    if !io::is_model_file(out) {
        bail!(
            "{}: unknown format; a model is written as .json, .npz, .tra or .umb",
            out.display()
        );
    }
    let mdp = ide3al::domains::load(&arguments.input)?;
    if arguments.dense {
        io::write_dense_model(out, &mdp)?;
    } else {
        io::write_model(out, &mdp)?;
    }
    output::print(&format!("wrote {}: {}\n", out.display(), sizes(&mdp)))
}

fn sizes(mdp: &Mdp) -> String {
    format!(
        "{} states, {} state-action pairs, {} transitions",
        mdp.n_states(),
        mdp.n_pairs(),
        mdp.kernel().nnz()
    )
}
