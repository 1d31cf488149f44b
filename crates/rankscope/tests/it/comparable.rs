//! Traces that contradict each other are accounted one by one and never compared: a wrong name is worse than none.

use std::fs;
use std::path::{Path, PathBuf};

use crate::common::{report, time, write_job};
use rankscope_testkit::{Dialect, Job, Metadata, NodeClock, Straggler};
use serde_json::{Value, json};

fn straggling() -> Job {
    Job { ranks: 4, steps: 4, straggler: Some(Straggler { rank: 2, factor: 1.5 }), ..Job::default() }
}

fn kinds(document: &Value) -> Vec<&str> {
    document["cautions"].as_array().expect("a list").iter().filter_map(|caution| caution["kind"].as_str()).collect()
}

/// Nothing is said between ranks, each rank's own times are there, and the reason stands in front.
fn assert_not_compared(document: &Value, kind: &str) {
    assert_eq!(kinds(document).first(), Some(&kind), "{}", document["cautions"]);
    assert_eq!(document["verdict"]["late"], json!([]));
    assert_eq!(document["verdict"]["reason"], "not_comparable");
    assert_eq!(document["collectives"]["matched"], 0);
    assert_eq!(document["clock"]["corrected"], false);
    let notes = document["notes"].as_array().expect("a list");
    assert!(notes.iter().all(|note| note["level"] != "finding"), "{notes:?}");
    assert_eq!(notes[0]["level"], "caution");
    for rank in document["ranks"].as_array().expect("ranks") {
        assert!(time(rank, "total") > 0 && time(rank, "busy") > 0);
    }
}

fn rewrite(path: &Path, change: impl Fn(String) -> String) {
    let text = fs::read_to_string(path).expect("a trace");
    fs::write(path, change(text)).expect("written");
}

fn files(directory: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(directory).expect("a folder").flatten().map(|entry| entry.path()).collect();
    files.sort();
    files
}

#[test]
fn two_ranks_with_one_file_are_not_two_ranks() {
    let directory = write_job(&Job { metadata: Metadata::None, ..straggling() });
    // Neither file says its rank, as JAX has it: their names do.
    let anonymous = without_distributed_info(&fs::read_to_string(directory.path().join("rank1.json")).expect("a trace"));
    for name in ["rank1.json", "rank3.json"] {
        fs::write(directory.path().join(name), &anonymous).expect("written");
    }
    let document = report(directory.path(), &[]);
    assert_not_compared(&document, "same_bytes");
    assert_eq!(document["cautions"][0]["ranks"], json!([1, 3]));
}

#[test]
fn ranks_that_say_who_they_are_may_have_equal_events() {
    let directory = write_job(&straggling());
    let text = fs::read_to_string(directory.path().join("rank1.json")).expect("a trace");
    let other = text.replace("\"rank\": 1", "\"rank\": 3").replace("\"rank\":1", "\"rank\":3");
    let other = other.replace("\"Rank\": 1", "\"Rank\": 3").replace("\"Rank\":1", "\"Rank\":3");
    fs::write(directory.path().join("rank3.json"), other).expect("written");
    let document = report(directory.path(), &[]);
    assert!(!kinds(&document).contains(&"same_bytes"), "{}", document["cautions"]);
    assert_eq!(document["verdict"]["late"][0]["rank"], 2, "{}", document["verdict"]);
}

#[test]
fn ranks_numbered_by_their_names_order_are_not_compared() {
    let directory = write_job(&straggling());
    for (at, path) in files(directory.path()).iter().enumerate() {
        rewrite(path, |text| without_distributed_info(&text));
        fs::rename(path, directory.path().join(format!("model{at}.json"))).expect("renamed");
    }
    let document = report(directory.path(), &[]);
    if document["ranks"][0]["rank_source"] == "order" {
        assert_not_compared(&document, "rank_by_order");
    } else {
        // The events said it.
        assert_eq!(document["verdict"]["late"][0]["rank"], 2);
    }
}

fn without_distributed_info(text: &str) -> String {
    let Some(at) = text.find("\"distributedInfo\"") else { return text.to_owned() };
    let renamed = format!("{}\"notTold\"{}", &text[..at], &text[at + "\"distributedInfo\"".len()..]);
    (0..8).fold(renamed, |text, rank| text.replace(&format!("\"Rank\": {rank},"), "").replace(&format!("\"Rank\":{rank},"), ""))
}

