//! A fixed number of spans, for an instruction counter: `cargo xtask instructions` runs it under callgrind.
//!
//! `count_instructions off|span|span_two_args COUNT`. Two counts, and the difference of what they take, leave out everything
//! but the spans.
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

use std::hint::black_box;

use rankscope_record::{Session, SessionOptions, record_function};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [what, count] = &args[..] else {
        println!("usage: count_instructions off|span|span_two_args COUNT");
        return Ok(());
    };
    let count: u64 = count.parse()?;
    let session = if what == "off" { None } else { Some(Session::start(SessionOptions::default())?) };
    if what == "span_two_args" {
        spans_with_two_args(count)
    } else {
        spans(count)
    }
    if let Some(session) = session {
        session.stop()?;
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
