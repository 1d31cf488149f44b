//! A flight recorder: the last seconds are always there, and a panic writes them down.
//! `cargo run --example flight_recorder -- FILE` (without one, a file among the system's temporary ones).
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use std::error::Error;
use std::hint::black_box;
use std::path::PathBuf;
use std::time::Duration;
use std::{panic, thread};

use rankscope_record::{Overflow, Session, SessionOptions, record_function};

fn main() -> Result<(), Box<dyn Error>> {
    let path = std::env::args_os().nth(1).map_or_else(|| std::env::temp_dir().join("flight.json.gz"), PathBuf::from);
    let overflow = Overflow::Ring { max_bytes: 4 << 20, keep: Duration::from_secs(10) };
    let session = Session::start(SessionOptions::default().with_overflow(overflow))?;
    let recorder = session.clone();
    panic::set_hook(Box::new(move |panic| {
        println!("{panic}");
        // A snapshot: other threads record on, and the spans that were open when it happened are in it, marked as unfinished.
        let dumped = recorder.snapshot().map_err(Box::<dyn Error>::from).and_then(|recorded| {
            recorded.save(&path)?;
            Ok(path.metadata()?.len())
        });
        match dumped {
            Ok(bytes) => println!("the last seconds are in {}, {bytes} bytes", path.display()),
            Err(error) => println!("the last seconds are lost: {error}"),
        }
    }));

    let worker = thread::spawn(|| (0..u64::MAX).for_each(serve));
    println!("the worker came to {}", if worker.join().is_ok() { "its end" } else { "grief" });
    let report = session.stop()?.report;
    println!("the ring took {} bytes; overwritten: {} events", report.bytes, report.overwritten());
    Ok(())
}

/// Serves requests until one is too much.
fn serve(request: u64) {
    let _span = record_function!("serve", request = request);
    let _parse = record_function!("parse");
    assert!(request < 150_000, "request {request} is too much");
    black_box((0..100).fold(request, |sum, round| sum.rotate_left(3) ^ round));
}
