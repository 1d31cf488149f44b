use std::io::Cursor;

use proptest::prelude::*;
use rankscope_trace::{CategoryKind, SpanId};
use serde_json::{Value, json};

use super::*;
use crate::ArgsPolicy;

/// The line that NCCL's own page shows, of version 4.0.
const SHOWN: &str = r#"{"header":{"id":"0xe62dedaa97644a","rank":4,"n_ranks":8,"nnodes":1},"metadata":{"inspector_output_format_version":"v4.0","git_rev":"9019a1912-dirty","rec_mechanism":"nccl_profiler_interface","dump_timestamp_us":1752867229276385,"hostname":"example-hostname","pid":438776},"coll_perf":{"coll":"ReduceScatter","coll_sn":1231,"coll_msg_size_bytes":2147483648,"coll_exec_time_us":41057,"coll_timing_source":"kernel_gpu","coll_algobw_gbs":418.439467,"coll_busbw_gbs":366.134533,"event_trace_sn":{"coll_start_sn":1,"coll_stop_sn":2,"kernel_events":[{"channel_id":0,"kernel_start_sn":3,"kernel_stop_sn":48,"kernel_record_sn":47}]},"event_trace_ts":{"coll_start_ts":1752867229235059,"coll_stop_ts":1752867229235064,"kernel_events":[{"channel_id":0,"kernel_start_ts":1752867229235181,"kernel_stop_ts":1752867229275811,"kernel_record_ts":1752867229275811}]}}}"#;

fn read(text: &str) -> Result<Vec<Trace>, Error> {
    read_all(Cursor::new(text), &ReadOptions::default().with_label("h-pid7.log").with_args(ArgsPolicy::All))
}

fn only(text: &str) -> Trace {
    let mut traces = read(text).unwrap();
    assert_eq!(traces.len(), 1);
    traces.remove(0)
}

fn header(id: &str, rank: u32, n_ranks: u32) -> Value {
    json!({"id": id, "rank": rank, "n_ranks": n_ranks, "nnodes": 1})
}

fn metadata() -> Value {
    json!({"inspector_output_format_version": "v4.0", "dump_timestamp_us": 2_000_000_u64, "hostname": "h", "pid": 7})
}

/// A collective whose kernels ran from `start_us` to `stop_us`.
fn collective(header: &Value, function: &str, number: u64, (start_us, stop_us): (u64, u64)) -> String {
    let channel = |late: u64| json!({"channel_id": late, "kernel_start_ts": start_us + late, "kernel_stop_ts": stop_us - late});
    json!({"header": header, "metadata": metadata(), "coll_perf": {"coll": function, "coll_sn": number, "coll_msg_size_bytes": 4096,
        "coll_exec_time_us": 30, "coll_timing_source": "kernel_gpu",
        "event_trace_ts": {"coll_start_ts": start_us - 1, "coll_stop_ts": start_us, "kernel_events": [channel(0), channel(1)]}}})
    .to_string()
}

fn names(trace: &Trace) -> Vec<String> {
    trace.spans.ids().map(|span| trace.name(span).to_owned()).collect()
}

#[test]
fn a_line_is_a_collective_from_the_first_channel_to_the_last() {
    let trace = only(SHOWN);
    let about = &trace.provenance;
    assert_eq!(
        (about.rank.map(|(rank, _)| rank.0), about.world_size, about.host.as_deref()),
        (Some(4), Some(8), Some("example-hostname"))
    );
    assert!(about.problems.is_empty() && about.format.name() == "nccl_inspector");
    assert_eq!(names(&trace), ["nccl:reduce_scatter"]);
    assert_eq!((trace.spans.start_ns[0], trace.spans.dur_ns[0]), (1_752_867_229_235_181_000, 40_630_000));
    assert_eq!(trace.kind(SpanId(0)), CategoryKind::CollectiveComm);
    let args = &trace.collectives[0];
    let text = |id| trace.strings.text(id);
    assert_eq!((text(args.name), text(args.group_name), text(args.dtype)), ("reduce_scatter", "0xe62dedaa97644a", "byte"));
    assert_eq!((args.in_elements, args.out_elements, args.group_size), (Some(8 << 31), Some(1 << 31), Some(8)));
    assert_eq!(args.sequence, Some(1231 * 16 + 2));
}

