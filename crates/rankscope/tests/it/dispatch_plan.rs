//! What `dispatch plan` promises: figures that follow from the shards it prints, and a file that every other verb takes.

#![expect(clippy::unwrap_used, reason = "helpers of a test")]

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use crate::process::fed;
use serde_json::Value;
use tempfile::TempDir;

const HIDDEN_Q: u64 = 64;
const HIDDEN_KV: u64 = 16;
const ELEMENT_BYTES: u64 = 2;
const NARROW: [&str; 6] = ["--hidden-q", "64", "--hidden-kv", "16", "--element-bytes", "2"];

fn batch() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/dispatch/batch.json")
}

/// What the binary prints for `dispatch` and these arguments.
fn said(arguments: &[&str], input: &str) -> String {
    let assert = fed(&[&["dispatch"], arguments].concat(), input).assert().success();
    String::from_utf8(assert.get_output().stdout.clone()).unwrap()
}

/// The one JSON document that it prints.
fn json(arguments: &[&str], input: &str) -> Value {
    serde_json::from_str(&said(&[arguments, &["--format", "json"]].concat(), input)).unwrap()
}

fn planned(more: &[&str]) -> Value {
    let batch = batch();
    json(&[&["plan", batch.to_str().unwrap()], &NARROW[..], more].concat(), "")
}

/// Linear rank, attention rank, first token and tokens of every shard of every document.
fn shards(answer: &Value) -> Vec<Vec<[u64; 4]>> {
    let mut documents: Vec<Vec<[u64; 4]>> = serde_json::from_value(answer["shards"].clone()).unwrap();
    for shards in &mut documents {
        let mut end = 0;
        for (shard, place) in shards.iter_mut().zip(0..) {
            assert_eq!(shard[2], place, "shards are printed in the order of the document");
            shard[2] = end;
            end += shard[3];
        }
    }
    documents
}

fn loads(documents: &[Vec<[u64; 4]>], ranks: usize) -> Vec<u64> {
    let mut loads = vec![0; ranks];
    for [_, attention, start, tokens] in documents.iter().flatten() {
        loads[*attention as usize] += tokens * (2 * start + tokens + 1) / 2;
    }
    loads
}

/// Queries out and outputs back of what is computed away from home, and the context that ranks do not hold, once.
fn bytes(documents: &[Vec<[u64; 4]>]) -> u64 {
    let (mut queries, mut keys) = (0, 0);
    for shards in documents {
        let mut reach = HashMap::new();
        for [linear, attention, start, tokens] in shards.iter().filter(|shard| shard[3] > 0) {
            queries += if linear == attention { 0 } else { *tokens };
            reach.insert(*attention, start + tokens);
        }
        for (rank, end) in reach {
            keys += end - shards.iter().filter(|shard| shard[0] == rank && shard[2] < end).map(|shard| shard[3]).sum::<u64>();
        }
    }
    2 * ELEMENT_BYTES * (queries * HIDDEN_Q + keys * HIDDEN_KV)
}

#[test]
fn the_figures_follow_from_the_shards() {
    let lengths: Value = serde_json::from_str(&fs::read_to_string(batch()).unwrap()).unwrap();
    let lengths: Vec<u64> = serde_json::from_value(lengths["doc_lens"].clone()).unwrap();
    for (planner, eps, bounded) in
        [("bounded", 0.05, true), ("bounded", 0.0, true), ("bounded", 0.3, true), ("greedy", 0.05, false)]
    {
        let answer = planned(&["--planner", planner, "--eps", &eps.to_string()]);
        let documents = shards(&answer);
        assert_eq!(documents.len(), lengths.len());
        for (shards, length) in documents.iter().zip(&lengths) {
            let end: u64 = shards.iter().map(|shard| shard[3]).sum();
            assert_eq!(end, *length, "{planner}");
        }
        let loads = loads(&documents, 8);
        let mean = loads.iter().sum::<u64>() as f64 / 8.0;
        let heaviest = *loads.iter().max().unwrap() as f64;
        assert!((answer["max_over_mean"].as_f64().unwrap() - heaviest / mean).abs() < 1e-9, "{planner}");
        // Where nothing is tolerated, blocks are still no smaller than a hundredth of a share.
        assert!(!bounded || heaviest <= (1.0 + f64::max(eps, 0.01)) * mean, "{planner}, eps {eps}: {heaviest} over {mean}");
        assert_eq!(answer["bytes"], bytes(&documents), "{planner}, eps {eps}");
        let (moved, least) = (answer["bytes"].as_f64().unwrap(), answer["lower_bound_bytes"].as_f64().unwrap());
        assert!(least <= moved, "{planner}: {least} of {moved}");
        assert!((answer["gap"].as_f64().unwrap() - (moved / least - 1.0)).abs() < 1e-9, "{planner}");
        assert!(answer["elapsed_us"].as_f64().unwrap() > 0.0, "{planner}");
    }
}

