//! Files of clock agents that are there are read, or their reader says why not.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use rankscope_pipeline::read_clocks;
use rankscope_testkit::{Need, skip};

#[test]
fn a_folder_without_clocks_has_none_and_one_that_is_shut_is_an_error() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    assert!(read_clocks(folder.path()).expect("a folder").is_none());
    let clock = folder.path().join("clock");
    fs::create_dir(&clock).expect("made");
    fs::write(clock.join("offsets.jsonl"), "").expect("written");
    fs::set_permissions(&clock, fs::Permissions::from_mode(0o000)).expect("shut");
    if fs::read_dir(&clock).is_ok() {
        return skip(Need::PlainUser, "this user may read every folder");
    }
    let error = read_clocks(folder.path()).expect_err("it is shut").to_string();
    fs::set_permissions(&clock, fs::Permissions::from_mode(0o700)).expect("opened");
    assert!(error.contains("clock"), "{error}");
}
