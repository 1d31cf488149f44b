//! The libraries, compiled, and a folder in which a part plays with them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use rankscope_formats::{ArgsPolicy, ReadOptions};
use rankscope_testkit::{Need, skip};
use rankscope_trace::{ArgValue, SpanId, Trace, TrackKey, TrackKind};
use tempfile::TempDir;

/// Which library stands for CUPTI's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fake {
    /// One of today.
    Now,
    /// One without the functions of later versions.
    Old,
}

/// A folder for a part: its library, its script, and what it leaves.
pub(crate) struct Stage {
    folder: TempDir,
    libraries: &'static TempDir,
    variables: Vec<(&'static str, String)>,
}

/// What a part left.
pub(crate) struct Played {
    pub(crate) output: Output,
    pub(crate) stdout: String,
    recording: PathBuf,
}

impl Stage {
    /// One where the library is of this kind and works as `who` says. None, and the test is skipped, where nothing can be compiled.
    pub(crate) fn new(fake: Fake, who: &str) -> Option<Self> {
        let libraries = libraries()?;
        let folder = TempDir::new().unwrap();
        let library = libraries.path().join(if fake == Fake::Old { "old" } else { "now" }).join("libcupti.so.12");
        let driver = libraries.path().join("libcuda.so.1");
        let variables = vec![
            ("RANKSCOPE_CUPTI_LIBRARY", library.to_string_lossy().into_owned()),
            ("RANKSCOPE_CUDA_LIBRARY", driver.to_string_lossy().into_owned()),
            ("FAKE_CUPTI", who.to_owned()),
            ("FAKE_CUPTI_SAYS", folder.path().join("says").to_string_lossy().into_owned()),
        ];
        Some(Self { folder, libraries, variables })
    }

    /// The same with a variable set otherwise.
    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.variables.retain(|(known, _)| *known != name);
        self.variables.push((name, value.into()));
        self
    }

    /// Where the compiled libraries are.
    pub(crate) fn library(&self, name: &str) -> String {
        self.libraries.path().join(name).to_string_lossy().into_owned()
    }

    /// A part in a process of its own, about to be started.
    pub(crate) fn command(&self, part: &str, script: &str) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["part::child", "--exact", "--ignored", "--nocapture", "--test-threads", "1"]);
        for name in ["VIRTUAL_ENV", "CONDA_PREFIX", "CUDA_HOME", "CUDA_PATH", "FAKE_CUDA", "RANKSCOPE_CUPTI_RECORDS"] {
            command.env_remove(name);
        }
        command.env("RANKSCOPE_TEST_PART", part).env("RANKSCOPE_TEST_FILE", self.recording());
        command.env("RANKSCOPE_TEST_SCRIPT", script).envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null());
        command
    }

    /// Plays a part, however it ends.
    pub(crate) fn run(&self, part: &str, script: &str) -> Played {
        let output = self.command(part, script).output().unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
        Played { output, stdout, recording: self.recording() }
    }

    /// Plays a part that must end well.
    pub(crate) fn play(&self, part: &str, script: &str) -> Played {
        let played = self.run(part, script);
        let stderr = String::from_utf8_lossy(&played.output.stderr);
        assert!(played.output.status.success(), "{part}: {} {stderr}", played.stdout);
        played
    }

    pub(crate) fn recording(&self) -> PathBuf {
        self.folder.path().join("program.rkr")
    }

    /// Calls that the library wrote down.
    pub(crate) fn says(&self) -> Vec<String> {
        let text = fs::read_to_string(self.folder.path().join("says")).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }
}

impl Played {
    /// What the part said under `key`, if it did; more than once is an error.
    pub(crate) fn said(&self, key: &str) -> Option<&str> {
        let mut said = self.stdout.lines().filter_map(|line| line.strip_prefix(key)?.strip_prefix('='));
        let first = said.next();
        assert_eq!(said.next(), None, "{key} is said twice: {}", self.stdout);
        first
    }

    /// A number that the part said.
    pub(crate) fn number(&self, key: &str) -> i64 {
        self.said(key).unwrap_or_else(|| panic!("no {key}: {}", self.stdout)).parse().unwrap()
    }

    /// What became of records.
    pub(crate) fn counts(&self) -> serde_json::Value {
        let recording = self.trace();
        let of = |key: &str| serde_json::from_str(metadata(&recording, key).unwrap_or("null")).unwrap();
        let mut counts: serde_json::Value = of("cupti.counts");
        counts["join"] = of("cupti.device_work");
        counts
    }

    /// The recording, read back.
    pub(crate) fn trace(&self) -> Trace {
        trace(&self.recording)
    }
}

/// A recording, read back.
pub(crate) fn trace(path: &Path) -> Trace {
    let options = ReadOptions::default().with_label(path.to_string_lossy()).with_args(ArgsPolicy::All);
    rankscope_formats::read(fs::File::open(path).unwrap(), &options).unwrap().remove(0).trace.unwrap()
}

/// What the recording says under `key`; more than once is an error.
pub(crate) fn metadata<'a>(trace: &'a Trace, key: &str) -> Option<&'a str> {
    let mut found = trace.provenance.header.iter().filter(|(known, _)| known == key).map(|(_, json)| json.as_str());
    let first = found.next();
    assert_eq!(found.next(), None, "{key} is said twice");
    first
}

