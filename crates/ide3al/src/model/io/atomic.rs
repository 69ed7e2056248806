//! Files appear whole or not at all.

use std::fs::{self, File, OpenOptions};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use crate::error::{Error, Result};

/// Writes a file through a temporary one in the same folder, which is synced and renamed
/// over `path` only when `fill` has succeeded. On failure the temporary file is removed, and
/// whatever was at `path` stays as it was.
///
/// ```
/// use std::io::Write;
/// let path = std::env::temp_dir().join("ide3al-atomic-example.txt");
/// ide3al::model::io::atomic::write(&path, |file| writeln!(file, "whole"))?;
/// assert_eq!(std::fs::read_to_string(&path).unwrap(), "whole\n");
/// # std::fs::remove_file(&path).unwrap();
/// # Ok::<(), ide3al::Error>(())
/// ```
pub fn write(
    path: &Path,
    fill: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> Result<()> {
    let failed = |action| {
        move |source| Error::Io {
            path: path.to_owned(),
            action,
            source,
        }
    };
    // through a symbolic link, so that it stays one
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    if target.is_dir() {
        return Err(failed("write")(std::io::Error::other("it is a folder")));
    }
    let (file, temporary) = create_beside(&target).map_err(failed("write"))?;
    let guard = RemoveOnDrop(Some(temporary));
    let mut writer = BufWriter::with_capacity(1 << 18, file);
    fill(&mut writer).map_err(failed("write"))?;
    let file = writer
        .into_inner()
        .map_err(|error| failed("write")(error.into_error()))?;
    file.sync_all().map_err(failed("write"))?;
    drop(file);
    guard.rename_to(&target).map_err(failed("write"))?;
    // makes the rename itself durable; not every system can open a folder
    if let Ok(folder) = File::open(folder_of(&target)) {
        let _ = folder.sync_all();
    }
    Ok(())
}

/// [`write()`] of bytes already in memory.
pub fn write_bytes(path: &Path, bytes: &[u8]) -> Result<()> {
    write(path, |file| file.write_all(bytes))
}

/// Removes temporary files that a killed process left in a folder. Only for a folder that
/// nobody else writes to now.
pub fn sweep(folder: &Path) {
    sweep_beginning(folder, ".".into());
}

/// The same for one file's temporary files, in a folder that may hold what is not ours.
pub fn sweep_file(folder: &Path, file: &str) {
    sweep_beginning(folder, format!(".{file}."));
}

fn sweep_beginning(folder: &Path, start: String) {
    let Ok(entries) = fs::read_dir(folder) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(&start) && name.ends_with(".tmp") {
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn create_beside(target: &Path) -> std::io::Result<(File, PathBuf)> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let name = target.file_name().ok_or_else(|| {
        std::io::Error::new(std::io::ErrorKind::InvalidInput, "the path names no file")
    })?;
    loop {
        let mut hidden = std::ffi::OsString::from(".");
        hidden.push(name);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        hidden.push(format!(".{}-{number}.tmp", std::process::id()));
        let temporary = folder_of(target).join(hidden);
        match OpenOptions::new()
            .read(true)
            .write(true)
            .create_new(true)
            .open(&temporary)
        {
            Ok(file) => return Ok((file, temporary)),
            // left over from another process that had our number
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
}

/// Removes the temporary file unless it has been renamed, also on a panic.
struct RemoveOnDrop(Option<PathBuf>);

impl RemoveOnDrop {
    fn rename_to(mut self, target: &Path) -> std::io::Result<()> {
        if let Some(temporary) = &self.0 {
            fs::rename(temporary, target)?;
        }
        self.0 = None;
        Ok(())
    }
}

impl Drop for RemoveOnDrop {
    fn drop(&mut self) {
        if let Some(temporary) = &self.0 {
            let _ = fs::remove_file(temporary);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::io::tests::Folder;

    #[test]
    fn a_failed_write_leaves_the_old_file_and_no_other() {
        let folder = Folder::new();
        let path = folder.path("kept.txt");
        write_bytes(&path, b"old").unwrap();
        let error = write(&path, |file| {
            file.write_all(b"half of the new")?;
            Err(std::io::Error::other("disk full"))
        });
        assert!(error.unwrap_err().to_string().contains("disk full"));
        assert_eq!(fs::read(&path).unwrap(), b"old");
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
    }

    #[test]
    fn a_missing_folder_is_named() {
        let folder = Folder::new();
        let path = folder.path("none/file.txt");
        let message = write_bytes(&path, b"").unwrap_err().to_string();
        assert!(message.contains("none/file.txt") && message.contains("cannot write"));
    }
}
