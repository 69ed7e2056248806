//! NumPy's array format: a magic number, a Python dictionary in text, the numbers.
//!
//! Reads versions 1 to 3, C and Fortran order, both byte orders, integers and floats of
//! every usual width, and fixed-width text. Memory grows with the bytes that arrive; the
//! shape in the header is only compared with them.
//!
//! Source: NEP 1, "A simple file format for NumPy arrays".

use std::io::{Read, Write};

/// Problem of an array, without the file's name.
pub(super) type Problem = String;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// What an array's header says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    /// `f` float, `i` integer, `u` unsigned, `b` boolean, `U` text, `S` bytes.
    pub(super) kind: u8,
    /// Bytes per item.
    pub(super) size: usize,
    pub(super) big_endian: bool,
    pub(super) fortran: bool,
    pub(super) shape: Vec<u64>,
}

/// An array in memory, in the order of the file.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Array<T> {
    pub(super) shape: Vec<usize>,
    pub(super) fortran: bool,
    /// Whether the numbers had only single precision.
    pub(super) single: bool,
    pub(super) data: Vec<T>,
}

impl<T> Array<T> {
    /// Place of an element in `data`, for up to three dimensions.
    pub(super) fn strides(&self) -> Vec<usize> {
        let mut strides = vec![1; self.shape.len()];
        let mut product = 1;
        let dimensions: Vec<usize> = if self.fortran {
            (0..self.shape.len()).collect()
        } else {
            (0..self.shape.len()).rev().collect()
        };
        for k in dimensions {
            strides[k] = product;
            product *= self.shape[k];
        }
        strides
    }
}

impl Header {
    /// Reads magic number, version and dictionary.
    pub(super) fn read(from: &mut impl Read) -> Result<Header, Problem> {
        let mut start = [0u8; 8];
        read_exactly(from, &mut start, "its header")?;
        if &start[..6] != MAGIC {
            return Err("it is not a NumPy array (its first bytes differ)".into());
        }
        let length = match start[6] {
            1 => {
                let mut bytes = [0u8; 2];
                read_exactly(from, &mut bytes, "its header")?;
                usize::from(u16::from_le_bytes(bytes))
            }
            2 | 3 => {
                let mut bytes = [0u8; 4];
                read_exactly(from, &mut bytes, "its header")?;
                u32::from_le_bytes(bytes) as usize
            }
            other => return Err(format!("version {other} of the NumPy format is unknown")),
        };
        if length > 1 << 20 {
            return Err(format!("its header claims {length} bytes; it is corrupted"));
        }
        let mut text = vec![0u8; length];
        read_exactly(from, &mut text, "its header")?;
        Header::parse(&String::from_utf8_lossy(&text))
    }

    fn parse(text: &str) -> Result<Header, Problem> {
        let bad = || format!("its header cannot be read: {}", text.trim());
        let value = |key: &str| {
            let at = text
                .find(&format!("'{key}'"))
                .or_else(|| text.find(&format!("\"{key}\"")))?;
            let rest = text[at + key.len() + 2..].trim_start();
            Some(rest.strip_prefix(':')?.trim_start())
        };
        let description = value("descr").ok_or_else(bad)?;
        let quote = description
            .chars()
            .next()
            .filter(|c| *c == '\'' || *c == '"');
        let Some(quote) = quote else {
            return Err("structured arrays are not supported; save plain numbers".into());
        };
        let description = description[1..].split(quote).next().ok_or_else(bad)?;
        let fortran = value("fortran_order").ok_or_else(bad)?.starts_with("True");
        let shape = value("shape").ok_or_else(bad)?;
        let shape = shape.strip_prefix('(').and_then(|s| s.split(')').next());
        let shape: Option<Vec<u64>> = shape
            .ok_or_else(bad)?
            .split(',')
            .map(|part| part.trim().trim_end_matches('L'))
            .filter(|part| !part.is_empty())
            .map(|part| part.parse().ok())
            .collect();
        let (big_endian, rest) = match description.as_bytes().first() {
            Some(b'>') => (true, &description[1..]),
            Some(b'<' | b'|' | b'=') => (false, &description[1..]),
            _ => (false, description),
        };
        let kind = rest.bytes().next().ok_or_else(bad)?;
        if kind == b'O' {
            return Err(
                "it holds Python objects; save an array of numbers (or of dtype str for names)"
                    .into(),
            );
        }
        let width: usize = rest.get(1..).and_then(|w| w.parse().ok()).ok_or_else(bad)?;
        let size = if kind == b'U' {
            width.saturating_mul(4)
        } else {
            width
        };
        let known = match kind {
            b'f' => matches!(size, 4 | 8),
            b'i' | b'u' => matches!(size, 1 | 2 | 4 | 8),
            b'b' => size == 1,
            b'U' | b'S' => size <= 1 << 20,
            _ => false,
        };
        if !known {
            return Err(format!(
                "its type '{description}' is not supported; convert it, e.g. array.astype('<f8')"
            ));
        }
        Ok(Header {
            kind,
            size,
            big_endian,
            fortran,
            shape: shape.ok_or_else(bad)?,
        })
    }

