//! The tick counter: the cheapest clock the machine has that runs at one rate on every core.
//!
//! On x86-64 that is the time stamp counter where it is invariant, on arm64 the virtual counter; elsewhere, and where the
//! counter cannot be trusted, `CLOCK_MONOTONIC_RAW` in nanoseconds. Nothing here knows what a tick is worth: anchors say that.
#![expect(unsafe_code, reason = "counters are read with instructions, clocks with a system call into caller's memory")]

use std::sync::atomic::{AtomicU8, Ordering};

/// Where ticks come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TickSource {
    /// A counter of the processor.
    Counter,
    /// `CLOCK_MONOTONIC_RAW`, in nanoseconds.
    MonotonicRaw,
}

impl TickSource {
    /// Its name in reports and recordings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Counter if cfg!(target_arch = "aarch64") => "cntvct",
            Self::Counter => "tsc",
            Self::MonotonicRaw => "monotonic_raw",
        }
    }
}

const UNKNOWN: u8 = 0;
const COUNTER: u8 = 1;
const CLOCK: u8 = 2;

static SOURCE: AtomicU8 = AtomicU8::new(UNKNOWN);

/// Which counter this process uses, found out once.
pub fn tick_source() -> TickSource {
    if SOURCE.load(Ordering::Relaxed) == UNKNOWN {
        SOURCE.store(if counter_is_invariant() { COUNTER } else { CLOCK }, Ordering::Relaxed);
    }
    if SOURCE.load(Ordering::Relaxed) == COUNTER { TickSource::Counter } else { TickSource::MonotonicRaw }
}

/// The counter now, in ticks of [`tick_source`].
#[inline(always)]
pub fn ticks() -> u64 {
    if SOURCE.load(Ordering::Relaxed) == COUNTER { counter() } else { slow_ticks() }
}

#[cold]
fn slow_ticks() -> u64 {
    match tick_source() {
        TickSource::Counter => counter(),
        TickSource::MonotonicRaw => clock_ns(libc::CLOCK_MONOTONIC_RAW) as u64,
    }
}

#[inline(always)]
fn counter() -> u64 {
    #[cfg(target_arch = "x86_64")]
    {
        // SAFETY: the instruction has no precondition; that it is not trapped was seen when the source was chosen.
        unsafe { std::arch::x86_64::_rdtsc() }
    }
    #[cfg(target_arch = "aarch64")]
    {
        let value: u64;
        // SAFETY: the virtual counter may be read by programs, and reading it touches nothing.
        unsafe { std::arch::asm!("mrs {}, cntvct_el0", out(reg) value, options(nomem, nostack, preserves_flags)) };
        value
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    {
        clock_ns(libc::CLOCK_MONOTONIC_RAW) as u64
    }
}

/// Whether the counter runs at one rate whatever the cores do. A virtual machine may hide the processor's word for it; then the
/// kernel's trust, which it shows by keeping its own time with the counter, will do.
fn counter_is_invariant() -> bool {
    #[cfg(target_arch = "x86_64")]
    {
        const EXTENDED_POWER: u32 = 0x8000_0007;
        const INVARIANT: u32 = 1 << 8;
        use std::arch::x86_64::__cpuid;
        if __cpuid(0x8000_0000).eax >= EXTENDED_POWER && __cpuid(EXTENDED_POWER).edx & INVARIANT != 0 {
            return true;
        }
        let trusted = std::fs::read_to_string("/sys/devices/system/clocksource/clocksource0/current_clocksource");
        trusted.is_ok_and(|name| name.trim() == "tsc")
    }
    #[cfg(not(target_arch = "x86_64"))]
    {
        cfg!(target_arch = "aarch64")
    }
}

/// `CLOCK_MONOTONIC_RAW` now, in nanoseconds: what times of the live page are.
pub fn raw_ns() -> i64 {
    clock_ns(libc::CLOCK_MONOTONIC_RAW)
}

/// A clock of the kernel, in nanoseconds since its epoch; zero where there is no such clock.
pub(crate) fn clock_ns(clock: libc::clockid_t) -> i64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the answer.
    if unsafe { libc::clock_gettime(clock, &raw mut time) } != 0 {
        return 0;
    }
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_never_run_backwards_on_a_thread() {
        let readings: Vec<u64> = (0..10_000).map(|_| ticks()).collect();
        assert!(readings.is_sorted());
        assert!(readings.last() > readings.first());
    }
}
