//! Memory that CUPTI tells of: what is in the recording, what is in use, and what becomes of what cannot be.

use super::stage::{Fake, Stage, memory, metadata, named};

/// Memory of every sort, with the calls that asked for some of it.
const MEMORY: &str = "\
span forward
op matmul
call 2 20 1 1000 2000
memory 1 3 1 1100 0x7000 1000 0 -1
memory 1 3 2 1200 0x8000 500 1 -1
memory 1 2 3 1300 0x100 64 0 -1
end
end
memory 1 3 4 1400 0x9100 100 0 7 1 4096
memory 1 5 5 1500 0xa000 30 0 -1
memory 2 3 6 1600 0x9100 100 0 7 1 4096
call 2 22 7 1650 1690
memory 2 3 7 1700 0x7000 1000 0 -1
kernel 9 5000 9000 0 7 208 0 0 gemm
until 200000
";

/// What of it is told, by device type (0 is the host, 1 CUDA), device, bytes, address, kind, and in use of reserved.
const TOLD: [&str; 7] = [
    "1:0 +1000 @0x7000 device 1000/1000 correlation 1",
    "1:1 +500 @0x8000 device 500/500 correlation 2",
    "0:-1 +64 @0x100 pinned 64/64 correlation 3",
    "1:0 +100 @0x9100 device 1100/5096 stream 7 correlation 4",
    "1:0 +30 @0xa000 managed 1130/5126 correlation 5",
    "1:0 -100 @0x9100 device 1030/5126 stream 7 correlation 6",
    "1:0 -1000 @0x7000 device 30/4126 correlation 7",
];

#[test]
fn memory_is_told_with_what_is_in_use_through_both_versions() {
    for who in ["works", "fields", "fields 13.3"] {
        let Some(stage) = Stage::new(Fake::Now, who) else { return };
        let played = stage.play("once", MEMORY);
        assert_eq!((played.said("absent"), played.said("failures")), (None, Some("[]")), "{who}");
        let trace = played.trace();
        assert_eq!(memory(&trace), TOLD, "{who}");
        let counts = played.counts();
        assert_eq!((&counts["join"]["memory"]["events"], &counts["short_records"]), (&7.into(), &0.into()), "{counts}");
        assert_eq!(counts["join"]["memory"]["odd"]["unknown_frees"], 0);
        assert_eq!(named(&trace, "gemm").len(), 1);
        assert!(trace.provenance.problems.is_empty(), "{:?}", trace.provenance.problems);
    }
}

#[test]
fn memory_is_on_the_thread_of_its_call_and_else_on_none() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let trace = stage.play("once", MEMORY).trace();
    let thread = trace.spans.row(named(&trace, "matmul")[0]).track;
    let on_thread = trace.instants.iter().filter(|mark| trace.strings.text(mark.name) == "[memory]" && mark.track == thread);
    assert_eq!(on_thread.count(), 2, "the two whose calls are recorded");
}

#[test]
fn the_oldest_records_say_the_same() {
    let Some(stage) = Stage::new(Fake::Old, "26") else { return };
    let script = MEMORY.replace(" 0 -1\n", " 0 -1 0 0 112\n").replace("1 4096\n", "1 4096 112\n");
    assert_eq!(memory(&stage.play("once", &script).trace()), TOLD);
}

#[test]
fn what_cannot_be_is_counted_and_in_use_stays_true() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let script = "\
memory 1 3 1 1000 0x7000 100 0 -1
memory 1 3 2 1100 0x8000 18446744073709551615 0 -1
memory 1 3 3 1200 0x9000 9223372036854775807 0 -1
memory 1 3 4 1300 0 50 0 -1
memory 1 3 5 1400 0xa000 50 4294967295 -1
memory 1 99 6 1500 0xb000 50 0 -1
memory 2 3 7 1600 0xdead 70 0 -1
memory 2 3 8 1700 0xdead 18446744073709551615 0 -1
memory 0 3 9 1800 0x7000 100 0 -1
memory 7 3 10 1900 0x7000 100 0 -1
memory 1 3 11 none 0xc000 100 0 -1
memory 1 3 12 -90000000000 0xc000 100 0 -1
memory 1 3 13 2000 0xc000 100 0 -1 0 0 56
memory 1 3 14 2100 0x7000 40 0 -1 9 18446744073709551615
memory 2 3 15 2200 0x7000 99 0 -1
memory 2 3 16 2300 0xb000 50 0 -1
raw 49 16
until 200000
";
    let played = stage.play("once", script);
    let told = [
        "1:0 +100 @0x7000 device 100/100 correlation 1",
        "1:0 +50 @0xb000 unknown 150/150 correlation 6",
        "1:0 -70 @0xdead device correlation 7",
        "1:0 +0 @0xdead device correlation 8",
        "1:0 +40 @0x7000 device 90/90 correlation 14",
        "1:0 -40 @0x7000 device 50/50 correlation 15",
        "1:0 -50 @0xb000 unknown 0/0 correlation 16",
    ];
    assert_eq!(memory(&played.trace()), told);
    let counts = played.counts();
    let joined = &counts["join"]["memory"];
    assert_eq!(joined["odd"], serde_json::json!({"unknown_frees": 2, "other_sizes": 1, "replaced": 1, "impossible": 4}));
    assert_eq!(joined["dropped"], serde_json::json!({"out_of_window": 1, "zero_timestamp": 1}));
    assert_eq!((&counts["other_memory_operations"], &counts["short_records"]), (&2.into(), &2.into()));
}

#[test]
fn a_library_without_records_of_memory_says_so_and_records_the_rest() {
    for who in ["no-memory", "fields no-memory"] {
        let Some(stage) = Stage::new(Fake::Now, who) else { return };
        let played = stage.play("once", MEMORY);
        let trace = played.trace();
        assert_eq!(metadata(&trace, "cupti.refused_kinds"), Some("[\"memory: error 21 (invalid kind)\"]"), "{who}");
        assert_eq!((named(&trace, "gemm").len(), memory(&trace).len(), played.said("absent")), (1, 0, None));
    }
}
