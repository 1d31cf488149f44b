//! A job that runs, watched: real processes, one of which is slow, and what is told of it.
#![cfg(all(target_os = "linux", feature = "clock"))]
#![expect(clippy::unwrap_used, reason = "a test of what is said")]

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;

use crate::process::{Running, command, wait_for};
use serde_json::Value;

fn lines(path: &Path) -> Vec<Value> {
    let text = fs::read_to_string(path).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("a line is one document")).collect()
}

fn is_about_rank_2(alarm: &Value) -> bool {
    alarm["kind"] == "straggler" && alarm["rank"] == 2
}

fn figure(alarm: &Value, name: &str) -> i64 {
    alarm[name].as_i64().unwrap_or_else(|| panic!("{name} in {alarm}"))
}

fn is_raised(alarm: &Value) -> bool {
    alarm["kind"] == "straggler" && alarm["cleared_ns"].is_null()
}

/// That the lateness is more than a change that is looked for, and than what clocks alone may make of it.
fn is_above_its_limits(alarm: &Value) -> bool {
    let value_ns = figure(alarm, "value_ns");
    value_ns > figure(alarm, "threshold_ns") && value_ns > 3 * figure(alarm, "clock_error_ns")
}

/// What a scraper gets.
fn asked(port: u16, request: &str) -> Option<String> {
    let mut connection = TcpStream::connect(("127.0.0.1", port)).ok()?;
    connection.write_all(request.as_bytes()).unwrap();
    let mut text = String::new();
    connection.read_to_string(&mut text).ok()?;
    Some(text)
}

