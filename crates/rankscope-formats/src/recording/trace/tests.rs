//! A recording as a trace: the same from a live file and from a packed one.

use std::fmt::Write;
use std::io::Cursor;

use rankscope_time::Rank;
use rankscope_trace::{CategoryKind, HostClock, ProblemKind, RankSource, SourceFormat, Trace};

use super::super::shadow::opened;
use super::super::*;
use super::*;
use crate::{ArgsPolicy, ReadOptions, Scope};

/// One of everything, on two threads.
pub(in crate::recording) fn sample() -> Vec<u8> {
    let mut author = LiveAuthor::new();
    for (key, json) in [
        ("process_name", "\"train.py\""),
        ("pid", "4000"),
        ("host_name", "\"node-a\""),
        ("rank", "3"),
        ("world_size", "8"),
        ("trace_id", "\"f00d\""),
        ("api", "\"kineto\""),
        ("user.model", "\"tiny\""),
    ] {
        author.meta(key, json);
    }
    // Two ticks are a nanosecond.
    for second in 0..3_u64 {
        let (tick, ns) = (1_000 + second * 2_000_000_000, 50_000 + second as i64 * 1_000_000_000);
        author.anchor(ClockId::MONOTONIC_RAW, tick, ns, 40);
        author.anchor(ClockId::REALTIME, tick, 1_700_000_000_000_000_000 + second as i64 * 1_000_000_000, 44);
    }
    author.thread(0, 4000, "main");
    author.thread(1, 4001, "comm");
    author.drops(DropReason::Reentrant, 0, 2);
    let step = author.name("ProfilerStep", 1, 7);
    let op = author.name("aten::mm", 0, 0);
    let params = author.name("record_param_comms", 0, 0);
    let queue = author.name("queue", 1, 7);
    let arrow = author.name("fwdbwd", 0, 0);
    let loss = author.name("loss", 28, 0);
    let key = |author: &mut LiveAuthor, text| author.name(text, 0, 0);
    let (dims, collective, group) =
        (key(&mut author, "Input Dims"), key(&mut author, "Collective name"), key(&mut author, "Process Group Ranks"));
    let elements = key(&mut author, "In msg nelems");
    author.begin_numbered(0, 3_000, step, 7);
    author.begin(0, 4_000, op);
    author.args(0, &[(dims, ArgView::I64s(I64s::of(&I64s::pack(&[16, -1]))))]);
    author.flow(0, 4_100, arrow, 77, FlowStage::Start);
    author.end(0, 6_000);
    author.args(0, &[(elements, ArgView::U64(5))]);
    author.begin(0, 6_000, op);
    author.end(0, 6_000);
    author.counter(0, 6_500, loss, CounterValue::F64(0.25));
    author.memory(0, 7_000, 0xdead_beef_0000, -4096, (1, 0));
    author.async_begin(0, 7_500, queue, 9);
    author.end(0, 9_000);
    author.begin(1, 5_000, params);
    author.args(1, &[(collective, ArgView::Text("allreduce".into())), (elements, ArgView::I64(1024))]);
    author.args(1, &[(group, ArgView::Json("[0, 1]".into()))]);
    author.end(1, 8_000);
    author.flow(1, 8_100, arrow, 77, FlowStage::End);
    author.async_end(1, 8_500, queue, 9);
    author.instant(1, 8_600, queue);
    author.begin(1, 9_000, op);
    author.finish()
}