#[test]
fn no_plan_is_worse_than_none() {
    let ratio = |input: &str, more: &[&str]| {
        let answer = json(&[&["plan", "-"], more].concat(), input);
        (answer["max_over_mean"].as_f64().unwrap(), answer["max_over_mean_before"].as_f64().unwrap())
    };
    for (input, ranks) in [("[3000]", "16"), ("[20000]", "64"), ("[1005]", "100000"), ("[1000, 0, 5]", "1000")] {
        let (after, before) = ratio(input, &["--ranks", ranks]);
        assert!(after <= before, "{input} on {ranks} ranks: {after}, was {before}");
    }
    for lists in ["[[384,384],[],[]]", "[[128,256],[],[384,256]]"] {
        for planner in ["bounded", "exact"] {
            let (after, before) = ratio(lists, &["--planner", planner]);
            assert!(after <= 1.05 && before > 2.0, "{lists}, {planner}: {after}, was {before}");
        }
    }
    for planner in ["greedy", "equal-flops"] {
        let (after, before) = ratio("[[128,256],[],[384,256]]", &["--planner", planner, "--weights", "1,0.1,1"]);
        assert!(after <= before, "{planner}: {after}, was {before}");
    }
}

#[test]
fn equal_documents_move_nothing_and_no_rank_is_left_empty() {
    let answer = json(&["plan", "-", "--ranks", "64"], &serde_json::to_string(&vec![4100; 64]).unwrap());
    assert_eq!((&answer["bytes"], &answer["max_over_mean"]), (&Value::from(0), &Value::from(1.0)));
    let answer = json(&["plan", "-", "--ranks", "16"], "[3000]");
    let mut held = vec![0; 16];
    for [linear, _, _, tokens] in shards(&answer).into_iter().flatten() {
        held[linear as usize] += tokens;
    }
    assert!(held.iter().all(|tokens| (187..=188).contains(tokens)), "{held:?}");
}

/// Lengths for which file order is poor: whole documents just miss the borders of ranks.
const JUST_MISSED: &str = "[40000, 30000, 9000, 25000, 7000, 33000, 12000, 41000, 3000, 24000, 16000, 22144]";

#[test]
fn a_chosen_layout_moves_less_than_file_order_and_is_as_even() {
    let in_order = json(&["plan", "-", "--ranks", "4"], JUST_MISSED);
    let chosen = json(&["plan", "-", "--ranks", "4", "--layout", "choose"], JUST_MISSED);
    assert_eq!((&in_order["layout"], &chosen["layout"]), (&Value::from("given"), &Value::from("chosen")));
    assert_eq!(chosen["given_bytes"], in_order["bytes"]);
    assert!(chosen["bytes"].as_u64() < in_order["bytes"].as_u64(), "{} of {}", chosen["bytes"], in_order["bytes"]);
    assert!(chosen["max_over_mean"].as_f64() <= Some(1.05));
    let (mut held, documents) = (vec![0; 4], shards(&chosen));
    for [linear, _, _, tokens] in documents.iter().flatten() {
        held[*linear as usize] += tokens;
    }
    let mean = held.iter().sum::<u64>() as f64 / 4.0;
    assert!(held.iter().all(|&tokens| tokens as f64 <= 1.01 * mean), "{held:?}");
    let lengths: Vec<u64> = documents.iter().map(|shards| shards.iter().map(|shard| shard[3]).sum()).collect();
    assert_eq!(lengths, serde_json::from_str::<Vec<u64>>(JUST_MISSED).unwrap(), "documents stay in the order of the file");

    let table = said(&["plan", "-", "--ranks", "4", "--layout", "choose"], JUST_MISSED);
    assert!(table.contains("less with the chosen layout") && table.contains("with this layout"), "{table}");
    let table = said(&["plan", "-", "--ranks", "2", "--layout", "choose"], "[600, 600]");
    assert!(table.contains("documents as given    0 B\n"), "{table}");
}

#[test]
fn whole_documents_on_ranks_are_planned_by_equal_flops() {
    let answer = json(&["plan", "-", "--planner", "equal-flops"], "[[4096], [512, 512], [1024], [2048]]");
    assert_eq!((&answer["world_size"], &answer["documents"]), (&Value::from(4), &Value::from(5)));
    let least = loads(&shards(&answer), 4).into_iter().min();
    assert!(least > Some(0), "nobody is left without work");
}

