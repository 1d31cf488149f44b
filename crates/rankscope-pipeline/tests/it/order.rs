//! Operators that are called in another order are told, and nothing else is.

use rankscope_compare::{Settings, Side, compare};
use rankscope_formats::{ArgsPolicy, Scope};
use rankscope_job::{Cards, Judging, Rules, TableSet};
use rankscope_pipeline::{Keep, Mapping, Quiet, Reading, Request, SideRequest, read_sides};
use serde_json::{Value, json};

/// A trace of twelve steps that call `operators` one after the other, each with a kernel of its own.
fn trace(operators: [&str; 3]) -> Value {
    let mut events = Vec::new();
    for step in 0..12_i64 {
        let from = 1_000 + step * 1_000;
        events.push(json!({
            "ph": "X", "cat": "user_annotation", "name": format!("ProfilerStep#{step}"), "pid": 1, "tid": 1, "ts": from, "dur": 990
        }));
        for (at, name) in (0..).zip(operators) {
            let (ts, id) = (from + 10 + at * 20, 10 * step + at + 1);
            events.push(json!({"ph": "X", "cat": "cpu_op", "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": 15}));
            events.push(json!({
                "ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": ts + 2, "dur": 3,
                "args": {"correlation": id}
            }));
            events.push(json!({
                "ph": "X", "cat": "kernel", "name": format!("k_{name}"), "pid": 0, "tid": 7, "ts": from + 100 + at * 200, "dur": 150,
                "args": {"device": 0, "stream": 7, "correlation": id}
            }));
        }
    }
    json!({"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 1}, "traceEvents": events})
}

fn side(label: &str, operators: [&str; 3]) -> Side {
    let folder = tempfile::tempdir().expect("a temporary directory");
    std::fs::write(folder.path().join("rank0.json"), trace(operators).to_string()).expect("written");
    let reading = Reading { args: ArgsPolicy::All, scope: Scope::All };
    let mapping =
        Mapping { reading, rules: Rules::default(), keep: Keep::Nothing, cards: Cards::default(), tables: TableSet::ALL };
    let like = Request { paths: Vec::new(), clocks: None, mapping, judging: Judging::default() };
    let asked = SideRequest { label: label.to_owned(), paths: vec![folder.path().to_owned()] };
    read_sides(&[asked], &like, &Quiet).expect("the job can be judged").remove(0)
}

#[test]
fn operators_in_another_order_are_told_with_both_orders() {
    let sides = [side("base", ["aten::a", "aten::b", "aten::c"]), side("test", ["aten::b", "aten::a", "aten::c"])];
    let structure = compare(&sides, &Settings::default()).first.structure;
    let told: Vec<_> = structure.reordered.iter().map(|one| (one.base.as_str(), one.test.as_str(), one.base_count)).collect();
    assert_eq!(told, [("aten::a → aten::b → aten::c", "aten::b → aten::a → aten::c", 12)]);
    assert!(structure.new.is_empty() && structure.gone.is_empty() && structure.swapped.is_empty(), "{structure:?}");
    let turned = [sides[1].clone(), sides[0].clone()];
    assert_eq!(compare(&turned, &Settings::default()).first.structure.reordered[0].base, "aten::b → aten::a → aten::c");
}
