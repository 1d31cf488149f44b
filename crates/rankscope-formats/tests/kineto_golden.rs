//! A trace torch wrote, read and written again, means the same: every event, argument and arrow, in any order.
//!
//! Takes the repository's fixtures, and the Kineto traces of the folder `RANKSCOPE_CORPUS` names, where it is set.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

use rankscope_formats::{ArgsPolicy, ReadOptions, json};
use serde_json::Value;

#[test]
fn what_torch_wrote_is_written_again() {
    for file in files() {
        let mut text = Vec::new();
        flate2::read::GzDecoder::new(File::open(&file).unwrap()).read_to_end(&mut text).unwrap();
        let options = ReadOptions::default().with_args(ArgsPolicy::All);
        let trace = json::read(&text[..], &options).unwrap();
        assert!(trace.provenance.problems.is_empty(), "{}: {:?}", file.display(), trace.provenance.problems);
        let mut again = Vec::new();
        json::write(&trace, &mut again).unwrap();
        let (theirs, ours) = (events(&text), events(&again));
        assert!(theirs.values().sum::<u64>() > 500, "{}", file.display());
        let lacking = theirs.iter().find(|(event, count)| ours.get(*event) != Some(*count));
        assert!(lacking.is_none(), "{}: {lacking:?} {}", file.display(), ours.len());
        assert_eq!(ours.len(), theirs.len(), "{}", file.display());
    }
}

/// All events but the names of rows, as canonical text, with how often each is there.
fn events(text: &[u8]) -> BTreeMap<String, u64> {
    let document: Value = serde_json::from_slice(text).unwrap();
    let base_ns = document["baseTimeNanoseconds"].as_i64().unwrap_or(0);
    let mut events = BTreeMap::new();
    for event in document["traceEvents"].as_array().unwrap() {
        let phase = event["ph"].as_str().unwrap_or_default();
        if phase.is_empty() || phase == "M" {
            continue;
        }
        let of = |key: &str| event.get(key).cloned().unwrap_or_default();
        let places = ["cat", "name", "pid", "tid", "id", "s", "args"].map(of);
        let times = ["ts", "dur"].map(|key| nanos(&of(key)));
        let event = format!("{phase} {} {} {}", Value::from(places.to_vec()), i128::from(base_ns) + times[0], times[1]);
        *events.entry(event).or_default() += 1;
    }
    events
}

/// Microseconds, whose decimals a double holds to a nanosecond within Kineto's base.
fn nanos(micros: &Value) -> i128 {
    let micros = micros.as_f64().unwrap_or(0.0);
    micros.trunc() as i128 * 1_000 + (micros.fract() * 1_000.0).round() as i128
}

fn files() -> Vec<PathBuf> {
    let fixtures = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/torch-gloo-4ranks");
    let mut files: Vec<PathBuf> = (0..4).map(|rank| fixtures.join(format!("rank{rank}.json.gz"))).collect();
    let corpus = rankscope_testkit::given(rankscope_testkit::Need::Corpus);
    files.extend(corpus.map(|corpus| corpus.join("traces/kineto/a100_nccl_data.json.gz")));
    files
}
