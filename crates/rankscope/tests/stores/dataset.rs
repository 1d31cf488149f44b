//! A dataset in a bucket is, object by object, the one that a folder has.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::server::{self, Server};
use super::{RUN, said, with_job, write_job};

const SET: &str = "s3://traces/set";

/// All files below `folder`, by their places in it.
fn files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    let mut found = BTreeMap::new();
    let mut left = vec![folder.to_owned()];
    while let Some(next) = left.pop() {
        for entry in fs::read_dir(&next).expect("a folder") {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                left.push(path);
            } else {
                let place = path.strip_prefix(folder).expect("below it").display().to_string();
                found.insert(place, fs::read(&path).expect("readable"));
            }
        }
    }
    found
}

/// The dataset of the same traces as files of the same names.
fn of_files() -> BTreeMap<String, Vec<u8>> {
    let there = tempfile::tempdir().expect("a folder");
    write_job(&there.path().join("s3:/traces/run"));
    let args = ["report", RUN, "--parquet", "set", "--format", "json"];
    let output = server::program(&args).current_dir(there.path()).output().expect("runs");
    assert!(output.status.success(), "{}", said(&output));
    files(&there.path().join("set"))
}

#[track_caller]
fn done(server: &Server, args: &[&str]) -> String {
    let output = server.run(args);
    assert!(output.status.success(), "{args:?}: {}", said(&output));
    String::from_utf8(output.stdout).expect("text")
}

#[track_caller]
fn assert_same(server: &Server, wanted: &BTreeMap<String, Vec<u8>>) {
    let written = files(&server.bucket("traces").join("set"));
    assert_eq!(written.keys().collect::<Vec<_>>(), wanted.keys().collect::<Vec<_>>());
    let other = wanted.iter().find(|(name, bytes)| &written[*name] != *bytes);
    assert!(other.is_none(), "{:?}", other.map(|(name, _)| name));
}

#[test]
fn a_report_writes_it_and_leaves_nothing_of_an_earlier_one() {
    let Some(server) = with_job() else { return };
    let stale = server.bucket("traces").join("set/events/run=run/rank=77");
    fs::create_dir_all(&stale).expect("a folder");
    fs::write(stale.join("part-0.parquet"), "of a rank that is no more").expect("written");
    done(&server, &["report", RUN, "--parquet", SET, "--format", "json"]);
    assert_same(&server, &of_files());
}

#[test]
fn a_merge_and_a_second_map_write_it_too() {
    let Some(server) = with_job() else { return };
    done(&server, &["map", RUN, "--parts", "s3://traces/parts"]);
    done(&server, &["merge", "s3://traces/parts", "--parquet", SET, "--format", "json"]);
    let events = |shard: &str| {
        let args = ["map", "--parts", "s3://traces/parts", "--dataset", SET, "--shard", shard, "--format", "json"];
        done(&server, &args)
    };
    assert!(events("2/3").contains("\"done_before\":0"));
    assert!(events("2/3").contains("\"done_before\":2"), "what is done is not done again");
    assert!(events("3/3").contains("\"missing\":3"));
    assert!(events("1/3").contains("\"missing\":0"));
    assert_same(&server, &of_files());
    assert!(events("1/3").contains("\"done_before\":3"), "what is listed is not done again either");
}
