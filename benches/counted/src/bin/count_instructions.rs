//! A fixed number of spans, for an instruction counter: `cargo xtask instructions` runs it under callgrind.
//!
//! `count_instructions off|span|span_two_args|two_ticks COUNT`. Two counts, and the difference of what they take, leave out
//! everything but the spans.
#![expect(clippy::print_stdout, reason = "a program talks to its reader")]

use std::hint::black_box;

use rankscope_record::{Session, SessionOptions, record_function, ticks};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [what, count] = &args[..] else {
        println!("usage: count_instructions off|span|span_two_args|two_ticks COUNT");
        return Ok(());
    };
    let count: u64 = count.parse()?;
    let recorded = |work: fn(u64)| -> Result<(), Box<dyn std::error::Error>> {
        let session = Session::start(SessionOptions::default())?;
        work(count);
        session.stop()?;
        Ok(())
    };
    match what.as_str() {
        "off" => spans(count),
        "span" => recorded(spans)?,
        "span_two_args" => recorded(spans_with_two_args)?,
        "two_ticks" => recorded(two_ticks)?,
        _ => return Err(format!("{what} is not counted").into()),
    }
    Ok(())
}

fn spans(count: u64) {
    for _ in 0..count {
        let _span = record_function!("span");
    }
}

fn spans_with_two_args(count: u64) {
    for index in 0..count {
        let (rows, scale) = black_box((index as i64, 0.5));
        let _span = record_function!("span", rows = rows, scale = scale);
    }
}

fn two_ticks(count: u64) {
    for _ in 0..count {
        black_box((ticks(), ticks()));
    }
}
