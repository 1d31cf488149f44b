//! Fifty requests at once on two threads of tokio's, recorded through `tracing`:
//! `cargo run --features tracing --example tokio_requests -- FILE` (without one, a file among the system's temporary ones).
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

mod answer;

use std::error::Error;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Duration;

use rankscope_record::{RecordingLayer, Session, SessionOptions, set_process_name};
use tracing_subscriber::layer::SubscriberExt;

const REQUESTS: u64 = 50;
/// Until the database answers.
const WAIT: Duration = Duration::from_millis(5);

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).map_or_else(|| std::env::temp_dir().join("requests.rkr"), PathBuf::from);
    tracing::subscriber::set_global_default(tracing_subscriber::registry().with(RecordingLayer::new()))?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_time().build()?;
    let session = Session::start(SessionOptions::default())?;
    set_process_name("requests");
    runtime.block_on(async {
        let requests: Vec<_> = (0..REQUESTS).map(|number| tokio::spawn(request(number))).collect();
        for request in requests {
            request.await?;
        }
        Ok::<_, Box<dyn Error>>(())
    })?;
    let stopped = session.stop()?;
    println!("{} events, {} lost", stopped.report.events(), stopped.report.dropped());
    stopped.recorded.save(&path)?;

    let Some(answer) = answer::spans(&path)? else { return Ok(()) };
    // Each poll of a request is a span of its thread, and there are at least two: before the waiting and after it.
    let polls = answer::row(&answer, "spans", "request").cloned().unwrap_or_default();
    assert!(polls["count"].as_u64() >= Some(2 * REQUESTS), "{polls}");
    // With its lifetime recorded, a request is an asynchronous span as well, which includes its waiting.
    if let Some(requests) = answer::row(&answer, "async_spans", "request") {
        assert_eq!(requests["count"].as_u64(), Some(REQUESTS), "{requests}");
        let waited_ns = REQUESTS * u64::try_from(WAIT.as_nanos())?;
        assert!(requests["total_ns"].as_u64() >= Some(waited_ns), "{requests}");
    }
    Ok(())
}

#[tracing::instrument]
async fn request(number: u64) {
    let query = parse(number);
    tokio::time::sleep(WAIT).await;
    render(query);
}

#[tracing::instrument]
fn parse(number: u64) -> u64 {
    black_box((0..5_000).fold(number, |sum, round: u64| sum.rotate_left(3) ^ round))
}

#[tracing::instrument(skip_all)]
fn render(query: u64) {
    black_box((0..20_000).fold(query, |sum, round: u64| sum.rotate_left(3) ^ round));
}