/// Each span in words, by start: its name, where it is, and what it belongs to.
pub(crate) fn told(trace: &Trace) -> Vec<String> {
    let mut spans: Vec<SpanId> = trace.spans.ids().collect();
    spans.sort_by_key(|span| (trace.spans.start_ns(*span), std::cmp::Reverse(trace.spans.end_ns(*span))));
    let names: std::collections::HashMap<i64, &str> = spans
        .iter()
        // Calls carry the number of their span, too.
        .filter(|span| !is_on_device(trace, **span) && integer(trace, **span, "correlation").is_none())
        .filter_map(|span| Some((integer(trace, *span, "External id")?, trace.name(*span))))
        .collect();
    spans.iter().map(|span| one(trace, *span, &names)).collect()
}

fn one(trace: &Trace, span: SpanId, names: &std::collections::HashMap<i64, &str>) -> String {
    let mut text = trace.name(span).to_owned();
    if is_on_device(trace, span) {
        let device = match device_of(trace, span) {
            Some(TrackKey::Number(device)) => device,
            _ => -1,
        };
        text += &format!(" @{device}/{}", integer(trace, span, "stream").unwrap_or(-1));
        if let Some(id) = integer(trace, span, "External id").filter(|id| *id != 0) {
            text += &format!(" of {}", names.get(&id).copied().unwrap_or("nobody"));
        }
    }
    for key in ["correlation", "graph id", "graph node id"] {
        if let Some(value) = integer(trace, span, key) {
            text += &format!(" {key} {value}");
        }
    }
    text
}

/// Which device its stream is of.
fn device_of(trace: &Trace, span: SpanId) -> Option<TrackKey> {
    let track = trace.tracks.get(trace.spans.row(span).track);
    track.parent.map(|device| trace.tracks.get(device).key)
}

/// Whether it is on a stream.
pub(crate) fn is_on_device(trace: &Trace, span: SpanId) -> bool {
    trace.tracks.get(trace.spans.row(span).track).kind == TrackKind::Stream
}

/// An argument that is a whole number.
pub(crate) fn integer(trace: &Trace, span: SpanId, key: &str) -> Option<i64> {
    let mut row = trace.spans.args.row(span.0 as usize);
    match row.find(|(known, _)| trace.strings.text(*known) == key)?.1 {
        ArgValue::I64(number) => Some(number),
        ArgValue::U64(number) => i64::try_from(number).ok(),
        _ => None,
    }
}

/// Each change of memory in words, in order of time: whose, bytes, where, what kind, what is in use, and what it belongs to.
pub(crate) fn memory(trace: &Trace) -> Vec<String> {
    let mut marks: Vec<_> =
        trace.instants.iter().enumerate().filter(|(_, mark)| trace.strings.text(mark.name) == "[memory]").collect();
    marks.sort_by_key(|(_, mark)| mark.time_ns);
    let value = |at: usize, key: &str| {
        let mut row = trace.instant_args.row(at);
        row.find(|(known, _)| trace.strings.text(*known) == key).map(|(_, value)| value)
    };
    let number = |at, key: &str| match value(at, key) {
        Some(ArgValue::I64(number)) => Some(number),
        _ => None,
    };
    let one = |at: usize| {
        let kind = match value(at, "Memory Kind") {
            Some(ArgValue::Text(text)) => trace.strings.text(text),
            other => panic!("{other:?}"),
        };
        let of = |key: &str| number(at, key).unwrap();
        let mut text = format!("{}:{} {:+} @{:#x} {kind}", of("Device Type"), of("Device Id"), of("Bytes"), of("Addr"));
        if let (Some(allocated), Some(reserved)) = (number(at, "Total Allocated"), number(at, "Total Reserved")) {
            text += &format!(" {allocated}/{reserved}");
        }
        for key in ["stream", "correlation"] {
            if let Some(number) = number(at, key) {
                text += &format!(" {key} {number}");
            }
        }
        text
    };
    marks.into_iter().map(|(at, _)| one(at)).collect()
}

/// The spans called `name`, in order of their start.
pub(crate) fn named(trace: &Trace, name: &str) -> Vec<SpanId> {
    let mut spans: Vec<SpanId> = trace.spans.ids().filter(|span| trace.name(*span) == name).collect();
    spans.sort_by_key(|span| trace.spans.start_ns(*span));
    spans
}

/// The libraries, compiled once for all tests of this process.
fn libraries() -> Option<&'static TempDir> {
    static LIBRARIES: OnceLock<Option<TempDir>> = OnceLock::new();
    let libraries = LIBRARIES.get_or_init(|| {
        Command::new("cc").arg("--version").output().ok()?;
        let folder = TempDir::new().unwrap();
        fs::create_dir(folder.path().join("now")).unwrap();
        fs::create_dir(folder.path().join("old")).unwrap();
        compile("fake_cupti.c", &folder.path().join("now/libcupti.so.12"), &[]);
        compile("fake_cupti.c", &folder.path().join("old/libcupti.so.12"), &["-DOLD"]);
        compile("fake_cuda.c", &folder.path().join("libcuda.so.1"), &[]);
        Some(folder)
    });
    if libraries.is_none() {
        skip(Need::Compiler, "cc is not installed");
    }
    libraries.as_ref()
}

fn compile(source: &str, to: &Path, options: &[&str]) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c").join(source);
    let mut command = Command::new("cc");
    command.args(["-std=gnu11", "-Wall", "-Wextra", "-Werror", "-O1", "-shared", "-fPIC"]).args(options);
    let output = command.arg(source).arg("-o").arg(to).args(["-lpthread"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
