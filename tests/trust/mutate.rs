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

/// Damages one member of a ZIP archive and packs it again with sums that fit, so that the damage
/// gets past them. `None` if it is no archive.
pub(crate) fn mutate_member(source: &mut dyn Source, archive: &[u8]) -> Option<Vec<u8>> {
    let mut zip = zip::ZipArchive::new(Cursor::new(archive)).ok()?;
    let mut members = Vec::new();
    for i in 0..zip.len() {
        let mut member = zip.by_index(i).ok()?;
        let mut content = Vec::new();
        member.read_to_end(&mut content).ok()?;
        members.push((member.name().to_owned(), content));
    }
    if members.is_empty() {
        return None;
    }
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
    let mut out = zip::ZipWriter::new(Cursor::new(Vec::new()));
    let method = if source.chance(0.5) {
        zip::CompressionMethod::Stored
    } else {
        zip::CompressionMethod::Deflated
    };
    let options = zip::write::SimpleFileOptions::default().compression_method(method);
    for (name, content) in members {
        out.start_file(name, options).ok()?;
        out.write_all(&content).ok()?;
    }
    Some(out.finish().ok()?.into_inner())
}
