//! [`Device`]: one GPU of NVIDIA's, as NVML tells of it.

use super::library::{Clock, Handle, Library};
use super::status::NvmlStatus;
use crate::absent::Absent;
use crate::gpu::{Answer, Cause, Gpu, Identity, Tells, What};

/// One GPU.
pub(super) struct Device {
    library: Library,
    handle: Handle,
}

impl Device {
    /// Those that NVML has.
    pub(super) fn all(library: &Library) -> Result<Vec<Gpu<Self>>, Absent> {
        let count = library.count()?;
        if count == 0 {
            return Err(Absent::NoGpu);
        }
        (0..count).map(|index| Self::of(library, index)).collect()
    }

    fn of(library: &Library, index: u32) -> Result<Gpu<Self>, Absent> {
        let handle = library.handle(index)?;
        let (kind, uuid, place) = (library.name(handle), library.uuid(handle), library.place(handle));
        Gpu::new(super::NAME, index, &Identity { kind, uuid, place }, Self { library: *library, handle })
    }

    /// What NVML says; none where it cannot be asked.
    fn ask(&self, what: What) -> Option<Result<f64, NvmlStatus>> {
        let Self { library, handle } = self;
        let of = *handle;
        let watts = |mw: Result<u32, NvmlStatus>| mw.map(|mw| f64::from(mw) / 1e3);
        match what {
            What::PowerW => library.power_mw(of).map(watts),
            What::PowerLimitW => library.power_limit_mw(of).map(watts),
            What::SmMhz => library.clock_mhz(of, Clock::Sm).map(|mhz| mhz.map(f64::from)),
            What::MemoryMhz => library.clock_mhz(of, Clock::Memory).map(|mhz| mhz.map(f64::from)),
            What::Temperature => library.temperature(of).map(|degrees| degrees.map(f64::from)),
            What::BusyPercent => library.utilization(of).map(|rates| rates.map(|rates| f64::from(rates.gpu))),
            What::MemoryBusyPercent => library.utilization(of).map(|rates| rates.map(|rates| f64::from(rates.memory))),
            What::MemoryBytes => library.memory(of).map(|memory| memory.map(|memory| memory.used as f64)),
            What::SlowedBy(cause) => {
                let wanted = bits(cause)?;
                library.reasons(of).map(|bits| bits.map(|bits| f64::from(u8::from(bits & wanted != 0))))
            }
        }
    }
}

impl Tells for Device {
    fn tell(&mut self, what: What) -> Answer {
        let refused = |status| Absent::Refused { call: "NVML", status };
        match self.ask(what) {
            Some(Ok(value)) => Answer::Told(value),
            Some(Err(status)) if status.is_gone() => Answer::Gone(refused(status)),
            Some(Err(status)) => Answer::Refused(refused(status)),
            None => Answer::Never,
        }
    }
}

/// NVML's bits for a cause. The one for any slowdown by the hardware comes with one of these.
fn bits(cause: Cause) -> Option<u64> {
    match cause {
        Cause::PowerCap => Some(0x4),
        Cause::Heat => Some(0x20 | 0x40),
        Cause::PowerBrake => Some(0x80),
        Cause::Board => None,
    }
}
