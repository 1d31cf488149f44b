//! The process that dies so that nobody else has to.

use std::fs;
use std::panic;
use std::path::Path;
use std::process::exit;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use rankscope_testkit::Rng;
use rankscope_testkit::mutations::mutated;

use super::Until;
use super::readers::Reader;

/// Feeds `reader` as long as `until` says, each input kept in `current` while it is read. Dies where the reader does.
pub(crate) fn run(reader: &Reader, seed: u64, until: Until, current: &Path) -> Result<()> {
    bound_memory().context("failed to bound the memory of the fuzz worker")?;
    let begun = Instant::now();
    let heartbeat = watch(begun);
    let seeds = (reader.seeds)();
    if seeds.is_empty() {
        bail!("reader {} has no seeds", reader.name);
    }
    let mut rng = Rng::new(seed);
    let (mut count, mut bytes, mut slowest) = (0_u64, 0_u64, Duration::ZERO);
    let is_enough = |bytes: u64| match until {
        Until::Seconds(seconds) => begun.elapsed() >= Duration::from_secs(seconds),
        Until::Bytes(enough) => bytes >= enough,
    };
    while !is_enough(bytes) {
        // The seeds themselves go first: a reader that dies of a good file should say so at once.
        let input = match seeds.get(count as usize) {
            Some(seed) => seed.clone(),
            None => mutated(reader.shape, pick(&seeds, &mut rng), pick(&seeds, &mut rng), &mut rng),
        };
        fs::write(current, &input).with_context(|| format!("failed to write {}", current.display()))?;
        let before = begun.elapsed();
        heartbeat.store(before.as_millis() as u64, Ordering::Relaxed);
        if panic::catch_unwind(|| (reader.read)(&input)).is_err() {
            exit(PANICKED);
        }
        slowest = slowest.max(begun.elapsed() - before);
        (count, bytes) = (count + 1, bytes + input.len() as u64);
    }
    heartbeat.store(DONE, Ordering::Relaxed);
    let megabytes = bytes as f64 / 1e6;
    println!("{}: {count} inputs, {megabytes:.1} MB, seed {seed}, slowest {:.1} ms", reader.name, slowest.as_secs_f64() * 1e3);
    // Nothing died of it, and a file left behind would look as if something had.
    fs::remove_file(current).with_context(|| format!("failed to remove {}", current.display()))
}

fn pick<'a>(seeds: &'a [Vec<u8>], rng: &mut Rng) -> &'a [u8] {
    &seeds[rng.below(seeds.len() as u64) as usize]
}

/// A thread that ends the process when one input takes too long. The heartbeat is when the current input began.
fn watch(begun: Instant) -> Arc<AtomicU64> {
    let heartbeat = Arc::new(AtomicU64::new(0));
    let watched = Arc::clone(&heartbeat);
    thread::spawn(move || {
        loop {
            thread::sleep(Duration::from_millis(100));
            let since = watched.load(Ordering::Relaxed);
            if since != DONE && (begun.elapsed().as_millis() as u64).saturating_sub(since) > LONGEST.as_millis() as u64 {
                exit(HUNG);
            }
        }
    });
    heartbeat
}

/// Limits address space: an allocation beyond it fails, and the process aborts with the input on disk.
#[expect(unsafe_code, reason = "std has no resource limits; setrlimit reads one struct and touches only this process")]
fn bound_memory() -> std::io::Result<()> {
    let limit = libc::rlimit { rlim_cur: MEMORY_BYTES, rlim_max: MEMORY_BYTES };
    // SAFETY: the pointer is to a live, initialised rlimit for the length of the call.
    match unsafe { libc::setrlimit(libc::RLIMIT_AS, &raw const limit) } {
        0 => Ok(()),
        _ => Err(std::io::Error::last_os_error()),
    }
}

/// Exit codes that tell the parent what happened.
pub(crate) const PANICKED: i32 = 101;
pub(crate) const HUNG: i32 = 102;

/// A thousand times what a good input of the largest size takes.
pub(crate) const LONGEST: Duration = Duration::from_secs(10);

/// Address space for code, thread stacks, arenas and an input of a megabyte that may inflate a thousandfold, but not twice that.
pub(crate) const MEMORY_BYTES: u64 = 2 << 30;

const DONE: u64 = u64::MAX;