#[test]
fn every_other_verb_takes_what_was_written() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (text, compact, page) = (file("plan.json"), file("plan.rkd"), file("plan.html"));
    let answer = planned(&["--out", &text, "--html", &page]);
    planned(&["--out", &compact]);
    assert_eq!(fs::read(&text).unwrap(), said(&["export", &compact, "--as", "json"], "").into_bytes());
    for plan in [&text, &compact] {
        assert_eq!(json(&["check", plan], "")["violations"], Value::from(Vec::<i64>::new()));
        let moved = json(&["simulate", plan, "--hidden-q", "8", "--hidden-kv", "8"], "");
        assert_eq!((&moved["verified"], &moved["world_size"]), (&Value::from(true), &Value::from(8)));
        for form in ["alltoallv", "nccl", "puts", "cu-seqlens"] {
            let exported: Value = serde_json::from_str(&said(&["export", plan, "--as", form], "")).unwrap();
            assert_eq!(exported["ranks"].as_array().map(Vec::len), Some(8), "{form}");
            assert_eq!(exported["plan_hash"], moved["plan_hash"], "{form}");
        }
        let predicted = json(&["predict", plan], "");
        let there: u64 = [0, 1].iter().filter_map(|exchange| predicted["exchanges"][exchange]["remote_bytes"].as_u64()).sum();
        assert_eq!(answer["bytes"], there, "what the planner counts is what the network sees");
    }

    let page = fs::read_to_string(page).unwrap();
    for foreign in ["http:", "https:", "//www", "@import", "url(", " src=", "import(", "fetch("] {
        assert!(!page.contains(foreign), "{foreign}");
    }
    assert!(page.contains("batch.json") && page.contains("8 ranks"));
}

#[test]
fn every_other_verb_takes_a_plan_that_splits_keys() {
    let folder = TempDir::new().unwrap();
    let file = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let (text, compact) = (file("plan.json"), file("plan.rkd"));
    // One long document on many ranks, with as many key heads as query heads: what splitting is for.
    let arguments =
        ["plan", "-", "--ranks", "8", "--hidden-q", "256", "--hidden-kv", "256", "--split-kv", "--heads", "4", "--out"];
    let answer = json(&[&arguments[..], &[&text]].concat(), "[16384]");
    json(&[&arguments[..], &[&compact]].concat(), "[16384]");
    assert_eq!(fs::read(&text).unwrap(), said(&["export", &compact, "--as", "json"], "").into_bytes());
    let written: Value = serde_json::from_slice(&fs::read(&text).unwrap()).unwrap();
    assert_eq!((&written["schema"], &written["rows"]["lse"]), (&Value::from(2), &Value::from(8)), "four heads of 32 bits");
    assert_eq!(written["tasks"][0].as_array().map(Vec::len), answer["split_kv"]["tasks"].as_array().map(Vec::len));

    assert_eq!(json(&["check", &text], "")["violations"], Value::from(Vec::<i64>::new()));
    let moved = json(&["simulate", &text, "--hidden-q", "8", "--hidden-kv", "8"], "");
    assert_eq!(moved["verified"], Value::from(true));
    let run = json(&["run", &text, "--hidden-q", "8", "--hidden-kv", "8", "--repeat", "1"], "");
    assert_eq!((&run["identical"], &run["ranks"]), (&Value::from(true), &Value::from(8)));
    for form in ["alltoallv", "nccl", "puts", "cu-seqlens"] {
        let exported: Value = serde_json::from_str(&said(&["export", &text, "--as", form], "")).unwrap();
        assert_eq!(exported["ranks"].as_array().map(Vec::len), Some(8), "{form}");
        assert_eq!(exported["plan_hash"], moved["plan_hash"], "{form}");
    }
    let predicted = json(&["predict", &text], "");
    let there: u64 = [0, 1].iter().filter_map(|exchange| predicted["exchanges"][exchange]["remote_bytes"].as_u64()).sum();
    assert_eq!(answer["split_kv"]["bytes"], there, "what the planner counts is what the network sees");
    assert!(there < answer["bytes"].as_u64().unwrap());
    let chakra = file("step");
    json(&["simulate", &text, "--events", "--chakra", &chakra], "");
    assert!(Path::new(&format!("{chakra}.7.et")).exists());
}

