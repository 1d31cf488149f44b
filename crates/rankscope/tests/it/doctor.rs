//! `rankscope doctor`: what is said of this host, and of hosts whose vendors' libraries are played.
#![cfg(all(target_os = "linux", feature = "clock"))]

use std::path::Path;
use std::process::Command;

use rankscope_testkit::{Need, skip};
use serde_json::Value;

use crate::process::command;

fn asked(libraries: Option<&Path>) -> Value {
    let mut doctor = command(&["doctor", "--format", "json"]);
    libraries.map(|folder| doctor.env("LD_LIBRARY_PATH", folder));
    let output = doctor.output().expect("runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("JSON")
}

fn of<'a>(document: &'a Value, topic: &str) -> (&'a str, &'a str) {
    let findings = document["findings"].as_array().expect("a list");
    let found: Vec<&Value> = findings.iter().filter(|finding| finding["topic"] == topic).collect();
    let [finding] = found[..] else { panic!("one finding of {topic}: {document}") };
    (finding["standing"].as_str().expect("a word"), finding["says"].as_str().expect("a sentence"))
}

#[test]
fn each_thing_is_told_once_on_one_page() {
    let document = asked(None);
    assert_eq!((&document["schema"], document["findings"].as_array().map(Vec::len)), (&Value::from(1), Some(13)));
    for topic in
        ["clocks", "recorder", "counters", "nccl", "torch", "flight_recorder", "on_demand", "stacks", "launchers", "sql"]
    {
        assert!(of(&document, topic).1.ends_with('.'), "{document}");
    }
    let printed = command(&["doctor"]).output().expect("runs");
    let printed = String::from_utf8_lossy(&printed.stdout).into_owned();
    assert!(printed.contains("NCCL plugin") && printed.lines().all(|line| line.chars().count() <= 100), "{printed}");
}

/// `name` in `folder`, compiled from `source`. Whether it could be.
fn library(folder: &Path, name: &str, source: &str) -> bool {
    let file = folder.join(format!("{name}.c"));
    std::fs::write(&file, source).expect("written");
    let cc = Command::new("cc").args(["-shared", "-fPIC", "-o"]).arg(folder.join(name)).arg(&file).output();
    cc.is_ok_and(|output| output.status.success())
}

#[test]
fn counters_of_amds_gpus_are_told_with_what_tells_of_them() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let device = folder.path().join("class/drm/card1/device");
    std::fs::create_dir_all(&device).expect("made");
    std::fs::write(device.join("vendor"), "0x1002\n").expect("written");
    let told = |file: &str| {
        let mut doctor = command(&["doctor", "--format", "json"]);
        doctor.env("RANKSCOPE_SYS", folder.path()).env("RANKSCOPE_ROCM_SMI_LIBRARY", folder.path().join(file));
        let document: Value = serde_json::from_slice(&doctor.output().expect("runs").stdout).expect("JSON");
        let (standing, says) = of(&document, "counters");
        (standing.to_owned(), says.to_owned())
    };
    let (standing, says) = told("none.so");
    assert!(standing == "limited" && says.contains("1 GPU through files of the kernel, because ROCm SMI does not"), "{says}");
    let answers = "int rsmi_init(unsigned long flags) { return (int)flags; } int rsmi_num_monitor_devices(unsigned *count) { *count = 8; return 0; }";
    if !library(folder.path(), "librocm_smi64.so", answers) {
        skip(Need::Compiler, "cc is not installed");
        return;
    }
    let (standing, says) = told("librocm_smi64.so");
    assert!(standing == "ready" && says.contains("8 GPUs through ROCm SMI"), "{says}");
}

#[test]
fn devices_are_counted_and_a_library_that_ends_the_process_ends_nothing_else() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let answers =
        "int cuInit(unsigned flags) { return (int)flags; } int cuDeviceGetCount(int *count) { *count = 2; return 0; }";
    if !library(folder.path(), "libcuda.so.1", answers) {
        skip(Need::Compiler, "cc is not installed");
        return;
    }
    let without = asked(Some(folder.path()));
    let (standing, says) = of(&without, "cuda");
    assert!(standing == "limited" && says.contains("2 NVIDIA devices") && says.contains("CUPTI cannot be loaded"), "{says}");
    let (standing, says) = of(&without, "counters");
    assert!(standing == "limited" && says.contains("NVML does not answer"), "{says}");
    let nvml = "int nvmlInit_v2(void) { return 0; } int nvmlDeviceGetCount_v2(unsigned *count) { *count = 2; return 0; }";
    assert!(library(folder.path(), "libnvidia-ml.so.1", nvml));
    let known = asked(Some(folder.path()));
    let (standing, says) = of(&known, "counters");
    assert!(standing == "ready" && says.contains("2 GPUs through NVML"), "{says}");
    // It is opened and never called.
    assert!(library(
        folder.path(),
        "libcupti.so.13",
        "#include <stdlib.h>\nint cuptiGetVersion(void *version) { (void)version; abort(); }"
    ));
    let (standing, says) = (asked(Some(folder.path())), "2 NVIDIA devices, and CUPTI is there.");
    assert_eq!(of(&standing, "cuda"), ("ready", says));
    assert!(library(
        folder.path(),
        "libcuda.so.1",
        "int cuInit(unsigned flags) { (void)flags; return 100; } int cuDeviceGetCount(void) { return 3; }"
    ));
    let refused = asked(Some(folder.path()));
    assert_eq!(of(&refused, "cuda"), ("absent", "No driver of NVIDIA's devices: cuInit answers 100."));
    assert!(library(
        folder.path(),
        "libcuda.so.1",
        "#include <stdlib.h>\nint cuInit(unsigned flags) { (void)flags; abort(); } int cuDeviceGetCount(void) { return 0; }"
    ));
    let ended = asked(Some(folder.path()));
    let (standing, says) = of(&ended, "cuda");
    assert!(standing == "absent" && says.contains("signal"), "{says}");
    assert!(!of(&ended, "clocks").0.is_empty(), "the rest is told all the same");
}
