//! The counters of a program that records itself.

use super::stage::{counters, metadata, part, play, recording, trace};

#[test]
fn a_program_has_its_own_counters_beside_its_spans() {
    let folder = tempfile::tempdir().unwrap();
    play(part("process", folder.path(), "2 process user time (cores)"));
    let trace = trace(&recording(folder.path()));
    let counters = counters(&trace);
    let busy = counters["process user time (cores)"].iter().copied().fold(0.0, f64::max);
    assert!(busy > 0.0, "{busy} cores");
    assert!(counters["process memory (bytes)"][0] > 1e6);
    // Where there are no cycles to count, or a process may not, it says so.
    let why = metadata(&trace, "counters.absent.perf");
    assert_eq!(why.is_none(), counters.contains_key("process cycles (1/s)"), "{why:?}");
    assert!(counters.keys().all(|name| name.starts_with("process ")), "what belongs to the node is not the program's");
    assert!(trace.spans.ids().any(|span| trace.name(span) == "work"));
}
