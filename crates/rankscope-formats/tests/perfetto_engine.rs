//! Perfetto's own engine loads what we write without a complaint and counts what we count.
//!
//! Runs where `RANKSCOPE_TRACE_PROCESSOR` names a folder with the engine's WebAssembly build (the Perfetto user interface ships
//! one) and `node` is installed; says so and passes otherwise.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod engine;

use std::collections::BTreeMap;
use std::path::Path;

use engine::{ask, engine, scratch};
use rankscope_formats::perfetto::{RankView, SpanOfRank, Tally, Timeline};
use rankscope_time::{ClockMap, Rank, Span};
use rankscope_trace::{
    ArgValue, CategoryKind, CounterSample, FlowPhase, FlowPoint, InstantMark, InstantScope, SpanId, SpanRow, StrId, Trace,
    TrackId, TrackKey, TrackKind,
};

const RANKS: u32 = 11;
const STEPS: i64 = 40;
const EPOCH_NS: i64 = 1_790_000_000_123_456_789;
/// How far each rank's clock is behind the one before it.
const SKEW_NS: i64 = 1_000_003;

#[test]
fn the_engine_counts_what_we_count() {
    let Some(engine) = engine() else { return };
    let ranks: Vec<MadeUp> = (0..RANKS).map(MadeUp::new).collect();
    let file = scratch("counts.pftrace");
    let tally = write(&ranks, &file);
    assert_eq!(tally.loose_flow_points, 0);

    let answers = ask(
        &engine,
        &file,
        &[
            "select name, severity, value from stats where severity in ('error', 'data_loss') and value > 0",
            "select ifnull(category, ''), count(*), sum(dur), min(ts), max(ts + dur) from slice group by 1 order by 1",
            "select count(*) from flow",
            "select count(*), sum(value) from counter c join track t on t.id = c.track_id where t.name not like 'rank %'",
            "include perfetto module viz.summary.track_event; select name from _track_event_tracks_ordered_groups \
             where parent_id is null and has_data and has_children order by order_id",
            "include perfetto module viz.summary.track_event; select g.name from _track_event_tracks_ordered_groups g \
             join track rank on rank.id = g.parent_id where rank.name = 'rank 10' order by g.order_id",
            "select count(*) from process where name is not null",
            "select count(*) from slice where depth > 20 or dur < 0",
            "select clock_value - ts from clock_snapshot where clock_name = 'REALTIME'",
        ],
    );
    let none: &[Vec<String>] = &[];
    assert_eq!(answers[0], none, "complaints of the engine");
    assert_eq!(answers[1], by_category(&ranks));
    let arrows: usize = ranks.iter().map(|rank| rank.arrows).sum();
    assert_eq!(answers[2], [[(arrows + (RANKS as usize - 1) * STEPS as usize).to_string()]]);
    let samples: Vec<f64> = ranks.iter().flat_map(|rank| rank.trace.counters.iter().map(|sample| sample.value)).collect();
    assert_eq!(answers[3], [[samples.len().to_string(), samples.iter().sum::<f64>().to_string()]]);
    assert_eq!(answers[4].concat(), (0..RANKS).map(|rank| format!("rank {rank:02}")).collect::<Vec<_>>());
    let device = ["device 0 stream 7", "device 0 stream 20", "device 0 stream 20 (2)", "device 0 power"];
    let host = ["python3 4711", "main", "pt_autograd_0", "memory allocated", "memory reserved"];
    assert_eq!(answers[5].concat(), [&device[..], &host].concat());
    assert_eq!(answers[6], [["0"]]);
    assert_eq!(answers[7], [["0"]]);
    assert_eq!(answers[8], [["0"]]);
}

#[test]
fn arguments_keep_their_values() {
    let Some(engine) = engine() else { return };
    let file = scratch("args.pftrace");
    write(&[MadeUp::new(0)], &file);
    let answers = ask(
        &engine,
        &file,
        &[
            "select key, display_value from args join slice using (arg_set_id) where slice.name = 'odd' order by key",
            "select count(*) from slice where name = 'aten::mm' and extract_arg(arg_set_id, 'debug.Sequence') % 3 = 0",
        ],
    );
    let expected = [
        ("debug.bool", "true"),
        ("debug.json", "[[2, 3], {\"a\": null}]"),
        ("debug.max", "18446744073709551615"),
        ("debug.min", "-9223372036854775808"),
        ("debug.null", "null"),
        ("debug.real", "0.25"),
        ("debug.text", "\u{e4} \"quoted\""),
    ];
    let answered: Vec<(&str, &str)> = answers[0].iter().map(|row| (&row[0][..], &row[1][..])).collect();
    // Older engines show unsigned numbers as signed ones.
    let signed = answered.iter().map(|(key, value)| (*key, if *value == "-1" { "18446744073709551615" } else { *value }));
    assert_eq!(signed.collect::<Vec<_>>(), expected);
    assert_eq!(answers[1], [[(STEPS * 3).to_string()]]);
}

