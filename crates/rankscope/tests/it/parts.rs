//! Parts answer whoever takes traces as the traces do, to the byte; and refuse by name who wants events or checks that they lack.

use std::fs;
use std::path::Path;

use crate::common::{corpus, rankscope, write_job};
use crate::map_merge::{first, job, mapped, mapped_with, text, two_clocks};
use rankscope_testkit::Dialect;

/// That `verb` says the same of `traces` and of the `parts` made of them.
fn assert_says_the_same(verb: &str, traces: &Path, parts: &Path, options: &[&str]) {
    let [said, of_parts] =
        [traces, parts].map(|input| rankscope(&[&[verb, text(input), "--format", "json"], options].concat()));
    let what = format!("{verb} {} {options:?}", traces.display());
    assert!(!said.stdout.is_empty(), "{what}: {}", String::from_utf8_lossy(&said.stderr));
    assert!(said.stdout == of_parts.stdout, "{what} differs by parts: {}", String::from_utf8_lossy(&of_parts.stderr));
    assert_eq!(said.status.code(), of_parts.status.code(), "{what}");
    assert_eq!(String::from_utf8_lossy(&said.stderr), String::from_utf8_lossy(&of_parts.stderr), "{what}");
}

/// That `report`, `validate` and `align` say the same of `traces` and of checked parts of them.
pub(crate) fn assert_every_verb_says_the_same(traces: &Path) {
    let parts = mapped_with(traces, 2, &["--checks"]);
    assert_says_the_same("report", traces, parts.path(), &[]);
    assert_says_the_same("validate", traces, parts.path(), &[]);
    assert_says_the_same("validate", traces, parts.path(), &["--align", "best"]);
    assert_says_the_same("align", traces, parts.path(), &["--no-timeline"]);
    assert_says_the_same("align", traces, parts.path(), &["--from-traces"]);
}

#[test]
fn every_dialect_says_by_its_parts_what_it_says_itself() {
    for (_, dialect) in Dialect::all() {
        let directory = tempfile::tempdir().expect("a temporary directory");
        for rank in 0..4 {
            fs::write(directory.path().join(format!("t{rank}.json")), job().rank_bytes(rank, &dialect)).expect("written");
        }
        assert_every_verb_says_the_same(directory.path());
    }
}

#[test]
fn real_traces_say_by_their_parts_what_they_say_themselves() {
    let Some(corpus) = corpus() else { return };
    for name in ["traces/torch-gloo-4ranks", "traces/jax-cpu-2procs", "jobs/fsdp", "jobs/crash"] {
        assert_every_verb_says_the_same(&corpus.join(name));
    }
}

#[test]
fn wrong_clocks_are_found_by_parts_as_by_traces() {
    let job = two_clocks();
    let directory = write_job(&job);
    assert_every_verb_says_the_same(directory.path());
    let parts = mapped_with(directory.path(), 1, &["--checks"]);
    let csv = |input: &Path| {
        let (folder, file) = (tempfile::tempdir().expect("a temporary directory"), "all.csv");
        rankscope(&["validate", text(input), "--csv", text(&folder.path().join(file))]);
        fs::read_to_string(folder.path().join(file)).expect("written")
    };
    let table = csv(directory.path());
    assert!(table.lines().count() > 4 && table == csv(parts.path()));
    // Three exports of each rank, joined before they are judged.
    let exports = tempfile::tempdir().expect("a temporary directory");
    for (rank, window) in (0..job.ranks).flat_map(|rank| (0..3).map(move |window| (rank, window))) {
        let mut later = job.clone();
        later.clocks.iter_mut().for_each(|clock| clock.offset_ns += i64::from(window) * 60_000_000_000);
        let bytes = later.rank_bytes(rank, &Dialect::default());
        fs::write(exports.path().join(format!("rank{rank}.{window}.json")), bytes).expect("written");
    }
    assert_every_verb_says_the_same(exports.path());
}

