//! Why a demo cannot be played, or cannot be checked.

use std::io;
use std::net::{AddrParseError, IpAddr, SocketAddr};
use std::path::PathBuf;

use rankscope_clock::simulate::ClockTextError;
use rankscope_record::{StartError, StopError};

/// An error of whoever reads and reports.
pub type BoxedError = Box<dyn std::error::Error + Send + Sync>;

/// The demo failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Too short to measure a clock twice, or too long to wait for.
    #[error("--seconds {seconds}: between {least} and {most}")]
    Seconds {
        /// As given.
        seconds: f64,
        /// The shortest.
        least: f64,
        /// The longest.
        most: f64,
    },
    /// Hosts were given, but not one for each rank.
    #[error("{hosts} hosts for {ranks} ranks")]
    Hosts {
        /// How many hosts.
        hosts: usize,
        /// How many ranks.
        ranks: u32,
    },
    /// A host that cannot be read.
    #[error("{text:?}: NAMESPACE,INTERFACE,ADDRESS is needed")]
    Host {
        /// As given.
        text: String,
    },
    /// An address that is none.
    #[error(transparent)]
    Address(#[from] AddrParseError),
    /// Something else lies where the demo is to go.
    #[error("{path}: holds something other than a demo; name another directory with --out", path = .path.display())]
    Occupied {
        /// There.
        path: PathBuf,
    },
    /// Another demo is at work there.
    #[error("{path}: a demo is running there; wait for it, or name another directory with --out", path = .path.display())]
    Running {
        /// There.
        path: PathBuf,
    },
    /// The file system refuses something.
    #[error("{path}: {reason}", path = .path.display())]
    Io {
        /// Of which file.
        path: PathBuf,
        /// What it says.
        #[source]
        reason: io::Error,
    },
    /// The run directory cannot be made or kept.
    #[error(transparent)]
    Run(#[from] rankscope_run::Error),
    /// This program cannot be found.
    #[error(transparent)]
    Launch(#[from] rankscope_launch::Error),
    /// The description of a clock is none.
    #[error(transparent)]
    Clock(#[from] ClockTextError),
    /// A process of the demo does not start.
    #[error("{name} could not be started: {reason}")]
    NotStarted {
        /// Which.
        name: String,
        /// What the system says.
        #[source]
        reason: io::Error,
    },
    /// A process of the demo ended too early, or does not answer.
    #[error("{name} {how}{}", .said.as_ref().map_or_else(String::new, |said| format!(": {said}")))]
    Ended {
        /// Which.
        name: String,
        /// How it ended, in words.
        how: String,
        /// The last thing it said.
        said: Option<String>,
    },
    /// Something did not come about in time.
    #[error("waited {seconds} s for {what}, without success{}", .said.as_ref().map_or_else(String::new, |(name, line)| format!("; {name} said last: {line}")))]
    TimedOut {
        /// For how long it was waited.
        seconds: u64,
        /// For what.
        what: &'static str,
        /// A process, and the last thing it said.
        said: Option<(String, String)>,
    },
    /// The user has had enough.
    #[error("interrupted")]
    Interrupted,
    /// The system refuses something that has to do with a process, a thread or a socket.
    #[error("{0}")]
    System(#[from] io::Error),
    /// A process was started without its pipes: a bug.
    #[error("no pipe to {0}")]
    NoPipe(String),
    /// The clock of the truth is not recorded.
    #[error(transparent)]
    Start(#[from] StartError),
    /// It cannot be ended.
    #[error(transparent)]
    Stop(#[from] StopError),
    /// A recording cannot be read.
    #[error(transparent)]
    Recording(#[from] rankscope_formats::recording::Error),
    /// A recording is of no session.
    #[error("it holds no session")]
    NoSession,
    /// There are too few readings of the true clock.
    #[error("the clock was not read often enough to know what is true")]
    TruthUnknown,
    /// The run cannot be reported on or read.
    #[error("{0}")]
    Product(#[source] BoxedError),
    /// The run is there, but what came of it cannot be held against the truth.
    #[error("the demo cannot check its own run: {0}")]
    Unchecked(#[source] Box<Error>),
    /// Some ranks have no trace.
    #[error("{traces} traces of {ranks} ranks")]
    Traces {
        /// How many traces were read.
        traces: usize,
        /// How many ranks recorded.
        ranks: usize,
    },
    /// A recording without an event.
    #[error("rank {rank} recorded nothing")]
    NothingRecorded {
        /// Whose.
        rank: usize,
    },
    /// A trace that is not what the rank recorded.
    #[error("the trace of rank {rank} begins elsewhere than its recording")]
    OtherBeginning {
        /// Whose.
        rank: usize,
    },
    /// A rank is not told its number, or that of all.
    #[error("{name} is not set to a number")]
    Variable {
        /// The variable.
        name: &'static str,
    },
    /// A rank that there is not.
    #[error("rank {rank} of {ranks}: ranks are numbered from 0")]
    RankOutOfRange {
        /// As told.
        rank: u32,
        /// How many there are.
        ranks: u32,
    },
    /// A rank cannot listen.
    #[error("no port of {address} is free: {reason}")]
    NoPort {
        /// Its host's address.
        address: IpAddr,
        /// What the system says.
        #[source]
        reason: io::Error,
    },
    /// What a rank is told of the others is no list of addresses.
    #[error("where ranks listen: {0}")]
    Addresses(#[source] AddrParseError),
    /// Or not one for each.
    #[error("{addresses} addresses for {ranks} ranks")]
    AddressCount {
        /// How many addresses.
        addresses: usize,
        /// How many ranks.
        ranks: u32,
    },
    /// The process that started this rank is gone.
    #[error("the demo has gone{}", .0.as_ref().map_or_else(String::new, |reason| format!(": {reason}")))]
    Gone(#[source] Option<io::Error>),
    /// The next rank of the ring does not listen.
    #[error("no rank is at {address}: {reason}")]
    NoNeighbour {
        /// Where it should.
        address: SocketAddr,
        /// What the system says.
        #[source]
        reason: io::Error,
    },
    /// The rank before in the ring did not connect.
    #[error("rank {rank} did not come: {reason}")]
    NeighbourAbsent {
        /// Which.
        rank: usize,
        /// What came instead.
        #[source]
        reason: io::Error,
    },
    /// A collective failed.
    #[error("the ring broke in {collective}: {reason}")]
    Collective {
        /// Which.
        collective: &'static str,
        /// What the system says.
        #[source]
        reason: io::Error,
    },
    /// An all-reduce came to something else than the sum.
    #[error("layer {layer} is not the sum of what all ranks have of it")]
    WrongSum {
        /// Of which layer.
        layer: usize,
    },
}

impl Error {
    /// For `map_err`: what the file system says of `path`.
    pub(crate) fn of(path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |reason| Self::Io { path, reason }
    }
}
