//! A library that drops, garbles and hoards: what is missing is counted, and the rest is recorded.

use super::stage::{Fake, Stage, named, told};

#[test]
fn records_may_be_longer_than_anybody_knows_and_as_short_as_the_oldest() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let sizes = [112, 144, 176, 200, 208, 216, 224, 232, 248, 400];
    let script: String =
        (1..).zip(sizes).map(|(at, size)| format!("kernel {at} {at}000 {at}500 0 7 {size} 9 {at} size-{size}\n")).collect();
    let played = stage.play("once", &format!("{script}until 100000"));
    let on_device: Vec<String> = told(&played.trace()).into_iter().filter(|line| line.contains('@')).collect();
    let graph = |at: usize, size: usize| if size >= 176 { format!(" graph id 9 graph node id {at}") } else { String::new() };
    let expected: Vec<String> =
        (1..).zip(sizes).map(|(at, size)| format!("size-{size} @0/7 correlation {at}{}", graph(at, size))).collect();
    assert_eq!(on_device, expected);
    assert_eq!(played.counts()["short_records"], 0);
}

#[test]
fn what_cannot_be_shown_is_counted() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let script = "\
kernel 1 1000 2000 0 7 208 0 0 fine
kernel 2 none none 0 7 208 0 0 never
kernel 3 1000 none 0 7 208 0 0 unfinished
kernel 4 -90000000000 -80000000000 0 7 208 0 0 before
kernel 5 90000000000 90000000001 0 7 208 0 0 behind
kernel 6 1000 2000 0 7 96 0 0 short
raw 46 64
raw 46 32
raw 51 56
overhead 65536 1000 1500
tie 3 77 1
tie 5 123456789 1
dropped 5
until 100000
";
    let played = stage.play("once", script);
    let trace = played.trace();
    let shown: Vec<&str> = trace.spans.ids().map(|span| trace.name(span)).collect();
    assert_eq!(shown, ["fine"]);
    let counts = played.counts();
    assert_eq!(
        (&counts["join"]["dropped"]["zero_timestamp"], &counts["join"]["dropped"]["out_of_window"]),
        (&2.into(), &2.into())
    );
    assert_eq!((&counts["unknown_kinds"]["46"], &counts["unknown_kinds"]["51"]), (&2.into(), &1.into()));
    assert_eq!((&counts["short_records"], &counts["dropped_records"]), (&1.into(), &5.into()));
    assert_eq!((&counts["foreign_ties"], &counts["join"]["odd"]["unknown_ops"]), (&1.into(), &1.into()));
    assert_eq!(counts["overheads"]["buffer flush"], serde_json::json!({"count": 1, "total_ns": 500}));
    assert_eq!((&counts["records"], &counts["outstanding_buffers"]), (&12.into(), &0.into()));
}

#[test]
fn behind_a_record_that_makes_no_sense_nothing_is_read() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    // 57005 is the kind of which the library says that it is none.
    let script = "kernel 1 1000 2000 0 7 208 0 0 first\nkernel 2 3000 4000 0 7 208 0 0 second\nraw 57005 64\n\
                  kernel 3 5000 6000 0 7 208 0 0 third\nswap\nkernel 4 7000 8000 0 7 208 0 0 fourth\nuntil 100000";
    let played = stage.play("once", script);
    let trace = played.trace();
    let shown: Vec<&str> = trace.spans.ids().map(|span| trace.name(span)).collect();
    assert_eq!(shown, ["first", "fourth"], "how long the second was is not known");
    assert_eq!(played.counts()["damaged_buffers"], 1);
}

/// More than two buffers of 4 KiB hold, none of which comes back before the end.
fn hoarded() -> String {
    let kernels: String = (1..=60).map(|at| format!("kernel {at} {at}00 {at}50 0 7 208 0 0 gemm\n")).collect();
    format!("keep 1\n{kernels}swap\ngive-back\nkeep 0\nuntil 100000")
}

