//! A run with counters whose ranks torch.profiler recorded: the report, and one of its parts, says whose GPU was slowed down.

use std::fs;
use std::path::Path;

use rankscope_formats::recording::{Category, ClockId, CounterValue, LiveAuthor};
use rankscope_formats::{ReadOptions, read};
use rankscope_run::{NewRun, RunDirectory};
use rankscope_testkit::{Dialect, Job, Straggler};
use serde_json::{Value, json};

use crate::common::rankscope;

const AHEAD_NS: i64 = 1_790_000_000_000_000_000;

fn uuid(rank: u32) -> String {
    format!("a2a2a2a2-0000-0000-0000-00000000000{rank}")
}

/// The run directory of four ranks of which rank 2 is late, with what the handler of rankscope adds to traces of torch.
fn run(root: &Path) {
    let job = Job { ranks: 4, steps: 8, straggler: Some(Straggler { rank: 2, factor: 1.5 }), ..Job::default() };
    let (mut from_ns, mut to_ns) = (i64::MAX, i64::MIN);
    let new = NewRun { run_id: "a".into(), command: vec!["train".into()], world_size: Some(4), reference_node: 0, restart: 0 };
    RunDirectory::create(root, new).expect("made");
    fs::create_dir(root.join("counters")).expect("made");
    for rank in 0..job.ranks {
        let bytes = job.rank_bytes(rank, &Dialect::default());
        let trace =
            read(std::io::Cursor::new(&bytes), &ReadOptions::default()).expect("read").remove(0).trace.expect("a trace");
        let (from, to) = trace.bounds_ns().expect("spans");
        (from_ns, to_ns) = (from_ns.min(from), to_ns.max(to));
        let clock = [from - 1_000_000_000, to + 1_000_000]
            .map(|ns| json!({"sys_clock_ns": ns, "raw_clock_ns": ns - AHEAD_NS, "half_width_ns": 60}));
        let devices: Vec<Value> =
            (0..8).map(|index| json!({"index": index, "uuid": uuid(rank), "pci": "0000:c3:00.0"})).collect();
        let about = json!({"rank": rank, "clock": clock, "devices": devices});
        let text = String::from_utf8(bytes).expect("text");
        // In front, as the handler has it, or behind all else, as the hooks of a run have it.
        let text = match text.trim_end().strip_suffix('}') {
            Some(rest) if rank % 2 == 0 => format!("{rest},\n\"rankscope\": {about}}}\n"),
            _ => text.replacen('{', &format!("{{\"rankscope\": {about},"), 1),
        };
        fs::write(root.join(format!("raw/rank-{rank}.json")), text).expect("written");
    }
    fs::write(root.join("counters/a-host.rkr"), counters(from_ns - AHEAD_NS, to_ns - AHEAD_NS)).expect("written");
}

/// Counters of a host, of which GPU `3 - rank` is the rank's; that of rank 2 was hot all the time.
fn counters(from_ns: i64, to_ns: i64) -> Vec<u8> {
    let tick = |ns: i64| u64::try_from(ns).expect("after the boot");
    let mut author = LiveAuthor::new();
    for ns in [from_ns - 50_000_000, to_ns + 50_000_000] {
        author.anchor(ClockId::MONOTONIC_RAW, tick(ns), ns, 1);
    }
    author.anchor(ClockId::REALTIME, tick(from_ns), from_ns + AHEAD_NS + 77, 1);
    author.thread(1, 100, "counters");
    for rank in 0..4_u32 {
        author.meta(&format!("counters.gpu.{}.uuid", 3 - rank), &format!("\"{}\"", uuid(rank)));
    }
    let names: Vec<_> =
        (0..4).map(|gpu| author.name(&format!("GPU {gpu} slowed by heat"), Category::USER_ANNOTATION.number(), 0)).collect();
    for (at, ns) in [from_ns - 40_000_000, to_ns + 40_000_000].into_iter().enumerate() {
        for (gpu, name) in names.iter().enumerate() {
            let is_hot = gpu == 1 && at == 0;
            author.counter(1, tick(ns) + gpu as u64, *name, CounterValue::I64(i64::from(is_hot)));
        }
    }
    author.finish()
}

fn said(output: &std::process::Output) -> String {
    let document: Value =
        serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", String::from_utf8_lossy(&output.stderr)));
    document["blame_groups"].to_string()
}

#[test]
fn a_report_on_torchs_traces_names_the_gpu_that_was_hot_and_so_does_one_of_their_parts() {
    let root = tempfile::tempdir().expect("a temporary directory");
    let (run_folder, parts) = (root.path().join("run"), root.path().join("parts"));
    run(&run_folder);
    let path = |path: &Path| path.display().to_string();
    let report = rankscope(&["report", &path(&run_folder), "--format", "json"]);
    assert!(
        said(&report).contains("Its GPU was slowed by heat for 100.0\u{a0}% of the steps in which it was late"),
        "{}",
        said(&report)
    );
    let mapped = rankscope(&["map", &path(&run_folder), "--parts", &path(&parts)]);
    assert!(mapped.status.success(), "{}", String::from_utf8_lossy(&mapped.stderr));
    let merged = rankscope(&["merge", &path(&parts), "--format", "json"]);
    assert!(merged.stdout == report.stdout, "{}", said(&merged));
    // Where counters are out of reach, parts say what they say by themselves.
    fs::remove_dir_all(run_folder.join("counters")).expect("removed");
    let alone = rankscope(&["merge", &path(&parts), "--format", "json"]);
    assert!(
        alone.status.success() && !said(&alone).contains("slowed by heat") && said(&alone).contains("Rank 2"),
        "{}",
        said(&alone)
    );
}
