//! Programs that do what they should not, and one that is watched.

use std::io::{BufRead as _, BufReader};
use std::process::{Command, Stdio};

use rankscope_recording::{LivePage, PagePhase};
use rankscope_testkit::{Need, skip};

use crate::built::{Built, own, succeeded};

fn run(source: &str, says: &str) {
    let Some(built) = Built::new() else { return };
    let output = succeeded(&mut Command::new(built.program(&own("tests/c").join(source))));
    assert_eq!(String::from_utf8_lossy(&output.stdout).trim(), says);
}

#[test]
fn bad_input_is_refused_or_counted() {
    run("bad_input.c", "refused all of it");
}

#[test]
fn a_fork_harms_neither_side() {
    run("fork.c", "every fork went well");
}

#[test]
fn a_loader_in_c_learns_where_documents_should_lie() {
    run("plan.c", "planned and refused");
}

#[test]
fn spans_of_cpp_end_once_whatever_leaves_their_scope() {
    run("raii.cpp", "every span ended once");
}

#[test]
fn a_phase_that_c_marks_is_on_the_live_page() {
    let Some(built) = Built::new() else { return };
    let run = built.path("run");
    let mut command = Command::new(built.program(&own("tests/c/phases.c")));
    command.env("RANKSCOPE_RUN_DIR", &run).env("RANKSCOPE_RAW_DIR", run.join("raw")).env("RANK", "2");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut said).unwrap();
    let bytes = std::fs::read(run.join("live/rank-2.page")).unwrap();
    let state = LivePage::read(&bytes, &bytes).unwrap().state;
    assert_eq!((said.trim(), state.step, state.mark.phase), ("saving", 3, PagePhase::Checkpoint));
    drop(child.stdin.take());
    assert!(child.wait().unwrap().success());
}

/// What a refused call must not have read, and nothing that was asked for is left behind.
#[test]
fn bad_input_makes_no_access_that_memcheck_minds() {
    let Some(built) = Built::new() else { return };
    if Command::new("valgrind").arg("--version").output().is_err() {
        skip(Need::Valgrind, "valgrind is not installed");
        return;
    }
    let program = built.program(&own("tests/c/bad_input.c"));
    let mut memcheck = Command::new("valgrind");
    memcheck.args(["--quiet", "--error-exitcode=9", "--leak-check=no"]).arg(program);
    succeeded(&mut memcheck);
}
