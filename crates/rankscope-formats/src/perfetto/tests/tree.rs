//! What the user interface is told to draw: rows, their order, and the counters that follow from events.

use std::collections::BTreeMap;

use rankscope_time::{ClockMap, Rank};
use rankscope_trace::{ArgValue, CategoryKind, InstantMark, InstantScope, SpanRow, Trace, TrackId, TrackKey, TrackKind};

use super::{ALL, picture, read_all, sample};
use crate::perfetto::schema::{self, counter, event, packet, track};
use crate::perfetto::{RankView, Timeline};
use crate::wire::Fields;

/// A row of a file, as its descriptor and events say.
#[derive(Debug, Default)]
struct Drawn {
    parent: Option<u64>,
    name: String,
    order: u64,
    unit: Option<String>,
    values: Vec<f64>,
}

fn drawn(bytes: &[u8]) -> BTreeMap<u64, Drawn> {
    let mut rows: BTreeMap<u64, Drawn> = BTreeMap::new();
    let mut row_of: BTreeMap<u64, u64> = BTreeMap::new();
    for (number, of) in Fields::of(bytes).flatten() {
        assert_eq!(number, schema::PACKET);
        let fields: BTreeMap<u32, _> = Fields::of(of.bytes()).flatten().collect();
        let sequence = fields[&packet::SEQUENCE_ID].u64();
        if let Some(descriptor) = fields.get(&packet::TRACK_DESCRIPTOR) {
            let (uuid, row) = described(descriptor.bytes());
            rows.insert(uuid, row);
        }
        if let Some(defaults) = fields.get(&packet::DEFAULTS) {
            let of_events =
                Fields::of(defaults.bytes()).flatten().find(|(number, _)| *number == packet::TRACK_EVENT).unwrap().1;
            row_of.insert(sequence, Fields::of(of_events.bytes()).flatten().next().unwrap().1.u64());
        }
        if let Some(of_row) = fields.get(&packet::TRACK_EVENT) {
            let value = Fields::of(of_row.bytes()).flatten().find(|(number, _)| *number == event::DOUBLE_COUNTER_VALUE);
            rows.get_mut(&row_of[&sequence]).unwrap().values.extend(value.map(|(_, value)| value.f64()));
        }
    }
    rows.remove(&0);
    rows
}

fn described(descriptor: &[u8]) -> (u64, Drawn) {
    let (mut uuid, mut row) = (0, Drawn::default());
    for (number, value) in Fields::of(descriptor).flatten() {
        let text = || String::from_utf8(value.bytes().to_vec()).unwrap();
        match number {
            track::UUID => uuid = value.u64(),
            track::PARENT_UUID => row.parent = Some(value.u64()),
            track::NAME => row.name = text(),
            track::SIBLING_ORDER_RANK => row.order = value.u64(),
            track::COUNTER => {
                let fields: BTreeMap<u32, _> = Fields::of(value.bytes()).flatten().collect();
                let named = fields.get(&counter::UNIT_NAME).map(|name| String::from_utf8(name.bytes().to_vec()).unwrap());
                let bytes = fields.get(&counter::UNIT).filter(|unit| unit.u64() == counter::BYTES).map(|_| "bytes".to_owned());
                row.unit = Some(named.or(bytes).unwrap_or_default());
            }
            track::PROCESS | track::THREAD => panic!("a process cannot be nested or ordered"),
            _ => {}
        }
    }
    (uuid, row)
}

/// The rows as indented text, siblings in the order they ask for; those at the top by name, as engines have them.
fn tree(rows: &BTreeMap<u64, Drawn>) -> Vec<String> {
    let mut lines = Vec::new();
    let mut tops: Vec<_> = rows.iter().filter(|(_, row)| row.parent.is_none()).collect();
    tops.sort_by_key(|(_, row)| &row.name);
    tops.into_iter().for_each(|(uuid, row)| branch(rows, *uuid, row, 0, &mut lines));
    lines
}

fn branch(rows: &BTreeMap<u64, Drawn>, uuid: u64, row: &Drawn, depth: usize, lines: &mut Vec<String>) {
    let unit = row.unit.as_ref().map(|unit| format!(" [{unit}]")).unwrap_or_default();
    lines.push(format!("{}{}{unit}", "  ".repeat(depth), row.name));
    let mut below: Vec<_> = rows.iter().filter(|(_, row)| row.parent == Some(uuid)).collect();
    below.sort_by_key(|(_, row)| row.order);
    below.into_iter().for_each(|(uuid, row)| branch(rows, *uuid, row, depth + 1, lines));
}

fn file(traces: &[(u32, Trace)]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut timeline = Timeline::new(&mut bytes);
    let map = ClockMap::identity();
    let views: Vec<_> = traces.iter().map(|(rank, trace)| RankView { trace, rank: Some(Rank(*rank)), map: &map }).collect();
    timeline.add(&views).unwrap();
    timeline.finish().unwrap();
    bytes
}

fn span(trace: &mut Trace, track: TrackId, category: &str, start_ns: i64, dur_ns: i64) {
    let (name, category) = (trace.strings.intern("x"), trace.category(category, CategoryKind::of_kineto(category)));
    trace.spans.push(SpanRow { start_ns, dur_ns, name, track, category, offset: 0 });
}

