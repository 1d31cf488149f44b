use std::io::Cursor;

use proptest::prelude::*;
use rankscope_trace::{ArgValue, CategoryKind, CopyDirection, ProblemKind, Problems, Trace, TrackKey};
use serde_json::{Value, json};

use super::*;
use crate::{ArgsPolicy, Foreign};

/// A process with one of everything, as rocprofv3 writes it.
fn process() -> Value {
    let correlation = |internal: u64| json!({"internal": internal, "external": 0});
    let call = |kind: u64, operation: u64, internal: u64, start: u64, end: u64| {
        json!({"size": 64, "kind": kind, "operation": operation, "thread_id": 11, "correlation_id": correlation(internal),
            "start_timestamp": start, "end_timestamp": end})
    };
    let dispatch = |kernel: u64, stream: u64, internal: u64, start: u64, end: u64| {
        json!({"kind": 3, "operation": 1, "thread_id": 11, "correlation_id": correlation(internal), "start_timestamp": start,
            "end_timestamp": end, "stream_id": {"handle": stream},
            "dispatch_info": {"agent_id": {"handle": 901}, "queue_id": {"handle": 2}, "kernel_id": kernel, "dispatch_id": internal,
                "workgroup_size": {"x": 256, "y": 1, "z": 1}, "grid_size": {"x": 1000, "y": 2, "z": 1}}})
    };
    let copy = |operation: u64, from: u64, to: u64, internal: u64, start: u64, end: u64| {
        json!({"kind": 4, "operation": operation, "thread_id": 11, "correlation_id": correlation(internal), "start_timestamp": start,
            "end_timestamp": end, "src_agent_id": {"handle": from}, "dst_agent_id": {"handle": to}, "bytes": 4096,
            "stream_id": {"handle": 5}})
    };
    json!({
        "metadata": {"node": {"hostname": "node7"}, "pid": 10, "command": ["python"]},
        "agents": [
            {"id": {"handle": 900}, "type": 1, "name": "EPYC", "product_name": "EPYC", "logical_node_type_id": 0, "gpu_index": -1},
            {"id": {"handle": 901}, "type": 2, "name": "gfx942", "product_name": "AMD Instinct MI300X", "logical_node_type_id": 0},
            {"id": {"handle": 902}, "type": 2, "name": "gfx942", "product_name": "AMD Instinct MI300X", "logical_node_type_id": 1},
        ],
        "strings": {
            "callback_records": [{"kind": "NONE", "operations": []}],
            "buffer_records": [
                {"kind": "NONE", "operations": []},
                {"kind": "HSA_CORE_API", "operations": ["hsa_queue_create", "hsa_signal_wait"]},
                {"kind": "HIP_RUNTIME_API", "operations": ["hipLaunchKernel", "hipMemcpyAsync"]},
                {"kind": "KERNEL_DISPATCH", "operations": ["KERNEL_DISPATCH_NONE", "KERNEL_DISPATCH_COMPLETE"]},
                {"kind": "MEMORY_COPY", "operations": ["MEMORY_COPY_NONE", "MEMORY_COPY_HOST_TO_HOST", "MEMORY_COPY_HOST_TO_DEVICE",
                    "MEMORY_COPY_DEVICE_TO_HOST", "MEMORY_COPY_DEVICE_TO_DEVICE"]},
                {"kind": "MARKER_CORE_API", "operations": ["roctxMarkA", "roctxRangePushA", "roctxGetThreadId"]},
                {"kind": "RCCL_API", "operations": ["ncclAllReduce"]},
            ],
            "marker_api": [{"key": 20, "value": "forward"}, {"key": 21, "value": "loss is 3"}],
        },
        "kernel_symbols": [
            {"kernel_id": 7, "kernel_name": "_Z4gemmv.kd", "formatted_kernel_name": "gemm(int)", "demangled_kernel_name": "gemm(int) [clone .kd]"},
            {"kernel_id": 8, "kernel_name": "relu.kd"},
        ],
        "callback_records": {"counter_collection": []},
        "buffer_records": {
            "kernel_dispatch": [dispatch(7, 5, 101, 1_000_000_000_000_130, 1_000_000_000_000_171), dispatch(8, 6, 102, 1_000_000_000_000_140, 1_000_000_000_000_140)],
            "hip_api": [call(2, 0, 101, 1_000_000_000_000_100, 1_000_000_000_000_120), call(2, 1, 103, 1_000_000_000_000_125, 1_000_000_000_000_129)],
            "hsa_api": [call(1, 1, 104, 1_000_000_000_000_126, 1_000_000_000_000_128)],
            "marker_api": [call(5, 1, 20, 1_000_000_000_000_090, 1_000_000_000_000_300), call(5, 0, 21, 1_000_000_000_000_200, 1_000_000_000_000_200),
                call(5, 2, 22, 1_000_000_000_000_201, 1_000_000_000_000_202)],
            "rccl_api": [call(6, 0, 105, 1_000_000_000_000_210, 1_000_000_000_000_220)],
            "memory_copy": [copy(2, 900, 901, 103, 1_000_000_000_000_180, 1_000_000_000_000_190), copy(4, 901, 902, 106, 1_000_000_000_000_191, 1_000_000_000_000_192),
                copy(4, 901, 901, 107, 1_000_000_000_000_193, 1_000_000_000_000_194), copy(1, 900, 900, 108, 1_000_000_000_000_195, 1_000_000_000_000_196)],
            "pc_sample_host_trap": [{"a": 1}, {"a": 2}],
        },
    })
}

