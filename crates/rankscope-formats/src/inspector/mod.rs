//! The JSON that NCCL's Inspector writes, the profiler plugin that comes with NCCL: `<host>-pid<pid>.log`, an object a line.
//!
//! ```text
//! {"header":    {"id": "0x7f8c496ae9f661", "comm_name", "rank": 2, "n_ranks": 8, "nnodes": 1},
//!  "metadata":  {"inspector_output_format_version": "v4.0", "dump_timestamp_us": 1748030377748202, "hostname", "pid", ...},
//!  "coll_perf": {"coll": "AllReduce", "coll_sn": 1407, "coll_msg_size_bytes", "coll_exec_time_us", "coll_timing_source",
//!                "event_trace_ts": {"coll_start_ts", "coll_stop_ts", "kernel_events": [{"kernel_start_ts", "kernel_stop_ts"}]}}}
//! ```
//! | Inspector | trace |
//! |---|---|
//! | `coll_perf` with `event_trace_ts` | collective, from the first start of its kernels' channels to their last stop |
//! | `p2p_perf` with `event_trace_ts` | send or receive, the same |
//! | either without | call *(no time was told)*, and no collective |
//! | communicator `id`, `coll_sn` and function | by which ranks are matched: NCCL counts each function by itself |
//! | `rank` in the largest communicator | rank |
//! | operations that were overwritten before they were written | lost |
//!
//! Stamps are microseconds of the wall clock. Without `NCCL_INSPECTOR_DUMP_VERBOSE=1` a line says how long an operation took and not when
//! it was: it lies somewhere before the line was written. Put there it would say something wrong about who is late and about clocks, so it
//! is shown as a call that ends when the line was written, and takes no part in either.
//!
//! Since version 4.3 a line that says only what the next ones are of (`dump_stats`) comes before them. A line that cannot be read is
//! counted and passed over. What of Inspector's goes to Prometheus is no trace.

mod builder;
mod line;

#[cfg(test)]
mod tests;

use std::io::{BufRead, BufReader, Read};

use rankscope_trace::{ProblemKind, Trace};

use self::builder::Builder;
use self::line::{Line, Parsed};
use crate::json::scan::skip_space;
use crate::{Error, Foreign, NoEvents, ReadOptions};

/// A line is at most this long; with the times of all channels it has some 10 kB.
const LINE_BYTES_MAX: u64 = 1 << 20;

/// Whether a text that begins with `head` is such a file: its first line is one of Inspector's.
pub fn is_head(head: &[u8]) -> bool {
    let text = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let open = skip_space(text, 0);
    let first_key = text.get(skip_space(text, open + 1)..).unwrap_or_default();
    // What the object holds may be longer than the head: its first line is looked at.
    let line = text.split(|byte| *byte == b'\n').find(|line| !line.trim_ascii().is_empty()).unwrap_or_default();
    text.get(open) == Some(&b'{')
        && KEYS.iter().any(|key| first_key.starts_with(key))
        && MARKS.iter().any(|mark| memchr::memmem::find(line, mark).is_some())
}

/// Keys that a line begins with.
const KEYS: [&[u8]; 5] = [b"\"header\"", b"\"metadata\"", b"\"coll_perf\"", b"\"p2p_perf\"", b"\"dump_stats\""];

/// What no other file has.
const MARKS: [&[u8]; 3] = [b"\"inspector_output_format_version\"", b"\"coll_sn\"", b"\"p2p_sn\""];

/// Whether a file called `name` may be one: its name ends in the number of a process, as Inspector names its files.
pub fn is_name(name: &str) -> bool {
    let name = [".gz", ".zst"].into_iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name);
    let stem = [".log", ".jsonl"].into_iter().find_map(|suffix| name.strip_suffix(suffix));
    let pid = stem.and_then(|stem| stem.rsplit_once("-pid")).map(|(_, pid)| pid);
    pid.is_some_and(|pid| !pid.is_empty() && pid.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Reads the ranks of `input`, usually one: a trace each.
///
/// # Errors
/// [`Error::NotATrace`] for a file without an operation, [`Error::NoEvents`] for one that is damaged before the first, and what `input`
/// fails with.
pub fn read_all(input: impl Read, options: &ReadOptions) -> Result<Vec<Trace>, Error> {
    let mut input = BufReader::new(input);
    let mut builder = Builder::default();
    let (mut bytes, mut offset) = (Vec::new(), 0);
    loop {
        bytes.clear();
        let taken = (&mut input).take(LINE_BYTES_MAX).read_until(b'\n', &mut bytes)? as u64;
        if taken == 0 {
            break;
        }
        let ends = bytes.last() == Some(&b'\n');
        if !ends && taken == LINE_BYTES_MAX {
            builder.problems.add(ProblemKind::TooLong, offset);
            offset += taken + rest_of_line(&mut input)?;
            continue;
        }
        one(&mut builder, &bytes, ends, offset);
        offset += taken;
    }
    traces(builder, offset, options)
}

fn one(builder: &mut Builder, bytes: &[u8], ends: bool, offset: u64) {
    let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii();
    if text.is_empty() {
        return;
    }
    match Line::parse(text) {
        Parsed::Line(line) => builder.line(*line, offset),
        Parsed::Other => builder.problems.add_detailed(ProblemKind::Unsupported, offset, 1, "lines of another kind".to_owned()),
        // The process may have been killed while it wrote.
        Parsed::Malformed if !ends => builder.problems.add(ProblemKind::Truncated, offset),
        Parsed::Malformed => builder.problems.add(ProblemKind::MalformedEvent, offset),
    }
}

/// Goes past the end of the line; how many bytes that was.
fn rest_of_line(input: &mut impl BufRead) -> Result<u64, Error> {
    let mut passed = 0;
    loop {
        let held = input.fill_buf()?;
        let end = memchr::memchr(b'\n', held);
        let used = end.map_or(held.len(), |end| end + 1);
        let is_over = end.is_some() || held.is_empty();
        input.consume(used);
        passed += used as u64;
        if is_over {
            return Ok(passed);
        }
    }
}

fn traces(builder: Builder, bytes: u64, options: &ReadOptions) -> Result<Vec<Trace>, Error> {
    if builder.is_empty() {
        return Err(match builder.problems.iter().find(|problem| problem.kind != ProblemKind::Unsupported) {
            Some(first) => Error::NoEvents { offset: first.offset, reason: NoEvents::damaged(first) },
            None => Error::NotATrace { found: Foreign::InspectorOfNothing },
        });
    }
    let mut traces = builder.finish(options);
    traces.iter_mut().for_each(|trace| trace.provenance.bytes = bytes);
    Ok(traces)
}
