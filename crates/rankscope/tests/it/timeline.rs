//! The timeline that `report` and `align` write: what a click on an event tells, and what `--slim` leaves out.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use crate::common::{fixture, rankscope};
use rankscope_formats::{ArgsPolicy, ReadOptions, read};
use rankscope_trace::Trace;

/// The ranks of the timeline that `arguments` write.
fn timeline(arguments: &[&str]) -> (Vec<Trace>, usize) {
    let out = tempfile::tempdir().unwrap();
    let (input, target) = (fixture("torch-gloo-4ranks").display().to_string(), out.path().display().to_string());
    let output = rankscope(&[&arguments[..1], &[&input, "--out", &target], &arguments[1..]].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let bytes = fs::read(out.path().join("timeline.pftrace")).unwrap();
    (ranks(std::io::Cursor::new(&bytes[..]), "timeline.pftrace"), bytes.len())
}

fn ranks(input: impl std::io::Read + std::io::Seek + Send, label: &str) -> Vec<Trace> {
    let options = ReadOptions::default().with_args(ArgsPolicy::All).with_label(label);
    read(input, &options).unwrap().into_iter().map(|member| member.trace.unwrap()).collect()
}

/// How many events of `trace` have each of `keys`.
fn with(trace: &Trace, keys: [&str; 4]) -> [usize; 4] {
    keys.map(|key| {
        let Some(key) = trace.strings.find(key) else { return 0 };
        let columns = [(&trace.spans.args, trace.spans.len()), (&trace.instant_args, trace.instants.len())];
        columns.map(|(column, rows)| (0..rows).filter(|row| column.value(*row, key).is_some()).count()).iter().sum()
    })
}

#[test]
fn arguments_of_the_sources_are_in_the_timeline() {
    let keys = ["Input Dims", "External id", "Ev Idx", "Total Allocated"];
    for verb in ["report", "align"] {
        let (ranks_of_file, _) = timeline(&[verb]);
        assert_eq!(ranks_of_file.len(), 4);
        for (rank, drawn) in ranks_of_file.iter().enumerate() {
            let path = fixture("torch-gloo-4ranks").join(format!("rank{rank}.json.gz"));
            let source = ranks(fs::File::open(&path).unwrap(), &path.display().to_string()).remove(0);
            let expected = with(&source, keys);
            assert!(expected.iter().all(|count| *count > 0), "{expected:?}");
            assert_eq!(with(drawn, keys), expected, "{verb}, rank {rank}");
            let sum = |trace: &Trace| (trace.spans.len(), trace.spans.dur_ns.iter().sum::<i64>(), trace.instants.len());
            assert_eq!(sum(drawn), sum(&source));
        }
    }
}

#[test]
fn a_slim_timeline_has_the_events_and_no_arguments() {
    let (whole, bytes) = timeline(&["report"]);
    for verb in ["report", "align"] {
        let (slim, slim_bytes) = timeline(&[verb, "--slim"]);
        assert!(slim_bytes * 3 < bytes * 2, "{slim_bytes} of {bytes}");
        for (slim, whole) in slim.iter().zip(&whole) {
            assert_eq!((slim.spans.len(), slim.instants.len()), (whole.spans.len(), whole.instants.len()));
            assert_eq!(with(slim, ["Input Dims", "External id", "Ev Idx", "Total Allocated"]), [0; 4]);
        }
    }
}

#[test]
fn slim_without_a_timeline_is_refused() {
    let input = fixture("torch-gloo-4ranks").display().to_string();
    assert!(!rankscope(&["report", &input, "--slim", "--no-timeline"]).status.success());
    assert!(!Path::new("rankscope-report").exists());
}
