//! The libraries, compiled, and a folder in which a part plays with them.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use rankscope_formats::{ArgsPolicy, ReadOptions};
use rankscope_testkit::{Need, skip};
use rankscope_trace::{ArgValue, SpanId, Trace, TrackKey, TrackKind};
use tempfile::TempDir;

/// Which library stands for rocprofiler-sdk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fake {
    /// One of today.
    Now,
    /// One whose correlations have no ancestor yet.
    Before,
    /// One that lacks a function.
    Incomplete,
}

impl Fake {
    fn folder(self) -> &'static str {
        match self {
            Self::Now => "now",
            Self::Before => "before",
            Self::Incomplete => "incomplete",
        }
    }
}

/// A folder for a part: its library, its script, and what it leaves.
pub(crate) struct Stage {
    folder: TempDir,
    libraries: &'static TempDir,
    variables: Vec<(&'static str, String)>,
}

/// What a part left.
pub(crate) struct Played {
    pub(crate) stdout: String,
    recording: PathBuf,
}

impl Stage {
    /// One where the library is of this kind and works as `who` says. None, and the test is skipped, where nothing can be compiled.
    pub(crate) fn new(fake: Fake, who: &str) -> Option<Self> {
        let libraries = libraries()?;
        let folder = TempDir::new().unwrap();
        let library = libraries.path().join(fake.folder()).join(FILE);
        let variables = vec![
            ("RANKSCOPE_ROCPROFILER_LIBRARY", library.to_string_lossy().into_owned()),
            ("RANKSCOPE_KFD", "/dev/null".to_owned()),
            ("FAKE_ROCPROFILER", who.to_owned()),
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

    /// The file of its library.
    pub(crate) fn named(&self) -> &str {
        &self.variables.iter().find(|(name, _)| *name == "RANKSCOPE_ROCPROFILER_LIBRARY").unwrap().1
    }

    /// A part in a process of its own, about to be started.
    pub(crate) fn command(&self, part: &str, script: &str) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["part::child", "--exact", "--ignored", "--nocapture", "--test-threads", "1"]);
        command.env_remove("ROCM_PATH").env_remove("ROCP_TOOL_LIBRARIES");
        command.env("RANKSCOPE_TEST_PART", part).env("RANKSCOPE_TEST_FILE", self.recording());
        command.env("RANKSCOPE_TEST_HIP", self.library("libamdhip64.so.7"));
        command.env("RANKSCOPE_TEST_SCRIPT", script).envs(self.variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null());
        command
    }

    /// Plays a part that must end well.
    pub(crate) fn play(&self, part: &str, script: &str) -> Played {
        let Output { status, stdout, stderr } = self.command(part, script).output().unwrap();
        let stdout = String::from_utf8_lossy(&stdout).into_owned();
        assert!(status.success(), "{part}: {status} {stdout} {}", String::from_utf8_lossy(&stderr));
        Played { stdout, recording: self.recording() }
    }

    pub(crate) fn recording(&self) -> PathBuf {
        self.folder.path().join("program.rkr")
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

    /// What became of records.
    pub(crate) fn counts(&self) -> serde_json::Value {
        let recording = self.trace();
        let of = |key: &str| serde_json::from_str(metadata(&recording, key).unwrap_or("null")).unwrap();
        let mut counts: serde_json::Value = of("rocprofiler.counts");
        counts["join"] = of("rocprofiler.device_work");
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

/// What is on devices, in words, by start: its name, where it is, what it belongs to, and its call.
pub(crate) fn on_devices(trace: &Trace) -> Vec<String> {
    let mut spans: Vec<SpanId> = trace.spans.ids().filter(|span| is_on_device(trace, *span)).collect();
    spans.sort_by_key(|span| (trace.spans.start_ns(*span), std::cmp::Reverse(trace.spans.end_ns(*span))));
    let on_host =
        trace.spans.ids().filter(|span| !is_on_device(trace, *span) && integer(trace, *span, "correlation").is_none());
    let names: HashMap<i64, &str> =
        on_host.filter_map(|span| Some((integer(trace, span, "External id")?, trace.name(span)))).collect();
    spans.iter().map(|span| one(trace, *span, &names)).collect()
}

fn one(trace: &Trace, span: SpanId, names: &HashMap<i64, &str>) -> String {
    let track = trace.tracks.get(trace.spans.row(span).track);
    let device = match track.parent.map(|device| trace.tracks.get(device).key) {
        Some(TrackKey::Number(device)) => device,
        _ => -1,
    };
    let mut text = format!("{} @{device}/{}", trace.name(span), integer(trace, span, "stream").unwrap_or(-1));
    if let Some(id) = integer(trace, span, "External id").filter(|id| *id != 0) {
        text += &format!(" of {}", names.get(&id).copied().unwrap_or("nobody"));
    }
    if let Some(call) = integer(trace, span, "correlation") {
        text += &format!(" by {call}");
    }
    text
}

/// Calls, by start, with their numbers.
pub(crate) fn calls(trace: &Trace) -> Vec<String> {
    let mut calls: Vec<SpanId> = trace
        .spans
        .ids()
        .filter(|span| trace.name(*span).starts_with("hip") || trace.name(*span).starts_with("call "))
        .collect();
    calls.sort_by_key(|span| trace.spans.start_ns(*span));
    calls.iter().map(|call| format!("{} {}", trace.name(*call), integer(trace, *call, "correlation").unwrap_or(-1))).collect()
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

/// What the library is called.
const FILE: &str = "librocprofiler-sdk.so.1";

/// The libraries, compiled once for all tests of this process.
fn libraries() -> Option<&'static TempDir> {
    static LIBRARIES: OnceLock<Option<TempDir>> = OnceLock::new();
    let libraries = LIBRARIES.get_or_init(|| {
        Command::new("cc").arg("--version").output().ok()?;
        let folder = TempDir::new().unwrap();
        for (fake, options) in
            [(Fake::Now, vec![]), (Fake::Before, vec!["-DWITHOUT_ANCESTOR"]), (Fake::Incomplete, vec!["-DINCOMPLETE"])]
        {
            let folder = folder.path().join(fake.folder());
            fs::create_dir(&folder).unwrap();
            compile("fake_rocprofiler.c", &folder.join(FILE), &options);
        }
        compile("fake_hip.c", &folder.path().join("libamdhip64.so.7"), &[]);
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
    let output = command.arg(source).arg("-o").arg(to).args(["-lpthread", "-ldl"]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
