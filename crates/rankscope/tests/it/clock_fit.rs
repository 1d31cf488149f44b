//! `rankscope clock fit`: the contract of its JSON, and logs that are damaged.

use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{corpus, failure, rankscope};
use serde_json::Value;

const START_NS: i64 = 1_795_213_863_000_000_000;

/// Eight seconds of exchanges between a true clock and one that is 5 s ahead and jumps by 1 ms at the sixth second.
fn log() -> String {
    let mut text = "seq\ta_tx_ns\tb_rx_ns\tb_tx_ns\ta_rx_ns\n".to_owned();
    for packet in 0..4_000i64 {
        let sent = START_NS + packet / 2 * 4_000_000 + packet % 2 * 20_000;
        let delay = 500 + packet * 7_919 % 97 * 100;
        let ahead = |at: i64| 5_000_000_000 + if at < START_NS + 6_000_000_000 { 0 } else { 1_000_000 };
        let (arrives, answers) = (sent + delay, sent + 1_000_000);
        let columns =
            [packet, sent, arrives + ahead(arrives), answers + ahead(answers), answers + 500 + packet * 104_729 % 89 * 100];
        writeln!(text, "{}", columns.map(|column| column.to_string()).join("\t")).expect("a string");
    }
    text
}

fn written(directory: &Path, text: impl AsRef<[u8]>) -> PathBuf {
    let path = directory.join("log.tsv");
    fs::write(&path, text).expect("written");
    path
}

fn windows(path: &Path, more: &[&str]) -> Vec<Value> {
    let path = path.display().to_string();
    let output = rankscope(&[&["clock", "fit", &path, "--format", "json"], more].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let document: Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    document["windows"].as_array().expect("windows").clone()
}

#[test]
fn a_step_begins_an_entry_of_its_own() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let found = windows(&written(directory.path(), log()), &[]);
    let offsets: Vec<i64> = found.iter().map(|entry| entry["offset_ns"].as_i64().expect("an integer")).collect();
    let expected = [5_000_000_000, 5_000_000_000, 5_001_000_000];
    assert_eq!(offsets.len(), 3, "{found:?}");
    assert!(offsets.iter().zip(expected).all(|(found, expected)| (found - expected).abs() < 300), "{offsets:?}");
    let steps: Vec<_> = found.iter().map(|entry| entry["steps"].as_i64()).collect();
    assert_eq!(steps, [Some(0), Some(0), Some(1)]);
    let size_ns = found[2]["step_events"][0]["size_ns"].as_i64().expect("a size");
    assert!((size_ns - 1_000_000).abs() < 300, "{size_ns}");
    for (entry, expected) in found.iter().zip(expected) {
        let ns = |key: &str| entry[key].as_i64().expect("an integer");
        assert!(ns("bound_lo_ns") <= expected && expected <= ns("bound_hi_ns"));
        assert!(ns("start_ns") < ns("mid_ns") && ns("mid_ns") < ns("end_ns") && ns("rtt_min_ns") >= 1_000);
        assert!(entry["points_forward"].as_u64() > Some(600) && entry["points_reverse"].as_u64() > Some(600));
        assert!(entry["skew_ppb"].as_f64().is_some_and(|ppb| ppb.abs() < 500.0) && entry["degraded"] == false);
    }
}

#[test]
fn a_window_with_too_little_says_so_and_is_no_zero() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let few: String = log().lines().take(9).map(|line| format!("{line}\n")).collect();
    let found = windows(&written(directory.path(), few), &[]);
    assert_eq!(found.len(), 1);
    assert!(found[0]["offset_ns"].is_null() && found[0]["start_ns"].is_i64());
    assert!(found[0]["reason"].as_str().is_some_and(|reason| reason.contains("4 complete exchanges")), "{found:?}");
}

#[test]
fn damaged_lines_are_named_and_stepped_over() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = written(directory.path(), log().replacen("\n1\t", "\nabc\t", 1) + "17\t12");
    let output = rankscope(&["clock", "fit", &path.display().to_string(), "--estimator", "robust", "--window", "2000ms"]);
    assert!(output.status.success());
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.contains("log.tsv: line 3: seq") && said.contains("line 4002: the file ends within"), "{said}");
    let table = String::from_utf8_lossy(&output.stdout);
    assert_eq!(table.lines().count(), 1 + 4, "{table}");
    assert!(table.contains("began with a step of +") && !table.contains("degraded"), "{table}");
}

#[test]
fn what_is_no_log_is_refused_by_name() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    for (bytes, expected) in [(&b""[..], "empty"), (b"hello\nworld\n", "line 1"), (b"\x1f\x8bxx", "gzip")] {
        let said = failure(&["clock", "fit", &written(directory.path(), bytes).display().to_string()]);
        assert!(said.contains("log.tsv") && said.contains(expected), "{said}");
    }
    assert!(failure(&["clock", "fit", "/nowhere/log.tsv"]).contains("/nowhere/log.tsv"));
    assert_eq!(rankscope(&["clock", "fit", "x.tsv", "--window", "4 parsecs"]).status.code(), Some(2));
}

#[test]
fn recorded_logs_of_one_clock_show_no_difference() {
    let Some(corpus) = corpus() else { return };
    for name in ["gap20us_idle", "gap800us_load80"] {
        let path = corpus.join(format!("probes/{name}.tsv.gz"));
        for (estimator, most_ns) in [("band", 150), ("robust", 150), ("svm", 3_000_000)] {
            for entry in windows(&path, &["--estimator", estimator]) {
                assert!(entry["offset_ns"].as_i64().expect("an integer").abs() <= most_ns, "{name} {estimator}: {entry}");
                assert!(entry["bound_lo_ns"].as_i64() < Some(0) && entry["bound_hi_ns"].as_i64() > Some(0));
            }
        }
    }
}
