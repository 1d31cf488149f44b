//! The critical path of a step is as long as the step, to the nanosecond, whatever the job; whoever makes the others wait is on it.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rankscope_analyze::Classes;
use rankscope_document::{CriticalPath, Document};
use rankscope_formats::{ReadOptions, Scope, read};
use rankscope_job::{Analysed, Facts, Judging, Part, Parts, Rules, judge};
use rankscope_testkit::{Dialect, Job as Synthetic, Need, NodeClock, Straggler, given};
use rankscope_trace::Trace;

use crate::bench::{place, trace};

fn part(mut trace: Trace) -> Part {
    let classes = Classes::default();
    let mut part = Part::of(&mut trace, &classes);
    part.add_execution(&trace, &classes);
    part
}

fn synthetic(job: &Synthetic) -> Vec<Trace> {
    let bytes = |rank: u32| job.rank_bytes(rank, &Dialect::default());
    (0..job.ranks).map(|rank| trace(&format!("rank{rank}.json"), bytes(rank), Scope::All)).collect()
}

/// The document of `traces`, of one step where one is asked for, and their paths as a trace.
fn answered(traces: Vec<Trace>, step: Option<i64>) -> (Document, Option<Trace>) {
    let mut parts = Parts::new(Rules::default());
    for (number, trace) in traces.into_iter().enumerate() {
        parts.add(place(number), part(trace)).expect("one part a place");
    }
    let job = judge(parts, &Facts::default(), Judging::default().with_partial(true)).expect("it can be judged");
    let mut analysed = Analysed::of(job, step).expect("that step is there");
    analysed.answer();
    (analysed.document("a job"), analysed.job.critical_path_trace())
}

/// Sums are the length, and the length is that of the rank's step.
fn assert_adds_up(document: &Document, drawn: Option<&Trace>, name: &str) {
    for path in &document.critical_path {
        let what = format!("{name}, step {:?}", path.step);
        assert_eq!(path.by_class.values().sum::<i64>(), path.length_ns, "{what}");
        assert_eq!(path.by_rank.values().sum::<i64>(), path.length_ns, "{what}");
        assert_eq!(path.by_link.values().sum::<i64>(), path.by_class["communication"], "{what}");
        assert!(path.top.iter().map(|share| share.ns).sum::<i64>() <= path.length_ns, "{what}");
        assert!(path.slack.iter().all(|slack| slack.least_ns >= 0 && slack.ns > 0), "{what}: {:?}", path.slack);
        if path.step.is_some() {
            let own = document.ranks.iter().find(|rank| rank.rank == path.rank).expect("it is one of them");
            let step = own.steps.iter().find(|step| Some(step.step) == path.step).expect("it has the step");
            assert_eq!(step.window_ns[1] - step.window_ns[0], path.length_ns, "{what}");
        }
    }
    let Some(drawn) = drawn else { return };
    let of_steps = |is_step: bool| -> i64 {
        let spans = drawn.spans.ids().filter(|span| {
            let category = drawn.categories[usize::from(drawn.spans.category[span.0 as usize])].name;
            (drawn.strings.text(category) == "step") == is_step
        });
        spans.map(|span| drawn.spans.end_ns(span) - drawn.spans.start_ns(span)).sum()
    };
    assert_eq!(of_steps(true), of_steps(false), "{name}: segments tile their steps");
    assert_eq!(of_steps(true), document.critical_path.iter().map(|path| path.length_ns).sum::<i64>(), "{name}");
}

fn on_rank(paths: &[CriticalPath], rank: u32) -> i64 {
    paths.iter().filter_map(|path| path.by_rank.get(&rank)).sum()
}

fn straggling() -> Synthetic {
    Synthetic { ranks: 4, steps: 4, straggler: Some(Straggler { rank: 2, factor: 1.5 }), ..Synthetic::default() }
}

