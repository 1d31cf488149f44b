//! Memory that rocprofiler tells of: what is in the recording, what is in use, and what becomes of what cannot be.

use super::stage::{Fake, Stage, memory, metadata, named, on_devices};

/// Memory of GPUs and of the host, physical memory under the number of an address, and scratch memory.
const MEMORY: &str = "\
hip-up
symbol 1 gemm.kd
span forward
op matmul
memory 1 1 1000 1100 0 0x7000 1000
memory 1 2 1200 1300 1 0x8000 500
memory 1 3 1400 1500 -1 0x9000 64
end
end
memory 2 4 1600 1700 0 0x7000 4096
memory 3 5 1800 1900 none 0x7000 0
memory 4 6 2000 2100 none 0x7000 0
memory 1 7 1750 2300 0 0x7000 70
scratch 1 0 2400 2500 0 7
kernel 8 5000 9000 0 7 1
scratch 3 0 9100 9200 0 7
scratch 2 0 9300 9400 1 7
until 200000
";

/// What of it is told, by device type (0 is the host, 6 HIP), device, bytes, address, kind, and in use of reserved.
const TOLD: [&str; 7] = [
    "6:0 +1000 @0x7000 device 1000/1000 correlation 1",
    "6:1 +500 @0x8000 device 500/500 correlation 2",
    "0:-1 +64 @0x9000 pinned 64/64 correlation 3",
    "6:0 +4096 @0x7000 physical 5096/5096 correlation 4",
    // A free says an address; whose it was and how much is what was allocated there.
    "6:0 -1000 @0x7000 device 4096/4096 correlation 5",
    "6:0 -4096 @0x7000 physical 0/0 correlation 6",
    // It began before the free at its address, and was there after it.
    "6:0 +70 @0x7000 device 70/70 correlation 7",
];

#[test]
fn memory_is_told_with_what_is_in_use_by_records_of_both_lengths() {
    for fake in [Fake::Now, Fake::Before] {
        let Some(stage) = Stage::new(fake, "works") else { return };
        let played = stage.play("once", MEMORY);
        assert_eq!((played.said("absent"), played.said("failures")), (None, Some("[]")), "{fake:?}");
        let trace = played.trace();
        assert_eq!(memory(&trace), TOLD, "{fake:?}");
        let counts = played.counts();
        assert_eq!((&counts["join"]["memory"]["events"], &counts["short_records"]), (&7.into(), &0.into()), "{counts}");
        assert!(trace.provenance.problems.is_empty(), "{:?}", trace.provenance.problems);
    }
}

#[test]
fn memory_is_on_the_thread_that_asked_for_it() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let trace = stage.play("once", MEMORY).trace();
    let thread = trace.spans.row(named(&trace, "matmul")[0]).track;
    let marks: Vec<_> = trace.instants.iter().filter(|mark| trace.strings.text(mark.name) == "[memory]").collect();
    assert!(marks.len() == TOLD.len() && marks.iter().all(|mark| mark.track == thread));
}

#[test]
fn scratch_memory_is_overhead_of_its_queue() {
    for (who, queues) in [("works", [1, 1, 1]), ("streams", [65_537, 65_537, 65_537])] {
        let Some(stage) = Stage::new(Fake::Now, who) else { return };
        let trace = stage.play("once", MEMORY).trace();
        let names = ["Scratch memory allocation @0", "Scratch memory reclaim @0", "Scratch memory free @1"];
        let expected: Vec<String> = names.iter().zip(queues).map(|(name, queue)| format!("{name}/{queue}")).collect();
        let told: Vec<String> = on_devices(&trace).into_iter().filter(|line| line.starts_with("Scratch")).collect();
        assert_eq!(told, expected, "{who}");
        let span = named(&trace, "Scratch memory reclaim")[0];
        let category = trace.categories[usize::from(trace.spans.row(span).category)].name;
        assert_eq!(trace.strings.text(category), "overhead");
    }
}

#[test]
fn what_cannot_be_is_counted_and_in_use_stays_true() {
    let Some(stage) = Stage::new(Fake::Now, "works") else { return };
    let script = "\
hip-up
memory 1 1 1000 1100 0 0x7000 100
memory 1 2 1000 1200 0 0x8000 18446744073709551615
memory 1 3 1000 1300 0 0 50
memory 1 4 1000 1400 9 0x9000 50
memory 3 5 1500 1600 none 0xdead 0
memory 3 6 1600 1700 0 0xdead 70
memory 0 7 1700 1800 0 0x7000 100
memory 9 8 1800 1900 0 0x7000 100
memory 1 9 1900 none 0 0xa000 100
memory 1 10 -90000000000 -80000000000 0 0xa000 100
memory 1 11 2000 2100 0 0xa000 100 79
memory 1 12 2200 2300 0 0x7000 40
memory 3 13 2400 2500 none 0x7000 0
scratch 4 0 2600 2700 0 7
scratch 1 0 2600 2700 9 7
raw 1 16 16
raw 1 12 16
until 100000
";
    let played = stage.play("once", script);
    let told = [
        "6:0 +100 @0x7000 device 100/100 correlation 1",
        "6:0 -70 @0xdead device correlation 6",
        "6:0 +40 @0x7000 device 40/40 correlation 12",
        "6:0 -40 @0x7000 device 0/0 correlation 13",
    ];
    assert_eq!(memory(&played.trace()), told);
    let counts = played.counts();
    let joined = &counts["join"]["memory"];
    assert_eq!(joined["odd"], serde_json::json!({"unknown_frees": 2, "other_sizes": 0, "replaced": 1, "impossible": 3}));
    assert_eq!(joined["dropped"], serde_json::json!({"out_of_window": 1, "zero_timestamp": 1}));
    assert_eq!((&counts["other_memory_operations"], &counts["short_records"]), (&3.into(), &3.into()));
    assert_eq!(counts["work_without_device"], 1);
}

#[test]
fn a_version_without_the_services_says_so_and_records_the_rest() {
    for who in ["no-memory", "renumbered"] {
        let Some(stage) = Stage::new(Fake::Now, who) else { return };
        let played = stage.play("once", MEMORY);
        let trace = played.trace();
        let refused: Vec<String> = serde_json::from_str(metadata(&trace, "rocprofiler.refused").unwrap()).unwrap();
        let mut expected = vec!["streams of HIP", "memory", "scratch memory"];
        expected.extend((who == "renumbered").then_some("graphs"));
        let expected: Vec<String> = expected.into_iter().map(|what| format!("{what}: error 4 (no such kind)")).collect();
        assert_eq!((refused, played.said("absent")), (expected, None), "{who}");
        assert_eq!((memory(&trace).len(), on_devices(&trace).len()), (0, 1), "{who}");
    }
}
