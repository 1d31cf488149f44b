//! [`Device`]: one GPU, asked for what it tells. What it refuses at the first look is not asked for again.

use std::time::Instant;

use rankscope_record::recording::json::quoted;
use rankscope_record::set_metadata;

use super::library::{Clock, Handle, Library};
use super::status::NvmlStatus;
use crate::absent::Absent;
use crate::gauge::Gauge;
use crate::source::Source;

/// One GPU.
pub(super) struct Device {
    library: Library,
    handle: Handle,
    tracks: Vec<(What, Gauge)>,
}

/// What is asked for. The unit is the track's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    PowerW,
    PowerLimitW,
    SmMhz,
    MemoryMhz,
    Temperature,
    BusyPercent,
    MemoryBusyPercent,
    MemoryBytes,
    SlowedBy(Cause),
}

/// What lowers the clocks of a GPU against its will. That it is idle, or was told to run slower, is none of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cause {
    /// It would take more power than it may.
    PowerCap,
    /// It is too hot, or its memory.
    Heat,
    /// The host's power supply asks it to.
    PowerBrake,
}

impl Cause {
    /// NVML's bits for it. The one for any slowdown by the hardware comes with one of these.
    fn bits(self) -> u64 {
        match self {
            Self::PowerCap => 0x4,
            Self::Heat => 0x20 | 0x40,
            Self::PowerBrake => 0x80,
        }
    }
}

impl What {
    const ALL: [Self; 11] = [
        Self::PowerW,
        Self::PowerLimitW,
        Self::SmMhz,
        Self::MemoryMhz,
        Self::Temperature,
        Self::BusyPercent,
        Self::MemoryBusyPercent,
        Self::MemoryBytes,
        Self::SlowedBy(Cause::PowerCap),
        Self::SlowedBy(Cause::Heat),
        Self::SlowedBy(Cause::PowerBrake),
    ];

    fn name(self) -> &'static str {
        match self {
            Self::PowerW => "power (W)",
            Self::PowerLimitW => "power limit (W)",
            Self::SmMhz => "SM clock (MHz)",
            Self::MemoryMhz => "memory clock (MHz)",
            Self::Temperature => "temperature (°C)",
            Self::BusyPercent => "busy (%)",
            Self::MemoryBusyPercent => "memory busy (%)",
            Self::MemoryBytes => "memory used (bytes)",
            Self::SlowedBy(Cause::PowerCap) => "slowed by its power limit",
            Self::SlowedBy(Cause::Heat) => "slowed by heat",
            Self::SlowedBy(Cause::PowerBrake) => "slowed by the power supply",
        }
    }

    /// What the device says; none where the library cannot ask.
    fn ask(self, library: &Library, of: Handle) -> Option<Result<f64, NvmlStatus>> {
        let watts = |mw: Result<u32, NvmlStatus>| mw.map(|mw| f64::from(mw) / 1e3);
        match self {
            Self::PowerW => library.power_mw(of).map(watts),
            Self::PowerLimitW => library.power_limit_mw(of).map(watts),
            Self::SmMhz => library.clock_mhz(of, Clock::Sm).map(|mhz| mhz.map(f64::from)),
            Self::MemoryMhz => library.clock_mhz(of, Clock::Memory).map(|mhz| mhz.map(f64::from)),
            Self::Temperature => library.temperature(of).map(|degrees| degrees.map(f64::from)),
            Self::BusyPercent => library.utilization(of).map(|rates| rates.map(|rates| f64::from(rates.gpu))),
            Self::MemoryBusyPercent => library.utilization(of).map(|rates| rates.map(|rates| f64::from(rates.memory))),
            Self::MemoryBytes => library.memory(of).map(|memory| memory.map(|memory| memory.used as f64)),
            Self::SlowedBy(cause) => {
                library.reasons(of).map(|bits| bits.map(|bits| f64::from(u8::from(bits & cause.bits() != 0))))
            }
        }
    }
}

impl Device {
    /// Those that NVML has. The recording gets their names.
    pub(super) fn all(library: &Library) -> Result<Vec<Self>, Absent> {
        let count = library.count()?;
        if count == 0 {
            return Err(Absent::NoGpu);
        }
        (0..count).map(|index| Self::of(library, index)).collect()
    }

    fn of(library: &Library, index: u32) -> Result<Self, Absent> {
        let handle = library.handle(index)?;
        if let Some(name) = library.name(handle) {
            set_metadata(&format!("counters.gpu.{index}"), &quoted(&name));
        }
        let told = What::ALL.into_iter().filter(|what| matches!(what.ask(library, handle), Some(Ok(_))));
        let tracks = told.map(|what| (what, Gauge::new(&format!("GPU {index} {}", what.name()))));
        Ok(Self { library: *library, handle, tracks: tracks.collect() })
    }
}

impl Source for Device {
    fn name(&self) -> &'static str {
        super::NAME
    }

    fn look(&mut self, _: Instant) -> Result<(), Absent> {
        let Self { library, handle, tracks } = self;
        for (what, gauge) in tracks {
            match what.ask(library, *handle) {
                Some(Ok(value)) => gauge.set(value),
                Some(Err(status)) if status.is_gone() => return Err(Absent::Refused { call: "NVML", status }),
                // Busy for a moment.
                Some(Err(_)) | None => {}
            }
        }
        Ok(())
    }
}