#[test]
fn where_there_is_no_buffer_records_are_dropped_and_both_are_counted() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let played = stage.play("two-buffers", &hoarded());
    let counts = played.counts();
    let (shown, dropped) = (named(&played.trace(), "gemm").len(), counts["dropped_records"].as_u64().unwrap());
    assert_eq!((shown, dropped), (2 * (4_096 / 208), 60 - 38));
    assert_eq!(counts["refused_buffers"], 22, "each is asked for again");
    assert_eq!(stage.says(), ["cuptiGetVersion"], "a refusal has no size");
}

#[test]
fn a_version_that_cannot_be_refused_is_given_what_nobody_reads() {
    let Some(stage) = Stage::new(Fake::Old, "26") else { return };
    let played = stage.play("two-buffers", &hoarded());
    let counts = played.counts();
    assert_eq!((named(&played.trace(), "gemm").len(), &counts["dropped_records"]), (38, &0.into()));
    assert_eq!((&counts["refused_buffers"], &counts["stranger_buffers"]), (&1.into(), &0.into()));
}

#[test]
fn buffers_that_do_not_come_back_are_counted() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let played = stage.play(
        "once",
        "span forward\nend\nkernel 1 1000 2000 0 7 208 0 0 gone\nkeep 1\nswap\nkernel 2 3000 4000 0 7 208 0 0 gone\nswap\nuntil 100000",
    );
    let counts = played.counts();
    assert_eq!((named(&played.trace(), "gone").len(), &counts["outstanding_buffers"]), (0, &2.into()));
    assert_eq!(played.said("failures"), Some("[]"));
}

#[test]
fn buffers_of_an_earlier_session_show_nothing_in_a_later_one() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let played =
        stage.play("twice", "give-back\nkeep 1\nspan forward\nend\nkernel 1 1000 2000 0 7 208 0 0 late\nswap\nuntil 100000");
    let counts = played.counts();
    assert_eq!((&counts["records"], &counts["join"]["dropped"]["out_of_window"]), (&1.into(), &1.into()));
    assert_eq!((named(&played.trace(), "late").len(), &counts["outstanding_buffers"]), (0, &1.into()));
}

#[test]
fn a_buffer_of_somebody_else_is_left_alone() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let played = stage.play("once", "kernel 1 1000 2000 0 7 208 0 0 fine\nstranger\nuntil 100000");
    assert_eq!((named(&played.trace(), "fine").len(), &played.counts()["stranger_buffers"]), (1, &1.into()));
}

#[test]
fn threads_fill_buffers_beside_each_other() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    // Their times are long past, so that all are counted and none is shown.
    let counts = stage.play("once", "span forward\nend\nthreads 4").counts();
    let dropped = counts["dropped_records"].as_u64().unwrap();
    assert_eq!(counts["records"].as_u64().unwrap() + dropped, 4_000);
    assert_eq!(counts["join"]["dropped"]["out_of_window"].as_u64().unwrap() + dropped, 4_000);
    assert_eq!((&counts["damaged_buffers"], &counts["stranger_buffers"]), (&0.into(), &0.into()));
    assert_eq!(counts["outstanding_buffers"], 0);
}

#[test]
fn what_finds_no_room_in_the_recording_is_counted() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    // Some 60 bytes each, in a recording of 2 MiB.
    let played =
        stage.play("little-room", "call 1 7 1 500 600\ntimes 100000 kernel 1 1000 1500 0 7 208 0 0 gemm\nuntil 100000");
    let shown = named(&played.trace(), "gemm").len() as u64;
    let dropped = played.number("dropped").cast_unsigned();
    assert!(shown > 0 && dropped > 0, "{shown} {dropped}");
    let counts = played.counts();
    assert_eq!(shown + dropped + counts["dropped_records"].as_u64().unwrap(), 100_000, "{counts}");
}