#[test]
fn without_times_it_is_a_call_and_no_collective() {
    let mut line: Value = serde_json::from_str(SHOWN).unwrap();
    line["coll_perf"].as_object_mut().unwrap().remove("event_trace_ts");
    let trace = only(&line.to_string());
    assert_eq!(names(&trace), ["reduce_scatter (no time was told)"]);
    assert!(trace.collectives.is_empty());
    // Over at the latest when it was written, and as long as it says.
    assert_eq!((trace.spans.end_ns(SpanId(0)), trace.spans.dur_ns[0]), (1_752_867_229_276_385_000, 41_057_000));
    let problem = trace.provenance.problems.iter().next().unwrap();
    assert!(
        problem.kind == ProblemKind::MissingTimestamp && problem.detail.contains("NCCL_INSPECTOR_DUMP_VERBOSE"),
        "{problem:?}"
    );
}

#[test]
fn without_kernels_only_a_call_that_was_timed_as_such_has_times() {
    let with = |source: &str, events: Value, start_us: u64| {
        json!({"header": header("0xa", 0, 2), "metadata": metadata(), "coll_perf": {"coll": "AllReduce", "coll_sn": 0,
            "coll_exec_time_us": 5, "coll_timing_source": source,
            "event_trace_ts": {"coll_start_ts": start_us, "coll_stop_ts": 1_000_009, "kernel_events": events}}})
        .to_string()
    };
    let times = |line: &str| {
        let trace = only(line);
        trace.collectives.first().map(|_| (trace.spans.start_ns[0], trace.spans.end_ns(SpanId(0))))
    };
    assert_eq!(times(&with("collective_cpu", json!([]), 1_000_002)), Some((1_000_002_000, 1_000_009_000)));
    assert_eq!(times(&with("kernel_cpu", json!([]), 1_000_002)), None);
    assert_eq!(times(&with("collective_cpu", json!([]), 0)), None);
    // Ticks of the device.
    let ticks = json!([{"channel_id": 0, "kernel_start_ts": 77, "kernel_stop_ts": 99}]);
    assert_eq!(times(&with("kernel_gpu", ticks, 1_000_002)), None);
    // Of two channels one was never told to stop.
    let half = json!([{"kernel_start_ts": 1_000_003, "kernel_stop_ts": 1_000_007}, {"kernel_start_ts": 1_000_004, "kernel_stop_ts": 0}]);
    assert_eq!(times(&with("kernel_gpu", half, 1_000_002)), Some((1_000_003_000, 1_000_007_000)));
}

#[test]
fn lines_of_one_dump_may_share_what_they_are_of() {
    let marker = json!({"header": header("0xa", 1, 4), "metadata": {"inspector_output_format_version": "v4.3",
        "dump_timestamp_us": 9, "hostname": "h", "pid": 7}, "dump_stats": {"coll_records": 1, "coll_dropped_since_last_dump": 512}});
    let mut line: Value = serde_json::from_str(&collective(&header("", 0, 0), "AllGather", 3, (1_000_000, 1_000_100))).unwrap();
    line.as_object_mut().unwrap().retain(|key, _| key == "coll_perf");
    let proxy = json!({"proxy_trace": {"record_type": "proxy_op"}});
    let trace = only(&format!("{marker}\n{line}\n{proxy}\n{line}\n"));
    assert_eq!((trace.collectives.len(), trace.provenance.rank.map(|(rank, _)| rank.0)), (2, Some(1)));
    let problems = &trace.provenance.problems;
    assert_eq!((problems.count(ProblemKind::LostPackets), problems.count(ProblemKind::Unsupported)), (512, 1));
    // Without the marker nobody knows whose it is.
    assert!(matches!(read(&format!("{line}\n")), Err(Error::NoEvents { offset: 0, .. })));
}