    /// Number of items, or an error where that does not even fit a machine word.
    pub(super) fn count(&self) -> Result<usize, Problem> {
        self.shape
            .iter()
            .try_fold(1u64, |product, &n| product.checked_mul(n))
            .and_then(|n| usize::try_from(n).ok())
            .ok_or_else(|| format!("its shape {:?} is impossible", self.shape))
    }

    /// Reads all items through `convert`. `available` bounds what is reserved up front.
    fn read_items<T>(
        &self,
        from: &mut impl Read,
        available: u64,
        mut convert: impl FnMut(&[u8], usize) -> Result<T, Problem>,
    ) -> Result<Array<T>, Problem> {
        let count = self.count()?;
        let size = self.size.max(1);
        let reserve = usize::try_from(available).unwrap_or(usize::MAX) / size;
        let mut data = Vec::with_capacity(count.min(reserve));
        if self.size == 0 {
            return Err(
                "its items have no bytes; store names as text of at least one letter".into(),
            );
        }
        let per_chunk = ((1 << 16) / size).max(1);
        let mut chunk = vec![0u8; per_chunk * size];
        while data.len() < count {
            let wanted = per_chunk.min(count - data.len()) * size;
            let got = fill(from, &mut chunk[..wanted])?;
            for item in chunk[..got].chunks_exact(size) {
                let place = data.len();
                data.push(convert(item, place)?);
            }
            if got < wanted {
                return Err(format!(
                    "its header claims {count} items (shape {:?}), but its data end after {}; it is truncated or corrupted, write it again",
                    self.shape,
                    data.len()
                ));
            }
        }
        // one read beyond the end also makes the archive compare its checksum
        if fill(from, &mut chunk[..1])? > 0 {
            return Err(format!(
                "it holds more data than the {count} items of its shape {:?}; it is corrupted, write it again",
                self.shape
            ));
        }
        Ok(Array {
            shape: self.shape.iter().map(|&n| n as usize).collect(),
            fortran: self.fortran,
            single: self.kind == b'f' && self.size == 4,
            data,
        })
    }

    /// Reads numbers as `f64`.
    pub(super) fn read_floats(
        &self,
        from: &mut impl Read,
        available: u64,
    ) -> Result<Array<f64>, Problem> {
        let (kind, big) = (self.kind, self.big_endian);
        if kind == b'f' && self.size == 8 {
            return self.read_items(from, available, |item, _| {
                let bits = unsigned(item, big);
                Ok(f64::from_bits(bits))
            });
        }
        match kind {
            b'f' => self.read_items(from, available, |item, _| {
                Ok(f64::from(f32::from_bits(unsigned(item, big) as u32)))
            }),
            b'i' => self.read_items(from, available, |item, _| Ok(signed(item, big) as f64)),
            b'u' | b'b' => {
                self.read_items(from, available, |item, _| Ok(unsigned(item, big) as f64))
            }
            _ => Err("it holds text where numbers are needed".into()),
        }
    }