#[test]
fn odd_flows_and_crowded_tracks_raise_no_complaint() {
    let Some(engine) = engine() else { return };
    let file = scratch("odd.pftrace");
    let mut rank = MadeUp::new(0);
    let (spans, points) = (rank.trace.spans.len(), rank.trace.flows.len());
    let device = rank.track(TrackKind::Device, None, 1, "");
    let stream = rank.track(TrackKind::Stream, Some(device), 0, "");
    let (mut seed, mut time) = (1u64, 0);
    for at in 0..3_000 {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let (start, dur) = (EPOCH_NS + (seed >> 33) as i64 % 5_000, (seed >> 50) as i64 % 40);
        rank.span(stream, "crowd", "x", start, dur);
        time += dur;
        // Alone, twice on one span, backwards, and wider than a flow id of ours can be.
        match at % 4 {
            0 => rank.flow("lone", at, FlowPhase::Start, stream, start),
            1 => [FlowPhase::Start, FlowPhase::End]
                .map(|phase| rank.flow("self", at, phase, stream, start))
                .into_iter()
                .collect(),
            2 => {
                rank.flow("back", at, FlowPhase::End, stream, start);
                rank.flow("back", at, FlowPhase::Start, stream, EPOCH_NS + 5_000);
            }
            _ => rank.flow("wide", u64::MAX - at, FlowPhase::End, stream, start),
        }
    }
    rank.span(stream, "crowd", "last", EPOCH_NS + 5_000, 9);
    let tally = write(&[rank], &file);
    let answers = ask(
        &engine,
        &file,
        &[
            "select name, severity, value from stats where severity in ('error', 'data_loss') and value > 0",
            "select count(*), sum(dur), min(dur) from slice where category = 'crowd'",
            "select count(*) from flow where slice_out in (select id from slice where category = 'crowd')",
        ],
    );
    assert_eq!(answers[0], [[""; 0]; 0]);
    assert_eq!(answers[1], [["3001", &(time + 9).to_string(), "0"]]);
    assert_eq!(answers[2], [["750"]]);
    assert_eq!(tally.spans as usize, spans + 3_001);
    assert_eq!(tally.flow_points as usize, points + STEPS as usize + 750 * 5);
}

/// Count, time and extent of each category on the reference clock.
fn by_category(ranks: &[MadeUp]) -> Vec<Vec<String>> {
    let mut sums: BTreeMap<String, (u64, i64, i64, i64)> = BTreeMap::new();
    for (skew, rank) in ranks.iter().enumerate().map(|(at, rank)| (at as i64 * SKEW_NS, rank)) {
        let trace = &rank.trace;
        let spans = trace.spans.ids().map(|span| {
            let row = trace.spans.row(span);
            (row.category, row.start_ns, row.dur_ns)
        });
        let instants = trace.instants.iter().map(|mark| (mark.category, mark.time_ns, 0));
        for (category, start, dur) in spans.chain(instants) {
            let name = trace.strings.text(trace.categories[usize::from(category)].name).to_owned();
            let sum = sums.entry(name).or_insert((0, 0, i64::MAX, i64::MIN));
            *sum = (sum.0 + 1, sum.1 + dur, sum.2.min(start + skew), sum.3.max(start + skew + dur));
        }
    }
    let texts = |(name, (count, time, first, last)): (String, (u64, i64, i64, i64))| {
        vec![name, count.to_string(), time.to_string(), first.to_string(), last.to_string()]
    };
    sums.into_iter().map(texts).collect()
}

fn write(ranks: &[MadeUp], file: &Path) -> Tally {
    let output = std::fs::File::create(file).unwrap();
    let mut timeline = Timeline::new(std::io::BufWriter::new(output));
    timeline.connect((0..STEPS as usize).map(|step| {
        let part = |(rank, of): (usize, &MadeUp)| SpanOfRank { rank, span: of.collectives[step] };
        ranks.iter().enumerate().map(part).collect::<Vec<_>>()
    }));
    let maps: Vec<_> = (0..ranks.len()).map(|at| ClockMap::from_offset(Span::from_nanos(at as i64 * SKEW_NS), 0)).collect();
    let views = ranks.iter().zip(&maps).map(|(rank, map)| RankView { trace: &rank.trace, rank: Some(rank.rank), map });
    timeline.add(&views.collect::<Vec<_>>()).unwrap();
    timeline.finish().unwrap()
}

/// A rank of a made-up job, and what the engine should find in it. All ranks have the same pids, tids and flow ids.
struct MadeUp {
    rank: Rank,
    trace: Trace,
    arrows: usize,
    collectives: Vec<SpanId>,
}

