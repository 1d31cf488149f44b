//! Why a store closes a connection, told apart so that it can be counted and said.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// Why a store closed a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Refusal {
    /// It began with something else than our greeting.
    Foreign,
    /// It speaks another version.
    Version,
    /// It did not prove to have the key.
    Key,
    /// A frame longer than any can be.
    Length,
    /// A frame whose tag does not fit: changed, replayed, or from somebody else.
    Tag,
    /// A frame that holds no request.
    Request,
    /// It did not greet and prove itself in time.
    Late,
    /// It left a request half sent or an answer unread for too long.
    Stalled,
    /// It held the most when all connections together held too much.
    Greedy,
    /// There were too many, and nothing was heard of it for the longest time.
    Crowded,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Foreign => "of another protocol",
            Self::Version => "of another version",
            Self::Key => "with another key or none",
            Self::Length => "with a message that is too long",
            Self::Tag => "with a message that was changed on the way",
            Self::Request => "with a message that is not a request",
            Self::Late => "without a greeting in time",
            Self::Stalled => "that stalled in the middle of a message",
            Self::Greedy => "that asked for too much at once",
            Self::Crowded => "to make room for others",
        })
    }
}

/// How often each happened; clones count together.
#[derive(Clone, Debug, Default)]
pub(super) struct Refusals(Arc<Mutex<BTreeMap<Refusal, u64>>>);

impl Refusals {
    pub(super) fn count(&self, refusal: Refusal) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(refusal).or_default() += 1;
    }

    pub(super) fn counted(&self) -> BTreeMap<Refusal, u64> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}
