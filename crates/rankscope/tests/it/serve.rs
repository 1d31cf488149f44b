//! `rankscope serve` and `open`, asked over real sockets.

#![cfg(all(target_os = "linux", feature = "clock"))]
#![expect(clippy::unwrap_used, reason = "what fails here fails the test")]

use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::thread;

use rankscope_testkit::{Dialect, Job};
use serde_json::Value;

use crate::common::{failure, rankscope};
use crate::process::{command, ended, signal, wait_for};

/// A server that runs until it is dropped.
struct Server {
    child: Option<Child>,
    address: SocketAddr,
    url: String,
}

impl Server {
    fn start(arguments: &[&str]) -> Self {
        let mut child = command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut url = String::new();
        BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut url).unwrap();
        let host = url.trim().trim_start_matches("http://").split('/').next().unwrap().to_owned();
        let address = host.parse().unwrap_or_else(|_| panic!("{url:?}"));
        Self { child: Some(child), address, url: url.trim().to_owned() }
    }

    /// Over `folder`, at a free port.
    fn over(folder: &Path, more: &[&str]) -> Self {
        let folder = folder.display().to_string();
        Self::start(&[&["serve", &folder, "--listen", "127.0.0.1:0"], more].concat())
    }

    /// The head and the body that come back.
    fn asked(&self, method: &str, target: &str, headers: &str) -> (String, Vec<u8>) {
        let mut connection = TcpStream::connect(self.address).unwrap();
        let host = if headers.contains("Host:") { String::new() } else { format!("Host: {}\r\n", self.address) };
        write!(connection, "{method} {target} HTTP/1.1\r\n{host}{headers}\r\n").unwrap();
        let mut said = Vec::new();
        connection.read_to_end(&mut said).unwrap();
        let end = said
            .windows(4)
            .position(|end| end == b"\r\n\r\n")
            .unwrap_or_else(|| panic!("{:?}", String::from_utf8_lossy(&said)));
        (String::from_utf8(said[..end].to_vec()).unwrap(), said[end + 4..].to_vec())
    }

    fn json(&self, target: &str) -> (u16, Value) {
        let (head, body) = self.asked("GET", target, "");
        (code(&head), serde_json::from_slice(&body).unwrap_or_else(|_| panic!("{head}")))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(mut child) = self.child.take() {
            let _gone = child.kill().and_then(|()| child.wait());
        }
    }
}

fn code(head: &str) -> u16 {
    head.split(' ').nth(1).unwrap().parse().unwrap()
}

/// A folder with the report on a job of two ranks, `runs/job`, and its traces, `runs/job/raw`.
fn reported() -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    let raw = root.path().join("runs/job/raw");
    fs::create_dir_all(&raw).unwrap();
    let job = Job { ranks: 2, steps: 3, layers: 2, ops_per_step: 4, ..Job::default() };
    for rank in 0..2 {
        fs::write(raw.join(format!("rank{rank}.json")), job.rank_bytes(rank, &Dialect::default())).unwrap();
    }
    let (traces, out) = (raw.display().to_string(), root.path().join("runs/job").display().to_string());
    let output = rankscope(&["report", &traces, "--out", &out]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    fs::write(root.path().join("secret"), "secret").unwrap();
    root
}

#[test]
fn runs_are_listed_and_their_files_served() {
    let root = reported();
    let runs = root.path().join("runs");
    let server = Server::over(&runs, &[]);
    let (status, list) = server.json("/api/runs");
    assert_eq!((status, &list["runs"][0]["name"], &list["runs"][0]["ranks"]), (200, &Value::from("job"), &Value::from(2)));
    assert!(list["runs"][0]["headline"].as_str().is_some_and(|headline| !headline.is_empty()), "{list}");
    let (head, page) = server.asked("GET", "/runs/job/files/report.html", "");
    assert_eq!((code(&head), page), (200, fs::read(runs.join("job/report.html")).unwrap()));
    let timeline = fs::read(runs.join("job/timeline.pftrace")).unwrap();
    let (head, part) = server.asked("GET", "/runs/job/files/timeline.pftrace", "Range: bytes=100-299\r\n");
    assert_eq!((code(&head), &part[..]), (206, &timeline[100..300]));
    let (head, nothing) = server.asked("HEAD", "/runs/job/files/timeline.pftrace", "");
    assert!(head.contains(&format!("\r\nContent-Length: {}\r\n", timeline.len())) && nothing.is_empty(), "{head}");
    let files = server.json("/api/runs/job/files").1;
    let names: Vec<&str> = files["files"].as_array().unwrap().iter().map(|file| file["path"].as_str().unwrap()).collect();
    assert_eq!(names, ["report.html", "report.json", "timeline.pftrace"]);
    for page in [
        "/",
        "/runs/job/",
        "/assets/home.js",
        "/assets/run.js",
        "/assets/calls.js",
        "/assets/tree.js",
        "/assets/tree_rows.js",
        "/assets/dom.js",
        "/assets/perfetto.js",
        "/assets/serve.css",
    ] {
        assert_eq!(code(&server.asked("GET", page, "").0), 200, "{page}");
    }
}

