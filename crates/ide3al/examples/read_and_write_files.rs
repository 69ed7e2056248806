//! Write a model and a policy, and read them back.
#![allow(clippy::print_stdout)]

use ide3al::domains;
use ide3al::model::{Policy, io};

pub(crate) fn main() -> ide3al::Result<()> {
    let folder = std::env::temp_dir().join(format!("ide3al-example-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|source| ide3al::Error::Io {
        path: folder.clone(),
        action: "make",
        source,
    })?;
    let mdp = domains::load("four-rooms")?;
    // the ending says the format: .json, .npz (NumPy, SciPy), .tra (PRISM, Storm) or .umb
    let model = folder.join("rooms.npz");
    io::write_model(&model, &mdp)?;
    let again = io::read_model(&model)?;
    println!("{} states, equal: {}", again.n_states(), again == mdp);
    let policy = folder.join("uniform.json");
    io::write_policy(&policy, &mdp, &Policy::uniform(&mdp))?;
    let uniform = io::read_policy(&policy, &mdp)?;
    println!("{} probabilities", uniform.probabilities().len());
    // what cannot be removed is the system's to clean
    let _ = std::fs::remove_dir_all(&folder);
    Ok(())
}
