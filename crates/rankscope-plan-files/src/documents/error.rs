//! Why bytes are no documents, and where the fault is.

use std::fmt;
use std::num::{ParseIntError, TryFromIntError};
use std::string::FromUtf8Error;

use serde_json::Value;
use thiserror::Error;

use super::{CUMULATIVE, KEYS};
use crate::MOST_BYTES;

/// Where an entry is: in the list under a name, or in the list of one rank there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The name, or what stands for one.
    pub(super) key: &'static str,
    pub(super) rank: Option<usize>,
    pub(super) index: Option<usize>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.key)?;
        [self.rank, self.index].iter().flatten().try_for_each(|at| write!(f, "[{at}]"))
    }
}

/// Why bytes are no documents. The fault is the file's, and each message says where.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DocumentsError {
    /// Longer than any list of documents.
    #[error("{bytes} bytes; files of documents have at most {MOST_BYTES}")]
    TooLong {
        /// How long it is.
        bytes: usize,
    },
    /// Bytes that are no text; the source has the first of them.
    #[error("not text (not UTF-8): {0}")]
    NotText(#[source] FromUtf8Error),
    /// It begins like JSON and is none; the source has the line and the column.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// A line that is no length.
    #[error("line {line}: `{text}` is not a length: {source}")]
    Line {
        /// Which, from 1.
        line: usize,
        /// What it says.
        text: String,
        /// Why it is no length.
        source: ParseIntError,
    },
    /// Nothing but blank lines and remarks.
    #[error("no document: expected a list of lengths, or a length on each line")]
    Empty,
    /// A list without a name that would be another batch if it were cumulative.
    #[error(
        "starts with 0 and only grows, as cumulative lengths do: if that is what they are, give {{\"{CUMULATIVE}\": [...]}}, and \
         if they are the lengths of documents, {{\"lengths\": [...]}}"
    )]
    LooksCumulative,
    /// Cumulative lengths that do not begin with zero.
    #[error("{CUMULATIVE}: begins with {first}, and must with 0")]
    CumulativeStart {
        /// What they begin with.
        first: u32,
    },
    /// Cumulative lengths that fall.
    #[error("{CUMULATIVE}: {after} after {before}, at place {place}")]
    CumulativeFalls {
        /// The entry before.
        before: u32,
        /// The one that is less.
        after: u32,
        /// Its place, from 0.
        place: usize,
    },
    /// A case was asked for in a file without cases.
    #[error("there are no `cases` to choose {wanted} from")]
    NoCases {
        /// Which.
        wanted: String,
    },
    /// `cases` is something else.
    #[error("cases: not a list")]
    CasesAreNoList,
    /// Several cases, and none was asked for.
    #[error("{count} cases: one must be chosen by its number or name")]
    ManyCases {
        /// How many.
        count: usize,
    },
    /// A case that is not there.
    #[error("no case {wanted}; there are: {}", names.join("; "))]
    NoSuchCase {
        /// The one that was asked for.
        wanted: String,
        /// Those that are there.
        names: Vec<String>,
    },
    /// A plan in the place of documents.
    #[error("this is a plan already; `rankscope dispatch check` and `predict` take it, `plan` takes lengths of documents")]
    IsAPlan,
    /// An object with none of the names.
    #[error("no documents: expected a list of lengths, or an object with one of {}", KEYS.join(", "))]
    NoKey,
    /// A number of tokens or ranks that is none.
    #[error("{key}: {value} is not a number of tokens or ranks")]
    Number {
        /// Its name.
        key: &'static str,
        /// What is there.
        value: Value,
    },
    /// More ranks than 32 bits count.
    #[error("world_size: {0}")]
    WorldSize(#[source] TryFromIntError),
    /// Something else where a list must be.
    #[error("{place}: not a list")]
    NotAList {
        /// Where.
        place: Place,
    },
    /// Something else where a length must be.
    #[error("{place}: {value} is not a length in tokens")]
    NotALength {
        /// Where.
        place: Place,
        /// What is there.
        value: Value,
    },
    /// A document longer than positions of 32 bits reach.
    #[error("{place}: {tokens} tokens are more than {}", u32::MAX)]
    LengthTooLarge {
        /// Where.
        place: Place,
        /// How long.
        tokens: u64,
    },
}
