//! Clocks of devices' profilers, through the vendor's library where the process can load it.
//!
//! `cuptiGetTimestamp` and `rocprofiler_get_timestamp` have one shape: they put nanoseconds into the caller's word and return 0.
//! A library is looked for once, when its clock is asked for; it is absent with the reason of the loader. CUPTI is not touched where
//! there is no driver's library: a version of it that many programs have beside them ends the process in its first call then.
#![expect(unsafe_code, reason = "loads a vendor's library and calls one function of it by its documented signature")]

use std::error::Error;
use std::ffi::{OsStr, c_int};
use std::fmt;

use libloading::Library;
use rankscope_trace::ClockScope;

use super::TracerReader;

/// A device's clock cannot be read here.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the clock of {clock} is absent: {}", listed(tried))]
#[non_exhaustive]
pub struct ClockAbsent {
    /// Whose clock.
    pub clock: &'static str,
    /// The files it was looked for in, and why it is in none.
    pub tried: Vec<Tried>,
}

/// A library that gave no clock.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Tried {
    /// The file.
    pub file: String,
    /// Why.
    pub why: NoClock,
}

/// Why a library gave no clock.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NoClock {
    /// It cannot be loaded, or lacks the function.
    #[error("{0}")]
    Unloadable(
        /// What the loader says.
        String,
    ),
    /// There is no driver, and without one the library is not safe to call.
    #[error("there is no driver: {0}")]
    NoDriver(
        /// What the loader says.
        String,
    ),
    /// The function answers, and with no time: there is no device.
    #[error("it returns no time")]
    NoTime,
    /// The function fails.
    #[error("it returns no time: error {status}")]
    Failed {
        /// What it returned.
        status: c_int,
    },
}

impl fmt::Display for Tried {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, why } = self;
        match why {
            // The loader names the file by itself.
            NoClock::Unloadable(said) if said.starts_with(file) => f.write_str(said),
            NoClock::NoDriver(_) => write!(f, "{why}"),
            _ => write!(f, "{file}: {why}"),
        }
    }
}

fn listed(tried: &[Tried]) -> String {
    tried.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
}

/// A vendor's clock: the files it may be in, newest name last since links without a number point to what is installed.
pub(super) struct Vendor {
    clock: &'static str,
    /// The driver's library, where there has to be one before the others are touched.
    driver: Option<&'static str>,
    symbol: &'static [u8],
    files: &'static [&'static str],
}

pub(super) const CUPTI: Vendor = Vendor {
    clock: "cupti",
    driver: Some("libcuda.so.1"),
    symbol: b"cuptiGetTimestamp\0",
    files: &["libcupti.so", "libcupti.so.13", "libcupti.so.12", "libcupti.so.11.8"],
};

pub(super) const ROCPROFILER: Vendor = Vendor {
    clock: "rocprofiler",
    driver: None,
    symbol: b"rocprofiler_get_timestamp\0",
    files: &["librocprofiler-sdk.so", "librocprofiler-sdk.so.1", "librocprofiler-sdk.so.0"],
};

type GetTimestamp = unsafe extern "C" fn(*mut u64) -> c_int;

/// The clock in the first file that has it.
pub(super) fn first_of(vendor: &Vendor) -> Result<TracerReader, ClockAbsent> {
    let mut tried = Vec::new();
    if let Some(driver) = vendor.driver {
        // SAFETY: the driver's library is what the vendor's would load by itself. It is not called, and so does not come up.
        match unsafe { Library::new(driver) } {
            // It stays: who opens it once, opens it again.
            Ok(library) => std::mem::forget(library),
            Err(error) => {
                tried.push(Tried { file: driver.to_owned(), why: NoClock::NoDriver(said(&error)) });
                return Err(ClockAbsent { clock: vendor.clock, tried });
            }
        }
    }
    for file in vendor.files {
        match at(vendor, file.as_ref()) {
            Ok(reader) => return Ok(reader),
            Err(absent) => tried.extend(absent.tried),
        }
    }
    Err(ClockAbsent { clock: vendor.clock, tried })
}

/// The clock in `file`.
pub(super) fn at(vendor: &Vendor, file: &OsStr) -> Result<TracerReader, ClockAbsent> {
    let absent =
        |why| ClockAbsent { clock: vendor.clock, tried: vec![Tried { file: file.to_string_lossy().into_owned(), why }] };
    let unloadable = |error: libloading::Error| absent(NoClock::Unloadable(said(&error)));
    // SAFETY: the user asked for this vendor's clock, and with that for its library's initialisers to run.
    let library = unsafe { Library::new(file) }.map_err(unloadable)?;
    // SAFETY: this is the signature of the vendor's header, and the library is kept beside the function.
    let get: GetTimestamp = *unsafe { library.get(vendor.symbol) }.map_err(unloadable)?;
    let read = move || {
        let _kept = &library;
        let mut ns = 0;
        // SAFETY: the library is loaded, and the word is the caller's.
        let status = unsafe { get(&raw mut ns) };
        // A library without a device answers with success and zero, or with an error.
        if status == 0 { i64::try_from(ns).ok().filter(|ns| *ns > 0).ok_or(0) } else { Err(status) }
    };
    match read() {
        Ok(_) => Ok(TracerReader::new(vendor.clock, ClockScope::Devices, move || read().ok())),
        Err(0) => Err(absent(NoClock::NoTime)),
        Err(status) => Err(absent(NoClock::Failed { status })),
    }
}

/// What the loader said, which is in the source alone.
fn said(error: &libloading::Error) -> String {
    error.source().map_or_else(|| error.to_string(), ToString::to_string)
}
