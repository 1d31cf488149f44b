//! Traces, plans and parts that a web server has: they are read by their names, nothing is listed, and what is made lies elsewhere.

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Output;
use std::sync::{Arc, Mutex};

use crate::common::{rankscope, write_job};
use crate::map_merge::{job, text};

/// Has the files of a folder, and nothing of what a better server could do. Runs until the test is over.
struct Server {
    address: SocketAddr,
    /// Requests, as `GET /rank0.json`.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn of(folder: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let (address, asked) = (listener.local_addr().expect("its address"), Arc::<Mutex<Vec<String>>>::default());
        let (folder, heard) = (folder.to_owned(), Arc::clone(&asked));
        std::thread::spawn(move || {
            for connection in listener.incoming().flatten() {
                let (folder, heard) = (folder.clone(), Arc::clone(&heard));
                // Who hangs up hangs up.
                std::thread::spawn(move || while answer(&connection, &folder, &heard).unwrap_or(false) {});
            }
        });
        Self { address, asked }
    }

    fn url(&self, name: &str) -> String {
        format!("http://{}/{name}", self.address)
    }

    fn was_asked_for(&self, what: &str) -> bool {
        self.asked.lock().expect("unpoisoned").iter().any(|line| line.starts_with(what))
    }
}

/// Answers one request; whether another may follow on this connection.
fn answer(mut connection: &TcpStream, folder: &Path, asked: &Mutex<Vec<String>>) -> std::io::Result<bool> {
    let mut lines = BufReader::new(connection).lines();
    let Some(first) = lines.next().transpose()? else { return Ok(false) };
    let rest: Vec<String> = lines.map_while(Result::ok).take_while(|line| !line.is_empty()).collect();
    let header = |name: &str| rest.iter().find_map(|line| line.to_ascii_lowercase().strip_prefix(name).map(str::to_owned));
    let words: Vec<&str> = first.split(' ').collect();
    asked.lock().expect("unpoisoned").push(words[..2].join(" "));
    let Ok(content) = fs::read(folder.join(words[1].trim_start_matches('/'))) else {
        write!(connection, "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")?;
        return Ok(true);
    };
    let range = header("range: bytes=");
    let (from, end) = range.as_deref().and_then(|range| range.split_once('-')).map_or((0, content.len()), |(from, last)| {
        let end = last.parse::<usize>().map_or(content.len(), |last| (last + 1).min(content.len()));
        (from.parse::<usize>().map_or(0, |from| from.min(end)), end)
    });
    let status = if range.is_some() { "206 Partial Content" } else { "200 OK" };
    write!(connection, "HTTP/1.1 {status}\r\ncontent-length: {}\r\netag: \"{}\"\r\n", end - from, content.len())?;
    write!(connection, "last-modified: Mon, 23 Nov 2026 10:00:00 GMT\r\n")?;
    if range.is_some() {
        write!(connection, "content-range: bytes {from}-{}/{}\r\n", end.saturating_sub(1), content.len())?;
    }
    write!(connection, "\r\n")?;
    if words[0] != "HEAD" {
        connection.write_all(&content[from..end])?;
    }
    Ok(true)
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A server of the traces of a job, of a plan of them, in `plan/`, and of what is copied there.
fn served() -> (tempfile::TempDir, Server) {
    let directory = write_job(&job());
    let server = Server::of(directory.path());
    let urls: Vec<String> = (0..4).map(|rank| server.url(&format!("rank{rank}.json"))).collect();
    let plan = directory.path().join("plan");
    let words = [&["plan"], &urls.iter().map(String::as_str).collect::<Vec<_>>()[..], &["--parts", text(&plan)]].concat();
    let planned = rankscope(&words);
    assert!(planned.status.success(), "{}", said(&planned));
    (directory, server)
}

#[test]
fn a_plan_of_a_web_server_is_gone_by_wherever_parts_go() {
    let ((directory, server), out) = (served(), tempfile::tempdir().expect("a temporary directory"));
    let parts = out.path().join("parts");
    for (plan, shard) in [("plan/plan.json", "2/2"), ("plan", "1/2")] {
        let mapped = rankscope(&["map", "--plan", &server.url(plan), "--parts", text(&parts), "--shard", shard]);
        assert!(mapped.status.success(), "{}", said(&mapped));
    }
    let merged = rankscope(&["merge", text(&parts), "--format", "json"]);
    assert!(merged.status.success(), "{}", said(&merged));
    // The parts are read there as well, once somebody has put them there.
    let copy: PathBuf = directory.path().join("copy");
    fs::create_dir(&copy).expect("made");
    for entry in fs::read_dir(&parts).expect("a folder").flatten() {
        fs::copy(entry.path(), copy.join(entry.file_name())).expect("copied");
    }
    let there = rankscope(&["merge", &server.url("copy"), "--format", "json"]);
    assert!(there.stdout == merged.stdout, "{}", said(&there));
}

#[test]
fn nothing_is_read_that_could_not_be_written_and_the_remedy_is_named() {
    let (_directory, server) = served();
    let refused = rankscope(&["map", "--parts", &server.url("plan"), "--shard", "1/2"]);
    let reason = said(&refused);
    assert!(reason.contains("nothing is written to web servers") && reason.contains("map --plan"), "{reason}");
    assert_eq!(refused.status.code(), Some(2), "trying again does not help");
    assert!(server.was_asked_for("GET /plan/plan.json") && !server.was_asked_for("GET /rank"), "no trace is read");
}
