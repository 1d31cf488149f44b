//! Archives side by side: as many as there are, of whatever kind, on however many threads, none waits for another.

use std::fs::File;
use std::io::{Cursor, Write};
use std::path::Path;
use std::time::Duration;

use crate::process::command;
use assert_cmd::Command;
use rankscope_testkit::{Dialect, Job};
use serde_json::Value;

#[derive(Clone, Copy)]
enum Kind {
    Tar,
    TarGz,
    Zip,
}

impl Kind {
    fn suffix(self) -> &'static str {
        match self {
            Self::Tar => "tar",
            Self::TarGz => "tar.gz",
            Self::Zip => "zip",
        }
    }

    fn write(self, path: &Path, members: &[(String, Vec<u8>)]) {
        let file = File::create(path).expect("created");
        match self {
            Self::Tar => tar(file, members),
            Self::TarGz => tar(flate2::write::GzEncoder::new(file, flate2::Compression::fast()), members),
            Self::Zip => {
                let mut archive = zip::ZipWriter::new(file);
                for (name, bytes) in members {
                    archive.start_file(name, zip::write::SimpleFileOptions::default()).expect("started");
                    archive.write_all(bytes).expect("written");
                }
                archive.finish().expect("finished");
            }
        }
    }
}

fn tar(output: impl Write, members: &[(String, Vec<u8>)]) {
    let mut archive = tar::Builder::new(output);
    for (name, bytes) in members {
        let mut header = tar::Header::new_gnu();
        header.set_size(bytes.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, name, Cursor::new(bytes)).expect("appended");
    }
    archive.into_inner().expect("finished").flush().expect("flushed");
}

/// A job of `ranks` whose traces lie in `archives` archives of `kind`.
fn archived(kind: Kind, ranks: u32, archives: u32) -> tempfile::TempDir {
    let job = Job { ranks, steps: 1, layers: 1, ops_per_step: 4, ..Job::default() };
    let directory = tempfile::tempdir().expect("a temporary directory");
    for archive in 0..archives {
        let members: Vec<_> = (0..ranks)
            .filter(|rank| rank % archives == archive)
            .map(|rank| (format!("rank{rank}.json"), job.rank_bytes(rank, &Dialect::default())))
            .collect();
        kind.write(&directory.path().join(format!("part{archive}.{}", kind.suffix())), &members);
    }
    directory
}

/// Runs the binary on `threads` threads. One that hangs is killed, long after any machine would have been done.
fn run(threads: u32, args: &[&str]) -> Vec<u8> {
    let mut command = Command::from_std(command(args));
    let command = command.env("RAYON_NUM_THREADS", threads.to_string()).timeout(Duration::from_secs(60));
    let output = command.output().expect("runs");
    assert!(output.status.success(), "{args:?} on {threads} threads: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

#[test]
fn any_number_of_archives_is_read_on_any_number_of_threads() {
    for kind in [Kind::Tar, Kind::TarGz, Kind::Zip] {
        for (ranks, archives) in [(4, 1), (4, 2), (64, 64)] {
            let directory = archived(kind, ranks, archives);
            let path = directory.path().display().to_string();
            for threads in [1, 2, 8] {
                let document: Value =
                    serde_json::from_slice(&run(threads, &["report", &path, "--format", "json"])).expect("one document");
                assert_eq!(document["ranks"].as_array().map(Vec::len), Some(ranks as usize), "{archives} on {threads}");
            }
        }
    }
}

#[test]
fn every_verb_reads_archives_side_by_side() {
    let directory = archived(Kind::TarGz, 8, 8);
    let path = directory.path().display().to_string();
    let out = tempfile::tempdir().expect("a temporary directory");
    let place = |name: &str| out.path().join(name).display().to_string();
    let (aligned, combined) = (place("aligned"), place("all.pftrace"));
    for threads in [1, 2] {
        run(threads, &["align", &path, "--out", &aligned]);
        run(threads, &["combine", &path, "-o", &combined]);
        run(threads, &["validate", &path]);
    }
}

#[test]
fn an_archive_within_an_archive_is_refused_and_the_rest_is_read() {
    let job = Job { ranks: 1, steps: 1, layers: 1, ops_per_step: 4, ..Job::default() };
    let member = ("rank0.json".to_owned(), job.rank_bytes(0, &Dialect::default()));
    let mut inner = Vec::new();
    tar(&mut inner, std::slice::from_ref(&member));
    let directory = tempfile::tempdir().expect("a temporary directory");
    let path = directory.path().join("all.zip");
    Kind::Zip.write(&path, &[("inner.json".to_owned(), inner), member]);
    let document = crate::common::report(&path, &["--partial"]);
    assert_eq!(document["ranks"].as_array().map(Vec::len), Some(1));
}
