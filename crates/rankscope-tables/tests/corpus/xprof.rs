//! XProf, JAX's own profiler, says the same of instructions: their names, categories, times and how often they ran.
//!
//! The figures below are those of XProf's `hlo_stats` for the public trace; where `RANKSCOPE_XPROF_PYTHON` names a Python that has xprof,
//! they are asked for again.

use std::process::Command;

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
