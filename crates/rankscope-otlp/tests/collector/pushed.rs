//! What becomes of looks.

use std::io::Read as _;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use flate2::read::GzDecoder;
use rankscope_document::LiveDocument;
use rankscope_otlp::{Exporter, Look, Tally, Target, Trouble};
use rankscope_report::LiveCounts;

use crate::message::{decoded, lines, look};
use crate::server::{Reply, Request, listener, serve};

/// Longer than anything here takes.
const PATIENCE: Duration = Duration::from_secs(20);

fn exporter(place: &str, variables: &[(&str, &str)]) -> (Exporter, Receiver<Trouble>) {
    let variable = |name: &str| variables.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    let (says, said) = channel();
    let exporter = Exporter::start(Target::new(place, variable).unwrap(), move |trouble| {
        let _nobody_hears = says.send(trouble.clone());
    });
    (exporter.unwrap(), said)
}

/// A look that is known by its step.
fn of_step(step: i64) -> Look {
    look(&LiveDocument { step: Some(step), ..LiveDocument::default() }, &LiveCounts::default())
}

fn step_of(request: &Request) -> String {
    let lines = lines(&decoded(&request.body));
    lines.iter().find_map(|line| line.strip_prefix("rankscope_step ")).unwrap().to_owned()
}

fn until(what: &str, is_so: impl Fn() -> bool) {
    let until = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < until, "{what}");
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn counts(tally: Tally) -> (u64, u64) {
    (tally.accepted, tally.lost)
}

#[test]
fn a_collector_gets_a_look_with_what_the_environment_says() {
    let (listener, place) = listener();
    let requests = serve(listener, vec![Reply::fine()]);
    let variables = [("OTEL_EXPORTER_OTLP_HEADERS", "api-key=s%20cret,x-tenant=7"), ("OTEL_EXPORTER_OTLP_COMPRESSION", "gzip")];
    let (mut exporter, said) = exporter(&place, &variables);
    exporter.take(of_step(40), Instant::now());
    let mut request = requests.recv_timeout(PATIENCE).unwrap();
    assert_eq!(request.line, "POST /v1/metrics HTTP/1.1");
    assert_eq!(request.header("content-type"), Some("application/x-protobuf"));
    assert_eq!((request.header("api-key"), request.header("x-tenant")), (Some("s cret"), Some("7")));
    assert_eq!(request.header("content-encoding"), Some("gzip"));
    let mut body = Vec::new();
    GzDecoder::new(&request.body[..]).read_to_end(&mut body).unwrap();
    request.body = body;
    assert_eq!(step_of(&request), "40");
    assert_eq!(counts(exporter.end(PATIENCE)), (1, 0));
    assert!(said.try_recv().is_err());
}

#[test]
fn a_busy_collector_is_told_later_and_told_the_newest() {
    let (listener, place) = listener();
    let busy = Reply::status("503 Service Unavailable", "Retry-After: 1\r\n", b"");
    let requests = serve(listener, vec![busy.clone(), busy, Reply::fine()]);
    let (mut exporter, said) = exporter(&place, &[]);
    exporter.take(of_step(1), Instant::now());
    assert_eq!(step_of(&requests.recv_timeout(PATIENCE).unwrap()), "1");
    for step in 2..=4 {
        exporter.take(of_step(step), Instant::now());
    }
    let tried: Vec<String> = (0..2).map(|_| step_of(&requests.recv_timeout(PATIENCE).unwrap())).collect();
    assert_eq!(tried, ["4", "4"], "what was refused for now is tried again with what is newest");
    until("it is there", || exporter.tally().accepted == 1);
    assert_eq!(counts(exporter.end(PATIENCE)), (1, 3));
    assert_eq!(said.iter().collect::<Vec<_>>(), [Trouble::Busy(503)], "it is said once");
}

#[test]
fn what_is_refused_is_not_tried_again_and_the_next_one_is() {
    let (listener, place) = listener();
    let refused = Reply::status("400 Bad Request", "Content-Type: text/plain\r\n", b"no \x1b[2Jtenant");
    // 1 { 1: 2, 2: "old" }
    let partial = Reply::status("200 OK", "Content-Type: application/x-protobuf\r\n", b"\x0a\x07\x08\x02\x12\x03old");
    let requests = serve(listener, vec![refused.clone(), refused, partial]);
    let (mut exporter, said) = exporter(&place, &[]);
    for step in 1..=3 {
        exporter.take(of_step(step), Instant::now());
        assert_eq!(step_of(&requests.recv_timeout(PATIENCE).unwrap()), step.to_string());
        until("it is counted", || exporter.tally().accepted + exporter.tally().lost == step.unsigned_abs());
    }
    assert_eq!(counts(exporter.end(PATIENCE)), (1, 2));
    let expected = [Trouble::Status(400, "no [2Jtenant".to_owned()), Trouble::Partial(2, "old".to_owned())];
    assert_eq!(said.iter().collect::<Vec<_>>(), expected);
}