#[test]
fn the_list_says_where_a_timeline_begins_and_has_the_page_of_validation_once_it_is_there() {
    let root = reported();
    let server = Server::over(&root.path().join("runs"), &[]);
    let card = || server.json("/api/runs").1["runs"][0].clone();
    assert!(card()["timeline_at"].as_str().is_some_and(|at| at.starts_with("visStart=")), "{}", card());
    assert_eq!(card()["validation"], Value::Null);
    let page = root.path().join("runs/job/validation.html").display().to_string();
    let raw = root.path().join("runs/job/raw").display().to_string();
    assert!(rankscope(&["validate", &raw, "--html", &page]).status.code().is_some_and(|code| code == 0 || code == 3));
    assert_eq!(card()["validation"], "validation.html");
    assert!(fs::read_to_string(&page).unwrap().contains("<a href=\"report.html\">Report</a>"), "a way back, from disk as well");
    let (head, served) = server.asked("GET", "/runs/job/files/validation.html", "");
    assert_eq!((code(&head), served), (200, fs::read(page).unwrap()));
}

#[test]
fn kernels_of_a_step_are_read_from_the_trace() {
    let root = reported();
    let server = Server::over(&root.path().join("runs"), &[]);
    let step = server.json("/api/runs/job/kernels?rank=1&step=1").1;
    let kernels = step["kernels"].as_array().unwrap();
    assert!(!kernels.is_empty() && step["count"] == kernels.len(), "{step}");
    let length = step["length_ns"].as_i64().unwrap();
    let starts: Vec<i64> = kernels.iter().map(|kernel| kernel["start_ns"].as_i64().unwrap()).collect();
    assert!(starts.is_sorted() && starts.iter().all(|start| (0..length).contains(start)), "{starts:?} in {length}");
    let few = server.json("/api/runs/job/kernels?rank=1&step=1&limit=2").1;
    assert_eq!(
        (few["kernels"].as_array().map(Vec::len), &few["cut"], &few["count"]),
        (Some(2), &Value::from(true), &step["count"])
    );
    // The same rank by all of its steps and by names.
    let all = server.json("/api/runs/job/kernels?rank=1&limit=10000").1;
    let names = server.json("/api/runs/job/names?rank=1").1;
    let counted: u64 = names["names"].as_array().unwrap().iter().map(|name| name["count"].as_u64().unwrap()).sum();
    assert_eq!(all["count"], counted);
    let document: Value = serde_json::from_slice(&fs::read(root.path().join("runs/job/report.json")).unwrap()).unwrap();
    for kernel in document["ranks"][1]["kernels"].as_array().unwrap() {
        let own = names["names"].as_array().unwrap().iter().find(|name| name["name"] == kernel["name"]).unwrap();
        assert_eq!((&own["count"], &own["total_ns"]), (&kernel["count"], &kernel["total_ns"]));
    }
}

