//! Parts in processes of their own, the library that stands for NVML, and recordings read back.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use rankscope_formats::{ArgsPolicy, ReadOptions};
use rankscope_testkit::{Need, skip};
use rankscope_trace::Trace;
use tempfile::TempDir;

/// A part that leaves something in `folder`, once it has recorded `until`: so many values of a counter.
pub(crate) fn part(name: &str, folder: &Path, until: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["part::child", "--exact", "--ignored", "--nocapture", "--test-threads", "1"]);
    command.env("RANKSCOPE_TEST_PART", name).env("RANKSCOPE_TEST_FOLDER", folder);
    command.env("RANKSCOPE_TEST_UNTIL", until);
    // A machine may have GPUs; those of tests are others.
    command.env("RANKSCOPE_NVML_LIBRARY", "/nonexistent/libnvidia-ml.so.1").env("RANKSCOPE_SYS", "/nonexistent");
    command.env_remove("RANKSCOPE_ROCM_SMI_LIBRARY").stdin(Stdio::null());
    command
}

/// Plays a part that must end well.
pub(crate) fn play(mut command: Command) {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
}

/// The one recording in `folder`.
pub(crate) fn recording(folder: &Path) -> PathBuf {
    let mut files: Vec<PathBuf> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|suffix| suffix == "rkr"));
    assert_eq!(files.len(), 1, "{files:?}");
    files.remove(0)
}

/// What a process that records into `folder` has so far.
pub(crate) fn live_counters(folder: &Path) -> BTreeMap<String, Vec<f64>> {
    let is_there = fs::read_dir(folder).unwrap().next().is_some();
    let file = is_there.then(|| File::open(recording(folder)).unwrap());
    // It may have no event yet.
    let read = file.and_then(|file| rankscope_formats::recording::read_live(file, &ReadOptions::default()).ok());
    read.map_or_else(BTreeMap::new, |trace| counters(&trace))
}

pub(crate) fn trace(path: &Path) -> Trace {
    let options = ReadOptions::default().with_label(path.to_string_lossy()).with_args(ArgsPolicy::All);
    rankscope_formats::read(File::open(path).unwrap(), &options).unwrap().remove(0).trace.unwrap()
}

/// The values of each counter, in order of time.
pub(crate) fn counters(trace: &Trace) -> BTreeMap<String, Vec<f64>> {
    let mut samples: Vec<_> = trace.counters.iter().collect();
    samples.sort_by_key(|sample| sample.time_ns);
    let mut values: BTreeMap<String, Vec<f64>> = BTreeMap::new();
    for sample in samples {
        values.entry(trace.strings.text(sample.name).to_owned()).or_default().push(sample.value);
    }
    values
}

/// What the recording says under `key`.
pub(crate) fn metadata<'a>(trace: &'a Trace, key: &str) -> Option<&'a str> {
    trace.provenance.header.iter().find(|(known, _)| known == key).map(|(_, json)| json.as_str())
}

/// The library that stands for NVML; none, and the test is skipped, where nothing can be compiled.
pub(crate) fn fake_nvml() -> Option<PathBuf> {
    static LIBRARY: OnceLock<Option<(TempDir, PathBuf)>> = OnceLock::new();
    path_of(LIBRARY.get_or_init(|| compiled("fake_nvml.c", "libnvidia-ml.so.1", &[])))
}

/// The one that stands for ROCm SMI, as of a release.
pub(crate) fn fake_rocm_smi(release: Release) -> Option<PathBuf> {
    static LIBRARIES: [OnceLock<Option<(TempDir, PathBuf)>>; 3] = [const { OnceLock::new() }; 3];
    let define = match release {
        Release::Seven => "-DRELEASE=7",
        Release::Five => "-DRELEASE=5",
        Release::Another => "-DRELEASE=0",
    };
    path_of(LIBRARIES[release as usize].get_or_init(|| compiled("fake_rocm_smi.c", "librocm_smi64.so", &[define])))
}

/// Of ROCm SMI.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Release {
    Seven,
    /// It lacks functions, and its clocks are laid out otherwise.
    Five,
    /// It has none of the functions that nothing goes without.
    Another,
}

fn compiled(source: &str, name: &str, defines: &[&str]) -> Option<(TempDir, PathBuf)> {
    Command::new("cc").arg("--version").output().ok()?;
    let folder = TempDir::new().unwrap();
    let library = folder.path().join(name);
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(source);
    let mut command = Command::new("cc");
    command.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC"]).args(defines);
    let output = command.arg(source).arg("-o").arg(&library).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some((folder, library))
}

fn path_of(compiled: &Option<(TempDir, PathBuf)>) -> Option<PathBuf> {
    if compiled.is_none() {
        skip(Need::Compiler, "cc is not installed");
    }
    compiled.as_ref().map(|(_, library)| library.clone())
}
