//! Tables of operators, kernels, idle time and collectives: in report.json, on the terminal and for a spreadsheet.

use std::path::{Path, PathBuf};
use std::process::Output;

use serde_json::Value;

use crate::common::{failure, rankscope, report, write_job};
use crate::map_merge::{job, mapped, mapped_with, text};

fn sum(rows: &Value, key: &str) -> i64 {
    rows.as_array().expect("rows").iter().map(|row| row[key].as_i64().unwrap_or_else(|| panic!("{key} in {row}"))).sum()
}

#[test]
fn every_table_of_every_rank_has_the_sum_of_its_device_work() {
    let job = job();
    let directory = write_job(&job);
    let document = report(directory.path(), &["--tables", "all"]);
    let ranks = document["ranks"].as_array().unwrap();
    assert_eq!(ranks.len(), 4);
    for rank in ranks {
        let tables = &rank["tables"];
        let kernel_ns = tables["kernel_ns"].as_i64().unwrap();
        let unattributed_ns = tables["unattributed_kernel_ns"].as_i64().unwrap();
        assert!(kernel_ns > 0 && unattributed_ns < kernel_ns, "{tables}");
        assert_eq!(sum(&tables["kernel_summary"], "sum_ns"), kernel_ns);
        assert_eq!(sum(&tables["ops_summary"], "kernel_sum_ns") + unattributed_ns, kernel_ns);
        assert_eq!(sum(&tables["ops_summary_by_category"], "kernel_sum_ns") + unattributed_ns, kernel_ns);
        assert_eq!(sum(&tables["ops_unique_args"], "direct_kernel_ns"), sum(&tables["ops_summary"], "direct_kernel_ns"));
        let idle = &tables["idle"];
        let causes_ns: i64 =
            ["host_wait_ns", "kernel_wait_ns", "other_ns"].iter().map(|cause| idle[*cause].as_i64().unwrap()).sum();
        assert!(causes_ns > 0 && idle["streams"].as_array().is_some_and(|streams| !streams.is_empty()), "{idle}");
    }
}

#[test]
fn only_those_that_were_asked_for_are_written() {
    let directory = write_job(&job());
    let plain = report(directory.path(), &[]);
    assert!(plain["ranks"][0].get("tables").is_none());
    let mut some = report(directory.path(), &["--tables", "ops_summary,idle"]);
    let keys = |tables: &Value| tables.as_object().unwrap().keys().cloned().collect::<Vec<_>>();
    assert_eq!(
        keys(&some["ranks"][0]["tables"]),
        ["card", "idle", "kernel_ns", "notes", "ops_summary", "unattributed_kernel_ns"]
    );
    for rank in some["ranks"].as_array_mut().unwrap() {
        rank.as_object_mut().unwrap().remove("tables");
    }
    assert_eq!(some, plain, "tables change nothing else");
}

#[test]
fn one_table_is_printed_sorted_cut_and_as_csv() {
    let directory = write_job(&job());
    let path = text(directory.path());
    let said = |args: &[&str]| {
        let output = rankscope(&[&["report"], args].concat());
        assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("text")
    };
    let rows: Vec<Value> = serde_json::from_str(&said(&["kernels", path, "--json"])).unwrap();
    let csv = said(&["kernel_summary", path, "--csv"]);
    assert_eq!(csv.lines().count(), 1 + rows.len());
    assert_eq!(csv.lines().next(), Some("rank,parent_op,category,name,stream,count,sum_ns,mean_ns,min_ns,max_ns"));
    let top: Vec<Value> = serde_json::from_str(&said(&["kernels", path, "--sort", "count", "--top", "3", "--json"])).unwrap();
    let counts: Vec<u64> = top.iter().map(|row| row["count"].as_u64().unwrap()).collect();
    assert_eq!(counts.len(), 3);
    assert!(
        counts.is_sorted_by(|a, b| a >= b) && rows.iter().all(|row| row["count"].as_u64() <= Some(counts[0])),
        "{counts:?}"
    );
    let table = said(&["ops", path, "--sort", "subtree", "--top", "2"]);
    assert!(table.starts_with("OPS_SUMMARY") && table.contains("more; --top"), "{table}");
    assert!(!directory.path().join("rankscope-report").exists());
}

