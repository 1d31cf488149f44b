//! Whether CUPTI can be had here, found out in an order that harms nobody: the driver, the library, its version, its clock.

use rankscope_devices::{ClockFit, Pool};
use rankscope_record::recording::ClockId;

use crate::abi::Status;
use crate::absent::Absent;
use crate::driver::Driver;
use crate::hub::Hub;
use crate::library::Library;
use crate::options::CuptiOptions;
use crate::places::Places;

/// CUPTI of CUDA 12.0. Records of older ones were not looked at.
const OLDEST: u32 = 19;

/// What there is of CUPTI in this process, with its buffers.
///
/// # Errors
/// Why there is nothing.
pub(crate) fn probe(options: &CuptiOptions) -> Result<&'static Hub, Absent> {
    Hub::get(|| {
        let driver = Driver::come_up(options.driver.clone())?;
        let library = Library::load(&Places::of_process(options.library.clone(), driver.version))?;
        let version = version_of(&library)?;
        let clock = clock_of(&library)?;
        let pool = Pool::new(options.buffers, options.buffer_bytes);
        let pool = pool.map_err(|error| Absent::NoRoom { what: "memory for buffers", said: error.to_string() })?;
        Ok(Hub::new(library, version, clock, pool, driver.visible))
    })
}

fn version_of(library: &Library) -> Result<u32, Absent> {
    let file = library.file.clone();
    match library.version() {
        Ok(version) if version < OLDEST => Err(Absent::TooOld { file, version, oldest: OLDEST }),
        Ok(version) => Ok(version),
        Err(status) => Err(refusal(library, "cuptiGetVersion", status)),
    }
}

/// On Linux its clock is `CLOCK_REALTIME`, under WSL `CLOCK_MONOTONIC_RAW`.
fn clock_of(library: &Library) -> Result<ClockFit, Absent> {
    library.timestamp_ns().map_err(|status| refusal(library, "cuptiGetTimestamp", status))?;
    let read = || library.timestamp_ns().ok().and_then(|ns| i64::try_from(ns).ok());
    Ok(ClockFit::among(&[ClockId::REALTIME, ClockId::MONOTONIC_RAW], read)?)
}

/// Why there is nothing, from what a call returned.
pub(crate) fn refusal(library: &Library, call: &'static str, status: Status) -> Absent {
    match status {
        Status::MULTIPLE_SUBSCRIBERS | Status::NOT_COMPATIBLE => Absent::Taken { name: None, status },
        _ => Absent::Refused { file: library.file.clone(), call, status },
    }
}
