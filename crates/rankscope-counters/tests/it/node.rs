//! The counters of this host, for real.

use std::process::Stdio;
use std::time::Duration;

use super::stage::{counters, live_counters, metadata, part, play, recording, trace};

const MEMORY: &str = "memory available (bytes)";

#[test]
fn a_busy_processor_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    play(part("node", folder.path(), "2 CPU busy (cores)"));
    let trace = trace(&recording(folder.path()));
    let counters = counters(&trace);
    // One core is, of which the kernel counts hundredths of a second; others may have it for a while.
    let busy = counters["CPU busy (cores)"].iter().copied().fold(0.0, f64::max);
    assert!(busy > 0.0, "{busy} cores");
    assert!(counters[MEMORY].iter().all(|bytes| *bytes > 1e6));
    assert_eq!(
        metadata(&trace, "counters.absent.nvml").map(|why| why.contains("NVML is not installed")),
        Some(true),
        "what is absent has a reason"
    );
    let sampled: serde_json::Value = serde_json::from_str(metadata(&trace, "counters.sampled").unwrap()).unwrap();
    assert!(sampled["looks"].as_u64().unwrap() > 0, "{sampled}");
}

#[test]
fn a_killed_process_leaves_what_it_recorded() {
    let folder = tempfile::tempdir().unwrap();
    // It never sees so many.
    let mut running = part("node", folder.path(), "1000000 nothing").stdout(Stdio::null()).spawn().unwrap();
    while live_counters(folder.path()).len() < 4 {
        assert!(running.try_wait().unwrap().is_none(), "it ended before it was killed");
        std::thread::sleep(Duration::from_millis(5));
    }
    running.kill().unwrap();
    running.wait().unwrap();
    assert!(counters(&trace(&recording(folder.path()))).contains_key(MEMORY));
}
