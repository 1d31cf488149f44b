//! Sessions with a library that works: what is in the recording, where, when, and of what.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Duration;

use rankscope_formats::recording::{ClockId, LiveFile, Recording};
use rankscope_trace::{TrackKey, TrackKind};

use super::stage::{Fake, Stage, is_on_device, metadata, named, told};

/// Two launches, the second by an operator, with all that belongs to them.
pub(crate) const LAUNCHES: &str = "\
span forward
call 2 60 1 1000 2000
kernel 1 5000 9000 0 7 208 0 0 gemm
op matmul
call 2 60 2 3000 4000
kernel 2 9500 9900 0 7 208 0 0 relu
call 2 41 3 4100 4200
memcpy 3 10000 10500 1 8
end
end
call 2 51 4 4300 4400
memset 4 11000 11200 0 7
call 1 7 5 4500 4600
kernel 5 12000 12500 0 7 208 0 0 outside
until 200000
";

/// What of it is on the device.
pub(crate) const LAUNCHED: [&str; 7] = [
    // The ranges of the program, as the device saw them.
    "forward @0/7 of forward",
    "gemm @0/7 of forward correlation 1",
    "relu @0/7 of matmul correlation 2",
    "forward @1/8 of forward",
    "Memcpy HtoD (Pinned -> Device) @1/8 of matmul correlation 3",
    "Memset (Device) @0/7 correlation 4",
    "outside @0/7 correlation 5",
];

#[test]
fn work_is_on_its_stream_below_the_span_that_launched_it() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let played = stage.play("once", LAUNCHES);
    assert_eq!((played.said("absent"), played.said("failures")), (None, Some("[]")));
    let trace = played.trace();
    let on_device: Vec<String> = told(&trace).into_iter().filter(|line| line.contains('@')).collect();
    assert_eq!(on_device, LAUNCHED);
    let calls: Vec<String> = told(&trace).into_iter().filter(|line| line.starts_with("cu")).collect();
    let expected = [("cudaLaunchKernel", 1), ("cudaLaunchKernel", 2), ("cudaMemcpyAsync", 3), ("cudaMemsetAsync", 4)];
    let mut expected: Vec<String> = expected.iter().map(|(name, number)| format!("{name} correlation {number}")).collect();
    expected.push("cuLaunchKernel correlation 5".into());
    assert_eq!(calls, expected);
    let counts = played.counts();
    assert_eq!((&counts["join"]["launches"], &counts["join"]["odd"]["without_call"]), (&5.into(), &0.into()));
    assert_eq!(counts["join"]["odd"]["unknown_ops"], 0);
    assert!(trace.provenance.problems.is_empty(), "{:?}", trace.provenance.problems);
    assert_eq!((played.number("pushed"), played.number("records")), (0, 0), "nothing is left behind");
    assert_eq!(stage.says(), ["cuptiGetVersion"], "nothing was called that must not be");
}

#[test]
fn calls_are_on_the_thread_that_made_them() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let trace = stage.play("once", LAUNCHES).trace();
    let track =
        |name: &str| trace.spans.row(*named(&trace, name).iter().find(|span| !is_on_device(&trace, **span)).unwrap()).track;
    assert_eq!(track("cudaLaunchKernel"), track("matmul"));
}

#[test]
fn stamps_are_the_hosts_to_the_nanosecond() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let played = stage.play("once", LAUNCHES);
    let began_ns = played.number("began");
    let live = LiveFile::open(std::fs::File::open(stage.recording()).unwrap()).unwrap();
    let recording = Recording::open(live).unwrap();
    // From the wall clock to ticks by the recorder's readings of both, and from ticks to its own time: written down a second time, in
    // floating point, over distances that it holds exactly enough.
    let mut readings: Vec<(i64, i64)> = recording
        .anchors()
        .iter()
        .filter(|anchor| anchor.clock == ClockId::REALTIME)
        .map(|anchor| (anchor.ns, recording.ticks().ns(anchor.tick)))
        .collect();
    readings.sort_unstable();
    let expected_ns = |wall_ns: i64| {
        let at = readings.iter().rposition(|reading| reading.0 <= wall_ns).unwrap().min(readings.len() - 2);
        let (before, after) = (readings[at], readings[at + 1]);
        let rate = (after.1 - before.1) as f64 / (after.0 - before.0) as f64;
        before.1 + ((wall_ns - before.0) as f64 * rate).round() as i64
    };
    let trace = played.trace();
    for (name, start_ns, end_ns) in [("gemm", 5_000, 9_000), ("relu", 9_500, 9_900), ("outside", 12_000, 12_500)] {
        let span = named(&trace, name)[0];
        let (start, end) = (trace.spans.start_ns(span), trace.spans.end_ns(span));
        let off = [start - expected_ns(began_ns + start_ns), end - expected_ns(began_ns + end_ns)];
        assert!(off.iter().all(|off_ns| off_ns.abs() <= 1), "{name}: {off:?} of {readings:?}");
    }
    let library: serde_json::Value = serde_json::from_str(metadata(&trace, "cupti.library").unwrap()).unwrap();
    let off_ns = library["clock_off_ns"].as_i64().unwrap().unsigned_abs();
    assert!(off_ns <= library["clock_half_width_ns"].as_u64().unwrap(), "{library}");
    assert_eq!((&library["version"], &library["buffers"]), (&28.into(), &16.into()));
}

