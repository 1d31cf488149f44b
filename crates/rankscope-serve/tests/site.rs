//! What a site answers, whatever it is told.

#![expect(clippy::unwrap_used, reason = "tests")]

use std::io::Cursor;
use std::sync::Mutex;

use proptest::prelude::*;
use rankscope_serve::{
    Access, Body, Fault, FileCard, KernelQuery, Kernels, NameQuery, Names, Opened, OperatorQuery, Operators, Response, RunCard,
    Shelf, Site, Token, Tree, TreeQuery,
};

/// A shelf with one run, `job`, of two files; it notes down what it is asked for.
#[derive(Default)]
struct Noting {
    asked: Mutex<Vec<String>>,
}

const TIMELINE: &[u8] = b"0123456789";

impl Noting {
    fn note(&self, names: &[&str]) {
        self.asked.lock().unwrap().extend(names.iter().map(|name| (*name).to_owned()));
    }

    fn has(&self, run: &str) -> Result<(), Fault> {
        self.note(&[run]);
        if run == "job" { Ok(()) } else { Err(Fault::NoRun) }
    }
}

impl Shelf for Noting {
    fn runs(&self) -> Result<Vec<RunCard>, Fault> {
        let page = Some("report/report.html".to_owned());
        let headline = "</script><img src=x>".to_owned();
        Ok(vec![RunCard { name: "job".to_owned(), headline, page, ..RunCard::default() }])
    }

    fn files(&self, run: &str) -> Result<Vec<FileCard>, Fault> {
        self.has(run).map(|()| Vec::new())
    }

    fn open(&self, run: &str, path: &[&str]) -> Result<Opened, Fault> {
        self.has(run)?;
        self.note(path);
        match path {
            ["timeline.pftrace"] | ["report", "report.html"] => {
                Ok(Opened { bytes: TIMELINE.len() as u64, file: Box::new(Cursor::new(TIMELINE)) })
            }
            _ => Err(Fault::NoFile),
        }
    }

    fn viewer(&self, path: &[&str]) -> Result<Opened, Fault> {
        self.note(path);
        Err(Fault::NoFile)
    }

    fn has_viewer(&self) -> bool {
        false
    }

    fn kernels(&self, run: &str, query: &KernelQuery) -> Result<Kernels, Fault> {
        self.has(run)?;
        match query.rank {
            9 => Err(Fault::NoTraces { why: "raw/ is empty".to_owned() }),
            rank => Ok(Kernels { rank, step: query.step, ..Kernels::default() }),
        }
    }

    fn names(&self, run: &str, _: &NameQuery) -> Result<Names, Fault> {
        self.has(run).map(|()| Names::default())
    }

    fn operators(&self, run: &str, query: &OperatorQuery) -> Result<Operators, Fault> {
        self.has(run).map(|()| Operators { rank: query.rank, step: query.step, ..Operators::default() })
    }

    fn tree(&self, run: &str, query: &TreeQuery) -> Result<Tree, Fault> {
        self.has(run)?;
        let TreeQuery { rank, step, operator, limit, depth } = query.clone();
        match operator.as_str() {
            "none" => Err(Fault::NoOperator { operator, rank, step }),
            _ => Ok(Tree { rank, step, operator, instances: limit as u64, nested: depth as u64, ..Tree::default() }),
        }
    }
}

fn asked(target: &str, more: &str) -> Response {
    let site = Site::new(Access::loopback(9001));
    site.answer(format!("{target} HTTP/1.1\r\nHost: 127.0.0.1:9001\r\n{more}\r\n").as_bytes(), &Noting::default())
}

fn json(response: &Response) -> serde_json::Value {
    match &response.body {
        Body::Bytes(bytes) => serde_json::from_slice(bytes).unwrap(),
        Body::Part { .. } => panic!("a file"),
    }
}

#[test]
fn files_come_whole_in_part_or_as_a_head() {
    let whole = asked("GET /runs/job/files/timeline.pftrace", "");
    assert_eq!((whole.status.code(), whole.length(), whole.sends_body), (200, 10, true));
    let part = asked("GET /runs/job/files/timeline.pftrace", "Range: bytes=2-4\r\n");
    assert_eq!((part.status.code(), part.length(), part.header("Content-Range")), (206, 3, Some("bytes 2-4/10")));
    let head = asked("HEAD /runs/job/files/timeline.pftrace", "");
    assert_eq!((head.status.code(), head.length(), head.sends_body), (200, 10, false));
    let beyond = asked("GET /runs/job/files/timeline.pftrace", "Range: bytes=10-\r\n");
    assert_eq!((beyond.status.code(), beyond.header("Content-Range")), (416, Some("bytes */10")));
    // Nobody has told a version, so none is the one that is meant.
    assert_eq!(asked("GET /runs/job/files/timeline.pftrace", "Range: bytes=2-4\r\nIf-Range: \"x\"\r\n").status.code(), 200);
}