fn file(process: &Value) -> String {
    json!({KEY: [process]}).to_string()
}

fn traces(text: &str) -> Result<Vec<Trace>, Error> {
    read_all(Cursor::new(text), &ReadOptions::default().with_label("rank3.json").with_args(ArgsPolicy::All))
}

fn trace(text: &str) -> Trace {
    let mut traces = traces(text).unwrap();
    assert_eq!(traces.len(), 1);
    traces.remove(0)
}

/// Kind, name, place, start and length of every span; times from the round number on.
fn spans(trace: &Trace) -> Vec<(CategoryKind, String, String, i64, i64)> {
    let number = |key| if let TrackKey::Number(number) = key { number } else { -1 };
    let row = |span| {
        let row = trace.spans.row(span);
        let track = trace.tracks.get(row.track);
        let parent = trace.tracks.get(track.parent.unwrap());
        let place = format!("{:?} {} {}", parent.kind, number(parent.key), number(track.key));
        (trace.kind(span), trace.name(span).to_owned(), place, row.start_ns - 1_000_000_000_000_000, row.dur_ns)
    };
    trace.spans.ids().map(row).collect()
}

fn count(problems: &Problems, kind: ProblemKind) -> u64 {
    problems.count(kind)
}

#[test]
fn every_record_becomes_what_it_is() {
    use CategoryKind as K;
    let trace = trace(&file(&process()));
    let expected = [
        (K::Kernel, "gemm(int)", "Device 0 5", 130, 41),
        (K::Kernel, "relu", "Device 0 6", 140, 0),
        (K::Runtime, "hipLaunchKernel", "Process 10 11", 100, 20),
        (K::Runtime, "hipMemcpyAsync", "Process 10 11", 125, 4),
        (K::Driver, "hsa_signal_wait", "Process 10 11", 126, 2),
        (K::UserAnnotation, "forward", "Process 10 11", 90, 210),
        (K::Other, "roctxGetThreadId", "Process 10 11", 201, 1),
        (K::CpuOp, "ncclAllReduce", "Process 10 11", 210, 10),
        (K::Memcpy, "MEMORY_COPY_HOST_TO_DEVICE", "Device 0 5", 180, 10),
        (K::Memcpy, "MEMORY_COPY_DEVICE_TO_DEVICE", "Device 1 5", 191, 1),
        (K::Memcpy, "MEMORY_COPY_DEVICE_TO_DEVICE", "Device 0 5", 193, 1),
        (K::Other, "MEMORY_COPY_HOST_TO_HOST", "Process 10 11", 195, 1),
    ];
    // serde_json sorts the lists of an object by name; records come as the file has them.
    let mut found = spans(&trace);
    let mut expected: Vec<_> =
        expected.map(|(kind, name, place, start, dur)| (kind, name.to_owned(), place.to_owned(), start, dur)).into();
    found.sort_by_key(|row| row.3);
    expected.sort_by_key(|row| row.3);
    assert_eq!(found, expected);
    let directions: Vec<_> = trace.directions.iter().map(|(_, direction)| direction).collect();
    assert_eq!(directions, [CopyDirection::HostToDevice, CopyDirection::PeerToPeer, CopyDirection::DeviceToDevice]);
    assert!(trace.bytes.iter().all(|(_, bytes)| bytes == 4096) && trace.bytes.len() == 4);
    let mark = trace.instants[0];
    assert_eq!((trace.strings.text(mark.name), mark.time_ns), ("loss is 3", 1_000_000_000_000_200));
    assert_eq!(trace.correlations.iter().filter(|(_, id)| *id == 101).count(), 2, "the launch and its kernel");
    let about = &trace.provenance;
    assert_eq!((about.host.as_deref(), about.format.name()), (Some("node7"), "rocprofv3"));
    assert_eq!(about.devices.iter().map(|device| device.name.as_str()).collect::<Vec<_>>(), ["AMD Instinct MI300X"; 2]);
    let problems: Vec<_> = about.problems.iter().map(|problem| (problem.kind, problem.count, &problem.detail[..])).collect();
    assert_eq!(problems, [(ProblemKind::Unsupported, 2, "records of pc_sample_host_trap")]);
}

