//! Sessions with a library that works: what is in the recording, where, when, and of what.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use rankscope_record::recording::ClockId;

use super::stage::{Fake, Stage, calls, integer, is_on_device, metadata, named, on_devices, trace};

/// Two launches, the second by an operator, with all that belongs to them.
pub(crate) const LAUNCHES: &str = "\
hip-up
symbol 1 gemm.kd
symbol 2 relu.kd
span forward
hip 2 1 1000 2000
kernel 1 5000 9000 0 7 1
op matmul
hip 2 2 3000 4000
kernel 2 9500 9900 0 7 2
hip 3 3 4100 4200
copy 3 10000 10500 2 -1 1
end
end
hip 1 4 4300 4400
hip 2 5 4500 4600
kernel 5 12000 12500 0 8 3
until 200000
";

/// What of it is on devices.
pub(crate) const LAUNCHED: [&str; 6] = [
    // The ranges of the program, as the device saw them.
    "forward @0/1 of forward",
    "gemm @0/1 of forward by 1",
    "relu @0/1 of matmul by 2",
    "forward @1/0 of forward",
    "Memcpy HtoD (Host -> Device) @1/0 of matmul by 3",
    "(kernel without a name) @0/2 by 5",
];

#[test]
fn work_is_on_its_queue_below_the_span_that_launched_it() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let played = stage.play("once", LAUNCHES);
    assert_eq!((played.said("absent"), played.said("failures")), (None, Some("[]")));
    let trace = played.trace();
    assert_eq!(on_devices(&trace), LAUNCHED);
    assert_eq!(calls(&trace), ["hipLaunchKernel 1", "hipLaunchKernel 2", "hipMemcpyAsync 3", "hipLaunchKernel 5"]);
    let counts = played.counts();
    assert_eq!((&counts["join"]["launches"], &counts["join"]["odd"]["without_call"]), (&4.into(), &0.into()), "{counts}");
    assert_eq!((&counts["join"]["odd"]["unknown_ops"], &counts["kernels_without_name"]), (&0.into(), &1.into()));
    assert!(trace.provenance.problems.is_empty(), "{:?}", trace.provenance.problems);
    assert_eq!(played.said("contexts"), Some("1"), "only names are kept beyond the session");
}

#[test]
fn records_of_before_correlations_had_ancestors_are_told_by_their_length() {
    let Some(stage) = Stage::new(Fake::Before, "works") else { return };
    let trace = stage.play("once", LAUNCHES).trace();
    assert_eq!((on_devices(&trace), calls(&trace).len()), (LAUNCHED.map(str::to_owned).to_vec(), 4));
}

#[test]
fn calls_are_on_the_thread_that_made_them() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let trace = stage.play("once", LAUNCHES).trace();
    let track =
        |name: &str| trace.spans.row(*named(&trace, name).iter().find(|span| !is_on_device(&trace, **span)).unwrap()).track;
    assert_eq!(track("hipLaunchKernel"), track("matmul"));
}

#[test]
fn stamps_are_of_the_clock_that_the_library_reads() {
    for (who, clock) in [("works", ClockId::BOOTTIME), ("wall", ClockId::REALTIME)] {
        let Some(stage) = Stage::new(Fake::Now, who) else { return };
        let trace = stage.play("once", LAUNCHES).trace();
        let library: serde_json::Value = serde_json::from_str(metadata(&trace, "rocprofiler.library").unwrap()).unwrap();
        assert_eq!(library["clock"], format!("{clock:?}"));
        let off_ns = library["clock_off_ns"].as_i64().unwrap().unsigned_abs();
        assert!(off_ns <= library["clock_half_width_ns"].as_u64().unwrap() + 1, "{library}");
        assert_eq!((&library["version"], &library["buffers"]), (&"1.0.3".into(), &16.into()));
        let (gemm, relu) = (named(&trace, "gemm")[0], named(&trace, "relu")[0]);
        let off_ns = |span, ns| (trace.spans.end_ns(span) - trace.spans.start_ns(span)).abs_diff(ns);
        assert!(off_ns(gemm, 4_000) <= 2 && off_ns(relu, 400) <= 2);
        // They lie within the span of the session, which the other clock is decades from.
        let (start, end) = trace.bounds_ns().unwrap();
        assert!(start <= trace.spans.start_ns(gemm) && trace.spans.end_ns(relu) <= end && end - start < 60_000_000_000);
    }
}

#[test]
fn devices_have_the_numbers_of_the_host_and_say_where_they_are() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let trace = stage.play("once", LAUNCHES).trace();
    for (key, expected) in [
        ("device.0.pci", Some("\"0000:c1:00.0\"")),
        ("device.2.pci", Some("\"0000:c3:00.0\"")),
        ("device.2.name", Some("\"AMD Instinct\"")),
        ("device.0.uuid", Some("\"89abcdef01234501\"")),
        ("device.1.uuid", None),
        ("device.2.uuid", Some("\"89abcdef01234503\"")),
        ("device.3.pci", None),
    ] {
        assert_eq!(metadata(&trace, key), expected, "{key}");
    }
}