#[test]
fn the_rank_is_that_in_the_largest_communicator() {
    let (small, large) = (header("0xb", 0, 2), header("0xa", 6, 8));
    let trace = only(
        &[
            collective(&small, "AllReduce", 0, (1_000_000, 1_000_050)),
            collective(&large, "AllReduce", 0, (1_000_060, 1_000_090)),
        ]
        .join("\n"),
    );
    assert_eq!((trace.provenance.rank.map(|(rank, _)| rank.0), trace.collectives.len()), (Some(6), 2));
    // One process, two GPUs: which of them was in the small one nobody says.
    let other = header("0xa", 7, 8);
    let lines = [
        collective(&large, "AllReduce", 0, (1_000_000, 1_000_050)),
        collective(&other, "AllReduce", 0, (1_000_010, 1_000_051)),
        collective(&small, "AllReduce", 0, (1_000_060, 1_000_090)),
    ];
    let traces = read(&lines.join("\n")).unwrap();
    let seen: Vec<_> = traces
        .iter()
        .map(|trace| (trace.provenance.rank.unwrap().0.0, trace.collectives.len(), trace.provenance.file.clone()))
        .collect();
    assert_eq!(seen, [(6, 1, "h-pid7.log:rank6".to_owned()), (7, 1, "h-pid7.log:rank7".to_owned())]);
    assert_eq!(traces[0].provenance.problems.count(ProblemKind::Unsupported), 1);
}

#[test]
fn messages_have_no_number() {
    let line = json!({"header": header("0xa", 0, 2), "metadata": metadata(), "p2p_perf": {"p2p": "Send", "p2p_sn": 4, "p2p_peer": 1,
        "p2p_msg_size_bytes": 64, "p2p_exec_time_us": 3, "p2p_timing_source": "kernel_cpu", "event_trace_ts": {"p2p_start_ts": 1_000_000,
        "p2p_stop_ts": 1_000_001, "kernel_events": [{"kernel_start_ts": 1_000_002, "kernel_stop_ts": 1_000_005}]}}});
    let trace = only(&line.to_string());
    let args = &trace.collectives[0];
    assert_eq!((names(&trace)[0].as_str(), args.sequence, args.in_elements), ("nccl:send", None, Some(64)));
    assert_eq!(trace.spans.dur_ns[0], 3_000);
}

proptest! {
    /// Whatever stands between good lines, and wherever the file is cut: the good ones are there, and each bad one is counted.
    #[test]
    fn bad_lines_lose_nothing_but_themselves(
        bad in prop::collection::vec(prop_oneof![
            "[a-z{}\":, ]{1,40}", Just("{\"coll_perf\": {\"coll\": 5}}".to_owned()), Just("{\"header\": {\"id\": ".to_owned()),
            Just("{\"coll_perf\": {\"coll\": \"AllReduce\"}}".to_owned()), Just("[1]".to_owned()),
        ], 0..8),
        count in 1_u64..8,
        cut in any::<prop::sample::Index>(),
    ) {
        prop_assume!(bad.iter().all(|line| !line.trim().is_empty()));
        let good = |number: u64| collective(&header("0xa", 0, 2), "AllReduce", number, (1_000_000 + number * 100, 1_000_050 + number * 100));
        let mut lines: Vec<String> = (0..count).map(good).collect();
        bad.iter().enumerate().for_each(|(at, line)| lines.insert(at * 2 % (lines.len() + 1), line.clone()));
        let text = lines.join("\n") + "\n";
        let trace = only(&text);
        prop_assert_eq!(trace.collectives.len() as u64, count);
        let problems = &trace.provenance.problems;
        let told = problems.count(ProblemKind::MalformedEvent) + problems.count(ProblemKind::Unsupported);
        prop_assert_eq!(told, bad.len() as u64);
        // Cut, it holds every good line that is whole.
        let cut = cut.index(text.len());
        let whole = text[..cut].lines().filter(|line| line.contains("\"coll_sn\"") && line.ends_with("}}}") || good(0).len() == line.len()).count();
        match read(&text[..cut]) {
            Ok(traces) => prop_assert!(traces[0].collectives.len() >= whole.saturating_sub(1)),
            Err(_) => prop_assert!(whole <= 1),
        }
    }

    #[test]
    fn any_bytes_are_traces_or_an_error(bytes in prop::collection::vec(any::<u8>(), 0..400), head in any::<bool>()) {
        let bytes = if head { [SHOWN.as_bytes(), b"\n", &bytes].concat() } else { bytes };
        if let Ok(traces) = read_all(&*bytes, &ReadOptions::default()) {
            prop_assert!(traces.iter().all(|trace| trace.events() > 0));
        }
    }
}