#[test]
fn the_script_of_perfetto_may_read_timelines_and_nothing_else() {
    let allowed = |target: &str, origin: &str| {
        let response = asked(target, &format!("Origin: {origin}\r\n"));
        response.header("Access-Control-Allow-Origin").map(str::to_owned)
    };
    let timeline = "GET /runs/job/files/timeline.pftrace";
    assert_eq!(allowed(timeline, "https://ui.perfetto.dev").as_deref(), Some("https://ui.perfetto.dev"));
    for (target, origin) in [
        (timeline, "https://evil.example"),
        (timeline, "null"),
        ("GET /runs/job/files/report/report.html", "https://ui.perfetto.dev"),
        ("GET /api/runs", "https://ui.perfetto.dev"),
        ("GET /api/runs/job/kernels?rank=0", "https://ui.perfetto.dev"),
    ] {
        assert_eq!(allowed(target, origin), None, "{target} {origin}");
    }
}

#[test]
fn what_cannot_be_had_has_a_reason() {
    for (target, code, error) in [
        ("GET /api/runs/job/kernels?rank=9&step=1", 404, "no_traces"),
        ("GET /api/runs/job/kernels?rank=-1", 400, "bad_query"),
        ("GET /api/runs/job/kernels", 400, "bad_query"),
        ("GET /api/runs/job/kernels?rank=0&step=x", 400, "bad_query"),
        ("GET /api/runs/job/tree?rank=0", 400, "bad_query"),
        ("GET /api/runs/job/tree?rank=0&operator=", 400, "bad_query"),
        ("GET /api/runs/job/tree?operator=aten::mm", 400, "bad_query"),
        ("GET /api/runs/job/tree?rank=0&operator=aten::mm&depth=-1", 400, "bad_query"),
        ("GET /api/runs/job/tree?rank=0&operator=none&step=4", 404, "no_operator"),
        ("GET /api/runs/none/tree?rank=0&operator=aten::mm", 404, "no_run"),
        ("GET /api/runs/job/operators?rank=x", 400, "bad_query"),
        ("GET /api/runs/none/files", 404, "no_run"),
        ("GET /runs/job/files/other", 404, "no_file"),
        ("GET /api/nothing", 404, "not_there"),
        ("GET /runs/job/files/..%2f..%2fetc%2fpasswd", 400, "path"),
        ("POST /", 405, "method"),
    ] {
        let response = asked(target, "");
        assert_eq!(response.status.code(), code, "{target}");
        let said = json(&response);
        assert_eq!(said["error"], error, "{target}");
        assert!(said["reason"].as_str().is_some_and(|reason| reason.ends_with('.')), "{said}");
    }
    assert_eq!(json(&asked("GET /api/runs/job/kernels?rank=0&step=-3", ""))["step"], -3);
}

#[test]
fn the_report_of_a_run_is_found_from_every_page_of_it() {
    let place = |target: &str| {
        let response = asked(target, "");
        (response.status.code(), response.header("Location").map(str::to_owned))
    };
    assert_eq!(place("GET /runs/job/report"), (303, Some("/runs/job/files/report/report.html".to_owned())));
    assert_eq!(place("GET /runs/no%20report/report"), (303, Some("/runs/no%20report/".to_owned())));
}

#[test]
fn a_tree_is_asked_for_by_any_name_and_never_without_bounds() {
    let said = json(&asked("GET /api/runs/job/tree?rank=2&step=3&operator=%3Cb%3E+%26%2F%3D", ""));
    assert_eq!((&said["operator"], &said["rank"], &said["step"]), (&"<b> &/=".into(), &2.into(), &3.into()));
    let bounds = |more: &str| {
        let said = json(&asked(&format!("GET /api/runs/job/tree?rank=0&operator=f{more}"), ""));
        (said["instances"].as_u64().unwrap(), said["nested"].as_u64().unwrap())
    };
    assert_eq!(bounds(""), (200, 64));
    assert_eq!(bounds("&limit=0&depth=0"), (1, 0));
    assert_eq!(bounds("&limit=99999999&depth=99999999"), (2_000, 256));
}