#[test]
fn a_path_is_as_long_as_its_step_whatever_the_job() {
    let far = NodeClock { offset_ns: 850_000, drift_ppb: 30_000 };
    let jobs = [
        ("a straggler", straggling()),
        ("two dimensions", Synthetic { group_size: Some(2), ..straggling() }),
        ("wrong clocks", Synthetic { gpus_per_node: 2, clocks: vec![NodeClock::default(), far], ..straggling() }),
        ("missing collectives", Synthetic { missing: vec![(1, 3), (0, 5)], ..straggling() }),
        ("one rank", Synthetic { ranks: 1, straggler: None, ..straggling() }),
    ];
    for (name, job) in jobs {
        let (document, drawn) = answered(synthetic(&job), None);
        assert_eq!(document.critical_path.len(), 4, "{name}");
        assert_adds_up(&document, drawn.as_ref(), name);
    }
}

#[test]
fn a_path_goes_through_the_rank_that_the_others_wait_for() {
    let (document, _) = answered(synthetic(&straggling()), None);
    let all: i64 = document.critical_path.iter().map(|path| path.length_ns).sum();
    assert!(on_rank(&document.critical_path, 2) * 2 > all, "{:?}", document.critical_path[1].by_rank);
    let compute: i64 = document.critical_path.iter().map(|path| path.by_class["compute"]).sum();
    assert!(compute * 2 > all, "{:?}", document.critical_path[1].by_class);
    // The others could take longer.
    let others = document.critical_path[1].slack.iter().filter(|slack| slack.rank != 2).count();
    assert!(others > 0, "{:?}", document.critical_path[1].slack);
}

#[test]
fn one_step_has_its_own_path_alone() {
    let (all, _) = answered(synthetic(&straggling()), None);
    let step = all.critical_path[1].step;
    let (one, drawn) = answered(synthetic(&straggling()), step);
    assert_eq!(one.critical_path.len(), 1);
    assert_eq!(one.critical_path[0], all.critical_path[1]);
    assert_adds_up(&one, drawn.as_ref(), "one step");
}

#[test]
fn ranks_in_another_order_have_the_same_paths() {
    let (forwards, _) = answered(synthetic(&straggling()), None);
    let (backwards, _) = answered(synthetic(&straggling()).into_iter().rev().collect(), None);
    assert_eq!(forwards.critical_path, backwards.critical_path);
}

#[test]
fn what_is_missing_is_said() {
    let mut traces = synthetic(&straggling());
    traces.remove(2);
    let (document, drawn) = answered(traces, None);
    assert_adds_up(&document, drawn.as_ref(), "a rank is missing");
    assert!(document.unanswered.iter().any(|why| why.contains("ranks without a trace (2)")), "{:?}", document.unanswered);
}

#[test]
fn ranks_that_are_not_compared_have_no_path_and_the_reason_is_said() {
    // One file under two names.
    let trace = synthetic(&straggling()).remove(0);
    let mut other = trace.clone();
    other.provenance.file = "rank9.json".to_owned();
    other.provenance.rank = other.provenance.rank.map(|(_, source)| (rankscope_time::Rank(9), source));
    let (document, drawn) = answered(vec![trace, other], None);
    assert!(document.critical_path.is_empty() && drawn.is_none());
    assert_eq!(document.unanswered, ["The critical path cannot be told: ranks are not compared."]);
}

#[test]
fn paths_of_real_jobs_add_up() {
    let Some(corpus) = given(Need::Corpus) else { return };
    let folders = ["jobs/crash", "jobs/fsdp", "jobs/pp", "jobs/jax", "traces/torch-gloo-4ranks", "traces/jax-cpu-2procs"];
    let jobs = folders.map(|folder| files(&corpus.join(folder)));
    let single = files(&corpus.join("traces/kineto")).into_iter().map(|file| vec![file]);
    for job in jobs.into_iter().chain(single) {
        let name = job[0].display().to_string();
        let (document, drawn) = answered(job.iter().filter_map(|path| opened(path)).collect(), None);
        assert_adds_up(&document, drawn.as_ref(), &name);
    }
}

fn opened(path: &Path) -> Option<Trace> {
    let options = ReadOptions::default().with_label(path.file_name().expect("a file").to_string_lossy());
    read(File::open(path).expect("it is there"), &options).ok()?.remove(0).trace.ok()
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the corpus has it").map(|entry| entry.expect("an entry").path());
    let mut paths: Vec<_> = entries.filter(|path| path.is_file()).collect();
    paths.sort();
    paths
}
