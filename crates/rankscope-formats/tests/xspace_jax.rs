//! JAX's own reader finds in what we write what it finds in what we read, event by event; and it reads what we make of a
//! Kineto trace.
//!
//! Runs where `RANKSCOPE_JAX_PYTHON` names a Python that has jax installed; says so and passes otherwise. Besides the fixtures
//! it takes the XSpace files of the folder `RANKSCOPE_CORPUS`, where that is set.

use std::fs::{self, File};
use std::io::{BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use rankscope_formats::{ArgsPolicy, ReadOptions, xspace};
use rankscope_testkit::{Need, given};
use rankscope_trace::Trace;

#[test]
fn jax_reads_the_same_from_both() {
    let Some(python) = given(Need::Jax) else { return };
    for file in xspaces() {
        let trace = read(&file);
        let copy = write(&trace, "copy.xplane.pb");
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/xspace_equal.py");
        let output = Command::new(&python).arg(script).args([&file, &copy]).output().expect("python starts");
        let said = String::from_utf8_lossy(&output.stdout);
        assert_eq!(said.trim(), format!("equal: {} events", trace.spans.len()), "{}", file.display());
    }
}

#[test]
fn jax_counts_what_we_make_of_kineto() {
    let Some(python) = given(Need::Jax) else { return };
    let file = root().join("fixtures/torch-gloo-4ranks/rank0.json.gz");
    let options = ReadOptions::default().with_args(ArgsPolicy::All);
    let members = rankscope_formats::read(File::open(file).expect("a fixture"), &options).expect("a trace");
    let trace = members.into_iter().next().expect("one member").trace.expect("a trace");
    let made = write(&trace, "kineto.xplane.pb");
    let output = Command::new(&python).args(["-c", COUNT]).arg(&made).output().expect("python starts");
    let marks = trace.spans.len() + trace.instants.len() + trace.counters.len();
    let nanos: i64 = trace.spans.dur_ns.iter().sum();
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), format!("{marks} {nanos}"));

    let again = read(&made);
    assert_eq!(again.collectives.len(), trace.collectives.len());
    assert_eq!(again.steps.len(), trace.steps.len());
    assert_eq!(again.provenance.rank.map(|(rank, _)| rank), trace.provenance.rank.map(|(rank, _)| rank));
}

/// Events and their length together, as JAX sees them.
const COUNT: &str = "
import sys
from jax.profiler import ProfileData
planes = ProfileData.from_file(sys.argv[1]).planes
events = [event for plane in planes for line in plane.lines for event in line.events]
print(len(events), round(sum(event.duration_ns for event in events)))
";

fn read(file: &Path) -> Trace {
    let options = ReadOptions::default().with_args(ArgsPolicy::All);
    xspace::read(BufReader::new(File::open(file).expect("a file")), &options).expect("an XSpace")
}

fn write(trace: &Trace, name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let mut output = BufWriter::new(File::create(&path).expect("a scratch file"));
    xspace::write(trace, &mut output).expect("memory and disk suffice");
    output.flush().expect("the disk suffices");
    path
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn xspaces() -> Vec<PathBuf> {
    let mut found = Vec::new();
    collect(&root().join("fixtures"), &mut found);
    if let Some(corpus) = given(Need::Corpus) {
        collect(&corpus, &mut found);
    }
    assert!(!found.is_empty(), "the fixtures hold XSpace files");
    found
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.is_dir() {
            collect(&path, found);
        } else if path.to_string_lossy().ends_with(".xplane.pb") {
            found.push(path);
        }
    }
}