#[test]
fn a_version_whose_agents_have_no_uuids_says_none_and_where_they_are() {
    let Some(stage) = Stage::new(Fake::Before, "works") else { return };
    let trace = stage.play("once", LAUNCHES).trace();
    assert_eq!((metadata(&trace, "device.0.uuid"), metadata(&trace, "device.0.pci")), (None, Some("\"0000:c1:00.0\"")));
}

/// The same call may give work to several queues, and calls of one stream to different ones.
const ON_STREAMS: &str = "\
hip-up
symbol 1 gemm.kd
span forward
stream 0
hip 2 1 1000 2000
kernel 1 5000 9000 0 7 1
stream-end
stream 3
hip 2 2 2100 2200
kernel 2 5100 9100 0 8 1
kernel 2 9200 9300 0 7 1
stream 12
hip 3 3 2300 2400
copy 3 10000 10500 2 -1 1
stream-end
kernel 4 9400 9500 0 8 1
stream-end
kernel 5 9600 9700 0 8 1
copy 6 10600 10700 2 -1 1
end
until 100000
";

#[test]
fn work_is_on_the_stream_of_hip_that_its_call_was_about() {
    let Some(stage) = Stage::new(Fake::Now, "streams") else { return };
    let played = stage.play("once", ON_STREAMS);
    let trace = played.trace();
    let on_streams: Vec<String> = on_devices(&trace).into_iter().filter(|line| line.contains(" by ")).collect();
    assert_eq!(
        on_streams,
        [
            "gemm @0/0 of forward by 1",
            "gemm @0/3 of forward by 2",
            "gemm @0/3 of forward by 2",
            "gemm @0/3 of forward by 4",
            // Nobody told a stream: these are on their queues, which no stream is taken for.
            "gemm @0/65538 of forward by 5",
            "Memcpy HtoD (Host -> Device) @1/12 of forward by 3",
            "Memcpy HtoD (Host -> Device) @1/65536 of forward by 6",
        ]
    );
    assert_eq!((metadata(&trace, "rocprofiler.refused"), &played.counts()["work_without_stream"]), (None, &2.into()));
}

#[test]
fn without_streams_of_hip_work_is_on_its_queue_and_it_is_said() {
    for (fake, who) in [(Fake::Now, "works"), (Fake::Now, "renumbered"), (Fake::Before, "streams")] {
        let Some(stage) = Stage::new(fake, who) else { return };
        let played = stage.play("once", ON_STREAMS);
        let trace = played.trace();
        let queues = ["@0/1", "@0/2", "@0/1", "@0/2", "@0/2", "@1/0", "@1/0"];
        let lines: Vec<String> = on_devices(&trace).into_iter().filter(|line| line.contains(" by ")).collect();
        assert!(lines.iter().zip(queues).all(|(line, queue)| line.contains(queue)) && lines.len() == 7, "{who}: {lines:?}");
        let refused: Vec<String> = serde_json::from_str(metadata(&trace, "rocprofiler.refused").unwrap()).unwrap();
        assert_eq!(refused[0], "streams of HIP: error 4 (no such kind)", "{who}");
        assert_eq!(
            refused.len(),
            [("works", 1), ("renumbered", 4), ("streams", 2)].into_iter().find(|it| it.0 == who).unwrap().1,
            "{refused:?}"
        );
        assert_eq!(played.counts()["work_without_stream"], 0);
    }
}

#[test]
fn calls_are_recorded_as_far_as_they_are_wanted() {
    let script = "hip-up\nsymbol 1 gemm.kd\nspan forward\nhip 1 9 900 950\nhip 2 1 1000 2000\nkernel 1 5000 9000 0 7 1\n\
                  hip 4 8 9100 9200\nend\nuntil 100000";
    for (part, expected) in [
        ("once", vec!["hipLaunchKernel 1", "hipStreamSynchronize 8"]),
        ("all-calls", vec!["hipGetDevice 9", "hipLaunchKernel 1", "hipStreamSynchronize 8"]),
        ("no-calls", vec![]),
    ] {
        let Some(stage) = Stage::new(Fake::Now, "works") else { return };
        let trace = stage.play(part, script).trace();
        assert_eq!(calls(&trace), expected, "{part}");
        assert_eq!(on_devices(&trace), ["forward @0/1 of forward", "gemm @0/1 of forward by 1"], "{part}");
    }
}

#[test]
fn kernels_of_a_graph_belong_to_the_span_that_launched_it() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let nodes: String = (0..100).map(|node| format!("kernel 1 {} {} 0 7 1\n", 5_000 + node * 10, 5_005 + node * 10)).collect();
    let script = format!("hip-up\nsymbol 1 node.kd\nspan step\nhip 5 1 1000 2000\n{nodes}end\nuntil 200000");
    let trace = stage.play("once", &script).trace();
    let lines: Vec<String> = on_devices(&trace).into_iter().filter(|line| line.starts_with("node")).collect();
    assert_eq!(lines, vec!["node @0/1 of step by 1".to_owned(); 100]);
}

