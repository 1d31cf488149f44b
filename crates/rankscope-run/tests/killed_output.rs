//! The writer of an output is killed: what it left goes when the next one writes there, and what is being written stays.

#![expect(clippy::print_stdout, clippy::unwrap_used, reason = "a test, whose child says when it has begun")]

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};

use rankscope_run::{Error, Outputs};

const WHERE: &str = "KILLED_OUTPUT_DIRECTORY";
const NAME: &str = "what_a_killed_writer_left_goes_with_the_next_output";

/// A process that has begun to write into `directory`, and does not end.
fn writer(directory: &Path) -> Child {
    let mut writer = Command::new(std::env::current_exe().unwrap())
        .args([NAME, "--exact", "--nocapture"])
        .env(WHERE, directory)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(writer.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("writing")));
    writer
}

fn temporary(directory: &Path) -> usize {
    let hidden = |entry: &std::fs::DirEntry| entry.file_name().to_string_lossy().starts_with(".rankscope-");
    std::fs::read_dir(directory).unwrap().map(Result::unwrap).filter(hidden).count()
}

#[test]
fn what_a_killed_writer_left_goes_with_the_next_output() {
    if let Some(directory) = std::env::var_os(WHERE) {
        let mut outputs = Outputs::into_directory(directory.as_ref()).unwrap();
        let never = outputs.write("big.json", |file| {
            file.write_all(&[b'x'; 1 << 16]).unwrap();
            file.flush().unwrap();
            println!("writing");
            loop {
                std::thread::park();
            }
            #[expect(unreachable_code, reason = "gives the closure its type")]
            Ok::<(), Error>(())
        });
        never.unwrap();
    }
    let directory = tempfile::tempdir().unwrap();
    let (mut killed, mut alive) = (writer(directory.path()), writer(directory.path()));
    assert_eq!(temporary(directory.path()), 2);
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert_eq!(temporary(directory.path()), 2, "nobody has written since");
    rankscope_run::write_file(&directory.path().join("next.json"), |file| {
        file.write_all(b"{}").map_err(|reason| Error::Io { path: "next.json".into(), reason })
    })
    .unwrap();
    assert_eq!(temporary(directory.path()), 1, "only that of the living is left");
    alive.kill().unwrap();
    alive.wait().unwrap();
}
