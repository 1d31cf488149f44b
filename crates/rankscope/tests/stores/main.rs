//! The binary on buckets: what it says of objects is what it says of files, to the byte, and what goes wrong there has a remedy.
//!
//! Files and objects can have one name: in a working directory that holds a folder `s3:`, `s3://bucket/run` is a path like others. So
//! what is said of both is compared as it is.

#[cfg(feature = "parquet")]
mod dataset;
mod proxy;
#[cfg(feature = "parquet")]
mod query;
mod server;
#[cfg(feature = "parquet")]
mod web;

use std::fs;
use std::path::Path;
use std::process::Output;

use flate2::Compression;
use flate2::write::GzEncoder;
use proxy::Proxy;
use rankscope_testkit::{Dialect, Job, Straggler};
use server::Server;

const RUN: &str = "s3://traces/run";
const REPORT: [&str; 4] = ["report", RUN, "--format", "json"];

fn job() -> Job {
    Job { ranks: 7, steps: 4, straggler: Some(Straggler { rank: 2, factor: 1.3 }), ..Job::default() }
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    std::io::Write::write_all(&mut encoder, bytes).expect("memory");
    encoder.finish().expect("memory")
}

/// A job's traces in `folder`, every other one compressed, and what is none.
fn write_job(folder: &Path) {
    fs::create_dir_all(folder).expect("a folder");
    for rank in 0..job().ranks {
        let bytes = job().rank_bytes(rank, &Dialect::default());
        match rank % 2 {
            0 => fs::write(folder.join(format!("rank{rank}.json")), bytes),
            _ => fs::write(folder.join(format!("rank{rank}.json.gz")), gzip(&bytes)),
        }
        .expect("written");
    }
    fs::write(folder.join("notes.json"), "{}").expect("written");
}

/// What is said of the same traces as files of the same names.
fn said_of_files(args: &[&str]) -> Output {
    let there = tempfile::tempdir().expect("a folder");
    write_job(&there.path().join("s3:/traces/run"));
    let output = server::program(args).current_dir(there.path()).output().expect("runs");
    assert!(output.status.success(), "{}", said(&output));
    output
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).trim().to_owned()
}

/// A server whose bucket `traces` holds a job.
#[track_caller]
fn with_job() -> Option<Server> {
    let server = Server::start()?;
    write_job(&server.bucket("traces").join("run"));
    Some(server)
}

#[test]
fn a_bucket_is_reported_on_as_files_of_its_names_are() {
    let Some(server) = with_job() else { return };
    let of_files = said_of_files(&REPORT);
    let of_bucket = server.run(&REPORT);
    assert!(of_bucket.stdout == of_files.stdout, "{}", said(&of_bucket));
    let pattern = server.run(&["report", "s3://traces/r*/rank*.json*", "--format", "json"]);
    assert!(pattern.status.success(), "{}", said(&pattern));
}

#[test]
fn shards_mapped_in_any_order_are_merged_to_the_same_bytes() {
    let Some(server) = with_job() else { return };
    let of_files = said_of_files(&REPORT);
    let map = |shard: u32| {
        let shard = format!("{shard}/7");
        server.command(&["map", RUN, "--parts", "s3://traces/parts", "--shard", &shard])
    };
    for shard in [5, 2, 7, 1, 6] {
        let output = map(shard).output().expect("runs");
        assert!(output.status.success(), "{}", said(&output));
    }
    // Nothing is there of what is not mapped, and a task that is killed leaves nothing.
    let early = server.run(&["merge", "s3://traces/parts", "--format", "json"]);
    assert!(early.status.code() == Some(1) && said(&early).contains("2 of 8 inputs are not mapped"), "{}", said(&early));
    let mut killed = map(3).spawn().expect("runs");
    killed.kill().expect("killed");
    killed.wait().expect("gone");
    // Two do one shard at once.
    let both = [map(3), map(3)].map(|mut command| command.spawn().expect("runs"));
    for child in both {
        let output = child.wait_with_output().expect("ends");
        assert!(output.status.success(), "{}", said(&output));
    }
    assert!(map(4).status().expect("runs").success());
    let again = server.run(&["map", RUN, "--parts", "s3://traces/parts", "--format", "json"]);
    assert!(String::from_utf8_lossy(&again.stdout).contains("\"done_before\":8"), "{}", said(&again));
    for verb in ["merge", "report"] {
        let merged = server.run(&[verb, "s3://traces/parts", "--format", "json"]);
        assert!(merged.stdout == of_files.stdout, "{verb}: {}", said(&merged));
    }
}

#[test]
fn reports_are_written_into_a_bucket() {
    let Some(server) = with_job() else { return };
    let output = server.run(&["report", RUN, "--out", "s3://traces/out"]);
    assert!(output.status.success(), "{}", said(&output));
    let of_files = said_of_files(&REPORT);
    let read = |name: &str| fs::read(server.bucket("traces").join("out").join(name)).expect("written");
    assert!(read("report.json").trim_ascii_end() == of_files.stdout.trim_ascii_end());
    assert!(!read("timeline.pftrace").is_empty() && !read("report.html").is_empty());
}

