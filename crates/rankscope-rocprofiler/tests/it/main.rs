//! rocprofiler-sdk as a program meets it: a library in C that stands for it, in a process of its own, because what is loaded stays loaded.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "helpers of tests fail as tests do, and a part says what it found"
)]

mod absences;
mod damage;
mod layouts;
mod memory;
mod part;
mod reported;
mod sessions;
mod stage;
mod tools;
