//! [`Device`]: one GPU of AMD's, as ROCm SMI tells of it, and the kernel's files where the library cannot be asked.

use super::card::{Card, Files};
use super::library::{Clock, Library, Sensor};
use super::status::RocmSmiStatus;
use crate::absent::Absent;
use crate::gpu::{Answer, Tells, What};

/// One GPU.
pub(super) struct Device {
    library: Library,
    /// The library's number for it.
    index: u32,
    /// Where the chip is hottest, or else where it tells at all.
    sensor: Sensor,
    files: Option<Files>,
}

/// What the library answers where a number cannot be meant: that it got other data than it expected.
const UNEXPECTED: RocmSmiStatus = RocmSmiStatus(15);

impl Device {
    pub(super) fn new(library: Library, index: u32, card: Option<Card>) -> Self {
        let sensor = match library.temperature(index, Sensor::Junction) {
            Some(Ok(_)) => Sensor::Junction,
            _ => Sensor::Edge,
        };
        Self { library, index, sensor, files: card.map(|card| card.open()) }
    }

    /// What the library says; none where it cannot be asked.
    fn ask(&self, what: What) -> Option<Result<f64, RocmSmiStatus>> {
        let Self { library, index, sensor, .. } = self;
        let index = *index;
        let watts = |uw: Result<u64, RocmSmiStatus>| uw.map(|uw| uw as f64 / 1e6);
        let mhz = |hz: Result<u64, RocmSmiStatus>| hz.map(|hz| hz as f64 / 1e6);
        let answer = match what {
            What::PowerW => library.power_uw(index).map(watts),
            What::PowerLimitW => library.power_limit_uw(index).map(watts),
            What::SmMhz => library.clock_hz(index, Clock::Sm).map(mhz),
            What::MemoryMhz => library.clock_hz(index, Clock::Memory).map(mhz),
            What::Temperature => library.temperature(index, *sensor).map(|told| told.map(|milli| milli as f64 / 1e3)),
            What::BusyPercent => library.busy(index).map(|percent| percent.map(f64::from)),
            What::MemoryBusyPercent => library.memory_busy(index).map(|percent| percent.map(f64::from)),
            What::MemoryBytes => library.memory_used(index).map(|bytes| bytes.map(|bytes| bytes as f64)),
            What::SlowedBy(_) => return None,
        };
        answer.map(|answer| answer.and_then(|value| if what.is_plausible(value) { Ok(value) } else { Err(UNEXPECTED) }))
    }
}

impl Tells for Device {
    fn begin(&mut self) {
        if let Some(files) = &mut self.files {
            files.begin();
        }
    }

    fn tell(&mut self, what: What) -> Answer {
        let asked = self.ask(what);
        if let Some(Ok(value)) = asked {
            return Answer::Told(value);
        }
        // The library has no better source than these.
        let from_files = self.files.as_mut().map_or(Answer::Never, |files| files.tell(what));
        match (from_files, asked) {
            (Answer::Never | Answer::Refused(_), Some(Err(status))) => {
                Answer::Refused(Absent::RocmSmiRefused { call: "ROCm SMI", status })
            }
            (told, _) => told,
        }
    }
}
