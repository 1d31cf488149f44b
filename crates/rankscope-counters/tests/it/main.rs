//! Counters in recordings: those of a real host, and those of GPUs that a library in C stands for, each in a process of its own, because what is
//! loaded stays loaded.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod amd;
mod gpus;
mod node;
mod part;
mod process;
mod stage;