    /// Reads whole numbers that fit `T`.
    pub(super) fn read_integers<T: TryFrom<u64>>(
        &self,
        from: &mut impl Read,
        available: u64,
    ) -> Result<Array<T>, Problem> {
        let (kind, big) = (self.kind, self.big_endian);
        let fit = |value: u64, place: usize| {
            T::try_from(value).map_err(|_| format!("item {place} is {value}, which is too large"))
        };
        match kind {
            b'i' => self.read_items(from, available, |item, place| {
                let value = signed(item, big);
                let value = u64::try_from(value)
                    .map_err(|_| format!("item {place} is {value}; indices begin at 0"))?;
                fit(value, place)
            }),
            b'u' | b'b' => self.read_items(from, available, |item, place| {
                fit(unsigned(item, big), place)
            }),
            _ => Err("it must hold whole numbers; convert it with array.astype('<i8')".into()),
        }
    }

    /// Reads text; trailing NULs are NumPy's padding.
    pub(super) fn read_text(
        &self,
        from: &mut impl Read,
        available: u64,
    ) -> Result<Array<String>, Problem> {
        let big = self.big_endian;
        match self.kind {
            b'U' => self.read_items(from, available, |item, place| {
                let letters = item.chunks_exact(4).map(|c| unsigned(c, big) as u32);
                let text: Option<String> = letters.map(char::from_u32).collect();
                let text = text.ok_or_else(|| format!("item {place} is not valid text"))?;
                Ok(text.trim_end_matches('\0').to_owned())
            }),
            b'S' => self.read_items(from, available, |item, place| {
                let text = std::str::from_utf8(item)
                    .map_err(|_| format!("item {place} is not valid UTF-8"))?;
                Ok(text.trim_end_matches('\0').to_owned())
            }),
            _ => Err("it must hold text (dtype str)".into()),
        }
    }
}

fn unsigned(item: &[u8], big: bool) -> u64 {
    let mut bytes = [0u8; 8];
    if big {
        bytes[8 - item.len()..].copy_from_slice(item);
        u64::from_be_bytes(bytes)
    } else {
        bytes[..item.len()].copy_from_slice(item);
        u64::from_le_bytes(bytes)
    }
}

fn signed(item: &[u8], big: bool) -> i64 {
    let unused = 64 - 8 * item.len() as u32;
    ((unsigned(item, big) << unused) as i64) >> unused
}

/// Reads as much as there is, up to the buffer.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> Result<usize, Problem> {
    let mut got = 0;
    while got < buffer.len() {
        match from.read(&mut buffer[got..]) {
            Ok(0) => break,
            Ok(n) => got += n,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => {
                return Err(format!(
                    "reading it failed ({error}); it is truncated or corrupted, write it again"
                ));
            }
        }
    }
    Ok(got)
}

fn read_exactly(from: &mut impl Read, buffer: &mut [u8], what: &str) -> Result<(), Problem> {
    if fill(from, buffer)? == buffer.len() {
        return Ok(());
    }
    Err(format!(
        "it ends within {what}; it is truncated, write it again"
    ))
}

/// Writes magic number and dictionary, padded as NumPy does. `shape` empty is a scalar.
pub(super) fn write_header(
    to: &mut impl Write,
    description: &str,
    shape: &[usize],
) -> std::io::Result<()> {
    let mut dimensions: String = shape.iter().map(|n| format!("{n}, ")).collect();
    if shape.len() > 1 {
        dimensions.truncate(dimensions.len() - 2);
    } else {
        dimensions = dimensions.trim_end().to_owned();
    }
    let mut text =
        format!("{{'descr': '{description}', 'fortran_order': False, 'shape': ({dimensions}), }}");
    while (10 + text.len() + 1) % 64 != 0 {
        text.push(' ');
    }
    text.push('\n');
    to.write_all(MAGIC)?;
    to.write_all(&[1, 0])?;
    // a few numbers: far below the limit of 65,535 bytes
    to.write_all(&(text.len() as u16).to_le_bytes())?;
    to.write_all(text.as_bytes())
}

