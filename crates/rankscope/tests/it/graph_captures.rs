//! Graphs that a run launches and that were captured in a file of its own, as inference engines leave it beside the run's trace.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::{rankscope, report};
use crate::map_merge::text;

/// Events of a trace: calls and operators of the host, work of the device.
#[derive(Default)]
struct Events {
    list: Vec<Value>,
    at_us: i64,
    id: u64,
}

impl Events {
    fn host(&mut self, category: &str, name: &str, dur_us: i64, args: Value) {
        let event = json!({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": self.at_us, "dur": dur_us, "args": args});
        self.list.push(event);
        self.at_us += 1;
    }

    fn call(&mut self, name: &str, kernel: Option<&str>) -> u64 {
        self.id += 1;
        let mut args = json!({"correlation": self.id});
        if let Some(kernel) = kernel {
            args["kernel"] = kernel.into();
        }
        self.host("cuda_runtime", name, 1, args);
        self.at_us += 1;
        self.id
    }

    /// A capture of a product and a sum over so many rows.
    fn capture(&mut self, rows: u32) {
        self.call("hipStreamBeginCapture", None);
        for (operator, kernel) in [("aten::mm", "gemm"), ("aten::add", "add")] {
            self.host("cpu_op", operator, 4, json!({"Input Dims": [[rows, 8], [8, 8]], "Input type": ["float", "float"]}));
            self.call("hipLaunchKernel", Some(kernel));
            self.at_us += 4;
        }
        self.call("hipStreamEndCapture", None);
    }

    fn replay(&mut self, kernels: &[&str]) {
        let id = self.call("hipGraphLaunch", None);
        for kernel in kernels {
            let args = json!({"device": 0, "stream": 7, "correlation": id});
            let event = json!({"ph": "X", "cat": "kernel", "name": kernel, "pid": 0, "tid": 7, "ts": self.at_us, "dur": 3, "args": args});
            self.list.push(event);
            self.at_us += 5;
        }
    }

    fn write(self, path: &Path, rank: Option<u32>) {
        let mut document = json!({"traceEvents": self.list});
        if let Some(rank) = rank {
            document["distributedInfo"] = json!({"rank": rank, "world_size": 2, "backend": "nccl"});
        }
        fs::create_dir_all(path.parent().expect("a folder")).expect("it can be made");
        fs::write(path, document.to_string()).expect("it can be written");
    }
}

fn capture(path: &Path, rank: Option<u32>, rows: u32) {
    let mut events = Events::default();
    events.capture(rows);
    events.write(path, rank);
}

fn run(path: &Path, rank: Option<u32>, kernels: &[&str]) {
    let mut events = Events { at_us: 40, ..Events::default() };
    events.replay(kernels);
    events.replay(kernels);
    events.write(path, rank);
}

/// By rank, the operators and how many pieces of work they launched.
fn operators(document: &Value) -> Vec<(u64, Vec<(&str, u64)>)> {
    let rows = |rank: &'_ Value| -> Vec<(String, u64)> {
        let rows = rank["tables"]["kernel_summary"].as_array().expect("rows");
        rows.iter()
            .map(|row| (row["parent_op"].as_str().unwrap_or_default().to_owned(), row["count"].as_u64().expect("a count")))
            .collect()
    };
    let known = ["aten::add", "aten::mm", "hipGraphLaunch"];
    let sums = |rank: &Value| {
        let rows = rows(rank);
        let sum = |name: &str| rows.iter().filter(|row| row.0 == name).map(|row| row.1).sum::<u64>();
        known.into_iter().map(|name| (name, sum(name))).filter(|row| row.1 > 0).collect()
    };
    let ranks = document["ranks"].as_array().expect("ranks");
    ranks.iter().map(|rank| (rank["rank"].as_u64().expect("a rank"), sums(rank))).collect()
}

fn notes(document: &Value) -> String {
    let cautions = document["notes"].to_string();
    let tables: Vec<String> =
        document["ranks"].as_array().expect("ranks").iter().map(|rank| rank["tables"]["notes"].to_string()).collect();
    cautions + &tables.join("\n")
}

const GRAPH: [&str; 2] = ["gemm", "add"];
const TABLES: [&str; 2] = ["--tables", "all"];

#[test]
fn a_capture_trace_is_no_rank_and_no_window_and_its_operators_count_in_the_run() {
    let folder = tempfile::tempdir().expect("a folder");
    for rank in [0, 1] {
        run(&folder.path().join(format!("rank{rank}.json")), Some(rank), &GRAPH);
        capture(
            &folder.path().join(format!("capture_traces/graph_capture_rank_{rank}.17.pt.trace.json")),
            Some(rank),
            16 + rank,
        );
    }
    // What engines write beside them is no trace.
    fs::write(
        folder.path().join("capture_traces/execution_details.json"),
        r#"[{"file": "x", "batch_size": 16, "mode": "FULL"}]"#,
    )
    .expect("it can be written");
    let document = report(folder.path(), &TABLES);
    let expected = vec![("aten::add", 2), ("aten::mm", 2)];
    assert_eq!(operators(&document), [(0, expected.clone()), (1, expected)]);
    let dims: Vec<&str> = document["ranks"]
        .as_array()
        .unwrap()
        .iter()
        .map(|rank| {
            let rows = rank["tables"]["ops_unique_args"].as_array().unwrap();
            rows.iter().find(|row| row["name"] == "aten::mm").unwrap()["input_dims"].as_str().unwrap_or_default()
        })
        .collect();
    assert_eq!(dims, ["[[16,8],[8,8]]", "[[17,8],[8,8]]"], "each by its own rank's capture");
    let notes = notes(&document);
    for rank in [0, 1] {
        assert!(notes.contains(&format!("graph_capture_rank_{rank}.17.pt.trace.json, a capture trace")), "{notes}");
    }
    assert!(notes.contains("2 of those graph launches"), "{notes}");
    // The same where each file is mapped by itself.
    let parts = folder.path().join("parts");
    for shard in ["1/2", "2/2"] {
        let args = ["map", text(folder.path()), "--parts", text(&parts), "--tables", "--shard", shard];
        let mapped = rankscope(&args);
        assert!(mapped.status.success(), "{}", String::from_utf8_lossy(&mapped.stderr));
    }
    let merged = report(&parts, &TABLES);
    assert_eq!(merged["ranks"], document["ranks"]);
}

#[test]
fn captures_of_another_rank_and_of_another_graph_tie_nothing() {
    let folder = tempfile::tempdir().expect("a folder");
    run(&folder.path().join("rank0.json"), Some(0), &GRAPH);
    capture(&folder.path().join("capture_traces/graph_capture_rank_1.json"), Some(1), 16);
    let document = report(folder.path(), &TABLES);
    assert_eq!(operators(&document), [(0, vec![("hipGraphLaunch", 4)])]);
    assert!(notes(&document).contains("graph_capture_rank_1.json, a capture trace"), "{}", notes(&document));
    // The same rank, and another order of kernels.
    let folder = tempfile::tempdir().expect("a folder");
    run(&folder.path().join("rank0.json"), Some(0), &["add", "gemm"]);
    capture(&folder.path().join("capture_traces/graph_capture_rank_0.json"), Some(0), 16);
    let document = report(folder.path(), &TABLES);
    assert_eq!(operators(&document), [(0, vec![("hipGraphLaunch", 4)])]);
    let notes = notes(&document);
    assert!(
        notes.contains("No capture in the trace has the same kernels") && notes.contains("of which no graph launch here"),
        "{notes}"
    );
}

#[test]
fn files_that_tell_no_rank_are_one_run_and_its_captures() {
    let folder = tempfile::tempdir().expect("a folder");
    run(&folder.path().join("17854-TP-0.trace.json"), None, &GRAPH);
    capture(&folder.path().join("capture_traces/bs_16.json"), None, 16);
    let document = report(folder.path(), &TABLES);
    assert_eq!(operators(&document), [(0, vec![("aten::add", 2), ("aten::mm", 2)])]);
    // Without tables it is no rank either.
    assert_eq!(report(folder.path(), &[])["ranks"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_capture_alone_is_reported_on_as_any_trace() {
    let folder = tempfile::tempdir().expect("a folder");
    capture(&folder.path().join("graph_capture_rank_0.json"), Some(0), 16);
    let document = report(folder.path(), &TABLES);
    assert_eq!(document["ranks"].as_array().map(Vec::len), Some(1));
    assert!(!notes(&document).contains("a capture trace"), "{}", notes(&document));
}
