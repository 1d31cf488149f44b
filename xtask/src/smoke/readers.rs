//! The readers under fire: one line each. A new reader is added here and as a target in fuzz/.

use std::hint::black_box;
use std::io::Cursor;

use rankscope_formats::{ArgsPolicy, ReadOptions, inspector, json, perfetto, read, recording, rocprof, wire, xspace};

use rankscope_clock::{files, probe_log};
use rankscope_dispatch::{binary, network::calibrate};
use rankscope_hang::{RasAnswer, RasEvent};
use rankscope_part_files::{laid_bare, read_as_any_columns, read_part};
use rankscope_testkit::mutations::Shape;
use rankscope_testkit::operations;

use super::seeds;

/// A reader, and what to start from.
pub(crate) struct Reader {
    pub(crate) name: &'static str,
    /// Reads bytes and throws the outcome away: errors are fine, panics are not.
    pub(crate) read: fn(&[u8]),
    /// What its inputs are made of.
    pub(crate) shape: Shape,
    pub(crate) seeds: fn() -> Vec<Vec<u8>>,
}

pub(crate) const READERS: &[Reader] = &[
    reader("json", Shape::Json, |bytes| drop(black_box(json::read(bytes, &keep_all()))), seeds::json),
    reader("xspace", Shape::Protobuf, |bytes| drop(black_box(xspace::read(bytes, &keep_all()))), seeds::protobuf),
    reader("perfetto", Shape::Protobuf, |bytes| drop(black_box(perfetto::read_all(bytes, &keep_all()))), seeds::timelines),
    reader("rocprof", Shape::Json, |bytes| drop(black_box(rocprof::read_all(bytes, &keep_all()))), seeds::rocprof),
    reader("inspector", Shape::Json, |bytes| drop(black_box(inspector::read_all(bytes, &keep_all()))), seeds::inspector),
    reader("recording", Shape::Words, recording, seeds::recordings),
    reader("archive", Shape::Bytes, |bytes| drop(black_box(read(Cursor::new(bytes), &keep_all()))), seeds::archives),
    reader("wire", Shape::Protobuf, wire, seeds::protobuf),
    reader("clock_wire", Shape::Bytes, operations::deliver, operations::packets),
    reader("clock_session", Shape::Bytes, operations::operate, operations::operation_lists),
    reader("dispatch_plan", Shape::Bytes, |bytes| drop(black_box(binary::decode(bytes))), seeds::plans),
    reader("part", Shape::Bytes, part, seeds::parts),
    reader("pickle", Shape::Bytes, |bytes| drop(black_box(rankscope_pickle::read(bytes))), seeds::pickles),
    reader("flight_recorder", Shape::Json, flight_recorder, seeds::flight_recorder),
    reader("network_benchmark", Shape::Bytes, network_benchmark, seeds::network_benchmarks),
    reader("clock_files", Shape::Json, clock_files, seeds::clock_files),
    reader("ras", Shape::Json, ras, seeds::ras),
];

const fn reader(name: &'static str, shape: Shape, read: fn(&[u8]), seeds: fn() -> Vec<Vec<u8>>) -> Reader {
    Reader { name, read, shape, seeds }
}

/// Keeping everything runs more of a reader than keeping what analysis needs.
fn keep_all() -> ReadOptions {
    ReadOptions::default().with_args(ArgsPolicy::All)
}

/// A packed recording, the same with right checksums, or a live one, which is looked at all over.
fn recording(bytes: &[u8]) {
    drop(black_box(recording::packed::read(bytes, &keep_all())));
    drop(black_box(recording::packed::read(&recording::packed::laid_bare(bytes)[..], &keep_all())));
    drop(black_box(recording::read_live(Cursor::new(bytes), &keep_all())));
}

/// The protobuf primitives below XSpace and Perfetto: the message in memory, two levels deep, and the same bytes as a stream.
fn wire(bytes: &[u8]) {
    for (_, value) in wire::Fields::of(bytes).filter_map(Result::ok) {
        black_box(wire::Fields::of(value.bytes()).count());
        black_box(wire::packed_varints(value.bytes()).fold(0, u64::wrapping_add));
    }
    let mut stream = wire::Stream::new(bytes);
    while let Ok(Some(tag)) = stream.tag() {
        if !stream.skip(tag).unwrap_or(false) {
            break;
        }
    }
}

/// A part, the same with right checksums, which would keep damage from what reads the blocks, and the bytes as columns.
fn part(bytes: &[u8]) {
    drop(black_box(read_part(bytes)));
    drop(black_box(read_part(&laid_bare(bytes)[..])));
    read_as_any_columns(bytes);
}

/// A dump of torch's flight recorder, judged as two ranks' dumps.
fn flight_recorder(bytes: &[u8]) {
    let mut evidence = rankscope_hang::Evidence::default();
    for rank in 0..2 {
        if let Ok(dump) = rankscope_hang::Dump::read(bytes) {
            evidence.add(rank, "fuzzed", dump);
        }
    }
    drop(black_box(evidence.verdict("fuzzed")));
}

/// What nccl-tests and OSU's benchmarks print.
fn network_benchmark(bytes: &[u8]) {
    let samples = calibrate::read(&String::from_utf8_lossy(bytes), None, Some(8));
    drop(black_box(samples.and_then(|samples| calibrate::calibrate(&samples.rows))));
}

/// Windows, offsets, snapshots and a log of packets, whichever it is.
fn clock_files(bytes: &[u8]) {
    drop(black_box(files::read_windows("fuzzed", bytes)));
    drop(black_box(files::read_offsets(bytes)));
    drop(black_box(files::read_snapshots(bytes)));
    drop(black_box(probe_log::parse(bytes)));
}

/// What NCCL's RAS service answers, and what it says by itself.
fn ras(bytes: &[u8]) {
    let answer = RasAnswer::read(bytes);
    if let (Ok(answer), Ok(event)) = (&answer, RasEvent::read(bytes)) {
        black_box(answer.rank_of(&event));
    }
    drop(black_box(answer));
}
