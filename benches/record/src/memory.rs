//! What this process holds and has used, as the kernel counts it.

use std::fs;

use anyhow::{Context, Result};

/// A field of `/proc/self/status` in decimal megabytes: `VmRSS` for what is resident, `VmHWM` for its peak.
pub fn megabytes(field: &str) -> Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(field)?.strip_prefix(':'));
    let kib = line.and_then(|line| line.split_whitespace().next()).with_context(|| format!("no {field}"))?;
    Ok(kib.parse::<f64>()? * 1_024.0 / 1e6)
}

/// Lets the peak start again from what is resident now.
pub fn forget_peak() -> Result<()> {
    fs::write("/proc/self/clear_refs", "5").context("failed to reset the peak of resident memory")
}

/// Processor time of all threads.
pub fn cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the pointer is to a live timespec; the clock exists on every Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
