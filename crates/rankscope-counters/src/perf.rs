//! The processor's own counters of this process (`perf_event_open(2)`): cycles and instructions, where the machine has them and lets a process look.
//!
//! A counter is of the thread that opens it and of all that this one starts afterwards, so a session is best begun early in `main`. The
//! kernel and the hypervisor are left out, which is what an ordinary user may do; what the kernel counts of switches and faults it tells without this
//! ([`crate::process`]). Where there are more counters than the processor has room for,
//! the kernel takes turns, and what is read is scaled up to the whole time.
#![expect(unsafe_code, reason = "a system call without a function of its own")]

use std::fs::File;
use std::io::{self, Read};
use std::os::fd::FromRawFd;
use std::time::Instant;

use crate::absent::Absent;
use crate::gauge::{Gauge, Rate};
use crate::source::Source;

/// `struct perf_event_attr`, as its first version has it: all kernels take that.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    sort: u32,
    bytes: u32,
    which: u64,
    sample_period: u64,
    sample_sort: u64,
    read_format: u64,
    flags: u64,
    wakeup: u32,
    breakpoint_sort: u32,
    breakpoint_address: u64,
}

/// `PERF_FORMAT_TOTAL_TIME_ENABLED` and `PERF_FORMAT_TOTAL_TIME_RUNNING`.
const WITH_TIMES: u64 = 1 | 2;
/// `inherit`, `exclude_kernel` and `exclude_hv`.
const FLAGS: u64 = 1 << 1 | 1 << 5 | 1 << 6;
/// `PERF_FLAG_FD_CLOEXEC`.
const CLOSE_ON_EXEC: libc::c_ulong = 8;

/// What is counted, by the numbers of `PERF_TYPE_HARDWARE`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u64)]
enum What {
    Cycles = 0,
    Instructions = 1,
}

/// One counter of the kernel's.
struct Counter(File);

impl Counter {
    fn open(what: What) -> Result<Self, Absent> {
        let bytes = size_of::<Attributes>() as u32;
        let attributes =
            Attributes { bytes, which: what as u64, read_format: WITH_TIMES, flags: FLAGS, ..Attributes::default() };
        // SAFETY: the kernel reads so many bytes as the structure says it has; this process, on any processor, in no group.
        let descriptor = unsafe { libc::syscall(libc::SYS_perf_event_open, &raw const attributes, 0, -1, -1, CLOSE_ON_EXEC) };
        match i32::try_from(descriptor) {
            // SAFETY: the kernel has just made it, and nobody else has it.
            Ok(descriptor @ 0..) => Ok(Self(unsafe { File::from_raw_fd(descriptor) })),
            _ => Err(Absent::NoPerf { what: format!("{what:?}"), reason: io::Error::last_os_error() }),
        }
    }

    /// How much was counted so far.
    fn total(&mut self) -> Option<u64> {
        let mut bytes = [0; 24];
        self.0.read_exact(&mut bytes).ok()?;
        let [count, enabled_ns, running_ns] =
            [0, 8, 16].map(|at| u64::from_ne_bytes(bytes[at..at + 8].try_into().unwrap_or_default()));
        scaled(count, enabled_ns, running_ns)
    }
}

/// What would have been counted in all of the time; none where nothing was counted at any time.
fn scaled(count: u64, enabled_ns: u64, running_ns: u64) -> Option<u64> {
    if running_ns == enabled_ns {
        return Some(count);
    }
    let whole = (u128::from(count) * u128::from(enabled_ns)).checked_div(u128::from(running_ns))?;
    u64::try_from(whole).ok()
}

/// Cycles and instructions of the program: not in most virtual machines.
pub(crate) struct Hardware {
    cycles: Counter,
    instructions: Counter,
    cycles_rate: Rate,
    each_cycle: Gauge,
    last: Option<(u64, u64)>,
}

impl Hardware {
    pub(crate) fn open() -> Result<Self, Absent> {
        Ok(Self {
            cycles: Counter::open(What::Cycles)?,
            instructions: Counter::open(What::Instructions)?,
            cycles_rate: Rate::new("process cycles (1/s)", 1.0),
            each_cycle: Gauge::new("process instructions per cycle"),
            last: None,
        })
    }
}

impl Source for Hardware {
    fn name(&self) -> &'static str {
        "perf"
    }

    fn look(&mut self, now: Instant) -> Result<(), Absent> {
        let (Some(cycles), Some(instructions)) = (self.cycles.total(), self.instructions.total()) else { return Ok(()) };
        self.cycles_rate.set(now, cycles);
        if let Some((before, instructions_before)) = self.last.filter(|last| last.0 < cycles) {
            let more = instructions.saturating_sub(instructions_before);
            self.each_cycle.set(more as f64 / (cycles - before) as f64);
        }
        self.last = Some((cycles, instructions));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_counted_in_part_of_the_time_is_scaled_up() {
        assert_eq!(scaled(1_000, 400, 400), Some(1_000));
        assert_eq!(scaled(1_000, 400, 100), Some(4_000));
        assert_eq!(scaled(0, 400, 0), None, "it never had its turn");
        assert_eq!(scaled(u64::MAX, u64::MAX, 1), None);
    }

    #[test]
    fn the_structure_is_the_kernels_first() {
        assert_eq!(size_of::<Attributes>(), 64);
    }
}
