//! GPUs, as a library that stands for NVML tells of them.

use super::stage::{counters, fake_nvml, metadata, part, play, recording, trace};
use rankscope_trace::Trace;

/// Enough that the second GPU was lost in between, where one is.
const MANY: &str = "12 GPU 0 power (W)";

/// What a node recorded whose library is as `how` says, once it had recorded `until`.
fn recorded(how: &str, until: &str) -> Option<Trace> {
    let library = fake_nvml()?;
    let folder = tempfile::tempdir().unwrap();
    let mut command = part("node", folder.path(), until);
    command.env("RANKSCOPE_NVML_LIBRARY", library).env("FAKE_NVML", how);
    play(command);
    Some(trace(&recording(folder.path())))
}

#[test]
fn a_gpu_tells_what_it_does_and_what_slows_it_down() {
    let Some(trace) = recorded("works", MANY) else { return };
    let counters = counters(&trace);
    let first = |name: &str| counters.get(name).map(|values| values[0]);
    for (name, expected) in [
        ("GPU 0 power limit (W)", Some(700.0)),
        ("GPU 0 SM clock (MHz)", Some(1_410.0)),
        ("GPU 0 memory clock (MHz)", Some(2_619.0)),
        ("GPU 0 temperature (°C)", Some(71.0)),
        ("GPU 0 busy (%)", Some(98.0)),
        ("GPU 0 memory used (bytes)", Some((70_u64 << 30) as f64)),
        ("GPU 0 slowed by its power limit", Some(1.0)),
        ("GPU 0 slowed by heat", Some(0.0)),
        ("GPU 1 slowed by its power limit", Some(0.0)),
        ("GPU 1 power (W)", Some(90.0)),
        // It does not tell.
        ("GPU 1 temperature (°C)", None),
    ] {
        assert_eq!(first(name), expected, "{name}");
    }
    assert!(counters["GPU 0 power (W)"].len() > 1, "a value that changes is recorded again");
    assert_eq!(counters["GPU 1 power (W)"].len(), 1, "and one that does not is not");
    for (key, expected) in [
        ("counters.gpu.1", Some("\"Fake H100\"")),
        ("counters.gpu.0.uuid", Some("\"a2a2a2a2-a2a2-a2a2-a2a2-a2a2a2a2a2a2\"")),
        ("counters.gpu.0.pci", Some("\"0001:c2:00.0\"")),
        // No GPU's.
        ("counters.gpu.1.uuid", None),
    ] {
        assert_eq!(metadata(&trace, key), expected, "{key}");
    }
}

#[test]
fn a_gpu_that_is_lost_is_said_once_and_the_others_go_on() {
    let Some(trace) = recorded("lost", MANY) else { return };
    assert_eq!(metadata(&trace, "counters.absent.nvml"), Some("\"NVML returned error 15 (the GPU has fallen off the bus)\""));
    assert!(counters(&trace)["GPU 0 power (W)"].len() > 2);
}

#[test]
fn a_library_without_a_driver_or_a_gpu_is_an_absence() {
    for (how, expected) in
        [("no driver", "\"nvmlInit_v2 returned error 9 (the driver is not loaded)\""), ("empty", "\"NVML knows no GPU\"")]
    {
        let Some(trace) = recorded(how, "1 memory available (bytes)") else { return };
        assert_eq!(metadata(&trace, "counters.absent.nvml"), Some(expected), "{how}");
        assert!(counters(&trace).keys().all(|name| !name.starts_with("GPU")), "{how}");
    }
}
