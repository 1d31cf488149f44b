//! Our recorder, as its guide says: a session with the default options, and a macro at the call site.

use std::future::Future;
use std::hint::black_box;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

use anyhow::Result;
use rankscope_record::{Overflow, Session, SessionOptions, in_span, record_function, record_next};

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

/// Plain spans of which each begins as the one before ends.
pub fn nexts() -> Result<impl FnMut(u64) -> Duration> {
    let session = Session::start(options())?;
    Ok(move |spans| {
        let _kept = &session;
        let begun = Instant::now();
        let mut span = record_function!("span");
        for _ in 1..spans {
            span = record_next!(span, "next");
        }
        drop(span);
        begun.elapsed()
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

/// Plain spans into a file that outlives the process.
pub fn spans_to_file() -> Result<impl FnMut(u64) -> Duration> {
    let folder = tempfile::tempdir()?;
    let session = Session::start(SessionOptions::to_file(folder.path().join("live.rks")))?;
    Ok(move |spans| {
        let _kept = (&session, &folder);
        timed_spans(spans)
    })
}

/// Plain spans into a ring of 16 MiB that went round before the first turn.
pub fn spans_in_ring() -> Result<impl FnMut(u64) -> Duration> {
    let session = Session::start(ring(16 << 20))?;
    timed_spans(2_000_000);
    Ok(move |spans| {
        let _kept = &session;
        timed_spans(spans)
    })
}

/// Polls of one future that never becomes ready.
pub fn polls() -> Result<impl FnMut(u64) -> Duration> {
    let session = Session::start(options())?;
    let mut future = Box::pin(in_span!(std::future::pending::<()>(), "poll"));
    Ok(move |spans| {
        let _kept = &session;
        let mut context = Context::from_waker(Waker::noop());
        let begun = Instant::now();
        for _ in 0..spans {
            let _pending = black_box(future.as_mut().poll(&mut context));
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

/// The same into a ring that went round before the first turn, so that nobody waits for memory.
pub fn together_in_ring(threads: usize) -> Result<impl FnMut(u64) -> Duration> {
    let session = Session::start(ring((16 << 20) * threads as u64))?;
    let mut crew = crew(threads, || timed_spans);
    crew(2_000_000);
    Ok(move |spans| {
        let _kept = &session;
        crew(spans)
    })
}

/// A ring of so many bytes.
fn ring(max_bytes: u64) -> SessionOptions {
    options().with_overflow(Overflow::Ring { keep: Duration::from_secs(3600), max_bytes })
}

/// The default: memory, up to a gigabyte.
pub fn options() -> SessionOptions {
    SessionOptions::default()
}

/// Spans with nothing in them, one after the other.
fn timed_spans(spans: u64) -> Duration {
    let begun = Instant::now();
    for _ in 0..spans {
        let _span = record_function!("span");
    }
    begun.elapsed()
}

/// `spans` spans of a shape programs have: steps of layers of operators, eight to a step, nested three deep, some ten times as
/// long as others. Durations are what takes room on a disk, so they must not repeat.
pub fn nested_spans(spans: u64) {
    let mut random = 1;
    for _ in 0..spans / 8 {
        let _step = record_function!("step");
        for _ in 0..2 {
            let _layer = record_function!("layer");
            {
                let _operator = record_function!("matmul");
                work(&mut random);
            }
            let _operator = record_function!("add");
            work(&mut random);
        }
        let _optimizer = record_function!("optimizer");
        work(&mut random);
    }
}

/// A little of something, of a random length between nothing and a few hundred nanoseconds.
fn work(random: &mut u64) {
    *random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    let rounds = (*random >> 57) << (*random >> 32 & 1);
    black_box((0..black_box(rounds)).fold(1_u64, |x, round| x ^ x.rotate_left(7) ^ round));
}
