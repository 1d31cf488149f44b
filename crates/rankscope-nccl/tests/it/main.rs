//! The plugin as NCCL meets it: loaded by a program in C that plays calls into it, in a process of its own.
#![expect(clippy::unwrap_used, reason = "helpers of tests fail as tests do")]

mod layouts;
mod played;
mod scenes;
mod wheel;