/// As torch records a rank with memory: a host of two threads, one device of two streams, and what the profiler says of itself.
fn torch() -> Trace {
    let mut trace = Trace::default();
    trace.provenance.host = Some("node7".to_owned());
    let mut track = |kind, parent, key: TrackKey, name: &str| {
        let id = trace.tracks.find_or_add(kind, parent, key);
        trace.tracks.get_mut(id).name = trace.strings.intern(name);
        id
    };
    let host = track(TrackKind::Process, None, TrackKey::Number(4711), "python3");
    let device = track(TrackKind::Device, None, TrackKey::Number(2), "python3");
    let main = track(TrackKind::Thread, Some(host), TrackKey::Number(4711), "thread 4711 (python3)");
    let backward = track(TrackKind::Thread, Some(host), TrackKey::Number(4800), "thread 4800 (pt_autograd_0)");
    let compute = track(TrackKind::Stream, Some(device), TrackKey::Number(7), "stream 7 ");
    let comm = track(TrackKind::Stream, Some(device), TrackKey::Number(20), "");
    let words = ["Spans", "PyTorch Profiler", ""].map(|word| trace.strings.intern(word));
    let spans = trace.tracks.find_or_add(TrackKind::Process, None, TrackKey::Text(words[0]));
    let profiler = trace.tracks.find_or_add(TrackKind::Thread, Some(spans), TrackKey::Text(words[1]));
    let nobody = trace.tracks.find_or_add(TrackKind::Process, None, TrackKey::Text(words[2]));
    let nowhere = trace.tracks.find_or_add(TrackKind::Thread, Some(nobody), TrackKey::Text(words[2]));
    for on in [main, backward] {
        span(&mut trace, on, "cpu_op", 0, 1_000_000);
    }
    span(&mut trace, compute, "kernel", 0, 20_000);
    span(&mut trace, comm, "kernel", 30_000, 5_000);
    span(&mut trace, profiler, "Trace", 0, 2_000_000);
    let category = trace.category("cpu_instant_event", CategoryKind::Other);
    let scope = InstantScope::Thread;
    for (at, bytes) in [512, 4_096, 0].into_iter().enumerate() {
        let name = trace.strings.intern("[memory]");
        trace.instants.push(InstantMark { time_ns: 10 * at as i64, name, track: main, category, scope });
        for (key, value) in [("Device Type", 1), ("Device Id", 2), ("Total Allocated", bytes), ("Total Reserved", 8_192)] {
            let key = trace.strings.intern(key);
            trace.instant_args.push(key, ArgValue::I64(value));
        }
        trace.instant_args.end_row();
    }
    let name = trace.strings.intern("Record Window End");
    trace.instants.push(InstantMark { time_ns: 2_000_000, name, track: nowhere, category, scope });
    trace.instant_args.end_row();
    trace
}

#[test]
fn ranks_are_in_order_and_each_holds_all_of_its_own() {
    let ranks: Vec<(u32, Trace)> = (0..11).map(|rank| (rank, torch())).collect();
    let lines = tree(&drawn(&file(&ranks)));
    let tops: Vec<_> = lines.iter().filter(|line| !line.starts_with(' ')).cloned().collect();
    assert_eq!(tops, (0..11).map(|rank| format!("rank {rank:02} (node7) [% device busy]")).collect::<Vec<_>>());
    let first: Vec<_> = lines[..lines.len() / 11].iter().map(|line| &line[..]).collect();
    assert_eq!(
        first,
        [
            "rank 00 (node7) [% device busy]",
            "  device 2 memory allocated [bytes]",
            "  device 2 memory reserved [bytes]",
            "  device 2 stream 7",
            "  device 2 stream 20",
            "  thread 4711 (python3)",
            "  thread 4800 (pt_autograd_0)",
            "  PyTorch Profiler",
            "  marks",
        ]
    );
}

#[test]
fn devices_of_several_streams_are_groups_with_a_summary() {
    let mut trace = Trace::default();
    for device in [1, 0] {
        let device = trace.tracks.find_or_add(TrackKind::Device, None, TrackKey::Number(device));
        for stream in [7, 20] {
            let stream = trace.tracks.find_or_add(TrackKind::Stream, Some(device), TrackKey::Number(stream));
            span(&mut trace, stream, "kernel", 0, 5_000);
        }
    }
    let bytes = file(&[(3, trace.clone())]);
    let lines = tree(&drawn(&bytes));
    let [zero, one] = ["0", "1"].map(|device| format!("  device {device} [% device busy]"));
    let (seven, twenty) = ("    stream 7".to_owned(), "    stream 20".to_owned());
    let top = "rank 3 [% device busy]".to_owned();
    assert_eq!(lines, [top, zero, seven.clone(), twenty.clone(), one, seven, twenty]);
    assert_eq!(picture(&read_all(&bytes[..], &ALL).unwrap()[0]), picture(&trace));
}

#[test]
fn counters_that_follow_from_events_are_drawn_and_not_read_back() {
    let trace = torch();
    let bytes = file(&[(0, trace.clone())]);
    let rows = drawn(&bytes);
    let values = |name: &str| &rows.values().find(|row| row.name == name).unwrap().values[..];
    assert_eq!(values("device 2 memory allocated"), [512.0, 4_096.0, 0.0]);
    assert_eq!(values("device 2 memory reserved"), [8_192.0; 3]);
    assert_eq!(values("rank 0 (node7)"), [100.0, 0.0, 50.0, 0.0]);
    let back = read_all(&bytes[..], &ALL).unwrap().remove(0);
    assert_eq!((back.counters.len(), picture(&back)), (0, picture(&trace)));
}

#[test]
fn a_job_that_says_its_size_needs_no_last_rank_to_be_numbered() {
    let mut trace = sample();
    trace.provenance.world_size = Some(128);
    let names = tree(&drawn(&file(&[(3, trace)])));
    assert_eq!(names[0], "rank 003 (node7) [% device busy]");
}
