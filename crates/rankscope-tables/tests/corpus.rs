//! Public traces: every table has the same sum, and the tables of TraceLens say the same where it looked at the same.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rankscope_analyze::{Classes, Side};
use rankscope_formats::{ArgsPolicy, ReadOptions, read};
use rankscope_tables::{Category, KernelRow, Phase, RankTables};
use rankscope_testkit::{Need, given};
use rankscope_trace::Trace;

#[path = "corpus/backward.rs"]
mod backward;
#[path = "corpus/details.rs"]
mod details;
#[path = "corpus/hta.rs"]
mod hta;
#[path = "corpus/joined.rs"]
mod joined;
#[path = "corpus/memory.rs"]
mod memory;
#[path = "corpus/periods.rs"]
mod periods;
#[path = "corpus/short_kernels.rs"]
mod short_kernels;
#[path = "corpus/tracelens.rs"]
mod tracelens;
#[path = "corpus/xprof.rs"]
mod xprof;

fn traces(corpus: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(corpus.join("traces/kineto")).expect("the corpus has Kineto traces");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("it can be listed").path()).collect();
    paths.sort();
    paths
}

fn trace(path: &Path) -> Trace {
    let options = ReadOptions::default().with_args(ArgsPolicy::All);
    let file = File::open(path).expect("the trace is there");
    read(file, &options).expect("it is a trace").remove(0).trace.expect("and can be read")
}

fn tables(path: &Path) -> RankTables {
    RankTables::of(&trace(path))
}

#[test]
fn a_trace_of_vllm_shows_its_prefill() {
    let Some(corpus) = given(Need::Corpus) else { return };
    let rows = tables(&corpus.join("traces/kineto/b200_eager.json.gz")).inference;
    // Its annotation is execute_context_1(888_788544)_generation_0(0), and the time that of all its device work.
    let rows: Vec<_> = rows.iter().map(|row| (row.phase, row.requests, row.tokens, row.time.count, row.time.sum_ns)).collect();
    assert_eq!(rows, [(Phase::Prefill, 1, Some(888), 1, 84_487_178)]);
}

#[test]
fn the_causes_of_idle_time_add_up_to_it() {
    let Some(corpus) = given(Need::Corpus) else { return };
    for path in traces(&corpus) {
        let trace = trace(&path);
        let (side, work) = Classes::default().work(&trace);
        if side == Side::Device {
            let mut busy: Vec<(i64, i64)> = work.iter().map(|piece| (piece.start_ns, piece.end_ns)).collect();
            busy.sort_unstable();
            let (mut idle_ns, mut until_ns) = (0, busy[0].0);
            for (start_ns, end_ns) in busy {
                idle_ns += (start_ns - until_ns).max(0);
                until_ns = until_ns.max(end_ns);
            }
            let tables = RankTables::of(&trace);
            assert_eq!(tables.idle.whole.sum_ns(), idle_ns, "{path:?}");
            assert_eq!(tables.idle_gaps.iter().map(|row| row.sum_ns).sum::<i64>(), idle_ns, "{path:?}");
        }
    }
}

#[test]
fn every_table_of_every_trace_has_the_sum_of_the_trace() {
    let Some(corpus) = given(Need::Corpus) else { return };
    for path in traces(&corpus) {
        let tables = tables(&path);
        let (kernel_ns, unattributed_ns) = (tables.kernel_ns, tables.unattributed_kernel_ns);
        assert_eq!(tables.kernels.iter().map(|row| row.time.sum_ns).sum::<i64>(), kernel_ns, "{path:?}");
        let own_ns: i64 = tables.operators.iter().map(|row| row.kernel_sum_ns).sum();
        assert_eq!(own_ns + unattributed_ns, kernel_ns, "{path:?}");
        let direct_ns: i64 = tables.operators.iter().map(|row| row.direct_kernel_ns).sum();
        assert_eq!(tables.arguments.iter().map(|row| row.time.spread.sum_ns).sum::<i64>(), direct_ns, "{path:?}");
        let launched: u64 = tables.calls.iter().map(|row| row.work.spread.count).sum();
        assert_eq!(tables.queues.iter().map(|row| row.count).sum::<u64>(), launched, "{path:?}");
        let levels = tables.queue_levels.iter().flatten().flat_map(|(_, levels)| levels).map(|point| point.level);
        assert!(levels.clone().all(|level| level >= 0), "{path:?}");
        assert!(levels.max().unwrap_or(0) <= tables.queues.iter().map(|row| row.most as i64).max().unwrap_or(0), "{path:?}");
        let short = &tables.short_kernels;
        let in_bins: u64 = short.histogram().map(|(.., count)| count).sum();
        assert_eq!(short.rows.iter().map(|row| row.time.count).sum::<u64>(), in_bins, "{path:?}");
        let (overlap, rows) = (tables.overlap.whole, tables.overlap.kernels.iter().map(|row| row.time));
        assert!(overlap.hidden_ns <= overlap.comm_ns, "{path:?}: {overlap:?}");
        assert!(overlap.comm_ns <= rows.clone().map(|row| row.comm_ns).sum(), "{path:?}: each collective is some kernel's");
        assert!(overlap.hidden_ns <= rows.map(|row| row.hidden_ns).sum(), "{path:?}");
        let modules_ns: i64 = tables.modules.iter().map(|row| row.forward_kernel_ns + row.backward_kernel_ns).sum();
        assert!(tables.modules.is_empty() || modules_ns == kernel_ns, "{path:?}: {modules_ns} of {kernel_ns}");
        let functions_ns: i64 = tables.python_functions.iter().map(|row| row.own_kernel_ns).sum();
        assert!(tables.python_functions.is_empty() || functions_ns == kernel_ns, "{path:?}: {functions_ns} of {kernel_ns}");
        let tied_ns: i64 = tables.backward.iter().map(|row| row.forward_kernel_ns + row.backward_kernel_ns).sum();
        assert!(tied_ns <= kernel_ns, "{path:?}: {tied_ns}");
        for row in tables.sequences.iter().flatten() {
            assert!(row.count > 1 && row.kernel_ns <= kernel_ns, "{path:?}: {row:?}");
        }
        for row in &tables.operators {
            assert!(row.kernel_sum_ns >= row.direct_kernel_ns && row.subtree_kernel_ns >= row.direct_kernel_ns, "{row:?}");
        }
    }
}

