//! `rankscope hang`: what is printed, exit codes, and files that are no dumps.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::common::rankscope;
use crate::map_merge::text;
use crate::ras_service::{Events, RasService};

/// What a rank of two dumps after `ended` collectives, of which it has called one more if it `waits`.
fn dump(ended: u64, waits: bool) -> Vec<u8> {
    let last = ended + u64::from(waits);
    let calls: Vec<Value> = (1..=last)
        .map(|number| {
            json!({
                "process_group": ["0", "default_pg"], "pg_id": 0, "collective_seq_id": number, "profiling_name": "nccl:all_reduce",
                "time_created_ns": 1_700_000_000_000_000_000_u64 + number, "input_sizes": [[4]], "input_dtypes": ["Float"],
                "state": if number <= ended { "completed" } else { "started" },
            })
        })
        .collect();
    let groups = json!({"0": {"name": "0", "desc": "default_pg", "ranks": "[0, 1]"}});
    serde_json::to_vec(&json!({"version": "2.10", "pg_config": groups, "entries": calls})).expect("JSON")
}

fn write(folder: &Path, dumps: &[(&str, Vec<u8>)]) {
    for (name, bytes) in dumps {
        let path = folder.join(name);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, bytes).expect("written");
    }
}

/// The exit code, the document, and what was said beside.
fn judged(folder: &Path) -> (Option<i32>, Value) {
    let output = rankscope(&["hang", text(folder), "--format", "json"]);
    (output.status.code(), serde_json::from_slice(&output.stdout).expect("JSON"))
}

#[test]
fn the_rank_that_did_not_come_is_named_whatever_lies_beside() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    // Each node has a folder; one dump is packed; other files lie there, one of them damaged and of no rank that matters.
    write(
        folder.path(),
        &[
            ("node0/nccl_trace_rank_0", dump(6, true)),
            ("node1/nccl_trace_rank_1.json", dump(6, false)),
            ("node1/log.txt", b"step 6\n".to_vec()),
            ("verdict.json", b"{}".to_vec()),
            (".hidden_2", b"\x80".to_vec()),
            ("node1/cut_1.pkl", b"\x80\x02}q\x00(X\x07".to_vec()),
        ],
    );
    let (code, document) = judged(folder.path());
    assert_eq!(code, Some(3));
    assert_eq!((&document["schema"], &document["verdict"]["kind"]), (&json!(1), &json!("missing")));
    let root = &document["verdict"]["roots"][0];
    assert_eq!((&root["rank"], &root["group"], &root["seq"]), (&json!(1), &json!("0"), &json!(7)));
    assert_eq!(document["verdict"]["waiting"], json!([{"rank": 0, "for": [1]}]));
    let problems = document["problems"].as_array().expect("a list");
    assert!(problems.len() == 1 && problems[0].as_str().is_some_and(|text| text.contains("cut_1.pkl")), "{problems:?}");
    let printed = rankscope(&["hang", text(folder.path())]);
    let printed = String::from_utf8_lossy(&printed.stdout);
    assert!(printed.contains("Rank 1 is in no call") && printed.lines().all(|line| line.chars().count() <= 100), "{printed}");
}

#[test]
fn exit_codes_tell_whether_somebody_is_named() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    for (name, dumps, code, kind) in [
        ("healthy", [("rank_0", dump(7, false)), ("rank_1", dump(7, false))], 0, "healthy"),
        ("library", [("rank_0", dump(6, true)), ("rank_1", dump(6, true))], 1, "library"),
        ("unclear", [("rank_0", dump(6, true)), ("x", dump(6, true))], 1, "unclear"),
    ] {
        write(&folder.path().join(name), &dumps);
        let (found, document) = judged(&folder.path().join(name));
        assert_eq!((found, &document["verdict"]["kind"]), (Some(code), &json!(kind)), "{document}");
    }
    let output = rankscope(&["hang", text(&folder.path().join("nowhere"))]);
    assert_eq!(output.status.code(), Some(1));
    fs::create_dir(folder.path().join("empty")).expect("made");
    let output = rankscope(&["hang", text(&folder.path().join("empty"))]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && error.contains("no dump of torch's flight recorder"), "{error}");
}

