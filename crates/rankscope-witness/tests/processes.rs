//! Real processes, looked at from outside.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rankscope_hang::{Evidence, Observed, ProcessState};
use rankscope_witness::process;

/// A process that sleeps as `rank`.
fn sleeper(rank: u32) -> Child {
    Command::new("sleep").arg("600").env("RANK", rank.to_string()).stdin(Stdio::null()).spawn().expect("started")
}

fn signal(child: &Child, name: &str) {
    let sent = Command::new("kill").args([format!("-{name}"), child.id().to_string()]).status().expect("kill");
    assert!(sent.success());
}

fn look(pid: u32) -> process::Seen {
    process::look(pid, None, Duration::from_secs(5))
}

/// Waits until `pid` is seen in state `letter`.
fn wait_for(pid: u32, letter: char) {
    while look(pid).state != Some(letter) {
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn a_rank_that_is_stopped_and_one_that_is_gone_are_named() {
    let mut ranks: Vec<Child> = (0..4).map(sleeper).collect();
    ranks.iter().for_each(|rank| wait_for(rank.id(), 'S'));
    signal(&ranks[2], "STOP");
    wait_for(ranks[2].id(), 'T');
    let judge = |ranks: &[Child]| {
        let mut evidence = Evidence::default();
        for (number, child) in (0..).zip(ranks) {
            let seen = look(child.id());
            evidence.add_observed(Observed {
                rank: Some(number),
                pid: Some(seen.pid),
                state: ProcessState::of_letter(seen.state),
                kernel: seen.kernel(),
                ..Observed::default()
            });
        }
        let verdict = evidence.verdict("processes").verdict;
        (verdict.kind.to_string(), verdict.roots.iter().map(|root| root.rank).collect::<Vec<_>>())
    };
    assert_eq!(judge(&ranks), ("outside".to_owned(), vec![2]));
    assert_eq!(look(ranks[1].id()).rank, Some(1), "a rank is told by the environment");
    signal(&ranks[2], "CONT");
    signal(&ranks[1], "KILL");
    wait_for(ranks[1].id(), 'Z');
    wait_for(ranks[2].id(), 'S');
    assert_eq!(judge(&ranks), ("dead".to_owned(), vec![1]));
    ranks.iter_mut().for_each(|rank| {
        let _gone = rank.kill();
        rank.wait().expect("ended");
    });
    let gone = look(ranks[0].id());
    assert!(gone.state.is_none() && gone.text().contains("state gone"), "{}", gone.text());
}

#[test]
fn processes_that_are_alike_name_nobody() {
    let mut ranks: Vec<Child> = (0..3).map(sleeper).collect();
    ranks.iter().for_each(|rank| wait_for(rank.id(), 'S'));
    let mut evidence = Evidence::default();
    for child in &ranks {
        let seen = look(child.id());
        let state = ProcessState::of_letter(seen.state);
        evidence.add_observed(Observed {
            rank: seen.rank,
            pid: Some(seen.pid),
            state,
            kernel: seen.kernel(),
            ..Observed::default()
        });
    }
    let document = evidence.verdict("processes");
    assert_eq!((document.verdict.kind.as_str(), document.verdict.roots.len(), document.stacks.len()), ("unclear", 0, 1));
    assert_eq!(document.stacks[0].ranks, [0, 1, 2]);
    ranks.iter_mut().for_each(|rank| {
        let _gone = rank.kill();
        rank.wait().expect("ended");
    });
}

#[test]
fn what_looks_at_python_is_asked_about_python_alone_and_not_waited_for() {
    let folder = std::env::temp_dir().join(format!("rankscope-witness-{}", std::process::id()));
    fs::create_dir_all(&folder).expect("a folder");
    let script = |name: &str, text: &str| {
        let path = folder.join(name);
        fs::write(&path, text).expect("written");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("made executable");
        path
    };
    // What is called like Python is taken for it.
    fs::copy("/bin/sleep", folder.join("python3")).expect("copied");
    let mut rank = Command::new(folder.join("python3")).arg("600").stdin(Stdio::null()).spawn().expect("started");
    wait_for(rank.id(), 'S');
    let prints = script("py-spy", "#!/bin/sh\necho \"Thread 1 (idle): \\\"MainThread\\\"\"\necho '    read (loader.py:3)'\n");
    let seen = process::look(rank.id(), Some(&prints), Duration::from_secs(10));
    assert!(seen.python.as_deref().is_some_and(|text| text.contains("loader.py")), "{seen:?}");
    let hangs = script("hangs", "#!/bin/sh\nexec sleep 60\n");
    let seen = process::look(rank.id(), Some(&hangs), Duration::from_millis(200));
    assert_eq!(seen.no_python.as_deref(), Some("took too long"));
    let fails = script("fails", "#!/bin/sh\necho 'Permission denied' >&2\nexit 1\n");
    let seen = process::look(rank.id(), Some(&fails), Duration::from_secs(10));
    assert_eq!(seen.no_python.as_deref(), Some("Permission denied"));
    rank.kill().expect("ended");
    rank.wait().expect("ended");
    let seen = process::look(std::process::id(), Some(&hangs), Duration::from_secs(10));
    assert!(seen.python.is_none() && seen.no_python.is_none(), "this is no Python");
    fs::remove_dir_all(&folder).expect("removed");
}
