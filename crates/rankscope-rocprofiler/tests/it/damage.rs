//! A library that drops, shortens and floods: what is missing is counted, and the rest is recorded.

use super::stage::{Fake, Stage, named, on_devices};

#[test]
fn records_may_be_longer_than_anybody_knows_and_as_short_as_what_is_read() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let sizes = [87, 88, 128, 184, 256, 400];
    let kernels: String = (1..)
        .zip(sizes)
        .map(|(at, size)| format!("symbol {at} size-{size}.kd\nkernel {at} {at}000 {at}500 0 7 {at} {size}\n"))
        .collect();
    let played = stage.play("once", &format!("hip-up\n{kernels}until 100000"));
    let expected: Vec<String> = (1..).zip(sizes).skip(1).map(|(at, size)| format!("size-{size} @0/1 by {at}")).collect();
    assert_eq!(on_devices(&played.trace()), expected);
    assert_eq!(played.counts()["short_records"], 1);
}

#[test]
fn what_cannot_be_shown_is_counted() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let script = "\
hip-up
symbol 1 fine.kd
kernel 1 1000 2000 0 7 1
kernel 2 none none 0 7 1
kernel 3 1000 none 0 7 1
kernel 4 -90000000000 -80000000000 0 7 1
kernel 5 90000000000 90000000001 0 7 1
kernel 6 1000 2000 9 7 1
raw 1 13 96
raw 1 13 96
raw 1 99 16
raw 1 11 16
raw 1 10 0
raw 3 1 64
dropped 5
until 100000
";
    let played = stage.play("once", script);
    let trace = played.trace();
    let shown: Vec<&str> = trace.spans.ids().map(|span| trace.name(span)).collect();
    assert_eq!(shown, ["fine"]);
    let counts = played.counts();
    let dropped = &counts["join"]["dropped"];
    assert_eq!((&dropped["zero_timestamp"], &dropped["out_of_window"]), (&2.into(), &2.into()));
    assert_eq!(counts["unknown_kinds"], serde_json::json!({"0": 1, "13": 2, "99": 1}));
    assert_eq!((&counts["short_records"], &counts["dropped_records"]), (&2.into(), &5.into()));
    assert_eq!((&counts["records"], &counts["work_without_device"]), (&12.into(), &1.into()));
}

#[test]
fn where_there_is_no_room_records_are_refused_and_counted() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let kernels: String = (1..=60).map(|at| format!("kernel {at} {at}00 {at}50 0 7 1\n")).collect();
    let played = stage.play("little-room", &format!("hip-up\nsymbol 1 gemm.kd\n{kernels}until 100000"));
    // One buffer of 4 KiB, with 16 bytes in front of each record of 184.
    let held = 4_096 / 200;
    assert_eq!(named(&played.trace(), "gemm").len(), held);
    assert_eq!(played.counts()["refused_records"], 60 - held);
}

#[test]
fn threads_record_beside_each_other() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    // Their times are long past, so that all are counted and none is shown.
    let counts = stage.play("once", "span forward\nend\nhip-up\nthreads 4").counts();
    assert_eq!((&counts["records"], &counts["join"]["dropped"]["out_of_window"]), (&4_000.into(), &4_000.into()));
    assert_eq!((&counts["refused_records"], &counts["short_records"]), (&0.into(), &0.into()));
}

#[test]
fn work_that_ends_behind_a_session_shows_nothing_in_a_later_one() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let played = stage.play("twice", "hip-up\nspan forward\nend\nkernel 1 1000 2000 0 7 1\nuntil 100000");
    let counts = played.counts();
    assert_eq!((&counts["records"], &counts["join"]["dropped"]["out_of_window"]), (&1.into(), &1.into()));
}
