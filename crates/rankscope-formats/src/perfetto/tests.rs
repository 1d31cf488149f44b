use std::collections::BTreeMap;

use proptest::prelude::*;
use rankscope_time::{ClockMap, Rank, Span};
use rankscope_trace::{
    ArgValue, CategoryKind, CounterSample, FlowPhase, FlowPoint, InstantMark, InstantScope, ProblemKind, RankSource,
    SourceFormat, SpanId, SpanRow, StrId, Trace, TrackId, TrackKey, TrackKind,
};

use super::{RankView, SpanOfRank, Tally, Timeline, lanes, read, read_all, write};
use crate::wire::{Encoder, Stream};
use crate::{ArgsPolicy, Error, ReadOptions};

mod foreign;
mod tree;

const ALL: ReadOptions = ReadOptions { label: String::new(), args: ArgsPolicy::All, scope: crate::Scope::All };

fn written(trace: &Trace) -> Vec<u8> {
    let mut bytes = Vec::new();
    write(trace, &mut bytes).unwrap();
    bytes
}

/// A trace as sorted lines of text, apart from the order of its events and the numbers of its tables.
fn picture(trace: &Trace) -> Vec<String> {
    let track = |id: TrackId| {
        let own = trace.tracks.get(id);
        let parent = own.parent.map(|parent| trace.tracks.get(parent).clone());
        let key = |key: TrackKey| match key {
            TrackKey::Number(number) => number.to_string(),
            TrackKey::Text(text) => format!("'{}'", trace.strings.text(text)),
        };
        let names = [own.name, own.label].map(|text| trace.strings.text(text));
        let parent = parent.map(|parent| format!("{:?} {}", parent.kind, key(parent.key)));
        format!("{:?} {} of {parent:?} {names:?} {:?}", own.kind, key(own.key), own.sort_index)
    };
    let value = |value: ArgValue| match value {
        ArgValue::Text(text) => format!("text {}", trace.strings.text(text)),
        ArgValue::Json(text) => format!("json {}", trace.strings.text(text)),
        other => format!("{other:?}"),
    };
    let args = |args: &mut dyn Iterator<Item = (StrId, ArgValue)>| {
        args.map(|(key, arg)| format!("{}={}", trace.strings.text(key), value(arg))).collect::<Vec<_>>().join(", ")
    };
    let category = |at: u16| {
        let category = trace.categories[usize::from(at)];
        format!("{} {:?}", trace.strings.text(category.name), category.kind)
    };
    let spans = trace.spans.ids().map(|id| {
        let row = trace.spans.row(id);
        let args = args(&mut trace.spans.args.row(id.0 as usize));
        let (name, of, on) = (trace.strings.text(row.name), category(row.category), track(row.track));
        format!("span {name} ({of}) {}+{} on {on} {args}", row.start_ns, row.dur_ns)
    });
    let instants = trace.instants.iter().enumerate().map(|(at, mark)| {
        let args = args(&mut trace.instant_args.row(at));
        let (name, of, on) = (trace.strings.text(mark.name), category(mark.category), track(mark.track));
        format!("instant {name} ({of}) {} {:?} on {on} {args}", mark.time_ns, mark.scope)
    });
    let counters = trace.counters.iter().map(|sample| {
        let names = [sample.name, sample.series].map(|text| trace.strings.text(text));
        format!("counter {names:?} {} at {} on {}", sample.value, sample.time_ns, track(sample.track))
    });
    let flows = trace.flows.iter().map(|point| {
        let (name, of) = (trace.strings.text(point.name), category(point.category));
        format!("flow {name} ({of}) {} {:?} at {} on {}", point.id, point.phase, point.time_ns, track(point.track))
    });
    let mut lines: Vec<String> = spans.chain(instants).chain(counters).chain(flows).collect();
    lines.sort();
    lines
}

