//! Plugins: their hooks follow the session, and what one does wrong is its own affair.
//!
//! One process has one recorder, so these tests take turns.

#![expect(clippy::unwrap_used, reason = "a test")]

use std::fs;
use std::sync::{Arc, Mutex, MutexGuard};

use rankscope_formats::recording::What;
use rankscope_record::plugins::{PluginError, ProfilerPlugin, Registry, TraceSink};
use rankscope_record::{Recorded, Session, SessionOptions, Value, record_function};

fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

type Log = Arc<Mutex<Vec<String>>>;

#[derive(Clone)]
struct Mock {
    name: &'static str,
    log: Log,
    enabled: bool,
    /// The hook that fails, and whether it panics.
    fails: Option<(&'static str, bool)>,
}

impl Mock {
    fn new(name: &'static str, log: &Log) -> Self {
        Self { name, log: log.clone(), enabled: true, fails: None }
    }

    fn hook(&self, hook: &'static str) -> Result<(), PluginError> {
        self.log.lock().unwrap().push(format!("{} {hook}", self.name));
        match self.fails {
            Some((failing, true)) if failing == hook => panic!("out of luck"),
            Some((failing, false)) if failing == hook => Err("no driver".into()),
            _ => Ok(()),
        }
    }
}

impl ProfilerPlugin for Mock {
    fn name(&self) -> &str {
        self.name
    }

    fn is_enabled(&self) -> bool {
        self.enabled
    }

    fn initialize(&mut self, _: &SessionOptions) -> Result<(), PluginError> {
        self.hook("initialize")
    }

    fn on_profiling_start(&mut self) -> Result<(), PluginError> {
        self.hook("start")
    }

    fn on_profiling_stop(&mut self) -> Result<(), PluginError> {
        self.hook("stop")
    }

    fn export_data(&mut self, _: &mut TraceSink<'_>) -> Result<(), PluginError> {
        self.hook("export")
    }
}

fn run(plugins: Vec<Mock>) -> rankscope_record::Report {
    let mut registry = Registry::new();
    plugins.into_iter().for_each(|plugin| registry.register(plugin));
    let session = Session::start_with(SessionOptions::default(), registry).unwrap();
    drop(record_function!("work"));
    let stopped = session.stop().unwrap();
    assert_eq!(stopped.report.events(), 1, "the program's events are there whatever plugins do");
    stopped.report
}

fn said(log: &Log) -> Vec<String> {
    log.lock().unwrap().drain(..).collect()
}

#[test]
fn hooks_run_in_order_and_stop_in_reverse() {
    let _turn = turn();
    let log = Log::default();
    let report = run(vec![Mock::new("a", &log), Mock::new("b", &log)]);
    let expected = ["a initialize", "b initialize", "a start", "b start", "b stop", "a stop", "a export", "b export"];
    assert_eq!(said(&log), expected);
    assert!(report.plugins.is_empty());
}

#[test]
fn a_disabled_plugin_is_not_even_initialised() {
    let _turn = turn();
    let log = Log::default();
    run(vec![Mock { enabled: false, ..Mock::new("off", &log) }, Mock::new("on", &log)]);
    assert_eq!(said(&log), ["on initialize", "on start", "on stop", "on export"]);
}

#[test]
fn a_plugin_that_fails_or_panics_is_off_and_the_others_run() {
    let _turn = turn();
    for (hook, reported) in [
        ("initialize", "initialize"),
        ("start", "on_profiling_start"),
        ("stop", "on_profiling_stop"),
        ("export", "export_data"),
    ] {
        for panics in [false, true] {
            let log = Log::default();
            let bad = Mock { fails: Some((hook, panics)), ..Mock::new("bad", &log) };
            let report = run(vec![Mock::new("first", &log), bad, Mock::new("last", &log)]);
            let said = said(&log);
            let of = |name: &str| said.iter().filter(|line| line.starts_with(name)).cloned().collect::<Vec<_>>();
            assert_eq!((of("first").len(), of("last").len()), (4, 4));
            assert_eq!(of("bad").last(), Some(&format!("bad {hook}")), "nothing is called after it failed");
            let reason = if panics { "it panicked: out of luck" } else { "no driver" };
            let failures: Vec<_> =
                report.plugins.iter().map(|failure| (failure.plugin.as_str(), failure.hook, failure.reason.as_str())).collect();
            assert_eq!(failures, [("bad", reported, reason)], "once");
        }
    }
}

#[test]
fn a_plugin_that_cannot_be_dropped_harms_nobody() {
    struct Sticky;
    impl Drop for Sticky {
        fn drop(&mut self) {
            panic!("and it sticks");
        }
    }
    impl ProfilerPlugin for Sticky {
        fn name(&self) -> &str {
            "sticky"
        }
    }
    let _turn = turn();
    let mut registry = Registry::new();
    registry.register(Sticky);
    let session = Session::start_with(SessionOptions::default(), registry).unwrap();
    session.stop().unwrap();
}

struct Exporter;

impl ProfilerPlugin for Exporter {
    fn name(&self) -> &str {
        "exporter"
    }

    fn export_data(&mut self, sink: &mut TraceSink<'_>) -> Result<(), PluginError> {
        sink.metadata("gpus", "[\"h200\"]");
        sink.counter_i64("power", 700);
        sink.counter_f64("temperature", 41.5);
        sink.instant("throttled", &[("by", Value::I64(3))]);
        sink.file("topology.txt", |file| file.write_all(b"nvlink"))?;
        sink.file("whole.txt", |_| Err(std::io::ErrorKind::StorageFull.into())).unwrap_err();
        Err(sink.file("../escape", |_| Ok(())).unwrap_err().into())
    }
}

fn names_of_moments(recorded: &Recorded) -> Vec<String> {
    let recording = recorded.open().unwrap();
    let mut names = Vec::new();
    for thread in recording.threads() {
        let mut replay = recording.replay(thread, recorded.cut());
        while let Some((event, _)) = replay.next() {
            if !matches!(event.what, What::Begin { .. } | What::End { .. }) {
                names.push(recording.names()[event.name.0 as usize].text.to_string());
            }
        }
    }
    names
}

#[test]
fn what_a_plugin_exports_is_in_the_recording() {
    let _turn = turn();
    let directory = tempfile::tempdir().unwrap();
    let files = directory.path().join("plugins");
    let mut registry = Registry::new().files_in(&files);
    registry.register(Exporter);
    let session = Session::start_with(SessionOptions::default(), registry).unwrap();
    let stopped = session.stop().unwrap();
    assert_eq!(names_of_moments(&stopped.recorded), ["power", "temperature", "throttled"]);
    let recording = stopped.recorded.open().unwrap();
    let metadata: Vec<_> = recording.meta().iter().map(|(key, json)| format!("{key}={json}")).collect();
    assert!(metadata.iter().any(|entry| entry == "user.exporter.gpus=[\"h200\"]"), "{metadata:?}");
    assert!(metadata.iter().any(|entry| entry.starts_with("user.plugin.exporter.failed=")), "{metadata:?}");
    assert_eq!(fs::read_to_string(files.join("topology.txt")).unwrap(), "nvlink");
    assert_eq!(fs::read_dir(&files).unwrap().count(), 1, "a file that was not filled is not there");
    assert!(stopped.report.plugins[0].reason.contains("../escape: not the plain name"), "{:?}", stopped.report.plugins);
}
