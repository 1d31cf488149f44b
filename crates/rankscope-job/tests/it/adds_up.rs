//! Budgets add up to exposed time, blame to lateness, and paths to their steps: on every trace at hand, in every step alone, with clocks
//! that are wrong, ranks that are missing and collectives that were lost.

use std::fs;
use std::path::{Path, PathBuf};

use rankscope_job::{Analysed, Job};
use rankscope_testkit::simulated::{CauseKind, Job as Simulated};
use rankscope_testkit::{Need, given};
use rankscope_trace::Trace;

use crate::answered::{FOLDERS, odd_jobs, opened, recorded, simulated, synthetic, with_executions};
use crate::{blame, budgets, critical_path};

/// All laws, of all steps together and of the first, the middle and the last one alone.
fn assert_adds_up(traces: Vec<Trace>, name: &str) {
    let job = with_executions(traces);
    let mut numbers: Vec<i64> = job.ranks.iter().flat_map(|rank| &rank.report.steps).map(|step| step.number).collect();
    numbers.sort_unstable();
    let chosen = [0, numbers.len() / 2, numbers.len().saturating_sub(1)];
    let mut steps: Vec<Option<i64>> = chosen.iter().map(|at| numbers.get(*at).copied()).chain([None]).collect();
    steps.sort_unstable();
    steps.dedup();
    steps.into_iter().for_each(|step| assert_of(job.clone(), step, name));
}

fn assert_of(job: Job, step: Option<i64>, name: &str) {
    let name = step.map_or_else(|| name.to_owned(), |step| format!("{name}, step {step} alone"));
    let mut analysed = Analysed::of(job, step).expect("that step is there");
    let exposed_ns = budgets::exposed_ns(&analysed.job);
    analysed.answer();
    let document = analysed.document("a job");
    budgets::assert_adds_up(&document.budgets, exposed_ns, &name);
    blame::assert_adds_up(&document, &name);
    critical_path::assert_adds_up(&document, analysed.job.critical_path_trace().as_ref(), &name);
}

/// What may be wrong with the traces of a job.
fn damaged(traces: &[Trace]) -> Vec<(&'static str, Vec<Trace>)> {
    let mut all = vec![("as it is", traces.to_vec())];
    if traces.len() > 1 {
        all.push(("its first rank is missing", traces[1..].to_vec()));
        all.push(("only one rank is left", traces[..1].to_vec()));
        for (what, at, by_ns) in [("one clock is ahead", 1, 7_000_000), ("one clock is an hour behind", 0, -3_600_000_000_000)]
        {
            let mut off = traces.to_vec();
            off[at].spans.start_ns.iter_mut().for_each(|start_ns| *start_ns += by_ns);
            all.push((what, off));
        }
        let mut drifting = traces.to_vec();
        let first_ns = drifting[1].spans.start_ns.first().copied().unwrap_or(0);
        drifting[1].spans.start_ns.iter_mut().for_each(|start_ns| *start_ns += (*start_ns - first_ns) / 1_000);
        all.push(("one clock is fast", drifting));
    }
    all
}

#[test]
fn answers_of_made_jobs_add_up_whatever_is_wrong_with_them() {
    for (name, job) in odd_jobs() {
        for (what, traces) in damaged(&synthetic(&job)) {
            assert_adds_up(traces, &format!("{name}, {what}"));
        }
    }
    for kind in [None, Some(CauseKind::SlowLink), Some(CauseKind::HeavyStage), Some(CauseKind::UnevenExperts)] {
        let job = Simulated { steps: 3, ..Simulated::drawn_of(kind, 5, 4) };
        for (what, traces) in damaged(&simulated(&job)) {
            assert_adds_up(traces, &format!("{kind:?}, {what}"));
        }
    }
}

#[test]
fn answers_of_recorded_jobs_add_up_whatever_is_wrong_with_them() {
    let Some(corpus) = given(Need::Corpus) else { return };
    for folder in FOLDERS {
        for (what, traces) in damaged(&recorded(&corpus.join(folder))) {
            assert_adds_up(traces, &format!("{folder}, {what}"));
        }
    }
}

#[test]
fn answers_of_every_public_trace_add_up() {
    let Some(corpus) = given(Need::Corpus) else { return };
    let files = [files(&corpus.join("traces")), files(&corpus.join("jobs"))].concat();
    let traces = files.iter().filter_map(|file| Some((file, opened(file)?)));
    let count = traces.map(|(file, trace)| assert_adds_up(vec![trace], &file.display().to_string())).count();
    assert!(count >= 30, "{count} traces of {} files", files.len());
}

/// All files below `folder`.
fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("the corpus has it").map(|entry| entry.expect("an entry").path());
    let (folders, mut files): (Vec<PathBuf>, Vec<PathBuf>) = entries.partition(|path| path.is_dir());
    files.extend(folders.iter().flat_map(|folder| self::files(folder)));
    files.sort();
    files
}