#[test]
fn stamps_that_cannot_be_are_counted() {
    let far = json!({"header": header("0xa", 0, 2), "metadata": metadata(), "coll_perf": {"coll": "AllReduce", "coll_sn": u64::MAX,
        "event_trace_ts": {"coll_start_ts": 0, "kernel_events": [{"kernel_start_ts": u64::MAX, "kernel_stop_ts": u64::MAX}]}}});
    let backwards = collective(&header("0xa", 0, 2), "AllReduce", 1, (1_000_100, 1_000_050));
    let backwards = backwards.replace("\"coll_start_ts\":1000099", "\"coll_start_ts\":1000000");
    let trace = only(&format!("{far}\n{backwards}\n"));
    assert_eq!(trace.provenance.problems.count(ProblemKind::MissingTimestamp), 1);
    assert_eq!(trace.provenance.problems.count(ProblemKind::NegativeDuration), 1);
    assert_eq!((trace.collectives.len(), trace.spans.dur_ns[0]), (1, 0));
}

#[test]
fn a_line_that_never_ends_is_passed_over() {
    let long = format!("{{\"coll_perf\": \"{}\"}}", "x".repeat(3 << 20));
    let trace = only(&format!("{SHOWN}\n{long}\n{SHOWN}"));
    assert_eq!((trace.collectives.len(), trace.provenance.problems.count(ProblemKind::TooLong)), (2, 1));
    assert_eq!(trace.provenance.bytes, (2 * SHOWN.len() + long.len() + 2) as u64);
}

#[test]
fn it_is_told_from_other_json() {
    let members = crate::read(Cursor::new(format!("{SHOWN}\n")), &ReadOptions::default()).unwrap();
    assert_eq!(members[0].trace.as_ref().unwrap().collectives.len(), 1);
    assert!(is_head(b"\xef\xbb\xbf\n{ \"metadata\": {\"inspector_output_format_version\": \"v4.0\"}}"));
    for other in
        [&b"{\"traceEvents\": []}"[..], b"{\"header\": 5}", b"", b"{", b"{\"metadata\": {\"node\": 1}}\n{\"coll_sn\": 1}"]
    {
        assert!(!is_head(other), "{}", String::from_utf8_lossy(other));
    }
    for (name, is) in [
        ("h-pid7.log", true),
        ("a-b-pid12.jsonl.gz", true),
        ("train-pid.log", false),
        ("train.log", false),
        ("pid7.log", false),
    ] {
        assert_eq!(is_name(name), is, "{name}");
    }
    assert!(matches!(
        read("{\"header\": {\"id\": \"a\"}, \"dump_stats\": {}}\n"),
        Err(Error::NotATrace { found: Foreign::InspectorOfNothing })
    ));
}
