//! `rankscope query` of a dataset behind a URL: the answers are those of its folder, and only what they need comes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use rankscope_testkit::{Dialect, Job, Need, given};
use serde_json::Value;

use super::proxy::Proxy;
use super::server::{self, Server};
use super::web::Web;
use super::{said, write_job};

const SET: &str = "s3://traces/set";

/// The folder of the engine, where there is one.
#[track_caller]
fn engine() -> Option<PathBuf> {
    Some(given(Need::SqlEngine)?.parent().expect("a folder").to_owned())
}

/// Has the program find the engine.
fn with_engine(mut command: Command, engine: &Path) -> Command {
    let rest = std::env::var_os("PATH").unwrap_or_default();
    let path = std::env::join_paths(std::iter::once(engine.to_owned()).chain(std::env::split_paths(&rest)));
    command.env("PATH", path.expect("a path"));
    command
}

fn query(engine: &Path, place: &str, sql: &str) -> Command {
    with_engine(server::program(&["query", place, sql, "--format", "json"]), engine)
}

/// The rows that `command` prints, in an order of their own: without ORDER BY they have none.
#[track_caller]
fn rows(mut command: Command) -> Vec<String> {
    let output = command.output().expect("runs");
    assert!(output.status.success(), "{}", said(&output));
    let Value::Array(rows) = serde_json::from_slice(&output.stdout).expect("JSON") else { panic!("not rows") };
    let mut rows: Vec<String> = rows.iter().map(ToString::to_string).collect();
    rows.sort();
    rows
}

/// A dataset of the job in `folder`, which is made.
fn write_dataset(folder: &Path) {
    let traces = tempfile::tempdir().expect("a folder");
    write_job(&traces.path().join("job"));
    write_dataset_of(&traces.path().join("job"), folder);
}

fn write_dataset_of(traces: &Path, folder: &Path) {
    let traces = traces.display().to_string();
    let done = server::program(&["report", &traces, "--parquet", &folder.display().to_string(), "--format", "json"]).output();
    let done = done.expect("runs");
    assert!(done.status.success(), "{}", said(&done));
}

fn events(dataset: &Path, rank: u32) -> PathBuf {
    dataset.join(format!("events/run=job/rank={rank}/part-0.parquet"))
}

fn length(file: &Path) -> u64 {
    fs::metadata(file).expect("a file").len()
}

/// Every table, every view and both functions.
const QUESTIONS: [&str; 8] = [
    "SHOW TABLES",
    "DESCRIBE events",
    "SELECT * FROM events WHERE rank IN (2, 5)",
    "SELECT c.*, r.* FROM collectives c JOIN ranks r USING (run, rank)",
    "SELECT s.*, c.* FROM steps s JOIN clock c USING (run, rank)",
    "SELECT s.*, k.* FROM class_sums s JOIN kernels k USING (run, rank)",
    "SELECT u.*, l.* FROM class_unions u JOIN lateness l USING (run, rank)",
    "SELECT e.rank, union_ns(e.ts_ns, e.ts_ns + e.dur_ns) AS u, \
     CAST(sum(overlap_ns(s.start_ns, s.end_ns, e.ts_ns, e.ts_ns + e.dur_ns)) AS BIGINT) AS o \
     FROM events e JOIN steps s USING (run, rank) WHERE s.step = 1 GROUP BY e.rank",
];

#[test]
fn a_bucket_answers_as_its_folder_does() {
    let (Some(engine), Some(server)) = (engine(), Server::start()) else { return };
    let folder = server.bucket("traces").join("set");
    write_dataset(&folder);
    for sql in QUESTIONS {
        let of_folder = rows(query(&engine, &folder.display().to_string(), sql));
        let of_bucket = rows(with_engine(server.command(&["query", SET, sql, "--format", "json"]), &engine));
        assert!(!of_folder.is_empty() && of_bucket == of_folder, "{sql}");
    }
}

#[test]
fn a_web_server_answers_as_its_folder_does_whether_or_not_it_gives_parts() {
    let Some(engine) = engine() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let dataset = folder.path().join("set");
    write_dataset(&dataset);
    let of_folder = QUESTIONS.map(|sql| rows(query(&engine, &dataset.display().to_string(), sql)));
    // It lists nothing, and what no list names is nowhere: a rank of a writing that failed is not read.
    let stale = dataset.join("events/run=job/rank=99");
    fs::create_dir(&stale).expect("made");
    fs::copy(events(&dataset, 1), stale.join("part-0.parquet")).expect("copied");
    for (gives_parts, questions) in [(true, 0..QUESTIONS.len()), (false, 2..4)] {
        let server = Web::of(folder.path(), gives_parts);
        for question in questions {
            let of_server = rows(query(&engine, &format!("{}/set/", server.url()), QUESTIONS[question]));
            assert_eq!(of_server, of_folder[question], "{}", QUESTIONS[question]);
        }
    }
}

