use std::fs::File;

use super::*;

fn new_run(restart: u32) -> NewRun {
    NewRun {
        run_id: "job-7".to_owned(),
        command: vec!["torchrun".to_owned(), "train.py".to_owned()],
        world_size: Some(2),
        reference_node: 0,
        restart,
    }
}

fn part(node: u32, ranks: &[u32]) -> NodePart {
    let entry = |rank: &u32| RankEntry { rank: *rank, node: 99, host: None, pid: Some(40 + rank) };
    NodePart { node, host: format!("host-{node}"), ranks: ranks.iter().map(entry).collect() }
}

#[test]
fn a_run_is_written_ended_and_read() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("a/run");
    let mut run = RunDirectory::create(&path, new_run(0)).unwrap();
    assert_eq!(RunDirectory::open(&path).unwrap().manifest().state, State::Running);
    fs::write(run.raw().join("rank-0.json"), "{}").unwrap();
    node_part(&path, &part(1, &[1])).unwrap();
    node_part(&path, &part(0, &[0])).unwrap();
    run.update(|manifest| drop(manifest.versions.insert("torch".to_owned(), "2.9".to_owned()))).unwrap();
    run.finish(Exit::Code(0)).unwrap();

    let read = RunDirectory::open(&path).unwrap();
    assert!(read.problems().is_empty());
    let manifest = read.manifest();
    assert_eq!((manifest.state, manifest.world_size, manifest.schema), (State::Finished, Some(2), 1));
    assert_eq!(manifest.versions.get("torch").map(String::as_str), Some("2.9"));
    let ranks: Vec<_> = manifest.ranks.iter().map(|rank| (rank.rank, rank.node, rank.host.as_deref(), rank.pid)).collect();
    assert_eq!(ranks, [(0, 0, Some("host-0"), Some(40)), (1, 1, Some("host-1"), Some(41))]);
    let files: Vec<_> = manifest.files.iter().map(|file| (file.path.as_str(), file.bytes)).collect();
    assert_eq!(files.iter().find(|(path, _)| *path == "raw/rank-0.json"), Some(&("raw/rank-0.json", 2)));
    let attempt = &manifest.attempts[0];
    assert_eq!(attempt.exit, Some(Exit::Code(0)));
    assert!(attempt.started_unix_ns > 0 && attempt.ended_unix_ns >= Some(attempt.started_unix_ns));
}

#[test]
fn a_run_whose_writer_died_goes_on_as_a_further_attempt() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path();
    let run = RunDirectory::create(path, new_run(0)).unwrap();
    fs::write(run.raw().join("rank-0.json"), "first").unwrap();
    drop(run);
    assert_eq!(RunDirectory::open(path).unwrap().manifest().state, State::Ended);

    let run = RunDirectory::create(path, new_run(0)).unwrap();
    fs::write(run.raw().join("rank-0.json"), "second").unwrap();
    assert_eq!(fs::read_to_string(run.raw().join("attempt-0/rank-0.json")).unwrap(), "first");
    assert_eq!(run.manifest().attempts.iter().map(|attempt| attempt.number).collect::<Vec<_>>(), [0, 1]);
    assert_eq!(run.manifest().attempts[0].ended_unix_ns, None);
    let read: Vec<_> = crate::discover(&[path.to_owned()]).unwrap().into_iter().map(|file| file.path).collect();
    assert_eq!(read, [run.raw().join("rank-0.json")], "earlier attempts are no ranks of this one");
}

#[test]
fn what_ranks_said_of_an_earlier_attempt_is_not_said_of_this_one() {
    let parent = tempfile::tempdir().unwrap();
    let mut run = RunDirectory::create(parent.path(), new_run(0)).unwrap();
    node_part(parent.path(), &part(7, &[1])).unwrap();
    run.update(|manifest| manifest.attempts[0].ends = vec![RankEnd::new(1, Ending::Failed)]).unwrap();
    run.finish(Exit::Code(1)).unwrap();
    assert_eq!(run.first_failure().map(|failure| (failure.rank, failure.host)), Some((Some(1), Some("host-7".to_owned()))));
    drop(run);
    let mut run = RunDirectory::create(parent.path(), new_run(1)).unwrap();
    run.finish(Exit::Code(2)).unwrap();
    assert!(run.manifest().nodes.is_empty() && parent.path().join("nodes/attempt-0/node-7.json").exists());
    assert_eq!(run.first_failure().map(|failure| (failure.rank, failure.exit)), Some((None, Some(Exit::Code(2)))));
    assert_eq!(run.attempts()[0].ends.len(), 1);
}

