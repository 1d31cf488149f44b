//! `rankscope run` ends as its job ends, passes its output through, and never stands in its way.
#![cfg(all(target_os = "linux", feature = "clock"))]

use std::fs;
use std::io::Write;
use std::process::Stdio;

use crate::process::{Room, command, ended, text};

#[test]
fn the_exit_code_is_the_jobs() {
    let table = [
        ("exit 0", 0, "finished"),
        ("exit 7", 7, "failed"),
        ("exit 255", 255, "failed"),
        ("kill -TERM $$", 143, "failed"),
        ("kill -KILL $$", 137, "failed"),
        ("kill -SEGV $$", 139, "failed"),
    ];
    for (script, code, state) in table {
        let room = Room::new();
        let output = room.plain(&["--", "sh", "-c", script]);
        assert_eq!(output.status.code(), Some(code), "{script}: {}", text(&output.stderr));
        let manifest = room.manifest();
        assert_eq!(manifest["state"], state, "{script}");
        assert_eq!(manifest["command"][2], script);
    }
}

#[test]
fn a_command_that_cannot_be_started_ends_as_in_a_shell() {
    let room = Room::new();
    let output = room.plain(&["--", "./none-such"]);
    assert_eq!(output.status.code(), Some(127));
    assert!(text(&output.stderr).contains("./none-such"), "{}", text(&output.stderr));
    let room = Room::new();
    room.file("plain.txt", "no program");
    assert_eq!(room.plain(&["--", "./plain.txt"]).status.code(), Some(126));
}

#[test]
fn output_and_input_are_untouched() {
    let room = Room::new();
    let mut command = room.command(&["--no-clock", "--no-report", "--", "sh", "-c", "cat; printf 'e\\0\\377' >&2"]);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let bytes: Vec<u8> = (0..=255).cycle().take(300_000).collect();
    let mut stdin = child.stdin.take().unwrap();
    let sent = bytes.clone();
    let writer = std::thread::spawn(move || stdin.write_all(&sent).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert!(output.stdout == bytes, "{} bytes of {}", output.stdout.len(), bytes.len());
    assert!(output.stderr.starts_with(b"e\0\xff"), "{}", text(&output.stderr));
}

#[test]
fn a_directory_that_cannot_be_written_costs_one_line() {
    let room = Room::new();
    room.file("run", "a file where the directory should be");
    let output = room.run(&["--", "sh", "-c", "echo done; exit 5"]);
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(5), "done\n"), "{said}");
    assert!(said.lines().count() == 1 && said.contains("nothing can be kept of this run"), "{said}");
}

#[test]
fn a_run_that_is_there_is_not_overwritten() {
    let room = Room::new();
    room.plain(&["--", "sh", "-c", "echo 1 > $RANKSCOPE_RAW_DIR/first.json"]);
    let before = fs::read(room.path().join("run/run.json")).unwrap();
    let output = room.plain(&["--", "sh", "-c", "echo again"]);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(0), "again\n"));
    assert!(text(&output.stderr).contains("has ended"), "{}", text(&output.stderr));
    assert_eq!(fs::read(room.path().join("run/run.json")).unwrap(), before);
}

#[test]
fn json_is_alone_on_stdout() {
    let room = Room::new();
    let output = room.run(&["--no-clock", "--format", "json", "--", "sh", "-c", "echo noise; exit 3"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("one JSON document");
    assert_eq!((&document["exit_code"], &document["traces"], output.status.code()), (&3.into(), &0.into(), Some(3)));
    assert!(document["problem"].as_str().unwrap().contains("the job wrote no traces"), "{document}");
    assert!(text(&output.stderr).contains("noise"));
}

#[test]
fn processes_are_told_where_the_run_is() {
    let room = Room::new();
    let script = "run=; echo $RANKSCOPE_RUN_DIR; echo $RANKSCOPE_RAW_DIR; echo $RANKSCOPE_RUN_ID; \
                  echo $0; echo $1; echo ${RANK-none}; echo ${run}'{run}'";
    let output = room.plain(&["--", "sh", "-c", script, "{run}", "--to={raw}/x"]);
    let run = room.path().canonicalize().unwrap().join("run").display().to_string();
    let raw = format!("{run}/raw");
    let to = format!("--to={raw}/x");
    assert_eq!(text(&output.stdout).lines().collect::<Vec<_>>(), [&run, &raw, "run", &run, &to, "none", "{run}"]);
}

#[test]
fn a_run_without_a_name_gets_one() {
    let room = Room::new();
    // The folder is not given here.
    let mut unnamed = command(&["run", "--no-clock", "--no-report", "--", "sh", "-c", "true"]);
    unnamed.current_dir(room.path());
    assert!(unnamed.status().unwrap().success());
    assert!(unnamed.status().unwrap().success());
    let names: Vec<_> = fs::read_dir(room.path().join("runs")).unwrap().map(|it| it.unwrap().file_name()).collect();
    assert_eq!(names.len(), 2, "{names:?}");
    assert!(names.iter().all(|name| name.to_string_lossy().starts_with("sh-20")), "{names:?}");
}

#[test]
fn files_are_collected() {
    let room = Room::new();
    room.file("out/rank0.json", "there before");
    let job = "printf '{\"traceEvents\": []}' > out/rank1.pt.trace.json";
    let output = room.plain(&["--collect", "out/*.json", "--", "sh", "-c", job]);
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    assert_eq!(room.names("raw"), ["rank-1.json"]);
    let files = room.manifest()["files"].to_string();
    assert!(files.contains("raw/rank-1.json"), "{files}");
}

#[test]
fn ranks_and_a_launcher_contradict_each_other() {
    let room = Room::new();
    let child = room.command(&["-n", "2", "--", "torchrun", "train.py"]).stderr(Stdio::piped()).spawn().unwrap();
    let output = ended(child);
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("leave out -n"));
}
