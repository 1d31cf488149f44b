//! `report.json` and docs/reference/formats/report-json.md agree, both ways: what the types have is described, and what is
//! described exists.

mod page;

use std::collections::BTreeSet;

use rankscope_document::{
    AccountingSide, Because, CautionKind, Classes, Confidence, Document, GpuClockUnknown, GpuNotPlaced, GpuTimesUnusable,
    KernelClass, NoteLevel, RankSource, StepSource, Unnamed,
};
use serde_reflection::{ContainerFormat, Registry, Tracer, TracerConfig};

use page::{described, ticked};

const PAGE: &str = include_str!("../../../docs/reference/formats/report-json.md");

/// A table of the page, by its heading, and the types whose keys it has.
const TABLES: &[(&str, &[&str])] = &[
    ("The document", &["Document"]),
    ("`notes`", &["Note"]),
    ("`cautions`", &["Caution"]),
    ("`windows`", &["Window"]),
    ("`verdict`", &["Verdict", "LateRank"]),
    ("`ranks`", &["Rank"]),
    ("`time_ns`", &["Time"]),
    ("`copies`", &["CopyTime"]),
    ("`steps`", &["Step"]),
    ("`kernels`", &["Kernel"]),
    ("`tables`", &["Tables"]),
    ("`across_ranks`", &["AcrossRanks"]),
    ("Rows of `across_ranks`", &["AcrossRow"]),
    ("`overlap_across_ranks`", &["OverlapAcross"]),
    ("`notes` of `tables`", &["TableNote"]),
    ("`ops_summary`", &["OperatorSummary"]),
    ("`ops_summary_by_category`", &["CategorySummary"]),
    ("`ops_unique_args`", &["OperatorArguments"]),
    ("`kernel_summary`", &["KernelSummary"]),
    ("`short_kernels_summary`", &["ShortKernelSummary"]),
    ("`short_kernel_histogram`", &["ShortKernelBin"]),
    ("`launches`", &["LaunchSummary"]),
    ("`queue`", &["QueueSummary"]),
    ("`overlap`", &["OverlapSummary"]),
    ("`kernels` of `overlap`", &["KernelOverlap"]),
    ("`copies` of `tables`", &["CopySummary"]),
    ("`annotations`", &["AnnotationSummary"]),
    ("`sequences`", &["SequenceSummary"]),
    ("`inference_steps`", &["InferenceSteps"]),
    ("`periods`", &["PeriodSummary"]),
    ("`idle`", &["IdleBreakdown"]),
    ("`idle_gaps`", &["IdleGapSummary"]),
    ("`counters`", &["CounterSummary"]),
    ("`queue_timeline`, `bandwidth_timeline`", &["QueuePoint", "BandwidthPoint"]),
    ("`recompute`", &["RecomputeSummary"]),
    ("`memory`", &["MemorySummary"]),
    ("`memory_peak`", &["MemoryHolder"]),
    ("`memory_timeline`", &["MemoryPoint"]),
    ("`streams`", &["StreamIdle"]),
    ("`gemm`", &["GemmSummary"]),
    ("`unified_perf_summary`", &["OperatorPerformance"]),
    ("`kernels` of `ops_unique_args`", &["LaunchedKernel"]),
    ("`backward`", &["BackwardSummary"]),
    ("`modules`", &["ModuleSummary"]),
    ("`module_kernels`", &["ModuleKernel"]),
    ("`launch_order`", &["LaunchOrder"]),
    ("`python_functions`", &["FunctionSummary"]),
    ("`hlo_ops`", &["HloInstruction"]),
    ("`jax_steps`", &["JaxStep"]),
    ("`problems`", &["Problem"]),
    ("`critical_path`", &["CriticalPath"]),
    ("`top` of `critical_path`", &["PathShare"]),
    ("`slack` of `critical_path`", &["Slack"]),
    ("`advice`", &["Advice"]),
    ("`budgets`", &["Budget"]),
    ("`blame`", &["Blame"]),
    ("`reasons`", &["Reason"]),
    ("`blame_groups`", &["BlameGroup"]),
    ("`collectives`", &["Collectives"]),
    ("`groups`", &["CollectiveGroup"]),
    ("`ranks` of `collectives`", &["RankArrivals"]),
    ("`unmatched_list`", &["UnmatchedCollective"]),
    ("`instances`", &["CollectiveInstance"]),
    ("`collective_tables`", &["CollectiveTables"]),
    ("`nccl_summary_implicit_sync`", &["CollectiveSummary"]),
    ("`nccl_summary_long`", &["RankCollectiveSummary"]),
    ("`nccl_implicit_sync`", &["CollectiveInstanceRow"]),
    ("`nccl_long`", &["RankInstanceRow"]),
    ("`straggler_summary`", &["StragglerRow"]),
    ("`nccl_summary_all2allv`", &["UnevenSummary"]),
    ("`nccl_all2allv`", &["UnevenRow"]),
    ("`nccl_all2allv_heatmap`", &["PairRow"]),
    ("`by_group`", &["GroupRow"]),
    ("`by_parallelism`", &["ParallelismRow"]),
    ("`size_classes`", &["SizeClassRow"]),
    ("`clock`", &["Clock"]),
    ("`gpus`", &["GpuClock"]),
    ("`lines` of `gpus`", &["GpuClockWindow"]),
    ("`unusable`, `lineless` and `not_placed` of `gpus`", &["GpuTimesCount", "GpuClockCount", "GpuNotPlacedCount"]),
];

