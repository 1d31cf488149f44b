//! `rankscope map --dataset`: events that workers write where the traces are make the dataset that `report --parquet` writes, to the byte.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rankscope_testkit::{Job, Need, given};
use serde_json::Value;

use crate::{dataset, files, job, rankscope, text, write_job};

/// Traces, the parts that they were mapped to, and where a dataset of those goes.
struct Mapped {
    folder: tempfile::TempDir,
    traces: PathBuf,
}

impl Mapped {
    fn of(traces: &Path, folder: tempfile::TempDir) -> Self {
        let mapped = Self { folder, traces: traces.to_owned() };
        rankscope(&["map", text(&mapped.traces), "--parts", text(&mapped.parts())]);
        mapped
    }

    fn of_job(job: &Job) -> Self {
        let folder = tempfile::tempdir().expect("a temporary directory");
        let traces = write_job(job, folder.path());
        Self::of(&traces, folder)
    }

    fn parts(&self) -> PathBuf {
        self.folder.path().join("parts")
    }

    fn dataset(&self) -> PathBuf {
        self.folder.path().join("by-parts")
    }

    fn merge(&self, more: &[&str]) {
        self.merge_into(&self.dataset(), more);
    }

    fn merge_into(&self, dataset: &Path, more: &[&str]) {
        let parts = self.parts();
        let args = ["merge", text(&parts), "--partial", "--format", "json", "--parquet", text(dataset)];
        rankscope(&[&args[..], more].concat());
    }

    fn try_events(&self, shard: &str, more: &[&str]) -> Output {
        let (parts, dataset) = (self.parts(), self.dataset());
        let args = ["map", "--parts", text(&parts), "--dataset", text(&dataset), "--shard", shard, "--format", "json"];
        Command::new(env!("CARGO_BIN_EXE_rankscope")).args(args).args(more).output().expect("runs")
    }

    fn events(&self, shard: &str, more: &[&str]) -> Value {
        let done = self.try_events(shard, more);
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
        serde_json::from_slice(&done.stdout).expect("JSON")
    }

    /// Merges, and has three workers write events, of whom none comes in order and one comes twice.
    #[track_caller]
    fn is_as_reported(&self, report: &[&str], events: &[&str]) {
        self.merge(&[]);
        for shard in ["3/3", "1/3", "3/3"] {
            assert!(self.events(shard, events)["missing"].as_u64() > Some(0), "{shard}");
        }
        assert_eq!(self.events("2/3", events)["missing"], 0);
        let (whole, _) = dataset(&self.traces, self.folder.path(), report);
        let (whole, own) = (files(&whole), files(&self.dataset()));
        assert_eq!(own.keys().collect::<Vec<_>>(), whole.keys().collect::<Vec<_>>());
        for (place, bytes) in &whole {
            assert!(own[place] == *bytes, "{place}");
        }
    }
}

#[test]
fn events_of_workers_are_those_of_the_report() {
    Mapped::of_job(&job()).is_as_reported(&[], &[]);
    Mapped::of_job(&job()).is_as_reported(&["--parquet-args"], &["--dataset-args"]);
}

#[test]
fn ranks_that_share_files_are_written_by_files() {
    let many = Job { ranks: 260, steps: 1, layers: 1, ops_per_step: 2, python_frames: 0, ..Job::default() };
    Mapped::of_job(&many).is_as_reported(&[], &[]);
}

#[test]
fn events_of_real_traces_are_those_of_the_report() {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/torch-gloo-4ranks");
    let folder = || tempfile::tempdir().expect("a temporary directory");
    Mapped::of(&fixtures, folder()).is_as_reported(&[], &[]);
    let Some(corpus) = given(Need::Corpus) else { return };
    for traces in ["jobs/fsdp", "jobs/pp"] {
        Mapped::of(&corpus.join(traces), folder()).is_as_reported(&[], &[]);
    }
}

#[test]
fn events_are_listed_when_all_are_there_and_nothing_is_done_twice() {
    let mapped = Mapped::of_job(&job());
    mapped.merge(&[]);
    let views = || String::from_utf8(files(&mapped.dataset())["views.sql"].clone()).expect("text");
    let first = mapped.events("1/2", &[]);
    assert_eq!((&first["files"], &first["done_before"], &first["missing"]), (&2.into(), &0.into(), &2.into()));
    assert!(!views().contains("events"), "engines are not told of half a job");
    assert_eq!(mapped.events("1/2", &[])["done_before"], 2);
    assert_eq!(mapped.events("2/2", &[])["missing"], 0);
    assert!(views().contains("events"));
    // When all is listed the notes are gone, and it is known all the same.
    let again = mapped.events("1/2", &[]);
    assert_eq!((&again["files"], &again["done_before"], &again["rows"]), (&2.into(), &2.into(), &first["rows"]));
    assert!(files(&mapped.dataset()).keys().all(|place| !place.contains("_done")));
}

#[test]
fn events_are_of_the_last_merge_or_of_none() {
    let mapped = Mapped::of_job(&job());
    let refused = |code, what: &str| {
        let done = mapped.try_events("1/1", &[]);
        let said = String::from_utf8_lossy(&done.stderr).into_owned();
        assert!(done.status.code() == Some(code) && said.contains(what), "{said}");
    };
    refused(2, "which a merge finds. Run it first: rankscope merge");
    rankscope(&["merge", text(&mapped.parts()), "--partial", "--format", "json"]);
    refused(2, "--parquet DIR");
    mapped.merge(&[]);
    mapped.events("1/2", &[]);
    // Other clocks: what was known of them before is void, and so is the dataset.
    rankscope(&["merge", text(&mapped.parts()), "--partial", "--as-recorded", "--format", "json"]);
    refused(2, "--parquet DIR");
    mapped.merge_into(&mapped.folder.path().join("elsewhere"), &["--as-recorded"]);
    refused(2, "this dataset is not what the last merge of these parts wrote");
    // A merge into it takes the events of before away.
    mapped.merge(&["--as-recorded"]);
    assert!(!files(&mapped.dataset()).keys().any(|place| place.starts_with("events/")));
    fs::write(mapped.traces.join("rank1.json"), "{}").expect("written");
    refused(4, "rank1.json");
}
