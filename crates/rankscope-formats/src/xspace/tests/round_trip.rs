use proptest::prelude::*;
use rankscope_trace::{
    ArgValue, Awaited, CategoryKind, CollectiveArgs, CopyDirection, CounterSample, FlowPhase, FlowPoint, InstantMark,
    InstantScope, SpanRow, StepMark, Trace, TrackId, TrackKey, TrackKind,
};

use super::{ALL, FIXTURES, picture, written};
use crate::xspace::read;
use crate::{ReadOptions, Scope};

#[test]
fn what_was_read_is_written_the_same() {
    for bytes in FIXTURES {
        let trace = read(bytes, &ALL).unwrap();
        let again = read(&*written(&trace), &ALL).unwrap();
        assert_eq!(picture::whole(&again), picture::whole(&trace));
    }
}

#[test]
fn lines_that_last_for_years_are_split() {
    let mut trace = Trace::default();
    let track = trace.tracks.find_or_add(TrackKind::Thread, None, TrackKey::Number(1));
    let category = trace.category("cpu_op", CategoryKind::CpuOp);
    let name = trace.strings.intern("far apart");
    let starts = [5, 5 + (1 << 55), 1 << 60, i64::MAX - 3];
    for start_ns in starts {
        trace.spans.push(SpanRow { start_ns, dur_ns: 1, name, track, category, offset: 0 });
    }
    let again = read(&*written(&trace), &ALL).unwrap();
    assert_eq!(again.spans.start_ns, starts);
}

#[test]
fn a_narrow_reading_keeps_operators_that_describe_collectives() {
    let mut trace = Trace::default();
    let track = trace.tracks.find_or_add(TrackKind::Thread, None, TrackKey::Number(1));
    let category = trace.category("cpu_op", CategoryKind::CpuOp);
    for name in ["aten::mm", "record_param_comms"] {
        let name = trace.strings.intern(name);
        let span = trace.spans.push(SpanRow { start_ns: 5, dur_ns: 1, name, track, category, offset: 0 });
        if span.0 == 1 {
            trace.collectives.push(CollectiveArgs { name: trace.strings.intern("allreduce"), ..CollectiveArgs::of(span) });
        }
    }
    let options = ReadOptions { scope: Scope::Device, ..ReadOptions::default() };
    let again = read(&*written(&trace), &options).unwrap();
    assert_eq!((again.spans.len(), again.collectives.len()), (1, 1));
}

#[test]
fn instants_and_counters_come_back_as_what_they_were() {
    let text = br#"[
        {"ph": "X", "name": "work", "pid": 1, "tid": 1, "ts": 100, "dur": 50},
        {"ph": "i", "name": "mark", "cat": "c", "s": "g", "pid": 1, "tid": 1, "ts": 400, "args": {"why": "late"}},
        {"ph": "C", "name": "memory", "pid": 1, "tid": 1, "ts": 500, "args": {"bytes": 7}}
    ]"#;
    let options = ReadOptions { args: crate::ArgsPolicy::All, ..ReadOptions::default() };
    let first = crate::json::read(&text[..], &options).unwrap();
    let again = read(&*written(&first), &ALL).unwrap();
    assert_eq!((again.spans.len(), again.bounds_ns()), (1, first.bounds_ns()), "nothing is added to the time of the host");
    let mark = again.instants[0];
    assert_eq!((again.strings.text(mark.name), mark.time_ns, mark.scope), ("mark", 400_000, InstantScope::Global));
    assert_eq!(again.instant_args.row(0).count(), 1);
    let sample = again.counters[0];
    assert_eq!((again.strings.text(sample.name), again.strings.text(sample.series)), ("memory", "bytes"));
    assert_eq!((sample.time_ns, sample.value), (500_000, 7.0));
}

