//! Asks a job that stands still what it is doing.
//!
//! A process that hangs may answer slowly, in part, or not at all, so that every question is bounded in time and size, and an answer is
//! whole or an [`Error`]. Nothing is understood here: bytes go on to whoever judges. Nothing of the job is changed.

mod error;
mod http;
pub mod process;
pub mod ras;
pub mod sockets;
pub mod tree;
mod wire;
pub mod worker;

pub use error::Error;
