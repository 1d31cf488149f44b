//! A plugin in C, loaded by path into a program in C: what it hands over is in the recording, joined to the program's spans.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use rankscope_trace::{ArgValue, CategoryKind, FlowPhase, SpanId, Trace, TrackKind};

use crate::built::{Built, example, names, own, read, succeeded};

/// Runs the program of launches with these plugins, and returns what it said of the session.
fn launches(built: &Built, plugins: &str, recording: &Path) -> serde_json::Value {
    let program = built.program(&example("launches.c"));
    let output = succeeded(Command::new(program).arg(recording).env("RANKSCOPE_PLUGINS", plugins));
    serde_json::from_slice(&output.stdout).unwrap()
}

fn plugin(built: &Built) -> PathBuf {
    built.shared(&example("plugin.c"))
}

fn spans<'t>(trace: &'t Trace, name: &'t str) -> Vec<SpanId> {
    trace.spans.ids().filter(|span| trace.name(*span) == name).collect()
}

fn argument(trace: &Trace, span: SpanId, key: &str) -> Option<i64> {
    let named = |(known, value)| (trace.strings.text(known) == key).then_some(value);
    match trace.spans.args.row(span.0 as usize).find_map(named) {
        Some(ArgValue::I64(value)) => Some(value),
        Some(ArgValue::U64(value)) => i64::try_from(value).ok(),
        _ => None,
    }
}

#[test]
fn device_work_of_a_plugin_is_joined_to_spans_in_every_format() {
    let Some(built) = Built::new() else { return };
    let plugin = plugin(&built).to_string_lossy().into_owned();
    for name in ["launches.rkr", "launches.json", "launches.pftrace"] {
        let recording = built.path(name);
        let report = launches(&built, &plugin, &recording);
        assert_eq!(report["plugins"], serde_json::json!([]), "{name}");
        let trace = read(&recording);
        let kernels = spans(&trace, "fake_gemm_128x128");
        assert_eq!((kernels.len(), spans(&trace, "fakeLaunchKernel").len()), (3, 3), "{name}: {:?}", names(&trace));
        let spans_by_id = |id: i64| {
            let of_host = |span: &SpanId| trace.tracks.get(trace.spans.row(*span).track).kind == TrackKind::Thread;
            let has_id = |span: &SpanId| {
                argument(&trace, *span, "External id") == Some(id) && ["forward", "backward"].contains(&trace.name(*span))
            };
            let found: Vec<&str> = trace.spans.ids().filter(of_host).filter(has_id).map(|span| trace.name(span)).collect();
            found.join(",")
        };
        let owners: Vec<String> =
            kernels.iter().map(|kernel| spans_by_id(argument(&trace, *kernel, "External id").unwrap())).collect();
        assert_eq!(owners, ["forward", "forward", "backward"], "{name}");
        for (kernel, number) in kernels.iter().zip(1..) {
            assert_eq!(trace.kind(*kernel), CategoryKind::Kernel, "{name}");
            assert_eq!(argument(&trace, *kernel, "correlation"), Some(number), "{name}");
            assert_eq!(argument(&trace, *kernel, "stream"), Some(7), "{name}");
            // Both ends are put on the session's clock, by what two short looks at both clocks tell of their rates.
            assert!(trace.spans.row(*kernel).dur_ns.abs_diff(2000) < 5, "{name}: {}", trace.spans.row(*kernel).dur_ns);
        }
    }
}

