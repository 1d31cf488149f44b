//! The one way in which a test says that it shows nothing on this machine.
//!
//! What a passing test prints is seldom shown, so the word is also left in the file that `RANKSCOPE_SKIPS` names, where whoever
//! runs all tests finds it and counts it. The test itself passes: whether something is missing here is not its business.

use std::fmt::Display;
use std::fs::OpenOptions;
use std::io::Write;
use std::panic::Location;

/// The variable that names the file, which is appended to: `place<TAB>test<TAB>why`, a line each.
pub const SKIPS: &str = "RANKSCOPE_SKIPS";

/// Says that the calling test, or the part of it that comes now, is skipped, and why.
///
/// # Panics
/// If the file that is to count it cannot be written: a skip that nobody sees reads as success.
#[track_caller]
#[expect(clippy::print_stderr, reason = "this is how a test says so")]
pub fn skipped(why: impl Display) {
    let (place, test) = (Location::caller(), test_name());
    let why = why.to_string().replace(['\n', '\t'], " ");
    eprintln!("{test} skipped: {why}");
    let Some(path) = std::env::var_os(SKIPS) else { return };
    let line = format!("{}\t{test}\t{why}\n", place.file());
    let mut file = OpenOptions::new().create(true).append(true).open(&path).expect("the file of skips can be opened");
    // In one piece: tests are processes and threads beside each other.
    file.write_all(line.as_bytes()).expect("the file of skips can be written");
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
    use std::process::Command;

    /// In a process of its own, because the environment belongs to all tests of this one.
    #[test]
    fn a_skip_is_left_where_it_is_counted() {
        const CHILD: &str = "RANKSCOPE_TEST_CHILD";
        let test = "skip::tests::a_skip_is_left_where_it_is_counted";
        if std::env::var_os(CHILD).is_some() {
            skipped("there is no moon\nhere");
            skipped("nor a sun");
            return;
        }
        let file = std::env::temp_dir().join(format!("rankscope-skips-{}", std::process::id()));
        let myself = std::env::current_exe().expect("a program");
        let child = Command::new(myself).args(["--exact", test]).env(CHILD, "1").env(SKIPS, &file).output();
        assert!(child.expect("started").status.success());
        let text = std::fs::read_to_string(&file).expect("written");
        std::fs::remove_file(&file).expect("there");
        let lines: Vec<Vec<&str>> = text.lines().map(|line| line.split('\t').collect()).collect();
        assert!(lines.iter().all(|line| line[0].ends_with("skip.rs") && line[1] == test), "{text}");
        assert_eq!(lines.iter().map(|line| line[2]).collect::<Vec<_>>(), ["there is no moon here", "nor a sun"]);
    }
}
