//! `rankscope run` and what a job, a name or a limit can do to the files around it: nothing leaves the run directory.
#![cfg(all(target_os = "linux", feature = "clock"))]
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::process::{PROGRAM, Room, command, ended, signal, text, wait_for};

/// `rankscope run` with all its arguments given, in the folder of `room`.
fn run_in(room: &Room, arguments: &[&str]) -> std::process::Output {
    let mut command = command(&["run"]);
    command.args(arguments).current_dir(room.path());
    ended(command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap())
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<_> =
        fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_name_leads_nowhere_but_into_runs() {
    let room = Room::new();
    let outside = room.path().join("esc").display().to_string();
    for name in ["", ".", "..", "../esc", "../../esc", &outside, "a/b", "a\nb", "\u{1b}[2J"] {
        let output = run_in(&room, &["--name", name, "--no-clock", "--", "touch", "ran"]);
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{name:?}: {said}");
        assert!((said.contains("--name") || said.contains("control characters")) && !said.contains('\u{1b}'), "{said}");
    }
    assert_eq!(names(room.path()), [""; 0], "neither a run nor the job");
    assert!(run_in(&room, &["--name", "fine", "--no-clock", "--", "true"]).status.success());
    assert_eq!(names(&room.path().join("runs")), ["fine"]);
}

#[test]
fn the_folder_of_runs_is_no_run() {
    let room = Room::new();
    for out in ["runs", "./runs/", "../runs"] {
        let out = if out.starts_with("..") {
            format!("../{}/runs", room.path().file_name().unwrap().display())
        } else {
            out.to_owned()
        };
        let output = run_in(&room, &["--out", &out, "--no-clock", "--", "sh", "-c", "exit 4"]);
        assert_eq!(output.status.code(), Some(4));
        assert!(text(&output.stderr).contains("give a directory in it"), "{}", text(&output.stderr));
        fs::create_dir_all(room.path().join("runs")).unwrap();
    }
    assert_eq!(names(&room.path().join("runs")), [""; 0]);
}

#[test]
fn a_limit_on_the_size_of_files_costs_the_job_nothing() {
    let room = Room::new();
    let script = "ulimit -f 0; exec \"$0\" run --out run --no-clock -- sh -c 'echo done; exit 5'";
    let mut limited = Command::new("sh");
    limited.args(["-c", script, PROGRAM]).current_dir(room.path());
    let output = ended(limited.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap());
    let said = text(&output.stderr);
    assert_eq!((output.status.code(), text(&output.stdout).as_str()), (Some(5), "done\n"), "{said}");
    assert!(said.contains("nothing can be kept of this run") && said.contains("ulimit -f"), "{said}");

    let room = Room::new();
    let output = room.plain(&["--", "sh", "-c", "ulimit -f 0; echo too long > file"]);
    assert_eq!(output.status.code(), Some(128 + 25), "the job itself is ended by it as ever: {}", text(&output.stderr));
}

#[test]
fn a_job_that_removes_its_run_is_told_last() {
    let room = Room::new();
    let output = room.run(&["--no-clock", "--", "sh", "-c", "rm -r \"$RANKSCOPE_RUN_DIR\"; exit 3"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(3));
    assert!(said.lines().last().unwrap().contains("was removed while the job ran"), "{said}");
    assert!(!room.path().join("run").exists());
}

#[test]
fn nothing_is_collected_through_a_link() {
    let room = Room::new();
    let elsewhere = room.path().join("elsewhere");
    fs::create_dir(&elsewhere).unwrap();
    let script = "echo '[]' > rank0.json; rm -r \"$RANKSCOPE_RAW_DIR\"; ln -s \"$PWD/elsewhere\" \"$RANKSCOPE_RAW_DIR\"";
    let output = room.plain(&["--collect", "*.json", "--", "sh", "-c", script]);
    let said = text(&output.stderr);
    assert!(output.status.success() && said.contains("is no longer a folder of the run"), "{said}");
    assert!(said.contains("(0 traces)"), "{said}");
    assert_eq!(names(&elsewhere), [""; 0]);
}

#[test]
fn a_command_that_does_not_start_leaves_no_run() {
    let room = Room::new();
    let output = run_in(&room, &["--out", "run", "--", "./none-such"]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(127));
    assert!(said.contains("./none-such") && !said.contains("torch.profiler"), "{said}");
    assert_eq!(names(room.path()), [""; 0]);
}

#[test]
fn ranks_that_ignore_sigterm_are_killed_after_the_grace() {
    let room = Room::new();
    let script = "trap '' TERM; echo > ready$RANK; while :; do sleep 0.02; done";
    let mut command = room.command(&["--no-clock", "--no-report", "-n", "2", "--grace", "0", "--", "sh", "-c", script]);
    let child = command.process_group(0).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    wait_for("the ranks", || ["ready0", "ready1"].iter().all(|name| room.path().join(name).exists()));
    signal("TERM", child.id());
    assert_eq!(ended(child).status.code(), Some(128 + 9));
}
