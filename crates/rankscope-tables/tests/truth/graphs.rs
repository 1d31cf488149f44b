//! Graphs that are captured and replayed: each kernel is the operator's that it would be of without a graph, or the launch's.

use std::collections::BTreeMap;
use std::io::Cursor;

use proptest::prelude::*;
use rankscope_analyze::Classes;
use rankscope_formats::{ArgsPolicy, ReadOptions, read};
use rankscope_tables::{Captures, Cards, GraphRemarks, RankTables, TableSet};
use rankscope_trace::Trace;
use serde_json::{Value, json};

/// An operator on inputs of a size, what it launches itself, and what it calls afterwards.
#[derive(Clone, Debug, PartialEq)]
struct Operator {
    name: &'static str,
    size: u32,
    launches: Vec<Launch>,
    calls: Vec<Operator>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Launch {
    Kernel(&'static str),
    Copy,
    Fill,
}

fn operator(name: &'static str, size: u32, launches: &[Launch]) -> Operator {
    Operator { name, size, launches: launches.to_vec(), calls: Vec::new() }
}

/// What the profiler writes beside names and times.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Profiler {
    /// Calls do not name kernels; kernels have their grid.
    Cuda,
    /// The same with ids of nodes. Graphs run on two streams.
    CudaWithNodes,
    /// Calls name kernels, and kernels have no grid.
    Rocm,
}

/// A trace on its way.
struct Writer {
    profiler: Profiler,
    events: Vec<Value>,
    host_us: i64,
    device_us: i64,
    id: u64,
}

impl Writer {
    fn new(profiler: Profiler) -> Self {
        Self { profiler, events: Vec::new(), host_us: 0, device_us: 0, id: 0 }
    }

    fn call(&mut self, name: &str, mut args: Value) -> u64 {
        self.id += 1;
        args["correlation"] = self.id.into();
        let prefix = if self.profiler == Profiler::Rocm { "hip" } else { "cuda" };
        self.host("cuda_runtime", &format!("{prefix}{name}"), self.host_us, 1, args);
        self.host_us += 2;
        self.id
    }

    fn host(&mut self, category: &str, name: &str, at_us: i64, dur_us: i64, args: Value) {
        let ts = at_us;
        self.events
            .push(json!({"ph": "X", "cat": category, "name": name, "pid": 1, "tid": 1, "ts": ts, "dur": dur_us, "args": args}));
    }

    /// Runs `launch` on the device: `node` of a graph where it is of one.
    fn work(&mut self, launch: Launch, size: u32, id: u64, node: Option<u64>) {
        let (category, name) = match launch {
            Launch::Kernel(name) => ("kernel", name),
            Launch::Copy => ("gpu_memcpy", "Memcpy DtoD (Device -> Device)"),
            Launch::Fill => ("gpu_memset", "Memset (Device)"),
        };
        let mut args = json!({"device": 0, "stream": 7, "correlation": id});
        if self.profiler != Profiler::Rocm && category == "kernel" {
            args["grid"] = json!([size, 1, 1]);
        }
        if let Some(node) = node.filter(|_| self.profiler == Profiler::CudaWithNodes) {
            (args["graph id"], args["graph node id"]) = (4.into(), (node + 1).into());
        }
        // Long after the host, and as long as the place among all work says.
        let dur_us = 3 + (self.device_us * 7) % 11;
        let ts = self.device_us + 1_000_000;
        self.events
            .push(json!({"ph": "X", "cat": category, "name": name, "pid": 0, "tid": 7, "ts": ts, "dur": dur_us, "args": args}));
        self.device_us += dur_us + 1;
    }