#[test]
fn only_what_a_query_needs_is_fetched() {
    let Some(engine) = engine() else { return };
    let [traces, folder] = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    let job = Job { ranks: 4, steps: 60, ..Job::default() };
    let named = traces.path().join("job");
    fs::create_dir(&named).expect("made");
    for rank in 0..job.ranks {
        fs::write(named.join(format!("rank{rank}.json")), job.rank_bytes(rank, &Dialect::default())).expect("written");
    }
    write_dataset_of(&named, folder.path());
    let server = Web::of(folder.path(), true);
    let list = ("_rankscope_manifest.json".to_owned(), length(&folder.path().join("_rankscope_manifest.json")));
    let fetched = |sql: &str| {
        rows(query(&engine, &server.url(), sql));
        let mut sent = server.sent();
        assert_eq!(sent.remove(0), list, "the list comes first");
        sent
    };
    assert_eq!(fetched("DESCRIBE events"), [], "the list tells the columns");

    let of_all = fetched("SELECT max(err_ns) FROM events");
    for rank in 0..job.ranks {
        let file = events(folder.path(), rank);
        let name = file.strip_prefix(folder.path()).expect("below it").display().to_string();
        let bytes: u64 = of_all.iter().filter(|(of, _)| *of == name).map(|(_, bytes)| bytes).sum();
        assert!(0 < bytes && bytes * 2 < length(&file), "{bytes} of {} of rank {rank}", length(&file));
    }
    assert!(of_all.iter().all(|(name, _)| name.starts_with("events/")), "{of_all:?}");

    let of_one = fetched("SELECT sum(dur_ns) FROM events WHERE rank = 3");
    assert!(of_one.iter().all(|(name, _)| name.contains("/rank=3/")), "{of_one:?}");

    // What is short comes whole, once, for however many columns; of what is not, nothing comes twice.
    let clock = folder.path().join("clock/run=job/part-0.parquet");
    assert_eq!(fetched("SELECT * FROM clock"), [("clock/run=job/part-0.parquet".to_owned(), length(&clock))]);
    let of_one: u64 = fetched("SELECT * FROM events WHERE rank = 3").iter().map(|(_, bytes)| bytes).sum();
    assert!(of_one <= length(&events(folder.path(), 3)), "{of_one}");
}

#[test]
fn bodies_that_are_cut_are_read_on() {
    let (Some(engine), Some(server)) = (engine(), Server::start()) else { return };
    let folder = server.bucket("traces").join("set");
    write_dataset(&folder);
    let proxy = Proxy::to(server.address(), 6_000);
    let sql = "SELECT * FROM events WHERE rank IN (2, 5)";
    let mut of_bucket = with_engine(server.command(&["query", SET, sql, "--format", "json"]), &engine);
    of_bucket.env("AWS_ENDPOINT", proxy.url());
    assert!(rows(of_bucket) == rows(query(&engine, &folder.display().to_string(), sql)));
    assert!(proxy.cuts() >= 3, "{} cuts", proxy.cuts());
}

#[test]
fn a_file_that_is_not_the_listed_one_is_an_input_that_changed() {
    let (Some(engine), Some(server)) = (engine(), Server::start()) else { return };
    let folder = server.bucket("traces").join("set");
    write_dataset(&folder);
    let ask = || with_engine(server.command(&["query", SET, "SELECT name FROM events WHERE rank = 3"]), &engine);
    let is_change = |output: &Output, words: &[&str]| {
        let said = said(output);
        assert!(output.status.code() == Some(4) && said.contains("s3://traces/set/events/run=job/rank="), "{said}");
        assert!(output.stdout.is_empty() && words.iter().all(|word| said.contains(word)), "{said}");
    };
    // While it is read: as long as before, so that only the store's own word for its content tells.
    let (proxy, file) = (Proxy::to(server.address(), 6_000), events(&folder, 3));
    let other = fs::read(events(&folder, 4)).expect("a file");
    let listed = length(&file);
    let replaced = file.clone();
    proxy.at_first_cut_of("events/", move || {
        let mut bytes = fs::read(&replaced).expect("a file");
        bytes.reverse();
        fs::write(&replaced, bytes).expect("replaced");
    });
    is_change(&ask().env("AWS_ENDPOINT", proxy.url()).output().expect("runs"), &["changed", "Run the command again"]);
    // Before it was, as somebody does who writes the run again.
    fs::write(&file, &other[..other.len() - 1]).expect("replaced");
    let lengths = [other.len() as u64 - 1, listed].map(|bytes| bytes.to_string());
    is_change(&ask().output().expect("runs"), &[&lengths[0], &lengths[1], "--parquet"]);
}

#[test]
fn what_is_not_there_or_refused_is_said_with_the_remedy() {
    let (Some(engine), Some(server)) = (engine(), Server::start()) else { return };
    let folder = server.bucket("traces").join("set");
    write_dataset(&folder);
    fs::remove_file(events(&folder, 3)).expect("removed");
    let sql = "SELECT sum(dur_ns) FROM events";
    let ask = |place: &str, key: &str| {
        let mut command = with_engine(server.command(&["query", place, sql]), &engine);
        if !key.is_empty() {
            command.env("AWS_SECRET_ACCESS_KEY", key);
        }
        let output = command.output().expect("runs");
        let said = said(&output);
        assert!(output.status.code() == Some(1) && output.stdout.is_empty() && said.contains(place), "{place}: {said}");
        said
    };
    let missing = ask(SET, "");
    assert!(missing.contains("set/events/run=job/rank=3/part-0.parquet") && missing.contains("--parquet"), "{missing}");
    let refused = ask(SET, "a-wrong-secret");
    assert!(refused.contains("refused this key") && refused.contains("AWS_SECRET_ACCESS_KEY"), "{refused}");
    assert!(!refused.contains("a-wrong-secret"), "{refused}");
    let none = ask("s3://traces/none", "");
    assert!(
        none.contains("no dataset") && none.contains("_rankscope_manifest.json") && none.contains("no such object"),
        "{none}"
    );
    let bucket = ask("s3://nowhere/set", "");
    assert!(bucket.contains("the bucket nowhere does not exist"), "{bucket}");
    // The engine by itself says the same, whoever starts it.
    let mut alone = Command::new(engine.join("rankscope-sql"));
    alone.envs(server::credentials(&format!("http://{}", server.address()))).args(["s3://nowhere/set", sql]);
    let bucket = said(&alone.output().expect("runs"));
    assert!(bucket.contains("s3://nowhere/set") && bucket.contains("the bucket nowhere does not exist"), "{bucket}");
}