#[test]
fn devices_have_the_numbers_that_the_process_has_for_them_and_the_uuids_of_the_host() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let stage = stage.with("FAKE_CUDA_VISIBLE", "203");
    let trace = stage.play("once", "kernel 1 5000 9000 0 7 208 0 0 gemm\n").trace();
    for (key, expected) in [
        ("device.0.uuid", Some("\"a2a2a2a2-a2a2-a2a2-a2a2-a2a2a2a2a2a2\"")),
        ("device.0.pci", Some("\"0000:c2:00.0\"")),
        ("device.1.uuid", Some("\"a0a0a0a0-a0a0-a0a0-a0a0-a0a0a0a0a0a0\"")),
        // The driver does not tell.
        ("device.2.uuid", None),
        ("device.2.pci", Some("\"0000:c3:00.0\"")),
        ("device.3.pci", None),
    ] {
        assert_eq!(metadata(&trace, key), expected, "{key}");
    }
    let devices = trace.tracks.iter().filter(|(_, track)| track.kind == TrackKind::Device);
    assert_eq!(devices.map(|(_, track)| track.key).collect::<Vec<_>>(), [TrackKey::Number(0)], "work has these numbers");
}

#[test]
fn ties_may_come_after_their_work_and_in_any_order_of_buffers() {
    // The same records in three buffers: work, calls and ties, and what is in each comes together.
    let work = "kernel 1 5000 9000 0 7 208 0 0 gemm\nkernel 2 9500 9900 0 7 208 0 0 relu\nswap\n";
    let calls = "span forward\ncall 2 60 1 1000 2000\nop matmul\ncall 2 60 2 3000 4000\nend\nend\nswap\n";
    let mut all = Vec::new();
    for script in [
        format!("{calls}{work}"),
        format!("{work}{calls}"),
        format!("hold-ties\n{calls}{work}ties\nswap\n"),
        format!("hold-ties\n{work}{calls}ties\nswap\n"),
        format!("hold-ties\n{calls}ties\nswap\n{work}"),
        format!("keep 1\nhold-ties\n{calls}{work}ties\nswap\ngive-back\nkeep 0\n"),
    ] {
        let Some(stage) = Stage::new(Fake::Now, "works") else { return };
        let trace = stage.play("once", &format!("{script}until 200000\n")).trace();
        all.push(told(&trace).into_iter().filter(|line| line.contains('@')).collect::<Vec<_>>());
    }
    let expected = ["forward @0/7 of forward", "gemm @0/7 of forward correlation 1", "relu @0/7 of matmul correlation 2"];
    assert_eq!(all, vec![expected.map(str::to_owned).to_vec(); 6]);
}

#[test]
fn nodes_of_a_graph_keep_their_numbers() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let nodes: String =
        (0..100).map(|node| format!("kernel 1 {} {} 0 7 208 9 {node} node\n", 5_000 + node * 10, 5_005 + node * 10)).collect();
    let trace = stage.play("once", &format!("span step\ncall 2 62 1 1000 2000\nend\n{nodes}until 200000")).trace();
    let lines: Vec<String> = told(&trace).into_iter().filter(|line| line.starts_with("node")).collect();
    let expected: Vec<String> =
        (0..100).map(|node| format!("node @0/7 of step correlation 1 graph id 9 graph node id {node}")).collect();
    assert_eq!(lines, expected);
}

#[test]
fn copies_between_devices_and_waits_on_streams_are_read() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let script = "call 2 41 1 1000 2000\npeer 1 3000 4000 0 7 1\nwait 2 4000 4500 0 7 2\nwait 3 4600 4700 0 -1 4\nuntil 100000";
    let played = stage.play("once", script);
    let trace = played.trace();
    let lines: Vec<String> = told(&trace).into_iter().filter(|line| line.contains('@')).collect();
    assert_eq!(lines, ["Memcpy PtoP (Device 0 -> Device 1) @0/7 correlation 1", "Stream Wait Event @0/7 correlation 2"]);
    assert_eq!(played.counts()["waits_without_stream"], 1);
}

