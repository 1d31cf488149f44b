//! Profilers that record several windows: ranks are compared over those that all of them have.

use std::fs;
use std::path::Path;

use crate::common::{assert_adds_up, corpus, failure, report, time};
use rankscope_run::{Exit, NewRun, RunDirectory};
use rankscope_testkit::{Dialect, Job, Straggler};
use serde_json::{Value, json};

const STEPS: u32 = 4;
const RANKS: u32 = 3;

/// The same work every time.
fn job() -> Job {
    Job { ranks: RANKS, steps: STEPS, straggler: Some(Straggler { rank: 1, factor: 1.3 }), ..Job::default() }
}

/// What `rank` exported as the window of this number: the steps after those of the window before, a minute later each.
fn export(rank: u32, window: u32) -> Vec<u8> {
    let mut trace: Value = serde_json::from_slice(&job().rank_bytes(rank, &Dialect::default())).expect("JSON");
    for event in trace["traceEvents"].as_array_mut().expect("events") {
        let later = |stamp: f64| stamp + f64::from(window) * 60e6;
        if let Some(stamp) = event["ts"].as_f64() {
            event["ts"] = json!(later(stamp));
        }
        let step = event["name"].as_str().and_then(|name| name.strip_prefix("ProfilerStep#")?.parse::<u32>().ok());
        if let Some(step) = step {
            event["name"] = json!(format!("ProfilerStep#{}", step + 2 * STEPS * window));
        }
    }
    serde_json::to_vec(&trace).expect("JSON")
}

/// A run directory in which each rank left the windows that `has` says.
fn run(has: impl Fn(u32, u32) -> bool) -> tempfile::TempDir {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let new = NewRun { run_id: "r".into(), command: vec![], world_size: Some(RANKS), reference_node: 0, restart: 0 };
    let mut run = RunDirectory::create(directory.path(), new).expect("begun");
    let raw = run.raw();
    fs::create_dir_all(raw.join("more")).expect("made");
    for rank in 0..RANKS {
        let own: Vec<u32> = (0..3).filter(|window| has(rank, *window)).collect();
        let (newest, earlier) = own.split_last().expect("a window");
        fs::write(raw.join(format!("rank-{rank}.json")), export(rank, *newest)).expect("written");
        for (number, window) in earlier.iter().enumerate() {
            fs::write(raw.join(format!("more/rank-{rank}.{number}.json")), export(rank, *window)).expect("written");
        }
    }
    run.finish(Exit::Code(0)).expect("finished");
    directory
}

/// The report on the files of one window alone.
fn alone(window: u32) -> Value {
    let directory = tempfile::tempdir().expect("a temporary directory");
    write_alone(directory.path(), window);
    report(directory.path(), &[])
}

fn write_alone(folder: &Path, window: u32) {
    for rank in 0..RANKS {
        fs::write(folder.join(format!("rank-{rank}.json")), export(rank, window)).expect("written");
    }
}

fn cautions(document: &Value) -> Vec<(&str, &Value, &str)> {
    let cautions = document["cautions"].as_array().expect("cautions").iter();
    cautions.map(|one| (one["kind"].as_str().expect("a kind"), &one["ranks"], one["text"].as_str().expect("a text"))).collect()
}

/// Without where the files lie.
fn figures(document: &Value) -> Value {
    let mut ranks = document["ranks"].clone();
    ranks.as_array_mut().expect("ranks").iter_mut().for_each(|rank| rank["file"] = Value::Null);
    json!([ranks, document["collectives"], document["verdict"], document["windows"], document["clock"], document["notes"]])
}

#[test]
fn windows_add_up_and_the_time_between_them_is_of_none() {
    let both = run(|_, window| window < 2);
    let document = report(both.path(), &[]);
    let (first, second) = (alone(0), alone(1));
    for (at, rank) in document["ranks"].as_array().expect("ranks").iter().enumerate() {
        assert_adds_up(rank);
        for class in ["computation", "exposed_comm", "exposed_memcpy", "idle", "total"] {
            assert_eq!(time(rank, class), time(&first["ranks"][at], class) + time(&second["ranks"][at], class), "{class}");
        }
        let steps: Vec<i64> =
            rank["steps"].as_array().expect("steps").iter().map(|step| step["step"].as_i64().expect("a number")).collect();
        assert_eq!(steps, [0, 1, 2, 3, 8, 9, 10, 11]);
        assert_eq!(rank["steps"][3]["time_ns"], first["ranks"][at]["steps"][3]["time_ns"], "a window's last step ends with it");
    }
    let matched = |document: &Value| document["collectives"]["matched"].as_u64().expect("a count");
    assert_eq!(matched(&document), matched(&first) + matched(&second));
    assert_eq!(document["collectives"]["unmatched"], 0);
    assert_eq!(cautions(&document), []);
    assert_eq!(document["windows"], json!([first["windows"][0], second["windows"][0]]));
    assert_eq!((&document["windows"][1]["first_step"], &document["windows"][1]["last_step"]), (&json!(8), &json!(11)));
    assert_eq!(document["verdict"]["late"][0]["rank"], 1);
}

