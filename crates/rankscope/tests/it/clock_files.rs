//! `rankscope clock solve` and `clock show` on files in a directory.

use std::fs;
use std::path::Path;

use crate::common::{failure, rankscope};
use serde_json::{Value, json};

const SECOND: i64 = 1_000_000_000;
const EPOCH: i64 = 1_700_000_000 * SECOND;

/// Offsets in nanoseconds and skews in ppb of three clocks.
const CLOCKS: [(i64, i64); 3] = [(0, 0), (5 * SECOND, 12_000), (-2 * SECOND, -30_000)];

fn reads(node: usize, true_ns: i64) -> i64 {
    let (offset_ns, skew_ppb) = CLOCKS[node];
    true_ns + offset_ns + (true_ns - EPOCH) / 1_000 * skew_ppb / 1_000_000
}

/// The window of `node` in a round of four seconds, probing both others.
fn window(node: usize, round: i64) -> Value {
    let (start, end) = (EPOCH + round * 4 * SECOND, EPOCH + (round + 1) * 4 * SECOND);
    let mid = start + 2 * SECOND;
    let edges: Vec<_> = (0..3)
        .filter(|dst| *dst != node)
        .map(|dst| {
            let offset_ns = reads(dst, mid) - reads(node, mid);
            let skew_ppb = (CLOCKS[dst].1 - CLOCKS[node].1) as f64;
            json!({
                "dst": dst, "alpha": skew_ppb * 1e-9, "beta": reads(dst, start) - reads(node, start), "pairs": 4_900, "lost": 0,
                "x0_ns": reads(node, mid), "offset_ns": offset_ns, "skew_ppb": skew_ppb, "sigma_ns": 10.0,
                "bound_lo_ns": offset_ns - 150, "bound_hi_ns": offset_ns + 170, "skew_lo_ppb": skew_ppb - 40.0,
                "skew_hi_ppb": skew_ppb + 40.0, "rtt_min_ns": 320, "points_fwd": 4_800, "points_rev": 4_800, "ts_source": "sw",
            })
        })
        .collect();
    json!({
        "window_start_ns": reads(node, start), "window_end_ns": reads(node, end), "window_id": round, "round_id": 0,
        "node_id": node, "edges": edges,
    })
}

fn write_windows(directory: &Path) {
    for node in 0..3 {
        let mut text = format!("{}\n", json!({ "meta": true, "node_id": node, "schema": 1, "run_id": "r" }));
        for round in (0..6).filter(|round| (node, *round) != (2, 3)) {
            text += &format!("{}\n", window(node, round));
        }
        if node == 1 {
            text += "{\"window_start_ns\": 17000";
        }
        fs::write(directory.join(format!("windows-node{node}.jsonl")), text).expect("written");
    }
}

fn text(path: &Path) -> String {
    path.display().to_string()
}

