//! Mappers that end too early: killed, or asked to end, in the middle of a file.
#![cfg(all(target_os = "linux", feature = "clock"))]

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, ExitStatus, Stdio};

use crate::common::{rankscope, write_job};
use crate::map_merge::{job, text};
use crate::plan::plan;
use crate::process::{command, ended, is_alive, signal, wait_for};
use rankscope_testkit::{Job, Rng};

const TERM: i32 = 15;
const KILL: i32 = 9;

fn unfinished(parts: &Path) -> usize {
    let entries = fs::read_dir(parts).expect("a folder").flatten();
    entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(".rankscope-tmp-")).count()
}

/// A mapper that is stopped while a file of its is half written; none if it was too fast for that.
fn stopped(parts: &Path, shard: &str) -> Result<Child, ExitStatus> {
    let mut mapper = command(&["map", "--parts", text(parts), "--shard", shard]);
    let mut child = mapper.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("starts");
    let pid = child.id();
    wait_for("a file that is half written", || unfinished(parts) > 0 || !is_alive(&pid.to_string()));
    if let Some(status) = child.try_wait().expect("a child") {
        return Err(status);
    }
    signal("STOP", pid);
    let is_stopped = || fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| stat.contains(") T "));
    wait_for("the mapper to stop", || is_stopped() || !is_alive(&pid.to_string()));
    if unfinished(parts) > 0 && is_stopped() {
        return Ok(child);
    }
    signal("CONT", pid);
    Err(ended(child).status)
}

/// Ends a mapper of all inputs by this signal while a file is half written, and says how many files are left half written.
fn ended_in_the_middle(job: &Job, name: &str, number: i32) -> usize {
    let directory = write_job(job);
    // Whether a mapper is met in the middle is the scheduler's to say; each try has a folder of its own.
    for _ in 0..50 {
        let parts = tempfile::tempdir().expect("a temporary directory");
        plan(directory.path(), parts.path(), &["--tables"]);
        let Ok(child) = stopped(parts.path(), "1/1") else { continue };
        signal(name, child.id());
        if number == TERM {
            signal("CONT", child.id());
        }
        let status = ended(child).status;
        if status.signal() == Some(number) {
            let left = unfinished(parts.path());
            assert!(rankscope(&["map", "--parts", text(parts.path())]).status.success(), "it can be gone on with");
            return left;
        }
    }
    panic!("no mapper was met in the middle of a file");
}

#[test]
fn a_mapper_that_is_asked_to_end_leaves_no_file_half_written() {
    let job = Job { ranks: 16, ..job() };
    assert_eq!(ended_in_the_middle(&job, "TERM", TERM), 0);
    assert!(ended_in_the_middle(&job, "KILL", KILL) > 0, "the same without a chance to clear up, so that this test can fail");
}

#[test]
fn seven_shards_in_any_order_one_of_them_killed_and_repeated_say_what_report_says() {
    let job = Job { ranks: 16, ..job() };
    let (directory, out) = (write_job(&job), tempfile::tempdir().expect("a temporary directory"));
    let parts = out.path().join("parts");
    plan(directory.path(), &parts, &[]);
    let mut order: Vec<u32> = (1..=7).collect();
    let mut random = Rng::new(20);
    for at in (1..order.len()).rev() {
        order.swap(at, random.below(at as u64 + 1) as usize);
    }
    let shard = |number: u32| format!("{number}/7");
    if let Ok(child) = stopped(&parts, &shard(order[3])) {
        signal("KILL", child.id());
        assert_eq!(ended(child).status.signal(), Some(KILL));
    }
    for number in order.iter().chain([&order[0]]) {
        let mapped = rankscope(&["map", "--parts", text(&parts), "--shard", &shard(*number)]);
        assert!(mapped.status.success(), "{}", String::from_utf8_lossy(&mapped.stderr));
    }
    let files = ["merged.json", "report.json"].map(|name| out.path().join(name));
    let words = [["merge", text(&parts)], ["report", text(directory.path())]];
    for (file, words) in files.iter().zip(words) {
        let to = fs::File::create(file).expect("made");
        let mut said = command(&[&words[..], &["--format", "json"]].concat());
        assert!(said.stdout(to).status().expect("runs").success());
    }
    let same = std::process::Command::new("cmp").args(&files).status().expect("cmp runs");
    assert!(same.success());
}
