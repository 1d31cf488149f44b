//! Programs in C that play NCCL, compiled here, and what the plugin left of them.

use std::env;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rankscope_formats::{ArgsPolicy, ReadOptions};
use rankscope_testkit::{Need, skip};
use rankscope_trace::{ArgValue, SpanId, Trace};
use tempfile::TempDir;

/// A folder for a program, its run and its ring.
pub(crate) struct Stage {
    folder: TempDir,
    program: PathBuf,
}

impl Stage {
    /// None, and the test is skipped, where nothing can be compiled.
    pub(crate) fn new() -> Option<Self> {
        Self::of("play.c")
    }

    /// The same for another program.
    pub(crate) fn of(source: &str) -> Option<Self> {
        if Command::new("cc").arg("--version").output().is_err() {
            skip(Need::Compiler, "cc is not installed");
            return None;
        }
        let folder = TempDir::new().unwrap();
        let program = folder.path().join("play");
        compile(source, &program, &["-lpthread", "-ldl"]);
        Some(Self { folder, program })
    }

    /// Another plugin, compiled.
    pub(crate) fn other(&self) -> PathBuf {
        let library = self.path("libother.so");
        compile("other.c", &library, &["-shared", "-fPIC"]);
        library
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Plays a scene in a process of its own, with these variables beside those that say where the run is.
    pub(crate) fn play_with(&self, scene: &str, variables: &[(&str, &str)]) -> Output {
        self.run_with(library().as_os_str(), &[scene.as_ref()], variables)
    }

    /// Runs the program with these arguments.
    pub(crate) fn run(&self, first: &str, more: &[&OsStr]) -> Output {
        self.run_with(first.as_ref(), more, &[])
    }

    /// Plays a scene in a process that may not have files of more than so many blocks of 512 bytes.
    pub(crate) fn play_limited(&self, scene: &str, blocks: u32) -> Output {
        let limited = format!("ulimit -f {blocks} && exec \"$@\"");
        let mut command = self.command("sh".as_ref());
        command.args(["-c", &limited, "sh"]).arg(&self.program).arg(library()).arg(scene).output().unwrap()
    }

    fn run_with(&self, first: &OsStr, more: &[&OsStr], variables: &[(&str, &str)]) -> Output {
        self.command(&self.program).arg(first).args(more).envs(variables.iter().copied()).output().unwrap()
    }

    /// `program`, told where the run is.
    fn command(&self, program: &Path) -> Command {
        let mut command = Command::new(program);
        for name in ["RANK", "WORLD_SIZE", "SLURM_PROCID", "RANKSCOPE_RAW_DIR", "RANKSCOPE_NCCL_EVENTS", "RANKSCOPE_NCCL_CHAIN"]
        {
            command.env_remove(name);
        }
        command.env("RANKSCOPE_RUN_DIR", self.path("run")).env("RANKSCOPE_NCCL_RING", self.path("rings"));
        command
    }

    /// Plays a scene that must succeed, and reads its recording.
    pub(crate) fn play(&self, scene: &str) -> Trace {
        let output = self.play_with(scene, &[]);
        assert!(output.status.success(), "{scene}: {} {}", output.status, String::from_utf8_lossy(&output.stderr));
        self.recording()
    }

    /// The one recording that there is.
    pub(crate) fn recording(&self) -> Trace {
        let files = files(&self.path("run/raw"));
        let [file] = &files[..] else { panic!("one recording is wanted: {files:?}") };
        let options = ReadOptions::default().with_label(file.to_string_lossy()).with_args(ArgsPolicy::All);
        rankscope_formats::read(fs::File::open(file).unwrap(), &options).unwrap().remove(0).trace.unwrap()
    }

    /// The rings that are left.
    pub(crate) fn rings(&self) -> Vec<PathBuf> {
        files(&self.path("rings"))
    }
}

fn compile(source: &str, to: &Path, options: &[&str]) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(source);
    let mut command = Command::new("cc");
    command.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1"]).arg(source).arg("-o").arg(to).args(options);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn files(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).map_or_else(|_| Vec::new(), |entries| entries.map(|entry| entry.unwrap().path()).collect())
}

/// The plugin, as Cargo built it for these tests: of several that it left, the newest.
pub(crate) fn library() -> PathBuf {
    let beside = env::current_exe().unwrap().parent().unwrap().to_owned();
    let is_plugin = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        name.starts_with("librankscope_nccl") && name.ends_with(".so")
    };
    let found = files(&beside).into_iter().filter(is_plugin);
    found.max_by_key(|path| fs::metadata(path).unwrap().modified().unwrap()).expect("the plugin is beside its tests")
}

/// The spans called `name`, in order of their start.
pub(crate) fn named(trace: &Trace, name: &str) -> Vec<SpanId> {
    let mut spans: Vec<SpanId> = trace.spans.ids().filter(|span| trace.name(*span) == name).collect();
    spans.sort_by_key(|span| trace.spans.start_ns(*span));
    spans
}

/// An argument of a span as text; empty if it has none of that key.
pub(crate) fn argument(trace: &Trace, span: SpanId, key: &str) -> String {
    let mut row = trace.spans.args.row(span.0 as usize);
    let value = row.find(|(known, _)| trace.strings.text(*known) == key).map(|(_, value)| value);
    match value {
        Some(ArgValue::Text(text) | ArgValue::Json(text) | ArgValue::Ref(text)) => trace.strings.text(text).to_owned(),
        Some(ArgValue::I64(number)) => number.to_string(),
        Some(ArgValue::U64(number)) => number.to_string(),
        Some(ArgValue::Bool(is)) => is.to_string(),
        _ => String::new(),
    }
}

/// What the recording's header says under `key`.
pub(crate) fn said<'a>(trace: &'a Trace, key: &str) -> Option<&'a str> {
    trace.provenance.header.iter().find(|(known, _)| known == key).map(|(_, json)| json.as_str())
}