impl MadeUp {
    fn new(rank: u32) -> Self {
        let mut of = Self { rank: Rank(rank), trace: Trace::default(), arrows: 0, collectives: Vec::new() };
        let process = of.track(TrackKind::Process, None, 4711, "python3");
        let device = of.track(TrackKind::Device, None, 0, "");
        let main = of.track(TrackKind::Thread, Some(process), 4711, "main");
        let backward = of.track(TrackKind::Thread, Some(process), 4712, "pt_autograd_0");
        let compute = of.track(TrackKind::Stream, Some(device), 7, "");
        let comm = of.track(TrackKind::Stream, Some(device), 20, "");
        for step in 0..STEPS {
            let start = EPOCH_NS + step * 1_000_000;
            of.span(main, "user_annotation", &format!("ProfilerStep#{step}"), start, 900_000);
            for op in 0..9 {
                let at = start + op * 90_000;
                let call = of.span(main, "cpu_op", "aten::mm", at, 80_000);
                of.arg(call, "Sequence", ArgValue::I64(op));
                of.span(main, "cpu_op", "aten::empty", at, 80_000);
                of.span(main, "cuda_runtime", "cudaLaunchKernel", at + 30_000, 0);
                let id = (step * 9 + op) as u64;
                of.flow("ac2g", id, FlowPhase::Start, main, at + 30_000);
                of.span(compute, "kernel", "sgemm", at + 50_000, 39_000);
                of.flow("ac2g", id, FlowPhase::End, compute, at + 50_000);
                of.flow("fwdbwd", id, FlowPhase::Start, main, at);
                of.span(backward, "cpu_op", "MmBackward0", at + 600_000, 40_000);
                of.flow("fwdbwd", id, FlowPhase::End, backward, at + 600_000);
                of.arrows += 2;
            }
            // Two collectives in flight at once, as one communicator's stream shows them with graphs.
            let first = of.span(comm, "kernel", "ncclAllReduce", start + 100_000 + i64::from(rank), 500_000);
            of.span(comm, "kernel", "ncclAllGather", start + 300_000, 500_000);
            of.collectives.push(first);
            of.counter(process, "memory", "allocated", start, step as f64 * 1.5);
            of.counter(process, "memory", "reserved", start, 64.0);
            of.counter(device, "power", "", start + 5, 350.25);
            of.instant(main, "[memory]", InstantScope::Thread, start + 7);
        }
        of.instant(process, "Record Window End", InstantScope::Global, EPOCH_NS + STEPS * 1_000_000);
        of.odd(backward);
        of
    }

    /// One span with an argument of every type.
    fn odd(&mut self, track: TrackId) {
        let odd = self.span(track, "", "odd", EPOCH_NS - 1_000, 10);
        let text = self.trace.strings.intern("\u{e4} \"quoted\"");
        let json = self.trace.strings.intern("[[2, 3], {\"a\": null}]");
        self.arg(odd, "bool", ArgValue::Bool(true));
        self.arg(odd, "json", ArgValue::Json(json));
        self.arg(odd, "max", ArgValue::U64(u64::MAX));
        self.arg(odd, "min", ArgValue::I64(i64::MIN));
        self.arg(odd, "null", ArgValue::Null);
        self.arg(odd, "real", ArgValue::F64(0.25));
        self.arg(odd, "text", ArgValue::Text(text));
        self.trace.spans.args.end_row();
    }

    fn track(&mut self, kind: TrackKind, parent: Option<TrackId>, key: i64, name: &str) -> TrackId {
        let id = self.trace.tracks.find_or_add(kind, parent, TrackKey::Number(key));
        self.trace.tracks.get_mut(id).name = self.trace.strings.intern(name);
        id
    }

    fn span(&mut self, track: TrackId, category: &str, name: &str, start_ns: i64, dur_ns: i64) -> SpanId {
        while self.trace.spans.args.rows() < self.trace.spans.len() {
            self.trace.spans.args.end_row();
        }
        let category = self.trace.category(category, CategoryKind::of_kineto(category));
        let name = self.trace.strings.intern(name);
        self.trace.spans.push(SpanRow { start_ns, dur_ns, name, track, category, offset: 0 })
    }

    fn arg(&mut self, _newest: SpanId, key: &str, value: ArgValue) {
        let key = self.trace.strings.intern(key);
        self.trace.spans.args.push(key, value);
    }

    fn flow(&mut self, name: &str, id: u64, phase: FlowPhase, track: TrackId, time_ns: i64) {
        let category = self.trace.category(name, CategoryKind::Other);
        let name = self.trace.strings.intern(name);
        self.trace.flows.push(FlowPoint { id, category, name, phase, track, time_ns });
    }

    fn counter(&mut self, track: TrackId, name: &str, series: &str, time_ns: i64, value: f64) {
        let name = self.trace.strings.intern(name);
        let series = if series.is_empty() { StrId::EMPTY } else { self.trace.strings.intern(series) };
        self.trace.counters.push(CounterSample { time_ns, name, series, track, value });
    }

    fn instant(&mut self, track: TrackId, name: &str, scope: InstantScope, time_ns: i64) {
        let category = self.trace.category("cpu_instant_event", CategoryKind::Other);
        let name = self.trace.strings.intern(name);
        self.trace.instants.push(InstantMark { time_ns, name, track, category, scope });
    }
}