/// A type whose keys are described in running text: where that begins.
const PROSE: [(&str, &str); 3] = [
    ("Copies", "One object for each of"),
    ("ClockOffset", "| `offsets` | objects | what was applied"),
    ("ClockPair", "| `pairs` |"),
];

#[test]
fn every_key_is_described_and_every_described_key_exists() {
    let registry = registry();
    let described = described(PAGE);
    let mut of_types: BTreeSet<&str> = BTreeSet::new();
    for (heading, types) in TABLES {
        let known: BTreeSet<String> = types.iter().flat_map(|name| fields(&registry, name)).collect();
        assert_eq!(described.get(heading).cloned().unwrap_or_default(), known, "the table under {heading} and {types:?}");
        of_types.extend(*types);
    }
    for (name, beginning) in PROSE {
        let text =
            PAGE.split("\n\n").flat_map(|block| if block.starts_with('|') { block.lines().collect() } else { vec![block] });
        let text = text.into_iter().find(|text| text.starts_with(beginning)).expect("the text is there");
        let keys: BTreeSet<String> =
            ticked(text).filter(|word| *word != "offsets" && *word != "pairs").map(str::to_owned).collect();
        assert_eq!(keys, fields(&registry, name), "the text that begins with {beginning:?} and {name}");
        of_types.insert(name);
    }
    let structs = registry.iter().filter(|(_, format)| matches!(format, ContainerFormat::Struct(_)));
    let all: BTreeSet<&str> = structs.map(|(name, _)| name.as_str()).collect();
    assert_eq!(all, of_types, "every type of the document has a place in the page");
}

#[test]
fn every_word_of_a_closed_vocabulary_is_described() {
    for (key, words) in [
        ("classes", Classes::WORDS),
        ("rank_source", RankSource::WORDS),
        ("accounting", AccountingSide::WORDS),
        ("step_source", StepSource::WORDS),
        ("class", KernelClass::WORDS),
    ] {
        assert_eq!(words_of_row(key), words.iter().copied().collect(), "{key}");
    }
    let gpus =
        [("unusable", GpuTimesUnusable::WORDS), ("lineless", GpuClockUnknown::WORDS), ("not_placed", GpuNotPlaced::WORDS)];
    for (table, words) in gpus {
        assert_eq!(words_of_row(table), words.iter().copied().collect(), "{table}");
    }
    let registry = registry();
    for (key, name) in [
        ("level", "NoteLevel"),
        ("confidence", "Confidence"),
        ("because", "Because"),
        ("reason", "Unnamed"),
        ("kind", "CautionKind"),
    ] {
        let row = words_of_row(key);
        let missing: Vec<String> =
            variants(&registry, name).into_iter().filter(|word| word != "other" && !row.contains(word.as_str())).collect();
        assert!(missing.is_empty(), "{key}: {missing:?} of {row:?}");
    }
}

fn registry() -> Registry {
    let mut tracer = Tracer::new(TracerConfig::default());
    tracer.trace_simple_type::<Document>().expect("the types can be described");
    tracer.trace_simple_type::<NoteLevel>().expect("as can those of which a document has several values");
    tracer.trace_simple_type::<CautionKind>().expect("likewise");
    tracer.trace_simple_type::<Confidence>().expect("likewise");
    tracer.trace_simple_type::<Because>().expect("likewise");
    tracer.trace_simple_type::<Unnamed>().expect("likewise");
    tracer.registry().expect("all of them")
}

fn fields(registry: &Registry, name: &str) -> BTreeSet<String> {
    match &registry[name] {
        ContainerFormat::Struct(fields) => fields.iter().map(|field| field.name.clone()).collect(),
        other => panic!("{name} is {other:?}"),
    }
}

fn variants(registry: &Registry, name: &str) -> Vec<String> {
    match &registry[name] {
        ContainerFormat::Enum(variants) => variants.values().map(|variant| variant.name.clone()).collect(),
        other => panic!("{name} is {other:?}"),
    }
}

/// The words in the first row about `key` that are no key.
fn words_of_row(key: &str) -> BTreeSet<&'static str> {
    let start = format!("| `{key}` |");
    let row = PAGE.lines().find(|line| line.starts_with(&start)).expect("a row");
    ticked(row).skip(1).collect()
}
