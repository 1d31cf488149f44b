//! [`Empty`]: why a recording holds nothing.

use std::fmt;

/// Why a recording holds nothing. Shown, it is a sentence that says what to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Empty {
    /// The ring has let go of all that was recorded.
    Overwritten {
        /// Events that were recorded.
        events: u64,
    },
    /// All events were dropped.
    Dropped {
        /// Whether the storage was full.
        storage_full: bool,
    },
    /// The session's threads recorded only what other sessions asked for.
    OtherCategories {
        /// Events that they recorded.
        events: u64,
    },
    /// Only threads that the session does not record had something to record.
    OtherThreads {
        /// Events that they recorded.
        events: u64,
    },
    /// Nothing began.
    NothingBegan,
}

impl fmt::Display for Empty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overwritten { events } => write!(
                f,
                "the ring has overwritten every event: {events} were recorded. Give it more bytes, or more time to keep"
            ),
            Self::Dropped { storage_full } => {
                let storage = if *storage_full { ", the storage being full" } else { "" };
                write!(f, "every event was dropped{storage}: see the counts of drops")
            }
            Self::OtherCategories { events } => write!(
                f,
                "its threads recorded only events of categories that other sessions asked for and it did not: {events}"
            ),
            Self::OtherThreads { events } => {
                write!(f, "events were recorded only on threads that the session's filter leaves out: {events}")
            }
            Self::NothingBegan => f.write_str(
                "no event of the session's categories began while it ran: check that the instrumented code runs between start and stop",
            ),
        }
    }
}

/// The sentence.
#[cfg(feature = "serde")]
impl serde::Serialize for Empty {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}
