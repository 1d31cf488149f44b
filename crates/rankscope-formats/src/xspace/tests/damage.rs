use std::io::Read;

use proptest::prelude::*;
use rankscope_trace::ProblemKind;

use super::{ALL, FIXTURES, written};
use crate::wire::{Encoder, TAKEN_BYTES_MAX};
use crate::xspace::read;
use crate::{Error, ReadOptions, Scope};

#[test]
fn every_truncation_gives_a_prefix() {
    let whole = read(FIXTURES[0], &ALL).unwrap();
    let base = whole.provenance.clock_base_ns.unwrap();
    let relative: Vec<i64> = whole.spans.start_ns.iter().map(|start| start - base).collect();
    for len in 1..FIXTURES[0].len() {
        let trace = match read(&FIXTURES[0][..len], &ALL) {
            Ok(trace) => trace,
            Err(Error::NoEvents { .. }) => continue,
            Err(error) => panic!("{len} bytes: {error}"),
        };
        let spans = trace.spans.len();
        assert_eq!(trace.spans.dur_ns, whole.spans.dur_ns[..spans], "{len} bytes");
        let whole_starts = if trace.provenance.clock_base_ns.is_some() { &whole.spans.start_ns } else { &relative };
        assert_eq!(trace.spans.start_ns, whole_starts[..spans], "{len} bytes");
        for span in trace.spans.ids() {
            assert!(trace.name(span).is_empty() || trace.name(span) == whole.name(span), "{len} bytes");
        }
        let cut = trace.provenance.problems.iter().find(|problem| problem.kind == ProblemKind::Truncated);
        assert!(cut.is_none_or(|problem| problem.offset == len as u64), "{len} bytes: {cut:?}");
        // Between two planes nothing tells that there were more.
        assert!(cut.is_some() || spans == whole.spans.len(), "{len} bytes");
    }
}

#[test]
fn a_claimed_length_costs_no_memory() {
    for field in [1, 2, 4] {
        let mut bytes = vec![field << 3 | 2];
        bytes.extend([0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f]);
        bytes.extend([0x1a, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x22, 0xff, 0xff, 0xff, 0xff, 0x0f]);
        assert!(matches!(read(&*bytes, &ALL), Err(Error::NoEvents { .. })));
    }
}

#[test]
fn nothing_is_an_error_of_its_own() {
    assert!(matches!(read(&[][..], &ALL), Err(Error::Empty)));
    assert!(matches!(read(&b"{\"traceEvents\": []}"[..], &ALL), Err(Error::NoEvents { .. })));
    let mut no_events = Encoder::default();
    no_events.message(1, |plane| {
        plane.string(2, "/host:CPU");
    });
    let Err(Error::NoEvents { reason, .. }) = read(no_events.bytes(), &ALL) else { panic!("no event is no trace") };
    assert_eq!(reason, crate::NoEvents::NothingInIt);
}

#[test]
fn a_damaged_line_does_not_take_the_next_with_it() {
    let mut bytes = Encoder::default();
    bytes.message(1, |plane| {
        plane.bytes_field(3, &[0x22, 0x7f, 1, 2, 3]);
        plane.message(3, |line| {
            line.bytes_field(4, &[8, 0]);
        });
    });
    let trace = read(bytes.bytes(), &ALL).unwrap();
    assert_eq!(trace.spans.len(), 1);
    assert_eq!(trace.provenance.problems.count(ProblemKind::MalformedEvent), 1);
    assert_eq!(trace.provenance.problems.count(ProblemKind::Truncated), 0);
}

proptest! {
    #[test]
    fn flipped_bytes_never_panic(flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12), which in 0usize..2) {
        let mut bytes = FIXTURES[which].to_vec();
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Ok(trace) = read(&*bytes, &ALL) {
            read(&*written(&trace), &ALL).unwrap();
        }
        let _ = read(&*bytes, &ReadOptions { scope: Scope::Device, ..ReadOptions::default() });
    }

    #[test]
    fn any_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Ok(trace) = read(&*bytes, &ALL) {
            read(&*written(&trace), &ALL).unwrap();
        }
    }
}

#[test]
fn a_message_longer_than_any_is_passed_over_and_the_rest_is_read() {
    // A host name of 300 MB of zeros, in front of a trace.
    let len = TAKEN_BYTES_MAX + (44 << 20);
    let mut head = Encoder::default();
    head.raw_varint(u64::from(super::super::schema::space::HOSTNAMES) << 3 | 2);
    head.raw_varint(len);
    let whole = read(FIXTURES[0], &ALL).unwrap();
    let file = head.bytes().chain(std::io::repeat(0).take(len)).chain(FIXTURES[0]);
    let trace = read(std::io::BufReader::new(file), &ALL).unwrap();
    assert_eq!(trace.spans.len(), whole.spans.len());
    assert_eq!(trace.provenance.problems.count(ProblemKind::TooLong), 1);
}
