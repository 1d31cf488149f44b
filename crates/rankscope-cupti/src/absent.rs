//! [`Absent`]: why device work is not recorded.
//!
//! An absence is no error: the program runs and is recorded as on a machine without a device. It has one reason, and the recording
//! says it once.

use std::ffi::c_int;

use rankscope_devices::{NoClock, Tried};

use crate::abi::Status;

/// Why device work is not recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Absent {
    /// The machine has no driver of NVIDIA's. Nothing else was looked for.
    #[error("no driver: {said}")]
    NoDriver {
        /// What the loader says.
        said: String,
    },
    /// The driver's library lacks a function that every driver has.
    #[error("{file} is no driver: it lacks {symbol}")]
    NotADriver {
        /// The library.
        file: String,
        /// The function.
        symbol: &'static str,
    },
    /// The driver does not come up, most often because there is no device. CUPTI was not looked for.
    #[error("the driver does not come up: cuInit returned {status}{}", driver_says(*status))]
    DriverDown {
        /// What `cuInit` returned.
        status: c_int,
    },
    /// CUPTI is not installed where it was looked for.
    #[error("CUPTI is not installed: {}", Tried::listed(tried))]
    NoLibrary {
        /// Where it was looked for, and why it is not there.
        tried: Vec<Tried>,
    },
    /// A library that calls itself CUPTI lacks a function.
    #[error("{file} lacks {symbol}")]
    Incomplete {
        /// The library.
        file: String,
        /// The function.
        symbol: &'static str,
    },
    /// Nobody has looked at records of a CUPTI this old.
    #[error("{file} is of version {version}, and the oldest that is read is {oldest} (CUDA 12.0)")]
    TooOld {
        /// The library.
        file: String,
        /// Its version, as it counts them.
        version: u32,
        /// The oldest that is read.
        oldest: u32,
    },
    /// Another profiler is in this process, or around it.
    #[error("another profiler has CUPTI{}: {status}", called(name.as_deref()))]
    Taken {
        /// What it is called, where CUPTI tells.
        name: Option<String>,
        /// What CUPTI returned.
        status: Status,
    },
    /// CUPTI refuses.
    #[error("{file}: {call} returned {status}")]
    Refused {
        /// The library.
        file: String,
        /// The call.
        call: &'static str,
        /// What it returned.
        status: Status,
    },
    /// Records have the fields that were chosen, and CUPTI does not say where these lie.
    #[error("{file} says of none of its records where their fields lie: RANKSCOPE_CUPTI_RECORDS=whole asks for others")]
    NoLayouts {
        /// The library.
        file: String,
    },
    /// CUPTI's clock shows no time, although it says that it does.
    #[error("CUPTI's clock shows no time")]
    NoTime,
    /// CUPTI's clock is none of the host's.
    #[error("CUPTI's clock is none of the host's: it is {from_wall_ns} ns from the wall clock")]
    ForeignClock {
        /// How far it is ahead of `CLOCK_REALTIME`.
        from_wall_ns: i64,
    },
    /// Another session of this process records device work.
    #[error("another session of this process records device work")]
    InUse,
    /// This process was forked from one that had begun, and neither CUDA nor CUPTI lives on in it.
    #[error("the process was forked after CUPTI had been begun")]
    Forked,
    /// The system refused a thread or memory.
    #[error("{what} cannot be had: {said}")]
    NoRoom {
        /// What was wanted.
        what: &'static str,
        /// What the system says.
        said: String,
    },
}

impl From<NoClock> for Absent {
    fn from(why: NoClock) -> Self {
        match why {
            NoClock::NoTime => Self::NoTime,
            NoClock::Foreign { from_wall_ns } => Self::ForeignClock { from_wall_ns },
        }
    }
}

fn called(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| format!(" ({name})"))
}

/// The driver's numbers that say something about the machine.
fn driver_says(status: c_int) -> &'static str {
    match status {
        100 => " (no device)",
        101 => " (no such device)",
        304 => " (the operating system refuses)",
        803 => " (the driver's library does not fit the kernel's module)",
        804 => " (the driver's compatibility package does not fit the device)",
        999 => " (unknown error)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_says_who_and_what() {
        let taken = Absent::Taken { name: Some("Nsight Systems".into()), status: Status(39) };
        assert_eq!(taken.to_string(), "another profiler has CUPTI (Nsight Systems): error 39 (another profiler is subscribed)");
        let down = Absent::DriverDown { status: 100 };
        assert_eq!(down.to_string(), "the driver does not come up: cuInit returned 100 (no device)");
    }
}
