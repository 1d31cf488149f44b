//! Processors: `/proc/stat`, whose first line has the time of all processors together, in ticks of 10 ms.

use std::time::Instant;

use super::numbers;
use crate::absent::Absent;
use crate::gauge::{Gauge, Rate};
use crate::kept::Kept;
use crate::source::Source;

/// The kernel's ticks a second, as user space sees them on every architecture that Linux has now.
const TICKS: f64 = 100.0;

pub(super) struct Cpu {
    stat: Kept,
    busy: Rate,
    waiting: Rate,
    stolen: Rate,
    runnable: Gauge,
}

#[derive(Debug, PartialEq, Eq)]
struct Read {
    busy: u64,
    waiting: u64,
    stolen: u64,
    runnable: Option<u64>,
}

impl Cpu {
    pub(super) fn open() -> Result<Self, Absent> {
        let core = |name| Rate::new(name, 1.0 / TICKS);
        Ok(Self {
            stat: Kept::open("/proc/stat")?,
            busy: core("CPU busy (cores)"),
            waiting: core("CPU waiting for disks (cores)"),
            stolen: core("CPU taken by the hypervisor (cores)"),
            runnable: Gauge::new("threads that run or could run"),
        })
    }
}

impl Source for Cpu {
    fn name(&self) -> &'static str {
        "cpu"
    }

    fn look(&mut self, now: Instant) -> Result<(), Absent> {
        let Read { busy, waiting, stolen, runnable } = self.stat.parsed(read)?;
        self.busy.set(now, busy);
        self.waiting.set(now, waiting);
        self.stolen.set(now, stolen);
        if let Some(runnable) = runnable {
            self.runnable.set(runnable as f64);
        }
        Ok(())
    }
}

fn read(text: &str) -> Option<Read> {
    let (line, rest) = text.split_once('\n').unwrap_or((text, ""));
    let [user, nice, system, _idle, waiting, interrupts, soft, stolen] = numbers(line.strip_prefix("cpu ")?)?;
    // The file may be longer than what is read of it; the line is behind those of processors and interrupts, which are long.
    let runnable = rest.rsplit('\n').find_map(|line| line.strip_prefix("procs_running ")?.trim().parse().ok());
    Some(Read { busy: user + nice + system + interrupts + soft, waiting, stolen, runnable })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_of_all_processors() {
        let text = "cpu  100 1 20 9000 30 4 5 6 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\nintr 5 6\nprocs_running 3\nprocs_blocked 0\n";
        assert_eq!(read(text), Some(Read { busy: 130, waiting: 30, stolen: 6, runnable: Some(3) }));
        assert_eq!(read("cpu  100 1 20 9000 30 4 5 6 0 0\nint").unwrap().runnable, None, "a file that was not read to its end");
        for wrong in ["", "cpu 1 2 3", "memory 1 2 3 4 5 6 7 8"] {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