#[test]
fn a_name_that_is_not_there_is_said_in_few_letters() {
    let name = "x".repeat(3_000);
    let fault = Fault::NoOperator { operator: name, rank: 3, step: Some(4) }.to_string();
    assert!(fault.len() < 250 && fault.contains("x… is called on rank 3 in step 4."), "{fault}");
}

#[test]
fn names_are_data_and_never_markup() {
    assert_eq!(json(&asked("GET /api/runs", ""))["runs"][0]["headline"], "</script><img src=x>");
    let Body::Bytes(page) = asked("GET /", "").body else { panic!("a file") };
    assert!(!String::from_utf8(page).unwrap().contains("job"));
}

#[test]
fn without_the_token_nothing_is_said() {
    let token = Token::of([1; 16]);
    let site = Site::new(Access::token(80, token.clone()));
    let ask =
        |target: &str| site.answer(format!("GET {target} HTTP/1.1\r\nHost: node7\r\n\r\n").as_bytes(), &Noting::default());
    for target in ["/", "/api/runs", "/runs/job/files/timeline.pftrace", "/assets/home.js", "/?token=0"] {
        assert_eq!(ask(target).status.code(), 401, "{target}");
        assert!(ask(target).header("Set-Cookie").is_none());
    }
    let let_in = ask(&format!("/?token={}", token.text()));
    assert_eq!(let_in.status.code(), 200);
    assert!(let_in.header("Set-Cookie").unwrap().contains("HttpOnly; SameSite=Strict"));
}

#[test]
fn every_response_keeps_pages_to_themselves() {
    for target in ["GET /", "GET /runs/job/", "GET /runs/job/files/report/report.html", "GET /perfetto/", "GET /none", "POST /"]
    {
        let head = asked(target, "").head();
        assert!(head.contains("\r\nContent-Security-Policy: default-src ") && head.contains("frame-ancestors"), "{head}");
        assert!(head.contains("\r\nX-Content-Type-Options: nosniff\r\n") && head.ends_with("\r\n\r\n"), "{head}");
    }
}

/// Pieces of paths that have led somewhere in other servers.
fn piece() -> impl Strategy<Value = String> {
    let known = [
        "/",
        "//",
        "..",
        ".",
        "%2e%2e",
        "%2f",
        "%5c",
        "\\",
        "%00",
        "%252e",
        "%c0%af",
        "\u{2215}",
        "runs",
        "job",
        "files",
        "api",
        "report",
        "etc",
        "passwd",
        "perfetto",
        "assets",
        "kernels",
        "names",
        "tree",
        "operators",
        "operator=a",
        "?",
        "&",
        "=",
        "rank=0",
        "step=1",
        "limit=18446744073709551616",
        "#",
        "~",
        "%",
        ";",
        "\u{202e}",
        " ",
        "C:",
        "file:",
        "%0d%0aX: y",
    ];
    prop_oneof![proptest::sample::select(known.to_vec()).prop_map(str::to_owned), "\\PC{0,4}"]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn a_shelf_is_asked_for_plain_names_only(pieces in prop::collection::vec(piece(), 0..12), method in "GET|HEAD") {
        let shelf = Noting::default();
        let target = format!("/{}", pieces.concat());
        let head = format!("{method} {target} HTTP/1.1\r\nHost: localhost:9001\r\n\r\n");
        let response = Site::new(Access::loopback(9001)).answer(head.as_bytes(), &shelf);
        for name in shelf.asked.lock().unwrap().iter() {
            prop_assert!(!name.is_empty() && name != "." && name != ".." && !name.contains(['/', '\\', '\0']), "{name:?}");
        }
        prop_assert!(!response.head().trim_end().lines().any(|line| line.starts_with("X: ")), "{target:?}");
    }

    #[test]
    fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..400), split in 0_usize..40) {
        let mut head = b"GET /runs/job/files/timeline.pftrace HTTP/1.1\r\nHost: localhost:9001\r\n".to_vec();
        head.truncate(split.max(1) * 2);
        head.extend(bytes);
        let response = Site::new(Access::loopback(9001)).answer(&head, &Noting::default());
        prop_assert!((200..600).contains(&response.status.code()));
    }
}
