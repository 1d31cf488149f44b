//! The counters of this process: processor time, memory, faults of pages, and how often its threads waited or lost their processor.
#![expect(unsafe_code, reason = "the system is asked what the process used")]

use std::time::Instant;

use crate::absent::Absent;
use crate::gauge::{Gauge, Rate};
use crate::kept::Kept;
use crate::source::Source;

/// The counters of this process.
pub(crate) struct Process {
    statm: Kept,
    page_bytes: u64,
    resident: Gauge,
    user: Rate,
    system: Rate,
    major_faults: Rate,
    preempted: Rate,
    waited: Rate,
}

impl Process {
    pub(crate) fn open() -> Result<Self, Absent> {
        // SAFETY: it has no precondition.
        let page_bytes = unsafe { libc::sysconf(libc::_SC_PAGESIZE) };
        Ok(Self {
            statm: Kept::open("/proc/self/statm")?,
            page_bytes: u64::try_from(page_bytes).unwrap_or(4_096),
            resident: Gauge::new("process memory (bytes)"),
            user: Rate::new("process user time (cores)", 1e-6),
            system: Rate::new("process system time (cores)", 1e-6),
            major_faults: Rate::new("process major page faults (1/s)", 1.0),
            preempted: Rate::new("process preempted (1/s)", 1.0),
            waited: Rate::new("process waits (1/s)", 1.0),
        })
    }
}

impl Source for Process {
    fn name(&self) -> &'static str {
        "process"
    }

    fn look(&mut self, now: Instant) -> Result<(), Absent> {
        let pages: u64 = self.statm.parsed(|text| text.split(' ').nth(1)?.parse().ok())?;
        self.resident.set((pages * self.page_bytes) as f64);
        // SAFETY: the place for the answer is ours, and nobody's usage but the process's own is asked for.
        let used = unsafe {
            let mut used: libc::rusage = std::mem::zeroed();
            (libc::getrusage(libc::RUSAGE_SELF, &raw mut used) == 0).then_some(used)
        };
        if let Some(used) = used {
            let us = |time: libc::timeval| u64::try_from(time.tv_sec * 1_000_000 + time.tv_usec).unwrap_or(0);
            self.user.set(now, us(used.ru_utime));
            self.system.set(now, us(used.ru_stime));
            self.major_faults.set(now, u64::try_from(used.ru_majflt).unwrap_or(0));
            self.waited.set(now, u64::try_from(used.ru_nvcsw).unwrap_or(0));
            self.preempted.set(now, u64::try_from(used.ru_nivcsw).unwrap_or(0));
        }
        Ok(())
    }
}
