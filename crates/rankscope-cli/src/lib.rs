//! What verbs of the command line stand on: answers on stdout and remarks on stderr, exit codes, progress, signals, memory, and the
//! options about a whole job that several of them take.
//!
//! A verb translates its options into a request, has the pipeline answer it, and prints. What it prints goes through [`output`],
//! which is the one place that speaks to the terminal. Refuses to know any verb: those are above, in crates of their own and in the
//! binary.

pub mod called;
pub mod ending;
mod exit;
pub mod job;
pub mod memory;
pub mod output;
pub mod progress;
pub mod settings;

pub use exit::ExitCode;
