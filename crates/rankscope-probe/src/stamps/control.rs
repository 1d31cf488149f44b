//! Ancillary messages of the kernel, read from plain bytes.
//!
//! Each message is a header (length with header as a machine word, level, type) and a payload, padded to machine words. Only
//! the two that carry stamps are understood; everything else is stepped over, and what is cut off ends the walk.

use nix::libc;

/// What the messages of one packet said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ancillary {
    /// Stamp in `CLOCK_REALTIME`.
    pub(super) software_ns: Option<i64>,
    /// Stamp of the card's clock.
    pub(super) hardware_ns: Option<i64>,
    /// The number of the packet that left, where the message is about one.
    pub(super) sent_id: Option<u32>,
}

const WORD: usize = size_of::<usize>();
const HEADER: usize = WORD + 8;

/// Reads the messages in `bytes`.
pub(super) fn read(mut bytes: &[u8]) -> Ancillary {
    let mut found = Ancillary::default();
    while let Some((level, kind, payload, rest)) = split(bytes) {
        match (level, kind) {
            (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => {
                found.software_ns = stamp(payload, 0);
                found.hardware_ns = stamp(payload, 2);
            }
            (libc::SOL_IP, libc::IP_RECVERR) | (libc::SOL_IPV6, libc::IPV6_RECVERR) => found.sent_id = sent_id(payload),
            _ => {}
        }
        bytes = rest;
    }
    found
}

fn split(bytes: &[u8]) -> Option<(i32, i32, &[u8], &[u8])> {
    let (length, rest) = bytes.split_first_chunk::<WORD>()?;
    let (level, rest) = rest.split_first_chunk::<4>()?;
    let (kind, _) = rest.split_first_chunk::<4>()?;
    let length = usize::from_ne_bytes(*length);
    let payload = bytes.get(HEADER..length)?;
    let next = length.checked_next_multiple_of(WORD)?.min(bytes.len());
    Some((i32::from_ne_bytes(*level), i32::from_ne_bytes(*kind), payload, &bytes[next..]))
}

/// The stamp at `index` of three `timespec`s; all zero means that there is none.
fn stamp(payload: &[u8], index: usize) -> Option<i64> {
    let seconds = word(payload, 16 * index)?;
    let nanos = word(payload, 16 * index + 8)?;
    (seconds != 0 || nanos != 0).then(|| crate::nanos(seconds, nanos))
}

fn word(payload: &[u8], at: usize) -> Option<i64> {
    payload.get(at..)?.first_chunk::<8>().map(|bytes| i64::from_ne_bytes(*bytes))
}

/// From a `sock_extended_err`: error, origin, and the packet's number as its last word.
fn sent_id(payload: &[u8]) -> Option<u32> {
    let number = |at: usize| payload.get(at..)?.first_chunk::<4>().map(|bytes| u32::from_ne_bytes(*bytes));
    let origin = *payload.get(4)?;
    (number(0)? == libc::ENOMSG as u32 && origin == libc::SO_EE_ORIGIN_TIMESTAMPING).then_some(())?;
    number(12)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn message(level: i32, kind: i32, payload: &[u8]) -> Vec<u8> {
        let mut bytes = (HEADER + payload.len()).to_ne_bytes().to_vec();
        bytes.extend(level.to_ne_bytes());
        bytes.extend(kind.to_ne_bytes());
        bytes.extend(payload);
        bytes.resize(bytes.len().next_multiple_of(WORD), 0);
        bytes
    }

    fn timespecs(stamps: [(i64, i64); 3]) -> Vec<u8> {
        stamps.iter().flat_map(|(seconds, nanos)| [seconds.to_ne_bytes(), nanos.to_ne_bytes()].concat()).collect()
    }

    fn error(errno: i32, origin: u8, id: u32) -> Vec<u8> {
        [&errno.to_ne_bytes()[..], &[origin, 0, 0, 0], &0u32.to_ne_bytes(), &id.to_ne_bytes(), &[0; 16]].concat()
    }

    #[test]
    fn a_stamp_keeps_every_nanosecond() {
        let stamps = timespecs([(1_700_000_000, 123_456_789), (0, 0), (5, 1)]);
        let bytes = [
            message(libc::SOL_SOCKET, libc::SCM_TIMESTAMPING, &stamps),
            message(libc::SOL_IP, libc::IP_RECVERR, &error(libc::ENOMSG, libc::SO_EE_ORIGIN_TIMESTAMPING, 77)),
        ]
        .concat();
        let found = read(&bytes);
        assert_eq!(found.software_ns, Some(1_700_000_000_123_456_789));
        assert_eq!((found.hardware_ns, found.sent_id), (Some(5_000_000_001), Some(77)));
    }

    #[test]
    fn an_icmp_error_is_no_stamp() {
        let bytes = message(libc::SOL_IPV6, libc::IPV6_RECVERR, &error(libc::ECONNREFUSED, 3, 77));
        assert_eq!(read(&bytes), Ancillary::default());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic_or_loop(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = read(&bytes);
        }
    }
}