#[test]
fn call_trees_are_read_from_the_trace_and_add_up() {
    let root = reported();
    let server = Server::over(&root.path().join("runs"), &[]);
    let operators = server.json("/api/runs/job/operators?rank=1&kind=operator&limit=1000").1;
    let rows = operators["operators"].as_array().unwrap();
    assert!(!rows.is_empty() && operators["count"] == rows.len(), "{operators}");
    assert_eq!(server.json("/api/runs/job").0, 404);
    for row in rows {
        let name = row["name"].as_str().unwrap();
        let tree = server.json(&format!("/api/runs/job/tree?rank=1&operator={}", encoded(name))).1;
        let number = |of: &Value, key: &str| of[key].as_i64().unwrap_or_else(|| panic!("{key} of {of}"));
        let nodes = tree["callees"].as_array().unwrap_or_else(|| panic!("{tree}"));
        assert_eq!(number(row, "calls"), number(&tree, "instances") + number(&tree, "nested"), "{name}");
        for key in ["total_ns", "launched", "device_ns"] {
            assert_eq!(
                (row[key].clone(), row[key].clone()),
                (nodes[0][key].clone(), tree["callers"][0][key].clone()),
                "{name}"
            );
        }
        let own: i64 = nodes.iter().map(|node| number(node, "self_ns") + number(&node["left_out"], "total_ns")).sum();
        assert_eq!(own, number(&nodes[0], "total_ns"), "{name}");
        // In steps there are as many calls as in all, but for those between steps.
        let of_step = |step: u32| server.json(&format!("/api/runs/job/tree?rank=1&step={step}&operator={}", encoded(name))).1;
        let in_steps: i64 = (0..3).map(|step| of_step(step)["instances"].as_i64().unwrap_or(0)).sum();
        assert!(in_steps <= number(&tree, "instances"), "{name}: {in_steps}");
    }
    let small =
        server.json(&format!("/api/runs/job/tree?rank=1&limit=1&operator={}", encoded(rows[0]["name"].as_str().unwrap()))).1;
    assert_eq!(small["callees"].as_array().map(Vec::len), Some(1), "{small}");
    // The rank that is asked about where nobody says another is the one that the report names first.
    let card = server.json("/api/runs").1["runs"][0].clone();
    assert!(card["rank"].as_u64().is_some_and(|rank| rank < 2), "{card}");
}

/// As a value of a query.
fn encoded(name: &str) -> String {
    name.bytes().map(|byte| format!("%{byte:02x}")).collect()
}

#[test]
fn what_is_asked_in_vain_has_a_reason() {
    let root = reported();
    let runs = root.path().join("runs");
    let server = Server::over(&runs, &[]);
    for (target, status, error) in [
        ("/api/runs/job/kernels?rank=7&step=1", 404, "no_rank"),
        ("/api/runs/job/kernels?rank=1&step=99", 404, "no_step"),
        ("/api/runs/job/kernels?rank=x", 400, "bad_query"),
        ("/api/runs/other/files", 404, "no_run"),
        ("/api/runs/job/tree?rank=1&operator=no+such", 404, "no_operator"),
        ("/api/runs/job/tree?rank=7&operator=no+such", 404, "no_rank"),
        ("/api/runs/job/tree?rank=1&step=99&operator=no+such", 404, "no_step"),
        ("/api/runs/job/operators?rank=1&step=99", 404, "no_step"),
    ] {
        let (code, said) = server.json(target);
        assert_eq!((code, said["error"].as_str()), (status, Some(error)), "{target}: {said}");
    }
    // Traces that were moved after the report was made, and are named.
    let moved = root.path().join("moved");
    fs::rename(runs.join("job/raw"), &moved).unwrap();
    let (code, said) = server.json("/api/runs/job/kernels?rank=1&step=1");
    assert_eq!((code, said["error"].as_str()), (404, Some("no_traces")), "{said}");
    assert!(said["reason"].as_str().unwrap().contains("--traces"), "{said}");
    let (code, said) = server.json("/api/runs/job/tree?rank=1&operator=f");
    assert_eq!((code, said["error"].as_str()), (404, Some("no_traces")), "{said}");
    let again = Server::over(&runs, &["--traces", &moved.display().to_string()]);
    assert_eq!(again.json("/api/runs/job/kernels?rank=1&step=1").0, 200);
}

