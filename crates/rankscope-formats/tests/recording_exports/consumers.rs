//! What others make of our exports of a recording: Perfetto's engine, Python's `json`, HTA, JAX.
//!
//! Each part runs where its consumer is named, and says so and passes otherwise: `RANKSCOPE_TRACE_PROCESSOR` a folder with the
//! engine, `RANKSCOPE_HTA_PYTHON` a Python that has HolisticTraceAnalysis installed, `RANKSCOPE_JAX_PYTHON` one that has jax.

use std::fs::File;
use std::io::BufWriter;
use std::path::{Path, PathBuf};
use std::process::Command;

use rankscope_formats::recording::export::{About, kineto_json, perfetto};
use rankscope_formats::recording::{Cut, to_trace};
use rankscope_formats::{ArgsPolicy, ReadOptions, xspace};
use rankscope_testkit::{Need, given, skip};

use crate::engine::{ask, engine, scratch};
use crate::scene;

#[test]
fn the_engine_sees_the_same_in_both() {
    let Some(engine) = engine() else { return };
    let recording = scene::recording();
    let (json, proto) = (exported_json("both.json"), scratch("both.pftrace"));
    let mut output = BufWriter::new(File::create(&proto).unwrap());
    perfetto(&recording, &Cut::everything(), &About::of(&recording), &mut output).unwrap();
    let queries = [
        "select name, severity, value from stats where severity in ('error', 'data_loss') and value > 0",
        "select category, name, count(*), sum(dur), min(ts), max(ts + dur) from slice
         where category not in ('', 'Trace') and name != 'late' group by 1, 2 order by 1, 2",
        "select count(*) from flow",
        "select count(*), sum(value) from counter",
        "select tid from thread join thread_track using (utid) join slice on slice.track_id = thread_track.id
         where category = 'kernel' group by 1",
        "select s.name, d.name from flow join slice s on flow.slice_out = s.id join slice d on flow.slice_in = d.id
         where s.name != 'late' and d.name != 'outer' group by 1, 2 order by 1, 2",
    ];
    let [mut of_json, of_proto] = [json, proto].map(|file| ask(&engine, &file, &queries));
    assert_eq!(of_json[0], [[""; 0]; 0], "complaints");
    // Stamps of JSON count from its base; the file's own time is the epoch's.
    let base: i64 = scene::EPOCH_NS - scene::EPOCH_NS % (7_889_238 * 1_000_000_000);
    for row in &mut of_json[1] {
        row[4..].iter_mut().for_each(|time| *time = (time.parse::<i64>().unwrap() + base).to_string());
    }
    assert_eq!(of_proto, of_json);
    let arrows = [["aten::mm", "MmBackward0"], ["cudaLaunchKernel", "sgemm"]];
    assert_eq!(of_proto[5], arrows);
    assert_eq!(of_proto[2], [[scene::ARROWS.to_string()]]);
}

#[test]
fn python_reads_the_json() {
    let python = Path::new("python3");
    if Command::new(python).arg("--version").output().is_err() {
        return skip(Need::Python, "python3 is not installed");
    }
    let count = "import json, sys; print(sum(e['ph'] == 'X' for e in json.load(open(sys.argv[1]))['traceEvents']))";
    let said = run(python, count, &exported_json("python.json"));
    // Asynchronous spans are no `X`; the mark of the whole recording is one.
    assert_eq!(said, (scene::SPANS - scene::STEPS as u64 + 1).to_string());
}

#[test]
fn hta_breaks_the_time_down() {
    let Some(python) = given(Need::Hta) else { return };
    let script = "
import sys
from hta.trace_analysis import TraceAnalysis
analysis = TraceAnalysis(trace_files={0: sys.argv[1]}, trace_dir='/')
row = analysis.get_temporal_breakdown(visualize=False).iloc[0]
print(round(row['compute_time(us)']), round(row['kernel_time(us)']))
";
    let said = run(&python, script, &exported_json("hta.json"));
    let last: Vec<i64> = said.lines().last().unwrap_or_default().split(' ').map(|time| time.parse().unwrap()).collect();
    // Forty microseconds of kernels a step, from the first kernel to the end of the last. HTA leaves the last step out and cuts
    // stamps to whole microseconds.
    let steps = scene::STEPS - 1;
    let (expected, within_us) = ([40 * steps, (steps - 1) * 1_000 + 40], [steps, 1]);
    let near = last.iter().zip(expected).zip(within_us).all(|((found, expected), within)| (found - expected).abs() <= within);
    assert!(last.len() == 2 && near, "{last:?}, not {expected:?}");
}

/// Through a trace, as XSpace has one message for all of it.
#[test]
fn jax_reads_the_xspace() {
    let Some(python) = given(Need::Jax) else { return };
    let options = ReadOptions::default().with_args(ArgsPolicy::All);
    let trace = to_trace(&scene::recording(), &Cut::everything(), &options);
    let file = scratch("recording.xplane.pb");
    let mut output = BufWriter::new(File::create(&file).unwrap());
    xspace::write(&trace, &mut output).unwrap();
    drop(output);
    let count = "
import sys
from jax.profiler import ProfileData
lines = [line for plane in ProfileData.from_file(sys.argv[1]).planes for line in plane.lines]
steps = [event for line in lines for event in line.events if event.name.startswith('ProfilerStep#')]
print(sum(len(list(line.events)) for line in lines), len(steps), round(sum(step.duration_ns for step in steps)))
";
    let marks = trace.spans.len() + trace.instants.len() + trace.counters.len();
    assert_eq!(trace.spans.len() as u64, scene::SPANS);
    assert_eq!(run(&python, count, &file), format!("{marks} {} {}", scene::STEPS, scene::STEPS * 900_000));
}

fn exported_json(name: &str) -> PathBuf {
    let file = scratch(name);
    let recording = scene::recording();
    let mut output = BufWriter::new(File::create(&file).unwrap());
    kineto_json(&recording, &Cut::everything(), &About::of(&recording), &mut output).unwrap();
    file
}

fn run(python: &Path, script: &str, file: &Path) -> String {
    let output = Command::new(python).args(["-c", script]).arg(file).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap().trim().to_owned()
}