#[test]
fn calls_are_recorded_as_far_as_they_are_wanted() {
    // An entry of the runtime that is of no interest, a launch, and one of the driver that is of none.
    let script = "span forward\ncall 2 3 9 900 950\ncall 2 60 1 1000 2000\ncall 1 8 8 2100 2200\nend\n\
                  kernel 1 5000 9000 0 7 208 0 0 gemm\nuntil 100000";
    for (fake, part, expected) in [
        (Fake::Now, "once", vec!["cudaLaunchKernel"]),
        (Fake::Old, "once", vec!["cudaLaunchKernel"]),
        (Fake::Now, "all-calls", vec!["cudaGetDevice", "cudaLaunchKernel"]),
        (Fake::Old, "all-calls", vec!["cudaGetDevice", "cudaLaunchKernel"]),
        (Fake::Now, "no-calls", vec![]),
        (Fake::Old, "no-calls", vec![]),
    ] {
        let Some(stage) = Stage::new(fake, "works") else { return };
        let trace = stage.play(part, script).trace();
        let names: Vec<&str> = trace.spans.ids().map(|span| trace.name(span)).filter(|name| name.starts_with("cu")).collect();
        assert_eq!(names, expected, "{fake:?} {part}");
        let lines = told(&trace);
        assert!(lines.iter().any(|line| line == "gemm @0/7 of forward correlation 1"), "{fake:?} {part}: {lines:?}");
    }
}

#[test]
fn cuda_may_come_up_long_after_the_session() {
    let Some(stage) = Stage::new(Fake::Now, "early") else { return };
    let played = stage.play("once", &format!("up\nrecorded\n{LAUNCHES}"));
    assert_eq!(played.said("absent"), None);
    let trace = played.trace();
    assert_eq!((named(&trace, "gemm").len(), metadata(&trace, "cupti.refused_kinds")), (1, None));
}

#[test]
fn sessions_follow_each_other() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let output = stage.run("twice", LAUNCHES);
    assert!(output.output.status.success());
    assert_eq!(output.stdout.matches("failures=[]").count(), 2);
    assert_eq!(output.stdout.matches("pushed=0\nrecords=0").count(), 2);
    assert!(!output.stdout.contains("absent="), "{}", output.stdout);
}

#[test]
fn a_killed_process_leaves_its_spans_and_the_work_of_its_devices() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let mut command = stage.command("killed", &LAUNCHES.replace("until 200000", "span backward"));
    let mut running = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(running.stdout.take().unwrap()).lines();
    assert!(lines.map(Result::unwrap).any(|line| line == "played"), "it ended before it had played");
    // Nothing says when CUPTI has handed over what is complete, so the file itself is looked at.
    let outside = || named(&super::stage::trace(&stage.recording()), "outside").len();
    while outside() == 0 {
        assert!(running.try_wait().unwrap().is_none(), "it ended before it was killed");
        std::thread::sleep(Duration::from_millis(5));
    }
    running.kill().unwrap();
    running.wait().unwrap();
    let trace = super::stage::trace(&stage.recording());
    let on_host =
        ["forward", "matmul", "backward"].map(|name| named(&trace, name).iter().any(|span| !is_on_device(&trace, *span)));
    assert_eq!(on_host, [true; 3]);
    let on_device: Vec<String> = told(&trace).into_iter().filter(|line| line.contains('@')).collect();
    assert_eq!(on_device, LAUNCHED);
    assert!(metadata(&trace, "cupti.library").is_some_and(|json| json.contains("\"version\":28")));
    assert!(trace.instants.is_empty(), "what was handed over is told as work, and not a second time");
}

#[test]
fn a_rank_of_a_run_has_the_work_of_its_devices_for_one_line() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let raw = tempfile::tempdir().unwrap();
    let stage = stage.with("RANKSCOPE_RAW_DIR", raw.path().to_string_lossy()).with("RANK", "2").with("WORLD_SIZE", "4");
    stage.play("joined", LAUNCHES);
    let trace = super::stage::trace(&raw.path().join("rank-2.rkr"));
    let on_device: Vec<String> = told(&trace).into_iter().filter(|line| line.contains('@')).collect();
    assert_eq!((on_device.as_slice(), metadata(&trace, "cupti.absent")), (&LAUNCHED.map(str::to_owned)[..], None));
}