#[test]
fn nothing_outside_of_the_folder_is_served() {
    let root = reported();
    let runs = root.path().join("runs");
    std::os::unix::fs::symlink(root.path().join("secret"), runs.join("job/link")).unwrap();
    std::os::unix::fs::symlink(root.path(), runs.join("job/up")).unwrap();
    std::os::unix::fs::symlink(root.path().join("runs/job"), runs.join("latest")).unwrap();
    fs::write(runs.join("job/.lock"), "secret").unwrap();
    let server = Server::over(&runs, &[]);
    for target in [
        "/runs/job/files/link",
        "/runs/job/files/up/secret",
        "/runs/job/files/../../secret",
        "/runs/job/files/..%2f..%2fsecret",
        "/runs/job/files/%2e%2e/%2e%2e/secret",
        "/runs/../secret",
        "/runs/..%2fjob/files/report.html",
        "//etc/passwd",
        "/runs/job/files//etc/passwd",
        "/runs/job/files/.lock",
        "/runs/latest/files/report.html",
        "/perfetto/index.html",
        "/assets/../../secret",
        "http://127.0.0.1/runs/job/files/report.html",
    ] {
        let (head, body) = server.asked("GET", target, "");
        assert!(matches!(code(&head), 400 | 404), "{target}: {head}");
        assert_ne!(body, b"secret", "{target}");
    }
    assert_eq!(code(&server.asked("GET", "/", "Host: evil.example\r\n").0), 403);
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "CONNECT", "TRACE"] {
        assert_eq!(code(&server.asked(method, "/", "").0), 405, "{method}");
    }
}

#[test]
fn two_clients_and_a_slow_one_are_answered_at_once() {
    let root = reported();
    let server = Server::over(&root.path().join("runs"), &[]);
    // These never say what they want.
    let silent: Vec<TcpStream> = (0..4).map(|_| TcpStream::connect(server.address).unwrap()).collect();
    let page = fs::read(root.path().join("runs/job/report.html")).unwrap();
    thread::scope(|scope| {
        for client in 0..2 {
            let (server, page) = (&server, &page);
            scope.spawn(move || {
                for _ in 0..20 {
                    assert_eq!(&server.asked("GET", "/runs/job/files/report.html", "").1, page, "client {client}");
                    assert_eq!(server.json("/api/runs/job/kernels?rank=0&step=1").0, 200);
                }
            });
        }
    });
    drop(silent);
}