#[test]
fn parts_without_checks_are_not_validated() {
    let directory = write_job(&job());
    let parts = mapped(directory.path(), 1);
    let refused = rankscope(&["validate", text(parts.path())]);
    let said = String::from_utf8_lossy(&refused.stderr);
    assert!(refused.status.code() == Some(2) && said.contains("rankscope map --checks"), "{said}");
    // Nor may some have them and some not.
    let again = rankscope(&["map", text(directory.path()), "--parts", text(parts.path()), "--checks"]);
    let said = String::from_utf8_lossy(&again.stderr);
    assert!(again.status.code() == Some(4) && said.contains("other inputs or options"), "{said}");
    let checked = mapped_with(directory.path(), 1, &["--checks"]);
    let (plain, other) = (first(parts.path(), "part-r000001", ".rkpart"), first(checked.path(), "part-r000001", ".rkpart"));
    fs::copy(&plain, &other).expect("copied");
    let mixed = rankscope(&["validate", text(checked.path())]);
    let said = String::from_utf8_lossy(&mixed.stderr);
    assert!(mixed.status.code() == Some(4) && said.contains("part-r000001"), "{said}");
}

#[test]
fn parts_have_no_events_to_write() {
    let directory = write_job(&job());
    let parts = mapped(directory.path(), 1);
    let out = tempfile::tempdir().expect("a temporary directory");
    let (folder, file) = (out.path().join("report"), out.path().join("all.json"));
    for verb in ["report", "merge", "align"] {
        let said = rankscope(&[verb, text(parts.path()), "--out", text(&folder)]);
        let stderr = String::from_utf8_lossy(&said.stderr);
        assert!(said.status.success(), "{verb}: {stderr}");
        assert!(stderr.contains("timeline.pftrace is not written: parts hold no events"), "{verb}: {stderr}");
    }
    assert!(folder.join("alignment.json").is_file() && !folder.join("timeline.pftrace").exists());
    let quiet = rankscope(&["align", text(parts.path()), "--out", text(&folder), "--no-timeline"]);
    assert!(!String::from_utf8_lossy(&quiet.stderr).contains("timeline"));
    let elsewhere = out.path().join("other");
    let refused = [
        vec!["combine", text(parts.path()), "--output", text(&file)],
        vec!["combine", "--run-dir", text(parts.path()), "--output", text(&file)],
        vec!["spans", text(parts.path())],
        vec!["map", text(parts.path()), "--parts", text(&elsewhere)],
        vec!["report", text(parts.path()), text(directory.path())],
        vec!["validate", text(directory.path()), text(parts.path())],
    ];
    for command in refused {
        let said = rankscope(&command);
        let stderr = String::from_utf8_lossy(&said.stderr);
        assert!(
            said.status.code() == Some(2) && stderr.contains("parts hold no events. Give the traces"),
            "{command:?}: {stderr}"
        );
    }
    let convert = rankscope(&["convert", text(parts.path()), text(&file)]);
    assert!(!convert.status.success() && !file.exists());
}

#[test]
fn options_that_parts_were_not_made_with_are_refused() {
    let directory = write_job(&job());
    let (usual, tracelens) = (mapped(directory.path(), 1), mapped_with(directory.path(), 1, &["--classes", "tracelens"]));
    let ask = |parts: &Path, more: &[&str]| {
        let said = rankscope(&[&["report", text(parts), "--format", "json"], more].concat());
        (said.status.code(), String::from_utf8_lossy(&said.stderr).into_owned())
    };
    for more in [&["--classes", "tracelens"][..], &["--comm-pattern", "my_.*"], &["--gpu-only"]] {
        let (code, said) = ask(usual.path(), more);
        assert!(code == Some(2) && said.contains("with other options than these"), "{more:?}: {said}");
    }
    assert_eq!(ask(tracelens.path(), &["--classes", "tracelens"]).0, Some(0));
    assert_eq!(ask(tracelens.path(), &[]).0, Some(0));
}