#[test]
fn copies_and_waits_of_accelerators_go_through() {
    let text = br#"[
        {"ph": "X", "cat": "mtia_ccp_events", "name": "matmul", "pid": 0, "tid": 1, "ts": 1, "dur": 5, "args": {"a": 1}},
        {"ph": "X", "cat": "mtia_ccp_events", "name": "dma_request", "pid": 0, "tid": 2, "ts": 2, "dur": 5,
            "args": {"direction": "DEVICE_TO_HOST", "size": 4096}},
        {"ph": "X", "cat": "mtia_ccp_events", "name": "event_wait", "pid": 0, "tid": 2, "ts": 9, "dur": 5,
            "args": {"wait_on_stream": 3}}
    ]"#;
    let options = ReadOptions { args: crate::ArgsPolicy::All, ..ReadOptions::default() };
    let said = |trace: &Trace| {
        let mut said: Vec<_> = trace
            .spans
            .ids()
            .map(|span| {
                let category = trace.strings.text(trace.categories[usize::from(trace.spans.row(span).category)].name);
                (
                    trace.name(span).to_owned(),
                    trace.kind(span),
                    trace.bytes.get(span),
                    trace.directions.get(span),
                    category.to_owned(),
                )
            })
            .collect();
        said.sort_by_key(|(name, ..)| name.clone());
        said
    };
    let category = || "mtia_ccp_events".to_owned();
    let expected = [
        ("dma_request".into(), CategoryKind::Memcpy, Some(4096), Some(CopyDirection::DeviceToHost), category()),
        ("event_wait".into(), CategoryKind::Sync, None, None, category()),
        ("matmul".into(), CategoryKind::Kernel, None, None, category()),
    ];
    let first = crate::json::read(&text[..], &options).unwrap();
    assert_eq!(said(&first), expected);
    assert_eq!(said(&read(&*written(&first), &ALL).unwrap()), expected);
    let mut perfetto = Vec::new();
    crate::perfetto::write(&first, &mut perfetto).unwrap();
    assert_eq!(said(&crate::perfetto::read(&*perfetto, &options).unwrap()), expected);
    let mut json = Vec::new();
    crate::json::write(&first, &mut json).unwrap();
    assert_eq!(said(&crate::json::read(&*json, &options).unwrap()), expected);
}

#[test]
fn what_a_stream_waits_for_goes_through() {
    let text = br#"[
        {"ph": "X", "cat": "cuda_runtime", "name": "cudaEventRecord", "pid": 1, "tid": 1, "ts": 1, "dur": 1, "args": {"correlation": 5}},
        {"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "pid": 0, "tid": 24, "ts": 3, "dur": 1, "args": {"stream": 24,
            "wait_on_stream": 20, "wait_on_cuda_event_record_corr_id": 5, "wait_on_cuda_event_id": 9, "correlation": 6}},
        {"ph": "X", "cat": "cuda_sync", "name": "Event Sync", "pid": 0, "tid": -1, "ts": 5, "dur": 1, "args": {"stream": -1,
            "wait_on_stream": -1, "wait_on_cuda_event_record_corr_id": -1, "wait_on_cuda_event_id": 9, "correlation": 7}},
        {"ph": "X", "cat": "cuda_sync", "name": "Stream Wait Event", "pid": 0, "tid": 24, "ts": 7, "dur": 1,
            "args": {"stream": 24, "wait_on_stream": 20, "correlation": 8}},
        {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 9, "dur": 1, "args": {"wait_on_stream": 20}}
    ]"#;
    let options = ReadOptions { args: crate::ArgsPolicy::All, ..ReadOptions::default() };
    let said = |trace: &Trace| {
        let mut said: Vec<_> = trace.awaited.iter().map(|(span, awaited)| (trace.correlations.get(span), awaited)).collect();
        said.sort_by_key(|(id, _)| *id);
        said
    };
    let awaited = |recorded_by| Awaited { stream: Some(20), recorded_by };
    let expected = [(Some(6), awaited(Some(5))), (Some(8), awaited(None))];
    let first = crate::json::read(&text[..], &options).unwrap();
    assert_eq!(said(&first), expected);
    assert_eq!(said(&crate::json::read(&text[..], &ReadOptions::default()).unwrap()), expected, "without arguments, too");
    assert_eq!(said(&read(&*written(&first), &ALL).unwrap()), expected);
    let mut perfetto = Vec::new();
    crate::perfetto::write(&first, &mut perfetto).unwrap();
    assert_eq!(said(&crate::perfetto::read(&*perfetto, &options).unwrap()), expected);
    let mut json = Vec::new();
    crate::json::write(&first, &mut json).unwrap();
    assert_eq!(said(&crate::json::read(&*json, &options).unwrap()), expected);
}