#[test]
fn one_window_alone_is_what_its_files_say() {
    let both = run(|_, window| window < 2);
    for (choice, window) in [("1", 0), ("first", 0), ("2", 1), ("last", 1)] {
        assert_eq!(figures(&report(both.path(), &["--window", choice])), figures(&alone(window)), "{choice}");
    }
    let said = failure(&["report", &both.path().display().to_string(), "--format", "json", "--window", "3"]);
    assert!(said.contains("there are 2: 1 (steps 0 to 3), 2 (steps 8 to 11)"), "{said}");
}

#[test]
fn a_window_that_one_rank_lacks_is_left_out_and_said() {
    // Rank 1 did not live to export its last.
    let document = report(run(|rank, window| window == 0 || rank != 1).path(), &[]);
    assert_eq!(figures_of_time(&document), figures_of_time(&alone(0)));
    let found = cautions(&document);
    assert_eq!(found.len(), 2, "{found:?}");
    for (kind, ranks, text) in found {
        assert_eq!((kind, ranks), ("window", &json!([0, 2])));
        assert!(text.contains("which rank 1 did not record; they are left out"), "{text}");
    }
}

fn figures_of_time(document: &Value) -> Value {
    let times = document["ranks"].as_array().expect("ranks").iter().map(|rank| rank["time_ns"].clone());
    json!([times.collect::<Vec<_>>(), document["collectives"], document["windows"]])
}

#[test]
fn a_run_that_began_again_and_left_nothing_is_read_from_the_attempt_before() {
    let run = run(|_, window| window < 2);
    let whole = report(run.path(), &[]);
    let raw = run.path().join("raw");
    fs::rename(&raw, run.path().join("attempt-0")).expect("moved");
    fs::create_dir(&raw).expect("made");
    fs::rename(run.path().join("attempt-0"), raw.join("attempt-0")).expect("moved");
    let document = report(run.path(), &[]);
    assert_eq!(figures_of_time(&document), figures_of_time(&whole));
    let [(kind, _, text)] = cautions(&document)[..] else { panic!("{:?}", cautions(&document)) };
    assert!(kind == "window" && text.contains("attempt-0"), "{text}");
}

/// Rank 2 sleeps in its loader, in every step. That no other rank does so must not have its time given to whatever else it did.
#[test]
fn a_rank_that_sleeps_in_its_loader_is_late_because_of_that() {
    let Some(corpus) = corpus() else { return };
    let document = report(&corpus.join("jobs/crash"), &[]);
    let first = &document["blame"][0];
    let reason = &first["reasons"][0];
    assert_eq!(
        [&first["rank"], &reason["kind"], &reason["name"]],
        [&json!(2), &json!("host"), &json!("data_loading")],
        "{first}"
    );
    assert!(reason["ns"].as_i64().expect("a time") * 10 > first["caused_ns"].as_i64().expect("a time") * 9, "{first}");
}

#[test]
fn ranks_of_a_job_that_crashed_are_compared_over_the_steps_that_all_have() {
    let Some(corpus) = corpus() else { return };
    let document = report(&corpus.join("jobs/crash"), &[]);
    for rank in document["ranks"].as_array().expect("ranks") {
        let steps: Vec<_> = rank["steps"].as_array().expect("steps").iter().map(|step| &step["step"]).collect();
        assert_eq!(steps, [2, 3, 4, 5]);
    }
    assert_eq!((&document["collectives"]["matched"], &document["collectives"]["unmatched"]), (&json!(8), &json!(0)));
    let about = |wanted: &str| cautions(&document).into_iter().filter(|(kind, ..)| *kind == wanted).collect::<Vec<_>>();
    let [(_, ranks, text)] = about("window")[..] else { panic!("{:?}", cautions(&document)) };
    assert_eq!(ranks, &json!([1]));
    assert!(text.contains("steps 8 to 9, which no other rank has") && text.contains("rank-1.json.gz"), "{text}");
    assert!(about("clock").iter().all(|(.., text)| !text.contains("contradict")), "{:?}", about("clock"));
}

#[test]
fn a_window_that_ended_early_on_one_rank_is_compared_over_its_common_steps() {
    let run = run(|_, window| window < 2);
    let cut = run.path().join("raw/rank-1.json");
    let mut trace: Value = serde_json::from_slice(&fs::read(&cut).expect("there")).expect("JSON");
    let events = trace["traceEvents"].as_array_mut().expect("events");
    let last = events.iter().find(|event| event["name"] == "ProfilerStep#11").and_then(|event| event["ts"].as_f64());
    let last = last.expect("a step");
    events.retain(|event| event["ph"] == "M" || event["ts"].as_f64().is_some_and(|stamp| stamp < last));
    fs::write(&cut, trace.to_string()).expect("written");
    let document = report(run.path(), &[]);
    let text = document["cautions"].to_string();
    assert!(text.contains("compared over steps 0 to 10"), "{text}");
    for rank in document["ranks"].as_array().expect("ranks") {
        assert_adds_up(rank);
        assert!(time(rank, "total") < 1_000_000_000, "the minute between the windows is of none: {}", rank["time_ns"]);
    }
}
