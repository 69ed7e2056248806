//! Tar archives, as much of them as model files need: plain members with short names.
//!
//! Source: POSIX.1-2017, `pax`, "ustar Interchange Format", with its extended headers and
//! GNU's long names and sizes when reading.

use std::io::{Read, Write};

/// Problem of an archive, without the file's name.
pub(super) type Problem = String;

const BLOCK: usize = 512;

/// Longest text that an extended header or a long name may have.
const LONGEST_EXTRA: u64 = 1 << 16;

/// Calls `member(name, size, contents)` for each plain member in order. What it leaves unread
/// is skipped.
pub(super) fn read(
    mut from: impl Read,
    mut member: impl FnMut(&str, u64, &mut dyn Read) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let mut block = [0u8; BLOCK];
    let (mut long_name, mut long_size) = (None, None);
    let mut first = true;
    loop {
        // without the empty blocks at the end, members may be missing
        if fill(&mut from, &mut block)? < BLOCK {
            return Err("it ends early; it is truncated, write it again".into());
        }
        if block.iter().all(|byte| *byte == 0) && !first {
            return Ok(());
        }
        let header = Header::parse(&block).ok_or(if first {
            "it is not a tar archive (its first bytes differ)"
        } else {
            "a member's header is damaged; write it again"
        })?;
        first = false;
        match header.kind {
            b'x' | b'L' => {
                let text = extra(&mut from, header.size)?;
                if header.kind == b'L' {
                    let text = text.split(|byte| *byte == 0).next().unwrap_or_default();
                    long_name = Some(String::from_utf8_lossy(text).into_owned());
                } else {
                    for (key, value) in records(&text) {
                        match key {
                            "path" => long_name = Some(value.to_owned()),
                            "size" => long_size = value.parse().ok(),
                            _ => {}
                        }
                    }
                }
                skip(&mut from, padding(header.size))?;
            }
            b'0' | 0 => {
                let size = long_size.take().unwrap_or(header.size);
                let name = long_name.take().unwrap_or(header.name);
                let name = name.trim_start_matches("./").trim_start_matches('/');
                let mut contents = (&mut from).take(size);
                member(name, size, &mut contents)?;
                let left = contents.limit();
                skip(&mut from, left.saturating_add(padding(size)))?;
            }
            // folders, global headers, links
            _ => {
                (long_name, long_size) = (None, None);
                skip(&mut from, header.size.saturating_add(padding(header.size)))?;
            }
        }
    }
}

struct Header {
    name: String,
    size: u64,
    kind: u8,
}

impl Header {
    fn parse(block: &[u8; BLOCK]) -> Option<Header> {
        let sum: u64 = block
            .iter()
            .enumerate()
            // the field of the sum itself counts as spaces
            .map(|(k, byte)| {
                if (148..156).contains(&k) {
                    32
                } else {
                    u64::from(*byte)
                }
            })
            .sum();
        if octal(&block[148..156])? != sum {
            return None;
        }
        let text = |field: &[u8]| {
            let field = field.split(|byte| *byte == 0).next().unwrap_or_default();
            String::from_utf8_lossy(field).into_owned()
        };
        let mut name = text(&block[..100]);
        // GNU's own headers use the place of the prefix for other things
        if &block[257..263] == b"ustar\0" && block[345] != 0 {
            name = format!("{}/{name}", text(&block[345..500]));
        }
        let field = &block[124..136];
        let size = if field[0] & 0x80 != 0 {
            // GNU: a large number, big-endian
            let bytes: [u8; 8] = field[4..].try_into().ok()?;
            (field[..4] == [0x80, 0, 0, 0]).then(|| u64::from_be_bytes(bytes))?
        } else {
            octal(field)?
        };
        Some(Header {
            name,
            size,
            kind: block[156],
        })
    }
}

fn octal(field: &[u8]) -> Option<u64> {
    let text = std::str::from_utf8(field).ok()?;
    let text = text.trim_matches(|c| c == ' ' || c == '\0');
    if text.is_empty() {
        return Some(0);
    }
    u64::from_str_radix(text, 8).ok()
}

/// `length key=value\n`, again and again.
fn records(text: &[u8]) -> Vec<(&str, &str)> {
    let lines = std::str::from_utf8(text).unwrap_or_default().lines();
    lines
        .filter_map(|line| line.split_once(' ')?.1.split_once('='))
        .collect()
}

fn padding(size: u64) -> u64 {
    size.wrapping_neg() % BLOCK as u64
}

fn extra(from: &mut impl Read, size: u64) -> Result<Vec<u8>, Problem> {
    if size > LONGEST_EXTRA {
        return Err(format!(
            "an extended header claims {size} bytes; it is corrupted"
        ));
    }
    let mut text = vec![0; size as usize];
    if fill(from, &mut text)? < text.len() {
        return Err("it ends early; it is truncated, write it again".into());
    }
    Ok(text)
}

fn skip(from: &mut impl Read, bytes: u64) -> Result<(), Problem> {
    let skipped = std::io::copy(&mut from.take(bytes), &mut std::io::sink())
        .map_err(|error| error.to_string())?;
    if skipped < bytes {
        return Err("it ends early; it is truncated, write it again".into());
    }
    Ok(())
}

/// Reads until `buffer` is full or the end; the number of bytes read.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> Result<usize, Problem> {
    let mut filled = 0;
    while filled < buffer.len() {
        match from.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(n) => filled += n,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    Ok(filled)
}

/// Writes the header of a member; its contents and [`finish_member`] must follow. No time
/// stamp and no owner, so that equal models give equal bytes.
pub(super) fn start_member(to: &mut impl Write, name: &str, size: u64) -> std::io::Result<()> {
    let mut block = [0u8; BLOCK];
    if name.len() > 100 {
        return Err(std::io::Error::other(format!(
            "member name too long: {name}"
        )));
    }
    block[..name.len()].copy_from_slice(name.as_bytes());
    block[100..108].copy_from_slice(b"0000644\0");
    block[108..116].copy_from_slice(b"0000000\0");
    block[116..124].copy_from_slice(b"0000000\0");
    if size < 1 << 33 {
        block[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    } else {
        block[124] = 0x80;
        block[128..136].copy_from_slice(&size.to_be_bytes());
    }
    block[136..148].copy_from_slice(b"00000000000\0");
    block[148..156].fill(b' ');
    block[156] = b'0';
    block[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    to.write_all(&block)
}

/// Fills a member up to a whole number of blocks.
pub(super) fn finish_member(to: &mut impl Write, size: u64) -> std::io::Result<()> {
    to.write_all(&[0u8; BLOCK][..padding(size) as usize])
}

/// The end of the archive.
pub(super) fn finish(to: &mut impl Write) -> std::io::Result<()> {
    to.write_all(&[0u8; 2 * BLOCK])
}