/// A trace with one product and one convolution on a card that nobody knows.
fn of_unknown_card(directory: &Path) -> PathBuf {
    let operator = |name: &str, at: i64, args: &str| {
        let launch = at + 10;
        format!(
            r#"{{"ph":"X","cat":"cpu_op","name":"{name}","pid":1,"tid":1,"ts":{at},"dur":50,"args":{{{args}}}}},
               {{"ph":"X","cat":"cuda_runtime","name":"cudaLaunchKernel","pid":1,"tid":1,"ts":{launch},"dur":5,"args":{{"correlation":{at}}}}},
               {{"ph":"X","cat":"kernel","name":"k","pid":0,"tid":7,"ts":{launch},"dur":30,"args":{{"device":0,"stream":7,"correlation":{at}}}}}"#
        )
    };
    let product = r#""Input Dims":[[20,30],[30,40]],"Input type":["float","float"]"#;
    let convolution = r#""Input Dims":[[1,2,4,4],[3,2,3,3],[],[],[],[],[],[],[]],"Input type":["float","float","","","","","","",""],
        "Concrete Inputs":["","","","[1, 1]","[0, 0]","[1, 1]","False","[0, 0]","1"]"#;
    let events = [operator("aten::mm", 100, product), operator("aten::convolution", 200, convolution)].join(",");
    let path = directory.join("trace.json");
    let devices = r#"[{"id":0,"name":"Card of Tomorrow"}]"#;
    std::fs::write(&path, format!(r#"{{"deviceProperties":{devices},"traceEvents":[{events}]}}"#)).expect("it can be written");
    path
}

#[test]
fn a_card_of_ones_own_makes_rooflines_and_what_is_wrong_with_it_is_told_by_line() {
    let directory = tempfile::tempdir().unwrap();
    let (trace, cards) = (of_unknown_card(directory.path()), directory.path().join("cards.toml"));
    let card = |figures: &str| {
        let text = format!("[[card]]\nname = \"mine\"\ndevices = [\"Card of Tomorrow\"]\nsource = \"me\"\n{figures}\n");
        std::fs::write(&cards, text).unwrap();
    };
    let ask = |more: &[&str]| rankscope(&[&["report", "gemm", text(&trace), "--json"], more].concat());
    let share = |output: Output| {
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let rows: Vec<Value> = serde_json::from_slice(&output.stdout).unwrap();
        rows[0]["roofline_share"].as_f64()
    };
    assert_eq!(share(ask(&[])), None);
    // 48,000 operations at 10^9 a second take 48 us of the 30 that it took.
    card("memory = 1.0\nmatrix = { fp32 = 0.001 }");
    assert_eq!(share(ask(&["--cards", text(&cards)])), Some(1.6));
    card("memory = 1.0\nmatrix = { fp32 = 0.001, fp33 = 1 }");
    let said = String::from_utf8(ask(&["--cards", text(&cards)]).stderr).unwrap();
    assert!(said.contains("cards.toml") && said.contains("line 6") && said.contains("fp33"), "{said}");
    card("memory = -1.0");
    let said = String::from_utf8(ask(&["--cards", text(&cards)]).stderr).unwrap();
    assert!(said.contains("line 5, \"memory = -1.0\": a figure must be above 0"), "{said}");
    // Parts have what a roofline is made of, and take the card when they are drawn.
    card("memory = 1.0\nmatrix = { fp32 = 0.001 }");
    let parts = mapped_with(&trace, 1, &["--tables"]);
    for table in ["gemm", "unified_perf_summary"] {
        let of = |path: &Path| json(&[table, text(path), "--cards", text(&cards)]);
        assert_eq!(of(parts.path()), of(&trace), "{table}");
    }
    assert_eq!(json(&["gemm", text(parts.path())])[0]["roofline_share"], Value::Null);
}

#[test]
fn the_first_rows_are_those_with_most_of_all_ranks() {
    let directory = write_job(&job());
    let path = text(directory.path());
    let all = json(&["kernels", path]);
    let mut most: Vec<i64> = all.as_array().unwrap().iter().map(|row| row["sum_ns"].as_i64().unwrap()).collect();
    most.sort_by_key(|ns| std::cmp::Reverse(*ns));
    let top = json(&["kernels", path, "--top", "5"]);
    let top: Vec<i64> = top.as_array().unwrap().iter().map(|row| row["sum_ns"].as_i64().unwrap()).collect();
    assert_eq!(top, most[..5]);
    let args = json(&["args", path, "--top", "9"]);
    let rows = args.as_array().unwrap();
    assert!(rows.iter().any(|row| row["rank"] != 2) && rows.is_sorted_by_key(|row| -row["direct_kernel_ns"].as_i64().unwrap()));
}

#[test]
fn waits_that_are_at_most_are_told_apart() {
    let directory = write_job(&job());
    let path = text(directory.path());
    let rows = |table: &str| json(&[table, path]);
    let long = rows("nccl_long");
    let at_most_ns = |is_of: &dyn Fn(&Value) -> bool| -> i64 {
        let some = long.as_array().unwrap().iter().filter(|row| row["waits_for"] == "some" && is_of(row));
        some.filter_map(|row| row["wait_ns"].as_i64()).sum()
    };
    let all_ns = at_most_ns(&|_| true);
    assert!(all_ns > 0, "its broadcasts are waited for");
    for row in rows("straggler_summary").as_array().unwrap() {
        assert_eq!(row["wait_at_most_ns"].as_i64(), Some(at_most_ns(&|part| part["rank"] == row["rank"])), "{row}");
    }
    for table in ["by_group", "by_parallelism"] {
        assert_eq!(sum(&rows(table), "wait_at_most_ns"), all_ns, "{table}");
    }
    for table in ["collectives", "nccl_summary_long", "instances", "nccl_long", "stragglers", "groups", "parallelism"] {
        let said = rankscope(&["report", table, path]).stderr;
        assert!(String::from_utf8_lossy(&said).contains("at most"), "{table}");
    }
    let said = rankscope(&["report", "sizes", path]).stderr;
    assert!(!String::from_utf8_lossy(&said).contains("at most"), "it shows no wait");
}

#[test]
fn operators_of_one_sort_are_printed_with_their_parameters() {
    let directory = tempfile::tempdir().unwrap();
    let trace = of_unknown_card(directory.path());
    let output = rankscope(&["report", "conv", text(&trace), "--csv"]);
    let csv = String::from_utf8(output.stdout).unwrap();
    let (header, row) = csv.trim().split_once('\n').expect("one row");
    assert!(header.starts_with("rank,name,model,count,kernel_ns,saved_ns,param: convNd,param: input_shape,"), "{csv}");
    assert!(row.starts_with("0,aten::convolution,conv_fwd,1,30000,,conv2d,\"[1,2,4,4]\","), "{csv}");
    assert!(!row.contains('\n'), "the product is not among them: {csv}");
}

#[test]
fn several_ranks_are_side_by_side_and_their_sums_are_those_of_each() {
    let directory = write_job(&job());
    let path = text(directory.path());
    let document = report(directory.path(), &["--tables", "all"]);
    let ranks = document["ranks"].as_array().unwrap();
    let of_all = |table: &str, figure: &str| ranks.iter().map(|rank| sum(&rank["tables"][table], figure)).sum::<i64>();
    let across = &document["across_ranks"];
    assert_eq!(sum(&across["ops_across_ranks"], "sum_ns"), of_all("ops_summary", "direct_kernel_ns"));
    assert_eq!(sum(&across["kernels_across_ranks"], "sum_ns"), of_all("kernel_summary", "sum_ns"));
    assert_eq!(sum(&across["annotations_across_ranks"], "sum_ns"), of_all("annotations", "sum_ns"));
    // The straggler is the rank with most of what it computes longest.
    let slow = across["ops_across_ranks"].as_array().unwrap().iter().find(|row| row["category"] == "GEMM").unwrap();
    assert_eq!(slow["max_rank"], 2, "{slow}");
    assert!(slow["spread"].as_f64() > Some(0.2), "{slow}");
    let said = |args: &[&str]| String::from_utf8(rankscope(&[&["report"], args].concat()).stdout).expect("text");
    assert!(said(&["ops", path, "--sort", "self"]).starts_with("OPS_ACROSS_RANKS"));
    assert!(said(&["ops", path, "--rank", "1"]).starts_with("OPS_SUMMARY"));
    let rank = path.to_owned() + "/rank0.json";
    assert!(said(&["ops", &rank]).starts_with("OPS_SUMMARY"), "one rank has nothing beside it");
    assert!(failure(&["report", "ops_across_ranks", &rank]).contains("fewer than two ranks"));
}

#[test]
fn what_means_nothing_is_refused_by_name() {
    let directory = write_job(&job());
    let path = text(directory.path());
    let refused = |args: &[&str], words: &str| {
        let output = rankscope(args);
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(words), "{said}");
    };
    refused(&["report", path, "--csv"], "name it before the traces");
    refused(&["report", "ops", path, "--sort", "size"], "no column \"size\"; its columns are rank, name");
    refused(&["report", path, "--tables", "operators"], "the tables are ops_summary, ");
    refused(&["report", path, "--tables", "operators"], ", straggler_summary, ");
    refused(&["report", "stragglers", path, "--sort", "size"], "no column \"size\"; its columns are rank, node");
    let parts = mapped(directory.path(), 1);
    refused(&["report", "ops", text(parts.path())], "the parts were made without tables");
    refused(&["merge", text(parts.path()), "--tables", "all"], "the parts were made without tables");
    assert!(failure(&["report", "opps", path]).contains("opps"), "a word that is no table is a path");
    assert!(failure(&["report", "opps", path]).contains("neither a file nor a table; the tables are ops, categories, args"));
    assert!(failure(&["report", "opps.json", path]).contains("there is no such file"));
}

/// The tables of all ranks together, by the names and short words that users type.
const OF_JOB: [(&str, &str); 11] = [
    ("nccl_summary_implicit_sync", "collectives"),
    ("nccl_summary_long", "nccl_summary_long"),
    ("nccl_implicit_sync", "instances"),
    ("nccl_long", "nccl_long"),
    ("straggler_summary", "stragglers"),
    ("nccl_summary_all2allv", "all2allv"),
    ("nccl_all2allv", "nccl_all2allv"),
    ("nccl_all2allv_heatmap", "heatmap"),
    ("by_group", "groups"),
    ("by_parallelism", "parallelism"),
    ("size_classes", "sizes"),
];

#[test]
fn tables_of_the_job_are_made_of_parts_as_of_traces() {
    let directory = write_job(&job());
    let parts = mapped(directory.path(), 2);
    let names = OF_JOB.map(|(name, _)| name).join(",");
    let plain = report(directory.path(), &[]);
    assert!(plain.get("collective_tables").is_none(), "who asks for none gets none");
    let mut document = report(directory.path(), &["--tables", &names]);
    assert_eq!(report(parts.path(), &["--tables", &names]), document);
    let tables = document.as_object_mut().unwrap().remove("collective_tables").unwrap();
    assert_eq!(document, plain, "tables change nothing else");
    for (name, short) in OF_JOB {
        let rows = tables[name].as_array().unwrap_or_else(|| panic!("{name}"));
        for path in [directory.path(), parts.path()] {
            let output = rankscope(&["report", short, text(path), "--json"]);
            assert!(output.status.success(), "{name}: {}", String::from_utf8_lossy(&output.stderr));
            let printed: Vec<Value> = serde_json::from_slice(&output.stdout).expect("JSON");
            assert_eq!(&printed, rows, "{name}");
        }
        let csv = rankscope(&["report", name, text(directory.path()), "--csv"]).stdout;
        assert_eq!(String::from_utf8_lossy(&csv).lines().count(), 1 + rows.len(), "{name}");
        assert!(rows.is_empty() == name.contains("all2allv"), "{name}: {} rows", rows.len());
    }
    let all = report(directory.path(), &["--tables", "all"]);
    assert_eq!(all["collective_tables"], tables);
    assert!(all["ranks"][0]["tables"]["ops_summary"].is_array());
}

/// The repository's own traces and snapshots.
fn fixture(path: &str) -> String {
    format!("{}/../../fixtures/{path}", env!("CARGO_MANIFEST_DIR"))
}

fn json(args: &[&str]) -> Value {
    let output = rankscope(&[&["report"], args, &["--json"]].concat());
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("it is JSON")
}

#[test]
fn gaps_add_up_to_the_idle_time_of_each_rank() {
    let directory = write_job(&job());
    let path = text(directory.path());
    let (gaps, idle) = (json(&["idle_gaps", path]), json(&["idle", path]));
    for rank in idle.as_array().unwrap() {
        let own = gaps.as_array().unwrap().iter().filter(|gap| gap["rank"] == rank["rank"]);
        for cause in ["host_wait", "kernel_wait", "other"] {
            let gaps_ns: i64 = own.clone().filter(|gap| gap["cause"] == cause).map(|gap| gap["sum_ns"].as_i64().unwrap()).sum();
            assert_eq!(gaps_ns, rank[format!("{cause}_ns")].as_i64().unwrap(), "{cause} of {rank}");
        }
    }
    assert_eq!(json(&["recompute", path]), Value::Array(Vec::new()));
}

#[test]
fn memory_of_a_recorded_job_has_its_peak_and_what_held_it() {
    let path = fixture("torch-gloo-4ranks");
    let (memory, held) = (json(&["memory", &path]), json(&["memory_peak", &path]));
    let memory = memory.as_array().unwrap();
    assert_eq!(memory.len(), 4, "the host of each rank");
    for row in memory {
        let own = held.as_array().unwrap().iter().filter(|held| held["rank"] == row["rank"]);
        assert_eq!(
            own.map(|held| held["held_bytes"].as_i64().unwrap()).sum::<i64>(),
            row["peak_allocated_bytes"].as_i64().unwrap()
        );
        assert!(row["device"] == "cpu" && row["peak_reserved_bytes"].is_null(), "{row}");
    }
}

#[test]
fn a_memory_snapshot_is_read_and_never_run() {
    let path = fixture("memory-snapshot/adam.pickle");
    let document = json(&["memory", &path]);
    let device = &document["devices"][0];
    let figures =
        ["reserved_bytes", "allocated_bytes", "inactive_bytes", "peak_bytes"].map(|key| device[key].as_i64().unwrap());
    assert_eq!(figures, [106_954_752, 98_103_296, 8_851_456, 98_103_296]);
    assert_eq!(sum(&document["live"], "held_bytes"), figures[1]);
    assert_eq!(document, json(&[&path]), "it needs no name of a table");
    let output = rankscope(&["report", "memory", &path, "--top", "2"]);
    let shown = String::from_utf8(output.stdout).unwrap();
    assert!(
        ["DEVICES", "ALLOCATED", "PEAK", "SEGMENTS", "FAILED", "g1.py:8"].iter().all(|word| shown.contains(word)),
        "{shown}"
    );
    let evil = fixture("pickle/evil.p4.pickle");
    assert!(failure(&["report", "memory", &evil]).contains("instruction STACK_GLOBAL at byte"));
    let plain = fixture("pickle/plain.p5.pickle");
    assert!(failure(&["report", "memory", &plain]).contains("not a memory snapshot"));
    assert_eq!(rankscope(&["report", "memory", &path, "--csv"]).status.code(), Some(2));
}
