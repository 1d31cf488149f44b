//! The one way in which a test says that it shows nothing on this machine.
//!
//! What a passing test prints is seldom shown, so the skip is also left in the file that `RANKSCOPE_SKIPS` names, where whoever
//! runs all tests finds it and counts it. The test itself passes, unless `RANKSCOPE_REQUIRE` lists what is missing: then whoever
//! runs it has said that this machine has it.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;
use std::panic::Location;
use std::path::PathBuf;

use crate::need::{Need, REQUIRE};

/// The variable that names the file, which is appended to: `place<TAB>test<TAB>need<TAB>why`, a line each.
pub const SKIPS: &str = "RANKSCOPE_SKIPS";

/// Says that the calling test, or the part of it that comes now, is skipped for want of `need`, and why.
///
/// # Panics
/// If `RANKSCOPE_REQUIRE` lists the need, or something that is none. If the file that is to count the skip cannot be written: a
/// skip that nobody sees reads as success.
#[track_caller]
#[expect(clippy::print_stderr, reason = "this is how a test says so")]
pub fn skip(need: Need, why: impl Display) {
    let (place, test) = (Location::caller(), test_name());
    let why = why.to_string().replace(['\n', '\t'], " ");
    if is_required(need) {
        panic!("{test} may not be skipped, since {REQUIRE} lists {need}: {why}");
    }
    eprintln!("{test} skipped for want of {need}: {why}");
    let Some(path) = std::env::var_os(SKIPS) else { return };
    let line = format!("{}\t{test}\t{need}\t{why}\n", place.file());
    let mut file = OpenOptions::new().create(true).append(true).open(&path).expect("the file of skips can be opened");
    // In one piece: tests are processes and threads beside each other.
    file.write_all(line.as_bytes()).expect("the file of skips can be written");
}

/// What the variable of `need` names, if it exists; else the test is skipped.
///
/// # Panics
/// As [`skip`] does, and for a need without a variable.
#[track_caller]
pub fn given(need: Need) -> Option<PathBuf> {
    let variable = need.variable().expect("a need that a variable names");
    let Some(path) = std::env::var_os(variable).map(PathBuf::from) else {
        skip(need, format_args!("{variable} is not set"));
        return None;
    };
    if !path.exists() {
        skip(need, format_args!("{variable} names {}, which does not exist", path.display()));
        return None;
    }
    Some(path)
}

#[track_caller]
fn is_required(need: Need) -> bool {
    match Need::list(&std::env::var(REQUIRE).unwrap_or_default()) {
        Ok(needs) => needs.contains(&need),
        Err(error) => panic!("{error}"),
    }
}

/// Tests run in threads of their name, but for those that run alone in their process: nextest says in the environment which.
fn test_name() -> String {
    let thread = std::thread::current();
    let of_thread = thread.name().filter(|name| *name != "main").map(str::to_owned);
    std::env::var("NEXTEST_TEST_NAME").ok().or(of_thread).unwrap_or_else(|| "a test".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Output};

    const CHILD: &str = "RANKSCOPE_TEST_CHILD";

    /// The test of this name, in a process of its own, because the environment belongs to all tests of this one.
    fn child(test: &str, variables: &[(&str, &str)]) -> Output {
        let myself = std::env::current_exe().expect("a program");
        let mut command = Command::new(myself);
        command.args(["--exact", test]).env(CHILD, "1").env_remove(REQUIRE).env_remove("NEXTEST_TEST_NAME");
        command.envs(variables.iter().copied()).output().expect("started")
    }

    #[test]
    fn a_skip_is_left_where_it_is_counted() {
        let test = "skip::tests::a_skip_is_left_where_it_is_counted";
        if std::env::var_os(CHILD).is_some() {
            skip(Need::Mount, "there is no moon\nhere");
            skip(Need::Etcd, "nor a sun");
            return;
        }
        let file = std::env::temp_dir().join(format!("rankscope-skips-{}", std::process::id()));
        let output = child(test, &[(SKIPS, file.to_str().expect("a path")), (REQUIRE, "corpus")]);
        assert!(output.status.success(), "{output:?}");
        let text = std::fs::read_to_string(&file).expect("written");
        std::fs::remove_file(&file).expect("there");
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
        assert!(lines.iter().all(|line| line[0].ends_with("skip.rs") && line[1] == test), "{text}");
        let left: Vec<&[&str]> = lines.iter().map(|line| &line[2..]).collect();
        assert_eq!(left, [["mount", "there is no moon here"], ["etcd", "nor a sun"]]);
    }

    #[test]
    fn what_is_required_is_not_skipped() {
        let test = "skip::tests::what_is_required_is_not_skipped";
        if std::env::var_os(CHILD).is_some() {
            let nothing = given(Need::Corpus);
            assert_eq!(nothing, None);
            return;
        }
        let nowhere = (Need::Corpus.variable().expect("it has one"), "/no/such/folder");
        assert!(child(test, &[nowhere]).status.success());
        for (required, said) in [("corpus", "lists corpus: RANKSCOPE_CORPUS names /no/such/folder"), ("corps", "\"corps\"")] {
            let output = child(test, &[nowhere, (REQUIRE, required)]);
            assert!(!output.status.success());
            let output = [output.stdout, output.stderr].concat();
            assert!(String::from_utf8_lossy(&output).contains(said), "{}", String::from_utf8_lossy(&output));
        }
    }
}
