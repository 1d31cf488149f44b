//! The program in C that plays jaxlib, compiled here, and what it collected.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rankscope_formats::{ArgsPolicy, ReadOptions, xspace};
use rankscope_testkit::{Need, skip};
use rankscope_trace::{HostClock, Provenance};
use tempfile::TempDir;

/// A trace of JAX, which the plane joins.
pub(crate) const JAX: &[u8] = include_bytes!("../../../../fixtures/jax-cpu-2procs/process0.xplane.pb");

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
        compile("play.c", &program, &["-ldl"]);
        Some(Self { folder, program })
    }

    /// A file in its folder.
    pub(crate) fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Plays `scene` in a process of its own that was launched as rank 3 of 8; what it collected, as a trace says it of itself.
    pub(crate) fn play(&self, scene: &str) -> Vec<Provenance> {
        self.play_with(scene, &[]).spaces.iter().map(|space| about(&[JAX, space].concat())).collect()
    }

    /// The same, with these variables; what it collected as it is.
    pub(crate) fn play_with(&self, scene: &str, variables: &[(&str, &OsStr)]) -> Played {
        let mut command = Command::new(&self.program);
        command.arg(library()).arg(scene).arg(self.folder.path());
        let launched = [("RANK", "3"), ("WORLD_SIZE", "8"), ("RANKSCOPE_RUN_ID", "tuesday")];
        command.env_remove("RANKSCOPE_PJRT_FORWARD").envs(launched).envs(variables.iter().copied());
        let output = command.output().unwrap();
        done(&output);
        let files = (0..).map(|number| self.file(&format!("{number}.pb"))).take_while(|path| path.exists());
        let spaces = files.map(|path| fs::read(path).unwrap()).collect();
        Played { spaces, stderr: String::from_utf8(output.stderr).unwrap() }
    }
}

/// What a program left.
pub(crate) struct Played {
    pub(crate) spaces: Vec<Vec<u8>>,
    pub(crate) stderr: String,
}

/// Compiles a program or library of tests/c.
pub(crate) fn compile(source: &str, to: &Path, options: &[&str]) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(source);
    let mut cc = Command::new("cc");
    let output = cc.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1"]).arg(source).arg("-o").arg(to).args(options);
    let output = output.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
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