/// Bytes of an array's header as [`write_header`] makes it: at most this many.
pub(super) const HEADER_BYTES: u64 = 512;

/// Writes items through a buffer, without a copy of the array.
pub(super) fn write_items<const N: usize>(
    to: &mut impl Write,
    items: impl Iterator<Item = [u8; N]>,
) -> std::io::Result<()> {
    let mut buffer = Vec::with_capacity(1 << 16);
    for item in items {
        buffer.extend_from_slice(&item);
        if buffer.len() + N > 1 << 16 {
            to.write_all(&buffer)?;
            buffer.clear();
        }
    }
    to.write_all(&buffer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn array(description: &str, fortran: &str, shape: &str, data: &[u8]) -> Vec<u8> {
        let text = format!(
            "{{'descr': '{description}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n"
        );
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((text.len() as u16).to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes.extend(data);
        bytes
    }

    fn floats(bytes: &[u8]) -> Result<Array<f64>, Problem> {
        let mut from = bytes;
        Header::read(&mut from)?.read_floats(&mut from, bytes.len() as u64)
    }

    #[test]
    fn every_number_type_arrives() {
        assert_eq!(
            floats(&array("<f4", "False", "(1,)", &1.5f32.to_le_bytes()))
                .unwrap()
                .data,
            [1.5]
        );
        assert_eq!(
            floats(&array(">f8", "False", "()", &2.5f64.to_be_bytes()))
                .unwrap()
                .data,
            [2.5]
        );
        assert_eq!(
            floats(&array("<i2", "False", "(1,)", &(-3i16).to_le_bytes()))
                .unwrap()
                .data,
            [-3.0]
        );
        assert_eq!(
            floats(&array("|u1", "False", "(2,)", &[1, 255]))
                .unwrap()
                .data,
            [1.0, 255.0]
        );
        assert_eq!(
            floats(&array("|b1", "False", "(2,)", &[1, 0]))
                .unwrap()
                .data,
            [1.0, 0.0]
        );
    }

    #[test]
    fn fortran_order_has_other_strides() {
        let array = floats(&array("|u1", "True", "(2, 3)", &[1, 2, 3, 4, 5, 6])).unwrap();
        assert_eq!(array.strides(), [1, 2]);
    }

    #[test]
    fn absurd_claims_do_not_allocate() {
        for shape in [
            "(1000000000000000000,)",
            "(99999999999, 99999999999, 99999999999)",
        ] {
            let problem = floats(&array("<f8", "False", shape, &[0; 16])).unwrap_err();
            assert!(
                problem.contains("claims") || problem.contains("impossible"),
                "{problem}"
            );
        }
    }

    #[test]
    fn damage_is_named() {
        let whole = array("<f8", "False", "(2,)", &[0; 16]);
        for cut in 0..whole.len() {
            assert!(floats(&whole[..cut]).is_err(), "{cut}");
        }
        let mut longer = whole.clone();
        longer.push(0);
        assert!(floats(&longer).unwrap_err().contains("more data"));
        assert!(
            floats(&array("|O", "False", "(1,)", &[]))
                .unwrap_err()
                .contains("objects")
        );
        assert!(
            floats(&array("<c16", "False", "(1,)", &[0; 16]))
                .unwrap_err()
                .contains("<c16")
        );
    }

    #[test]
    fn written_headers_are_read_back() {
        for shape in [&[][..], &[3], &[3, 4], &[2, 3, 4]] {
            let mut bytes = Vec::new();
            write_header(&mut bytes, "<f8", shape).unwrap();
            assert_eq!(bytes.len() % 64, 0);
            let header = Header::read(&mut bytes.as_slice()).unwrap();
            let back: Vec<usize> = header.shape.iter().map(|&n| n as usize).collect();
            assert_eq!(back, shape);
        }
    }
}
