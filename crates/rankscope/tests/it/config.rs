//! `rankscope config` as a user meets it.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::fs;
use std::process::Output;

use crate::process::command;
use serde_json::Value;

fn config(args: &[&str], environment: &[(&str, &str)]) -> Output {
    command(&["config"]).args(args).envs(environment.iter().copied()).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn every_value_has_its_origin() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("job.toml");
    fs::write(&file, "[probe]\npacket-spacing-us = 60\n[job]\nkey = \"hunter2\"\n").unwrap();
    let file = file.display().to_string();
    let environment = [("XLA_DIST_PROF_CONFIG", file.as_str()), ("XLA_PROBE_WINDOW_S", "2.5")];
    let args = ["show", "--format", "json", "--preset", "low-overhead", "--set", "port=4000"];
    let output = config(&args, &environment);
    assert!(output.status.success());
    let shown: Value = serde_json::from_slice(&output.stdout).unwrap();
    let find = |key: &str| shown["settings"].as_array().unwrap().iter().find(|row| row["key"] == key).unwrap().clone();
    for (key, value, origin) in [
        ("probe-cadence-us", Value::from(2_000), "preset low-overhead".to_owned()),
        ("probe-window-s", Value::from(2.5), "environment XLA_PROBE_WINDOW_S".to_owned()),
        ("packet-spacing-us", Value::from(60), format!("file {file} line 2")),
        ("port", Value::from(4_000), "flag".to_owned()),
        ("key", Value::from("set"), format!("file {file} line 4")),
        ("rank", Value::Null, "default".to_owned()),
    ] {
        assert_eq!((&find(key)["value"], &find(key)["origin"]), (&value, &Value::from(origin)), "{key}");
    }
    assert_eq!(shown["complaints"], Value::Array(Vec::new()));
    let table = said(&config(&["show", "--config", &file], &[]));
    assert!(table.contains("packet-spacing-us") && table.contains("60 us") && !table.contains("hunter2"), "{table}");
}

#[test]
fn check_says_no_with_exit_code_3() {
    let fine = config(&["check"], &[("XLA_PROBE_CADENCE_US", "900")]);
    assert_eq!((fine.status.code(), said(&fine).trim()), (Some(0), "the settings are valid"));
    let typo = config(&["check"], &[("XLA_PROBE_CADANCE_US", "900")]);
    assert_eq!(typo.status.code(), Some(3));
    assert!(said(&typo).contains("did you mean XLA_PROBE_CADENCE_US?"));
    let gone = config(&["check", "--config", "/nowhere/job.toml", "--format", "json"], &[]);
    assert_eq!(gone.status.code(), Some(3));
    let complaints: Value = serde_json::from_slice(&gone.stdout).unwrap();
    assert!(complaints["complaints"][0].as_str().unwrap().contains("/nowhere/job.toml"), "{complaints}");
}

#[test]
fn what_is_shown_despite_a_mistake_says_so_beneath() {
    let output = config(&["show"], &[("RANKSCOPE_PROBE_WINDOW_S", "99")]);
    assert!(output.status.success());
    assert!(said(&output).trim_end().ends_with("or with a unit (us, ms or s)"), "{}", said(&output));
    assert_eq!(config(&["show", "--set", "port"], &[]).status.code(), Some(1));
}

#[test]
fn the_template_passes_its_own_check() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("template.toml");
    fs::write(&file, config(&["template"], &[]).stdout).unwrap();
    assert_eq!(config(&["check", "--config", &file.display().to_string()], &[]).status.code(), Some(0));
}