/// A trace of one rank, of so many kernels: enough that reading takes a while.
fn long_trace(path: &Path, kernels: usize) {
    let mut file = std::io::BufWriter::new(fs::File::create(path).unwrap());
    write!(file, r#"{{"traceEvents":[{{"ph":"M","name":"process_name","pid":0,"args":{{"name":"python"}}}}"#).unwrap();
    for at in 0..kernels {
        write!(file, r#",{{"ph":"X","cat":"kernel","name":"gemm_{:03}","ts":{},"dur":2,"pid":0,"tid":7}}"#, at % 500, 10 * at)
            .unwrap();
    }
    file.write_all(b"]}").unwrap();
}

/// What the kernel counts of the server: bytes it read, of all files and sockets.
fn bytes_read(server: &Server) -> u64 {
    let counted = fs::read_to_string(format!("/proc/{}/io", server.child.as_ref().unwrap().id())).unwrap();
    counted.lines().find_map(|line| line.strip_prefix("rchar: ")).unwrap().parse().unwrap()
}

/// Whether the server has `path` open.
fn has_open(server: &Server, path: &Path) -> bool {
    let files = fs::read_dir(format!("/proc/{}/fd", server.child.as_ref().unwrap().id())).unwrap();
    files.flatten().any(|file| fs::read_link(file.path()).is_ok_and(|open| open == path))
}

#[test]
fn a_trace_is_not_read_to_its_end_for_a_client_that_has_gone() {
    let root = reported();
    let trace = root.path().canonicalize().unwrap().join("runs/job/raw/rank2.json");
    long_trace(&trace, 3_000_000);
    let whole = fs::metadata(&trace).unwrap().len();
    let server = Server::over(&root.path().join("runs"), &[]);
    let ask = |step: u32| {
        let mut connection = TcpStream::connect(server.address).unwrap();
        write!(connection, "GET /api/runs/job/kernels?rank=2&step={step} HTTP/1.1\r\nHost: {}\r\n\r\n", server.address)
            .unwrap();
        connection
    };
    let before = bytes_read(&server);
    let leaving = ask(1);
    wait_for("the trace to be opened", || has_open(&server, &trace));
    drop(leaving);
    wait_for("the trace to be given up", || !has_open(&server, &trace));
    let read = bytes_read(&server) - before;
    assert!(read < whole, "{read} of {whole} bytes were read for nobody");
    assert_eq!(server.json("/api/runs/job/kernels?rank=0&step=1").0, 200, "others need not wait for it either");
}

#[test]
fn perfetto_reads_timelines_of_the_run_and_nothing_else() {
    let root = reported();
    let server = Server::over(&root.path().join("runs/job"), &[]);
    let origin = "Origin: https://ui.perfetto.dev\r\n";
    let (head, _) = server.asked("GET", "/runs/job/files/timeline.pftrace", origin);
    assert!(head.contains("\r\nAccess-Control-Allow-Origin: https://ui.perfetto.dev"), "{head}");
    assert!(!server.asked("GET", "/api/runs", origin).0.contains("Access-Control"));
}

#[test]
fn with_a_token_nobody_gets_in_without() {
    let root = reported();
    let server = Server::over(&root.path().join("runs"), &["--token"]);
    let token = server.url.split("token=").nth(1).unwrap().to_owned();
    assert_eq!(code(&server.asked("GET", "/", "").0), 401);
    assert_eq!(code(&server.asked("GET", "/?token=00000000000000000000000000000000", "").0), 401);
    assert_eq!(code(&server.asked("GET", &format!("/?token={token}"), "").0), 200);
    assert_eq!(code(&server.asked("GET", "/api/runs", &format!("Authorization: Bearer {token}\r\n")).0), 200);
    let everywhere = Server::start(&["serve", &root.path().join("runs").display().to_string(), "--listen", "0.0.0.0:0"]);
    assert!(everywhere.url.contains("?token="), "{}", everywhere.url);
    assert_eq!(code(&everywhere.asked("GET", "/", "").0), 401);
}

#[test]
fn a_port_that_is_taken_is_named_with_one_that_is_free() {
    let root = reported();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let said = failure(&["serve", &root.path().join("runs").display().to_string(), "--listen", &address]);
    assert!(said.contains(&address) && said.contains("--listen; 127.0.0.1:") && said.contains("is free now"), "{said}");
}

#[test]
fn ctrl_c_ends_it_well() {
    let root = reported();
    for name in ["INT", "TERM"] {
        let mut server = Server::over(&root.path().join("runs"), &[]);
        let child = server.child.take().unwrap();
        signal(name, child.id());
        assert_eq!(ended(child).status.code(), Some(0), "{name}");
    }
}

#[test]
fn open_prints_the_page_and_the_timeline_at_the_finding() {
    let root = reported();
    let run = root.path().join("runs/job").display().to_string();
    let page = Server::start(&["open", &run, "--print", "--listen", "127.0.0.1:0"]);
    assert!(page.url.ends_with("/runs/job/files/report.html"), "{}", page.url);
    assert_eq!(code(&page.asked("GET", "/runs/job/files/report.html", "").0), 200);
    let said = failure(&["open", &run, "--print", "--timeline", "--listen", "127.0.0.1:0"]);
    assert!(said.contains("127.0.0.1:9001 only"), "{said}");
    let viewer = root.path().join("viewer");
    fs::create_dir(&viewer).unwrap();
    fs::write(viewer.join("index.html"), "<title>viewer</title>").unwrap();
    let viewer = viewer.display().to_string();
    let timeline = Server::start(&["open", &run, "--print", "--timeline", "--listen", "127.0.0.1:0", "--perfetto", &viewer]);
    assert!(timeline.url.contains("/perfetto/#!/?url=http%3A%2F%2F127.0.0.1%3A"), "{}", timeline.url);
    let document: Value = serde_json::from_slice(&fs::read(root.path().join("runs/job/report.json")).unwrap()).unwrap();
    let start = timeline.url.split("visStart=").nth(1).unwrap().split('&').next().unwrap().parse::<i64>().unwrap();
    let ranks = document["ranks"].as_array().unwrap();
    let windows = ranks.iter().flat_map(|rank| rank["steps"].as_array().unwrap());
    assert!(windows.clone().any(|step| step["window_ns"][0] == start), "{}", timeline.url);
    assert!(timeline.url.contains(&format!("&ts={start}&dur=")), "the slice of the step: {}", timeline.url);
    assert!(timeline.url.contains("PinTracksByRegex"), "the rows of the rank: {}", timeline.url);
    let (head, body) = timeline.asked("GET", "/perfetto/", "");
    assert_eq!((code(&head), &body[..]), (200, &b"<title>viewer</title>"[..]));
    let said = failure(&["open", &root.path().join("runs").display().to_string(), "--print"]);
    assert!(said.contains("this is no run"), "{said}");
}
