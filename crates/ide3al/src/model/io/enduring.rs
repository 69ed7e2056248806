//! A writer that remembers its first failure and goes on as if there had been none.

use std::io::{Error, Result, Seek, SeekFrom, Write};

/// Hands everything to `inner` until a write fails; from then on it only counts, and
/// [`end`](Self::end) returns that first failure.
///
/// For `ZipWriter`, which finishes the archive when dropped and complains on the terminal if
/// that fails too: a library does not write there.
pub(super) struct Enduring<W> {
    inner: W,
    position: u64,
    length: u64,
    failure: Option<Error>,
}

impl<W: Write + Seek> Enduring<W> {
    /// Around a writer at the start of an empty file.
    pub(super) fn new(inner: W) -> Self {
        Enduring {
            inner,
            position: 0,
            length: 0,
            failure: None,
        }
    }

    /// The first failure, if there was one.
    pub(super) fn end(self) -> Result<()> {
        self.failure.map_or(Ok(()), Err)
    }
}

impl<W: Write + Seek> Write for Enduring<W> {
    fn write(&mut self, bytes: &[u8]) -> Result<usize> {
        if self.failure.is_none() {
            self.failure = self.inner.write_all(bytes).err();
        }
        self.position += bytes.len() as u64;
        self.length = self.length.max(self.position);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> Result<()> {
        if self.failure.is_none() {
            self.failure = self.inner.flush().err();
        }
        Ok(())
    }
}

impl<W: Write + Seek> Seek for Enduring<W> {
    fn seek(&mut self, to: SeekFrom) -> Result<u64> {
        let place = match to {
            SeekFrom::Start(place) => Some(place),
            SeekFrom::End(offset) => self.length.checked_add_signed(offset),
            SeekFrom::Current(offset) => self.position.checked_add_signed(offset),
        };
        let place = place.ok_or_else(|| Error::other("a place before the start of the file"))?;
        if self.failure.is_none() && place != self.position {
            self.failure = self.inner.seek(SeekFrom::Start(place)).err();
        }
        self.position = place;
        Ok(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    /// Fails once more than `room` bytes are written.
    struct Small(Cursor<Vec<u8>>, usize);

    impl Write for Small {
        fn write(&mut self, bytes: &[u8]) -> Result<usize> {
            if self.0.get_ref().len() + bytes.len() > self.1 {
                return Err(Error::other("full"));
            }
            self.0.write(bytes)
        }

        fn flush(&mut self) -> Result<()> {
            Ok(())
        }
    }

    impl Seek for Small {
        fn seek(&mut self, to: SeekFrom) -> Result<u64> {
            self.0.seek(to)
        }
    }

    fn archive(room: usize) -> Result<()> {
        let small = Small(Cursor::new(Vec::new()), room);
        let mut zip = zip::ZipWriter::new(Enduring::new(small));
        for name in ["a", "b"] {
            zip.start_file(name, super::super::archive::member_options(100))?;
            zip.write_all(&[7; 100])?;
        }
        zip.finish()?.end()
    }

    #[test]
    fn the_first_failure_comes_back_wherever_it_is() {
        archive(10_000).unwrap();
        for room in 0..370 {
            assert_eq!(archive(room).unwrap_err().to_string(), "full", "{room}");
        }
    }

    #[test]
    fn places_are_the_files() {
        let mut file = Enduring::new(Cursor::new(Vec::new()));
        file.write_all(b"hello").unwrap();
        assert_eq!(file.seek(SeekFrom::Start(1)).unwrap(), 1);
        file.write_all(b"a").unwrap();
        assert_eq!(file.seek(SeekFrom::End(0)).unwrap(), 5);
        assert_eq!(file.seek(SeekFrom::Current(-5)).unwrap(), 0);
        assert!(file.seek(SeekFrom::Current(-1)).is_err());
        assert_eq!(file.inner.get_ref(), b"hallo");
    }
}
