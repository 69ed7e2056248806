//! Bytes for checkpoints: numbers bit by bit, lists with their length.
//!
//! JSON would round or bloat; a resumed run must continue from the very same bits.

use crate::model::{Counts, Policy};

/// Appends values to a buffer, little-endian.
#[derive(Debug, Default)]
pub(crate) struct Writer {
    bytes: Vec<u8>,
}

impl Writer {
    pub(crate) fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub(crate) fn byte(&mut self, value: u8) {
        self.bytes.push(value);
    }

    pub(crate) fn number(&mut self, value: u64) {
        self.bytes.extend_from_slice(&value.to_le_bytes());
    }

    pub(crate) fn real(&mut self, value: f64) {
        self.number(value.to_bits());
    }

    pub(crate) fn reals(&mut self, values: &[f64]) {
        self.number(values.len() as u64);
        for &value in values {
            self.real(value);
        }
    }

    pub(crate) fn blob(&mut self, bytes: &[u8]) {
        self.number(bytes.len() as u64);
        self.bytes.extend_from_slice(bytes);
    }

    pub(crate) fn texts(&mut self, texts: &[String]) {
        self.number(texts.len() as u64);
        for text in texts {
            self.blob(text.as_bytes());
        }
    }

    pub(crate) fn counts(&mut self, counts: &Counts) {
        for pair in 0..counts.n_pairs() {
            let seen = counts.seen(pair);
            self.number(seen.len() as u64);
            for &(next, count) in seen {
                self.number(u64::from(next));
                self.number(count);
            }
        }
        for s in 0..counts.n_states() {
            self.number(counts.starts()[s]);
            self.number(counts.ends()[s]);
        }
        self.number(counts.cuts());
    }
}

/// Why a buffer could not be read.
pub(crate) type Damage = String;

/// Takes values from a buffer. Never trusts a length: no list is longer than the bytes that
/// are left.
#[derive(Debug)]
pub(crate) struct Reader<'a> {
    bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(crate) fn new(bytes: &'a [u8]) -> Self {
        Reader { bytes }
    }

    fn take(&mut self, n: usize) -> Result<&'a [u8], Damage> {
        let (head, rest) = self
            .bytes
            .split_at_checked(n)
            .ok_or_else(|| format!("it ends early: {n} bytes wanted, {} left", self.bytes.len()))?;
        self.bytes = rest;
        Ok(head)
    }

    pub(crate) fn byte(&mut self) -> Result<u8, Damage> {
        Ok(self.take(1)?[0])
    }

    pub(crate) fn number(&mut self) -> Result<u64, Damage> {
        let head = self.take(8)?;
        let array: [u8; 8] = head.try_into().map_err(|_| "eight bytes wanted")?;
        Ok(u64::from_le_bytes(array))
    }

    /// A number below a limit.
    pub(crate) fn index(&mut self, limit: usize, what: &str) -> Result<usize, Damage> {
        let value = self.number()?;
        match usize::try_from(value) {
            Ok(index) if index < limit => Ok(index),
            _ => Err(format!("{what} {value} is not below {limit}")),
        }
    }

    /// The length of a list whose items take at least `item` bytes each.
    pub(crate) fn length(&mut self, item: usize) -> Result<usize, Damage> {
        let value = self.number()?;
        match usize::try_from(value) {
            Ok(length) if length <= self.bytes.len() / item.max(1) => Ok(length),
            _ => Err(format!(
                "it announces a list of {value} items, more than it has bytes for"
            )),
        }
    }

    pub(crate) fn real(&mut self) -> Result<f64, Damage> {
        Ok(f64::from_bits(self.number()?))
    }

    pub(crate) fn reals(&mut self) -> Result<Vec<f64>, Damage> {
        let length = self.length(8)?;
        (0..length).map(|_| self.real()).collect()
    }

    pub(crate) fn blob(&mut self) -> Result<&'a [u8], Damage> {
        let length = self.length(1)?;
        self.take(length)
    }

    pub(crate) fn texts(&mut self) -> Result<Vec<String>, Damage> {
        let length = self.length(8)?;
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec());
        (0..length)
            .map(|_| text(self.blob()?).map_err(|_| "it holds text that is no UTF-8".into()))
            .collect()
    }

    pub(crate) fn policy(&mut self, n_pairs: usize) -> Result<Policy, Damage> {
        let probabilities = self.reals()?;
        Policy::restored(n_pairs, probabilities).ok_or_else(|| "it holds no sound policy".into())
    }

    /// A policy of an environment whose states are found one by one: as long as it was.
    pub(crate) fn any_policy(&mut self) -> Result<Policy, Damage> {
        let probabilities = self.reals()?;
        let n = probabilities.len();
        Policy::restored(n, probabilities).ok_or_else(|| "it holds no sound policy".into())
    }

    /// Reads into counts that hold nothing yet.
    pub(crate) fn counts(&mut self, counts: &mut Counts) -> Result<(), Damage> {
        for pair in 0..counts.n_pairs() {
            for _ in 0..self.length(16)? {
                let next = self.index(counts.n_states(), "next state")?;
                let count = self.number()?;
                if count > u64::MAX >> 16 {
                    return Err(format!("{count} observations of one transition"));
                }
                counts
                    .add(pair, next, count)
                    .map_err(|error| error.to_string())?;
            }
        }
        let (mut starts, mut ends) = (Vec::new(), Vec::new());
        for _ in 0..counts.n_states() {
            starts.push(self.number()?);
            ends.push(self.number()?);
        }
        let cuts = self.number()?;
        if starts
            .iter()
            .chain(&ends)
            .chain([&cuts])
            .any(|n| *n > u64::MAX >> 16)
        {
            return Err("it holds more episodes than can be".into());
        }
        counts
            .set_episodes(starts, ends, cuts)
            .map_err(|error| error.to_string())
    }

    /// Refuses bytes that nobody asked for.
    pub(crate) fn end(&self) -> Result<(), Damage> {
        if self.bytes.is_empty() {
            return Ok(());
        }
        Err(format!("{} bytes are left over", self.bytes.len()))
    }
}