/// A trace as text, without what differs between a live file and a packed one.
pub(in crate::recording) fn outline(trace: &Trace) -> String {
    let text = |id| trace.strings.text(id);
    let base = trace.bounds_ns().map_or(0, |(start, _)| start);
    let track = |id| text(trace.tracks.get(id).name);
    let mut out = format!("starts {base}\n");
    for span in trace.spans.ids() {
        let row = trace.spans.row(span);
        let category = text(trace.categories[usize::from(row.category)].name);
        write!(out, "span {:?} {category} on {:?} {}+{}", trace.name(span), track(row.track), row.start_ns - base, row.dur_ns)
            .unwrap();
        for (key, value) in trace.spans.args.row(span.0 as usize) {
            let value = match value {
                rankscope_trace::ArgValue::Text(id) | rankscope_trace::ArgValue::Json(id) => text(id).to_owned(),
                value => format!("{value:?}"),
            };
            write!(out, " {}={value}", text(key)).unwrap();
        }
        out.push('\n');
    }
    for mark in &trace.instants {
        writeln!(out, "instant {:?} on {:?} {}", text(mark.name), track(mark.track), mark.time_ns - base).unwrap();
    }
    for sample in &trace.counters {
        writeln!(out, "counter {:?} {} = {}", text(sample.name), sample.time_ns - base, sample.value).unwrap();
    }
    for point in &trace.flows {
        writeln!(out, "flow {} {:?} on {:?} {}", point.id, point.phase, track(point.track), point.time_ns - base).unwrap();
    }
    for step in &trace.steps {
        writeln!(out, "step {} is span {}", step.number, step.span.0).unwrap();
    }
    for args in &trace.collectives {
        writeln!(out, "collective {} of {:?} in {}", text(args.name), args.in_elements, text(args.group_ranks)).unwrap();
    }
    let mut problems: Vec<_> = trace.provenance.problems.iter().collect();
    problems.sort_by_key(|problem| problem.kind);
    for problem in problems {
        writeln!(out, "problem {} x{}: {}", problem.kind, problem.count, problem.detail).unwrap();
    }
    out
}

fn all_args() -> ReadOptions {
    ReadOptions { args: ArgsPolicy::All, label: "x.rkr".into(), ..ReadOptions::default() }
}

#[test]
fn a_recording_is_a_trace() {
    let trace = crate::read(Cursor::new(sample()), &all_args()).unwrap().remove(0).trace.unwrap();
    insta::assert_snapshot!("sample", outline(&trace));
    let about = &trace.provenance;
    assert_eq!((about.rank, about.world_size), (Some((Rank(3), RankSource::Header)), Some(8)));
    assert_eq!(
        (about.format, about.host.as_deref(), about.trace_id.as_deref()),
        (SourceFormat::Recording, Some("node-a"), Some("f00d"))
    );
    assert!(about.header.contains(&("model".into(), "\"tiny\"".into())));
    let wall: Vec<_> = about.clock_readings.iter().filter(|reading| reading.clock == HostClock::Realtime).collect();
    assert_eq!((wall.len(), wall[1].trace_ns, wall[1].width_ns), (3, wall[1].ns, 22));
    assert_eq!(trace.unfinished.iter().map(|span| trace.name(*span)).collect::<Vec<_>>(), ["aten::mm"]);
    assert!(trace.spans.ids().all(|span| trace.external_ids.get(span).is_some()));
}

#[test]
fn live_and_packed_give_the_same_trace() {
    let recording = opened(sample());
    let mut file = Vec::new();
    let written = packed::write(&recording, &Cut::everything(), &mut file).unwrap();
    assert_eq!((written.events, written.threads[1].events, written.threads[1].open_spans), (12, 5, 1));
    for options in [all_args(), ReadOptions::default(), ReadOptions { scope: Scope::Device, ..all_args() }] {
        let live = to_trace(&recording, &Cut::everything(), &options);
        let packed = crate::read(Cursor::new(&file), &options).unwrap().remove(0).trace.unwrap();
        assert_eq!(outline(&packed), outline(&live));
        assert_eq!(packed.provenance.clock_readings, live.provenance.clock_readings);
    }
}