#[test]
fn whoever_is_no_collector_does_no_harm() {
    let (listener, place) = listener();
    let replies = [b"\xff\xfe nonsense\r\n\r\n".to_vec(), Vec::new(), b"HTTP/1.1 200 OK\r\nContent-Len".to_vec()];
    let requests = serve(listener, replies.map(Reply::Bytes).into());
    let (mut exporter, said) = exporter(&place, &[]);
    exporter.take(of_step(1), Instant::now());
    for _ in 0..2 {
        assert_eq!(step_of(&requests.recv_timeout(PATIENCE).unwrap()), "1");
    }
    assert_eq!(counts(exporter.end(PATIENCE)), (0, 1));
    let said: Vec<Trouble> = said.iter().collect();
    assert!(matches!(said[..], [Trouble::Unreachable(_)]), "{said:?}");
}

#[test]
fn a_redirection_is_not_followed() {
    let (elsewhere, place_of_it) = listener();
    let (listener, place) = listener();
    let sent_on = Reply::status("307 Temporary Redirect", &format!("Location: {place_of_it}/v1/metrics\r\n"), b"");
    let requests = serve(listener, vec![sent_on]);
    let (mut exporter, said) = exporter(&place, &[("OTEL_EXPORTER_OTLP_HEADERS", "api-key=secret")]);
    exporter.take(of_step(1), Instant::now());
    requests.recv_timeout(PATIENCE).unwrap();
    assert_eq!(counts(exporter.end(PATIENCE)), (0, 1));
    assert_eq!(said.iter().collect::<Vec<_>>(), [Trouble::Status(307, String::new())]);
    elsewhere.set_nonblocking(true).unwrap();
    assert!(elsewhere.accept().is_err());
}

#[test]
fn nobody_waits_for_a_collector_that_is_slow_or_not_there() {
    let (listener, place) = listener();
    let _requests = serve(listener, vec![Reply::Silence(PATIENCE)]);
    let (mut exporter, _said) = self::exporter(&place, &[]);
    let looks: i64 = 1_000;
    for step in 1..=looks {
        exporter.take(of_step(step), Instant::now());
    }
    assert!(exporter.tally().lost >= looks.unsigned_abs() - 2, "one is on its way, and one waits");
    assert_eq!(counts(exporter.end(Duration::from_millis(50))), (0, looks.unsigned_abs()));

    let (listener, place) = self::listener();
    drop(listener);
    let (mut exporter, said) = self::exporter(&place, &[]);
    exporter.take(of_step(1), Instant::now());
    let trouble = said.recv_timeout(PATIENCE).unwrap();
    assert!(matches!(&trouble, Trouble::Unreachable(reason) if reason.contains("refused")), "{trouble}");
    assert_eq!(counts(exporter.end(PATIENCE)), (0, 1));
}

#[test]
fn a_slow_answer_is_given_up_in_time_and_the_next_one_counts() {
    let (listener, place) = listener();
    let requests = serve(listener, vec![Reply::Silence(Duration::from_millis(400)), Reply::fine()]);
    let (mut exporter, said) = exporter(&place, &[("OTEL_EXPORTER_OTLP_TIMEOUT", "200")]);
    exporter.take(of_step(1), Instant::now());
    assert!(matches!(said.recv_timeout(PATIENCE).unwrap(), Trouble::Unreachable(reason) if reason.contains("timeout")));
    until("it is there", || exporter.tally().accepted == 1);
    assert_eq!(requests.iter().take(2).map(|request| step_of(&request)).collect::<Vec<_>>(), ["1", "1"]);
    assert_eq!(counts(exporter.end(PATIENCE)), (1, 0));
}

#[test]
fn a_look_is_due_once_an_interval() {
    let (listener, place) = listener();
    let _requests = serve(listener, vec![Reply::fine()]);
    let (mut exporter, _said) = exporter(&place, &[("OTEL_METRIC_EXPORT_INTERVAL", "5000")]);
    let began = Instant::now();
    assert!(exporter.is_due(began));
    exporter.take(of_step(1), began);
    let after = |ms| began + Duration::from_millis(ms);
    assert!(!exporter.is_due(began) && !exporter.is_due(after(4_999)) && exporter.is_due(after(5_000)));
}