#[test]
fn moves_that_were_cut_short_are_made_by_the_next_attempt() {
    let parent = tempfile::tempdir().unwrap();
    let run = RunDirectory::create(parent.path(), new_run(0)).unwrap();
    fs::create_dir(run.raw().join("attempt-0")).unwrap();
    fs::write(run.raw().join("attempt-0/rank-0.json"), "moved").unwrap();
    fs::write(run.raw().join("rank-0.json"), "of the same name").unwrap();
    fs::write(run.raw().join("rank-1.json"), "left").unwrap();
    drop(run);
    let aside = RunDirectory::create(parent.path(), new_run(0)).unwrap().raw().join("attempt-0");
    let text = |name: &str| fs::read_to_string(aside.join(name)).unwrap();
    assert_eq!([text("rank-0.json"), text("2-rank-0.json"), text("rank-1.json")], ["moved", "of the same name", "left"]);
}

#[test]
fn what_is_there_and_is_no_attempt_of_this_run_stays() {
    let parent = tempfile::tempdir().unwrap();
    let at = |name: &str| parent.path().join(name);
    let ended = |name: &str, exit| {
        RunDirectory::create(&at(name), new_run(0)).unwrap().finish(exit).unwrap();
        RunDirectory::create(&at(name), new_run(0)).unwrap_err()
    };
    assert!(matches!(ended("fine", Exit::Code(0)), Error::RunOver { failed: false, .. }));
    assert!(matches!(ended("failed", Exit::Signal(9)), Error::RunOver { failed: true, .. }));
    assert_eq!(RunDirectory::create(&at("failed"), new_run(1)).unwrap().manifest().attempts.len(), 2);

    let other = NewRun { run_id: "other".to_owned(), ..new_run(0) };
    assert!(matches!(RunDirectory::create(&at("failed"), other), Err(Error::OtherRun { .. })));
    fs::create_dir(at("home")).unwrap();
    fs::write(at("home/thesis.txt"), "").unwrap();
    assert!(matches!(RunDirectory::create(&at("home"), new_run(0)), Err(Error::Occupied { .. })));
    assert_eq!(fs::read_dir(at("home")).unwrap().count(), 1, "nothing was put there");

    let held = RunDirectory::create(&at("held"), new_run(0)).unwrap();
    assert!(matches!(RunDirectory::create(&at("held"), new_run(0)), Err(Error::RunInUse { .. })));
    let mut reader = RunDirectory::open(&at("held")).unwrap();
    assert!(matches!(reader.update(|_| ()), Err(Error::NotTheWriter { .. })));
    drop(held);
}

#[test]
fn nodes_that_come_before_the_one_that_leads_are_no_strangers() {
    let parent = tempfile::tempdir().unwrap();
    live_part(parent.path(), &part(1, &[3])).unwrap();
    node_part(parent.path(), &part(2, &[4])).unwrap();
    fs::create_dir(parent.path().join("raw")).unwrap();
    let run = RunDirectory::create(parent.path(), new_run(0)).unwrap();
    assert_eq!(live_parts(run.path()), [part(1, &[3])]);
    live_part_ended(run.path(), 1);
    assert_eq!(live_parts(run.path()), []);
}

