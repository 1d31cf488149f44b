//! Device work that a plugin collected is in the recording, on the streams of its devices, joined to the spans that caused it, in
//! every format that is read back.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

use rankscope_formats::recording::ClockId;
use rankscope_formats::{ArgsPolicy, ReadOptions, Scope, read};
use rankscope_record::plugins::{DeviceSource, PluginError, ProfilerPlugin, Registry, TraceSink};
use rankscope_record::recording::device::{
    CorrelationKind, DeviceItem, DeviceMemory, DeviceRecord, ExternalCorrelation, MemoryChange, MemoryKind, MemoryOwner,
    MemoryPool,
};
use rankscope_record::{Category, Recorded, Session, SessionOptions, current_correlation, record_function};
use rankscope_trace::{ArgValue, SpanId, Trace, TrackKind};

/// A device of which each launch takes a call of 1 µs and, 2 µs later, a kernel of 5 µs.
struct Device {
    span: Arc<AtomicU64>,
    launched_ns: i64,
}

const CALL: u64 = 77;

fn now_ns() -> i64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos() as i64
}

impl Device {
    fn record(&self, kind: Category, name: &str, after_ns: i64, took_ns: i64, stream: u64) -> DeviceItem {
        let start_ns = self.launched_ns + after_ns;
        let name = Arc::from(name);
        DeviceItem::Record(DeviceRecord {
            kind,
            name,
            start_ns,
            end_ns: start_ns + took_ns,
            device: u32::from(stream == 7) * 3,
            stream,
            correlation: CALL,
            graph: None,
        })
    }
}

impl ProfilerPlugin for Device {
    fn name(&self) -> &str {
        "device"
    }

    fn on_profiling_start(&mut self) -> Result<(), PluginError> {
        self.launched_ns = now_ns();
        Ok(())
    }

    fn export_data(&mut self, sink: &mut TraceSink<'_>) -> Result<(), PluginError> {
        while now_ns() < self.launched_ns + 20_000 {}
        let external_id = self.span.load(Ordering::Relaxed);
        let kind = CorrelationKind::UserAnnotation;
        let ties = [CorrelationKind::Default, kind]
            .map(|kind| DeviceItem::Tie(ExternalCorrelation { kind, external_id, correlation: CALL }));
        let buffers = [
            vec![
                self.record(Category::KERNEL, "gemm", 3_000, 5_000, 7),
                self.record(Category::CUDA_RUNTIME, "launch", 0, 1_000, 4242),
            ],
            ties.to_vec(),
            vec![self.record(Category::KERNEL, "long gone", -9_000_000_000, 1_000, 7)],
        ];
        let source = DeviceSource::new(ClockId::REALTIME);
        buffers.iter().for_each(|buffer| source.hand_over(buffer));
        let tally = sink.device_work(&source).ok_or("nothing was handed over")?;
        assert_eq!((tally.activities, tally.launches, tally.annotations), (2, 1, 1));
        assert_eq!((tally.dropped.out_of_window, tally.oddities.unknown_ops), (1, 0));
        // Nothing is told of what there is none of.
        assert_eq!(sink.device_work(&DeviceSource::new(ClockId::REALTIME)), None);
        Ok(())
    }
}

fn recorded() -> Recorded {
    let span = Arc::new(AtomicU64::new(0));
    let mut plugins = Registry::new();
    plugins.register(Device { span: span.clone(), launched_ns: 0 });
    let session = Session::start_with(SessionOptions::default(), plugins).unwrap();
    let forward = record_function!("forward");
    assert_eq!(current_correlation(), forward.correlation_id());
    span.store(current_correlation().unwrap(), Ordering::Relaxed);
    drop(forward);
    let stopped = session.stop().unwrap();
    assert!(stopped.report.plugins.is_empty(), "{:?}", stopped.report.plugins);
    stopped.recorded
}

fn argument(trace: &Trace, span: SpanId, key: &str) -> Option<ArgValue> {
    trace.spans.args.row(span.0 as usize).find_map(|(known, value)| (trace.strings.text(known) == key).then_some(value))
}

/// Name, kind of row, length to ten nanoseconds, stream and External id of each span, in words. Both ends of device work are put on the
/// session's clock, by what two short looks at both clocks tell of their rates.
fn told(trace: &Trace) -> Vec<String> {
    let mut told: Vec<String> = trace
        .spans
        .ids()
        .map(|span| {
            let row = trace.spans.row(span);
            let kind = trace.tracks.get(row.track).kind;
            let is_host = kind == TrackKind::Thread || kind == TrackKind::Process;
            let length = if trace.name(span) == "forward" && is_host { -1 } else { (row.dur_ns + 5) / 10 * 10 };
            let has_id = argument(trace, span, "External id").is_some();
            let [stream, call] = ["stream", "correlation"].map(|key| argument(trace, span, key));
            format!("{} {kind:?} {length} {has_id} {stream:?} {call:?}", trace.name(span))
        })
        .collect();
    told.sort();
    told
}

/// The only trace of the file, with all arguments.
fn reread(path: &Path, scope: Scope) -> Trace {
    let name = path.file_name().unwrap().to_string_lossy();
    let options = ReadOptions::default().with_label(&*name).with_args(ArgsPolicy::All).with_scope(scope);
    let mut members = read(File::open(path).unwrap(), &options).unwrap();
    assert_eq!(members.len(), 1, "{name}");
    members.remove(0).trace.unwrap()
}

