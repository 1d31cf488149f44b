//! Compressing what is written, as the suffix of its name asks.

use std::io::{self, Write};

/// How a file is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Encoding {
    /// Not at all.
    Plain,
    /// gzip, at the level that costs little: traces shrink ninefold there and thirteenfold at three times the price.
    Gzip,
    /// zstd, likewise.
    Zstd,
}

const GZIP_LEVEL: u32 = 1;
const ZSTD_LEVEL: i32 = 3;

impl Encoding {
    /// The compression a file name asks for.
    pub fn of_name(name: &str) -> Self {
        match name.rsplit('.').next() {
            Some("gz") => Self::Gzip,
            Some("zst") => Self::Zstd,
            _ => Self::Plain,
        }
    }

    /// Compresses what is written to it into `output`.
    ///
    /// # Errors
    /// If the compressor cannot be set up.
    pub fn encoder<W: Write>(self, output: W) -> io::Result<Encoder<W>> {
        Ok(Encoder(match self {
            Self::Plain => Inner::Plain(output),
            Self::Gzip => Inner::Gzip(flate2::write::GzEncoder::new(output, flate2::Compression::new(GZIP_LEVEL))),
            Self::Zstd => Inner::Zstd(zstd::Encoder::new(output, ZSTD_LEVEL)?),
        }))
    }
}

/// A compressor, which has to be [`finish`](Self::finish)ed.
pub struct Encoder<W: Write>(Inner<W>);

enum Inner<W: Write> {
    Plain(W),
    Gzip(flate2::write::GzEncoder<W>),
    Zstd(zstd::Encoder<'static, W>),
}

impl<W: Write> Encoder<W> {
    /// Writes what is left and the end mark.
    ///
    /// # Errors
    /// What the output fails with.
    pub fn finish(self) -> io::Result<()> {
        match self.0 {
            Inner::Plain(mut output) => output.flush(),
            Inner::Gzip(encoder) => encoder.finish()?.flush(),
            Inner::Zstd(encoder) => encoder.finish()?.flush(),
        }
    }
}

impl<W: Write> Write for Encoder<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.0 {
            Inner::Plain(output) => output.write(bytes),
            Inner::Gzip(encoder) => encoder.write(bytes),
            Inner::Zstd(encoder) => encoder.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.0 {
            Inner::Plain(output) => output.flush(),
            Inner::Gzip(encoder) => encoder.flush(),
            Inner::Zstd(encoder) => encoder.flush(),
        }
    }
}