#[test]
fn a_pickle_that_would_call_something_is_refused() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let marker = folder.path().join("called");
    let evil = format!("\x02cos\nsystem\n(S'touch {}'\ntR.", marker.display());
    let evil: Vec<u8> = std::iter::once(0x80).chain(evil.into_bytes()).collect();
    write(&folder.path().join("dumps"), &[("rank_0", dump(6, true)), ("rank_1.pkl", evil)]);
    let (_, document) = judged(&folder.path().join("dumps"));
    assert!(document["problems"][0].as_str().is_some_and(|text| text.contains("GLOBAL")), "{document}");
    assert!(!marker.exists());
    assert_eq!(document["verdict"]["roots"], json!([]), "half of the dumps are no evidence: {document}");
}

#[cfg(target_os = "linux")]
#[test]
fn a_process_that_is_stopped_is_named_by_its_rank_and_what_was_seen_is_kept() {
    use std::process::{Child, Command};

    let folder = tempfile::tempdir().expect("a temporary directory");
    let start = |rank: u32| Command::new("sleep").arg("600").env("RANK", rank.to_string()).spawn().expect("started");
    let mut ranks: Vec<Child> = (0..3).map(start).collect();
    let pids: Vec<String> = ranks.iter().map(|rank| rank.id().to_string()).collect();
    let stopped = Command::new("kill").args(["-STOP", &pids[1]]).status().expect("kill");
    assert!(stopped.success());
    while !fs::read_to_string(format!("/proc/{}/stat", pids[1])).expect("there").contains(") T ") {
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    let keep = folder.path().join("kept");
    let arguments: Vec<&str> = ["hang", "--format", "json", "--keep", text(&keep), "--pids"]
        .into_iter()
        .chain(pids.iter().map(String::as_str))
        .collect();
    let output = rankscope(&arguments);
    for rank in &mut ranks {
        rank.kill().expect("ended");
        rank.wait().expect("ended");
    }
    let document: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!((output.status.code(), &document["verdict"]["kind"]), (Some(3), &json!("outside")), "{document}");
    assert_eq!(document["verdict"]["roots"][0]["rank"], json!(1));
    let kept: Value = serde_json::from_slice(&fs::read(keep.join("verdict.json")).expect("kept")).expect("JSON");
    assert_eq!(kept, document);
    assert!(fs::read_to_string(keep.join("stacks-1.txt")).expect("kept").contains("state T"));
}

#[cfg(all(target_os = "linux", feature = "clock"))]
#[test]
fn a_job_that_stands_still_is_explained_by_its_live_pages_while_it_does() {
    use crate::process::{Running, command, wait_for};

    let folder = tempfile::tempdir().expect("a temporary directory");
    let (run, kept) = (folder.path().join("run"), folder.path().join("kept"));
    let words = ["demo", "--hang", "--slow-rank", "2", "--seconds", "25", "--format", "json", "--out", text(&run)];
    let demo = Running::start(command(&words));
    let asked = |more: &[&str]| rankscope(&[&["hang", text(&run), "--format", "json"], more].concat());
    let document = |output: &std::process::Output| serde_json::from_slice::<Value>(&output.stdout).expect("JSON");
    wait_for("a job that runs", || asked(&[]).status.code() == Some(0));
    let healthy = document(&asked(&[]));
    // It may just have stopped; nobody is named as yet in either case.
    assert_eq!(healthy["verdict"]["roots"], json!([]), "{healthy}");
    wait_for("a rank to be named", || asked(&[]).status.code() == Some(3));
    let judged = document(&asked(&["--keep", text(&kept)]));
    let verdict = &judged["verdict"];
    let root = &verdict["roots"][0];
    assert_eq!(
        (&root["rank"], &root["group"], verdict["roots"].as_array().map(Vec::len)),
        (&json!(2), &json!("default_pg"), Some(1))
    );
    assert_eq!(verdict["witnesses"][0]["source"], json!("live_pages"), "{judged}");
    let waiting: Vec<(&Value, &Value)> =
        verdict["waiting"].as_array().expect("a list").iter().map(|wait| (&wait["rank"], &wait["for"])).collect();
    assert_eq!(waiting, [(&json!(0), &json!([2])), (&json!(1), &json!([2])), (&json!(3), &json!([2]))]);
    assert!(fs::read_to_string(kept.join("stacks-2.txt")).expect("kept").contains("rank 2"));
    assert_eq!(fs::metadata(kept.join("rank-2.page")).expect("kept").len(), 16_384);
    let twice = rankscope(&["hang", text(&run), text(&run)]);
    assert!(twice.status.code() == Some(2) && String::from_utf8_lossy(&twice.stderr).contains("two runs"), "{twice:?}");

    let ended = demo.ended();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let told: Value = serde_json::from_slice(&ended.stdout).expect("JSON");
    assert_eq!((&told["standstill"]["rank"], &told["standstill"]["named"]), (&json!(2), &json!([2])), "{told}");
    let after = asked(&[]);
    let error = String::from_utf8_lossy(&after.stderr);
    assert!(after.status.code() == Some(1) && error.contains("live page"), "{error}");
}

#[test]
fn what_names_nobody_that_can_be_asked_is_used_wrongly() {
    for arguments in [&["hang"][..], &["hang", "--pids", "0"], &["hang", "--worker", "nohost"], &["hang", "--pids", "x=4"]] {
        assert_eq!(rankscope(arguments).status.code(), Some(2), "{arguments:?}");
    }
    // Nobody listens there.
    let output = rankscope(&["hang", "--ras=127.0.0.1:1"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(1) && error.contains("127.0.0.1:1"), "{error}");
}

#[test]
fn a_job_that_is_followed_is_judged_again_when_a_rank_dies() {
    let followed =
        rankscope(&["hang", &format!("--ras={}", RasService::start(Events::Death).address()), "--follow", "--format", "json"]);
    let said: Vec<Value> =
        text_of(&followed.stdout).lines().map(|line| serde_json::from_str(line).expect("a line is one document")).collect();
    let [before, event, after] = &said[..] else { panic!("{said:?}") };
    assert_eq!(before["verdict"]["roots"], json!([]), "{before}");
    assert_eq!((&event["event"], &event["rank"], &event["pid"]), (&json!("PEER_DEAD"), &json!(2), &json!(13)));
    assert_eq!((&after["verdict"]["kind"], &after["verdict"]["roots"][0]["rank"]), (&json!("dead"), &json!(2)));
    assert_eq!(followed.status.code(), Some(3), "{}", text_of(&followed.stderr));

    let followed = rankscope(&["hang", &format!("--ras={}", RasService::start(Events::Death).address()), "--follow"]);
    let printed = text_of(&followed.stdout);
    assert!(printed.contains("2026-11-28 08:09:00  NCCL gave up rank 2 (process 13 on 10.0.0.2)\n"), "{printed}");
    for arguments in
        [&["hang", "--follow"][..], &["hang", "dumps", "--ras=127.0.0.1:1", "--follow"], &["hang", "--ras", "--ask-later"]]
    {
        assert_eq!(rankscope(arguments).status.code(), Some(2), "{arguments:?}");
    }
}

#[test]
fn a_job_that_is_to_be_asked_later_is_asked_when_a_rank_dies() {
    let service = RasService::start(Events::Death);
    let followed = rankscope(&["hang", &format!("--ras={}", service.address()), "--follow", "--ask-later", "--format", "json"]);
    let said: Vec<Value> =
        text_of(&followed.stdout).lines().map(|line| serde_json::from_str(line).expect("a line is one document")).collect();
    let [event, after] = &said[..] else { panic!("{said:?}") };
    assert_eq!((&event["event"], &event["rank"]), (&json!("PEER_DEAD"), &json!(2)), "its rank is asked for first");
    assert_eq!((&after["verdict"]["kind"], &after["verdict"]["roots"][0]["rank"]), (&json!("dead"), &json!(2)));
    assert_eq!(service.questions()[0], "MONITOR lifecycle", "{:?}", service.questions());
    let service = RasService::start(Events::Unknown);
    let refused = rankscope(&["hang", &format!("--ras={}", service.address()), "--follow", "--ask-later"]);
    assert_eq!((refused.status.code(), service.questions()), (Some(1), vec!["MONITOR lifecycle".to_owned()]));
}

fn text_of(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}
