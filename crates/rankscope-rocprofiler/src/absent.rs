//! [`Absent`]: why device work is not recorded.
//!
//! An absence is no error: the program runs and is recorded as on a machine without a device. It has one reason, and the recording
//! says it once.

use rankscope_devices::{NoClock, Tried};

use crate::abi::Status;

/// Why device work is not recorded.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Absent {
    /// The kernel has no driver of AMD's GPUs. Nothing else was looked for.
    #[error("no driver: {file}: {said}")]
    NoDriver {
        /// Where the kernel has it.
        file: String,
        /// What the system says.
        said: String,
    },
    /// rocprofiler-sdk is not installed where it was looked for.
    #[error("rocprofiler-sdk is not installed: {}", Tried::listed(tried))]
    NoLibrary {
        /// Where it was looked for, and why it is not there.
        tried: Vec<Tried>,
    },
    /// A library that calls itself rocprofiler-sdk lacks a function.
    #[error("{file} lacks {symbol}")]
    Incomplete {
        /// The library.
        file: String,
        /// The function.
        symbol: &'static str,
    },
    /// Nobody has looked at records of this version: structures are fixed only within 1.x.
    #[error("{file} is of version {version}, and those that are read are 1.x (ROCm 7)")]
    OtherVersion {
        /// The library.
        file: String,
        /// Its version, in three numbers.
        version: String,
    },
    /// There is no GPU among the agents.
    #[error("no GPU: {file} knows {agents} agents, and none is one")]
    NoGpu {
        /// The library.
        file: String,
        /// How many there are.
        agents: usize,
    },
    /// Tools are configured before the first runtime is up, and this one came later.
    #[error(
        "too late: rocprofiler was configured before; begin the session before the first call into HIP, or start the program with {}=librankscope_rocprofiler.so",
        crate::entry::TOOLS
    )]
    TooLate,
    /// The runtime gave its calls to nobody: it was up before rocprofiler.
    #[error(
        "too late: HIP was up before rocprofiler; begin the session before the first call into HIP, or start the program with {}=librankscope_rocprofiler.so",
        crate::entry::TOOLS
    )]
    HipWasUp,
    /// The library that ROCm loaded as a tool is of another version of rankscope than the program.
    #[error("{file} is of rankscope {theirs}, and the program has {ours}")]
    OtherTool {
        /// The library.
        file: String,
        /// Its version.
        theirs: String,
        /// That of the program.
        ours: &'static str,
    },
    /// rocprofiler did not ask what is to be recorded, although it said that it would.
    #[error("{file} did not ask what is to be recorded")]
    NotAsked {
        /// The library.
        file: String,
    },
    /// rocprofiler refuses.
    #[error("{file}: {call} returned {status}")]
    Refused {
        /// The library.
        file: String,
        /// The call.
        call: String,
        /// What it returned.
        status: Status,
    },
    /// rocprofiler's clock shows no time, although it says that it does.
    #[error("rocprofiler's clock shows no time")]
    NoTime,
    /// rocprofiler's clock is none of the host's.
    #[error("rocprofiler's clock is none of the host's: it is {from_wall_ns} ns from the wall clock")]
    ForeignClock {
        /// How far it is ahead of `CLOCK_REALTIME`.
        from_wall_ns: i64,
    },
    /// Another session of this process records device work.
    #[error("another session of this process records device work")]
    InUse,
    /// This process was forked from one that had begun, and neither HIP nor rocprofiler lives on in it.
    #[error("the process was forked after rocprofiler had been begun")]
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
