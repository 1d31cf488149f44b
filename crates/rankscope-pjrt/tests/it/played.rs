//! The program in C that plays jaxlib, compiled here, and what it collected.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rankscope_formats::{ArgsPolicy, ReadOptions, xspace};
use rankscope_testkit::{Need, skip};
use rankscope_trace::{HostClock, Provenance};
use tempfile::TempDir;

/// A trace of JAX, which the plane joins.
const JAX: &[u8] = include_bytes!("../../../../fixtures/jax-cpu-2procs/process0.xplane.pb");

/// A folder for the program and what it collects.
pub(crate) struct Stage {
    folder: TempDir,
    program: PathBuf,
}

impl Stage {
    /// None, and the test is skipped, where nothing can be compiled.
    pub(crate) fn new() -> Option<Self> {
        if Command::new("cc").arg("--version").output().is_err() {
            skip(Need::Compiler, "cc is not installed");
            return None;
        }
        let folder = TempDir::new().unwrap();
        let program = folder.path().join("play");
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/play.c");
        let mut cc = Command::new("cc");
        let output = cc.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1"]).arg(source).arg("-o").arg(&program);
        let output = output.arg("-ldl").output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(Self { folder, program })
    }

    /// Plays `scene` in a process of its own that was launched as rank 3 of 8; what it collected, as a trace says it of itself.
    pub(crate) fn play(&self, scene: &str) -> Vec<Provenance> {
        let mut command = Command::new(&self.program);
        command.arg(library()).arg(scene).arg(self.folder.path());
        let launched = [("RANK", "3"), ("WORLD_SIZE", "8"), ("RANKSCOPE_RUN_ID", "tuesday")];
        done(&command.envs(launched).output().unwrap());
        let files = (0..).map(|number| self.folder.path().join(format!("{number}.pb"))).take_while(|path| path.exists());
        files.map(|path| about(&[JAX, &fs::read(path).unwrap()].concat())).collect()
    }
}

pub(crate) fn done(output: &Output) {
    assert!(output.status.success(), "{}: {}", output.status, String::from_utf8_lossy(&output.stderr));
}

/// What the trace `bytes` says of itself.
pub(crate) fn about(bytes: &[u8]) -> Provenance {
    let options = ReadOptions::default().with_args(ArgsPolicy::All);
    let about = xspace::read(bytes, &options).unwrap().provenance;
    assert!(about.problems.is_empty(), "{:?}", about.problems);
    about
}

/// Readings of the raw clock: the trace's own time, what it showed, and the width.
pub(crate) fn readings(about: &Provenance) -> Vec<(i64, i64, u64)> {
    assert!(
        about.clock_readings.iter().all(|reading| reading.clock == HostClock::MonotonicRaw),
        "the trace is on the wall clock"
    );
    about.clock_readings.iter().map(|reading| (reading.trace_ns, reading.ns, reading.width_ns)).collect()
}

/// The library, as Cargo built it for these tests: of several that it left, the newest.
pub(crate) fn library() -> PathBuf {
    let beside = env::current_exe().unwrap().parent().unwrap().to_owned();
    let is_library = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("librankscope_pjrt") && name.ends_with(".so")
    };
    let found = fs::read_dir(beside).unwrap().map(|entry| entry.unwrap().path()).filter(is_library);
    found.max_by_key(|path| fs::metadata(path).unwrap().modified().unwrap()).expect("the library is beside its tests")
}