#[test]
fn windows_become_offsets() {
    let directory = tempfile::tempdir().expect("a directory");
    write_windows(directory.path());
    let out = directory.path().join("new/offsets.jsonl");
    let output = rankscope(&["clock", "solve", &text(directory.path()), "-o", &text(&out), "--format", "json"]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let solved: Value = serde_json::from_slice(&output.stdout).expect("one document");
    let rows = solved["offsets"].as_array().expect("offsets");
    assert_eq!(rows.len(), 6 * 3, "every node has a row in every round");
    let written = fs::read_to_string(&out).expect("written");
    assert_eq!(written.lines().count(), 1 + rows.len());
    for row in rows.iter().filter(|row| row["reachable"] == true) {
        let (node, at_ns) = (row["node_id"].as_u64().expect("a node") as usize, row["at_ns"].as_i64().expect("an instant"));
        let true_ns = at_ns - row["offset_ns"].as_i64().expect("an offset");
        assert!((reads(node, true_ns) - at_ns).abs() < 50, "{row}");
        let smoothed_ns = at_ns - row["smoothed_ns"].as_i64().expect("smoothed");
        assert!((reads(node, smoothed_ns) - at_ns).abs() < 50, "{row}");
        assert!(row["smoothed_sigma_ns"].as_f64().is_some_and(|sigma| sigma < 50.0), "{row}");
    }
    let pairs = solved["pairs"].as_array().expect("pairs");
    assert_eq!(pairs.len(), 3, "{pairs:?}");
    assert!(pairs.iter().all(|pair| pair["suspect"] == false && pair["surplus_ns"].is_number()), "{pairs:?}");
    let notes = solved["notes"].to_string();
    for expected in ["node 2 sent no window in 1 of 6 rounds", "numbered from 0", "windows-node1.jsonl: line 8: cut off"] {
        assert!(notes.contains(expected), "{expected} in {notes}");
    }
}

#[test]
fn the_origins_flags_are_understood() {
    let directory = tempfile::tempdir().expect("a directory");
    write_windows(directory.path());
    let list = [0, 1, 2].map(|node| text(&directory.path().join(format!("windows-node{node}.jsonl")))).join(",");
    let out = text(&directory.path().join("round_offsets.jsonl"));
    let more = [
        "--num_nodes",
        "-1",
        "--reference_node",
        "0",
        "--min_pairs",
        "12",
        "--max_loss_ratio",
        "0.6",
        "--smoothing_factor",
        "1.0",
    ];
    let args = [&["clock", "solve", "--input_files", &list, "--output_offsets", &out][..], &more].concat();
    let output = rankscope(&args);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(Path::new(&out).exists());
    assert!(String::from_utf8_lossy(&output.stdout).contains("3 nodes · 6 rounds · reference node 0"));
}

#[test]
fn offsets_are_shown_and_drawn() {
    let directory = tempfile::tempdir().expect("a directory");
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rankscope-clock/tests/golden/offsets.jsonl");
    let page = directory.path().join("clock.html");
    let output = rankscope(&["clock", "show", &text(&golden), "--html", &text(&page)]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let table = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(table.contains("+5.000034692 s") && table.contains("-181 +201 ns") && table.contains("0 of 1"), "{table}");
    assert!(fs::read_to_string(&page).expect("written").contains("5000034692"));
    let output = rankscope(&["clock", "show", &text(&golden), "--node", "1", "--format", "json"]);
    let shown: Value = serde_json::from_slice(&output.stdout).expect("one document");
    assert_eq!(shown["nodes"].as_array().map(Vec::len), Some(1));
    assert_eq!(shown["nodes"][0]["points"][0]["bound_hi_ns"], 5_000_034_893i64);
}

#[test]
fn what_is_wrong_is_said_with_the_path() {
    let directory = tempfile::tempdir().expect("a directory");
    let path = text(directory.path());
    assert!(failure(&["clock", "solve", &path]).contains("windows-node<k>.jsonl"));
    assert!(failure(&["clock", "solve", "/nowhere"]).contains("no such file"));
    let bad = directory.path().join("windows-node0.jsonl");
    fs::write(&bad, "nonsense\n").expect("written");
    let said = failure(&["clock", "solve", &path]);
    assert!(said.contains("windows-node0.jsonl") && said.contains("line 1"), "{said}");
    write_windows(directory.path());
    assert!(failure(&["clock", "solve", &path, "--reference-node", "9"]).contains("the nodes are 0, 1, 2"));
    assert!(failure(&["clock", "solve", &path, "--smoothing-factor", "0"]).contains("greater than 0"));
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../rankscope-clock/tests/golden/offsets.jsonl");
    assert!(failure(&["clock", "show", &text(&golden), "--node", "9"]).contains("node 9 does not exist"));
}

/// Packets from node 2 to node 5 take 600 ns longer than those back, which no bound can tell.
#[test]
fn a_path_that_is_slower_one_way_is_named() {
    const NODES: i64 = 8;
    let directory = tempfile::tempdir().expect("a directory");
    let offset_ns = |src: i64, dst: i64| match (src, dst) {
        (2, 5) => 300,
        (5, 2) => -300,
        _ => (src * 7 + dst * 3) % 5 - 2,
    };
    for node in 0..NODES {
        let mut text = format!("{}\n", json!({ "meta": true, "node_id": node, "schema": 1, "run_id": "r" }));
        for round in 0..5 {
            let (start, end) = (EPOCH + round * 4 * SECOND, EPOCH + (round + 1) * 4 * SECOND);
            let edge = |dst: i64| {
                let offset_ns = offset_ns(node, dst);
                json!({
                    "dst": dst, "alpha": 0.0, "beta": offset_ns, "pairs": 4_900, "lost": 0, "x0_ns": start + 2 * SECOND,
                    "offset_ns": offset_ns, "skew_ppb": 0.0, "sigma_ns": 5.0, "bound_lo_ns": -5_000, "bound_hi_ns": 5_000,
                    "skew_lo_ppb": -40.0, "skew_hi_ppb": 40.0, "rtt_min_ns": 10_000, "points_fwd": 4_800, "points_rev": 4_800,
                    "ts_source": "sw",
                })
            };
            let edges: Vec<_> = (0..NODES).filter(|dst| *dst != node).map(edge).collect();
            let window = json!({
                "window_start_ns": start, "window_end_ns": end, "window_id": round, "round_id": round, "node_id": node,
                "edges": edges,
            });
            text += &format!("{window}\n");
        }
        fs::write(directory.path().join(format!("windows-node{node}.jsonl")), text).expect("written");
    }
    let path = text(directory.path());
    let output = rankscope(&["clock", "solve", &path, "--format", "json"]);
    let solved: Value = serde_json::from_slice(&output.stdout).expect("one document");
    let suspects: Vec<&Value> =
        solved["pairs"].as_array().expect("pairs").iter().filter(|pair| pair["suspect"] == true).collect();
    assert_eq!(suspects.len(), 1, "{suspects:?}");
    assert_eq!((&suspects[0]["first"], &suspects[0]["second"]), (&json!(2), &json!(5)));
    let table = String::from_utf8_lossy(&rankscope(&["clock", "solve", &path]).stdout).into_owned();
    let more_ns = 2.0 * suspects[0]["surplus_ns"].as_f64().expect("a surplus");
    assert!((more_ns - 600.0).abs() < 8.0, "{more_ns}");
    for expected in [
        format!("packets from node 2 to node 5 take about {more_ns:.0} ns longer"),
        format!("slower from 2 to 5 than back by {more_ns:.0} ns"),
    ] {
        assert!(table.contains(&expected), "{expected} in {table}");
    }
}
