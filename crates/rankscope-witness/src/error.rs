//! Why somebody did not answer.

use std::io;

/// Why there is no answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// What was given is no address.
    #[error("{address}: no address. Give HOST:PORT")]
    NoAddress {
        /// As given.
        address: String,
    },
    /// Nobody listens there, or nobody can be reached.
    #[error("{address}: cannot be reached: {source}")]
    Unreachable {
        /// As given.
        address: String,
        /// What the system says.
        source: io::Error,
    },
    /// It takes too long.
    #[error("{address}: no answer to {question} in time")]
    TooLate {
        /// As given.
        address: String,
        /// What was asked.
        question: String,
    },
    /// It hung up.
    #[error("{address}: hung up in the middle of its answer to {question}, after {bytes} bytes")]
    HungUp {
        /// As given.
        address: String,
        /// What was asked.
        question: String,
        /// How much came.
        bytes: usize,
    },
    /// The answer is larger than any that is taken.
    #[error("{address}: its answer to {question} is larger than {bytes_max} bytes")]
    TooLarge {
        /// As given.
        address: String,
        /// What was asked.
        question: String,
        /// The bound.
        bytes_max: usize,
    },
    /// It answers somebody else.
    #[error("{address}: busy with another question. Ask again when that is over")]
    Busy {
        /// As given.
        address: String,
    },
    /// It says no.
    #[error("{address}: refused {question}: {reply:?}")]
    Refused {
        /// As given.
        address: String,
        /// What was asked.
        question: String,
        /// What it said.
        reply: String,
    },
}
