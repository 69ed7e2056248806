//! The ZIP file around NumPy arrays.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use zip::ZipArchive;
use zip::write::SimpleFileOptions;

use super::npy::{Array, Header, Problem};
use super::{cannot_read, malformed, open};
use crate::error::{Error, Result};

/// Options of a member of the given size: stored, because probabilities hardly compress;
/// ZIP64 beyond 4 GiB; no time stamp, so that equal models give equal bytes.
pub(super) fn member_options(bytes: u64) -> SimpleFileOptions {
    SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Stored)
        .last_modified_time(zip::DateTime::default())
        .large_file(bytes >= u64::from(u32::MAX))
}

/// Unpacked bytes up to which an archive may expand as it likes, and by how much it may beyond:
/// what people store expands less, what was made to exhaust the memory more.
const FREE_BYTES: u64 = 1 << 28;
const MAX_EXPANSION: u64 = 100;

/// An archive opened for reading.
pub(super) struct Archive {
    path: PathBuf,
    bytes: u64,
    zip: ZipArchive<BufReader<File>>,
}

impl Archive {
    pub(super) fn open(path: &Path) -> Result<Self> {
        let file = open(path)?;
        let bytes = file.metadata().map_err(|e| cannot_read(path, e))?.len();
        let damaged = |error: zip::result::ZipError| {
            malformed(
                path,
                format!(
                    "not a readable NPZ (ZIP) archive: {error}; it is truncated or corrupted, write it again"
                ),
            )
        };
        let mut zip = ZipArchive::new(BufReader::with_capacity(1 << 18, file)).map_err(damaged)?;
        let mut unpacked = 0_u64;
        for index in 0..zip.len() {
            let member = zip.by_index_raw(index).map_err(damaged)?;
            unpacked = unpacked.saturating_add(member.size());
        }
        if unpacked > FREE_BYTES.max(bytes.saturating_mul(MAX_EXPANSION)) {
            return Err(malformed(
                path,
                format!(
                    "it unpacks to {unpacked} bytes, more than {MAX_EXPANSION} times its size; if you trust it, \
                     write it without compression (numpy.savez)"
                ),
            ));
        }
        Ok(Archive {
            path: path.to_owned(),
            bytes,
            zip,
        })
    }

    /// Names of the arrays.
    pub(super) fn names(&self) -> Vec<String> {
        super::npz::listed(self.zip.file_names().map(str::to_owned))
    }

    pub(super) fn has(&self, name: &str) -> bool {
        self.zip.index_for_name(&format!("{name}.npy")).is_some()
    }

    fn array<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(
            &Header,
            &mut dyn std::io::Read,
            u64,
        ) -> std::result::Result<Array<T>, Problem>,
    ) -> Result<Array<T>> {
        let problem = |problem: String| -> Error {
            malformed(&self.path, format!("array '{name}': {problem}"))
        };
        let Some(index) = self.zip.index_for_name(&format!("{name}.npy")) else {
            return Err(problem("it is missing; add it".into()));
        };
        let member = self.zip.by_index(index).map_err(|error| {
            malformed(
                &self.path,
                format!("array '{name}': {error}; it is truncated or corrupted, write it again"),
            )
        })?;
        let problem = |problem: String| -> Error {
            malformed(&self.path, format!("array '{name}': {problem}"))
        };
        // never more than was declared, which was admitted when the archive was opened, and one
        // byte, because the checksum is compared where the member ends
        let declared = member.size();
        let mut member = member.take(declared.saturating_add(1));
        let header = Header::read(&mut member).map_err(problem)?;
        read(&header, &mut member, self.bytes).map_err(problem)
    }

    pub(super) fn floats(&mut self, name: &str) -> Result<Array<f64>> {
        self.array(name, |header, mut from, bytes| {
            header.read_floats(&mut from, bytes)
        })
    }

    pub(super) fn integers<T: TryFrom<u64>>(&mut self, name: &str) -> Result<Array<T>> {
        self.array(name, |header, mut from, bytes| {
            header.read_integers(&mut from, bytes)
        })
    }

    pub(super) fn text(&mut self, name: &str) -> Result<Array<String>> {
        self.array(name, |header, mut from, bytes| {
            header.read_text(&mut from, bytes)
        })
    }
}