proptest! {
    #[test]
    fn spans_of_other_formats_survive(made in made()) {
        let trace = made.trace();
        let bytes = written(&trace);
        let again = read(&*bytes, &ALL).unwrap();
        prop_assert!(again.provenance.problems.is_empty(), "{:?}", again.provenance.problems);
        let names: Vec<_> = trace.spans.ids().map(|id| trace.name(id).to_owned()).collect();
        let spans: Vec<_> = picture::spans(&again).into_iter().filter(|line| names.iter().any(|name| line.contains(name))).collect();
        prop_assert_eq!(spans, picture::spans(&trace));
    }

    #[test]
    fn a_second_pass_changes_nothing(made in made()) {
        let once = read(&*written(&made.trace()), &ALL).unwrap();
        let bytes = written(&once);
        let twice = read(&*bytes, &ALL).unwrap();
        prop_assert_eq!(picture::whole(&twice), picture::whole(&once));
        prop_assert_eq!(written(&twice), bytes);
    }

    #[test]
    fn without_arguments_the_columns_survive(made in made()) {
        let once = read(&*written(&made.trace()), &Default::default()).unwrap();
        let twice = read(&*written(&once), &Default::default()).unwrap();
        prop_assert_eq!(picture::spans(&twice), picture::spans(&once));
        prop_assert_eq!(twice.provenance.clock_base_ns, once.provenance.clock_base_ns);
    }
}

/// What a generated span is made of: track, start and length in picoseconds, name, kind, columns, arguments.
type MadeSpan = (usize, (i64, i64), u8, usize, (Option<u64>, Option<u64>, Option<i64>), Vec<(u8, MadeArg)>);

#[derive(Clone, Debug)]
enum MadeArg {
    Signed(i64),
    Unsigned(u64),
    Real(f64),
    Text(String),
    Bytes(Vec<u8>),
    Name(u8),
    Nothing,
}

#[derive(Clone, Debug)]
struct Made {
    start_ns: i64,
    spans: Vec<MadeSpan>,
    marks: Vec<(usize, u32)>,
}

const KINDS: [(&str, CategoryKind); 5] = [
    ("kernel", CategoryKind::Kernel),
    ("gpu_memcpy", CategoryKind::Memcpy),
    ("cuda_runtime", CategoryKind::Runtime),
    ("user_annotation", CategoryKind::UserAnnotation),
    ("whatever else", CategoryKind::Other),
];

fn made() -> impl Strategy<Value = Made> {
    let arg = prop_oneof![
        any::<i64>().prop_map(MadeArg::Signed),
        any::<u64>().prop_map(MadeArg::Unsigned),
        (-1e9..1e9).prop_map(MadeArg::Real),
        "\\PC{0,6}".prop_map(MadeArg::Text),
        prop::collection::vec(any::<u8>(), 0..5).prop_map(MadeArg::Bytes),
        (0u8..4).prop_map(MadeArg::Name),
        Just(MadeArg::Nothing),
    ];
    let times = (0..5_000_000_000_000i64, 0..9_000_000i64);
    let columns = (prop::option::of(1u64..1 << 40), prop::option::of(1u64..1 << 40), prop::option::of(-3i64..50));
    let span = (0usize..6, times, 0u8..5, 0usize..KINDS.len(), columns, prop::collection::vec((0u8..5, arg), 0..4));
    let spans = prop::collection::vec(span, 1..30);
    let start = prop_oneof![Just(0), -50i64..50, 1_700_000_000_000_000_000i64..1_800_000_000_000_000_000];
    let marks = prop::collection::vec((0usize..6, 0u32..5_000_000), 0..5);
    (start, spans, marks).prop_map(|(start_ns, spans, marks)| Made { start_ns, spans, marks })
}