/// A small rank that uses everything the model has.
fn sample() -> Trace {
    let mut trace = Trace::default();
    let text = |trace: &mut Trace, text: &str| trace.strings.intern(text);
    let process = trace.tracks.find_or_add(TrackKind::Process, None, TrackKey::Number(4711));
    trace.tracks.get_mut(process).name = text(&mut trace, "python3");
    trace.tracks.get_mut(process).label = text(&mut trace, "CPU");
    trace.tracks.get_mut(process).sort_index = Some(-1);
    let spans_key = TrackKey::Text(text(&mut trace, "Spans"));
    let pseudo = trace.tracks.find_or_add(TrackKind::Process, None, spans_key);
    let device = trace.tracks.find_or_add(TrackKind::Device, None, TrackKey::Number(0));
    let thread = trace.tracks.find_or_add(TrackKind::Thread, Some(process), TrackKey::Number(4711));
    trace.tracks.get_mut(thread).name = text(&mut trace, "main");
    let stream = trace.tracks.find_or_add(TrackKind::Stream, Some(device), TrackKey::Number(7));
    let orphan = trace.tracks.find_or_add(TrackKind::Thread, None, TrackKey::Number(9));
    let span = |trace: &mut Trace, track, category: &str, name: &str, start_ns, dur_ns| {
        let kind = if category == "XLA Ops" { CategoryKind::Kernel } else { CategoryKind::of_kineto(category) };
        let (category, name) = (trace.category(category, kind), trace.strings.intern(name));
        while trace.spans.args.rows() < trace.spans.len() {
            trace.spans.args.end_row();
        }
        trace.spans.push(SpanRow { start_ns, dur_ns, name, track, category, offset: 0 })
    };
    span(&mut trace, thread, "cpu_op", "aten::mm", 1_000, 500);
    span(&mut trace, thread, "cuda_runtime", "cudaLaunchKernel", 1_200, 100);
    let (dims, null) = (text(&mut trace, "[[1, 2], []]"), text(&mut trace, "plain"));
    let keys = ["dims", "id", "wide", "real", "flag", "none", "text"].map(|key| trace.strings.intern(key));
    let values = [
        ArgValue::Json(dims),
        ArgValue::I64(-3),
        ArgValue::U64(u64::MAX),
        ArgValue::F64(0.5),
        ArgValue::Bool(true),
        ArgValue::Null,
        ArgValue::Text(null),
    ];
    trace.spans.args.end_row();
    keys.into_iter().zip(values).for_each(|(key, value)| trace.spans.args.push(key, value));
    span(&mut trace, stream, "kernel", "sgemm", 1_400, 300);
    span(&mut trace, stream, "XLA Ops", "fusion", 1_500, 400);
    span(&mut trace, orphan, "", "", 1_500, 0);
    span(&mut trace, pseudo, "Trace", "PyTorch Profiler (0)", 0, 5_000);
    trace.spans.args.end_row();
    let (ac2g, category) = (text(&mut trace, "ac2g"), trace.category("ac2g", CategoryKind::Other));
    for (phase, track, time_ns) in [(FlowPhase::Start, thread, 1_200), (FlowPhase::End, stream, 1_400)] {
        trace.flows.push(FlowPoint { id: 77, category, name: ac2g, phase, track, time_ns });
    }
    let (memory, allocated) = (text(&mut trace, "memory"), text(&mut trace, "allocated"));
    for (name, series, track, value) in [(memory, allocated, process, 64.0), (memory, StrId::EMPTY, thread, -0.5)] {
        trace.counters.push(CounterSample { time_ns: 1_300, name, series, track, value });
    }
    let scopes = [InstantScope::Thread, InstantScope::Process, InstantScope::Global];
    for (scope, track) in scopes.into_iter().zip([thread, process, stream]) {
        trace.instants.push(InstantMark { time_ns: 1_600, name: memory, track, category, scope });
        trace.instant_args.push(keys[1], ArgValue::I64(i64::MAX));
        trace.instant_args.end_row();
    }
    trace.provenance.rank = Some((Rank(3), RankSource::FileName));
    trace.provenance.world_size = Some(8);
    trace.provenance.host = Some("node7".to_owned());
    trace
}

#[test]
fn what_is_written_is_read_back() {
    let trace = sample();
    let bytes = written(&trace);
    let back = read(&bytes[..], &ReadOptions { label: "a.pftrace".to_owned(), ..ALL }).unwrap();
    assert_eq!(picture(&back), picture(&trace));
    assert_eq!(back.provenance.rank, Some((Rank(3), RankSource::Header)));
    assert_eq!((back.provenance.world_size, back.provenance.host.as_deref()), (Some(8), Some("node7")));
    assert_eq!((back.provenance.format, &back.provenance.file[..]), (SourceFormat::Perfetto, "a.pftrace"));
    assert_eq!((back.provenance.bytes, back.provenance.problems.is_empty()), (bytes.len() as u64, true));
}