#[test]
fn world_sizes_that_contradict_each_other_are_said() {
    let directory = write_job(&straggling());
    rewrite(&directory.path().join("rank0.json"), |text| {
        text.replacen("\"world_size\":4", "\"world_size\":9", 1).replacen("\"world_size\": 4", "\"world_size\": 9", 1)
    });
    assert_not_compared(&report(directory.path(), &[]), "world_size");
}

#[test]
fn recordings_a_day_apart_are_not_compared_unless_asked_to() {
    let day = NodeClock { offset_ns: 86_400 * 1_000_000_000, drift_ppb: 0 };
    let job = Job { gpus_per_node: 2, clocks: vec![NodeClock::default(), day], ..straggling() };
    let directory = write_job(&job);
    let document = report(directory.path(), &[]);
    assert_not_compared(&document, "time_range");
    let insisted = report(directory.path(), &["--from-traces"]);
    assert_eq!(insisted["verdict"]["late"][0]["rank"], 2, "{}", insisted["verdict"]);
}

#[test]
fn clocks_that_are_seconds_apart_are_no_contradiction() {
    let far = NodeClock { offset_ns: 5_000_000_000, drift_ppb: 20_000 };
    let job = Job { gpus_per_node: 2, clocks: vec![NodeClock::default(), far], ..straggling() };
    let document = report(write_job(&job).path(), &[]);
    assert_eq!(document["verdict"]["late"][0]["rank"], 2, "{}", document["verdict"]);
}

#[test]
fn traces_of_two_formats_are_not_one_job() {
    let directory = write_job(&straggling());
    let from = directory.path().join("rank3.json");
    let to = directory.path().join("rank3.pftrace");
    let converted = crate::common::rankscope(&["convert", &from.display().to_string(), &to.display().to_string()]);
    assert!(converted.status.success());
    fs::remove_file(from).expect("removed");
    assert_not_compared(&report(directory.path(), &[]), "mixed_formats");
}

#[test]
fn while_a_rank_is_missing_nobody_is_cleared() {
    let job = Job { straggler: None, ..straggling() };
    let directory = write_job(&job);
    assert!(report(directory.path(), &[])["notes"].to_string().contains("No rank stands out"));
    fs::remove_file(directory.path().join("rank2.json")).expect("removed");
    let document = report(directory.path(), &[]);
    assert!(kinds(&document).contains(&"missing_rank"));
    let notes = document["notes"].to_string();
    assert!(!notes.contains("No rank stands out"), "{notes}");
    assert!(notes.contains("left no trace"), "{notes}");
}

#[test]
fn ranks_without_a_common_step_are_not_compared() {
    let directory = write_job(&straggling());
    rewrite(&directory.path().join("rank1.json"), |text| {
        (0..4)
            .rev()
            .fold(text, |text, step| text.replace(&format!("ProfilerStep#{step}"), &format!("ProfilerStep#{}", step + 40)))
    });
    let document = report(directory.path(), &[]);
    assert_not_compared(&document, "window");
    let text = document["cautions"][0]["text"].as_str().expect("a sentence");
    assert!(text.contains("no step in common"), "{text}");
}

#[test]
fn steps_that_some_lack_are_left_out_of_the_comparison() {
    let directory = write_job(&straggling());
    let whole = report(directory.path(), &[]);
    rewrite(&directory.path().join("rank1.json"), |text| text.replace("ProfilerStep#0", "warming up"));
    let document = report(directory.path(), &[]);
    assert!(kinds(&document).contains(&"window"), "{}", document["cautions"]);
    assert!(document["verdict"]["judged"].as_u64() < whole["verdict"]["judged"].as_u64());
    assert!(time(&document["ranks"][0], "total") < time(&whole["ranks"][0], "total"));
}

#[test]
fn a_day_of_difference_between_formats_of_one_rank_is_nobodys_business() {
    // One file alone is compared with nothing, whatever it says of itself.
    let job = straggling();
    let directory = tempfile::tempdir().expect("a folder");
    fs::write(directory.path().join("model.json"), job.rank_bytes(1, &Dialect::default())).expect("written");
    let document = report(directory.path(), &[]);
    assert!(!kinds(&document).contains(&"rank_by_order"));
    assert_eq!(document["verdict"]["late"], json!([]));
}