#[test]
fn a_slow_rank_raises_an_alarm_that_is_written_down_passed_on_and_measured() {
    let folder = tempfile::tempdir().unwrap();
    let (run, passed_on, figures) =
        (folder.path().join("run"), folder.path().join("passed-on"), folder.path().join("job.prom"));
    let out = run.display().to_string();
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let demo = Running::start(command(&["demo", "--live", "--slow-rank", "2", "--seconds", "30", "--out", &out]));
    wait_for("the run directory", || run.join("live").is_dir());
    let exec = format!("cat >> '{0}'; echo \"$RANKSCOPE_ALARM\" > '{0}.said'", passed_on.display());
    let (metrics, file) = (format!("127.0.0.1:{port}"), figures.display().to_string());
    let words = ["watch", &out, "--exec", &exec, "--metrics", &metrics, "--metrics-file", &file, "--every", "200ms"];
    let watcher = Running::start(command(&[&words[..], &["--wait", "2s", "--format", "json"]].concat()));
    wait_for("an alarm about rank 2", || lines(&run.join("alarms.jsonl")).iter().any(is_about_rank_2));
    let second = command(&["watch", &out]).output().unwrap();
    assert!(String::from_utf8_lossy(&second.stderr).contains("watches this run already"), "{second:?}");

    let once = command(&["top", &out, "--once", "--format", "json"]).output().unwrap();
    let document: Value = serde_json::from_slice(&once.stdout).unwrap();
    assert!(document["alarms"].as_array().unwrap().iter().any(is_about_rank_2), "{document}");
    let scraped = asked(port, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
    assert!(scraped.starts_with("HTTP/1.1 200") && scraped.contains("text/plain; version=0.0.4"), "{scraped}");
    assert!(scraped.contains("rankscope_rank_lateness_seconds{rank=\"2\"} 0.0"), "{scraped}");
    assert!(asked(port, "GET /etc/passwd HTTP/1.1\r\n\r\n").unwrap().starts_with("HTTP/1.1 404"));
    assert!(asked(port, "nonsense\r\n\r\n").unwrap().starts_with("HTTP/1.1 400"));

    let ended = watcher.ended();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    assert!(demo.ended().status.success());
    let alarms = lines(&run.join("alarms.jsonl"));
    let first = alarms.iter().find(|alarm| is_about_rank_2(alarm)).unwrap();
    // The demo records itself all the while.
    let read = format!("rankscope report {out} --step {}", figure(first, "step"));
    assert_eq!(first["read"], read, "{first}");
    assert!(document["alarms"].as_array().unwrap().iter().any(|alarm| alarm["read"] == read), "{document}");
    // That nobody else is named holds for ranks with a processor each; here those of other tests are in the way of them, too.
    assert!(alarms.iter().filter(|alarm| is_raised(alarm)).all(is_above_its_limits), "{alarms:?}");
    let printed = String::from_utf8(ended.stdout).unwrap();
    assert_eq!(printed, fs::read_to_string(run.join("alarms.jsonl")).unwrap());
    assert_eq!(lines(&passed_on), alarms);
    assert!(fs::read_to_string(figures).unwrap().contains("# TYPE rankscope_alarm gauge"));
    let said = fs::read_to_string(passed_on.with_extension("said")).unwrap();
    assert!(!said.trim().is_empty(), "{said}");
    let words: Vec<&str> = read.split(' ').skip(1).chain(["--no-timeline", "--format", "json"]).collect();
    let report = command(&words).output().unwrap();
    assert!(report.status.success(), "{}", String::from_utf8_lossy(&report.stderr));
}

/// The fields of messages that `path` leads to, as bytes.
#[cfg(feature = "otlp")]
fn fields(message: &[u8], path: &[u32]) -> Vec<Vec<u8>> {
    let Some((first, rest)) = path.split_first() else { return vec![message.to_vec()] };
    let such = rankscope_formats::wire::Fields::of(message).map(Result::unwrap).filter(|(field, _)| field == first);
    such.flat_map(|(_, value)| fields(value.bytes(), rest)).collect()
}

/// A collector that takes requests until one names the figure called `name`, which it tells, and then is gone.
#[cfg(feature = "otlp")]
fn collector(listener: TcpListener, name: &'static str) -> std::thread::JoinHandle<Vec<u8>> {
    use std::io::{BufRead as _, BufReader};
    let take = move |connection: std::io::Result<TcpStream>| {
        let mut reader = BufReader::new(connection.unwrap());
        let head: Vec<String> = reader.by_ref().lines().map(Result::unwrap).take_while(|line| !line.is_empty()).collect();
        assert_eq!(head[0], "POST /v1/metrics HTTP/1.1");
        let length = head.iter().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok()).unwrap();
        let mut body = vec![0; length];
        reader.read_exact(&mut body).unwrap();
        let fine = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        reader.get_mut().write_all(fine).unwrap();
        body
    };
    let names_it = move |body: &Vec<u8>| body.windows(name.len()).any(|own| own == name.as_bytes());
    std::thread::spawn(move || listener.incoming().map(take).find(names_it).expect("requests go on"))
}

#[test]
#[cfg(feature = "otlp")]
fn a_collector_is_pushed_the_figures_of_prometheus_and_may_be_gone() {
    let folder = tempfile::tempdir().unwrap();
    let (run, figures) = (folder.path().join("run"), folder.path().join("job.prom"));
    let (out, file) = (run.display().to_string(), figures.display().to_string());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let place = format!("http://{}", listener.local_addr().unwrap());
    // There are steps to compare once the job runs for a while.
    let collector = collector(listener, "rankscope_rank_lateness_seconds");
    let demo = Running::start(command(&["demo", "--live", "--seconds", "10", "--out", &out]));
    wait_for("a page", || fs::read_dir(run.join("live")).is_ok_and(|pages| pages.count() == 4));
    let words = ["watch", &out, "--metrics-otlp", &place, "--metrics-file", &file, "--every", "200ms", "--wait", "1s"];
    let mut watch = command(&words);
    watch.env("OTEL_METRIC_EXPORT_INTERVAL", "200").env("OTEL_RESOURCE_ATTRIBUTES", "team=a%20b");
    let watcher = Running::start(watch);
    let last = collector.join().unwrap();
    let ended = watcher.ended();
    assert!(ended.status.success() && demo.ended().status.success());
    let said = String::from_utf8(ended.stderr).unwrap();
    assert_eq!(said.matches("does not answer").count(), 1, "{said}");
    assert!(said.contains(" looks at the job did not get there"), "{said}");

    let text = |field: Vec<u8>| String::from_utf8(field).unwrap();
    let names: Vec<String> = fields(&last, &[1, 2, 2, 1]).into_iter().map(text).collect();
    let file = fs::read_to_string(figures).unwrap();
    let told: Vec<&str> = file.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next()).collect();
    assert!(names.len() >= 8 && names.iter().all(|name| told.contains(&name.as_str())), "{names:?} of {told:?}");
    let attributes: Vec<(String, String)> = fields(&last, &[1, 1, 1])
        .iter()
        .map(|pair| (text(fields(pair, &[1]).remove(0)), text(fields(pair, &[2, 1]).remove(0))))
        .collect();
    let said = |name: &str| attributes.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    let manifest: Value = serde_json::from_slice(&fs::read(run.join("run.json")).unwrap()).unwrap();
    assert_eq!(said("rankscope.run.id"), manifest["run_id"].as_str(), "{attributes:?}");
    assert_eq!((said("service.name"), said("team")), (Some("rankscope"), Some("a b")));
}

