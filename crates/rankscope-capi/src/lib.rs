//! The recorder, and the planner of context-parallel attention, for C and C++: what `include/rankscope.h` declares.
//!
//! Everything here translates: numbers and pointers into the recorder's types, its errors into codes and a text. Three promises hold
//! for every function, whatever it is given. A panic ends here and becomes [`status::Status::Panicked`]. A pointer that is null, a length
//! that is none, a handle that is closed is refused, and counted where the function has no code to return. And nothing has to be
//! initialised: before the first session, after the last one, and in the child of a fork, calls record nothing and do no harm.
//!
//! Structures begin with their size, so that programs and libraries of different ages understand each other. The header is written
//! from this source by `cargo xtask header --write`; its inline half is `header/inline.h`.
#![expect(unsafe_code, reason = "C passes pointers")]

pub mod arguments;
pub mod correlation;
pub mod events;
pub mod exports;
mod forks;
mod guard;
pub mod last_error;
pub mod memory;
pub mod metadata;
pub mod names;
pub mod phases;
mod planned;
pub mod plans;
pub mod plugins;
pub mod reports;
pub mod sessions;
pub mod sites;
pub mod spans;
pub mod stats;
pub mod status;
mod structures;
pub mod texts;
pub mod version;