#[test]
fn work_of_a_graph_says_which_graph_its_call_launched() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let script = "\
hip-up
symbol 1 node.kd
hip 5 1 1000 2000
kernel 1 5000 5100 0 7 1
copy 1 5200 5300 2 -1 0
graph 1 140000000000
hip 5 2 2100 2200
graph 2 139000000000
kernel 2 5400 5500 0 7 1
hip 5 3 2300 2400
graph 3 140000000000
kernel 3 5600 5700 0 7 1
hip 2 4 2500 2600
kernel 4 5800 5900 0 7 1
graph 4 0
graph 4 140000000000 71
until 100000
";
    let played = stage.play("once", script);
    let trace = played.trace();
    let mut work: Vec<_> = trace.spans.ids().filter(|span| is_on_device(&trace, *span)).collect();
    work.sort_by_key(|span| trace.spans.start_ns(*span));
    let graphs: Vec<_> = work.iter().map(|span| integer(&trace, *span, "graph id")).collect();
    assert_eq!(graphs, [Some(1), Some(1), Some(2), Some(1), None]);
    assert!(work.iter().all(|span| integer(&trace, *span, "graph node id").is_none()), "which node it is nobody tells");
    assert_eq!(played.counts()["short_records"], 1);
}

#[test]
fn copies_between_devices_say_so_and_those_of_the_host_are_counted() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let script = "hip-up\ncopy 1 3000 4000 4 0 1\ncopy 2 4100 4200 3 1 -1\ncopy 3 4300 4400 1 -1 -1\nuntil 100000";
    let played = stage.play("once", script);
    let expected = ["Memcpy PtoP (Device 0 -> Device 1) @1/0 by 1", "Memcpy DtoH (Device -> Host) @1/0 by 2"];
    assert_eq!(on_devices(&played.trace()), expected);
    assert_eq!(played.counts()["work_without_device"], 1);
}

#[test]
fn a_library_that_records_kernels_alone_is_taken_for_what_it_has() {
    let Some(stage) = Stage::new(Fake::Now, "poor") else { return };
    let played = stage.play("once", LAUNCHES);
    let trace = played.trace();
    assert_eq!(on_devices(&trace), ["gemm @0/1 by 1", "relu @0/1 by 2", "(kernel without a name) @0/2 by 5"]);
    let refused: Vec<String> = serde_json::from_str(metadata(&trace, "rocprofiler.refused").unwrap()).unwrap();
    let mut expected = ["copies", "calls", "spans of work"].map(|what| format!("{what}: error 17 (not implemented)")).to_vec();
    expected.push("streams of HIP: error 4 (no such kind)".to_owned());
    expected.extend(["memory", "scratch memory", "graphs"].map(|what| format!("{what}: error 17 (not implemented)")));
    assert_eq!((refused, played.said("absent")), (expected, None));
}

#[test]
fn sessions_follow_each_other_and_names_outlast_them() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    // A symbol is told of once, so that the second session lives on what the first heard.
    let played = stage.play("twice", "hip-up\nsymbol 1 gemm.kd\nhip 2 1 100 200\nkernel 1 1000 2000 0 7 1\nuntil 100000");
    assert_eq!(played.stdout.matches("failures=[]").count(), 2);
    assert_eq!(played.stdout.matches("contexts=1").count(), 2);
    assert!(!played.stdout.contains("absent="), "{}", played.stdout);
}

#[test]
fn a_killed_process_leaves_its_spans_and_the_work_of_its_devices() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let mut command = stage.command("killed", &LAUNCHES.replace("until 200000", "span backward"));
    let mut running = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(running.stdout.take().unwrap()).lines();
    assert!(lines.map(Result::unwrap).any(|line| line == "played"), "it ended before it had played");
    // Nothing says when rocprofiler has handed over what is complete, so the file itself is looked at.
    while named(&trace(&stage.recording()), "(kernel without a name)").is_empty() {
        assert!(running.try_wait().unwrap().is_none(), "it ended before it was killed");
        std::thread::sleep(Duration::from_millis(5));
    }
    running.kill().unwrap();
    running.wait().unwrap();
    let trace = trace(&stage.recording());
    assert_eq!(on_devices(&trace), LAUNCHED);
    assert!(named(&trace, "backward").iter().any(|span| !is_on_device(&trace, *span)));
    assert!(metadata(&trace, "rocprofiler.library").is_some_and(|json| json.contains("1.0.3")));
}

#[test]
fn a_rank_of_a_run_has_the_work_of_its_devices_for_one_line() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let raw = tempfile::tempdir().unwrap();
    let stage = stage.with("RANKSCOPE_RAW_DIR", raw.path().to_string_lossy()).with("RANK", "2").with("WORLD_SIZE", "4");
    stage.play("joined", LAUNCHES);
    let trace = trace(&raw.path().join("rank-2.rkr"));
    assert_eq!((on_devices(&trace), metadata(&trace, "rocprofiler.absent")), (LAUNCHED.map(str::to_owned).to_vec(), None));
}
