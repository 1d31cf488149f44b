//! The second map: a timeline for each rank, on the clocks that a merge found, whoever writes it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::common::{rankscope, report, write_job};
use crate::map_merge::{mapped, text, two_clocks};
use serde_json::Value;

/// What every rank's folder of timelines holds, by name.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry"));
    entries.map(|entry| (entry.file_name().to_string_lossy().into_owned(), fs::read(entry.path()).expect("read"))).collect()
}

#[test]
fn timelines_of_ranks_are_on_the_clocks_of_the_merge() {
    let directory = write_job(&two_clocks());
    let (parts, out) = (mapped(directory.path(), 2), tempfile::tempdir().expect("a temporary directory"));
    let map = |to: &str, shard: &str| {
        let to = out.path().join(to);
        rankscope(&["map", "--parts", text(parts.path()), "--timelines", text(&to), "--shard", shard])
    };
    let early = map("early", "1/1");
    let said = String::from_utf8_lossy(&early.stderr);
    let command = format!("rankscope merge {}", text(parts.path()));
    assert!(early.status.code() == Some(2) && said.contains(&command), "{said}");
    assert!(rankscope(&["merge", text(parts.path()), "--format", "json"]).status.success());
    for (to, shard) in [("all", "1/1"), ("divided", "3/3"), ("divided", "1/3"), ("divided", "1/3"), ("divided", "2/3")] {
        let said = map(to, shard);
        assert!(said.status.success(), "{}", String::from_utf8_lossy(&said.stderr));
    }
    let all = files(&out.path().join("all"));
    assert_eq!(all.len(), 5);
    assert!(all == files(&out.path().join("divided")), "in shards as at once");
    let manifest: Value = serde_json::from_slice(&all["perfetto_manifest.json"]).expect("JSON");
    let listed = manifest["perfetto_manifest"]["files"].as_array().expect("files");
    assert!(listed.iter().all(|file| all.contains_key(file["path"].as_str().expect("a name"))) && listed.len() == 4);
    // As they stand there, the stamps say what the report says once it has moved them.
    let (moved, recorded) = (report(&out.path().join("all"), &["--as-recorded"]), report(directory.path(), &[]));
    assert_eq!(moved["clock"]["method"], "as_recorded");
    assert_ne!(recorded["clock"]["method"], "as_recorded");
    assert!(waits(&moved) > 0);
    assert_eq!(waits(&moved), waits(&recorded));
    assert_ne!(waits(&report(directory.path(), &["--as-recorded"])), waits(&recorded), "the clocks matter");
}

/// What all ranks waited for others.
fn waits(report: &Value) -> i64 {
    let rows = report["budgets"].as_array().expect("budgets");
    rows.iter().filter_map(|row| row["wait_ns"].as_i64()).sum()
}

#[test]
fn a_trace_that_changed_since_gives_no_timeline() {
    let directory = write_job(&two_clocks());
    let (parts, out) = (mapped(directory.path(), 1), tempfile::tempdir().expect("a temporary directory"));
    assert!(rankscope(&["merge", text(parts.path()), "--format", "json"]).status.success());
    fs::write(directory.path().join("rank1.json"), "{}").expect("written");
    let said = rankscope(&["map", "--parts", text(parts.path()), "--timelines", text(out.path())]);
    let complaint = String::from_utf8_lossy(&said.stderr);
    assert!(said.status.code() == Some(4) && complaint.contains("rank1.json"), "{complaint}");
    assert!(!out.path().join("rank-000001.pftrace").exists());
}
