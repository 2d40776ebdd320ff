//! Bytes of a tensor that come one after another, so that a reader keeps only those that it is asked for.

use std::fs::File;
use std::io::{self, BufReader, Read};

/// Bytes that can be passed over.
pub(super) trait SkippableRead: Read {
    /// Passes over bytes.
    fn skip(&mut self, bytes: u64) -> io::Result<()>;
}

impl SkippableRead for BufReader<File> {
    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        // Sizes are checked against the file's before anything is passed over.
        self.seek_relative(i64::try_from(bytes).map_err(io::Error::other)?)
    }
}

/// Bytes that have to be read to be passed over, as those that are decompressed.
pub(super) struct Inflated<R>(pub(super) R);

impl<R: Read> Read for Inflated<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl<R: Read> SkippableRead for Inflated<R> {
    fn skip(&mut self, bytes: u64) -> io::Result<()> {
        match io::copy(&mut (&mut self.0).take(bytes), &mut io::sink())? {
            passed if passed == bytes => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}
