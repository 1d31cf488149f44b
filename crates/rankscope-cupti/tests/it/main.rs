//! CUPTI as a program meets it: libraries in C that stand for it and for the driver, each in a process of its own, because what is
//! loaded stays loaded.
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
mod second;
mod sessions;
mod stage;
mod wheels;
