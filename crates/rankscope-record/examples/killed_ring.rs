//! Spans begun and ended by hand, in a ring in a file, by a process that is killed (`kill -9`); and what is in the file then:
//! `cargo run --example killed_ring -- FILE` (without one, a file among the system's temporary ones).
#![expect(clippy::print_stdout, reason = "an example talks to its reader")]

mod answer;

use std::error::Error;
use std::hint::black_box;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use rankscope_record::{
    Category, Overflow, Scope, Session, SessionOptions, Storage, begin_raw, end_raw, intern, set_thread_name,
};

/// More than the ring holds.
const REQUESTS: u64 = 200_000;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let path = arguments.next().map_or_else(|| std::env::temp_dir().join("killed.rkr"), PathBuf::from);
    if arguments.next().is_some_and(|word| word == "record") {
        return record(&path);
    }
    let mut child = Command::new(std::env::current_exe()?).arg(&path).arg("record").stdout(Stdio::piped()).spawn()?;
    let mut said = String::new();
    if let Some(stdout) = child.stdout.take() {
        BufReader::new(stdout).read_line(&mut said)?;
    }
    child.kill()?;
    println!("{} and was killed: {}", said.trim(), child.wait()?);

    let Some(answer) = answer::spans(&path)? else { return Ok(()) };
    let served = answer::row(&answer, "spans", "serve").cloned().unwrap_or_default();
    assert!((1..REQUESTS).contains(&served["count"].as_u64().unwrap_or(0)), "the last seconds are there: {served}");
    let last = answer::row(&answer, "spans", "the last request").cloned().unwrap_or_default();
    assert_eq!((last["count"].as_u64(), last["unfinished"].as_u64()), (Some(1), Some(1)), "{last}");
    Ok(())
}

/// Records until it is killed.
fn record(path: &Path) -> Result<(), Box<dyn Error>> {
    let overflow = Overflow::Ring { max_bytes: 2 << 20, keep: Duration::from_secs(60) };
    let storage = Storage::File(path.to_owned());
    let _session = Session::start(SessionOptions::default().with_storage(storage).with_overflow(overflow))?;
    set_thread_name("server");
    let [serve, last] = ["serve", "the last request"].map(|name| intern(name, Category::USER_ANNOTATION, Scope::UserScope));
    for request in 0..REQUESTS {
        let span = begin_raw(serve, &[]);
        black_box((0..100).fold(request, |sum, round| sum.rotate_left(3) ^ round));
        if let Some(span) = span {
            end_raw(span, &[]);
        }
    }
    let _open = begin_raw(last, &[]);
    println!("served {REQUESTS} requests");
    std::io::stdout().flush()?;
    loop {
        std::thread::park();
    }
}
