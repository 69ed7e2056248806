//! Tar archives of model files: the members in order, and equal bytes for equal models.

use std::io::{Read, Write};

use tar::{Archive, EntryType, Header};

/// Problem of an archive, without the file's name.
pub(super) type Problem = String;

const BLOCK: u64 = 512;

const TRUNCATED: &str = "it ends early; it is truncated, write it again";

/// Calls `member(name, size, contents)` for each plain member in order. What it leaves unread
/// is skipped.
pub(super) fn read(
    from: impl Read,
    mut member: impl FnMut(&str, u64, &mut dyn Read) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let mut archive = Archive::new(Watched { from, ended: false });
    let outcome = members(&mut archive, &mut member);
    // without the empty blocks at its end nobody knows whether members are missing
    if archive.into_inner().ended {
        return Err(TRUNCATED.into());
    }
    outcome
}

fn members<R: Read>(
    archive: &mut Archive<R>,
    member: &mut impl FnMut(&str, u64, &mut dyn Read) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let mut first = true;
    for entry in archive.entries().map_err(|error| error.to_string())? {
        let mut entry = entry.map_err(|error| {
            if first {
                format!("it is not a tar archive ({error})")
            } else {
                format!("a member's header is damaged ({error}); write it again")
            }
        })?;
        first = false;
        // folders and links have nothing to say
        if entry.header().entry_type() != EntryType::Regular {
            continue;
        }
        let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
        let name = name.trim_start_matches("./").trim_start_matches('/');
        member(name, entry.size(), &mut entry)?;
    }
    if first {
        return Err("it is not a tar archive (it has no members)".into());
    }
    Ok(())
}

/// Remembers whether the end was met.
struct Watched<R> {
    from: R,
    ended: bool,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.from.read(buffer)?;
        self.ended |= read == 0 && !buffer.is_empty();
        Ok(read)
    }
}

/// Writes the header of a member; its contents and [`finish_member`] must follow. No time
/// stamp and no owner, so that equal models give equal bytes.
pub(super) fn start_member(to: &mut impl Write, name: &str, size: u64) -> std::io::Result<()> {
    let mut header = Header::new_ustar();
    header.set_path(name)?;
    header.set_size(size);
    header.set_mode(0o644);
    header.set_entry_type(EntryType::Regular);
    header.set_cksum();
    to.write_all(header.as_bytes())
}

/// Fills a member up to a whole number of blocks.
pub(super) fn finish_member(to: &mut impl Write, size: u64) -> std::io::Result<()> {
    let padding = size.wrapping_neg() % BLOCK;
    to.write_all(&[0u8; BLOCK as usize][..padding as usize])
}

/// The end of the archive.
pub(super) fn finish(to: &mut impl Write) -> std::io::Result<()> {
    to.write_all(&[0u8; 2 * BLOCK as usize])
}