#[test]
fn keys_of_a_newer_program_are_kept() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("run.json");
    let text = r#"{"schema":1,"run_id":"job-7","state":"paused","cost":{"eur":3},
        "attempts":[{"number":0,"started_unix_ns":5,"queue":"long","ends":[{"rank":3,"how":"preempted","core":"c.3"}]}],"nodes":[{"node":0,"host":"a","rack":4}]}"#;
    fs::write(&path, text).unwrap();
    let mut run = RunDirectory::create(parent.path(), new_run(0)).unwrap();
    run.update(|manifest| manifest.nodes.push(NodeEntry { node: 1, host: "b".to_owned() })).unwrap();
    let written: serde_json::Value = serde_json::from_reader(File::open(&path).unwrap()).unwrap();
    assert_eq!(written["cost"]["eur"], 3);
    assert_eq!(written["attempts"][0]["queue"], "long");
    assert_eq!(written["attempts"][0]["ends"][0]["core"], "c.3");
    assert_eq!(written["attempts"][1]["queue"], serde_json::Value::Null);
    assert_eq!(written["state"], "running");
}

#[test]
fn damage_is_named_with_its_place() {
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("run.json");
    let mut run = RunDirectory::create(parent.path(), new_run(0)).unwrap();
    run.update(|manifest| manifest.command.push("an argument".to_owned())).unwrap();
    let whole = fs::read(&path).unwrap();
    for length in 0..whole.len() - 2 {
        fs::write(&path, &whole[..length]).unwrap();
        match RunDirectory::open(parent.path()).unwrap_err() {
            Error::DamagedManifest { offset, bytes, .. } => assert_eq!((offset, bytes), (length, length)),
            other => panic!("{other}"),
        }
    }
    fs::write(&path, r#"{"schema":2,"run_id":"x"}"#).unwrap();
    assert!(matches!(RunDirectory::open(parent.path()), Err(Error::LaterSchema { schema: 2, .. })));
    fs::write(&path, "{\n\"schema\":1,\n\"run_id\":7}").unwrap();
    let error = RunDirectory::open(parent.path()).unwrap_err().to_string();
    assert!(error.contains("damaged at byte 24 of 25: invalid type"), "{error}");
    assert!(matches!(RunDirectory::open(&parent.path().join("none")), Err(Error::NotARun { .. })));
}

#[test]
fn a_damaged_part_costs_only_itself() {
    let parent = tempfile::tempdir().unwrap();
    drop(RunDirectory::create(parent.path(), new_run(0)).unwrap());
    node_part(parent.path(), &part(0, &[0, 1])).unwrap();
    fs::write(parent.path().join("nodes/node-1.json"), "{\"node\":1,").unwrap();
    let run = RunDirectory::open(parent.path()).unwrap();
    assert_eq!((run.manifest().nodes.len(), run.manifest().ranks.len(), run.problems().len()), (1, 2, 1));
    node_part(parent.path(), &part(0, &[0])).unwrap();
    assert_eq!(RunDirectory::open(parent.path()).unwrap().manifest().ranks.len(), 1, "the last word counts");
}

#[test]
fn files_are_compared_with_what_they_were() {
    let parent = tempfile::tempdir().unwrap();
    let mut run = RunDirectory::create(parent.path(), new_run(0)).unwrap();
    for name in ["rank-0.json", "rank-1.json", "rank-2.json"] {
        fs::write(run.raw().join(name), name).unwrap();
    }
    std::os::unix::fs::symlink("/etc/hostname", run.raw().join("link.json")).unwrap();
    run.finish(Exit::Code(0)).unwrap();
    assert_eq!(run.check_files().unwrap(), FileCheck { intact: 3, ..FileCheck::default() });

    fs::write(run.raw().join("rank-0.json"), "RANK-0.json").unwrap();
    fs::remove_file(run.raw().join("rank-1.json")).unwrap();
    fs::write(run.timeline(), "new").unwrap();
    let check = run.check_files().unwrap();
    assert!(!check.is_whole());
    assert_eq!(
        (check.intact, check.missing, check.changed),
        (1, vec!["raw/rank-1.json".into()], vec!["raw/rank-0.json".into()])
    );
    assert_eq!(check.extra, ["timeline.pftrace"]);
    run.seal().unwrap();
    assert!(run.check_files().unwrap().is_whole());

    let outside = FileEntry { path: "../../etc/hostname".to_owned(), bytes: 0, blake3: String::new() };
    run.update(|manifest| manifest.files.push(outside)).unwrap();
    assert_eq!(run.check_files().unwrap().missing, ["../../etc/hostname"]);
}
