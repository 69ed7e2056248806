//! Damage to files, of the kinds that disks, editors and enemies do.

use std::io::{Cursor, Read, Write};

use super::arbitrary::Source;

/// Lengths that lie.
const LIES: [u64; 12] = [
    0,
    1,
    2,
    7,
    255,
    65_535,
    0x7fff_ffff,
    0xffff_ffff,
    1 << 33,
    1 << 48,
    i64::MAX as u64,
    u64::MAX,
];

/// Numbers that a text should not hold.
const WORDS: [&str; 16] = [
    "-1",
    "0",
    "1e999",
    "-0.0",
    "NaN",
    "Infinity",
    "4294967296",
    "18446744073709551616",
    "1e-320",
    "0.1",
    "999999999999",
    "null",
    "[]",
    "{}",
    "\"\\u0000\"",
    "1000000000",
];

/// A damaged copy of `seed`; `other` is another file of the same kind to splice with.
pub(crate) fn mutate(source: &mut dyn Source, seed: &[u8], other: &[u8]) -> Vec<u8> {
    let mut bytes = seed.to_vec();
    for _ in 0..1 + source.below(4) {
        let place = source.below(bytes.len() + 1);
        let length = source.below(bytes.len() - place + 1);
        match source.below(9) {
            0 => {
                // one bit
                if let Some(byte) = bytes.get_mut(place) {
                    *byte ^= 1 << source.below(8);
                }
            }
            1 => {
                // one byte
                if let Some(byte) = bytes.get_mut(place) {
                    *byte = source.below(256) as u8;
                }
            }
            2 => bytes.truncate(place),
            3 => {
                // a piece missing
                bytes.drain(place..place + length.min(16));
            }
            4 => {
                // a piece twice
                let piece = bytes[place..place + length.min(64)].to_vec();
                bytes.splice(place..place, piece);
            }
            5 => {
                // the head of one, the tail of the other
                let from = source.below(other.len() + 1);
                bytes.truncate(place);
                bytes.extend_from_slice(&other[from..]);
            }
            6 => {
                // a length that lies
                let lie = LIES[source.below(LIES.len())].to_le_bytes();
                let width = [1, 2, 4, 8][source.below(4)].min(bytes.len() - place);
                bytes[place..place + width].copy_from_slice(&lie[..width]);
            }
            7 => number(source, &mut bytes),
            _ => {
                let garbage: Vec<u8> = (0..length.min(8))
                    .map(|_| source.below(256) as u8)
                    .collect();
                bytes.splice(place..place, garbage);
            }
        }
        bytes.truncate(1 << 16);
    }
    bytes
}

/// Replaces a run of digits by a number that a text should not hold.
fn number(source: &mut dyn Source, bytes: &mut Vec<u8>) {
    let is_digit = |b: &u8| b.is_ascii_digit() || *b == b'.';
    let begins: Vec<usize> = (0..bytes.len())
        .filter(|&i| is_digit(&bytes[i]) && (i == 0 || !is_digit(&bytes[i - 1])))
        .collect();
    if begins.is_empty() {
        return;
    }
    let begin = begins[source.below(begins.len())];
    let end = (begin..bytes.len())
        .find(|&i| !is_digit(&bytes[i]))
        .unwrap_or(bytes.len());
    let word = WORDS[source.below(WORDS.len())];
    bytes.splice(begin..end, word.bytes());
}

/// The members of an archive by name.
type Members = Vec<(String, Vec<u8>)>;

/// Damages one member of a ZIP or tar archive and packs it again with sums that fit, so that the
/// damage gets past them. `None` if it is neither.
pub(crate) fn mutate_member(source: &mut dyn Source, archive: &[u8]) -> Option<Vec<u8>> {
    if let Some(mut members) = zip_members(archive) {
        damage(source, &mut members);
        let method = if source.chance(0.5) {
            zip::CompressionMethod::Stored
        } else {
            zip::CompressionMethod::Deflated
        };
        return pack_zip(&members, method);
    }
    let compressed = archive.starts_with(&[0x1f, 0x8b]);
    let mut members = if compressed {
        let mut plain = Vec::new();
        let unpacked = flate2::read::GzDecoder::new(archive).read_to_end(&mut plain);
        unpacked.ok()?;
        tar_members(&plain)?
    } else {
        tar_members(archive)?
    };
    damage(source, &mut members);
    let tar = pack_tar(&members);
    Some(if compressed || source.chance(0.2) {
        gzip(&tar)
    } else {
        tar
    })
}

fn damage(source: &mut dyn Source, members: &mut Members) {
    let chosen = source.below(members.len());
    match source.below(6) {
        0 => {
            members.remove(chosen);
        }
        1 => {
            let other = source.below(members.len());
            let content = members[other].1.clone();
            members[chosen].1 = content;
        }
        _ => {
            let other = members[source.below(members.len())].1.clone();
            members[chosen].1 = mutate(source, &members[chosen].1, &other);
        }
    }
}

fn zip_members(archive: &[u8]) -> Option<Members> {
    let mut zip = zip::ZipArchive::new(Cursor::new(archive)).ok()?;
    let mut members = Vec::new();
    for i in 0..zip.len() {
        let mut member = zip.by_index(i).ok()?;
        let mut content = Vec::new();
        member.read_to_end(&mut content).ok()?;
        members.push((member.name().to_owned(), content));
    }
    (!members.is_empty()).then_some(members)
}

/// A ZIP archive of the members.
pub(crate) fn pack_zip(members: &Members, method: zip::CompressionMethod) -> Option<Vec<u8>> {
    let mut out = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default()
        .compression_method(method)
        .last_modified_time(zip::DateTime::default());
    for (name, content) in members {
        out.start_file(name, options).ok()?;
        out.write_all(content).ok()?;
    }
    Some(out.finish().ok()?.into_inner())
}

fn tar_members(archive: &[u8]) -> Option<Members> {
    let mut members = Vec::new();
    let mut rest = archive;
    while rest.len() >= 512 && rest[0] != 0 {
        let word = |field: &[u8]| {
            let text = std::str::from_utf8(field).ok()?;
            Some(text.trim_end_matches('\0').to_owned())
        };
        let name = word(&rest[..100])?;
        let size = usize::from_str_radix(&word(&rest[124..136])?, 8).ok()?;
        members.push((name, rest.get(512..512 + size)?.to_vec()));
        rest = rest.get(512 + size.next_multiple_of(512)..)?;
    }
    (!members.is_empty()).then_some(members)
}

/// A tar archive of the members.
pub(crate) fn pack_tar(members: &Members) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, content) in members {
        out.extend(tar_header(name, content.len() as u64));
        out.extend(content);
        out.resize(out.len().next_multiple_of(512), 0);
    }
    out.resize(out.len() + 1024, 0);
    out
}

/// The header of a member of at most 8 GiB, or of one that says so.
pub(crate) fn tar_header(name: &str, size: u64) -> [u8; 512] {
    let mut block = [0u8; 512];
    block[..name.len()].copy_from_slice(name.as_bytes());
    block[124..136].copy_from_slice(format!("{size:011o}\0").as_bytes());
    block[148..156].fill(b' ');
    block[156] = b'0';
    block[257..265].copy_from_slice(b"ustar\x0000");
    let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

/// Compressed.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut out = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    // a vector takes everything
    let _ = out.write_all(bytes);
    out.finish().unwrap_or_default()
}
