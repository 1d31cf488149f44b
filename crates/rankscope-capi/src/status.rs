//! [`Status`]: what functions answer, and `Error`: what stands behind it, which becomes the text of the thread's last error.

use rankscope_record::plugins::foreign::LoadError;
use rankscope_record::{ExportError, StartError, StopError};

/// What a function answers. Zero is success. Later versions may add codes: treat an unknown one as a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Status {
    /// It is done.
    Ok = 0,
    /// An argument cannot be what it is: a null pointer, a number that names nothing, a length that no memory has.
    InvalidArgument = 1,
    /// A structure says that it has a size that no version of it has. Set its `struct_size` first.
    UnknownStructSize = 2,
    /// The handle is closed, or never was one.
    UnknownHandle = 3,
    /// The session was stopped before.
    AlreadyStopped = 4,
    /// The session runs: stop it first.
    StillRunning = 5,
    /// The session belongs to the process that this one was forked from.
    OtherProcess = 6,
    /// Somebody else records in that place, or something else lies there.
    InUse = 7,
    /// The file system or the operating system refused.
    Io = 8,
    /// The process is not part of a run, so there is nothing to join.
    NotInARun = 9,
    /// What was recorded cannot be read.
    Unreadable = 10,
    /// The library has a bug; it was contained.
    Panicked = 11,
}

/// What an export may be called.
const FORMATS: &str = "use \"rkr\", \"json\", \"pftrace\" or \"xplane.pb\", or a path that ends so, with .gz or .zst behind it";

/// Why a call failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{argument} is a null pointer")]
    Null { argument: &'static str },
    #[error("{argument} is {number}, which names nothing")]
    NoSuchNumber { argument: &'static str, number: u64 },
    #[error("{argument} is said to have {bytes} bytes, which no text has: is the length a negative number?")]
    TooLong { argument: &'static str, bytes: usize },
    #[error(
        "{structure}.struct_size is {found}, which no version of it has (the first had {least}): set it to sizeof({structure})"
    )]
    StructSize { structure: &'static str, found: u32, least: u32 },
    #[error("{structure}.struct_size is {found}: what was asked for needs `{field}`, and {needed} bytes for that")]
    Outgrown { structure: &'static str, found: u32, field: &'static str, needed: usize },
    #[error("{handle} is no handle, or one that was closed")]
    Handle { handle: u64 },
    #[error("the recording {handle} is a snapshot or was stopped: it has no session to {wanted}")]
    NotRunning { handle: u64, wanted: &'static str },
    #[error("the session of {handle} runs: stop it first")]
    Running { handle: u64 },
    #[error("{name}: no format has that name: {}", FORMATS)]
    NoSuchFormat { name: String },
    #[error(
        "this process is not recorded as part of a run: either RANKSCOPE_RAW_DIR is not set, or the reason stands on standard error"
    )]
    NotInARun,
    #[error("there is no plan: {0}")]
    NoPlan(#[from] rankscope_dispatch::Error),
    #[error(transparent)]
    Plugin(#[from] LoadError),
    #[error(transparent)]
    Start(#[from] StartError),
    #[error(transparent)]
    Stop(#[from] StopError),
    #[error(transparent)]
    Export(#[from] ExportError),
}

impl Error {
    pub(crate) fn status(&self) -> Status {
        match self {
            Self::Null { .. } | Self::NoSuchNumber { .. } | Self::TooLong { .. } | Self::NoSuchFormat { .. } => {
                Status::InvalidArgument
            }
            Self::StructSize { .. } | Self::Outgrown { .. } => Status::UnknownStructSize,
            Self::Plugin(_) | Self::NoPlan(_) => Status::InvalidArgument,
            Self::Handle { .. } => Status::UnknownHandle,
            Self::NotRunning { .. } | Self::Stop(StopError::AlreadyStopped { .. }) => Status::AlreadyStopped,
            Self::Running { .. } => Status::StillRunning,
            Self::Stop(StopError::OtherProcess { .. }) => Status::OtherProcess,
            Self::NotInARun => Status::NotInARun,
            Self::Start(error) => of_start(error),
            Self::Export(_) => Status::Io,
            Self::Stop(_) => Status::Unreadable,
        }
    }
}

fn of_start(error: &StartError) -> Status {
    match error {
        StartError::NoCategories | StartError::Placeholder { .. } => Status::InvalidArgument,
        StartError::StorageInUse { .. } | StartError::InUse { .. } | StartError::NotARecording { .. } => Status::InUse,
        _ => Status::Io,
    }
}