#[test]
#[cfg(feature = "otlp")]
fn what_is_no_collector_is_refused_before_anything_runs() {
    let folder = tempfile::tempdir().unwrap();
    let ran = folder.path().join("ran").display().to_string();
    for place in ["collector:4318", "http://me:secret@collector:4318"] {
        let refused = command(&["run", "--metrics-otlp", place, "--", "touch", &ran]).current_dir(&folder).output().unwrap();
        let said = String::from_utf8_lossy(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains("--metrics-otlp"), "{said}");
    }
    assert!(!Path::new(&ran).exists());
}

#[test]
fn a_job_that_never_tells_of_itself_is_waited_for_and_then_said() {
    let folder = tempfile::tempdir().unwrap();
    let missing = command(&["watch", &folder.path().join("none").display().to_string()]).output().unwrap();
    assert!(!missing.status.success() && !missing.stderr.is_empty(), "{missing:?}");
}

#[test]
fn a_job_that_was_killed_is_over_and_what_it_left_behind_is_over_for_the_next_watcher() {
    let folder = tempfile::tempdir().unwrap();
    let run = folder.path().join("run");
    let out = run.display().to_string();
    let demo = Running::start(command(&["demo", "--live", "--seconds", "60", "--out", &out]));
    wait_for("a page", || fs::read_dir(run.join("live")).is_ok_and(|pages| pages.count() > 0));
    let figures = folder.path().join("job.prom").display().to_string();
    let words = ["watch", &out, "--every", "100ms", "--wait", "1s", "--format", "json", "--metrics-file", &figures];
    let raised = r#"{"time_ns":1,"kind":"straggler","rank":1,"detector":"cusum","value_ns":2,"threshold_ns":1,"clock_error_ns":0,"confidence":"high"}"#;
    fs::write(run.join("alarms.jsonl"), format!("{raised}\n")).unwrap();
    let watcher = Running::start(command(&words));
    wait_for("a look at ranks", || {
        fs::read_to_string(&figures).is_ok_and(|text| text.contains("rankscope_progress_age_seconds{"))
    });
    drop(demo);
    let ended = watcher.ended();
    assert!(ended.status.success(), "{}", String::from_utf8_lossy(&ended.stderr));
    let first = String::from_utf8_lossy(&ended.stdout).lines().next().map(serde_json::from_str::<Value>).unwrap().unwrap();
    assert!(first["rank"] == 1 && first["cleared_ns"].is_i64(), "{first}");
    assert!(fs::read_dir(run.join("live")).unwrap().count() > 0, "the pages of what was killed stay");
    // Nobody lives any more, and nobody did while this one watched.
    let late = command(&words).output().unwrap();
    assert!(!late.status.success() && String::from_utf8_lossy(&late.stderr).contains("live page"), "{late:?}");
}
