//! Whether CUPTI can be had here, found out in an order that harms nobody: the driver, the library, its version, its clock.

use rankscope_devices::{ClockFit, Pool};
use rankscope_record::recording::ClockId;

use crate::abi::Status;
use crate::absent::Absent;
use crate::driver::Driver;
use crate::edge;
use crate::hub::Hub;
use crate::library::Library;
use crate::options::CuptiOptions;
use crate::places::Places;
use crate::second::NotTaken;

/// CUPTI of CUDA 12.0. Records of older ones were not looked at.
const OLDEST: u32 = 19;

/// CUPTI of CUDA 13.3. Fields can be chosen from 13.2 on, but there a subscriber can neither read records of its own, nor tie them to spans,
/// nor read the clock, nor choose calls, and all calls of the driver are too many.
pub(crate) const FIELDS_FROM: u32 = 130_300;

/// CUPTI of CUDA 13.4, in which some calls of a kind can be asked for; before, those that are not wanted are taken out of all.
pub(crate) const OPTIONS_FROM: u32 = 130_400;

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

/// On Linux its clock is `CLOCK_REALTIME`, under WSL `CLOCK_MONOTONIC_RAW`. While somebody uses the second version of the interface, the
/// first has no clock, and each subscriber asks for itself.
fn clock_of(library: &Library) -> Result<ClockFit, Absent> {
    match fitted(library) {
        Err(Absent::Taken { status: Status::NOT_COMPATIBLE, .. }) => {
            let beside = library.while_subscribed(edge::call_told, || fitted(library));
            beside.unwrap_or_else(|why| Err(not_taken(library, why)))
        }
        clock => clock,
    }
}

fn fitted(library: &Library) -> Result<ClockFit, Absent> {
    library.timestamp_ns().map_err(|status| refusal(library, "cuptiGetTimestamp", status))?;
    let read = || library.timestamp_ns().ok().and_then(|ns| i64::try_from(ns).ok());
    Ok(ClockFit::among(&[ClockId::REALTIME, ClockId::MONOTONIC_RAW], read)?)
}

/// Why there is nothing, from why the second version does not take us; none if the library does not have it.
pub(crate) fn not_taken(library: &Library, why: Option<NotTaken>) -> Absent {
    let NotTaken { status, holder } = why.unwrap_or(NotTaken { status: Status::NOT_COMPATIBLE, holder: None });
    match refusal(library, "cuptiSubscribe_v2", status) {
        Absent::Taken { status, .. } => Absent::Taken { name: holder, status },
        other => other,
    }
}

/// Why there is nothing, from what a call returned.
pub(crate) fn refusal(library: &Library, call: &'static str, status: Status) -> Absent {
    match status {
        Status::MULTIPLE_SUBSCRIBERS | Status::NOT_COMPATIBLE => Absent::Taken { name: None, status },
        _ => Absent::Refused { file: library.file.clone(), call, status },
    }
}
