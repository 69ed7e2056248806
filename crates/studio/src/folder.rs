//! Folders for files that only this user may read.

use std::fs::{DirBuilder, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use ide3al::error::{Error, Result};

/// A folder with a random name that nobody else may enter; it goes when it is dropped.
///
/// Models are read from and written to files, and a browser is opened by a file that holds the
/// address: neither the name nor the contents may tell another user of the machine the token.
#[derive(Debug)]
pub(super) struct PrivateFolder(PathBuf);

impl PrivateFolder {
    pub(super) fn new() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("ide3al-{}", super::random_name()?));
        let mut builder = DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path).map_err(|source| Error::Io {
            path: path.clone(),
            action: "make",
            source,
        })?;
        Ok(PrivateFolder(path))
    }

    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file that only this user may read; its path.
    pub(super) fn write(&self, name: &str, contents: &str) -> Result<PathBuf> {
        let path = self.0.join(name);
        let mut options = OpenOptions::new();
        options.write(true).create(true).truncate(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = options
            .open(&path)
            .and_then(|mut file| file.write_all(contents.as_bytes()));
        match written {
            Ok(()) => Ok(path),
            Err(source) => Err(Error::Io {
                path,
                action: "write",
                source,
            }),
        }
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // what cannot be removed is small, and the system's to clean
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn only_the_owner_may_look() {
        let folder = PrivateFolder::new().unwrap();
        let file = folder.write("open.html", "text").unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(folder.path()), mode(&file)), (0o700, 0o600));
        let path = folder.path().to_owned();
        drop(folder);
        assert!(!path.exists());
    }
}