#[test]
fn analysis_keeps_what_it_has_columns_for() {
    let trace = to_trace(&opened(sample()), &Cut::everything(), &ReadOptions::default());
    assert_eq!((trace.spans.args.rows(), trace.instant_args.rows()), (0, 0));
    assert_eq!((trace.collectives.len(), trace.collectives[0].in_elements), (1, Some(1024)));
    assert_eq!((trace.steps.len(), trace.steps[0].number), (1, 7));
    let device = ReadOptions { scope: Scope::Device, ..ReadOptions::default() };
    let device = to_trace(&opened(sample()), &Cut::everything(), &device);
    let operators = device.spans.ids().filter(|span| device.kind(*span) == CategoryKind::CpuOp).count();
    // The collective's operator, the step and the queue.
    assert_eq!((operators, device.spans.len()), (1, 3));
    assert_eq!((device.instants.len(), device.counters.len(), device.flows.len()), (0, 0, 0));
}

#[test]
fn damage_is_told() {
    let mut file = sample();
    file[FILE_HEADER_BYTES + 2 * CHUNK_BYTES] ^= 1;
    let trace = to_trace(&opened(file), &Cut::everything(), &ReadOptions::default());
    assert_eq!(trace.provenance.problems.count(ProblemKind::DamagedBlock), 1);
    assert!(crate::read(Cursor::new(LiveAuthor::new().finish()), &ReadOptions::default()).unwrap()[0].trace.is_err());
}

#[test]
fn a_span_noted_when_it_was_over_lies_where_it_was() {
    let mut author = LiveAuthor::new();
    author.thread(0, 4000, "watcher");
    let name = author.name("nccl:all_reduce", 23, 0);
    let (noted, group) = (author.name(NOTED, 0, 0), author.name("Process Group Name", 0, 0));
    let collective = author.name("Collective name", 0, 0);
    let gpu_times = author.name(GPU_TIMES, 0, 0);
    for (start_tick, end_tick) in [(2_000, 6_000), (3_000, 7_000)] {
        let list = Noted { start_tick, end_tick }.to_list();
        author.instant(0, 9_000, name);
        author.args(0, &[(noted, ArgView::I64s(I64s::of(&I64s::pack(&list)))), (group, ArgView::Text("a".into()))]);
        author.args(0, &[(collective, ArgView::Text("all_reduce".into()))]);
        let times = GpuTimes { launched_tick: Some(start_tick), start_ns: 70, stop_ns: 80, seen_tick: end_tick }.to_list();
        author.args(0, &[(gpu_times, ArgView::I64s(I64s::of(&I64s::pack(&times))))]);
    }
    // One whose list says nothing stays the instant that it is.
    author.instant(0, 9_500, name);
    author.args(0, &[(noted, ArgView::I64s(I64s::of(&I64s::pack(&[5]))))]);
    let recording = opened(author.finish());
    let trace = to_trace(&recording, &Cut::everything(), &all_args());
    let rows: Vec<_> = trace.spans.ids().map(|span| trace.spans.row(span)).collect();
    assert_eq!(rows.iter().map(|row| (row.start_ns, row.dur_ns)).collect::<Vec<_>>(), [(2_000, 4_000), (3_000, 4_000)]);
    assert!(trace.strings.text(trace.tracks.get(rows[0].track).name).contains("nccl:all_reduce"));
    assert_eq!((trace.collectives.len(), trace.instants.len()), (2, 1));
    let times: Vec<_> = trace.gpu_times.iter().map(|(span, times)| (span.0, times)).collect();
    let expected = |launched_ns, seen_ns| rankscope_trace::GpuTimes { launched_ns, start_ns: 70, stop_ns: 80, seen_ns };
    assert_eq!(times, [(0, expected(Some(2_000), 6_000)), (1, expected(Some(3_000), 7_000))]);
    let keys: Vec<_> = trace.spans.args.row(0).map(|(key, _)| trace.strings.text(key)).collect();
    assert_eq!(keys, ["Process Group Name", "Collective name"]);
    let mut file = Vec::new();
    packed::write(&recording, &Cut::everything(), &mut file).unwrap();
    let packed = crate::read(Cursor::new(file), &all_args()).unwrap().remove(0).trace.unwrap();
    assert_eq!(outline(&packed), outline(&trace));
    assert_eq!(packed.gpu_times, trace.gpu_times);
}
