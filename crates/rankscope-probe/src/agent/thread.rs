//! The thread that probes, made as punctual as this host allows.

use std::io;
use std::time::Duration;

use nix::libc;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::time::{ClockId, clock_gettime};
use nix::unistd::Pid;
use rankscope_time::Span;

/// How the thread of the agent runs.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub struct ThreadOptions {
    /// The processor it stays on.
    pub cpu: Option<usize>,
    /// Ask for real-time scheduling.
    pub fifo: bool,
}

/// Makes the calling thread as punctual as it may be; returns what was refused.
pub(super) fn prepare(options: ThreadOptions) -> Vec<String> {
    let mut refused = Vec::new();
    // By default the kernel lets a sleeper oversleep by 50 us.
    if let Err(error) = nix::sys::prctl::set_timerslack(1) {
        refused.push(format!("the timer slack cannot be reduced ({error}); probes may be sent up to 50 us late"));
    }
    if let Some(cpu) = options.cpu {
        let mut cpus = CpuSet::new();
        let pinned = cpus.set(cpu).and_then(|()| sched_setaffinity(Pid::from_raw(0), &cpus));
        if let Err(error) = pinned {
            refused.push(format!("cannot pin to CPU {cpu} ({error}); the agent runs on any CPU"));
        }
    }
    if options.fifo
        && let Err(error) = real_time_scheduling()
    {
        refused.push(format!("no real-time scheduling ({error}; it needs CAP_SYS_NICE); the agent runs with normal priority"));
    }
    refused
}

/// What it takes this thread's processor to sleep and wake, once: the median of a few dozen times, by the time that the kernel counts
/// as the thread's. Zero where it does not count.
pub(super) fn wake_cost() -> Span {
    let mut costs_ns = [(); WAKES].map(|()| {
        let before = taken_ns();
        std::thread::sleep(NAP);
        taken_ns().zip(before).map_or(0, |(after, before)| after - before)
    });
    costs_ns.sort_unstable();
    Span::from_nanos(costs_ns[WAKES / 2])
}

/// Naps that are measured, and how long each is: long enough that the processor goes to sleep, too.
const WAKES: usize = 32;
const NAP: Duration = Duration::from_millis(1);

fn taken_ns() -> Option<i64> {
    let taken = clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).ok()?;
    Some(crate::nanos(taken.tv_sec(), taken.tv_nsec()))
}

/// The lowest real-time priority: above every ordinary thread, below whatever the system itself needs.
#[expect(unsafe_code, reason = "no crate that we use sets the scheduler")]
fn real_time_scheduling() -> io::Result<()> {
    // SAFETY: plain numbers, for which zero is a value.
    let mut parameter: libc::sched_param = unsafe { std::mem::zeroed() };
    parameter.sched_priority = 1;
    // SAFETY: the pointer is to a live value for the length of the call; 0 is the calling thread.
    let refused = unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameter) };
    if refused == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waking_costs_something_and_less_than_the_nap() {
        let cost = wake_cost();
        assert!(cost > Span::ZERO && cost.as_nanos() < NAP.as_nanos() as i64, "{cost:?}");
    }
}