impl Made {
    fn trace(&self) -> Trace {
        let mut trace = Trace::default();
        let tracks = tracks(&mut trace);
        trace.provenance.host = Some("here".into());
        for (track, (start_ps, dur_ps), name, kind, columns, args) in &self.spans {
            let (category, kind) = KINDS[*kind];
            let row = SpanRow {
                start_ns: self.start_ns + start_ps / 1000,
                dur_ns: dur_ps / 1000,
                name: trace.strings.intern(&format!("span {name}")),
                track: tracks[*track],
                category: trace.category(category, kind),
                offset: 0,
            };
            let span = trace.spans.push(row);
            trace.spans.picos.push(((start_ps % 1000) as u16, (dur_ps % 1000) as u16));
            let (correlation, bytes, step) = *columns;
            correlation.into_iter().for_each(|id| trace.correlations.push(span, id));
            trace.steps.extend(step.map(|number| StepMark { number, span }));
            match kind {
                CategoryKind::Memcpy => bytes.into_iter().for_each(|bytes| trace.bytes.push(span, bytes)),
                CategoryKind::Kernel if *name == 0 => {
                    let (name, sequence) = (trace.strings.intern("all_reduce"), bytes);
                    trace.collectives.push(CollectiveArgs { name, sequence, ..CollectiveArgs::of(span) });
                }
                _ => bytes.into_iter().for_each(|id| trace.external_ids.push(span, id)),
            }
            add_args(&mut trace, args);
        }
        self.add_marks(&mut trace, &tracks);
        trace
    }

    fn add_marks(&self, trace: &mut Trace, tracks: &[TrackId]) {
        let name = trace.strings.intern("mark");
        for (at, (track, time)) in (0..).zip(&self.marks) {
            let (track, time_ns) = (tracks[*track], self.start_ns + i64::from(*time));
            trace.instants.push(InstantMark { time_ns, name, track, category: 0, scope: InstantScope::Thread });
            trace.counters.push(CounterSample { time_ns, name, series: name, track, value: f64::from(*time) });
            let phase = if at % 2 == 0 { FlowPhase::Start } else { FlowPhase::End };
            trace.flows.push(FlowPoint { id: at / 2, category: 0, name, phase, track, time_ns });
        }
    }
}

/// Two processes with two threads each and a device with two streams.
fn tracks(trace: &mut Trace) -> Vec<TrackId> {
    let mut tracks = Vec::new();
    let parents = [(TrackKind::Process, 70), (TrackKind::Process, 71), (TrackKind::Device, 3)];
    for (kind, number) in parents {
        let parent = trace.tracks.find_or_add(kind, None, TrackKey::Number(number));
        let child = if kind == TrackKind::Device { TrackKind::Stream } else { TrackKind::Thread };
        tracks.extend([7, 8].map(|line| trace.tracks.find_or_add(child, Some(parent), TrackKey::Number(line))));
    }
    tracks
}

fn add_args(trace: &mut Trace, args: &[(u8, MadeArg)]) {
    for (key, value) in args {
        let key = trace.strings.intern(&format!("key {key}"));
        let value = match value {
            MadeArg::Signed(value) => ArgValue::I64(*value),
            MadeArg::Unsigned(value) => ArgValue::U64(*value),
            MadeArg::Real(value) => ArgValue::F64(*value),
            MadeArg::Text(text) => ArgValue::Text(trace.strings.intern(text)),
            MadeArg::Name(name) => ArgValue::Ref(trace.strings.intern(&format!("name {name}"))),
            MadeArg::Nothing => ArgValue::Null,
            MadeArg::Bytes(bytes) => {
                trace.blobs.push(bytes.clone().into());
                ArgValue::Blob(trace.blobs.len() as u32 - 1)
            }
        };
        trace.spans.args.push(key, value);
    }
    trace.spans.args.end_row();
}
