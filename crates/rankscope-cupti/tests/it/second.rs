//! The second version of the interface: records of chosen fields, beside other subscribers, from a library that may say anything of them.

use std::collections::BTreeMap;

use rankscope_trace::Trace;

use super::sessions::{LAUNCHED, LAUNCHES};
use super::stage::{Fake, Played, Stage, is_on_device, metadata, named, told};

/// What `script` leaves where the library is `who`, and the folder of it. Nothing may be called that must not be, as by the first version while fields are chosen.
fn played(who: &str, part: &str, script: &str) -> Option<(Stage, Played)> {
    let stage = Stage::new(Fake::Now, who)?;
    let played = stage.play(part, script);
    assert_eq!(stage.says(), ["cuptiGetVersion"], "{who}");
    assert_eq!((played.said("failures"), played.number("pushed"), played.number("records")), (Some("[]"), 0, 0), "{who}");
    Some((stage, played))
}

/// What the recording says of the library under `key`.
fn library(played: &Played, key: &str) -> serde_json::Value {
    let trace = played.trace();
    let said: serde_json::Value = serde_json::from_str(metadata(&trace, "cupti.library").unwrap()).unwrap();
    said[key].clone()
}

/// What lies on devices.
fn on_device(trace: &Trace) -> Vec<String> {
    told(trace).into_iter().filter(|line| line.contains('@')).collect()
}

/// How long each piece of device work took, and how long after the first it began.
fn stamps(trace: &Trace) -> Vec<(i64, i64)> {
    let spans = trace.spans.ids().filter(|span| is_on_device(trace, *span));
    let mut stamps: Vec<(i64, i64)> = spans.map(|span| (trace.spans.start_ns(span), trace.spans.end_ns(span))).collect();
    stamps.sort_unstable();
    let first_ns = stamps.first().map_or(0, |first| first.0);
    stamps.iter().map(|(start, end)| (start - first_ns, end - start)).collect()
}

#[test]
fn a_script_gives_the_same_recording_through_both_versions() {
    let mixed = "\
span step
call 2 62 1 1000 2000
op inner
call 2 41 2 2100 2200
call 2 51 3 2300 2400
call 1 7 4 2500 2600
call 1 8 5 2700 2800
call 2 3 6 2900 3000
end
end
hold-ties
kernel 1 5000 9000 0 7 208 9 3 in_graph
kernel 1 9100 9200 1 8 208 9 4 in_graph
memcpy 2 10000 10500 1 8
memset 3 10600 10700 0 7
kernel 4 10800 10900 0 7 208 0 0 direct
peer 2 11000 11500 0 7 1
wait 9 11600 11700 0 7 2
wait 9 11800 11900 0 -1 4
overhead 65536 1000 1500
raw 46 64
raw 51 56
tie 3 77 1
kernel 8 none none 0 7 208 0 0 never
kernel 8 900 none 0 7 208 0 0 unfinished
dropped 4
swap
kernel 4 12000 12100 0 7 208 0 0 late
ties
until 200000
";
    let scripts = [LAUNCHES, mixed, &format!("{mixed}{LAUNCHES}"), "span nothing\nend\n"];
    for (part, script) in scripts.iter().flat_map(|script| [("once", *script), ("all-calls", *script), ("no-calls", *script)]) {
        let Some((_folder, first)) = played("works", part, script) else { return };
        let (_other_folder, second) = played("fields", part, script).unwrap();
        assert_eq!((library(&first, "records"), library(&second, "records")), ("whole".into(), "chosen fields".into()));
        let traces = [first.trace(), second.trace()];
        assert_eq!(told(&traces[0]), told(&traces[1]), "{part}");
        assert_eq!(first.counts(), second.counts(), "{part}");
        let stamps = traces.each_ref().map(stamps);
        assert_eq!(stamps[0].len(), stamps[1].len());
        let (_third_folder, third) = played("fields 13.3", part, script).unwrap();
        assert_eq!((library(&third, "records"), told(&third.trace())), ("chosen fields".into(), told(&traces[0])), "{part}");
        assert_eq!(third.counts(), second.counts(), "{part}");
        // Ticks are not nanoseconds, and each process has its own.
        let is_near = |a: i64, b: i64| a.abs_diff(b) <= 2;
        assert!(stamps[0].iter().zip(&stamps[1]).all(|(a, b)| is_near(a.0, b.0) && is_near(a.1, b.1)), "{stamps:?}");
    }
}

#[test]
fn the_first_version_is_used_where_the_second_is_refused_or_not_wanted() {
    for who in ["fields refused", "fields unset", "fields 13.2"] {
        let Some((_folder, played)) = played(who, "once", LAUNCHES) else { return };
        assert_eq!(
            (library(&played, "records"), on_device(&played.trace())),
            ("whole".into(), LAUNCHED.map(str::to_owned).into())
        );
        assert_eq!(metadata(&played.trace(), "cupti.refused_kinds"), None, "{who}");
    }
    let Some(stage) = Stage::new(Fake::Now, "fields") else { return };
    let stage = stage.with("RANKSCOPE_CUPTI_RECORDS", "whole");
    let played = stage.play("once", LAUNCHES);
    assert_eq!(library(&played, "records"), "whole");
    assert_eq!(on_device(&played.trace()), LAUNCHED);
}

#[test]
fn a_library_that_leaves_no_calls_out_records_none_of_them_and_says_so() {
    let Some((_folder, played)) = played("fields 13.3 whole", "once", LAUNCHES) else { return };
    let trace = played.trace();
    let refused = metadata(&trace, "cupti.refused_kinds").unwrap();
    assert!(refused.contains("driver") && refused.contains("runtime"), "{refused}");
    assert!(!named(&trace, "gemm").is_empty() && named(&trace, "cudaLaunchKernel").is_empty());
}

