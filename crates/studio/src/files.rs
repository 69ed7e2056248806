//! Files that come in and go out.

use std::path::Path as FilePath;
use std::sync::Arc;

use axum::extract::{Path, Request, State};
use axum::http::header;
use axum::response::{IntoResponse, Response};
use serde_json::json;

use super::folder::PrivateFolder;
use super::refusal::Refusal;
use super::world::{Asked, check_size};
use super::{Shared, work};
use ide3al::error::Error;
use ide3al::model::{Mdp, io};

/// Largest model whose text is given back, to be part of a link.
const MOST_SHARED: usize = 4_000;

/// The extension of a name, of those that are known.
fn extension(name: &str, known: &[&'static str]) -> Result<&'static str, Refusal> {
    let found = name
        .rsplit_once('.')
        .map(|(_, ending)| ending.to_lowercase());
    known
        .iter()
        .find(|ending| Some(**ending) == found.as_deref())
        .copied()
        .ok_or_else(|| {
            Refusal::bad(format!(
                "{name}: cannot tell what this file is; its name must end in .{}",
                known.join(", .")
            ))
        })
}

/// Reads a model, puts it on the shelf under the hash of its bytes, and gives a small one back as
/// JSON.
pub(super) async fn import(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Response, Refusal> {
    let ending = extension(&name, &["json", "npz", "umb", "tra"])?;
    let bytes = work::bytes(request).await?;
    let inside = Arc::clone(&shared);
    let job = move |lines: &work::Lines| {
        let folder = PrivateFolder::new()?;
        let path = folder.path().join(format!("model.{ending}"));
        write(&path, &bytes)?;
        let mdp = io::read_model(&path).map_err(|error| named(&error, &path, &name))?;
        check_size(&mdp)?;
        let text = if mdp.kernel().nnz() <= MOST_SHARED {
            let path = folder.path().join("again.json");
            io::write_model(&path, &mdp)?;
            std::fs::read_to_string(&path).ok()
        } else {
            None
        };
        let key = format!("{:016x}", hash(&bytes));
        inside.shelf.put(key.clone(), Arc::new(mdp));
        lines.say(&json!({ "model": key, "json": text }));
        Ok(())
    };
    Ok(shared.work.answer(job).await)
}

/// The model (`model.json`, `model.npz`, ...) or the policy (`policy.json`, ...) of a world.
pub(super) async fn export(
    State(shared): State<Arc<Shared>>,
    Path(name): Path<String>,
    request: Request,
) -> Result<Response, Refusal> {
    let asked: Asked = work::json(request).await?;
    let model = name.starts_with("model.");
    let ending = if model {
        extension(&name, &["json", "npz", "umb"])?
    } else {
        extension(&name, &["json", "npz", "npy"])?
    };
    let inside = Arc::clone(&shared);
    let write = move |cancel: &work::CancelFlag| {
        let mdp = inside.build(&asked.world)?;
        let folder = PrivateFolder::new()?;
        let path = folder.path().join(format!("out.{ending}"));
        if model {
            io::write_model(&path, &mdp)?;
        } else {
            write_policy(&mdp, &asked, &path, cancel)?;
        }
        std::fs::read(&path).map_err(|source| {
            Error::Io {
                path,
                action: "read",
                source,
            }
            .into()
        })
    };
    let bytes = shared.work.bytes(write).await?;
    Ok(([(header::CONTENT_TYPE, "application/octet-stream")], bytes).into_response())
}

fn write_policy(
    mdp: &Mdp,
    asked: &Asked,
    path: &FilePath,
    cancel: &work::CancelFlag,
) -> Result<(), Refusal> {
    let problem = asked.problem(mdp)?;
    let solution = asked.solve(mdp, &problem, &mut cancel.clone())?;
    Ok(io::write_policy(path, mdp, &solution.policy)?)
}

fn write(path: &FilePath, bytes: &[u8]) -> Result<(), Refusal> {
    std::fs::write(path, bytes).map_err(|source| {
        Error::Io {
            path: path.to_owned(),
            action: "write",
            source,
        }
        .into()
    })
}

/// An error under the name that the user knows the file by.
fn named(error: &Error, path: &FilePath, name: &str) -> Refusal {
    Refusal::bad(error.to_string().replace(&path.display().to_string(), name))
}

/// Fowler, Noll and Vo's hash: tells files apart, proves nothing.
fn hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