#[test]
fn grids_are_in_blocks_and_places_are_arguments() {
    let trace = trace(&file(&process()));
    let span = trace.spans.ids().find(|span| trace.name(*span) == "gemm(int)").unwrap();
    let arg = |key: &str| trace.spans.args.value(span.0 as usize, trace.strings.find(key).unwrap()).unwrap();
    let json = |key| if let ArgValue::Json(text) = arg(key) { trace.strings.text(text).to_owned() } else { String::new() };
    assert_eq!((json("grid"), json("block")), ("[4, 2, 1]".to_owned(), "[256, 1, 1]".to_owned()));
    assert_eq!((arg("device"), arg("stream"), arg("correlation")), (ArgValue::I64(0), ArgValue::I64(5), ArgValue::I64(101)));
}

#[test]
fn the_order_of_members_does_not_matter() {
    let process = process();
    let keys: Vec<&String> = process.as_object().unwrap().keys().collect();
    let text = |keys: &[&String]| {
        let members: Vec<String> = keys.iter().map(|key| format!("\"{key}\": {}", process[key.as_str()])).collect();
        format!("\u{feff} {{ \"{KEY}\" : [ {{ {} }} ] }}", members.join(" , "))
    };
    let reversed: Vec<&String> = keys.iter().rev().copied().collect();
    let (one, other) = (trace(&text(&keys)), trace(&text(&reversed)));
    assert_eq!(spans(&one), spans(&other));
    assert!(is_head(text(&keys).as_bytes()));
}