    /// Calls `operator`; what it launches runs unless it is captured.
    fn run(&mut self, operator: &Operator, captured: &mut Option<Vec<(Launch, u32)>>) {
        let from_us = self.host_us;
        self.host_us += 1;
        for launch in &operator.launches {
            let name = match (launch, self.profiler) {
                (Launch::Kernel(name), Profiler::Rocm) => ("LaunchKernel", json!({"kernel": name})),
                (Launch::Kernel(_), _) => ("LaunchKernel", json!({})),
                (Launch::Copy, _) => ("MemcpyAsync", json!({})),
                (Launch::Fill, _) => ("MemsetAsync", json!({})),
            };
            let id = self.call(name.0, name.1);
            match captured {
                Some(captured) => captured.push((*launch, operator.size)),
                None => self.work(*launch, operator.size, id, None),
            }
        }
        operator.calls.iter().for_each(|called| self.run(called, captured));
        let args = json!({"Input Dims": [[operator.size, 8], [8, 8]], "Input type": ["float", "float"]});
        self.host("cpu_op", operator.name, from_us, self.host_us - from_us, args);
        self.host_us += 1;
    }

    fn capture(&mut self, program: &[Operator]) -> Vec<(Launch, u32)> {
        self.call("StreamBeginCapture", json!({}));
        let mut captured = Some(Vec::new());
        program.iter().for_each(|operator| self.run(operator, &mut captured));
        self.call("StreamEndCapture", json!({}));
        captured.unwrap_or_default()
    }

    fn replay(&mut self, graph: &[(Launch, u32)]) {
        let id = self.call("GraphLaunch", json!({}));
        for (node, (launch, size)) in graph.iter().enumerate() {
            self.work(*launch, *size, id, Some(node as u64));
        }
    }

    fn trace(&self, file: &str) -> Trace {
        let text = json!({ "traceEvents": self.events }).to_string();
        let options = ReadOptions::default().with_args(ArgsPolicy::All).with_label(file);
        read(Cursor::new(text), &options).expect("readable").remove(0).trace.expect("a trace")
    }

    fn tables(&self) -> RankTables {
        self.tables_with(&[])
    }