#[test]
fn ranks_come_back_one_by_one_or_together() {
    let (first, mut second) = (sample(), sample());
    second.provenance.rank = Some((Rank(12), RankSource::Header));
    let behind = ClockMap::from_offset(Span::from_nanos(10_000), 0);
    let mut bytes = Vec::new();
    let mut timeline = Timeline::new(&mut bytes);
    let part = |rank| SpanOfRank { rank, span: SpanId(2) };
    timeline.connect([[part(0), part(1)]]);
    let views = [(&first, Rank(3), ClockMap::identity()), (&second, Rank(12), behind)];
    let views = views.each_ref().map(|(trace, rank, map)| RankView { trace, rank: Some(*rank), map });
    timeline.add(&views).unwrap();
    let tally = timeline.finish().unwrap();
    let expected = Tally { spans: 12, instants: 6, samples: 4, flow_points: 6, loose_flow_points: 0, bytes: tally.bytes };
    assert_eq!(tally, expected);

    let apart = read_all(&bytes[..], &ALL).unwrap();
    assert_eq!(apart.iter().map(|trace| trace.provenance.rank.unwrap().0).collect::<Vec<_>>(), [Rank(3), Rank(12)]);
    assert_eq!(apart[1].spans.start_ns.iter().min(), Some(&10_000));
    let lines = |trace: &Trace| picture(trace).into_iter().filter(|line| !line.contains("between_ranks")).collect::<Vec<_>>();
    assert_eq!(lines(&apart[0]), picture(&first));
    let together = read(&bytes[..], &ALL).unwrap();
    assert_eq!(together.spans.len(), 12);
    let arrows: Vec<_> = picture(&together).into_iter().filter(|line| line.contains("between_ranks")).collect();
    assert_eq!(arrows.len(), 2);
    assert!(arrows[0].contains("Start at 1400") || arrows[1].contains("Start at 1400"), "{arrows:?}");
}

proptest! {
    /// Ranks that are added together are written while others are encoded, and the file is the same.
    #[test]
    fn a_file_is_the_same_in_whatever_groups_ranks_are_added(groups in proptest::collection::vec((0_usize..5, any::<bool>()), 1..5)) {
        let (trace, map) = (sample(), ClockMap::identity());
        let ranks: u32 = groups.iter().map(|(ranks, _)| *ranks as u32).sum();
        let view = |rank| RankView { trace: &trace, rank: Some(Rank(rank)), map: &map };
        let (mut together, mut alone) = (Vec::new(), Vec::new());
        let (mut first, mut second) = [&mut together, &mut alone].map(|bytes| Timeline::new(bytes).ranks_up_to(Rank(ranks))).into();
        let mut next = 0;
        for (ranks, derived) in groups {
            let views: Vec<_> = (next..next + ranks as u32).map(view).collect();
            first.add(&views).unwrap();
            views.iter().for_each(|view| second.add_rank(*view).unwrap());
            if derived {
                first.add_derived("critical path", &trace).unwrap();
                second.add_derived("critical path", &trace).unwrap();
            }
            next += ranks as u32;
        }
        prop_assert_eq!(first.finish().unwrap(), second.finish().unwrap());
        prop_assert!(together == alone);
    }
}

#[test]
fn without_arguments_there_are_none() {
    let mut trace = sample();
    trace.spans.args = rankscope_trace::ArgColumn::default();
    trace.instant_args = rankscope_trace::ArgColumn::default();
    let with = written(&sample()).len();
    let bytes = written(&trace);
    assert!(bytes.len() + 150 < with);
    let back = read(&bytes[..], &ReadOptions::default()).unwrap();
    assert_eq!(picture(&back), picture(&trace));
    assert_eq!(back.spans.args.rows(), 0);
}

#[test]
fn a_graph_launch_points_on_from_kernel_to_kernel() {
    let mut trace = sample();
    let end = trace.flows[1];
    trace.flows.push(FlowPoint { time_ns: 1_500, ..end });
    let back = read(&written(&trace)[..], &ALL).unwrap();
    let phases: Vec<_> = back.flows.iter().map(|point| (point.phase, point.time_ns)).collect();
    assert_eq!(phases, [(FlowPhase::Start, 1_200), (FlowPhase::Step, 1_400), (FlowPhase::End, 1_500)]);
}

