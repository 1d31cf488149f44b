//! What NCCL's own service for reliability says of a job, read from its answer: JSON or text.
//!
//! It counts what ranks have launched, so that it cannot tell who keeps the others waiting: a rank is only named where the service
//! calls it dead or finds that it does not answer. Ranks are numbered within a communicator; which rank of the job one is, is told by the
//! communicator of all ranks, and by host and process for the others. An answer that was cut off is refused.

mod event;
mod json;
mod place;
mod text;

pub use event::{RasEvent, RasEventKind};
pub(crate) use place::Placed;

/// A process, as the service knows it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Process {
    pub(crate) host: Box<str>,
    pub(crate) pid: u64,
}

/// A rank that answered.
#[derive(Clone, Debug, Default)]
pub(crate) struct Member {
    /// Within the communicator.
    pub(crate) rank: u32,
    pub(crate) process: Process,
    /// It has launched fewer collectives than others, of some operation.
    pub(crate) is_behind: bool,
    /// Its collectives were counted.
    pub(crate) is_counted: bool,
}

/// What has become of a rank that did not answer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Silence {
    /// It is not told.
    #[default]
    Unsaid,
    /// It does not answer.
    Unresponsive,
    /// It is given up.
    Dead,
}

/// A rank that did not answer.
#[derive(Clone, Debug, Default)]
pub(crate) struct Absent {
    pub(crate) rank: u32,
    pub(crate) process: Option<Process>,
    pub(crate) silence: Silence,
}

/// Ranks that communicate.
#[derive(Clone, Debug, Default)]
pub(crate) struct Communicator {
    /// Ranks it was made of; none where that is not told.
    pub(crate) size: Option<usize>,
    pub(crate) members: Vec<Member>,
    pub(crate) absent: Vec<Absent>,
}

/// What the service answered.
#[derive(Clone, Debug, Default)]
pub struct RasAnswer {
    pub(crate) communicators: Vec<Communicator>,
    /// Processes that are given up, where no communicator tells their ranks.
    pub(crate) dead: Vec<Process>,
}

/// Why an answer says nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum RasError {
    /// There is nothing.
    #[error("NCCL's RAS service answered nothing")]
    Empty,
    /// It ends in the middle.
    #[error("the answer of NCCL's RAS service is cut off after {bytes} bytes; ask again")]
    Cut {
        /// How much there is.
        bytes: usize,
    },
    /// The service refused.
    #[error("NCCL's RAS service refused: {reply:?}")]
    Refused {
        /// What it said.
        reply: String,
    },
    /// It is JSON of something else.
    #[error("not an answer of NCCL's RAS service: {0}")]
    Json(#[source] serde_json::Error),
    /// It is neither form.
    #[error("not an answer of NCCL's RAS service: it names neither a version nor communicators")]
    Other,
}

impl RasAnswer {
    /// The rank of the job that `event` is about, if the answer tells; the largest communicator is taken for all ranks.
    pub fn rank_of(&self, event: &RasEvent) -> Option<u32> {
        place::rank_of(self, &event.process()?)
    }

    /// What `bytes` say, which the service sent after it was asked for its status.
    ///
    /// # Errors
    /// [`RasError`], where that is nothing whole.
    pub fn read(bytes: &[u8]) -> Result<Self, RasError> {
        let text = String::from_utf8_lossy(bytes);
        let text = text.trim();
        match text.bytes().next() {
            None => Err(RasError::Empty),
            Some(b'{') => json::read(text),
            Some(_) => text::read(text),
        }
    }
}