    /// The tables, with what `others` captured.
    fn tables_with(&self, others: &[&Writer]) -> RankTables {
        let file = |(at, other): (usize, &&Writer)| Captures::of(&other.trace(&format!("{at}.json")));
        let captures: Vec<Captures> = others.iter().enumerate().filter_map(file).collect();
        let trace = self.trace("run.json");
        let tables = RankTables::with_captures(&trace, &captures, &Classes::default(), Cards::known(), TableSet::ALL);
        let kernels: i64 = tables.kernels.iter().map(|row| row.time.sum_ns).sum();
        let operators: i64 = tables.operators.iter().map(|row| row.kernel_sum_ns).sum();
        assert_eq!((kernels, operators, tables.unattributed_kernel_ns), (tables.kernel_ns, tables.kernel_ns, 0));
        tables
    }
}

/// What tables say of operators and kernels, in no order.
type Said = (BTreeMap<String, (u64, i64, i64)>, Vec<String>, Vec<String>, Vec<String>);

fn said(tables: &RankTables) -> Said {
    let operators = tables.operators.iter();
    let operators = operators.map(|row| (row.name.clone(), (row.count, row.direct_kernel_ns, row.subtree_kernel_ns)));
    let sorted = |mut rows: Vec<String>| {
        rows.sort();
        rows
    };
    (
        operators.collect(),
        sorted(tables.arguments.iter().map(|row| format!("{row:?}")).collect()),
        sorted(tables.kernels.iter().map(|row| format!("{row:?}")).collect()),
        sorted(tables.performance.iter().map(|row| format!("{row:?}")).collect()),
    )
}

fn programs() -> impl Strategy<Value = Vec<Operator>> {
    let launch = prop::sample::select(vec![Launch::Kernel("gemm"), Launch::Kernel("add"), Launch::Copy, Launch::Fill]);
    let names = prop::sample::select(vec!["aten::mm", "aten::add", "aten::linear", "my::op"]);
    let leaf = (names, 1u32..4, prop::collection::vec(launch, 1..3))
        .prop_map(|(name, size, launches)| operator(name, size, &launches));
    let operator = leaf.prop_recursive(3, 12, 3, |inner| {
        (inner.clone(), prop::collection::vec(inner, 0..3)).prop_map(|(own, calls)| Operator { calls, ..own })
    });
    prop::collection::vec(operator, 1..4)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 96, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_replay_counts_as_the_same_work_without_a_graph(
        program in programs(), replays in 1usize..4,
        profiler in prop::sample::select(vec![Profiler::Cuda, Profiler::CudaWithNodes, Profiler::Rocm]),
    ) {
        let (mut eager, mut graph) = (Writer::new(profiler), Writer::new(profiler));
        for _ in 0..=replays {
            program.iter().for_each(|operator| eager.run(operator, &mut None));
        }
        program.iter().for_each(|operator| graph.run(operator, &mut None));
        let captured = graph.capture(&program);
        (0..replays).for_each(|_| graph.replay(&captured));
        let tables = graph.tables();
        if tables.remarks.graphs.unnamed[0] == 0 {
            prop_assert_eq!(said(&tables), said(&eager.tables()));
            prop_assert_eq!(tables.remarks.graphs.tied, [replays, replays * captured.len()].map(|count| count as u64));
        } else {
            // The same operator on the same inputs launched one thing here and another there.
            prop_assert!(profiler != Profiler::Rocm);
            prop_assert_eq!(tables.remarks.graphs.unnamed[0], replays as u64);
        }
        prop_assert_eq!(tables.remarks.without_work, 0, "what is captured runs later");
    }
}

const GEMM: Launch = Launch::Kernel("gemm");
const ADD: Launch = Launch::Kernel("add");

fn step(size: u32) -> Vec<Operator> {
    vec![operator("aten::mm", size, &[GEMM]), operator("aten::add", size, &[ADD, Launch::Fill])]
}

/// By operator, how many pieces of work are of it.
fn parents(tables: &RankTables) -> BTreeMap<&str, u64> {
    let mut counts = BTreeMap::new();
    for row in &tables.kernels {
        *counts.entry(row.parent_op.as_deref().unwrap_or("")).or_default() += row.time.count;
    }
    counts
}

fn graphs(change: impl Fn(&mut GraphRemarks)) -> GraphRemarks {
    let mut remarks = GraphRemarks::default();
    change(&mut remarks);
    remarks
}

#[test]
fn calls_that_name_their_kernels_need_no_warm_up_and_others_do() {
    for (profiler, tied) in [(Profiler::Rocm, true), (Profiler::Cuda, false), (Profiler::CudaWithNodes, false)] {
        let mut writer = Writer::new(profiler);
        let graph = writer.capture(&step(2));
        writer.replay(&graph);
        let tables = writer.tables();
        if tied {
            assert_eq!(parents(&tables), [("aten::add", 2), ("aten::mm", 1)].into());
            assert_eq!(tables.remarks.graphs, graphs(|graphs| graphs.tied = [1, 3]));
        } else {
            assert_eq!(parents(&tables), [("cudaGraphLaunch", 3)].into());
            assert_eq!(tables.remarks.graphs, graphs(|graphs| graphs.unnamed = [1, 3]));
        }
    }
}

#[test]
fn captures_of_other_shapes_are_told_apart_by_grids_or_not_at_all() {
    for (profiler, is_told) in [(Profiler::Cuda, true), (Profiler::Rocm, false)] {
        let mut writer = Writer::new(profiler);
        let mut captured = Vec::new();
        for size in [2, 3] {
            step(size).iter().for_each(|operator| writer.run(operator, &mut None));
            captured.push(writer.capture(&step(size)));
        }
        captured.iter().for_each(|graph| writer.replay(graph));
        let tables = writer.tables();
        let sizes: Vec<_> =
            tables.arguments.iter().filter(|row| row.name == "aten::mm").map(|row| row.time.spread.count).collect();
        if is_told {
            assert_eq!((sizes, tables.remarks.graphs), (vec![2, 2], graphs(|graphs| graphs.tied = [2, 6])));
        } else {
            assert_eq!((sizes, tables.remarks.graphs), (vec![1, 1], graphs(|graphs| graphs.of_several_captures = [2, 6])));
        }
    }
}

#[test]
fn captures_that_are_alike_are_one() {
    let mut writer = Writer::new(Profiler::Rocm);
    let graph = writer.capture(&step(2));
    writer.replay(&graph);
    writer.capture(&step(2));
    writer.replay(&graph);
    assert_eq!(writer.tables().remarks.graphs, graphs(|graphs| graphs.tied = [2, 6]));
}

#[test]
fn what_no_capture_made_stays_with_the_launch() {
    let mut writer = Writer::new(Profiler::Rocm);
    let graph = [(GEMM, 2), (ADD, 2), (Launch::Fill, 2)];
    writer.replay(&graph);
    writer.capture(&step(2));
    let mut other = graph;
    other.swap(0, 1);
    writer.replay(&other);
    writer.replay(&graph[..2]);
    let tables = writer.tables();
    assert_eq!(parents(&tables), [("hipGraphLaunch", 8)].into());
    let expected = graphs(|graphs| (graphs.without_capture, graphs.unequal) = ([1, 3], [2, 5]));
    assert_eq!(tables.remarks.graphs, expected);
    let sentences = tables.remarks.sentences();
    assert!(
        sentences[0].starts_with("1 graph launches ran 3 kernels, copies and fills. The trace has no capture"),
        "{sentences:?}"
    );
}

#[test]
fn a_graph_on_several_streams_needs_ids_of_its_nodes() {
    let mut writer = Writer::new(Profiler::CudaWithNodes);
    step(2).iter().for_each(|operator| writer.run(operator, &mut None));
    let graph = writer.capture(&step(2));
    writer.replay(&graph);
    // The last two nodes change places in time, the last on another stream.
    let count = writer.events.len();
    let starts = [count - 2, count - 1].map(|at| writer.events[at]["ts"].clone());
    (writer.events[count - 2]["ts"], writer.events[count - 1]["ts"]) = (starts[1].clone(), starts[0].clone());
    writer.events[count - 1]["tid"] = 9.into();
    writer.events[count - 1]["args"]["stream"] = 9.into();
    for (has_ids, expected) in [(true, graphs(|of| of.tied = [1, 3])), (false, graphs(|of| of.of_several_streams = [1, 3]))] {
        if !has_ids {
            for event in &mut writer.events {
                event["args"].as_object_mut().expect("arguments").remove("graph node id");
            }
        }
        assert_eq!(writer.tables().remarks.graphs, expected);
    }
}

#[test]
fn captures_on_two_threads_at_a_time_have_each_its_own_calls() {
    let mut writer = Writer::new(Profiler::Rocm);
    let graph = writer.capture(&step(2));
    // The same again at the same time on another thread, with other operators.
    let mut others = writer.events.clone();
    for event in &mut others {
        event["tid"] = 2.into();
        if let Some(id) = event["args"]["correlation"].as_u64() {
            event["args"]["correlation"] = (id + 1_000).into();
        }
        if event["args"]["kernel"] == "gemm" {
            event["args"]["kernel"] = "gemm_t".into();
        }
    }
    writer.events.extend(others);
    writer.replay(&graph);
    assert_eq!(writer.tables().remarks.graphs, graphs(|of| of.tied = [1, 3]));
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_replay_counts_as_the_same_work_if_another_file_holds_the_capture(
        program in programs(), other in programs(), replays in 1usize..4,
        profiler in prop::sample::select(vec![Profiler::Cuda, Profiler::CudaWithNodes, Profiler::Rocm]),
    ) {
        let (mut eager, mut run) = (Writer::new(profiler), Writer::new(profiler));
        let [mut capture, mut unrelated] = [(); 2].map(|()| Writer::new(profiler));
        program.iter().for_each(|operator| capture.run(operator, &mut None));
        let captured = capture.capture(&program);
        other.iter().for_each(|operator| unrelated.run(operator, &mut None));
        unrelated.capture(&other);
        for _ in 0..replays {
            program.iter().for_each(|operator| eager.run(operator, &mut None));
            run.replay(&captured);
        }
        let plain = run.tables();
        let tables = run.tables_with(&[&capture, &unrelated]);
        let launches: u64 = tables.remarks.capture_files.iter().map(|file| file.tied[0]).sum();
        prop_assert_eq!(launches, tables.remarks.graphs.tied[0]);
        if tables.remarks.graphs.tied[0] > 0 {
            let mut eager = eager.tables();
            // The first operator of a row is not in this file.
            eager.arguments.iter_mut().for_each(|row| row.example = None);
            eager.performance.iter_mut().for_each(|row| row.operator.example = None);
            prop_assert_eq!(said(&tables), said(&eager));
            prop_assert_eq!(tables.remarks.without_work, 0, "what is captured runs later");
        } else {
            prop_assert_eq!(said(&tables), said(&plain));
        }
        // The host's time is that of the run alone.
        prop_assert_eq!((&tables.calls, &tables.queues, &tables.idle), (&plain.calls, &plain.queues, &plain.idle));
        prop_assert_eq!(
            (&tables.idle_gaps, &tables.annotations, &tables.python_functions, &tables.memory),
            (&plain.idle_gaps, &plain.annotations, &plain.python_functions, &plain.memory)
        );
    }
}

/// A capture of `program` in a file of its own, after a warm-up, and what it captured.
fn captured(profiler: Profiler, program: &[Operator]) -> (Writer, Vec<(Launch, u32)>) {
    let mut writer = Writer::new(profiler);
    program.iter().for_each(|operator| writer.run(operator, &mut None));
    let graph = writer.capture(program);
    (writer, graph)
}

#[test]
fn of_several_files_each_ties_its_own_graphs_and_says_so() {
    let files = [2, 3, 4].map(|size| captured(Profiler::Cuda, &step(size)));
    let mut run = Writer::new(Profiler::Cuda);
    run.replay(&files[0].1);
    run.replay(&files[1].1);
    run.replay(&files[0].1);
    let tables = run.tables_with(&[&files[0].0, &files[1].0, &files[2].0]);
    assert_eq!(parents(&tables), [("aten::add", 6), ("aten::mm", 3)].into());
    let tied: Vec<[u64; 2]> = tables.remarks.capture_files.iter().map(|file| file.tied).collect();
    assert_eq!(tied, [[2, 6], [1, 3], [0, 0]]);
    let sentences = tables.remarks.sentences().join("\n");
    assert!(sentences.contains("0.json, another file of the rank, holds 1 capture: 2 of those graph launches"), "{sentences}");
    assert!(sentences.contains("2.json, another file of the rank, holds 1 capture, of which no graph launch"), "{sentences}");
}

#[test]
fn files_that_leave_a_choice_tie_nothing() {
    // Calls of ROCm name kernels and no grids: captures of other shapes look alike.
    let files = [2, 3].map(|size| captured(Profiler::Rocm, &step(size)));
    let mut run = Writer::new(Profiler::Rocm);
    run.replay(&files[0].1);
    let tables = run.tables_with(&[&files[0].0, &files[1].0]);
    assert_eq!(parents(&tables), [("hipGraphLaunch", 3)].into());
    assert_eq!(tables.remarks.graphs, graphs(|graphs| graphs.of_several_captures = [1, 3]));
}

#[test]
fn another_graph_is_not_taken_for_the_one_that_ran() {
    let (file, mut graph) = captured(Profiler::Rocm, &step(2));
    graph.swap(0, 1);
    let mut run = Writer::new(Profiler::Rocm);
    run.replay(&graph);
    let tables = run.tables_with(&[&file]);
    assert_eq!(parents(&tables), [("hipGraphLaunch", 3)].into());
    assert_eq!(tables.remarks.graphs, graphs(|graphs| graphs.unequal = [1, 3]));
    assert_eq!(tables.remarks.capture_files[0].tied, [0, 0]);
}

#[test]
fn what_was_captured_after_a_launch_is_not_what_it_launched() {
    let (mut file, graph) = captured(Profiler::Rocm, &step(2));
    let mut run = Writer::new(Profiler::Rocm);
    run.replay(&graph);
    // Both by the time of day, in microseconds since 1970; then the capture a minute later.
    let day_us = 1_700_000_000_000_000_i64;
    let shift = |writer: &mut Writer, by_us: i64| {
        writer.events.iter_mut().for_each(|event| event["ts"] = (event["ts"].as_i64().expect("a stamp") + by_us).into());
    };
    shift(&mut run, day_us + 30_000_000);
    shift(&mut file, day_us);
    assert_eq!(run.tables_with(&[&file]).remarks.graphs, graphs(|graphs| graphs.tied = [1, 3]));
    shift(&mut file, 60_000_000);
    assert_eq!(run.tables_with(&[&file]).remarks.graphs, graphs(|graphs| graphs.without_capture = [1, 3]));
}
