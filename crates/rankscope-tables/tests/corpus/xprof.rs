//! XProf, JAX's own profiler, says the same of instructions: their names, categories, times and how often they ran.
//!
//! The figures below are those of XProf's `hlo_stats` for the public trace; where `RANKSCOPE_XPROF_PYTHON` names a Python that has xprof,
//! they are asked for again.

use std::process::Command;

use rankscope_analyze::{Accounting, Classes, step_windows};
use rankscope_tables::RankTables;
use rankscope_testkit::{Need, given};

use super::trace;

const TRACE: &str = "traces/xplane/mi300_jax_conv.xplane.pb";

/// Category, name, occurrences, nanoseconds.
const XPROF: [(&str, &str, u64, i64); 4] = [
    ("input fusion", "input_transpose_fusion", 40, 14_344_140),
    ("custom-call", "cudnn-conv.1", 79, 12_531_616),
    ("input fusion", "input_transpose_fusion.1", 39, 481_400),
    ("loop fusion", "loop_transpose_fusion", 40, 193_520),
];

#[test]
fn instructions_take_as_long_as_in_xprof() {
    let Some(corpus) = given(Need::Corpus) else { return };
    let tables = RankTables::of(&trace(&corpus.join(TRACE)));
    let named = tables.instructions.iter().filter_map(|row| Some((row.category.as_deref()?, row.name.as_deref()?, row.time)));
    let rows: Vec<_> = named.map(|(category, name, time)| (category, name, time.count, time.sum_ns)).collect();
    assert_eq!(rows, XPROF);
    let all_ns: i64 = tables.instructions.iter().map(|row| row.time.sum_ns).sum();
    assert_eq!(all_ns, tables.kernel_ns, "what no instruction is known of is a row, too");
    let kernels = tables.kernels.iter().filter(|row| row.parent_op.as_deref() == Some("cudnn-conv.1"));
    assert_eq!(kernels.map(|row| row.time.sum_ns).sum::<i64>(), 12_531_616);
    let operators: Vec<_> = tables.operators.iter().map(|row| row.name.as_str()).collect();
    assert!(XPROF.iter().all(|(_, name, ..)| operators.contains(name)), "{operators:?}");
}

#[test]
fn xprof_still_says_so() {
    let (Some(corpus), Some(python)) = (given(Need::Corpus), given(Need::Xprof)) else { return };
    // It writes beside what it reads.
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("host.xplane.pb");
    std::fs::copy(corpus.join(TRACE), &copy).expect("copied");
    let output = Command::new(python).args(["-c", HLO_STATS]).arg(&copy).output().expect("python starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let expected = XPROF.map(|(category, name, count, ns)| format!("{category}|{name}|{count}|{ns}"));
    assert_eq!(said.lines().collect::<Vec<_>>(), expected, "{}", String::from_utf8_lossy(&output.stderr));
}

const CPU_TRACE: &str = "traces/jax-cpu-2procs/process0.xplane.pb";

/// Steps of that trace and how long they took, in nanoseconds. XProf leaves out the first and the last.
const XPROF_STEPS: [(i64, i64); 8] = [
    (1, 39_587_833),
    (2, 27_225_455),
    (3, 42_941_372),
    (4, 29_942_123),
    (5, 27_734_989),
    (6, 21_822_102),
    (7, 35_696_602),
    (8, 26_401_466),
];

#[test]
fn steps_take_as_long_as_in_xprof_and_are_divided_as_in_the_account() {
    let Some(corpus) = given(Need::Corpus) else { return };
    let trace = trace(&corpus.join(CPU_TRACE));
    let rows = RankTables::of(&trace).jax_steps;
    let steps: Vec<_> = rows.iter().map(|row| (row.step, row.step_ns)).collect();
    assert_eq!(steps[1..9], XPROF_STEPS);
    let (side, work) = Classes::default().work(&trace);
    let (accounting, (_, windows)) = (Accounting::of(&work), step_windows(&trace, side, &work));
    assert_eq!(rows.len(), windows.len());
    for (row, window) in rows.iter().zip(windows) {
        let time = accounting.window(window.start_ns, window.end_ns);
        assert_eq!((row.host_compute_ns, row.collectives_ns), (time.computation_ns, time.exposed_comm_ns));
        assert_eq!((row.other_ns, row.step_ns), (time.idle_ns, time.total_ns));
    }
}

#[test]
fn xprof_still_has_those_steps() {
    let (Some(corpus), Some(python)) = (given(Need::Corpus), given(Need::Xprof)) else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let copy = folder.path().join("host.xplane.pb");
    std::fs::copy(corpus.join(CPU_TRACE), &copy).expect("copied");
    let output = Command::new(python).args(["-c", STEPS]).arg(&copy).output().expect("python starts");
    let said = String::from_utf8_lossy(&output.stdout);
    let expected = XPROF_STEPS.map(|(step, ns)| format!("train {step}|{ns}"));
    assert_eq!(said.lines().collect::<Vec<_>>(), expected, "{}", String::from_utf8_lossy(&output.stderr));
}

const STEPS: &str = "
import json, sys
from xprof.convert import raw_to_tool_data
data, _ = raw_to_tool_data.xspace_to_tool_data([sys.argv[1]], 'input_pipeline_analyzer', {})
table = json.loads(data)[1]
ids = [column['id'] for column in table['cols']]
for row in table['rows']:
    row = dict(zip(ids, [cell and cell['v'] for cell in row['c']]))
    print(row['stepnum'], round(row['stepTimeMs'] * 1e6), sep='|')
";

const HLO_STATS: &str = "
import json, sys
from xprof.convert import raw_to_tool_data
data, _ = raw_to_tool_data.xspace_to_tool_data([sys.argv[1]], 'hlo_stats', {})
table = json.loads(data)
ids = [column['id'] for column in table['cols']]
for row in table['rows']:
    row = dict(zip(ids, [cell and cell['v'] for cell in row['c']]))
    print(row['category'], row['hlo_op_name'], int(row['occurrences']), round(row['total_time'] * 1000), sep='|')
";

#[test]
fn instructions_of_a_host_alone_are_its_operators() {
    let Some(corpus) = given(Need::Corpus) else { return };
    for process in ["process0", "process1"] {
        let tables = RankTables::of(&trace(&corpus.join(format!("traces/jax-cpu-2procs/{process}.xplane.pb"))));
        let mut rows: Vec<_> = tables.instructions.iter().map(|row| (row.name.as_deref(), row.time.count)).collect();
        rows.sort_unstable();
        assert_eq!(rows, [(Some("all-reduce"), 20), (Some("ynn_fusion"), 20)], "{process}");
    }
}