/// FNV-1a with 64 bits over 8-byte words: finds damage, and tells experiments apart. Not
/// made against forgery.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Hash(u64);

impl Hash {
    pub(crate) fn new() -> Self {
        Hash(0xcbf2_9ce4_8422_2325)
    }

    pub(crate) fn number(&mut self, value: u64) {
        self.0 ^= value;
        self.0 = self.0.wrapping_mul(0x0000_0100_0000_01b3);
        // the multiplication alone never carries high bits down
        self.0 ^= self.0 >> 32;
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        let mut words = bytes.chunks_exact(8);
        for word in &mut words {
            let mut array = [0; 8];
            array.copy_from_slice(word);
            self.number(u64::from_le_bytes(array));
        }
        let mut last = [0; 8];
        last[..words.remainder().len()].copy_from_slice(words.remainder());
        self.number(u64::from_le_bytes(last));
        self.number(bytes.len() as u64);
    }

    pub(crate) fn value(self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back_and_damage_is_noticed() {
        let mut counts = Counts::new(&[2, 1]);
        counts.record(0, 1, 1);
        counts.record(0, 1, 1);
        counts.record(1, 0, 0);
        counts.record_start(1);
        counts.record_end(0);
        counts.record_truncation();
        let mut writer = Writer::default();
        writer.byte(3);
        writer.reals(&[0.1, f64::NAN, -0.0]);
        writer.counts(&counts);
        writer.blob(b"name");
        writer.texts(&["a sentence".into(), String::new(), "H(d) ≥ 0".into()]);
        let bytes = writer.into_bytes();

        let mut reader = Reader::new(&bytes);
        assert_eq!(reader.byte().unwrap(), 3);
        let reals = reader.reals().unwrap();
        assert_eq!(reals[0].to_bits(), 0.1f64.to_bits());
        assert!(reals[1].is_nan() && reals[2].is_sign_negative());
        let mut again = Counts::new(&[2, 1]);
        reader.counts(&mut again).unwrap();
        assert_eq!(again, counts);
        assert_eq!(reader.blob().unwrap(), b"name");
        assert_eq!(reader.texts().unwrap(), ["a sentence", "", "H(d) ≥ 0"]);
        reader.end().unwrap();

        assert!(Reader::new(&bytes[..20]).blob().is_err());
        // a length of 10^18 asks for no memory
        let mut huge = Writer::default();
        huge.number(1_000_000_000_000_000_000);
        let huge = huge.into_bytes();
        assert!(
            Reader::new(&huge)
                .reals()
                .unwrap_err()
                .contains("more than it has bytes for")
        );
    }

    #[test]
    fn one_flipped_bit_changes_the_hash() {
        let bytes: Vec<u8> = (0..100).collect();
        let hash = |bytes: &[u8]| {
            let mut hash = Hash::new();
            hash.bytes(bytes);
            hash.value()
        };
        let whole = hash(&bytes);
        for place in 0..bytes.len() {
            for bit in 0..8 {
                let mut damaged = bytes.clone();
                damaged[place] ^= 1 << bit;
                assert_ne!(hash(&damaged), whole);
            }
        }
    }
}
