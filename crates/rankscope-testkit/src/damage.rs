//! Ways a trace file is broken in the wild: cut short, badly escaped, full of impossible durations.
//!
//! Each takes good bytes and returns bad ones with the offsets of the damage, so that a test can ask a reader not only to
//! survive but to say where. Nothing is random: `every` picks each `every`-th place, the first included.

use std::io::{Read, Write};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;

/// Bytes with something wrong in them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damaged {
    /// The file.
    pub bytes: Vec<u8>,
    /// Where it was damaged, ascending, in `bytes`.
    pub offsets: Vec<usize>,
}

/// A duration no profiler meant to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadDuration {
    /// `-1.500`
    Negative,
    /// `0.000`, which is legal and must not be dropped.
    Zero,
    /// 2^64 nanoseconds and then some, as a subtraction of unsigned stamps leaves.
    Overflowed,
    /// `NaN`, which is not JSON.
    NotANumber,
}

/// The first `at` bytes.
pub fn truncate(bytes: &[u8], at: usize) -> Vec<u8> {
    bytes[..at.min(bytes.len())].to_vec()
}

/// Raw control characters in event names, where JSON wants them escaped.
pub fn control_characters(json: &[u8], every: usize) -> Damaged {
    insert(json, &names(json), every, b"\x01\x1f")
}

/// Quotes in event names without a backslash before them.
pub fn unescaped_quotes(json: &[u8], every: usize) -> Damaged {
    insert(json, &names(json), every, b"<lambda \"f\">")
}

/// Bytes in event names that are not UTF-8: a lone continuation, and an overlong start.
pub fn invalid_utf8(json: &[u8], every: usize) -> Damaged {
    insert(json, &names(json), every, b"\x80\xc0")
}

/// Bad durations in place of good ones.
pub fn durations(json: &[u8], every: usize, bad: BadDuration) -> Damaged {
    let text: &[u8] = match bad {
        BadDuration::Negative => b"-1.500",
        BadDuration::Zero => b"0.000",
        BadDuration::Overflowed => b"18446744073709551.999",
        BadDuration::NotANumber => b"NaN",
    };
    let mut damaged = Damaged { bytes: Vec::with_capacity(json.len()), offsets: Vec::new() };
    let mut copied = 0;
    for start in values_of(json, b"\"dur\":").into_iter().step_by(every.max(1)) {
        let number = json[start..].iter().take_while(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'-')).count();
        damaged.bytes.extend_from_slice(&json[copied..start]);
        damaged.offsets.push(damaged.bytes.len());
        damaged.bytes.extend_from_slice(text);
        copied = start + number;
    }
    damaged.bytes.extend_from_slice(&json[copied..]);
    damaged
}

/// The same bytes, gzip-compressed.
pub fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).and_then(|()| encoder.finish()).expect("writing to memory cannot fail")
}

/// Gzip-compressed and then cut: `permille` of the compressed bytes remain.
pub fn truncated_gzip(bytes: &[u8], permille: usize) -> Vec<u8> {
    let whole = gzip(bytes);
    truncate(&whole, whole.len() * permille.min(1_000) / 1_000)
}

/// What can still be inflated of a gzip file that may be cut.
pub fn inflatable(gzip: &[u8]) -> Vec<u8> {
    let (mut bytes, mut block) = (Vec::new(), [0; 4_096]);
    let mut decoder = GzDecoder::new(gzip);
    while let Ok(read @ 1..) = decoder.read(&mut block) {
        bytes.extend_from_slice(&block[..read]);
    }
    bytes
}

/// Puts `what` at each `every`-th of `places`.
fn insert(json: &[u8], places: &[usize], every: usize, what: &[u8]) -> Damaged {
    let mut damaged = Damaged { bytes: Vec::with_capacity(json.len()), offsets: Vec::new() };
    let mut copied = 0;
    for &place in places.iter().step_by(every.max(1)) {
        damaged.bytes.extend_from_slice(&json[copied..place]);
        damaged.offsets.push(damaged.bytes.len());
        damaged.bytes.extend_from_slice(what);
        copied = place;
    }
    damaged.bytes.extend_from_slice(&json[copied..]);
    damaged
}

/// Just inside the opening quote of every name after `traceEvents`, or of every name where the file is a bare list.
fn names(json: &[u8]) -> Vec<usize> {
    let events = find(json, b"\"traceEvents\"", 0).unwrap_or(0);
    let values = values_of(json, b"\"name\":");
    values.into_iter().filter(|&value| value > events && json.get(value) == Some(&b'"')).map(|quote| quote + 1).collect()
}

/// Where the value of each `key` begins.
fn values_of(json: &[u8], key: &[u8]) -> Vec<usize> {
    let mut places = Vec::new();
    let mut from = 0;
    while let Some(at) = find(json, key, from) {
        from = at + key.len();
        places.push(from + json[from..].iter().take_while(|byte| **byte == b' ').count());
    }
    places
}

fn find(bytes: &[u8], what: &[u8], from: usize) -> Option<usize> {
    bytes[from..].windows(what.len()).position(|window| window == what).map(|at| from + at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dialect, Job};

    fn trace() -> Vec<u8> {
        Job { ranks: 1, steps: 1, ..Job::default() }.rank_bytes(0, &Dialect::default())
    }

    fn parses(bytes: &[u8]) -> bool {
        serde_json::from_slice::<serde_json::Value>(bytes).is_ok()
    }

    #[test]
    fn damage_breaks_json_where_it_says() {
        let good = trace();
        for (damaged, wrong) in [
            (control_characters(&good, 10), 0x01),
            (unescaped_quotes(&good, 10), b'<'),
            (invalid_utf8(&good, 10), 0x80),
            (durations(&good, 10, BadDuration::NotANumber), b'N'),
        ] {
            assert!(damaged.offsets.len() > 10);
            assert!(damaged.offsets.iter().all(|&at| damaged.bytes[at] == wrong));
            assert!(!parses(&damaged.bytes), "{wrong:#x} did not break the file");
        }
        assert!(!parses(&truncate(&good, good.len() / 2)));
    }

    #[test]
    fn numeric_damage_keeps_the_file_json() {
        let good = trace();
        for bad in [BadDuration::Negative, BadDuration::Zero, BadDuration::Overflowed] {
            let damaged = durations(&good, 7, bad);
            assert!(parses(&damaged.bytes), "{bad:?}");
            assert_eq!(damaged.offsets.len(), values_of(&good, b"\"dur\":").len().div_ceil(7));
        }
    }

    #[test]
    fn a_cut_gzip_still_gives_a_prefix() {
        let good = trace();
        let rest = inflatable(&truncated_gzip(&good, 600));
        assert!(!rest.is_empty() && rest.len() < good.len());
        assert!(good.starts_with(&rest));
        assert_eq!(inflatable(&gzip(&good)), good);
    }
}
