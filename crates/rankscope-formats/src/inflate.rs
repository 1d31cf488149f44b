//! Undoing gzip and zstd, and telling damage of the stream from failure of the disk.
//!
//! A truncated or damaged stream simply ends where the damage is: what lies before it is still a trace. The reader of the
//! format never notices; [`Damage`] remembers what happened, and where.

use std::io::{self, BufRead, BufReader, Read};
use std::sync::{Arc, Mutex, PoisonError};

use rankscope_trace::{ProblemKind, Problems};

/// Compressed bytes are taken from the file in steps of this size.
const INPUT_BYTES: usize = 256 << 10;

/// A stream of decompressed bytes.
pub(crate) type Bytes<'a> = Box<dyn Read + Send + 'a>;

/// What went wrong while decompressing, known once the stream has been read.
#[derive(Clone, Debug, Default)]
pub(crate) struct Damage(Arc<Mutex<Option<(ProblemKind, u64)>>>);

impl Damage {
    /// Adds the damage, if any, to `problems`.
    pub(crate) fn report(&self, problems: &mut Problems) {
        if let Some((kind, offset)) = *self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            problems.add(kind, offset);
        }
    }

    fn note(&self, kind: ProblemKind, offset: u64) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some((kind, offset));
    }
}

/// Bytes of `input` with any gzip or zstd taken off.
pub(crate) fn inflated<'a>(input: Bytes<'a>) -> io::Result<(Bytes<'a>, Damage)> {
    let mut input = BufReader::with_capacity(INPUT_BYTES, input);
    let damage = Damage::default();
    let inner: Bytes<'a> = match input.fill_buf()? {
        [0x1f, 0x8b, ..] => Box::new(flate2::bufread::MultiGzDecoder::new(input)),
        [0x28, 0xb5, 0x2f, 0xfd, ..] => Box::new(zstd::Decoder::with_buffer(input)?),
        _ => return Ok((Box::new(input), damage)),
    };
    Ok((Box::new(Tolerant { inner, offset: 0, damage: damage.clone() }), damage))
}

/// Ends at the first damage instead of failing.
struct Tolerant<'a> {
    inner: Bytes<'a>,
    offset: u64,
    damage: Damage,
}

impl Read for Tolerant<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let kind = match self.inner.read(buffer) {
            Ok(read) => {
                self.offset += read as u64;
                return Ok(read);
            }
            // The operating system refusing to read is no damage of the stream.
            Err(error) if error.raw_os_error().is_some() || error.kind() == io::ErrorKind::Interrupted => return Err(error),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => ProblemKind::TruncatedCompression,
            Err(_) => ProblemKind::CorruptCompression,
        };
        self.damage.note(kind, self.offset);
        self.inner = Box::new(io::empty());
        Ok(0)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn read(bytes: &[u8]) -> (Vec<u8>, Problems) {
        let (mut input, damage) = inflated(Box::new(bytes)).unwrap();
        let mut text = Vec::new();
        input.read_to_end(&mut text).unwrap();
        let mut problems = Problems::default();
        damage.report(&mut problems);
        (text, problems)
    }

    #[test]
    fn plain_gzip_and_zstd_give_the_same() {
        let text = b"{\"traceEvents\": []}";
        for bytes in [text.to_vec(), gzip(text), zstd::encode_all(&text[..], 1).unwrap()] {
            assert_eq!(read(&bytes), (text.to_vec(), Problems::default()));
        }
    }

    #[test]
    fn a_truncated_stream_gives_what_it_holds() {
        let text: Vec<u8> = (0..200_000u32).flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        let whole = gzip(&text);
        let (half, problems) = read(&whole[..whole.len() / 2]);
        assert!(half.len() > text.len() / 3 && text.starts_with(&half));
        assert_eq!(problems.count(ProblemKind::TruncatedCompression), 1);
    }

    #[test]
    fn a_damaged_stream_ends_at_the_damage() {
        let text: Vec<u8> = (0..200_000u32).flat_map(|i| i.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        let mut bytes = gzip(&text);
        let middle = bytes.len() / 2;
        bytes[middle..].fill(0xff);
        let (_, problems) = read(&bytes);
        assert!(!problems.is_empty());
    }
}