#[test]
fn every_other_verb_takes_a_plan_of_groups_of_heads() {
    let folder = TempDir::new().unwrap();
    let plan = folder.path().join("plan.json").to_str().unwrap().to_owned();
    let page = folder.path().join("plan.html").to_str().unwrap().to_owned();
    let arguments = ["plan", "-", "--ranks", "8", "--hidden-q", "1024", "--hidden-kv", "256"];
    let whole = json(&arguments, "[16384]");
    let answer = json(&[&arguments[..], &["--head-groups", "8", "--out", &plan, "--html", &page]].concat(), "[16384]");
    assert_eq!((&answer["documents"], &answer["tokens"], &answer["head_groups"]), (&1.into(), &16384.into(), &8.into()));
    assert!(answer["bytes"].as_u64() < whole["bytes"].as_u64(), "a document on many ranks moves less by heads");
    let written: Value = serde_json::from_slice(&fs::read(&plan).unwrap()).unwrap();
    assert_eq!((&written["schema"], &written["rows"]["hidden_q"]), (&Value::from(2), &Value::from(128)));

    assert_eq!(json(&["check", &plan], "")["violations"], Value::from(Vec::<i64>::new()));
    for verb in ["simulate", "run"] {
        let moved = json(&[verb, &plan, "--hidden-q", "8", "--hidden-kv", "8"], "");
        assert!(moved["verified"] == true || moved["identical"] == true, "{verb}");
    }
    let predicted = json(&["predict", &plan], "");
    let there: u64 = [0, 1].iter().filter_map(|exchange| predicted["exchanges"][exchange]["remote_bytes"].as_u64()).sum();
    assert_eq!(answer["bytes"], there, "what the planner counts is what the network sees");
    // Dense layers see all heads of a token, and attention the same scores.
    let at_home =
        |plan: &str| json(&["simulate", plan, "--events", "--forward-only", "--network", "free"], "")["undispatched"].clone();
    let other = folder.path().join("whole.json").to_str().unwrap().to_owned();
    json(&[&arguments[..], &["--out", &other]].concat(), "[16384]");
    let (groups, all) = (at_home(&plan), at_home(&other));
    assert_eq!(groups["ranks"][7]["computation_ns"], all["ranks"][7]["computation_ns"]);

    // The page has each group of the document where it is computed, and the tokens that ranks hold once.
    let page = fs::read_to_string(page).unwrap();
    assert!(page.contains("heads in 8 groups") && page.contains("would if every rank computed"), "facts and findings");
    let groups: usize = (0..8).map(|group| page.matches(&format!("\"groups\":[{group}")).count()).sum();
    assert_eq!((groups, page.matches("\"tokens\":2048,\"work_before\"").count()), (8, 8), "one document on eight ranks");

    // And both at once.
    let both = json(&[&arguments[..], &["--head-groups", "8", "--split-kv", "--out", &plan]].concat(), "[16384]");
    assert!(both["split_kv"]["bytes"].as_u64() <= answer["bytes"].as_u64());
    assert_eq!(json(&["run", &plan, "--hidden-q", "8", "--hidden-kv", "8", "--repeat", "1"], "")["identical"], true);
}

#[test]
fn heads_are_those_of_all_groups_together() {
    let folder = TempDir::new().unwrap();
    let plan = folder.path().join("plan.json").to_str().unwrap().to_owned();
    let arguments =
        ["plan", "-", "--ranks", "8", "--hidden-q", "1024", "--hidden-kv", "1024", "--head-groups", "2", "--split-kv"];
    said(&[&arguments[..], &["--heads", "16", "--out", &plan]].concat(), "[16384]");
    let rows = serde_json::from_slice::<Value>(&fs::read(&plan).unwrap()).unwrap()["rows"].clone();
    assert_eq!((&rows["hidden_q"], &rows["lse"]), (&512.into(), &16.into()), "eight heads of 32 bits in each group");
}

#[test]
fn tables_fit_on_a_page() {
    let folder = TempDir::new().unwrap();
    let plan = folder.path().join("plan.json").to_str().unwrap().to_owned();
    let batch = batch();
    let batch = batch.to_str().unwrap();
    let case = folder.path().join("case.json");
    fs::write(&case, r#"{"kind":"gen_seq_lens","world_size":2,"num_seqs":15,"total_len":1048576,"seed":3,"mode":"valid"}"#)
        .unwrap();
    let case = case.to_str().unwrap().to_owned();
    let narrow = ["--hidden-q", "8", "--hidden-kv", "8"];
    for arguments in [
        &["plan", batch, "--explain", "--out", &plan][..],
        &["check", &plan],
        &["metadata", &case],
        &["predict", &plan],
        &[&["simulate", &plan], &narrow[..]].concat(),
        &["simulate", &plan, "--events", "--overlap"],
        &[&["run", &plan, "--repeat", "1"], &narrow[..]].concat(),
    ] {
        let text = said(arguments, "");
        for line in text.lines() {
            assert!(line.chars().count() <= 100, "{arguments:?}: {} columns\n{line}", line.chars().count());
        }
    }
}