#[test]
fn an_id_beyond_its_bits_is_renumbered() {
    let mut trace = sample();
    trace.flows.iter_mut().for_each(|point| point.id = u64::MAX - 5);
    let back = read(&written(&trace)[..], &ALL).unwrap();
    assert_eq!(back.flows.len(), 2);
    assert_eq!(back.flows[0].id, back.flows[1].id);
}

#[test]
fn points_on_no_span_are_counted() {
    let mut trace = sample();
    trace.flows[1].time_ns = 99_999;
    let mut timeline = Timeline::new(std::io::sink());
    timeline.add_rank(RankView { trace: &trace, rank: None, map: &ClockMap::identity() }).unwrap();
    assert_eq!(timeline.finish().unwrap().loose_flow_points, 1);
}

#[test]
fn nothing_and_nonsense_are_told_apart() {
    assert!(matches!(read(&b""[..], &ALL), Err(Error::Empty)));
    assert!(matches!(read(&b"{\"traceEvents\": []}"[..], &ALL), Err(Error::NotATrace { .. })));
    assert!(matches!(read(&written(&Trace::default())[..], &ALL), Err(Error::NoEvents { .. })));
}

/// Where each packet of a file starts, and the file's end.
fn boundaries(bytes: &[u8]) -> Vec<usize> {
    let mut stream = Stream::new(bytes);
    let mut at = vec![0];
    while let Some(tag) = stream.tag().unwrap() {
        assert!(stream.skip(tag).unwrap());
        at.push(stream.offset() as usize);
    }
    at
}

#[test]
fn every_prefix_of_packets_decodes() {
    let bytes = written(&sample());
    let mut last = 0;
    for end in boundaries(&bytes) {
        match read(&bytes[..end], &ALL) {
            Ok(trace) => {
                assert!(trace.spans.len() >= last);
                last = trace.spans.len();
                let problems: Vec<_> = trace.provenance.problems.iter().map(|problem| problem.kind).collect();
                assert!(problems.iter().all(|kind| *kind == ProblemKind::UnbalancedSpan), "{problems:?}");
            }
            Err(Error::Empty | Error::NoEvents { .. }) => {}
            Err(other) => panic!("{other}"),
        }
    }
    assert_eq!(last, 6);
}

#[test]
fn a_cut_packet_is_said_to_be_cut() {
    let bytes = written(&sample());
    let cuts = boundaries(&bytes);
    let start = cuts[cuts.len() - 2];
    let trace = read(&bytes[..start + 3], &ALL).unwrap();
    let problem = trace.provenance.problems.iter().next().unwrap();
    assert_eq!((problem.kind, problem.offset), (ProblemKind::Truncated, start as u64));
}

#[test]
fn packed_packets_are_unpacked() {
    let bytes = written(&sample());
    let deflated = {
        let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::fast());
        std::io::Write::write_all(&mut encoder, &bytes).unwrap();
        encoder.finish().unwrap()
    };
    let zstd = zstd::bulk::compress(&bytes, 1).unwrap();
    for (field, packed) in [(super::schema::packet::COMPRESSED, deflated), (super::schema::packet::ZSTD_COMPRESSED, zstd)] {
        let mut file = Encoder::default();
        file.message(super::schema::PACKET, |body| {
            body.bytes_field(field, &packed);
        });
        assert_eq!(picture(&read(file.bytes(), &ALL).unwrap()), picture(&sample()));
    }
}

/// Spans by track, start and length; many of them touch, nest or overlap.
fn some_spans() -> impl Strategy<Value = Vec<(u8, i64, i64)>> {
    prop::collection::vec((0..3u8, 0..40i64, 0..12i64), 1..60)
}

fn trace_of(spans: &[(u8, i64, i64)]) -> Trace {
    let mut trace = Trace::default();
    let device = trace.tracks.find_or_add(TrackKind::Device, None, TrackKey::Number(1));
    let category = trace.category("kernel", CategoryKind::Kernel);
    let key = trace.strings.intern("place");
    for (at, (stream, start_ns, dur_ns)) in spans.iter().enumerate() {
        let track = trace.tracks.find_or_add(TrackKind::Stream, Some(device), TrackKey::Number(i64::from(*stream)));
        let name = trace.strings.intern(&format!("kernel {}", at % 5));
        trace.spans.push(SpanRow { start_ns: *start_ns, dur_ns: *dur_ns, name, track, category, offset: 0 });
        trace.spans.args.push(key, ArgValue::I64(at as i64));
        trace.spans.args.end_row();
    }
    trace
}