#[test]
fn bad_records_are_fewer_and_counted() {
    let mut process = process();
    let records = process["buffer_records"]["kernel_dispatch"].as_array_mut().unwrap();
    let good = records[0].clone();
    let with = |key: &str, value: Value| {
        let mut record = good.clone();
        record[key] = value;
        record
    };
    records.push(with("end_timestamp", json!(5)));
    records.push(with("start_timestamp", json!(0)));
    records.push(with("start_timestamp", json!(u64::MAX)));
    records.push(with("correlation_id", json!({"internal": u64::MAX})));
    records.push(with("thread_id", json!("eleven")));
    records.push(with("dispatch_info", json!({"kernel_id": 99})));
    records.push(json!({}));
    records.push(json!(null));
    let trace = trace(&file(&process));
    let problems = &trace.provenance.problems;
    assert_eq!(count(problems, ProblemKind::NegativeDuration), 1);
    assert_eq!(count(problems, ProblemKind::MissingTimestamp), 3);
    assert_eq!(count(problems, ProblemKind::MalformedEvent), 2);
    assert_eq!(count(problems, ProblemKind::MissingInterned), 2);
    let kernels: Vec<_> =
        spans(&trace).into_iter().filter(|row| row.0 == CategoryKind::Kernel).map(|row| (row.1, row.4)).collect();
    let expected = [("gemm(int)", 41), ("relu", 0), ("gemm(int)", 0), ("gemm(int)", 41), ("kernel 99", 41)];
    assert_eq!(kernels, expected.map(|(name, dur)| (name.to_owned(), dur)));
    let malformed = problems.iter().find(|problem| problem.kind == ProblemKind::MalformedEvent).unwrap();
    assert!(file(&process)[malformed.offset as usize..].contains("eleven"));
}

#[test]
fn several_processes_are_several_traces() {
    let mut other = process();
    other["metadata"]["pid"] = json!(12);
    let traces = traces(&json!({KEY: [process(), other]}).to_string()).unwrap();
    let files: Vec<_> = traces.iter().map(|trace| trace.provenance.file.as_str()).collect();
    assert_eq!(files, ["rank3.json:pid10", "rank3.json:pid12"]);
}

#[test]
fn a_file_without_records_says_what_to_trace() {
    for process in [json!({}), json!({"buffer_records": {"kernel_dispatch": []}}), json!(1)] {
        let Err(Error::NotATrace { found }) = traces(&file(&process)) else { panic!("{process}") };
        assert_eq!(found, Foreign::RocprofOfNothing);
        assert!(found.to_string().contains("rocprofv3 --sys-trace"));
    }
}

#[test]
fn what_stands_before_a_cut_is_kept_and_the_cut_is_named() {
    let text = file(&process());
    let whole = trace(&text).events();
    let mut most = 0;
    for cut in 1..text.len() {
        match traces(&text[..cut]) {
            Ok(traces) => {
                let problems = &traces[0].provenance.problems;
                let problem = problems.iter().find(|problem| problem.kind == ProblemKind::Truncated);
                let problem = problem.unwrap_or_else(|| panic!("{}: {problems:?}", &text[..cut]));
                assert_eq!((count(problems, ProblemKind::Truncated), problem.offset <= cut as u64), (1, true), "{cut}");
                assert!(traces[0].events() >= most, "{cut}");
                most = traces[0].events();
            }
            Err(Error::NoEvents { offset, .. }) => assert!(most == 0 && offset <= cut as u64, "{cut}"),
            Err(other) => panic!("{cut}: {other}"),
        }
    }
    assert_eq!(most, whole);
}

#[test]
fn a_record_longer_than_any_is_passed_over() {
    let mut process = process();
    let long = json!({"padding": "x".repeat(9 << 20)});
    process["buffer_records"]["kernel_dispatch"].as_array_mut().unwrap().insert(1, long);
    let trace = trace(&file(&process));
    assert_eq!(count(&trace.provenance.problems, ProblemKind::TooLong), 1);
    assert_eq!(trace.spans.len(), 12);
}

proptest! {
    /// Any damage gives a trace or an error.
    #[test]
    fn damage_never_panics(cuts in prop::collection::vec((0usize..6000, any::<u8>()), 1..8)) {
        let mut bytes = file(&process()).into_bytes();
        for (at, byte) in cuts {
            let at = at % bytes.len();
            bytes[at] = byte;
        }
        let options = ReadOptions::default().with_args(ArgsPolicy::All);
        if let Ok(traces) = read_all(&bytes[..], &options) {
            for trace in traces {
                prop_assert!(trace.spans.dur_ns.iter().all(|dur| *dur >= 0));
            }
        }
    }
}
