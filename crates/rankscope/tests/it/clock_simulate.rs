//! `rankscope clock simulate`: the contract of its JSON, and arguments that make no job.

use crate::common::rankscope;
use serde_json::Value;

fn simulate(arguments: &[&str]) -> Value {
    let output = rankscope(&[&["clock", "simulate", "--format", "json"], arguments].concat());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("one JSON document")
}

#[test]
fn the_document_holds_what_was_promised() {
    let found = simulate(&["--nodes", "5", "--windows", "4", "--seed", "3", "--load", "0.4"]);
    for (field, keys) in [("error_ns", &["p50", "p99", "max"][..]), ("bound_width_ns", &["p50"]), ("tree_error_ns", &["p99"])] {
        assert!(keys.iter().all(|key| found[field][key].is_u64()), "{field}: {found}");
    }
    assert!(found["skew_error_ppb"]["max"].as_f64().is_some_and(|ppb| ppb < 100.0), "{found}");
    assert_eq!(found["bound_coverage"], 1.0);
    assert!(found["error_ns"]["max"].as_u64().is_some_and(|ns| ns < 300), "{found}");
    assert_eq!((&found["nodes"], &found["edges"], &found["windows"]), (&5.into(), &10.into(), &4.into()));
    assert_eq!(found["seconds"], 16.0);
}

#[test]
fn equal_arguments_give_equal_answers() {
    let arguments = ["--nodes", "4", "--windows", "3", "--topology", "0-1,1-2,2-3,3-0", "--window", "2s", "--loss", "0.1"];
    let found = simulate(&arguments);
    assert_eq!(found, simulate(&arguments));
    assert_eq!(found["edges"], 4);
    assert_ne!(found, simulate(&[&arguments[..], &["--seed", "2"]].concat()));
}

#[test]
fn the_table_is_for_people() {
    let output = rankscope(&["clock", "simulate", "--nodes", "3", "--windows", "2"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.starts_with("3 nodes, 3 edges, 2 windows, 8 s simulated\n"), "{text}");
    assert!(text.contains("spanning tree"), "{text}");
}

#[test]
fn arguments_that_make_no_job_are_named() {
    for (arguments, named) in [
        (["--load", "1.5"], "--load"),
        (["--loss", "1.1"], "--loss"),
        (["--topology", "0-1,1-x"], "`1-x`"),
        (["--topology", "0-1"], "node 2"),
        (["--window", "10us"], "`10us`"),
        (["--nodes", "1"], "--nodes"),
    ] {
        let output = rankscope(&[&["clock", "simulate", "--windows", "1"], &arguments[..]].concat());
        let message = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && message.contains(named), "{arguments:?}: {message}");
    }
}
