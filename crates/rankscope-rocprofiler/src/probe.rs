//! Whether rocprofiler can be had here, found out in an order that harms nobody: the kernel's driver, the library, its version, its GPUs,
//! its clock, and a tool, which is made here where ROCm has not loaded one.

use rankscope_devices::{ClockFit, Pool};
use rankscope_record::recording::ClockId;

use crate::abi::Status;
use crate::absent::Absent;
use crate::agents::Gpus;
use crate::entry;
use crate::hub::Hub;
use crate::library::Library;
use crate::options::RocprofilerOptions;
use crate::places::{Places, driver};
use crate::tool::{self, Tool};

/// The major version whose structures are read.
const MAJOR: u32 = 1;

/// Clocks that rocprofiler stamps with, by its versions and the runtime's; the one of today first.
const CLOCKS: [ClockId; 4] = [ClockId::BOOTTIME, ClockId::MONOTONIC, ClockId::MONOTONIC_RAW, ClockId::REALTIME];

/// What there is of rocprofiler in this process, with our buffers.
///
/// # Errors
/// Why there is nothing.
pub(crate) fn probe(options: &RocprofilerOptions) -> Result<&'static Hub, Absent> {
    Hub::get(|| {
        driver(options.driver.clone())?;
        let library = Library::load(&Places::of_process(options.library.clone()))?;
        let version = version_of(&library)?;
        let gpus = gpus_of(&library)?;
        let clock = clock_of(&library)?;
        let pool = Pool::new(options.buffers, options.buffer_bytes);
        let pool = pool.map_err(|error| Absent::NoRoom { what: "memory for buffers", said: error.to_string() })?;
        let tool = tool_of(&library, options)?;
        Ok(Hub::new(library, version, clock, gpus, tool, pool))
    })
}

fn version_of(library: &Library) -> Result<[u32; 3], Absent> {
    let version = library.version().map_err(|status| refusal(library, "rocprofiler_get_version", status))?;
    if version[0] == MAJOR {
        return Ok(version);
    }
    Err(Absent::OtherVersion { file: library.file.clone(), version: written(version) })
}

/// As versions are written.
pub(crate) fn written([major, minor, patch]: [u32; 3]) -> String {
    format!("{major}.{minor}.{patch}")
}

fn gpus_of(library: &Library) -> Result<Gpus, Absent> {
    let gpus = library.gpus().map_err(|status| refusal(library, "rocprofiler_query_available_agents", status))?;
    if gpus.is_empty() { Err(Absent::NoGpu { file: library.file.clone(), agents: gpus.agents }) } else { Ok(gpus) }
}

fn clock_of(library: &Library) -> Result<ClockFit, Absent> {
    library.timestamp_ns().map_err(|status| refusal(library, "rocprofiler_get_timestamp", status))?;
    let read = || library.timestamp_ns().ok().and_then(|ns| i64::try_from(ns).ok());
    Ok(ClockFit::among(&CLOCKS, read)?)
}

/// The tool that ROCm has loaded, or one of our own.
fn tool_of(library: &Library, options: &RocprofilerOptions) -> Result<&'static Tool, Absent> {
    let tool = match entry::loaded_tool()? {
        Some(tool) => tool,
        None => configured(library, options)?,
    };
    match entry::failure(tool) {
        Some((call, status)) => Err(refusal(library, call, status)),
        None => Ok(tool),
    }
}

fn configured(library: &Library, options: &RocprofilerOptions) -> Result<&'static Tool, Absent> {
    entry::want(options.calls);
    match (library.force_configure(entry::configure), tool::made()) {
        // Also of one that was configured as one of the program's symbols, before anybody could ask for it.
        (_, Some(tool)) => Ok(tool),
        (Ok(()), None) => Err(Absent::NotAsked { file: library.file.clone() }),
        (Err(Status::LOCKED), None) => Err(Absent::TooLate),
        (Err(status), None) => Err(refusal(library, "rocprofiler_force_configure", status)),
    }
}

/// Why there is nothing, from what a call returned.
pub(crate) fn refusal(library: &Library, call: impl Into<String>, status: Status) -> Absent {
    Absent::Refused { file: library.file.clone(), call: call.into(), status }
}
