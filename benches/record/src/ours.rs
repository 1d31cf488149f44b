//! Our recorder, as its guide says: a session with the default options, and a macro at the call site.

use std::hint::black_box;
use std::time::{Duration, Instant};

use anyhow::Result;
use rankscope_record::{Overflow, Session, SessionOptions, record_function};

use crate::turns::crew;

/// No session: what instrumented code pays for ever.
pub fn off() -> impl FnMut(u64) -> Duration {
    timed_spans
}

/// Plain spans.
pub fn spans() -> Result<impl FnMut(u64) -> Duration> {
    let session = Session::start(options())?;
    Ok(move |spans| {
        let _kept = &session;
        timed_spans(spans)
    })
}

/// Spans with two scalar arguments.
pub fn spans_with_two_args() -> Result<impl FnMut(u64) -> Duration> {
    let session = Session::start(options())?;
    Ok(move |spans| {
        let _kept = &session;
        let begun = Instant::now();
        for index in 0..spans {
            let (rows, scale) = black_box((index as i64, 0.5));
            let _span = record_function!("span", rows = rows, scale = scale);
        }
        begun.elapsed()
    })
}

/// Plain spans on several threads at once.
pub fn together(threads: usize) -> Result<impl FnMut(u64) -> Duration> {
    let session = Session::start(options())?;
    let mut crew = crew(threads, || timed_spans);
    Ok(move |spans| {
        let _kept = &session;
        crew(spans)
    })
}

/// The default, with room for every turn of the crew of four.
pub fn options() -> SessionOptions {
    SessionOptions { overflow: Overflow::Stop { max_bytes: 64 << 30 }, ..SessionOptions::default() }
}

/// Spans with nothing in them, one after the other.
fn timed_spans(spans: u64) -> Duration {
    let begun = Instant::now();
    for _ in 0..spans {
        let _span = record_function!("span");
    }
    begun.elapsed()
}

/// `spans` spans of a shape programs have: steps of layers of operators, eight to a step, nested three deep.
pub fn nested_spans(spans: u64) {
    for _ in 0..spans / 8 {
        let _step = record_function!("step");
        for _ in 0..2 {
            let _layer = record_function!("layer");
            {
                let _operator = record_function!("matmul");
                black_box(work(20));
            }
            let _operator = record_function!("add");
            black_box(work(5));
        }
        let _optimizer = record_function!("optimizer");
        black_box(work(10));
    }
}

/// A little of something, so that durations vary as they do.
fn work(rounds: u64) -> u64 {
    (0..black_box(rounds)).fold(1, |x, round| x ^ x.rotate_left(7) ^ round)
}
