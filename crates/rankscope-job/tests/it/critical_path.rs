//! The critical path of a step is as long as the step, to the nanosecond, whatever the job; whoever makes the others wait is on it.

use rankscope_document::{CriticalPath, Document};
use rankscope_testkit::{Need, given};
use rankscope_trace::Trace;

use crate::answered::{FOLDERS, analysed, files, odd_jobs, opened, straggling, synthetic, with_executions};

/// The document of `traces`, of one step where one is asked for, and their paths as a trace.
fn answered(traces: Vec<Trace>, step: Option<i64>) -> (Document, Option<Trace>) {
    let analysed = analysed(with_executions(traces), step);
    (analysed.document("a job"), analysed.job.critical_path_trace())
}

/// Sums are the length, and the length is that of the rank's step.
pub(crate) fn assert_adds_up(document: &Document, drawn: Option<&Trace>, name: &str) {
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
    assert_eq!(of_steps(true), once_ns(document), "{name}");
    let mut steps: Vec<(i64, i64)> = spans_of_steps(drawn).collect();
    steps.sort_unstable();
    assert!(steps.windows(2).all(|pair| pair[0].1 <= pair[1].0), "{name}: steps are on one row: {steps:?}");
}

/// How long the steps are together, if every moment belongs to the step that ends first.
fn once_ns(document: &Document) -> i64 {
    if document.critical_path.iter().any(|path| path.step.is_none()) {
        return document.critical_path.iter().map(|path| path.length_ns).sum();
    }
    let window = |path: &CriticalPath| {
        let own = document.ranks.iter().find(|rank| rank.rank == path.rank).expect("it is one of them");
        let step = own.steps.iter().find(|step| Some(step.step) == path.step).expect("it has the step");
        (step.window_ns[1], step.window_ns[0])
    };
    let mut windows: Vec<(i64, i64)> = document.critical_path.iter().map(window).collect();
    windows.sort_unstable();
    let before = windows.iter().map(|(end_ns, _)| *end_ns);
    let before: Vec<i64> = std::iter::once(i64::MIN).chain(before).collect();
    windows.iter().zip(before).map(|((end_ns, start_ns), before_ns)| end_ns - before_ns.max(*start_ns)).sum()
}

fn spans_of_steps(drawn: &Trace) -> impl Iterator<Item = (i64, i64)> + '_ {
    let is_step = |span: &rankscope_trace::SpanId| {
        let category = drawn.categories[usize::from(drawn.spans.category[span.0 as usize])].name;
        drawn.strings.text(category) == "step"
    };
    drawn.spans.ids().filter(is_step).map(|span| (drawn.spans.start_ns(span), drawn.spans.end_ns(span)))
}

fn on_rank(paths: &[CriticalPath], rank: u32) -> i64 {
    paths.iter().filter_map(|path| path.by_rank.get(&rank)).sum()
}

#[test]
fn a_path_is_as_long_as_its_step_whatever_the_job() {
    for (name, job) in odd_jobs() {
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
    let jobs = FOLDERS.map(|folder| files(&corpus.join(folder)));
    let single = files(&corpus.join("traces/kineto")).into_iter().map(|file| vec![file]);
    for job in jobs.into_iter().chain(single) {
        let name = job[0].display().to_string();
        let (document, drawn) = answered(job.iter().filter_map(|path| opened(path)).collect(), None);
        assert_adds_up(&document, drawn.as_ref(), &name);
    }
}