#[test]
fn device_work_is_on_its_stream_with_its_span_and_its_call() {
    let recorded = recorded();
    let folder = tempfile::tempdir().unwrap();
    let wanted = [
        "forward Stream 5000 true Some(I64(7)) None",
        "forward Thread -1 true None None",
        "gemm Stream 5000 true Some(I64(7)) Some(I64(77))",
        "launch Thread 1000 true None Some(I64(77))",
    ];
    for name in ["a.rkr", "a.json", "a.pftrace"] {
        let path = folder.path().join(name);
        recorded.save(&path).unwrap();
        let trace = &reread(&path, Scope::All);
        assert_eq!(told(trace), wanted, "{name}");
        assert!(trace.provenance.problems.is_empty(), "{name}: {:?}", trace.provenance.problems);
        assert!(trace.instants.is_empty(), "{name}: what tells of device work is no moment of its own");
        let device = reread(&path, Scope::Device);
        assert!(device.spans.ids().any(|span| device.name(span) == "gemm"), "{name}");
    }
}

/// Memory of a card and of the host, allocated and freed a microsecond apart, with a free of what nobody allocated and one without a time.
fn with_memory() -> Recorded {
    let session = Session::start(SessionOptions::default()).unwrap();
    let started_ns = now_ns();
    let (allocated, freed) = (MemoryChange::Allocated, MemoryChange::Freed);
    let memory = |after_ns: i64, change, owner, address, bytes, pool: Option<u64>| {
        DeviceItem::Memory(DeviceMemory {
            at_ns: started_ns + after_ns,
            change,
            kind: if owner == Some(MemoryOwner::HOST) { MemoryKind::Pinned } else { MemoryKind::Device },
            owner,
            address,
            bytes,
            pool: pool.map(|bytes| MemoryPool { address: 1, bytes }),
            stream: pool.map(|_| 7),
            thread: Some(4_242),
            correlation: address,
        })
    };
    let card = MemoryOwner::cuda(3);
    let source = DeviceSource::new(ClockId::REALTIME);
    while now_ns() < started_ns + 20_000 {}
    source.hand_over(&[
        memory(5_000, freed, None, 0x10, 0, None),
        memory(1_000, allocated, card, 0x10, 4_096, None),
        memory(2_000, allocated, card, 0x20, 512, Some(2_048)),
        memory(3_000, allocated, Some(MemoryOwner::HOST), 0x30, 64, None),
        memory(4_000, freed, card, 0x40, 99, None),
        memory(-started_ns, allocated, card, 0x50, 1, None),
    ]);
    let tally = source.tally().unwrap().memory;
    assert_eq!((tally.events, tally.dropped.zero_timestamp, tally.oddities.unknown_frees), (5, 1, 1));
    session.stop().unwrap().recorded
}

/// Each change of memory: when after the first, to ten nanoseconds, its thread, and what its arguments say.
fn told_memory(trace: &Trace) -> Vec<String> {
    let mut marks: Vec<_> = trace.instants.iter().enumerate().collect();
    marks.sort_by_key(|(_, mark)| mark.time_ns);
    let first_ns = marks.first().map_or(0, |(_, mark)| mark.time_ns);
    let keys = ["Device Type", "Device Id", "Addr", "Bytes", "Total Allocated", "Total Reserved", "stream", "correlation"];
    let told = |(at, mark): (usize, &rankscope_trace::InstantMark)| {
        assert_eq!(trace.strings.text(mark.name), "[memory]");
        let value = |key: &str| {
            trace.instant_args.row(at).find_map(|(known, value)| (trace.strings.text(known) == key).then_some(value))
        };
        let numbers = keys.map(|key| match value(key) {
            Some(ArgValue::I64(number)) => number.to_string(),
            Some(ArgValue::U64(number)) => number.to_string(),
            None => "-".to_owned(),
            other => panic!("{key}: {other:?}"),
        });
        let Some(ArgValue::Text(kind)) = value("Memory Kind") else { panic!("no kind of memory") };
        assert_eq!(value("memory_place"), None);
        format!("{} {} {}", (mark.time_ns - first_ns + 5) / 10 * 10, numbers.join(" "), trace.strings.text(kind))
    };
    marks.into_iter().map(told).collect()
}

#[test]
fn memory_of_devices_is_told_in_every_format_with_what_is_in_use() {
    let recorded = with_memory();
    let folder = tempfile::tempdir().unwrap();
    let wanted = [
        "0 1 3 16 4096 4096 4096 - 16 device",
        "1000 1 3 32 512 4608 6144 7 32 device",
        "2000 0 -1 48 64 64 64 - 48 pinned",
        "3000 1 3 64 -99 - - - 64 device",
        "4000 1 3 16 -4096 512 2048 - 16 device",
    ];
    for name in ["a.rkr", "a.json", "a.pftrace"] {
        let path = folder.path().join(name);
        recorded.save(&path).unwrap();
        let trace = &reread(&path, Scope::All);
        assert_eq!(told_memory(trace), wanted, "{name}");
        assert!(trace.provenance.problems.is_empty() && trace.counters.is_empty(), "{name}: {:?}", trace.provenance.problems);
        if name != "a.pftrace" {
            let thread = |mark: &rankscope_trace::InstantMark| trace.tracks.get(mark.track).key;
            assert!(trace.instants.iter().all(|mark| thread(mark) == rankscope_trace::TrackKey::Number(4_242)), "{name}");
        }
    }
    let drawn = std::fs::read(folder.path().join("a.pftrace")).unwrap();
    let counters = ["device 3 memory allocated", "device 3 memory reserved", "host memory allocated"];
    for counter in counters {
        assert_eq!(drawn.windows(counter.len()).filter(|bytes| *bytes == counter.as_bytes()).count(), 1, "{counter}");
    }
}
