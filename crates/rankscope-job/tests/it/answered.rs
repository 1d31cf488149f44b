//! Jobs with their executions, on which answers are asked for: made-up ones, simulated ones and recorded ones.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rankscope_document::Document;
use rankscope_formats::{ReadOptions, Scope, read};
use rankscope_job::{Analysed, Facts, Job, Judging, Part, Parts, Rules, judge};
use rankscope_testkit::{Dialect, Job as Synthetic, NodeClock, Straggler, simulated};
use rankscope_trace::Trace;

use crate::bench::{place, trace};

/// Recorded jobs of the corpus.
pub(crate) const FOLDERS: [&str; 6] =
    ["jobs/crash", "jobs/fsdp", "jobs/pp", "jobs/jax", "traces/torch-gloo-4ranks", "traces/jax-cpu-2procs"];

/// The ranks of `job` as torch writes them.
pub(crate) fn synthetic(job: &Synthetic) -> Vec<Trace> {
    named((0..job.ranks).map(|rank| job.rank_bytes(rank, &Dialect::default())))
}

/// The ranks of a simulated job.
pub(crate) fn simulated(job: &simulated::Job) -> Vec<Trace> {
    named(job.all_ranks().into_iter())
}

fn named(ranks: impl Iterator<Item = Vec<u8>>) -> Vec<Trace> {
    ranks.enumerate().map(|(rank, bytes)| trace(&format!("rank{rank}.json"), bytes, Scope::All)).collect()
}

/// The files of `folder` that are traces.
pub(crate) fn recorded(folder: &Path) -> Vec<Trace> {
    files(folder).iter().filter_map(|path| opened(path)).collect()
}

/// The trace at `path`, if it is one.
pub(crate) fn opened(path: &Path) -> Option<Trace> {
    let options = ReadOptions::default().with_label(path.file_name().expect("a file").to_string_lossy());
    read(File::open(path).expect("it is there"), &options).ok()?.remove(0).trace.ok()
}

/// The files of `folder`, by name.
pub(crate) fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the corpus has it").map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<_> = entries.filter(|path| path.is_file()).collect();
    paths.sort();
    paths
}

/// The job of `traces`, with the executions of its ranks.
pub(crate) fn with_executions(traces: Vec<Trace>) -> Job {
    with_facts(traces, &Facts::default())
}

/// The same, of which something is known beside its traces.
pub(crate) fn with_facts(traces: Vec<Trace>, facts: &Facts) -> Job {
    let rules = Rules::default().with_answers(true);
    let classes = rules.compiled().expect("rules");
    let mut parts = Parts::new(rules);
    for (number, mut trace) in traces.into_iter().enumerate() {
        let mut part = Part::of(&mut trace, &classes);
        part.add_execution(&trace, &classes);
        parts.add(place(number), part).expect("one part a place");
    }
    judge(parts, facts, Judging::default().with_partial(true)).expect("it can be judged")
}

/// The tables and answers of `job`, of one step where one is asked for.
pub(crate) fn analysed(job: Job, step: Option<i64>) -> Analysed {
    let mut analysed = Analysed::of(job, step).expect("that step is there");
    analysed.answer();
    analysed
}

/// The document of `traces`, with all answers.
pub(crate) fn answered(traces: Vec<Trace>) -> Document {
    analysed(with_executions(traces), None).document("a job")
}

/// A job whose rank 2 is slow.
pub(crate) fn straggling() -> Synthetic {
    Synthetic { ranks: 4, steps: 4, straggler: Some(Straggler { rank: 2, factor: 1.5 }), ..Synthetic::default() }
}

/// It and its like, each with what is odd about it.
pub(crate) fn odd_jobs() -> [(&'static str, Synthetic); 5] {
    [
        ("a straggler", straggling()),
        ("two dimensions", Synthetic { group_size: Some(2), ..straggling() }),
        ("wrong clocks", Synthetic { gpus_per_node: 2, clocks: clocks(), ..straggling() }),
        ("missing collectives", Synthetic { missing: vec![(1, 3), (0, 5)], ..straggling() }),
        ("one rank", Synthetic { ranks: 1, straggler: None, ..straggling() }),
    ]
}

/// The clocks of two nodes, of which one is off.
pub(crate) fn clocks() -> Vec<NodeClock> {
    vec![NodeClock::default(), NodeClock { offset_ns: 850_000, drift_ppb: 30_000 }]
}