#[test]
fn somebody_who_allows_others_is_named_and_both_record() {
    let Some((_folder, played)) = played("fields beside", "once", LAUNCHES) else { return };
    assert_eq!((played.said("absent"), library(&played, "beside")), (None, "CUPTI for monitor".into()));
    assert_eq!(on_device(&played.trace()), LAUNCHED);
    // Who wants whole records wants CUPTI alone.
    let Some(stage) = Stage::new(Fake::Now, "fields beside") else { return };
    let stage = stage.with("RANKSCOPE_CUPTI_RECORDS", "whole");
    let played = stage.play("once", "span forward\nend");
    let expected = "another profiler has CUPTI (CUPTI for monitor): error 39 (another profiler is subscribed)";
    assert_eq!(played.said("absent"), Some(expected));
}

#[test]
fn somebody_who_allows_no_others_is_named() {
    let Some(stage) = Stage::new(Fake::Now, "fields alone") else { return };
    let played = stage.play("once", "span forward\nend");
    let expected = "another profiler has CUPTI (Nsight Systems): error 39 (another profiler is subscribed)";
    assert_eq!((played.said("absent"), played.said("failures")), (Some(expected), Some("[]")));
}

#[test]
fn cuda_may_come_up_long_after_the_session_in_the_second_version_too() {
    let Some((_folder, played)) = played("fields early", "once", &format!("up\nrecorded\n{LAUNCHES}")) else { return };
    assert_eq!((played.said("absent"), library(&played, "records")), (None, "chosen fields".into()));
    assert_eq!((named(&played.trace(), "gemm").len(), metadata(&played.trace(), "cupti.refused_kinds")), (1, None));
}

#[test]
fn sessions_of_the_second_version_follow_each_other() {
    let Some(stage) = Stage::new(Fake::Now, "fields") else { return };
    let played = stage.run("twice", LAUNCHES);
    assert!(played.output.status.success());
    assert_eq!(played.stdout.matches("failures=[]").count(), 2);
    assert!(!played.stdout.contains("absent="), "{}", played.stdout);
    assert_eq!(stage.says(), ["cuptiGetVersion"]);
}

#[test]
fn what_lies_where_it_cannot_is_counted_and_the_rest_is_recorded() {
    let script = "span forward\nend\nkernel 1 5000 9000 0 7 208 0 0 gemm\nkernel 2 9500 9900 0 7 208 0 0 gemm\nmemcpy 3 10000 10500 1 8\nuntil 200000";
    let expected: BTreeMap<&str, (usize, usize, u64)> = [
        ("fields grown", (2, 1, 0)),
        ("fields silent", (0, 0, 3)),
        ("fields brief", (0, 0, 3)),
        ("fields few", (0, 1, 2)),
        ("fields missing", (0, 1, 2)),
        ("fields overlap", (0, 1, 2)),
        ("fields beyond", (0, 1, 2)),
        ("fields zero", (0, 1, 2)),
        ("fields three", (0, 1, 2)),
        ("fields endless", (0, 1, 2)),
    ]
    .into();
    for (who, (kernels, copies, unread)) in expected {
        let Some((_folder, played)) = played(who, "once", script) else { return };
        let says_nothing = "says of none of its records where their fields lie: RANKSCOPE_CUPTI_RECORDS=whole asks for others";
        assert_eq!(played.said("absent").map(|why| why.ends_with(says_nothing)), (unread == 3).then_some(true), "{who}");
        let trace = played.trace();
        let shown = (named(&trace, "gemm").len(), named(&trace, "Memcpy HtoD (Pinned -> Device)").len());
        assert_eq!((shown, &played.counts()["short_records"]), ((kernels, copies), &unread.into()), "{who}");
        assert_eq!((&played.counts()["records"], &played.counts()["damaged_buffers"]), (&3.into(), &0.into()), "{who}");
    }
}

#[test]
fn places_that_move_are_believed_no_more() {
    let kernel = |at: u32| format!("kernel {at} {at}000 {at}500 0 7 208 0 0 gemm\nswap\n");
    let script: String = (1..=4).map(kernel).collect();
    let Some((_folder, played)) = played("fields moving", "once", &format!("span forward\nend\n{script}until 200000")) else {
        return;
    };
    let shown = named(&played.trace(), "gemm").len() as u64;
    let unread = played.counts()["short_records"].as_u64().unwrap();
    // When a buffer is looked at is not known, but only the first can be before the second has come.
    assert!(shown <= 1 && shown + unread == 4, "{shown} {unread}");
}

#[test]
fn where_there_is_no_buffer_records_of_fields_are_dropped_and_counted() {
    let kernels: String = (1..=200).map(|at| format!("kernel {at} {at}00 {at}50 0 7 208 0 0 gemm\n")).collect();
    let script = format!("keep 1\n{kernels}swap\ngive-back\nkeep 0\nuntil 100000");
    let Some((_folder, played)) = played("fields", "two-buffers", &script) else { return };
    let counts = played.counts();
    let shown = named(&played.trace(), "gemm").len() as u64;
    // Of a kernel 72 bytes are chosen, and not 208.
    assert_eq!((shown, counts["dropped_records"].as_u64().unwrap()), (2 * (4_096 / 72), 200 - 2 * (4_096 / 72)));
}

#[test]
fn threads_fill_buffers_of_fields_beside_each_other() {
    let Some((_folder, played)) = played("fields", "once", "span forward\nend\nthreads 4") else { return };
    let counts = played.counts();
    assert_eq!(counts["records"].as_u64().unwrap() + counts["dropped_records"].as_u64().unwrap(), 4_000);
    assert_eq!((&counts["damaged_buffers"], &counts["short_records"]), (&0.into(), &0.into()));
}