proptest! {
    #[test]
    fn lanes_nest_and_lose_nothing(spans in some_spans()) {
        let starts: Vec<i64> = spans.iter().map(|(_, start, _)| *start).collect();
        let lengths: Vec<i64> = spans.iter().map(|(_, _, length)| *length).collect();
        let end = |span: u32| starts[span as usize] + lengths[span as usize];
        let mut order: Vec<u32> = (0..spans.len() as u32).collect();
        lanes::sort(&mut order, &starts, &lengths);
        let sizes = lanes::split(&mut order, &starts, &lengths);
        prop_assert_eq!(sizes.iter().sum::<usize>(), spans.len());
        let mut seen = order.clone();
        seen.sort_unstable();
        prop_assert!(seen.into_iter().eq(0..spans.len() as u32));
        let mut rest = &order[..];
        for size in sizes {
            let (lane, others) = rest.split_at(size);
            rest = others;
            prop_assert!(lane.is_sorted_by_key(|span| (starts[*span as usize], -lengths[*span as usize])));
            let mut open: Vec<i64> = Vec::new();
            for span in lane {
                while open.pop_if(|last| *last <= starts[*span as usize]).is_some() {}
                prop_assert!(open.last().is_none_or(|last| end(*span) <= *last));
                open.push(end(*span));
            }
        }
    }

    #[test]
    fn any_spans_are_read_back(spans in some_spans()) {
        let trace = trace_of(&spans);
        let back = read(&written(&trace)[..], &ALL).unwrap();
        prop_assert_eq!(picture(&back), picture(&trace));
        prop_assert!(back.provenance.problems.is_empty());
    }

    #[test]
    fn damage_never_panics(flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..12)) {
        let mut bytes = written(&sample());
        for (at, byte) in flips {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        let _ = read(&bytes[..], &ALL);
        let _ = read_all(&bytes[..], &ReadOptions::default());
    }

    #[test]
    fn noise_never_panics(noise in prop::collection::vec(any::<u8>(), 0..400)) {
        let _ = read(&noise[..], &ALL);
        let mut packet = Encoder::default();
        packet.bytes_field(super::schema::PACKET, &noise);
        let _ = read_all(packet.bytes(), &ALL);
    }
}

#[test]
fn a_staircase_of_overlaps_takes_a_lane_each() {
    let count = 100_000;
    let starts: Vec<i64> = (0..count).collect();
    let lengths = vec![count; count as usize];
    let mut order: Vec<u32> = (0..count as u32).collect();
    let sizes = lanes::split(&mut order, &starts, &lengths);
    assert_eq!(sizes.len(), count as usize);
    let by_size = sizes.into_iter().fold(BTreeMap::new(), |mut counts, size| {
        *counts.entry(size).or_insert(0) += 1;
        counts
    });
    assert_eq!(by_size, BTreeMap::from([(1, count)]));
}

#[test]
fn what_is_derived_is_drawn_and_not_read_back() {
    let (trace, path) = (sample(), sample());
    let mut bytes = Vec::new();
    let mut timeline = Timeline::new(&mut bytes);
    timeline.add_derived("critical path", &path).unwrap();
    let view = RankView { trace: &trace, rank: Some(Rank(3)), map: &ClockMap::identity() };
    timeline.add_rank(view).unwrap();
    let tally = timeline.finish().unwrap();
    assert_eq!((tally.spans, tally.bytes), (trace.spans.len() as u64, bytes.len() as u64));

    let alone = {
        let mut bytes = Vec::new();
        let mut timeline = Timeline::new(&mut bytes);
        timeline.add_rank(view).unwrap();
        timeline.finish().unwrap();
        read_all(&bytes[..], &ALL).unwrap()
    };
    let back = read_all(&bytes[..], &ALL).unwrap();
    let pictures = |traces: &[Trace]| traces.iter().map(picture).collect::<Vec<_>>();
    assert_eq!(pictures(&back), pictures(&alone));
    let drawn = bytes.windows(13).filter(|window| window == b"critical path").count();
    assert!(drawn >= 2, "spans that overlap need a second row: {drawn}");
}
