//! Samples the counters of this node for a while, and says what that took: `cargo run --release --example sample_node -- FOLDER SECONDS [HZ]`.
//!
//! `cargo xtask bench devices` starts it. What sampling takes is all that its process takes meanwhile; what its start and its end take, to open what is
//! sampled and to pack the recording, is told beside it.
#![expect(clippy::print_stdout, reason = "it says what it took")]
#![expect(unsafe_code, reason = "the system is asked what the process took")]

use std::error::Error;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rankscope_counters::{Hz, record_node};

fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [folder, seconds, rest @ ..] = &words[..] else {
        println!("usage: sample_node FOLDER SECONDS [HZ]");
        return Ok(());
    };
    let seconds: f64 = seconds.parse()?;
    let hz: Hz = rest.first().map_or(Ok(Hz::default()), |hz| hz.parse())?;
    let mut cost_us = 0;
    record_node(Path::new(folder), hz, || {
        let before_us = took_us();
        thread::sleep(Duration::from_secs_f64(seconds));
        cost_us = took_us() - before_us;
    })?;
    let (core_percent, around_us) = (cost_us as f64 / seconds / 1e4, took_us() - cost_us);
    println!("{{\"hz\":{hz},\"cost_us\":{cost_us},\"core_percent\":{core_percent},\"around_us\":{around_us}}}");
    Ok(())
}

/// The processor time of this process.
fn took_us() -> i64 {
    // SAFETY: the place for the answer is ours.
    let used = unsafe {
        let mut used: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &raw mut used);
        used
    };
    let us = |time: libc::timeval| time.tv_sec * 1_000_000 + time.tv_usec;
    us(used.ru_utime) + us(used.ru_stime)
}