#[test]
fn device_work_lies_on_streams_and_arrows_lead_there() {
    let Some(built) = Built::new() else { return };
    let recording = built.path("launches.rkr");
    launches(&built, &plugin(&built).to_string_lossy(), &recording);
    let trace = read(&recording);
    for kernel in spans(&trace, "fake_gemm_128x128") {
        let track = trace.tracks.get(trace.spans.row(kernel).track);
        assert_eq!(track.kind, TrackKind::Stream);
        assert_eq!(trace.tracks.get(track.parent.unwrap()).kind, TrackKind::Device);
    }
    for phase in [FlowPhase::Start, FlowPhase::End] {
        let ends: Vec<u64> = trace.flows.iter().filter(|point| point.phase == phase).map(|point| point.id).collect();
        assert_eq!(ends, [1, 2, 3]);
    }
    // The program's ranges, as the device saw them.
    let on_device =
        |name| spans(&trace, name).into_iter().filter(|span| trace.kind(*span) == CategoryKind::GpuUserAnnotation).count();
    assert_eq!((on_device("forward"), on_device("backward")), (1, 1));
    let said = |key: &str| trace.provenance.header.iter().find(|(known, _)| known == key).map(|(_, json)| json.as_str());
    assert_eq!(said("fake device.driver"), Some("\"1.2.3\""));
    assert_eq!(said("fake device.problems"), Some(r#"["warning: clock of the device is made up"]"#));
    assert!(said("fake device.device.0").is_some_and(|json| json.contains("Fake 9000")));
    let work = said("fake device.device_work").unwrap();
    assert!(
        work.contains("\"activities\":6") && work.contains("\"launches\":3") && work.contains("\"unknown_ops\":0"),
        "{work}"
    );
}

#[test]
fn a_plugin_that_cannot_be_loaded_is_reported_and_the_others_work() {
    let Some(built) = Built::new() else { return };
    let good = plugin(&built).to_string_lossy().into_owned();
    fs::write(built.path("text.so"), "no library").unwrap();
    let no_entry = built.path("librankscope.so");
    let program = built.program(&example("record.c"));
    let all = format!("/nowhere/gone.so:{}::{}:{good}", built.path("text.so").display(), no_entry.display());
    succeeded(Command::new(program).arg(built.folder.path()).env("RANKSCOPE_PLUGINS", all));
    let trace = read(&built.path("record.rkr"));
    let said = |key: &str| trace.provenance.header.iter().find(|(known, _)| known == key).map(|(_, json)| json.clone());
    for (name, reason) in
        [("gone.so", "gone.so"), ("text.so", "text.so"), ("librankscope.so", "does not export rankscope_plugin_entry")]
    {
        let why = said(&format!("plugin.{name}.failed")).unwrap_or_default();
        assert!(why.contains("load: ") && why.contains(reason), "{name}: {why}");
    }
    assert_eq!(said("fake device.driver").as_deref(), Some("\"1.2.3\""));
}

/// Runs the program of spans beside an agent, which is a shell script, and returns what the recording says of the plugin.
fn beside_agent(script: &str) -> Option<(Built, Vec<(String, String)>)> {
    let built = Built::new()?;
    let (plugin, agent) = (built.shared(&own("plugins/clock_sync.c")), built.path("agent"));
    fs::write(&agent, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&agent, Permissions::from_mode(0o755)).unwrap();
    let mut command = Command::new(built.program(&example("record.c")));
    command.arg(built.folder.path()).env("RANKSCOPE_PLUGINS", plugin).env("RANKSCOPE_AGENT", agent);
    command.env("RANKSCOPE_CLOCK_DIR", built.path("clock")).env_remove("LOCAL_RANK");
    succeeded(&mut command);
    let said = read(&built.path("record.rkr")).provenance.header.clone();
    Some((built, said.into_iter().filter(|(key, _)| key.contains("clock sync")).collect()))
}

#[test]
fn an_agent_runs_from_the_start_of_a_recording_to_its_end() {
    // It must have come to its trap before it is asked to end, so the pipe to it is held until then.
    let script = "mkdir -p \"$3\"; trap 'echo ended >> \"$3/log\"; exit 0' TERM; echo \"$1 $2\" > \"$3/log\"; while :; do sleep 0.01; done";
    let Some((built, said)) = beside_agent(script) else { return };
    let folder = built.path("clock");
    let log = fs::read_to_string(folder.join("log")).unwrap_or_default();
    // Asked to end before it had begun, it dies of the signal, as a process does.
    assert!(["agent --out\nended\n", "agent --out\n", ""].contains(&log.as_str()), "{log}");
    assert!(said.iter().any(|(key, json)| key == "clock sync.folder" && json.contains(&*folder.to_string_lossy())), "{said:?}");
}

#[test]
fn an_agent_that_cannot_be_started_switches_the_plugin_off() {
    let Some(built) = Built::new() else { return };
    let plugin = built.shared(&own("plugins/clock_sync.c"));
    let mut command = Command::new(built.program(&example("record.c")));
    command.arg(built.folder.path()).env("RANKSCOPE_PLUGINS", plugin).env("RANKSCOPE_AGENT", "/nowhere/agent");
    succeeded(command.env("RANKSCOPE_CLOCK_DIR", built.path("clock")).env_remove("LOCAL_RANK"));
    let trace = read(&built.path("record.rkr"));
    let said = trace.provenance.header.iter().find(|(key, _)| key == "plugin.clock sync.failed");
    let reason = said.map_or("", |(_, json)| json);
    assert!(reason.contains("on_profiling_start") && reason.contains("/nowhere/agent: No such file"), "{reason}");
}