#[test]
fn a_listing_of_many_pages_is_read_to_its_end() {
    let Some(server) = with_job() else { return };
    let folder = server.bucket("traces").join("run");
    for number in 0..2_500 {
        fs::write(folder.join(format!("note-{number:04}.txt")), "").expect("written");
    }
    assert!(server.run(&REPORT).stdout == said_of_files(&REPORT).stdout, "traces come after all notes");
}

#[test]
fn bodies_that_are_cut_in_the_middle_of_gzip_are_read_on() {
    let Some(server) = with_job() else { return };
    let proxy = Proxy::to(server.address(), 40_000);
    let output = server.command(&REPORT).env("AWS_ENDPOINT", proxy.url()).output().expect("runs");
    assert!(output.stdout == said_of_files(&REPORT).stdout, "{}", said(&output));
    assert!(proxy.cuts() >= 3, "{} cuts", proxy.cuts());
}

#[test]
fn an_object_that_is_replaced_while_it_is_read_is_an_input_that_changed() {
    let Some(server) = with_job() else { return };
    let object = server.bucket("traces").join("run/rank1.json.gz");
    let proxy = Proxy::to(server.address(), 40_000);
    let other = gzip(&job().rank_bytes(3, &Dialect::default()));
    proxy.at_first_cut_of("rank1.json.gz", move || fs::write(&object, &other).expect("replaced"));
    let output = server.command(&REPORT).env("AWS_ENDPOINT", proxy.url()).output().expect("runs");
    let said = said(&output);
    assert!(output.status.code() == Some(4), "{:?}: {said}", output.status);
    assert!(said.contains("rank1.json.gz") && said.contains("changed"), "{said}");
}

#[test]
fn what_a_store_refuses_is_said_with_the_remedy() {
    let Some(server) = with_job() else { return };
    let output = server.command(&REPORT).env("AWS_SECRET_ACCESS_KEY", "a-wrong-secret").output().expect("runs");
    let wrong = said(&output);
    assert!(output.status.code() == Some(1) && wrong.starts_with("rankscope: s3://traces/run: "), "{wrong}");
    assert!(wrong.contains("refused this key") && wrong.contains("AWS_ACCESS_KEY_ID"), "{wrong}");
    assert!(!wrong.contains("a-wrong-secret") && !wrong.contains(server::KEY), "{wrong}");

    let output = server.run(&["report", "s3://nowhere/run"]);
    assert!(
        output.status.code() == Some(1) && said(&output).contains("the bucket nowhere does not exist"),
        "{}",
        said(&output)
    );
    let output = server.run(&["report", "s3://traces/none"]);
    assert!(output.status.code() == Some(1) && said(&output).contains("there is no such object"), "{}", said(&output));
}

#[test]
fn what_the_environment_lacks_is_said_with_the_remedy() {
    // Nobody is asked: no server is needed.
    let endpoint = "http://127.0.0.1:9";
    let plain = server::program(&REPORT).env("AWS_ENDPOINT", endpoint).output().expect("runs");
    assert!(plain.status.code() == Some(2) && said(&plain).contains("AWS_ALLOW_HTTP=true"), "{}", said(&plain));
    let profile = server::program(&REPORT).env("AWS_PROFILE", "work").output().expect("runs");
    assert!(said(&profile).contains("aws configure export-credentials --format env"), "{}", said(&profile));
    let secret = server::program(&["report", "https://me:hush@host/rank0.json"]).output().expect("runs");
    assert!(secret.status.code() == Some(2) && !said(&secret).contains("hush"), "{}", said(&secret));
    let unreachable = server::program(&REPORT).envs(server::credentials(endpoint)).output().expect("runs");
    assert!(unreachable.status.code() == Some(1) && said(&unreachable).contains("cannot be reached"), "{}", said(&unreachable));
}

#[test]
fn an_expired_token_is_told_from_a_wrong_key() {
    let endpoint = proxy::always("400 Bad Request", "<Error><Code>ExpiredToken</Code><Token>hush</Token></Error>");
    let output = server::program(&REPORT).envs(server::credentials(&endpoint)).output().expect("runs");
    let said = said(&output);
    assert!(said.contains("have expired (ExpiredToken)") && !said.contains("hush"), "{said}");
}

#[test]
fn a_file_url_is_a_path() {
    let there = tempfile::tempdir().expect("a folder");
    write_job(there.path());
    let path = there.path().display().to_string();
    let [of_path, of_url] = [path.clone(), format!("file://{path}")]
        .map(|place| server::program(&["report", &place, "--format", "json"]).output().expect("runs"));
    let name = |output: &Output| String::from_utf8_lossy(&output.stdout).replace("file://", "");
    assert!(of_path.status.success() && name(&of_url) == name(&of_path), "{}", said(&of_url));
}
