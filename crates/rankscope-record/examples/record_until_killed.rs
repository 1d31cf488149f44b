//! Records nested spans on several threads into a live file for ever, and says how many are surely in it:
//! `cargo run --release --example record_until_killed -- trace.live`, then kill it with any signal, then
//! `rankscope recover trace.live`.
//!
//! Every 10 ms a line `committed <thread> <count>` is printed per thread: so many spans of that thread have ended, and a
//! recovery must find at least as many.

use std::hint::black_box;
use std::io::{self, Write};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use rankscope_record::{Overflow, Session, SessionOptions, record_function, set_thread_name};

const THREADS: usize = 3;
const DEPTH_MAX: u64 = 12;
const SAY_EVERY: Duration = Duration::from_millis(10);

fn main() -> Result<(), Box<dyn std::error::Error>> {
    match std::env::args_os().nth(1) {
        Some(path) => record(Path::new(&path)),
        None => Ok(writeln!(io::stdout(), "usage: record_until_killed FILE")?),
    }
}

/// Returns only if recording cannot start, or nobody reads what is printed any more.
pub(crate) fn record(path: &Path) -> Result<(), Box<dyn std::error::Error>> {
    // What does not fit any more is not recorded, and then not counted either.
    let options = SessionOptions::to_file(path).with_overflow(Overflow::Stop { max_bytes: 16 << 30 });
    let _session = Session::start(options)?;
    let committed: Vec<(String, Arc<AtomicU64>)> = (0..THREADS)
        .map(|index| {
            let (name, count) = (format!("worker-{index}"), Arc::new(AtomicU64::new(0)));
            let (own_name, own_count) = (name.clone(), count.clone());
            thread::Builder::new().name(name.clone()).spawn(move || {
                set_thread_name(&own_name);
                for round in 0.. {
                    nested(round % DEPTH_MAX + 1, &own_count);
                }
            })?;
            Ok((name, count))
        })
        .collect::<io::Result<_>>()?;
    loop {
        thread::sleep(SAY_EVERY);
        // One write per look: a line that is half printed when the process is killed says nothing wrong.
        let lines: String =
            committed.iter().map(|(name, count)| format!("committed {name} {}\n", count.load(Ordering::Acquire))).collect();
        let mut stdout = io::stdout().lock();
        stdout.write_all(lines.as_bytes())?;
        stdout.flush()?;
    }
}

/// A span with `depth` − 1 spans inside, counted when they have ended.
fn nested(depth: u64, ended: &AtomicU64) {
    let span = record_function!("nested", depth = depth);
    black_box((0..black_box(200_u64)).fold(depth, |x, round| x ^ x.rotate_left(5) ^ round));
    if depth > 1 {
        nested(depth - 1, ended);
    }
    let recorded = span.is_recording();
    drop(span);
    // Only this thread counts here: no read-modify-write is needed.
    ended.store(ended.load(Ordering::Relaxed) + u64::from(recorded), Ordering::Release);
}