/// A table that TraceLens wrote, by the names of its columns.
fn csv(path: &Path) -> Vec<BTreeMap<String, String>> {
    let reader = csv::Reader::from_path(path).expect("the table is there");
    reader.into_deserialize().map(|row| row.expect("it is a row")).collect()
}

fn number(row: &BTreeMap<String, String>, column: &str) -> f64 {
    row[column].parse().unwrap_or_else(|_| panic!("{column} in {row:?}"))
}

/// TraceLens has times as floating-point microseconds.
const ROUNDING_NS: f64 = 2.0;

/// Operators that TraceLens files under `other`, or by their first kernel, and their categories here.
const OTHER_CATEGORIES: [(&str, Category); 4] = [
    ("_C::fused_add_rms_norm", Category::NormFwd),
    ("_C::rms_norm", Category::NormFwd),
    ("aten::_flash_attention_forward", Category::SdpaFwd),
    ("aten::arange", Category::Elementwise),
];

/// On AMD no arrow leads from a call to a fill, so TraceLens has it of nobody; its correlation id tells whose it is.
const UNLINKED: (&str, &str) = ("mi300x_resnet_act_checkpoint", "Memset (Device)");

#[test]
fn operators_and_kernels_are_those_of_tracelens() {
    let Some(corpus) = given(Need::Corpus) else { return };
    for name in ["a100_nccl_data", "b200_eager", "h100_qwen1.5", "mi300x_resnet_act_checkpoint"] {
        let own = tables(&corpus.join(format!("traces/kineto/{name}.json.gz")));
        let expected = corpus.join("expected/tracelens").join(name);
        let kernels = csv(&expected.join("kernel_summary.csv"));
        for row in csv(&expected.join("ops_summary.csv")) {
            let found = own.operators.iter().find(|operator| operator.name == row["name"]);
            let found = found.unwrap_or_else(|| panic!("{name}: {}", row["name"]));
            assert_eq!(found.count as f64, number(&row, "Count"), "{name}: {found:?}");
            let unlinked = |kernel: &&KernelRow| {
                name == UNLINKED.0 && kernel.parent_op.as_ref() == Some(&found.name) && kernel.name == UNLINKED.1
            };
            let more_ns: i64 = own.kernels.iter().filter(unlinked).map(|kernel| kernel.time.sum_ns).sum();
            let off_ns = |ns: i64, column: &str| ns as f64 - 1_000.0 * number(&row, column);
            let direct_ns = off_ns(found.direct_kernel_ns - more_ns, "total_direct_kernel_time_sum");
            assert!(direct_ns.abs() <= ROUNDING_NS * found.count as f64, "{name}: {direct_ns} {found:?}");
            let subtree_ns = off_ns(found.subtree_kernel_ns - more_ns, "total_subtree_kernel_time_sum");
            assert!(subtree_ns.abs() <= ROUNDING_NS * found.count as f64, "{name}: {subtree_ns} {found:?}");
            let category = row["Categories"].trim_matches(|c| "[]'".contains(c));
            let other = OTHER_CATEGORIES.iter().any(|(name, here)| *name == found.name && *here == found.category);
            assert!(found.category.name() == category || other, "{name}: {found:?}, {category}");
        }
        for row in kernels.iter().filter(|row| !row["Parent cpu_op"].is_empty()) {
            let found = own.kernels.iter().find(|kernel| is_row(kernel, row)).unwrap_or_else(|| panic!("{name}: {row:?}"));
            assert_eq!(found.time.count as f64, number(row, "Kernel duration (µs)_count"), "{name}: {found:?}");
            let off_ns = found.time.sum_ns as f64 - 1_000.0 * number(row, "Kernel duration (µs)_sum");
            assert!(off_ns.abs() <= ROUNDING_NS * found.time.count as f64, "{name}: {found:?} {off_ns}");
        }
    }
}

fn is_row(kernel: &KernelRow, row: &BTreeMap<String, String>) -> bool {
    let is_parent = kernel.parent_op.as_deref().unwrap_or_default() == row["Parent cpu_op"];
    is_parent && kernel.name == row["Kernel name"] && kernel.stream == row["Kernel stream"]
}
