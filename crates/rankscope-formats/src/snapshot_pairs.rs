//! Snapshot pairs in files of their own, as the origin writes them: `*.snapshot_pairs.pb`, `*.snapshots.pb`.
//!
//! ```text
//! SnapshotPairs  pairs 1, sampling_period_ns 2
//! SnapshotPair   sys_clock_ns 1, tracer_clock_ns 2
//! ```
//! The format has no place for how wide a pair is, so a pair that was written and read again is as wide as the origin meant all
//! of them to be at most; a JSONL file of snapshots is the better place.

use std::io::{Read, Write};

use rankscope_trace::SnapshotPair;

use crate::wire::{Encoder, Fields, Malformed, Value};
use crate::{Error, Foreign};

/// What such a file holds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SnapshotPairs {
    /// In the order of the file.
    pub pairs: Vec<SnapshotPair>,
    /// How often the tracer meant to take one.
    pub sampling_period_ns: Option<u64>,
}

/// How wide a pair is taken to be that does not say it: what the origin sets itself as a goal.
pub(crate) const HALF_WIDTH_UNSAID_NS: u64 = 5_000;

/// Reads a file of snapshot pairs.
///
/// # Errors
/// [`Error::NotATrace`] for what is none, [`Error::Io`] where `input` fails.
pub fn read(mut input: impl Read) -> Result<SnapshotPairs, Error> {
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    let mut file = SnapshotPairs::default();
    for field in Fields::of(&bytes) {
        match field.map_err(|at| malformed(0, at))? {
            (file_of::PAIRS, Value::Bytes(message)) => {
                let start = message.as_ptr() as usize - bytes.as_ptr() as usize;
                file.pairs.push(pair(message).map_err(|at| malformed(start, at))?);
            }
            (file_of::SAMPLING_PERIOD_NS, Value::Varint(ns)) => file.sampling_period_ns = Some(ns),
            _ => {}
        }
    }
    Ok(file)
}

/// Writes a file of snapshot pairs.
///
/// # Errors
/// [`Error::Io`] where `output` fails.
pub fn write(file: &SnapshotPairs, output: &mut impl Write) -> Result<(), Error> {
    let mut out = Encoder::default();
    for pair in &file.pairs {
        out.message(file_of::PAIRS, |out| {
            out.varint(pair_of::SYS_CLOCK_NS, pair.host_ns as u64).varint(pair_of::TRACER_CLOCK_NS, pair.tracer_ns as u64);
        });
    }
    if let Some(ns) = file.sampling_period_ns {
        out.varint(file_of::SAMPLING_PERIOD_NS, ns);
    }
    Ok(output.write_all(out.bytes())?)
}

fn pair(message: &[u8]) -> Result<SnapshotPair, Malformed> {
    let mut pair = SnapshotPair { tracer_ns: 0, host_ns: 0, half_width_ns: HALF_WIDTH_UNSAID_NS };
    for field in Fields::of(message) {
        match field? {
            (pair_of::SYS_CLOCK_NS, value) => pair.host_ns = value.i64(),
            (pair_of::TRACER_CLOCK_NS, value) => pair.tracer_ns = value.i64(),
            _ => {}
        }
    }
    Ok(pair)
}

fn malformed(start: usize, inner: Malformed) -> Error {
    Error::NotATrace { found: Foreign::NotSnapshotPairs { offset: start + inner.at } }
}

mod file_of {
    pub(super) const PAIRS: u32 = 1;
    pub(super) const SAMPLING_PERIOD_NS: u32 = 2;
}

mod pair_of {
    pub(super) const SYS_CLOCK_NS: u32 = 1;
    pub(super) const TRACER_CLOCK_NS: u32 = 2;
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_is_written_is_read(
            stamps in prop::collection::vec((any::<i64>(), any::<i64>()), 0..20),
            sampling_period_ns in prop::option::of(any::<u64>()),
        ) {
            let half_width_ns = HALF_WIDTH_UNSAID_NS;
            let pairs = stamps.into_iter().map(|(tracer_ns, host_ns)| SnapshotPair { tracer_ns, host_ns, half_width_ns });
            let pairs = pairs.collect();
            let file = SnapshotPairs { pairs, sampling_period_ns };
            let mut bytes = Vec::new();
            write(&file, &mut bytes).unwrap();
            prop_assert_eq!(read(&*bytes).unwrap(), file);
        }

        #[test]
        fn any_bytes_are_pairs_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(file) = read(&*bytes) {
                prop_assert!(file.pairs.len() * 2 <= bytes.len());
            }
        }
    }

    #[test]
    fn the_place_of_the_damage_is_named() {
        let bytes = [0x0a, 4, 8, 5, 16, 0xff, 0x10];
        assert!(read(&bytes[..]).unwrap_err().to_string().contains("byte 4 "));
    }
}
